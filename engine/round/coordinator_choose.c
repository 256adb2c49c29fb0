/* Requests to the schedulers, in turn. The scheduler that has the turn gives
 * the next choice; idle schedulers, and those that wait for rounds in flight,
 * are skipped. Other schedulers join a light block. A scheduler with nothing in
 * flight is asked ahead of its turn, so that it chooses while the others'
 * rounds run; at its turn it is asked at the latest. An only scheduler always
 * has the turn. It is asked when a choice is needed, so it knows of every
 * commit. */
#include "engine/round/coordinator_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Turns. Schedulers get turns in proportion to the remaining priority of their
 * ranges (`remaining`), but at least 1/8 of an even share, so a scheduler with
 * little left gets fewer rounds than one with much. Each pass credits every
 * scheduler its share of a turn. The scheduler with the most credit gets the
 * turn and pays for it. With even shares they alternate in order.
 *
 * The remaining priority is that of the scheduler's last answer that was used,
 * not that of the last arrival, so a run is repeatable. */

static const double LEAST = 1.0 / 8;

/* Whether scheduler s may have blocks to choose. */
static bool may_choose(const sti_coordinator *c, uint32_t s)
{
    const sti_scheduler_state *scheduler = &c->schedulers[s];
    if (scheduler->state == STI_SCHEDULER_RESTS)
        return scheduler->ask->n_priorities > 0;
    return scheduler->state != STI_SCHEDULER_WAITS;
}

/* An idle scheduler that has received priorities since gets an even share. */
static double known_remaining(const sti_scheduler_state *scheduler)
{
    return scheduler->state == STI_SCHEDULER_RESTS ? 0 : scheduler->remaining;
}

/* The mean of the known values; 1 if there are none. Dividing first avoids
 * overflow. */
static double mean_remaining(const sti_coordinator *c)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (may_choose(c, s) && known_remaining(&c->schedulers[s]) > 0) {
            sum += known_remaining(&c->schedulers[s]) / c->run->schedulers;
            n++;
        }
    return n ? sum / n * c->run->schedulers : 1;
}

/* Passes the turn on, by shares; STI_SCHEDULER_NONE: no scheduler may
 * choose. */
static void pass_turn(sti_coordinator *c)
{
    const double mean = mean_remaining(c);
    double total = 0;
    c->turn = STI_SCHEDULER_NONE;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        if (!may_choose(c, s))
            continue;
        sti_scheduler_state *scheduler = &c->schedulers[s];
        const double remaining = known_remaining(scheduler);
        const double share = remaining > 0 ? fmax(remaining / mean, LEAST) : 1;
        total += share;
        scheduler->credit += share;
        if (c->turn == STI_SCHEDULER_NONE ||
            scheduler->credit > c->schedulers[c->turn].credit)
            c->turn = s;
    }
    if (c->turn != STI_SCHEDULER_NONE)
        c->schedulers[c->turn].credit -= total;
}

/* Joint blocks: one block of several schedulers' choices. A scheduler can
 * choose only from its range, which is a part of the parameters that should be
 * solved together. If its block is light compared with the work that a block
 * should have, other schedulers' choices join it, until it has its work or all
 * have been checked. So the size of a block does not depend on the number of
 * schedulers. Members of one block need not be independent of each other.
 *
 * The parts keep their schedulers' ids for requests to them. The joint block
 * has an id after the last scheduler's range, and keeps it as long as its parts
 * are the same. */

static double sum_weights(const sti_run *run, const strads_block *block)
{
    double sum = 0;
    for (uint32_t k = 0; k < block->n; k++)
        sum += (double)run->weight[strads_block_param(block, k)];
    return sum;
}

/* Policies use the same rule: a light block does not pay for its round and has
 * space for as many members again. If a block should have all available work,
 * every part that fits joins. */
static bool is_light(const sti_coordinator *c, uint32_t n, double weight)
{
    uint32_t most = c->run->shape.block_max;
    if (isinf(c->joint.wanted))
        return n < most;
    return 2 * (uint64_t)n < most && 2 * weight < c->joint.wanted;
}

