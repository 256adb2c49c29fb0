/* Choosing: by the phases' `when`, by the program's schedule or by the policy;
 * and the making of a dispatch from what was chosen. */
#include "engine/role/coordinator_state.h"

#include <math.h>
#include <stdlib.h>

static bool to_nobody(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && run->phases[phase].to == STRADS_TO_NOBODY;
}

static bool has_holder(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && (run->phases[phase].to == STRADS_TO_OWNER ||
                                     run->phases[phase].to == STRADS_TO_RING);
}

static bool same_blocks(const sti_dispatch *d, const sti_plan *plan)
{
    bool same = d->n_blocks == plan->n_blocks;
    for (uint32_t k = 0; same && k < plan->n_blocks; k++)
        same = d->blocks[k].id == plan->blocks[k].id &&
               d->blocks[k].owner == plan->blocks[k].owner &&
               d->blocks[k].n == plan->blocks[k].n;
    return same;
}

static bool shares_a_block(const sti_dispatch *d, const sti_plan *plan)
{
    for (uint32_t a = 0; a < d->n_blocks; a++)
        for (uint32_t b = 0; b < plan->n_blocks; b++)
            if (d->blocks[a].id == plan->blocks[b].id)
                return true;
    return false;
}

static bool is_ring(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && run->phases[phase].to == STRADS_TO_RING;
}

static bool flows(const sti_run *run, uint32_t phase)
{
    return is_ring(run, phase) && run->phases[phase].flows;
}

/* Whether a block of the plan is still with a holder, who may write it: its
 * values, and the object that travels with it, are there and nowhere else.
 * Where laps flow the plan may follow the newest one that holds its blocks:
 * that one has them all, and those before it are home sooner. */
static bool is_held(sti_coordinator *c)
{
    c->plan.follows = 0;
    if (!has_holder(c->run, c->plan.phase))
        return false;
    for (uint64_t back = 1; back <= sti_run_window(c->run); back++) {
        const sti_flight *f = sti_coord_flight(c, c->next_seq - back);
        const sti_dispatch *d = f->dispatch;
        if (!f->used || d->seq + back != c->next_seq ||
            !has_holder(c->run, d->phase))
            continue;
        if (same_blocks(d, &c->plan)) {
            bool flow = flows(c->run, d->phase) && flows(c->run, c->plan.phase);
            c->plan.follows = flow ? d->seq + 1 : 0;
            return !flow;
        }
        if (shares_a_block(d, &c->plan))
            return true;
    }
    return false;
}

/* What outdates probes is alone, too: a probe beside it would be wrong by the
 * time that it is merged. */
static bool runs_alone(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return true;
    const strads_phase *p = &run->phases[phase];
    return p->drains || p->outdates || p->when == STRADS_WHEN_START ||
           p->when == STRADS_WHEN_REST;
}

static bool one_is_alone(const sti_coordinator *c)
{
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->flights[k].used && c->flights[k].alone)
            return true;
    return false;
}

static strads_err plan_all(sti_coordinator *c, uint32_t phase)
{
    const strads_block all = {.id = STRADS_ALL_PARAMETERS,
                              .n = (uint32_t)c->run->shape.parameters};
    c->plan = (sti_plan){.set = true, .phase = phase, .n_blocks = 1};
    return sti_blocks_copy(1, &all, &c->plan.blocks);
}

void sti_coord_plan_internal(sti_coordinator *c, uint32_t phase)
{
    c->plan = (sti_plan){.set = true, .phase = phase};
}

/* The next phase that runs by itself, or n_phases; moves from START on to the
 * first REST. */
