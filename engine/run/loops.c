/* Data-parallel loops on the threads of this process. Sessions bound how far
 * loops run apart, so each partition needs its own thread, even with fewer
 * cores. The caller's thread only reports progress. Invariants: a loop learns
 * of the run's end when it asks, and is never interrupted. The first reason for
 * the end is kept. */
#include "engine/run/loops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"
#include "engine/round/checkpoint.h"
#include "engine/round/job.h"
#include "engine/sim/sim_loop.h"
#include "engine/store/session.h"

uint64_t sti_loops_now(const sti_loops *all)
{
    return all->sim ? sti_sim_loop_now(all->sim) : sti_monotonic_now();
}

static double now_of(const sti_loops *all)
{
    return 1e-9 * (double)sti_loops_now(all);
}

static double cpu_now(void)
{
    return 1e-9 * (double)sti_clock_now(CLOCK_PROCESS_CPUTIME_ID);
}

void sti_loops_moved_locked(sti_loops *all)
{
    pthread_cond_broadcast(&all->moved);
    if (all->sim &&
        all->checkpoint.keeps) /* without checkpoints no loop pauses */
        sti_sim_loop_wake(all->sim);
}

/* ---- calls of a loop ---------------------------------------------------- */

void sti_loops_end_locked(sti_loops *all, strads_end end)
{
    if (!all->ends)
        all->end = end;
    all->ends = true;
}

void sti_loops_end_soon_locked(sti_loops *all, strads_end end)
{
    if (!sti_loop_checkpoint_end_locked(all, end))
        sti_loops_end_locked(all, end);
}

/* Empty clocks after the end are not counted. */
static void publish_locked(sti_loop *l)
{
    if (l->partition == 0 && !l->told)
        l->all->progress.round = strads_session_now(l->session);
    l->seconds = now_of(l->all) - l->begun;
    l->times = strads_session_times(l->session);
    l->clock = strads_session_now(l->session);
}

sti_loop_times sti_loops_times_locked(const sti_loops *all)
{
    sti_loop_times sum = {0};
    for (uint32_t k = 0; k < all->count; k++) {
        const sti_loop *l = &all->loop[k];
        sum.waiting += l->times.waiting;
        sum.network += l->times.network;
        sum.computing += l->seconds - l->times.waiting - l->times.network;
    }
    return sum;
}

void sti_loops_sum_locked(sti_loops *all)
{
    strads_progress *p = &all->progress;
    const sti_loop_times own = sti_loops_times_locked(all);
    p->seconds = now_of(all) - all->wall;
    p->cpu_seconds = all->sim ? own.computing : cpu_now() - all->cpu;
    p->callback_seconds = own.computing + all->others.computing;
    p->waiting_seconds = own.waiting + all->others.waiting;
    p->network_seconds = own.network + all->others.network;
}

strads_progress sti_loops_progress_locked(sti_loops *all)
{
    strads_progress told = all->progress;
    for (uint32_t k = 0; k < all->count; k++) {
        const sti_loop *l = &all->loop[k];
        all->time[k] = (strads_worker_time){.callback_seconds =
                                                l->seconds - l->times.waiting -
                                                l->times.network,
                                            .waiting_seconds = l->times.waiting,
                                            .network_seconds = l->times.network,
                                            .clock = l->clock};
    }
    told.n_workers = all->count;
    told.worker = all->time;
    return told;
}

void sti_loops_look_locked(sti_loops *all)
{
    const double limit = all->setup->run.time_limit;
    if (sti_loop_nodes_follows(all->nodes))
        return;
    if (sti_stop_is_asked(all->setup->options.stop))
        sti_loops_end_soon_locked(all, STRADS_END_CANCELED);
    else if ((limit > 0 && now_of(all) - all->wall >= limit) ||
             (all->most_spent > 0 &&
              1e-9 * (double)sti_sim_loop_spent(all->sim) >= all->most_spent))
        sti_loops_end_soon_locked(all, STRADS_END_TIME);
}

/* Each loop checks the bound on clocks itself, so that all end at the same
 * clock. */
