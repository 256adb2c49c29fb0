/* A node: its threads and roles, made, run and freed, and what others tell it.
 * The first error wins and makes every thread leave after its current job. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/runtime/node_state.h"

enum { SPINS = 4000 }; /* looks before sleeping, some 50 us */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- making ------------------------------------------------------------ */

static strads_err make_pool(sti_thread *th, uint32_t worker)
{
    const sti_node_options *o = &th->node->options;
    const uint32_t first = sti_run_first(o->run, worker);
    return sti_job_pool_init(&th->pool, first,
                             sti_run_first(o->run, worker + 1) - first,
                             o->threads > 1);
}

static strads_err make_threads(sti_node *node)
{
    const sti_node_options *o = &node->options;
    node->threads = calloc(o->threads, sizeof *node->threads);
    if (!node->threads)
        return strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                           o->threads);
    for (uint32_t t = 0; t < o->threads; t++) {
        sti_thread *th = &node->threads[t];
        th->node = node;
        th->index = t;
        strads_err err = sti_inbox_init(&th->inbox);
        if (!err)
            err = sti_worker_new(o->run, o->first_worker + t, &th->worker);
        if (!err)
            err = make_pool(th, o->first_worker + t);
        if (err)
            return err;
        char name[32];
        (void)snprintf(name, sizeof name, "worker %u", o->first_worker + t);
        th->track = sti_trace_track(o->trace, o->node, name);
    }
    return STRADS_OK;
}

static strads_err make_schedulers(sti_node *node)
{
    const sti_node_options *o = &node->options;
    uint32_t n = o->run->schedulers;
    node->schedulers = calloc(n, sizeof(sti_scheduler *));
    node->scheduler_track = calloc(n, sizeof *node->scheduler_track);
    if (!node->schedulers || !node->scheduler_track)
        return strads_fail(STRADS_ENOMEM, "no memory for %u schedulers", n);
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; s < n && !err; s++) {
        if (sti_run_node_of(o->run, STI_SCHEDULER_0 + s) != o->node)
            continue;
        char name[32];
        (void)snprintf(name, sizeof name, n > 1 ? "scheduler %u" : "scheduler",
                       s);
        node->scheduler_track[s] = sti_trace_track(o->trace, o->node, name);
        err = sti_scheduler_new(o->run, s, &node->schedulers[s]);
    }
    return err;
}

static strads_err make_roles(sti_node *node)
{
    const sti_node_options *o = &node->options;
    if (!o->coordinates)
        return make_schedulers(node);
    node->coordinator_track = sti_trace_track(o->trace, o->node, "coordinator");
    strads_err err = make_schedulers(node);
    node->shard_track = sti_trace_track(o->trace, o->node, "shard");
    if (!err)
        err = sti_coordinator_new(o->run, &node->coordinator);
    return err ? err : sti_shard_of_run(o->run, &node->shard);
}