/* Whether blocks of this phase may join: those with a holder belong to it
 * alone. */
static bool joins_blocks(const sti_run *run, uint32_t phase)
{
    return run->schedulers > 1 && (run->phases[phase].to == STRADS_TO_ALL ||
                                   run->phases[phase].to == STRADS_TO_NOBODY);
}

static bool fits_joint(const sti_coordinator *c, const sti_choice *choice)
{
    const strads_block *block = choice->blocks;
    return choice->kind == STRADS_CHOOSE_BLOCKS && choice->n == 1 &&
           (uint64_t)c->joint.n + block->n <= c->run->shape.block_max &&
           is_light(c, block->n, sum_weights(c->run, block));
}

static void add_part(sti_coordinator *c, uint32_t s, sti_choice *choice)
{
    sti_joint *joint = &c->joint;
    joint->part[s] = choice->blocks;
    choice->blocks = NULL;
    joint->n_parts++;
    joint->n += joint->part[s]->n;
    joint->weight += sum_weights(c->run, joint->part[s]);
}

/* Begins a joint block with scheduler s's choice, which it takes over;
 * `wanted`: the work that the block should have. False: the choice stays as it
 * is. */
static bool begin_joint(sti_coordinator *c, uint32_t s, sti_choice *choice,
                        double wanted)
{
    sti_joint *joint = &c->joint;
    joint->wanted = wanted;
    joint->n = joint->n_parts = 0;
    joint->weight = 0;
    if (!joins_blocks(c->run, c->choice_phase) || !fits_joint(c, choice))
        return false;
    add_part(c, s, choice);
    joint->open = true;
    joint->looked = 0;
    return true;
}

/* Whether the next scheduler must be checked. */
static bool joint_lacks_work(const sti_coordinator *c)
{
    const sti_joint *joint = &c->joint;
    return joint->looked < c->run->schedulers &&
           is_light(c, joint->n, joint->weight);
}

/* Takes scheduler s's answer into the block if it fits. */
static void join_answer(sti_coordinator *c, uint32_t s)
{
    sti_scheduler_state *scheduler = &c->schedulers[s];
    if (!fits_joint(c, scheduler->choice))
        return;
    add_part(c, s, scheduler->choice);
    scheduler->remaining = scheduler->choice->remaining;
    scheduler->state = STI_SCHEDULER_IDLE;
    sti_object_drop(scheduler->choice);
    scheduler->choice = NULL;
}

/* ---- ids --------------------------------------------------------------- */

static bool has_parts(const sti_joint_id *known, uint32_t n,
                      const strads_block *parts)
{
    bool same = known->n == n;
    for (uint32_t k = 0; same && k < n; k++)
        same = known->part[k] == parts[k].id;
    return same;
}

/* The id of a block of these parts; 0: no memory. The parts of the last blocks
 * are kept. */
static uint64_t joint_id_of(sti_coordinator *c, uint32_t n,
                            const strads_block *parts)
{
    for (uint32_t k = 0; k < STI_JOINT_IDS; k++)
        if (has_parts(&c->joint_id[k], n, parts))
            return c->joint_id[k].id;
    sti_joint_id *known = &c->joint_id[c->joints % STI_JOINT_IDS];
    uint64_t *part = realloc(known->part, n * sizeof *part);
    if (!part)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        part[k] = parts[k].id;
    *known = (sti_joint_id){
        .id = STRADS_POLICY_BLOCK_IDS + c->run->schedulers * STI_RANGE_IDS +
              c->joints++,
        .n = n,
        .part = part,
    };
    return known->id;
}

/* ---- the plan ---------------------------------------------------------- */

/* Collects the parts in the order of schedulers, and so of parameters; clears
 * the list. */