static uint32_t next_automatic(sti_coordinator *c)
{
    const sti_run *run = c->run;
    while (c->automatic != STRADS_WHEN_POLICY) {
        while (c->automatic_next < run->n_phases) {
            uint32_t phase = c->automatic_next++;
            if (run->phases[phase].when == c->automatic)
                return phase;
        }
        c->automatic_next = 0;
        c->automatic = c->automatic == STRADS_WHEN_START ? STRADS_WHEN_REST
                                                         : STRADS_WHEN_POLICY;
        if (c->final_report && c->automatic == STRADS_WHEN_POLICY)
            c->final_report = false;
    }
    return run->n_phases;
}

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

static size_t gather_flying(sti_coordinator *c)
{
    size_t n = 0;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const sti_flight *f = &c->flights[k];
        if (!f->used || f->dispatch->phase == c->run->probe_phase)
            continue;
        for (uint32_t b = 0; b < f->dispatch->n_blocks; b++) {
            if (n == c->room_flying) {
                size_t room = n ? 2 * n : 16;
                strads_block *more = realloc(c->flying, sizeof *more * room);
                if (!more)
                    return SIZE_MAX;
                c->flying = more;
                c->room_flying = room;
            }
            c->flying[n++] = f->dispatch->blocks[b];
        }
    }
    return n;
}

static void ask_scheduler(sti_coordinator *c, sti_effects *out)
{
    sti_ask *ask = c->ask;
    size_t n = gather_flying(c);
    if (n == SIZE_MAX ||
        sti_blocks_copy((uint32_t)n, c->flying, &ask->in_flight) ||
        sti_ask_new(&c->ask)) {
        sti_coord_end(c, sti_coord_no_memory(), out);
        return;
    }
    ask->n_in_flight = (uint32_t)n;
    ask->work = wanted_work(c);
    ask->alone = to_nobody(c->run, c->choice_phase);
    c->busy = true;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK,
                                   .from = STI_COORDINATOR,
                                   .to = STI_SCHEDULER,
                                   .round = c->next_round,
                                   .object = &ask->head});
}

static void ask_program(sti_coordinator *c, sti_effects *out)
{
    c->schedule.turn = (strads_turn){
        .round = c->next_round,
        .in_flight = c->in_flight,
        .at_rest = c->at_rest,
    };
    c->at_rest = false;
    sti_coord_start_job(c, &c->schedule.job, STI_CALL_SCHEDULE, c->next_round,
                        0, out);
}

/* Probes that a commit asked for go before anything else is decided. */
static void plan_wish(sti_coordinator *c)
{
    sti_wish *wish = c->wishes;
    strads_block *pair = wish->pair;
    c->wishes = wish->next;
    c->n_wishes--;
    free(wish);
    pair[0].id = --c->wish_ids;
    pair[1].id = --c->wish_ids;
    c->plan = (sti_plan){
        .set = true,
        .phase = c->run->probe_phase,
        .n_blocks = 1,
        .blocks = pair,
        .probe = true,
        .wished = true,
    };
}

/* The phases that run by themselves; false when the next must wait, or none is
 * due. */
static bool plan_automatic(sti_coordinator *c, bool *due, sti_effects *out)
{
    *due = false;
    if (c->run->program->schedule && !c->final_report)
        return false;
    *due = c->automatic != STRADS_WHEN_POLICY;
    if (*due && c->in_flight)
        return false;
    uint32_t phase = next_automatic(c);
    *due = phase < c->run->n_phases;
    if (*due && plan_all(c, phase))
        sti_coord_end(c, sti_coord_no_memory(), out);
    return *due;
}

bool sti_coord_may_decide(sti_coordinator *c)
{
    return !c->plan.set && c->stage == STI_STAGE_RUNNING &&
           !sti_coord_flight(c, c->next_seq)->used && !one_is_alone(c);
}