bool strads_loop_ends(const strads_task *task)
{
    sti_loop *l = task->engine;
    sti_loops *all = l->all;
    const uint64_t most = all->setup->run.max_rounds;
    const bool count = most && strads_session_now(l->session) >= most;
    pthread_mutex_lock(&all->lock);
    publish_locked(l);
    sti_loops_look_locked(all);
    all->counted = all->counted || count;
    l->told = count || all->ends || all->failed;
    pthread_mutex_unlock(&all->lock);
    l->asked_at = strads_session_now(l->session) + 1;
    return l->told;
}

/* Stops a loop that never asks, after STRADS_LOOP_GRACE advances. A loop that
 * asks ends by itself. The count is of advances; one advance may pass several
 * clocks. */
static bool cut_off(void *arg)
{
    sti_loop *l = arg;
    sti_loops *all = l->all;
    const uint64_t now = strads_session_now(l->session);
    const uint64_t most = all->setup->run.max_rounds;
    const bool count = most && now >= most;
    if (l->told || l->asked_at == now + 1)
        return false;
    pthread_mutex_lock(&all->lock);
    sti_loops_look_locked(all);
    if (count || all->ends || all->failed)
        l->cut_off = l->unasked++ >= STRADS_LOOP_GRACE;
    all->counted = all->counted || (l->cut_off && count);
    pthread_mutex_unlock(&all->lock);
    return l->cut_off;
}

void sti_loops_take_locked(sti_loops *all, const strads_report *report)
{
    all->progress.objective = report->objective;
    all->progress.gap = report->gap;
    all->progress.nonzeros = report->nonzeros;
    memcpy(all->progress.measure, report->measure, sizeof report->measure);
    sti_loops_sum_locked(all);
    if (report->gap <= all->setup->run.tolerance)
        sti_loops_end_locked(all, STRADS_END_CONVERGED);
    if (report->stop)
        sti_loops_end_locked(all, STRADS_END_STOPPED);
}

void strads_loop_report(const strads_task *task, const strads_report *report)
{
    sti_loop *l = task->engine;
    sti_loops *all = l->all;
    pthread_mutex_lock(&all->lock);
    while (all->reported && !all->failed)
        pthread_cond_wait(&all->moved, &all->lock);
    publish_locked(l);
    if (all->sim) {
        sti_loops_take_locked(all, report);
        pthread_mutex_unlock(&all->lock);
        sti_sim_loop_visit(all->sim, l->partition);
        return;
    }
    all->report = *report;
    if (!sti_loop_nodes_follows(all->nodes))
        sti_loops_take_locked(all, report);
    all->reported = true;
    pthread_cond_broadcast(&all->moved);
    pthread_mutex_unlock(&all->lock);
}

/* The program's spec, with the run's options filled in. */
static strads_table_spec spec_of(const sti_run *run, uint32_t table)
{
    strads_table_spec spec = *strads_store_spec(run->store, table);
    if (table > 0 && !spec.tuned)
        return spec;
    if (spec.hold_below == 0)
        spec.hold_below = run->tuning.hold_below;
    if (spec.push_bytes == 0)
        spec.push_bytes = run->tuning.push_bytes;
    return spec;
}

strads_err sti_loops_specs(const sti_run *run, strads_table_spec **specs,
                           uint32_t *n)
{
    uint32_t count = 0;
    while (strads_store_spec(run->store, count))
        count++;
    strads_table_spec *all = calloc(count + 1, sizeof *all);
    if (!all)
        return strads_fail(STRADS_ENOMEM, "no memory for %u tables", count);
    for (uint32_t t = 0; t < count; t++)
        all[t] = spec_of(run, t);
    *specs = all;
    *n = count;
    return STRADS_OK;
}

/* ---- threads ----------------------------------------------------------- */

static strads_err open_partition(sti_run *run, strads_task *task,
                                 const sti_buffer *from)
{
    sti_partition *part = &run->partition[task->share->partition];
    strads_err err = STRADS_OK;
    if (from)
        err = sti_checkpoint_open_partition(run, task, from);
    else if (run->program->open)
        err = run->program->open(task, &part->local);
    else
        return STRADS_OK;
    part->opened = !err;
    task->local = part->local;
    return err;
}