strads_err sti_node_new(const sti_node_options *options, sti_node **out)
{
    sti_node *node = calloc(1, sizeof *node);
    if (!node)
        return strads_fail(STRADS_ENOMEM, "no memory for a node");
    node->options = *options;
    pthread_mutex_init(&node->lock, NULL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    node->spins = (long)options->threads <= cores ? SPINS : 0;
    strads_err err = sti_job_names_new(options->run, &node->names);
    if (!err)
        err = make_roles(node);
    if (!err)
        err = make_threads(node);
    if (err) {
        sti_node_free(node);
        return err;
    }
    *out = node;
    return STRADS_OK;
}

static void free_thread(sti_thread *th)
{
    if (!th->node)
        return;
    for (size_t k = 0; k < th->events.n; k++) {
        const struct sti_waiting_event *e =
            &th->events.at[(th->events.first + k) & (th->events.room - 1)];
        if (e->event.kind == STI_EVENT_MESSAGE)
            sti_object_drop(e->event.msg.object);
    }
    free(th->events.at);
    sti_job_queue_free(&th->urgent);
    sti_job_pool_free(&th->pool);
    sti_effects_free(&th->effects);
    free(th->taken);
    sti_inbox_free(&th->inbox);
    sti_worker_free(th->worker);
}

void sti_node_free(sti_node *node)
{
    if (!node)
        return;
    for (uint32_t t = 0; node->threads && t < node->options.threads; t++)
        free_thread(&node->threads[t]);
    free(node->threads);
    sti_coordinator_free(node->coordinator);
    for (uint32_t s = 0; node->schedulers && s < node->options.run->schedulers;
         s++)
        sti_scheduler_free(node->schedulers[s]);
    free(node->schedulers);
    free(node->scheduler_track);
    sti_shard_free(node->shard);
    sti_job_names_free(node->names);
    pthread_mutex_destroy(&node->lock);
    free(node);
}

/* ---- ending ------------------------------------------------------------ */

void sti_node_abort(sti_node *node, strads_err err, const char *text)
{
    pthread_mutex_lock(&node->lock);
    if (!node->err) {
        node->err = err;
        (void)snprintf(node->text, sizeof node->text, "%s", text);
    }
    pthread_mutex_unlock(&node->lock);
    atomic_store(&node->aborted, true);
    for (uint32_t t = 0; t < node->options.threads; t++)
        sti_inbox_stir(&node->threads[t].inbox);
}

/* ---- what others say, and ask --------------------------------------- */

void sti_node_deliver(sti_node *node, const sti_msg *msg)
{
    sti_thread *to = sti_thread_of(node, msg->to);
    if (!to) {
        sti_object_drop(msg->object);
        sti_node_abort(node, STRADS_EPEER,
                       "a node sent a message for a role of another node");
        return;
    }
    if (sti_inbox_put(&to->inbox, msg))
        sti_node_abort(node, STRADS_ENOMEM, strads_error_text());
}

uint64_t sti_node_clock(const sti_node *node)
{
    return clock_ns(CLOCK_MONOTONIC) - node->started_ns;
}

void sti_node_progress(const sti_node *node, strads_progress *out)
{
    *out = *sti_coordinator_progress(node->coordinator);
    out->seconds = 1e-9 * (double)sti_node_clock(node);
    out->cpu_seconds = 1e-9 * (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) -
                                       node->cpu_started_ns);
    uint64_t ns = 0;
    for (uint32_t t = 0; t < node->options.threads; t++)
        ns += atomic_load_explicit(&node->threads[t].callback_ns,
                                   memory_order_relaxed);
    out->callback_seconds = 1e-9 * (double)ns;
}

strads_end sti_node_end(const sti_node *node)
{
    return sti_coordinator_end(node->coordinator);
}

/* ---- running ----------------------------------------------------------- */

static strads_err start_threads(sti_node *node, uint32_t *started)
{
    for (*started = 1; *started < node->options.threads; ++*started) {
        sti_thread *th = &node->threads[*started];
        if (pthread_create(&th->handle, NULL, sti_thread_drive, th))
            return strads_fail(STRADS_EIO,
                               "cannot start thread %u of %u: use fewer "
                               "workers",
                               *started + 1, node->options.threads);
    }
    return STRADS_OK;
}

strads_err sti_node_run(sti_node *node)
{
    node->started_ns = clock_ns(CLOCK_MONOTONIC);
    node->cpu_started_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint32_t started;
    strads_err err = start_threads(node, &started);
    if (err)
        sti_node_abort(node, err, strads_error_text());
    sti_thread *first = &node->threads[0];
    if (node->coordinator)
        sti_thread_push(first, STI_COORDINATOR,
                        &(sti_event){.kind = STI_EVENT_START});
    sti_thread_drive(first);
    for (uint32_t t = 1; t < started; t++)
        pthread_join(node->threads[t].handle, NULL);
    pthread_mutex_lock(&node->lock); /* others may still say that they fail */
    strads_err failed =
        node->err ? strads_fail(node->err, "%s", node->text) : STRADS_OK;
    pthread_mutex_unlock(&node->lock);
    return failed;
}