bool sti_coord_decide(sti_coordinator *c, sti_effects *out)
{
    const sti_run *run = c->run;
    if (c->n_wishes) {
        plan_wish(c);
        return true;
    }
    if (c->probing)
        return false;
    bool due;
    if (plan_automatic(c, &due, out))
        return true;
    if (due || c->stopping || c->waiting)
        return false;
    if (!c->wants_choice && run->program->schedule) {
        ask_program(c, out);
        return true;
    }
    if (!c->wants_choice) {
        c->wants_choice = true;
        c->choice_phase = c->policy_phase;
    }
    if (c->choice_phase == run->n_phases)
        sti_coord_stop(c, STRADS_END_STOPPED); /* there is no POLICY phase */
    else
        ask_scheduler(c, out);
    return true;
}

bool sti_coord_plan_may_leave(sti_coordinator *c)
{
    c->plan.follows = 0;
    if (c->in_flight == 0)
        return true;
    if (sti_coord_flight(c, c->next_seq)->used)
        return false;
    return !runs_alone(c->run, c->plan.phase) && !is_held(c);
}

/* The lap that is about to leave is one of those whose versions are kept. */
static bool keeps_versions(const sti_coordinator *c)
{
    const sti_run *run = c->run;
    return run->versions && is_ring(run, c->plan.phase) &&
           (c->laps + 1) % run->keep_versions == 0;
}

/* What goes to nobody leaves the news for the next that goes to somebody. */
void sti_coord_prepare(sti_coordinator *c, sti_effects *out)
{
    bool nobody = to_nobody(c->run, c->plan.phase);
    size_t n = c->plan.follows ? 0 : gather_flying(c);
    if (n == SIZE_MAX) {
        sti_coord_end(c, sti_coord_no_memory(), out);
        return;
    }
    c->prepare.parts = (sti_dispatch_parts){
        .round = c->next_round,
        .seq = c->next_seq,
        .phase = c->plan.phase,
        .width = c->run->shape.width,
        .known = c->version,
        .follows = c->plan.follows,
        .settled = c->next_seq - c->in_flight,
        .versions = keeps_versions(c),
        .n_blocks = c->plan.n_blocks,
        .blocks = c->plan.blocks,
        .against = c->plan.probe ? &c->plan.blocks[1] : NULL,
        .n_in_flight = (uint32_t)n,
        .in_flight = c->flying,
        .n_news = nobody ? 0 : c->n_news,
        .news = c->news,
    };
    sti_coord_start_job(c, &c->prepare.job, STI_CALL_PREPARE, c->next_round,
                        c->plan.phase, out);
}

static void count_dispatch(sti_coordinator *c, const sti_dispatch *d)
{
    c->next_round++;
    c->laps += is_ring(c->run, d->phase);
    c->probing += c->plan.probe;
    if (!c->plan.by_policy)
        return;
    c->progress.blocks += d->n_blocks;
    c->chosen_since_rest++;
}

static void send_dispatch(sti_coordinator *c, sti_dispatch *d, sti_effects *out)
{
    sti_coord_drop_news(c->news, c->n_news);
    c->n_news = 0;
    c->next_seq++;
    c->in_flight++;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_DISPATCH,
                                   .from = STI_COORDINATOR,
                                   .to = STI_WORKER_0,
                                   .round = d->seq,
                                   .object = sti_object_keep(d)});
}

void sti_coord_prepared(sti_coordinator *c, sti_effects *out)
{
    if (c->prepare.job.err) {
        sti_coord_fail_job(c, &c->prepare.job, out);
        return;
    }
    sti_dispatch *d = c->prepare.dispatch;
    c->prepare.dispatch = NULL;
    bool nobody = to_nobody(c->run, d->phase);
    sti_flight *f = nobody ? &c->own : sti_coord_flight(c, c->next_seq);
    *f = (sti_flight){
        .used = true,
        .by_policy = c->plan.by_policy,
        .wished = c->plan.wished,
        .alone = runs_alone(c->run, d->phase),
        .dispatch = d,
        .sent_at = c->now,
    };
    count_dispatch(c, d);
    free(c->plan.blocks);
    c->plan = (sti_plan){0};
    if (nobody)
        sti_coord_commit(c, f, out);
    else
        send_dispatch(c, d, out);
}

