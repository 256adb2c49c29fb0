/* Data-parallel loops on the threads of this process: sessions bound how far
 * they run apart, so every partition needs a thread of its own, even where
 * there are fewer cores. The caller's thread only waits. */
#include "engine/run/loop_run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/role/job.h"
#include "engine/run/result.h"

typedef struct loop {
    sti_run *run;
    uint32_t partition;
    pthread_t thread;
    strads_err err;
    char text[1024];
} loop;

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

static strads_err run_loop(sti_run *run, uint32_t partition)
{
    strads_task task = {
        .share = run->partition[partition].share,
        .config = run->config,
        .store = run->store,
        .seed = run->seed,
        .width = run->shape.width,
        .shape = &run->shape,
    };
    strads_session *session;
    strads_err err =
        strads_session_open(run->store, partition, run->partitions, &session);
    if (err)
        return err;
    err = open_partition(run, &task);
    if (!err)
        err = run->program->run(&task, session);
    strads_err flushed = err ? STRADS_OK : strads_session_flush(session);
    strads_session_close(session);
    return err ? err : flushed;
}

static void *thread_main(void *arg)
{
    loop *l = arg;
    l->err = run_loop(l->run, l->partition);
    if (l->err)
        (void)snprintf(l->text, sizeof l->text, "%s", strads_error_text());
    return NULL;
}

/* Starts all, joins those that started; the first error by partition. */
static strads_err run_all(sti_run *run, loop *loops)
{
    uint32_t started = 0;
    strads_err err = STRADS_OK;
    for (; started < run->partitions; started++) {
        loops[started] = (loop){.run = run, .partition = started};
        if (pthread_create(&loops[started].thread, NULL, thread_main,
                           &loops[started]))
            break;
    }
    if (started < run->partitions) {
        /* The others would wait for its clock for ever: it gets one that has
         * ended. */
        err = strads_fail(STRADS_EIO,
                          "cannot start %u threads: use fewer "
                          "partitions",
                          run->partitions);
        for (uint32_t p = started; p < run->partitions; p++) {
            strads_session *absent;
            if (strads_session_open(run->store, p, run->partitions, &absent) ==
                STRADS_OK)
                strads_session_close(absent);
        }
    }
    for (uint32_t p = 0; p < started; p++)
        pthread_join(loops[p].thread, NULL);
    for (uint32_t p = 0; p < started && !err; p++)
        if (loops[p].err)
            err = strads_fail(loops[p].err, "%s", loops[p].text);
    return err;
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static strads_err tell_progress(sti_setup *setup, strads_progress *progress)
{
    strads_report report = {.objective = NAN, .gap = NAN};
    strads_err err = STRADS_OK;
    if (setup->run.program->objective)
        err = setup->run.program->objective(setup->run.state, &report);
    progress->objective = report.objective;
    progress->gap = report.gap;
    progress->nonzeros = report.nonzeros;
    if (!err && setup->options.progress)
        setup->options.progress(setup->options.progress_arg, progress);
    return err;
}

strads_err sti_loop_run(sti_setup *setup, strads_result **out)
{
    sti_run *run = &setup->run;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    loop *loops = calloc(run->partitions, sizeof *loops);
    sti_begin_job begin = {0};
    strads_err err =
        loops ? sti_job_begin(run, &begin)
              : strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                            run->partitions);
    sti_object_drop(begin.start);
    if (!err)
        err = run_all(run, loops);
    strads_progress progress = {
        .seconds = now(CLOCK_MONOTONIC) - wall,
        .cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
    };
    if (!err)
        err = tell_progress(setup, &progress);
    if (!err)
        err = sti_result_new(setup, &progress, STRADS_END_STOPPED, out);
    free(loops);
    return err;
}
