/* ---- partials, whole or in chunks. A round has arrived once all of them
 * have. */
#include "engine/round/coordinator_state.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/tree.h"

static strads_err fail_unexpected(const sti_msg *msg)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a result of round %llu, which is not "
                       "expected",
                       (unsigned long long)msg->round);
}

/* Takes over a partial, or a chunk of it from the root of its tree. */
static strads_err keep_partial(const sti_coordinator *c, sti_inflight *f,
                               const sti_msg *msg)
{
    const sti_chunks chunks = sti_chunks_of(c->run, f->dispatch);
    const uint32_t p = msg->partition;
    if (msg->slice >= chunks.n || p >= c->run->partitions ||
        sti_chunks_place(&chunks, msg->slice, p).parent != p ||
        (f->chunks && f->chunks[msg->slice]))
        return fail_unexpected(msg);
    if (chunks.n == 1) {
        f->partial = (sti_buffer *)msg->object;
    } else {
        if (!f->chunks)
            f->chunks = calloc(chunks.n, sizeof(sti_buffer *));
        if (!f->chunks)
            return sti_coord_no_memory();
        f->n_chunks = chunks.n;
        f->chunks[msg->slice] = (sti_buffer *)msg->object;
    }
    f->arrived = ++f->n_came == chunks.n;
    if (msg->busy_ns > f->busy_ns)
        f->busy_ns = msg->busy_ns;
    return STRADS_OK;
}

void sti_coord_take_partial(sti_coordinator *c, const sti_msg *msg,
                            sti_effects *out)
{
    sti_inflight *f = sti_coord_inflight(c, msg->round);
    strads_err err = STRADS_OK;
    if (!f->used || f->arrived || f->dispatch->seq != msg->round ||
        (f->dispatch->phase < c->run->n_phases && !msg->object))
        err = fail_unexpected(msg);
    if (!err)
        err = keep_partial(c, f, msg);
    if (err) {
        sti_object_drop(msg->object);
        sti_coord_end(c, err, out);
        return;
    }
    if (!f->arrived)
        return;
    f->alone_ns =
        c->now - (c->last_arrival > f->sent_at ? c->last_arrival : f->sent_at);
    c->last_arrival = c->now;
}

/* ---- commits in the promised order, updates for the next dispatch, the
 * history that later commits need, reports and limits */

/* The next round to commit: the oldest if the order is promised, otherwise the
 * oldest that has arrived. */
static sti_inflight *next_arrived(sti_coordinator *c)
{
    sti_inflight *best = NULL;
    sti_inflight *oldest = NULL;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        sti_inflight *f = &c->inflight[k];
        if (!f->used)
            continue;
        if (!oldest || f->dispatch->round < oldest->dispatch->round)
            oldest = f;
        if (f->arrived && (!best || f->dispatch->round < best->dispatch->round))
            best = f;
    }
    return c->run->deterministic && best != oldest ? NULL : best;
}

static void land_round(sti_coordinator *c, sti_inflight *f)
{
    if (!f->finalises)
        c->progress.round++;
    sti_coord_wake(c, f);
    if (f != &c->own)
        c->in_flight--;
    sti_coord_clear_inflight(f);
    c->waiting = false;
}

/* OPEN, PACK and CLOSE have nothing to commit; all partitions have finished
 * them. */
static void land_internal(sti_coordinator *c, sti_inflight *f, sti_effects *out)
{
    const uint32_t phase = f->dispatch->phase;
    sti_buffer *partial = sti_object_keep(f->partial);
    land_round(c, f);
    c->progress.round--;
    c->stage = STI_STAGE_RUNNING;
    if (phase == STI_PHASE_CLOSE)
        sti_coord_end(c, STRADS_OK, out);
    if (phase == STI_PHASE_PACK)
        sti_coord_checkpoint_parts(c, partial, out);
    else
        sti_object_drop(partial);
}

