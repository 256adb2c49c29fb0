/* A node: its threads and roles, made, run and freed, and what others tell it.
 * The first error wins and makes every thread leave after its current job. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/exec/node_state.h"

enum { SPINS = 4000 }; /* looks before sleeping, some 50 us */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- making ------------------------------------------------------------ */

static strads_err make_threads(sti_node *node)
{
    const sti_node_options *o = &node->options;
    node->threads = calloc(o->threads, sizeof *node->threads);
    node->desks = calloc(o->threads, sizeof *node->desks);
    if (!node->threads || !node->desks)
        return strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                           o->threads);
    for (uint32_t t = 0; t < o->threads; t++) {
        sti_thread *th = &node->threads[t];
        th->node = node;
        th->index = t;
        th->own = th->at = &node->desks[t];
        strads_err err =
            sti_desk_init(th->own, o->run, t, o->threads, o->first_worker + t);
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
    if (!err)
        err = sti_coordinator_new(o->run, &node->coordinator);
    return err;
}

strads_err sti_node_new(const sti_node_options *options, sti_node **out)
{
    sti_node *node = calloc(1, sizeof *node);
    if (!node)
        return strads_fail(STRADS_ENOMEM, "no memory for a node");
    node->options = *options;
    pthread_mutex_init(&node->lock, NULL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *wake = getenv("STRADS_WAKE");
    node->spins = (long)options->threads <= cores ? SPINS : 0;
    node->wakes_always = wake && strcmp(wake, "always") == 0;
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

void sti_node_free(sti_node *node)
{
    if (!node)
        return;
    for (uint32_t t = 0; node->threads && t < node->options.threads; t++)
        sti_effects_free(&node->threads[t].effects);
    for (uint32_t t = 0; node->desks && t < node->options.threads; t++)
        sti_desk_free(&node->desks[t]);
    free(node->threads);
    free(node->desks);
    sti_coordinator_free(node->coordinator);
    for (uint32_t s = 0; node->schedulers && s < node->options.run->schedulers;
         s++)
        sti_scheduler_free(node->schedulers[s]);
    free(node->schedulers);
    free(node->scheduler_track);
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
        sti_inbox_stir(&node->desks[t].inbox);
}

/* ---- what others say, and ask --------------------------------------- */

void sti_node_deliver(sti_node *node, const sti_msg *msg)
{
    sti_desk *to = sti_desk_of(node, msg->to);
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

static strads_err start_thread(sti_node *node, uint32_t index)
{
    sti_thread *th = &node->threads[index];
    int failed = 0;
    pthread_mutex_lock(&node->lock);
    if (!atomic_load(&th->started) && !node->closed) {
        failed = pthread_create(&th->handle, NULL, sti_thread_drive, th);
        atomic_store(&th->started, !failed);
    }
    pthread_mutex_unlock(&node->lock);
    return failed ? strads_fail(STRADS_EIO,
                                "cannot start thread %u of %u: use fewer "
                                "workers",
                                index + 1, node->options.threads)
                  : STRADS_OK;
}

void sti_node_attend(sti_node *node, const sti_desk *desk)
{
    if (desk->index == 0 || !sti_inbox_is_called(&desk->inbox) ||
        atomic_load_explicit(&node->threads[desk->index].started,
                             memory_order_relaxed))
        return;
    strads_err err = start_thread(node, desk->index);
    if (err)
        sti_node_abort(node, err, strads_error_text());
}

/* Threads start when they are called, so that little work is one thread's from
 * beginning to end; but at once where messages come from other nodes, which
 * may do so when none of this one's is awake. */
static strads_err begin(sti_node *node)
{
    strads_err err = STRADS_OK;
    if (node->coordinator)
        err = sti_desk_push(&node->desks[0], STI_COORDINATOR,
                            &(sti_event){.kind = STI_EVENT_START});
    if (node->options.run->nodes > 1)
        for (uint32_t t = 1; t < node->options.threads && !err; t++)
            err = start_thread(node, t);
    return err;
}

static void join_threads(sti_node *node)
{
    pthread_mutex_lock(&node->lock);
    node->closed = true;
    pthread_mutex_unlock(&node->lock);
    for (uint32_t t = 1; t < node->options.threads; t++)
        if (atomic_load(&node->threads[t].started))
            pthread_join(node->threads[t].handle, NULL);
}

strads_err sti_node_run(sti_node *node)
{
    node->started_ns = clock_ns(CLOCK_MONOTONIC);
    node->cpu_started_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    strads_err err = begin(node);
    if (err)
        sti_node_abort(node, err, strads_error_text());
    sti_thread_drive(&node->threads[0]);
    join_threads(node);
    pthread_mutex_lock(&node->lock); /* others may still say that they fail */
    strads_err failed =
        node->err ? strads_fail(node->err, "%s", node->text) : STRADS_OK;
    pthread_mutex_unlock(&node->lock);
    return failed;
}