static void trace_session(sti_loop *l)
{
    const sti_loops *all = l->all;
    const sti_run *run = &all->setup->run;
    char name[32];
    (void)snprintf(name, sizeof name, "partition %u", l->partition);
    uint32_t node = run->node_of[sti_run_host(run, l->partition)];
    sti_session_traced(
        l->session,
        &(sti_session_track){.trace = all->trace,
                             .track = sti_trace_track(all->trace, node, name),
                             .zero_ns = all->zero_ns});
}

static strads_err open_session(sti_loop *l)
{
    const sti_loops *all = l->all;
    const sti_run *run = &all->setup->run;
    if (all->nodes)
        return sti_loop_nodes_session(all->nodes, l->partition, &l->session);
    if (all->sim)
        return sti_sim_loop_session(all->sim, l->partition, &l->session);
    return strads_session_open(run->store, l->partition, run->partitions,
                               &l->session);
}

/* On several nodes, no process has all tables, so task.store is NULL. */
static strads_err run_loop(sti_loop *l)
{
    sti_loops *all = l->all;
    sti_run *run = &all->setup->run;
    strads_task task = {
        .share = run->partition[l->partition].share,
        .config = run->config,
        .store = all->nodes || all->sim ? NULL : run->store,
        .seed = run->seed,
        .width = run->shape.width,
        .shape = &run->shape,
        .state = l->partition == 0 ? run->state : NULL,
        .engine = l,
    };
    strads_err err = open_session(l);
    if (err)
        return err;
    trace_session(l);
    if (all->start) /* all sessions are open before the first push */
        err = strads_session_advance(l->session, all->start);
    if (!err && all->start)
        err = strads_session_barrier(l->session);
    l->session->loop = l;
    l->session->cut_off = cut_off;
    if (all->checkpoint.keeps) {
        l->session->boundary = sti_loop_boundary;
        l->session->arrive = sti_loop_arrive;
    }
    if (!err)
        err = open_partition(run, &task, all->from);
    if (!err)
        err = run->program->run(&task, l->session);
    if (err == STRADS_ECANCELED && l->cut_off)
        err = STRADS_OK;
    return err ? err : strads_session_flush(l->session);
}

/* When a partition ends, with or without an error, it closes its session at
 * once, so that no loop waits for its clock. */
void sti_loop_live(sti_loop *l)
{
    sti_loops *all = l->all;
    l->begun = now_of(all);
    l->err = run_loop(l);
    if (l->err)
        (void)snprintf(l->text, sizeof l->text, "%s", strads_error_text());
    if (l->err && all->nodes)
        sti_loop_nodes_fail(all->nodes, l->err, l->text);
    pthread_mutex_lock(&all->lock);
    all->failed = all->failed || l->err;
    pthread_mutex_unlock(&all->lock);
    if (l->session)
        sti_session_leave(l->session);
    pthread_mutex_lock(&all->lock);
    if (l->session)
        publish_locked(l);
    all->running--;
    sti_loops_moved_locked(all);
    pthread_mutex_unlock(&all->lock);
    sti_session_free(l->session);
}

static void *thread_main(void *arg)
{
    sti_loop_live(arg);
    return NULL;
}

/* Passes reports to the user, on the caller's thread, until all loops have
 * ended. */
static void report_all(sti_loops *all)
{
    pthread_mutex_lock(&all->lock);
    while (all->running || all->reported) {
        if (!all->reported) {
            pthread_cond_wait(&all->moved, &all->lock);
            continue;
        }
        const strads_progress progress = sti_loops_progress_locked(all);
        pthread_mutex_unlock(&all->lock);
        sti_setup_report(&all->setup->options, &progress);
        pthread_mutex_lock(&all->lock);
        all->reported = false;
        pthread_cond_broadcast(&all->moved);
    }
    pthread_mutex_unlock(&all->lock);
}

