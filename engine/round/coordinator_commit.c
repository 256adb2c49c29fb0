/* Taking in what comes back: commits in the promised order, news for the next
 * dispatch, the history that later commits need, reports and bounds. */
#include "engine/round/coordinator_state.h"

#include <stdlib.h>
#include <string.h>

/* The flight to be committed next: by round when that is promised, otherwise
 * the oldest that has arrived. */
static sti_flight *next_arrived(sti_coordinator *c)
{
    sti_flight *best = NULL;
    sti_flight *oldest = NULL;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        sti_flight *f = &c->flights[k];
        if (!f->used)
            continue;
        if (!oldest || f->dispatch->round < oldest->dispatch->round)
            oldest = f;
        if (f->arrived && (!best || f->dispatch->round < best->dispatch->round))
            best = f;
    }
    return c->run->deterministic && best != oldest ? NULL : best;
}

static void land(sti_coordinator *c, sti_flight *f)
{
    if (!c->final_report && !f->winds_up) /* the last look is no round either */
        c->progress.round++;
    sti_coord_wake(c, f);
    if (f != &c->own)
        c->in_flight--;
    sti_coord_clear_flight(f);
    c->waiting = false;
}

/* OPEN and CLOSE have nothing to commit: all partitions are through. */
static void land_internal(sti_coordinator *c, sti_flight *f, sti_effects *out)
{
    bool closed = f->dispatch->phase == STI_PHASE_CLOSE;
    land(c, f);
    c->progress.round--;
    c->stage = STI_STAGE_RUNNING;
    if (closed)
        sti_coord_end(c, STRADS_OK, out);
}

void sti_coord_commit(sti_coordinator *c, sti_flight *f, sti_effects *out)
{
    sti_aggregate_job *job = &c->aggregate;
    c->committing = f;
    job->run = c->run;
    job->dispatch = f->dispatch;
    job->partial = f->partial;
    job->n_slices = f->n_slices;
    job->slices = f->slices;
    job->by_policy = f->by_policy;
    job->keep_pairs = !f->wished;
    job->ask_objective = c->run->phases == &c->run->simple &&
                         c->since_report >= c->run->shape.parameters;
    job->reported = false;
    job->updates = job->updates_other = 0;
    sti_coord_start_job(c, &job->job, STI_CALL_AGGREGATE, f->dispatch->round,
                        f->dispatch->phase, out);
}

bool sti_coord_commit_next(sti_coordinator *c, sti_effects *out)
{
    sti_flight *f = next_arrived(c);
    if (!f)
        return false;
    if (f->dispatch->phase >= c->run->n_phases)
        land_internal(c, f, out);
    else
        sti_coord_commit(c, f, out);
    return true;
}

/* Learns what a policy round costs beside its computing. Waiting behind the
 * rounds before it is no cost of its own: it counts from when they arrived. */
static void measure(sti_coordinator *c, const sti_flight *f)
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

/* Changes that every flight knows, or will know from its news, are history. */
static void trim_history(sti_coordinator *c)
{
    uint64_t known = c->version;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->flights[k].used && c->flights[k].dispatch->known < known)
            known = c->flights[k].dispatch->known;
    size_t gone = 0;
    sti_aggregate_job *job = &c->aggregate;
    while (gone < job->n_recent && job->recent[gone].version <= known)
        gone++;
    if (gone == 0)
        return;
    sti_coord_drop_news(c->history, gone);
    c->n_history -= gone;
    job->n_recent -= gone;
    memmove(c->history, c->history + gone, sizeof(sti_news *) * job->n_recent);
    memmove(job->recent, job->recent + gone,
            sizeof *job->recent * job->n_recent);
}

/* Takes over what the job made: news for the next dispatch, history for the
 * commits to come. */
static strads_err take_news(sti_coordinator *c)
{
    sti_aggregate_job *job = &c->aggregate;
    sti_news **history =
        realloc(c->history, sizeof(sti_news *) * (job->room_recent + 1));
    if (!history)
        return sti_coord_no_memory();
    c->history = history;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < job->n_news; k++) {
        sti_news *news = job->news[k];
        if (news->kind == STI_NEWS_CHANGE) {
            c->history[c->n_history++] = sti_object_keep(news);
            c->version = news->change.version;
        }
        if (err || (err = sti_coord_keep_news(c, news)))
            sti_object_drop(news);
    }
    job->n_news = 0;
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

static void take_wishes(sti_coordinator *c)
{
    sti_wish **last = &c->wishes;
    while (*last)
        last = &(*last)->next;
    *last = c->aggregate.wishes;
    c->n_wishes += c->aggregate.n_wishes;
    c->aggregate.wishes = NULL;
    c->aggregate.n_wishes = 0;
}

void sti_coord_take_report(sti_coordinator *c, sti_effects *out)
{
    const strads_report *report = &c->aggregate.report;
    c->progress.objective = report->objective;
    c->progress.gap = report->gap;
    c->progress.nonzeros = report->nonzeros;
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
    sti_flight *f = c->committing;
    f->partial = job->partial;
    if (job->job.err) {
        sti_coord_fail_job(c, &job->job, out);
        return;
    }
    if (f->by_policy && f != &c->own)
        measure(c, f);
    strads_err err = STRADS_OK;
    if (f->dispatch->has_against) {
        err = sti_coord_tell_found(c, f);
        c->probing--;
        c->progress.probes +=
            (uint64_t)f->dispatch->blocks[0].n * f->dispatch->against.n;
    }
    take_wishes(c);
    take_route(c);
    land(c, f);
    if (job->n_news)
        c->fresh_report = false;
    if (job->outdated)
        sti_coord_forget_probes(c);
    if (!err)
        err = take_news(c);
    if (!err)
        err = sti_coord_tell_choosers(c, job->moved);
    if (err) {
        sti_coord_end(c, err, out);
        return;
    }
    trim_history(c);
    c->progress.updates_policy += job->updates;
    c->progress.updates_other += job->updates_other;
    c->since_report += job->updates + job->updates_other;
    if (job->reported)
        sti_coord_take_report(c, out);
    check_limits(c);
}