static strads_err gather_parts(sti_coordinator *c, strads_block **parts)
{
    sti_joint *joint = &c->joint;
    strads_block *list = malloc(joint->n_parts * sizeof *list);
    uint32_t n = 0;
    for (uint32_t s = 0; list && s < c->run->schedulers; s++)
        if (joint->part[s])
            list[n++] = *joint->part[s];
    strads_err err = list ? sti_blocks_copy(n, list, parts) : STRADS_ENOMEM;
    free(list);
    sti_coord_join_drop(c);
    return err;
}

static strads_err make_block(sti_coordinator *c, const strads_block *parts,
                             strads_block **out)
{
    const sti_joint *joint = &c->joint;
    uint32_t *param = malloc(joint->n * sizeof *param);
    uint32_t n = 0;
    for (uint32_t k = 0; param && k < joint->n_parts; k++)
        for (uint32_t l = 0; l < parts[k].n; l++)
            param[n++] = strads_block_param(&parts[k], l);
    const strads_block block = {
        .id = param ? joint_id_of(c, joint->n_parts, parts) : 0,
        .n = n,
        .param = param,
    };
    strads_err err = block.id ? sti_blocks_copy(1, &block, out) : STRADS_ENOMEM;
    free(param);
    return err;
}

/* Returns the block, and its parts if there are several; the caller frees them.
 * False: no memory. */
static bool end_joint(sti_coordinator *c, strads_block **blocks,
                      strads_block **parts, uint32_t *n_parts)
{
    *parts = NULL;
    *n_parts = 0;
    c->joint.open = false;
    if (c->joint.n_parts == 1) {
        for (uint32_t s = 0; s < c->run->schedulers; s++)
            if (c->joint.part[s])
                *blocks = c->joint.part[s];
        memset(c->joint.part, 0, c->run->schedulers * sizeof *c->joint.part);
        return true;
    }
    strads_block *list = NULL;
    if (gather_parts(c, &list) || make_block(c, list, blocks)) {
        free(list);
        return false;
    }
    *parts = list;
    *n_parts = c->joint.n_parts;
    return true;
}

void sti_coord_join_drop(sti_coordinator *c)
{
    for (uint32_t s = 0; c->joint.part && s < c->run->schedulers; s++) {
        free(c->joint.part[s]);
        c->joint.part[s] = NULL;
    }
}

/* ---- requests, in turn
 * ---------------------------------------------------- */

static double wanted_work(const sti_coordinator *c)
{
    const double usual = 1e5, pays = 50;
    if (c->policy_work > 0)
        return c->policy_work;
    if (c->run->deterministic || c->overhead_ns <= 0)
        return usual;
    double work = pays * c->overhead_ns * c->entries_per_ns;
    return fmin(fmax(work, usual / 10), usual * 100);
}

static bool has_updates(const sti_scheduler_state *scheduler)
{
    return scheduler->ask->n_priorities > 0;
}

/* Sends a request. False: the run has ended. */
static bool send_request(sti_coordinator *c, uint32_t s, sti_effects *out)
{
    sti_scheduler_state *scheduler = &c->schedulers[s];
    sti_ask *question = scheduler->ask;
    size_t n = sti_coord_gather_flying(c, s);
    if (n == SIZE_MAX ||
        sti_blocks_copy((uint32_t)n, c->flying, &question->in_flight) ||
        sti_ask_new(&scheduler->ask)) {
        sti_coord_end(c, sti_coord_no_memory(), out);
        return false;
    }
    question->n_in_flight = (uint32_t)n;
    question->work = wanted_work(c);
    question->max_partitions = c->aggregate.max_partitions;
    sti_object_drop(scheduler->choice);
    scheduler->choice = NULL;
    scheduler->outdated = false;
    scheduler->state = STI_SCHEDULER_ASKED;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK,
                                   .from = STI_COORDINATOR,
                                   .to = STI_SCHEDULER_0 + s,
                                   .round = c->next_round,
                                   .object = &question->head});
    return true;
}

/* Whether the scheduler has something to be asked for. */
static bool is_due(const sti_scheduler_state *scheduler)
{
    return scheduler->state == STI_SCHEDULER_IDLE ||
           (scheduler->state == STI_SCHEDULER_RESTS && has_updates(scheduler));
}

