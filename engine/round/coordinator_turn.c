/* Asking the schedulers, in turn. Whose turn it is gives the next choice; who
 * is at rest, or waits for what is in flight, is passed by. A scheduler that
 * has nothing in flight is asked ahead of its turn, so that it chooses while
 * the rounds of others are under way; at its turn it is asked at the latest. An
 * only scheduler's turn it always is: it is asked when a choice is wanted, and
 * so it knows of everything that was committed. */
#include "engine/round/coordinator_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- questions --------------------------------------------------------- */

static bool has_news(const sti_chooser *chooser)
{
    return chooser->ask->n_moved > 0;
}

/* False: the run has ended. */
static bool ask(sti_coordinator *c, uint32_t s, sti_effects *out)
{
    sti_chooser *chooser = &c->choosers[s];
    sti_ask *question = chooser->ask;
    size_t n = sti_coord_gather_flying(c, s);
    if (n == SIZE_MAX ||
        sti_blocks_copy((uint32_t)n, c->flying, &question->in_flight) ||
        sti_ask_new(&chooser->ask)) {
        sti_coord_end(c, sti_coord_no_memory(), out);
        return false;
    }
    question->n_in_flight = (uint32_t)n;
    question->work = wanted_work(c);
    question->epoch = c->epoch;
    sti_object_drop(chooser->choice);
    chooser->choice = NULL;
    chooser->outdated = false;
    chooser->state = STI_CHOOSER_ASKED;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK,
                                   .from = STI_COORDINATOR,
                                   .to = STI_SCHEDULER_0 + s,
                                   .round = c->next_round,
                                   .object = &question->head});
    return true;
}

/* Whether there is something to ask for. */
static bool is_due(const sti_chooser *chooser)
{
    return chooser->state == STI_CHOOSER_IDLE ||
           (chooser->state == STI_CHOOSER_RESTS && has_news(chooser));
}

/* Where this is called depends on what was decided alone, never on which answer
 * has come: so every question is the same in every run. */
bool sti_coord_ask_ahead(sti_coordinator *c, sti_effects *out)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (s != c->turn && c->choosers[s].in_flight == 0 &&
            is_due(&c->choosers[s]) && !ask(c, s, out))
            return false;
    return true;
}

/* ---- answers ----------------------------------------------------------- */

void sti_coord_plan_probe(sti_coordinator *c, uint64_t last[2],
                          strads_block *pair, uint32_t chooser,
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
                         .chooser = chooser};
}

static void plan_choice(sti_coordinator *c, uint32_t s, sti_choice *choice)
{
    c->wants_choice = false;
    c->choosers[s].probed[0] = 0;
    c->plan = (sti_plan){.set = true,
                         .by_policy = true,
                         .phase = c->choice_phase,
                         .n_blocks = choice->n,
                         .blocks = choice->blocks,
                         .chooser = s};
    choice->blocks = NULL;
}

/* What scheduler s has answered, at its turn. True: this is what comes next;
 * false: it is passed by. */
static bool take_turn(sti_coordinator *c, uint32_t s, sti_effects *out)
{
    sti_chooser *chooser = &c->choosers[s];
    sti_choice *choice = chooser->choice;
    strads_choice_kind kind = choice->kind;
    chooser->choice = NULL;
    chooser->state = STI_CHOOSER_IDLE;
    if (kind == STRADS_CHOOSE_BLOCKS) {
        plan_choice(c, s, choice);
    } else if (kind == STRADS_CHOOSE_PROBE) {
        strads_block *pair = choice->blocks;
        choice->blocks = NULL;
        sti_coord_plan_probe(c, chooser->probed, pair, s, out);
    } else if (kind == STRADS_CHOOSE_WAIT && !chooser->outdated) {
        chooser->state = STI_CHOOSER_WAITS;
    } else if (kind == STRADS_CHOOSE_REST && !has_news(chooser)) {
        chooser->state = STI_CHOOSER_RESTS;
    }
    sti_object_drop(choice);
    return c->plan.set;
}

/* Nobody has anything to choose. */
static bool nobody_chooses(sti_coordinator *c, sti_effects *out)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (c->choosers[s].state == STI_CHOOSER_WAITS)
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
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        c->choosers[s].state = STI_CHOOSER_IDLE;
    sti_coord_rest(c, out);
    return true;
}

