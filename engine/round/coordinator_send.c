/* The making of a dispatch from a plan: whether it may leave, what it takes
 * along, and its sending. */
#include "engine/round/coordinator_state.h"

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
bool sti_coord_runs_alone(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return true;
    const strads_phase *p = &run->phases[phase];
    return p->drains || p->outdates || p->when == STRADS_WHEN_START ||
           p->when == STRADS_WHEN_REST;
}

static bool note_flying(sti_coordinator *c, size_t *n,
                        const strads_block *block)
{
    if (*n == c->room_flying) {
        size_t room = *n ? 2 * *n : 16;
        strads_block *more = realloc(c->flying, sizeof *more * room);
        if (!more)
            return false;
        c->flying = more;
        c->room_flying = room;
    }
    c->flying[(*n)++] = *block;
    return true;
}

/* Of a joint block a scheduler knows its own part. */
static bool is_told(const sti_coordinator *c, const sti_flight *f,
                    uint32_t chooser, const strads_block *block)
{
    if (chooser == STI_CHOOSER_NONE || !f->by_policy)
        return true;
    return f->n_parts ? sti_run_chooser(c->run, block->id) == chooser
                      : f->chooser == chooser;
}

size_t sti_coord_gather_flying(sti_coordinator *c, uint32_t chooser)
{
    size_t n = 0;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const sti_flight *f = &c->flights[k];
        if (!f->used || f->dispatch->phase == c->run->probe_phase)
            continue;
        bool parts = chooser != STI_CHOOSER_NONE && f->n_parts;
        const strads_block *blocks = parts ? f->parts : f->dispatch->blocks;
        uint32_t n_blocks = parts ? f->n_parts : f->dispatch->n_blocks;
        for (uint32_t b = 0; b < n_blocks; b++)
            if (is_told(c, f, chooser, &blocks[b]) &&
                !note_flying(c, &n, &blocks[b]))
                return SIZE_MAX;
    }
    return n;
}

bool sti_coord_plan_may_leave(sti_coordinator *c)
{
    c->plan.follows = 0;
    if (c->in_flight == 0)
        return true;
    if (sti_coord_flight(c, c->next_seq)->used)
        return false;
    return !sti_coord_runs_alone(c->run, c->plan.phase) && !is_held(c);
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
    size_t n =
        c->plan.follows ? 0 : sti_coord_gather_flying(c, STI_CHOOSER_NONE);
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
    c->prepare.check = c->plan.by_policy;
    c->prepare.again = c->plan.again;
    c->prepare.unknown = NULL;
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
    c->probed[0] = 0;
    sti_coord_count_chosen(c, &c->plan);
    c->progress.blocks += d->n_blocks;
    c->chosen_since_rest++;
}

static void send_dispatch(sti_coordinator *c, sti_dispatch *d, sti_effects *out)
{
    sti_coord_drop_news(c->news, c->n_news);
    c->n_news = 0;
    c->next_seq++;
    c->in_flight++;
    if (sti_descent_begin(c->run, &c->down, d, c->prepare.packed, out))
        sti_coord_end(c, sti_coord_no_memory(), out);
    sti_object_drop(c->prepare.packed);
    c->prepare.packed = NULL;
}

/* What a policy chose may not leave yet: something has to be probed first, or
 * has to land. */
static void keep_plan(sti_coordinator *c, sti_effects *out)
{
    strads_block *pair = c->prepare.unknown;
    c->prepare.unknown = NULL;
    c->kept = c->plan;
    c->kept.again = pair != NULL;
    c->plan = (sti_plan){0};
    if (pair)
        sti_coord_plan_probe(c, c->probed, pair, STI_CHOOSER_NONE, out);
    else
        c->waiting = true;
}

void sti_coord_prepared(sti_coordinator *c, sti_effects *out)
{
    if (c->prepare.job.err) {
        sti_coord_fail_job(c, &c->prepare.job, out);
        return;
    }
    sti_dispatch *d = c->prepare.dispatch;
    c->prepare.dispatch = NULL;
    if (!d) {
        keep_plan(c, out);
        return;
    }
    bool nobody = to_nobody(c->run, d->phase);
    sti_flight *f = nobody ? &c->own : sti_coord_flight(c, c->next_seq);
    *f = (sti_flight){
        .used = true,
        .by_policy = c->plan.by_policy,
        .wished = c->plan.wished,
        .winds_up = c->plan.winds_up,
        .chooser = c->plan.chooser,
        .parts = c->plan.parts,
        .n_parts = c->plan.n_parts,
        .alone = sti_coord_runs_alone(c->run, d->phase),
        .dispatch = d,
        .sent_at = c->now,
    };
    bool chosen = c->plan.by_policy;
    count_dispatch(c, d);
    free(c->plan.blocks);
    c->plan = (sti_plan){0};
    if (nobody)
        sti_coord_commit(c, f, out);
    else
        send_dispatch(c, d, out);
    if (chosen) /* behind the dispatch: its workers come first */
        (void)sti_coord_ask_ahead(c, out);
}