/* The calls of this function depend on decisions only, never on arrivals, so
 * every request is the same in every run. */
bool sti_coord_ask_ahead(sti_coordinator *c, sti_effects *out)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (s != c->turn && c->schedulers[s].in_flight == 0 &&
            !c->joint.part[s] && is_due(&c->schedulers[s]) &&
            !send_request(c, s, out))
            return false;
    return true;
}

/* ---- answers ----------------------------------------------------------- */

void sti_coord_plan_probe(sti_coordinator *c, uint64_t last[2],
                          strads_block *pair, uint32_t scheduler,
                          sti_effects *out)
{
    if (last[0] == pair[0].id + 1 && last[1] == pair[1].id + 1)
        sti_coord_end(
            c,
            strads_fail(STRADS_EPROGRAM,
                        "probing blocks %llu and %llu of program %s left "
                        "pairs unknown: a probe must not give NaN",
                        (unsigned long long)pair[0].id,
                        (unsigned long long)pair[1].id, c->run->program->name),
            out);
    last[0] = pair[0].id + 1;
    last[1] = pair[1].id + 1;
    c->plan = (sti_plan){.set = true,
                         .phase = c->run->probe_phase,
                         .n_blocks = 1,
                         .blocks = pair,
                         .probe = true,
                         .scheduler = scheduler};
}

static void plan_choice(sti_coordinator *c, uint32_t s, sti_choice *choice)
{
    c->schedulers[s].probed[0] = 0;
    if (begin_joint(c, s, choice, wanted_work(c))) {
        c->joint.from = s;
        return;
    }
    c->wants_choice = false;
    c->plan = (sti_plan){.set = true,
                         .by_policy = true,
                         .phase = c->choice_phase,
                         .n_blocks = choice->n,
                         .blocks = choice->blocks,
                         .scheduler = s};
    choice->blocks = NULL;
}

/* Uses scheduler s's answer at its turn. True: it is the next plan; false: the
 * scheduler is skipped. */
static bool use_answer(sti_coordinator *c, uint32_t s, sti_effects *out)
{
    sti_scheduler_state *scheduler = &c->schedulers[s];
    sti_choice *choice = scheduler->choice;
    strads_choice_kind kind = choice->kind;
    scheduler->choice = NULL;
    scheduler->state = STI_SCHEDULER_IDLE;
    scheduler->remaining = choice->remaining;
    if (kind == STRADS_CHOOSE_BLOCKS) {
        plan_choice(c, s, choice);
    } else if (kind == STRADS_CHOOSE_PROBE) {
        strads_block *pair = choice->blocks;
        choice->blocks = NULL;
        sti_coord_plan_probe(c, scheduler->probed, pair, s, out);
    } else if (kind == STRADS_CHOOSE_WAIT && !scheduler->outdated) {
        scheduler->state = STI_SCHEDULER_WAITS;
    } else if (kind == STRADS_CHOOSE_REST && !has_updates(scheduler)) {
        scheduler->state = STI_SCHEDULER_RESTS;
    }
    sti_object_drop(choice);
    return c->plan.set || c->joint.open;
}

/* Whether scheduler s's answer must be waited for; requests it if needed. */
static bool must_wait(sti_coordinator *c, uint32_t s, sti_effects *out)
{
    sti_scheduler_state *scheduler = &c->schedulers[s];
    if (is_due(scheduler) &&
        (!send_request(c, s, out) || !sti_coord_ask_ahead(c, out)))
        return true;
    if (scheduler->state != STI_SCHEDULER_ASKED || scheduler->choice)
        return false;
    c->busy = true;
    c->awaited = s + 1;
    return true;
}

static void mark_policy_idle(sti_coordinator *c)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        c->schedulers[s].state = STI_SCHEDULER_IDLE;
    sti_coord_set_idle(c);
}

/* Whether the remaining priority of all ranges together is too small. An only
 * scheduler would then be idle; here, its even share of the limit may be
 * exceeded by the last active scheduler. */