static void start_commit(sti_coordinator *c, sti_inflight *f, sti_effects *out)
{
    sti_aggregate_job *job = &c->aggregate;
    c->committing = f;
    job->run = c->run;
    job->dispatch = f->dispatch;
    job->partial = f->partial;
    job->n_chunks = f->n_chunks;
    job->chunks = f->chunks;
    job->by_policy = f->by_policy;
    job->ask_objective = c->run->phases == &c->run->simple &&
                         c->since_report >= c->run->shape.parameters;
    job->reported = false;
    job->coordinates = job->coordinates_other = 0;
    sti_coord_start_job(c, &job->job, STI_CALL_AGGREGATE, f->dispatch->round,
                        f->dispatch->phase, out);
}

bool sti_coord_commit_next(sti_coordinator *c, sti_effects *out)
{
    sti_inflight *f = next_arrived(c);
    if (!f)
        return false;
    if (f->dispatch->phase >= c->run->n_phases)
        land_internal(c, f, out);
    else
        start_commit(c, f, out);
    return true;
}

/* Measures the overhead of a policy round. Time spent waiting for earlier
 * rounds does not count: a round is timed from its predecessor's arrival. */
static void measure_overhead(sti_coordinator *c, const sti_inflight *f)
{
    double entries = 0;
    for (uint32_t b = 0; b < f->dispatch->n_blocks; b++)
        for (uint32_t k = 0; k < f->dispatch->blocks[b].n; k++)
            entries +=
                (double)c->run
                    ->weight[strads_block_param(&f->dispatch->blocks[b], k)];
    double took = (double)f->alone_ns;
    double busy = (double)f->busy_ns;
    if (!(busy > 0))
        return;
    double overhead = took > busy ? took - busy : 0;
    double rate = entries / busy;
    const double keep = 0.9;
    if (c->overhead_ns <= 0) {
        c->overhead_ns = overhead;
        c->entries_per_ns = rate;
        return;
    }
    c->overhead_ns = keep * c->overhead_ns + (1 - keep) * overhead;
    c->entries_per_ns = keep * c->entries_per_ns + (1 - keep) * rate;
}

/* Drops changes that every in-flight round knows or will receive in its
 * updates. */
static void trim_history(sti_coordinator *c)
{
    uint64_t known = c->version;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->inflight[k].used && c->inflight[k].dispatch->known < known)
            known = c->inflight[k].dispatch->known;
    size_t gone = 0;
    sti_aggregate_job *job = &c->aggregate;
    while (gone < job->n_recent && job->recent[gone].version <= known)
        gone++;
    if (gone == 0)
        return;
    sti_coord_drop_updates(c->history, gone);
    c->n_history -= gone;
    job->n_recent -= gone;
    memmove(c->history, c->history + gone,
            sizeof(sti_update *) * job->n_recent);
    memmove(job->recent, job->recent + gone,
            sizeof *job->recent * job->n_recent);
}

/* Takes over the job's results: updates for the next dispatch, history for
 * later commits. */
static strads_err take_update(sti_coordinator *c)
{
    sti_aggregate_job *job = &c->aggregate;
    sti_update **history =
        realloc(c->history, sizeof(sti_update *) * (job->cap_recent + 1));
    if (!history)
        return sti_coord_no_memory();
    c->history = history;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < job->n_updates; k++) {
        sti_update *update = job->updates[k];
        if (update->kind == STI_UPDATE_CHANGE) {
            c->history[c->n_history++] = sti_object_keep(update);
            c->version = update->change.version;
        }
        if (err || (err = sti_coord_keep_update(c, update)))
            sti_object_drop(update);
    }
    job->n_updates = 0;
    return err;
}

static void take_route(sti_coordinator *c)
{
    if (!c->aggregate.routed)
        return;
    c->aggregate.routed = false;
    c->policy_phase = c->aggregate.route_phase;
    c->policy_work = c->aggregate.route_work;
}

void sti_coord_take_report(sti_coordinator *c, sti_effects *out)
{
    const strads_report *report = &c->aggregate.report;
    c->progress.objective = report->objective;
    c->progress.gap = report->gap;
    c->progress.nonzeros = report->nonzeros;
    c->flight_reported = true;
    memcpy(c->progress.measure, report->measure, sizeof report->measure);
    c->since_report = 0;
    c->fresh_report = true;
    sti_effect_report(out);
    if (report->gap <= c->run->tolerance) {
        sti_coord_stop(c, STRADS_END_CONVERGED);
        c->end = STRADS_END_CONVERGED;
    } else if (report->stop) {
        sti_coord_stop(c, STRADS_END_STOPPED);
    }
}