void sti_coord_look_at_all(sti_coordinator *c, sti_effects *out)
{
    c->automatic = STRADS_WHEN_REST;
    c->automatic_next = 0;
    if (c->run->phases == &c->run->simple && c->run->program->objective)
        sti_coord_start_job(c, &c->aggregate.job, STI_CALL_REPORT,
                            c->next_round, 0, out);
}

/* Nothing moves enough any more: look at everything again, or end when the
 * last look has brought nothing either. */
static void policy_rests(sti_coordinator *c, sti_effects *out)
{
    c->wants_choice = false;
    if (c->run->program->schedule) {
        c->at_rest = true;
        return;
    }
    if (c->chosen_since_rest == 0) {
        sti_coord_stop(c, STRADS_END_STOPPED);
        return;
    }
    c->chosen_since_rest = 0;
    sti_coord_look_at_all(c, out);
}

static void plan_choice(sti_coordinator *c, sti_choice *choice)
{
    bool probe = choice->kind == STRADS_CHOOSE_PROBE;
    c->plan = (sti_plan){
        .set = true,
        .by_policy = !probe,
        .phase = probe ? c->run->probe_phase : c->choice_phase,
        .n_blocks = probe ? 1 : choice->n,
        .blocks = choice->blocks,
        .probe = probe,
    };
    choice->blocks = NULL;
}

static void take_probe(sti_coordinator *c, sti_choice *choice, sti_effects *out)
{
    const strads_block *pair = choice->blocks;
    if (c->probed[0] == pair[0].id + 1 && c->probed[1] == pair[1].id + 1) {
        sti_coord_end(
            c,
            strads_fail(STRADS_EPROGRAM,
                        "probing blocks %llu and %llu of program %s left "
                        "pairs unknown: a probe must not give NaN",
                        (unsigned long long)pair[0].id,
                        (unsigned long long)pair[1].id, c->run->program->name),
            out);
        return;
    }
    c->probed[0] = pair[0].id + 1;
    c->probed[1] = pair[1].id + 1;
    plan_choice(c, choice);
}

void sti_coord_take_choice(sti_coordinator *c, sti_choice *choice,
                           sti_effects *out)
{
    c->busy = false;
    switch (choice->kind) {
    case STRADS_CHOOSE_BLOCKS:
        c->wants_choice = false;
        c->probed[0] = 0;
        plan_choice(c, choice);
        break;
    case STRADS_CHOOSE_PROBE:
        take_probe(c, choice, out);
        break;
    case STRADS_CHOOSE_WAIT:
        c->waiting = true;
        if (c->in_flight == 0)
            sti_coord_end(
                c,
                strads_fail(STRADS_EPROGRAM,
                            "policy %s waits although nothing is in flight",
                            c->run->policy->name),
                out);
        break;
    case STRADS_CHOOSE_REST:
        policy_rests(c, out);
        break;
    }
    sti_object_drop(choice);
}

void sti_coord_scheduled(sti_coordinator *c, sti_effects *out)
{
    sti_schedule_job *job = &c->schedule;
    if (job->job.err) {
        sti_coord_fail_job(c, &job->job, out);
        return;
    }
    switch (job->decision) {
    case STI_DECIDE_DISPATCH:
        c->plan = (sti_plan){
            .set = true,
            .phase = job->decided_phase,
            .n_blocks = job->n_blocks,
            .blocks = job->blocks,
        };
        job->blocks = NULL;
        break;
    case STI_DECIDE_POLICY:
        c->wants_choice = true;
        c->choice_phase = job->decided_phase;
        break;
    case STI_DECIDE_WAIT:
        c->waiting = true;
        break;
    case STI_DECIDE_STOP:
    case STI_DECIDE_NOTHING:
        sti_coord_stop(c, STRADS_END_STOPPED);
        break;
    }
}
