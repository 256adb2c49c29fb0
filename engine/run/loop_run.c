/* Data-parallel loops on the threads of this process: sessions bound how far
 * they run apart, so every partition needs a thread of its own, even where
 * there are fewer cores. The caller's thread tells progress, nothing else.
 * Invariant: a loop is told the run's end by what it asks, never by force, and
 * once there is an end its reason stays. */
#include "engine/run/loop_run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/role/job.h"
#include "engine/run/result.h"

/* One partition's. */
typedef struct loop {
    struct loops *all;
    uint32_t partition;
    pthread_t thread;
    strads_session *session;
    double begun;       /* seconds */
    double seconds;     /* since then, as far as it has told: guarded */
    strads_times times; /* the part of them in its session: guarded */
    bool told;          /* that the run ends; its own thread's */
    strads_err err;
    char text[1024];
} loop;

typedef struct loops {
    sti_setup *setup;
    double wall, cpu;     /* when the run began */
    loop *loop;           /* [partitions] */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t moved; /* any of them changed */
    uint32_t running;
    bool failed;
    bool ends;      /* for all of them, */
    strads_end end; /* for that reason; without one: */
    bool counted;   /* a loop came to max_rounds */
    bool reported;  /* waits to be told */
    strads_progress progress;
} loops;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what a loop says and asks ----------------------------------------- */

/* The calls below this line that end with _locked hold the lock. */

static void set_end_locked(loops *all, strads_end end)
{
    if (!all->ends)
        all->end = end;
    all->ends = true;
}

/* Clocks that are ended empty, after the end, do not count. */
static void publish_locked(loop *l)
{
    if (l->partition == 0 && !l->told)
        l->all->progress.round = strads_session_now(l->session);
    l->seconds = now(CLOCK_MONOTONIC) - l->begun;
    l->times = strads_session_times(l->session);
}

static void sum_times_locked(loops *all)
{
    strads_progress *p = &all->progress;
    p->seconds = now(CLOCK_MONOTONIC) - all->wall;
    p->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - all->cpu;
    p->callback_seconds = p->waiting_seconds = p->network_seconds = 0;
    for (uint32_t k = 0; k < all->setup->run.partitions; k++) {
        const loop *l = &all->loop[k];
        p->waiting_seconds += l->times.waiting;
        p->network_seconds += l->times.network;
        p->callback_seconds += l->seconds - l->times.waiting - l->times.network;
    }
}

static void look_for_end_locked(loops *all)
{
    const double limit = all->setup->run.time_limit;
    const volatile bool *stop = all->setup->options.stop;
    if (stop && *stop)
        set_end_locked(all, STRADS_END_CANCELED);
    else if (limit > 0 && now(CLOCK_MONOTONIC) - all->wall >= limit)
        set_end_locked(all, STRADS_END_TIME);
}

/* A bound on clocks is each loop's own, so that all end at the same one. */
bool strads_loop_ends(const strads_task *task)
{
    loop *l = task->engine;
    loops *all = l->all;
    const uint64_t most = all->setup->run.max_rounds;
    const bool count = most && strads_session_now(l->session) >= most;
    pthread_mutex_lock(&all->lock);
    publish_locked(l);
    look_for_end_locked(all);
    all->counted = all->counted || count;
    l->told = count || all->ends || all->failed;
    pthread_mutex_unlock(&all->lock);
    return l->told;
}

void strads_loop_report(const strads_task *task, const strads_report *report)
{
    loop *l = task->engine;
    loops *all = l->all;
    pthread_mutex_lock(&all->lock);
    while (all->reported)
        pthread_cond_wait(&all->moved, &all->lock);
    publish_locked(l);
    all->progress.objective = report->objective;
    all->progress.gap = report->gap;
    all->progress.nonzeros = report->nonzeros;
    sum_times_locked(all);
    if (report->gap <= all->setup->run.tolerance)
        set_end_locked(all, STRADS_END_CONVERGED);
    if (report->stop)
        set_end_locked(all, STRADS_END_STOPPED);
    all->reported = true;
    pthread_cond_broadcast(&all->moved);
    pthread_mutex_unlock(&all->lock);
}

/* ---- threads ----------------------------------------------------------- */

static strads_err open_partition(sti_run *run, strads_task *task)
{
    sti_partition *part = &run->partition[task->share->partition];
    if (!run->program->open)
        return STRADS_OK;
    strads_err err = run->program->open(task, &part->local);
    part->opened = !err;
    task->local = part->local;
    return err;
}