static void check_limits(sti_coordinator *c)
{
    const sti_run *run = c->run;
    if (run->max_rounds && c->progress.round >= run->max_rounds)
        sti_coord_stop(c, STRADS_END_ROUNDS);
    if (run->time_limit > 0 && (double)c->now * 1e-9 >= run->time_limit)
        sti_coord_stop(c, STRADS_END_TIME);
}

void sti_coord_committed(sti_coordinator *c, sti_effects *out)
{
    sti_aggregate_job *job = &c->aggregate;
    sti_inflight *f = c->committing;
    f->partial = job->partial;
    if (job->job.err) {
        sti_coord_fail_job(c, &job->job, out);
        return;
    }
    if (f->by_policy && f != &c->own)
        measure_overhead(c, f);
    strads_err err = STRADS_OK;
    if (f->dispatch->has_against) {
        err = sti_coord_report_found(c, f);
        c->probing--;
        c->progress.probes +=
            (uint64_t)f->dispatch->blocks[0].n * f->dispatch->against.n;
    }
    take_route(c);
    land_round(c, f);
    if (job->n_updates)
        c->fresh_report = false;
    if (!err)
        err = take_update(c);
    if (!err)
        err = sti_coord_update_schedulers(c, job->priorities);
    if (err) {
        sti_coord_end(c, err, out);
        return;
    }
    trim_history(c);
    c->progress.updates_policy += job->coordinates;
    c->progress.updates_other += job->coordinates_other;
    c->since_report += job->coordinates + job->coordinates_other;
    if (job->reported)
        sti_coord_take_report(c, out);
    check_limits(c);
}

/* ---- dispatches: whether a plan may be sent, its content, and its sending */

static bool is_to_none(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && run->phases[phase].to == STRADS_TO_NOBODY;
}

static bool has_holder(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && (run->phases[phase].to == STRADS_TO_OWNER ||
                                     run->phases[phase].to == STRADS_TO_RING);
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

/* Whether a block of the plan is still with a holder, which may write it: its
 * values, and the object that travels with it, exist only there. */
static bool is_held(const sti_coordinator *c)
{
    if (!has_holder(c->run, c->plan.phase))
        return false;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const sti_inflight *f = &c->inflight[k];
        if (f->used && has_holder(c->run, f->dispatch->phase) &&
            shares_a_block(f->dispatch, &c->plan))
            return true;
    }
    return false;
}

static bool runs_alone(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return true;
    const strads_phase *p = &run->phases[phase];
    return p->exclusive || p->when == STRADS_WHEN_REST;
}

static bool add_flying(sti_coordinator *c, size_t *n, const strads_block *block)
{
    if (*n == c->cap_flying) {
        size_t capacity = *n ? 2 * *n : 16;
        strads_block *more = realloc(c->flying, sizeof *more * capacity);
        if (!more)
            return false;
        c->flying = more;
        c->cap_flying = capacity;
    }
    c->flying[(*n)++] = *block;
    return true;
}

/* Whether a scheduler knows a block in flight; of a joint block it knows its
 * own part. */
static bool is_known_to(const sti_coordinator *c, const sti_inflight *f,
                        uint32_t scheduler, const strads_block *block)
{
    if (scheduler == STI_SCHEDULER_NONE || !f->by_policy)
        return true;
    return f->n_parts ? sti_run_scheduler_of(c->run, block->id) == scheduler
                      : f->scheduler == scheduler;
}

size_t sti_coord_gather_flying(sti_coordinator *c, uint32_t scheduler)
{
    size_t n = 0;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const sti_inflight *f = &c->inflight[k];
        if (!f->used || f->dispatch->phase == c->run->probe_phase)
            continue;
        bool parts = scheduler != STI_SCHEDULER_NONE && f->n_parts;
        const strads_block *blocks = parts ? f->parts : f->dispatch->blocks;
        uint32_t n_blocks = parts ? f->n_parts : f->dispatch->n_blocks;
        for (uint32_t b = 0; b < n_blocks; b++)
            if (is_known_to(c, f, scheduler, &blocks[b]) &&
                !add_flying(c, &n, &blocks[b]))
                return SIZE_MAX;
    }
    return n;
}