static bool is_too_little(const sti_coordinator *c)
{
    double left = 0;
    if (c->joint.looked < c->run->schedulers || c->in_flight)
        return false;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        if (c->schedulers[s].state == STI_SCHEDULER_ASKED ||
            (c->joint.part[s] && !(c->schedulers[s].remaining > 0)))
            return false; /* its remaining priority is not known */
        left += c->schedulers[s].remaining;
    }
    return left <= c->aggregate.rest;
}

static void plan_joint(sti_coordinator *c, sti_effects *out)
{
    if (is_too_little(c)) {
        sti_coord_join_drop(c);
        c->joint.open = false;
        mark_policy_idle(c);
        return;
    }
    sti_plan plan = {.set = true,
                     .by_policy = true,
                     .phase = c->choice_phase,
                     .n_blocks = 1,
                     .scheduler = c->joint.from};
    if (!end_joint(c, &plan.blocks, &plan.parts, &plan.n_parts)) {
        sti_coord_end(c, sti_coord_no_memory(), out);
        return;
    }
    c->wants_choice = false;
    c->plan = plan;
}

/* Lets all schedulers with nothing in flight join the open block, starting with
 * the one that has the turn. Choices that do not fit, and probes, are kept for
 * their turn. */
static void extend_joint(sti_coordinator *c, sti_effects *out)
{
    sti_joint *joint = &c->joint;
    while (joint_lacks_work(c)) {
        uint32_t s = (joint->from + joint->looked) % c->run->schedulers;
        sti_scheduler_state *scheduler = &c->schedulers[s];
        if (joint->part[s] || scheduler->in_flight) {
            joint->looked++;
            continue;
        }
        if (must_wait(c, s, out))
            return;
        if (scheduler->state == STI_SCHEDULER_ASKED) {
            strads_choice_kind kind = scheduler->choice->kind;
            if (kind == STRADS_CHOOSE_BLOCKS)
                join_answer(c, s);
            else if (kind != STRADS_CHOOSE_PROBE && !use_answer(c, s, out) &&
                     is_due(scheduler))
                continue; /* its answer is outdated */
        }
        joint->looked++;
    }
    plan_joint(c, out);
}

/* Handles the case that no scheduler can choose. */
static bool handle_no_choice(sti_coordinator *c, sti_effects *out)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (c->schedulers[s].state == STI_SCHEDULER_WAITS)
            c->waiting = true;
    if (c->waiting && c->in_flight == 0)
        sti_coord_end(
            c,
            strads_fail(STRADS_EPROGRAM,
                        "policy %s waits although nothing is in flight",
                        c->run->policy->name),
            out);
    if (c->waiting)
        return false;
    mark_policy_idle(c);
    return true;
}

bool sti_coord_choose(sti_coordinator *c, sti_effects *out)
{
    if (c->joint.open) {
        extend_joint(c, out);
        return true;
    }
    for (;;) {
        if (c->turn == STI_SCHEDULER_NONE || !may_choose(c, c->turn))
            pass_turn(c);
        uint32_t s = c->turn;
        if (s == STI_SCHEDULER_NONE)
            return handle_no_choice(c, out);
        if (must_wait(c, s, out))
            return true;
        bool taken = use_answer(c, s, out);
        if (taken)
            pass_turn(c);
        if (taken || c->stage == STI_STAGE_ENDED)
            return true;
    }
}

void sti_coord_take_choice(sti_coordinator *c, const sti_msg *msg,
                           sti_effects *out)
{
    uint32_t s = msg->partition;
    if (s >= c->run->schedulers || !msg->object ||
        c->schedulers[s].state != STI_SCHEDULER_ASKED ||
        c->schedulers[s].choice) {
        sti_object_drop(msg->object);
        sti_coord_end(c,
                      strads_fail(STRADS_EPEER,
                                  "a node sent a choice of scheduler %u that "
                                  "was not requested",
                                  s),
                      out);
        return;
    }
    c->schedulers[s].choice = (sti_choice *)msg->object;
    if (c->awaited != s + 1)
        return;
    c->awaited = 0;
    c->busy = false;
}