void sti_loops_go_on(sti_loops *all)
{
    const sti_checkpoints *checkpoints = all->setup->run.checkpoints;
    if (!checkpoints || !checkpoints->from)
        return;
    all->start = checkpoints->from->at.next;
    all->from = checkpoints->from->parts;
    all->progress = checkpoints->from->at.progress;
}

void sti_loops_prepare(sti_loops *all)
{
    all->running = all->count;
    for (uint32_t k = 0; k < all->count; k++)
        all->loop[k] = (sti_loop){.all = all,
                                  .partition = all->first + k,
                                  .reach = all->start};
}

uint32_t sti_loops_start(sti_loops *all)
{
    uint32_t started = 0;
    sti_loops_prepare(all);
    while (started < all->count &&
           !pthread_create(&all->loop[started].thread, NULL, thread_main,
                           &all->loop[started]))
        started++;
    pthread_mutex_lock(&all->lock);
    all->running -= all->count - started;
    all->failed = all->failed || started < all->count;
    pthread_mutex_unlock(&all->lock);
    return started;
}

strads_err sti_loops_join(sti_loops *all, uint32_t started)
{
    for (uint32_t k = 0; k < started; k++)
        pthread_join(all->loop[k].thread, NULL);
    for (uint32_t k = 0; k < started; k++)
        if (all->loop[k].err)
            return strads_fail(all->loop[k].err, "%s", all->loop[k].text);
    if (started == all->count)
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "cannot start %u threads: use fewer partitions",
                       all->count);
}

strads_err sti_loops_open(sti_loops *all)
{
    all->zero_ns = sti_monotonic_now();
    all->wall = 1e-9 * (double)all->zero_ns;
    all->cpu = cpu_now();
    pthread_mutex_init(&all->lock, NULL);
    (void)sti_monotonic_cond_init(&all->moved);
    all->loop = calloc(all->count + 1, sizeof *all->loop);
    all->time = calloc(all->count + 1, sizeof *all->time);
    if (!all->loop || !all->time)
        return strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                           all->count);
    return sti_run_trace_open(&all->setup->options, &all->trace);
}

strads_err sti_loops_close(sti_loops *all, strads_err err)
{
    pthread_cond_destroy(&all->moved);
    pthread_mutex_destroy(&all->lock);
    free(all->loop);
    free(all->time);
    sti_object_drop(all->checkpoint.parts);
    return sti_run_trace_close(all->trace, err);
}

/* ---- in one process ----------------------------------------------------- */

/* If a partition's thread could not start, the other loops would wait for its
 * clock forever. Opens and closes its session, so that they do not. */
static void close_absent_sessions(const sti_run *run, uint32_t started)
{
    for (uint32_t p = started; p < run->partitions; p++) {
        strads_session *absent;
        if (strads_session_open(run->store, p, run->partitions, &absent) ==
            STRADS_OK)
            strads_session_close(absent);
    }
}

static strads_err run_threads(sti_loops *all)
{
    uint32_t started = sti_loops_start(all);
    close_absent_sessions(&all->setup->run, started);
    report_all(all);
    return sti_loops_join(all, started);
}

strads_err sti_loop_run(sti_setup *setup, strads_result **out)
{
    sti_run *run = &setup->run;
    sti_loops all = {
        .setup = setup,
        .count = run->partitions,
        .end = STRADS_END_STOPPED,
    };
    sti_progress_begin(&all.progress);
    sti_begin_job begin = {0};
    strads_err err = sti_loops_open(&all);
    if (!err)
        err = sti_job_begin(run, &begin);
    sti_object_drop(begin.start);
    if (!err)
        sti_loops_go_on(&all);
    if (!err && run->checkpoints)
        sti_loop_checkpoints_open(&all, run->max_rounds);
    if (!err)
        err = run_threads(&all);
    if (!all.ends && all.counted)
        all.end = STRADS_END_ROUNDS;
    if (!err) {
        sti_loops_sum_locked(&all); /* no lock needed: all loops have ended */
        err = sti_result_new(setup, &all.progress, all.end, out);
    }
    return sti_loops_close(&all, err);
}