static strads_err run_loop(loop *l)
{
    sti_run *run = &l->all->setup->run;
    strads_task task = {
        .share = run->partition[l->partition].share,
        .config = run->config,
        .store = run->store,
        .seed = run->seed,
        .width = run->shape.width,
        .shape = &run->shape,
        .state = l->partition == 0 ? run->state : NULL,
        .engine = l,
    };
    strads_err err = strads_session_open(run->store, l->partition,
                                         run->partitions, &l->session);
    if (err)
        return err;
    err = open_partition(run, &task);
    if (!err)
        err = run->program->run(&task, l->session);
    return err ? err : strads_session_flush(l->session);
}

/* A partition that has ended without error closes its session at once, so that
 * nobody waits for its clock; so does one that failed. */
static void *thread_main(void *arg)
{
    loop *l = arg;
    loops *all = l->all;
    l->begun = now(CLOCK_MONOTONIC);
    l->err = run_loop(l);
    if (l->err)
        (void)snprintf(l->text, sizeof l->text, "%s", strads_error_text());
    pthread_mutex_lock(&all->lock);
    if (l->session)
        publish_locked(l);
    all->failed = all->failed || l->err;
    pthread_mutex_unlock(&all->lock);
    strads_session_close(l->session);
    pthread_mutex_lock(&all->lock);
    all->running--;
    pthread_cond_broadcast(&all->moved);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Tells what is reported, on the caller's thread, until all have ended. */
static void tell_reports(loops *all)
{
    const strads_engine_options *options = &all->setup->options;
    pthread_mutex_lock(&all->lock);
    while (all->running || all->reported) {
        if (!all->reported) {
            pthread_cond_wait(&all->moved, &all->lock);
            continue;
        }
        strads_progress progress = all->progress;
        pthread_mutex_unlock(&all->lock);
        if (options->progress)
            options->progress(options->progress_arg, &progress);
        pthread_mutex_lock(&all->lock);
        all->reported = false;
        pthread_cond_broadcast(&all->moved);
    }
    pthread_mutex_unlock(&all->lock);
}

/* The others would wait for ever for the clocks of those that could not be
 * started: each gets one that has ended. */
static strads_err excuse(loops *all, uint32_t started)
{
    const sti_run *run = &all->setup->run;
    for (uint32_t p = started; p < run->partitions; p++) {
        strads_session *absent;
        if (strads_session_open(run->store, p, run->partitions, &absent) ==
            STRADS_OK)
            strads_session_close(absent);
    }
    pthread_mutex_lock(&all->lock);
    all->running -= run->partitions - started;
    all->failed = true;
    pthread_mutex_unlock(&all->lock);
    return strads_fail(STRADS_EIO,
                       "cannot start %u threads: use fewer partitions",
                       run->partitions);
}

/* Starts all, joins those that started; the first error by partition. */
static strads_err run_all(loops *all)
{
    const uint32_t partitions = all->setup->run.partitions;
    uint32_t started = 0;
    strads_err err = STRADS_OK;
    all->running = partitions;
    for (uint32_t p = 0; p < partitions; p++)
        all->loop[p] = (loop){.all = all, .partition = p};
    while (started < partitions &&
           !pthread_create(&all->loop[started].thread, NULL, thread_main,
                           &all->loop[started]))
        started++;
    if (started < partitions)
        err = excuse(all, started);
    tell_reports(all);
    for (uint32_t p = 0; p < started; p++)
        pthread_join(all->loop[p].thread, NULL);
    for (uint32_t p = 0; p < started && !err; p++)
        if (all->loop[p].err)
            err = strads_fail(all->loop[p].err, "%s", all->loop[p].text);
    return err;
}

strads_err sti_loop_run(sti_setup *setup, strads_result **out)
{
    sti_run *run = &setup->run;
    loops all = {
        .setup = setup,
        .wall = now(CLOCK_MONOTONIC),
        .cpu = now(CLOCK_PROCESS_CPUTIME_ID),
        .loop = calloc(run->partitions, sizeof *all.loop),
        .end = STRADS_END_STOPPED,
        .progress = {.objective = NAN, .gap = NAN},
    };
    sti_begin_job begin = {0};
    strads_err err =
        all.loop ? sti_job_begin(run, &begin)
                 : strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                               run->partitions);
    sti_object_drop(begin.start);
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.moved, NULL);
    if (!err)
        err = run_all(&all);
    if (!all.ends && all.counted)
        all.end = STRADS_END_ROUNDS;
    if (!err) {
        sum_times_locked(&all); /* there is nobody else any more */
        err = sti_result_new(setup, &all.progress, all.end, out);
    }
    pthread_cond_destroy(&all.moved);
    pthread_mutex_destroy(&all.lock);
    free(all.loop);
    return err;
}