bool sti_coord_is_asking(const sti_coordinator *c)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (c->schedulers[s].state == STI_SCHEDULER_ASKED &&
            !c->schedulers[s].choice)
            return true;
    return false;
}

/* ---- landing
 * --------------------------------------------------------------- */

/* Whether scheduler s chose a block or a part of it. */
static bool has_chosen(const sti_coordinator *c, uint32_t s, uint32_t scheduler,
                       uint32_t n_parts, const strads_block *parts)
{
    for (uint32_t k = 0; k < n_parts; k++)
        if (sti_run_scheduler_of(c->run, parts[k].id) == s)
            return true;
    return n_parts == 0 && scheduler == s;
}

void sti_coord_count_chosen(sti_coordinator *c, const sti_plan *plan)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        c->schedulers[s].in_flight +=
            has_chosen(c, s, plan->scheduler, plan->n_parts, plan->parts);
}

void sti_coord_wake(sti_coordinator *c, const sti_inflight *f)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        sti_scheduler_state *scheduler = &c->schedulers[s];
        if (f->by_policy &&
            !has_chosen(c, s, f->scheduler, f->n_parts, f->parts))
            continue; /* it was not told of that round */
        scheduler->in_flight -= f->by_policy;
        scheduler->outdated = true;
        if (scheduler->state == STI_SCHEDULER_WAITS)
            scheduler->state = STI_SCHEDULER_IDLE;
    }
}

strads_err sti_coord_update_schedulers(sti_coordinator *c,
                                       sti_priorities **priorities)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        strads_err failed =
            sti_ask_add_priorities(c->schedulers[s].ask, priorities[s]);
        priorities[s] = NULL;
        err = err ? err : failed;
    }
    return err;
}

/* With one scheduler, the run's cache already has the values. */
strads_err sti_coord_report_found(sti_coordinator *c, const sti_inflight *f)
{
    const sti_dispatch *d = f->dispatch;
    if (f->scheduler == STI_SCHEDULER_NONE || c->run->schedulers == 1)
        return STRADS_OK;
    const strads_block pair[2] = {d->blocks[0], d->against};
    size_t bytes = sizeof(double) * pair[0].n * pair[1].n;
    sti_buffer *values;
    strads_err err = sti_buffer_new(bytes, &values);
    if (err)
        return err;
    memcpy(values->bytes, f->partial->bytes + d->partial_at[0], bytes);
    return sti_ask_add_found(c->schedulers[f->scheduler].ask, pair, values,
                             (const double *)(void *)values->bytes);
}

/* ---- construction
 * ---------------------------------------------------------- */

strads_err sti_coord_make_schedulers(sti_coordinator *c)
{
    c->schedulers = calloc(c->run->schedulers, sizeof *c->schedulers);
    c->aggregate.priorities =
        calloc(c->run->schedulers, sizeof(sti_priorities *));
    c->joint.part = calloc(c->run->schedulers, sizeof *c->joint.part);
    if (!c->schedulers || !c->aggregate.priorities || !c->joint.part)
        return sti_coord_no_memory();
    c->turn = STI_SCHEDULER_NONE;
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < c->run->schedulers && !err; s++)
        err = sti_ask_new(&c->schedulers[s].ask);
    return err;
}

void sti_coord_free_schedulers(sti_coordinator *c)
{
    for (uint32_t s = 0; c->schedulers && s < c->run->schedulers; s++) {
        sti_object_drop(c->schedulers[s].ask);
        sti_object_drop(c->schedulers[s].choice);
    }
    for (uint32_t s = 0; c->aggregate.priorities && s < c->run->schedulers; s++)
        sti_object_drop(c->aggregate.priorities[s]);
    sti_coord_join_drop(c);
    for (uint32_t k = 0; k < STI_JOINT_IDS; k++)
        free(c->joint_id[k].part);
    free(c->joint.part);
    free(c->schedulers);
    free(c->aggregate.priorities);
}