bool sti_coord_choose(sti_coordinator *c, sti_effects *out)
{
    for (uint32_t passed = 0; passed < c->run->schedulers;) {
        uint32_t s = c->turn;
        sti_chooser *chooser = &c->choosers[s];
        if (is_due(chooser) &&
            (!ask(c, s, out) || !sti_coord_ask_ahead(c, out)))
            return true;
        if (chooser->state == STI_CHOOSER_ASKED && !chooser->choice) {
            c->busy = true;
            c->awaited = s + 1;
            return true;
        }
        bool taken =
            chooser->state == STI_CHOOSER_ASKED && take_turn(c, s, out);
        if (!taken && is_due(chooser))
            continue; /* what it answered is no longer so */
        c->turn = (s + 1) % c->run->schedulers;
        if (taken || c->stage == STI_STAGE_ENDED)
            return true;
        passed++;
    }
    return nobody_chooses(c, out);
}

void sti_coord_take_choice(sti_coordinator *c, const sti_msg *msg,
                           sti_effects *out)
{
    uint32_t s = msg->partition;
    if (s >= c->run->schedulers || !msg->object ||
        c->choosers[s].state != STI_CHOOSER_ASKED || c->choosers[s].choice) {
        sti_object_drop(msg->object);
        sti_coord_end(c,
                      strads_fail(STRADS_EPEER,
                                  "a node sent a choice of scheduler %u, which "
                                  "nobody has asked for",
                                  s),
                      out);
        return;
    }
    c->choosers[s].choice = (sti_choice *)msg->object;
    if (c->awaited != s + 1)
        return;
    c->awaited = 0;
    c->busy = false;
}

bool sti_coord_is_asking(const sti_coordinator *c)
{
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (c->choosers[s].state == STI_CHOOSER_ASKED && !c->choosers[s].choice)
            return true;
    return false;
}

/* ---- what lands -------------------------------------------------------- */

void sti_coord_wake(sti_coordinator *c, const sti_flight *f)
{
    if (f->by_policy)
        c->choosers[f->chooser].in_flight--;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        sti_chooser *chooser = &c->choosers[s];
        if (f->by_policy && f->chooser != s)
            continue; /* it has not been told of it */
        chooser->outdated = true;
        if (chooser->state == STI_CHOOSER_WAITS)
            chooser->state = STI_CHOOSER_IDLE;
    }
}

strads_err sti_coord_tell_choosers(sti_coordinator *c, sti_moved **moved)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        strads_err failed = sti_ask_add_moved(c->choosers[s].ask, moved[s]);
        moved[s] = NULL;
        err = err ? err : failed;
    }
    return err;
}

void sti_coord_forget_probes(sti_coordinator *c)
{
    c->epoch++;
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        sti_ask_forget_found(c->choosers[s].ask);
}

/* An only scheduler looks at the run's cache. */
strads_err sti_coord_tell_found(sti_coordinator *c, const sti_flight *f)
{
    const sti_dispatch *d = f->dispatch;
    if (f->wished || f->chooser == STI_CHOOSER_NONE || c->run->schedulers == 1)
        return STRADS_OK;
    const strads_block pair[2] = {d->blocks[0], d->against};
    size_t bytes = sizeof(double) * pair[0].n * pair[1].n;
    sti_buffer *values;
    strads_err err = sti_buffer_new(bytes, &values);
    if (err)
        return err;
    memcpy(values->bytes, f->partial->bytes + d->partial_at[0], bytes);
    return sti_ask_add_found(c->choosers[f->chooser].ask, pair, values,
                             (const double *)(void *)values->bytes);
}

/* ---- making ------------------------------------------------------------ */

strads_err sti_coord_make_choosers(sti_coordinator *c)
{
    c->choosers = calloc(c->run->schedulers, sizeof *c->choosers);
    c->aggregate.moved = calloc(c->run->schedulers, sizeof(sti_moved *));
    if (!c->choosers || !c->aggregate.moved)
        return sti_coord_no_memory();
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < c->run->schedulers && !err; s++)
        err = sti_ask_new(&c->choosers[s].ask);
    return err;
}

void sti_coord_free_choosers(sti_coordinator *c)
{
    for (uint32_t s = 0; c->choosers && s < c->run->schedulers; s++) {
        sti_object_drop(c->choosers[s].ask);
        sti_object_drop(c->choosers[s].choice);
    }
    for (uint32_t s = 0; c->aggregate.moved && s < c->run->schedulers; s++)
        sti_object_drop(c->aggregate.moved[s]);
    free(c->choosers);
    free(c->aggregate.moved);
}