bool sti_coord_plan_may_leave(sti_coordinator *c)
{
    if (c->in_flight == 0)
        return true;
    if (sti_coord_inflight(c, c->next_seq)->used)
        return false;
    return !runs_alone(c->run, c->plan.phase) && !is_held(c);
}

/* A phase to NOBODY leaves the updates for the next phase that is sent. */
void sti_coord_prepare(sti_coordinator *c, sti_effects *out)
{
    bool nobody = is_to_none(c->run, c->plan.phase);
    size_t n = sti_coord_gather_flying(c, STI_SCHEDULER_NONE);
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
        .settled = c->next_seq - c->in_flight,
        .n_blocks = c->plan.n_blocks,
        .blocks = c->plan.blocks,
        .against = c->plan.probe ? &c->plan.blocks[1] : NULL,
        .n_in_flight = (uint32_t)n,
        .in_flight = c->flying,
        .n_updates = nobody ? 0 : c->n_updates,
        .updates = c->updates,
    };
    c->prepare.check = c->plan.by_policy;
    c->prepare.again = c->plan.again;
    c->prepare.unknown = NULL;
    sti_coord_start_job(c, &c->prepare.job, STI_CALL_PREPARE, c->next_round,
                        c->plan.phase, out);
}

static void count_dispatch(sti_coordinator *c, const sti_dispatch *d)
{
    /* numbers seed draws, so PACK takes none */
    c->next_round += d->phase != STI_PHASE_PACK;
    c->laps += is_ring(c->run, d->phase);
    c->probing += c->plan.probe;
    if (!c->plan.by_policy)
        return;
    c->probed[0] = 0;
    sti_coord_count_chosen(c, &c->plan);
    c->progress.blocks += d->n_blocks;
    c->chosen_since_idle++;
}

static void send_dispatch(sti_coordinator *c, sti_dispatch *d, sti_effects *out)
{
    sti_coord_drop_updates(c->updates, c->n_updates);
    c->n_updates = 0;
    c->next_seq++;
    c->in_flight++;
    if (c->flight_reported || c->in_flight > c->progress.in_flight)
        c->progress.in_flight = c->in_flight;
    c->flight_reported = false;
    if (sti_broadcast_begin(c->run, d, c->prepare.packed, out))
        sti_coord_end(c, sti_coord_no_memory(), out);
    sti_object_drop(c->prepare.packed);
    c->prepare.packed = NULL;
}

/* Keeps a policy's plan that may not be sent yet: a pair must be probed first,
 * or a round must land. */
static void keep_plan(sti_coordinator *c, sti_effects *out)
{
    strads_block *pair = c->prepare.unknown;
    c->prepare.unknown = NULL;
    c->kept = c->plan;
    c->kept.again = pair != NULL;
    c->plan = (sti_plan){0};
    if (pair)
        sti_coord_plan_probe(c, c->probed, pair, STI_SCHEDULER_NONE, out);
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
    bool nobody = is_to_none(c->run, d->phase);
    sti_inflight *f = nobody ? &c->own : sti_coord_inflight(c, c->next_seq);
    *f = (sti_inflight){
        .used = true,
        .by_policy = c->plan.by_policy,
        .finalises = c->plan.finalises,
        .scheduler = c->plan.scheduler,
        .parts = c->plan.parts,
        .n_parts = c->plan.n_parts,
        .alone = runs_alone(c->run, d->phase),
        .dispatch = d,
        .sent_at = c->now,
    };
    bool chosen = c->plan.by_policy;
    count_dispatch(c, d);
    free(c->plan.blocks);
    c->plan = (sti_plan){0};
    if (nobody)
        start_commit(c, f, out);
    else
        send_dispatch(c, d, out);
    if (chosen) /* after the dispatch, because its workers come first */
        (void)sti_coord_ask_ahead(c, out);
}
