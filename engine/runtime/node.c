/* A node's threads. Each owns its inbox, a queue of events for the roles on
 * it, and a queue of jobs; nobody else touches the queues. Events go before
 * jobs, so that a role's answer never waits for a computation. The first error
 * wins and makes every thread leave after its current job. */
#include "engine/runtime/node.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/stop_flag.h"
#include "engine/runtime/inbox.h"
#include "engine/runtime/job_names.h"

enum {
    SPINS = 4000,           /* looks before sleeping, some 50 us */
    SLEEP_NS = 20 * 1000000 /* then the stop flag is looked at again */
};

typedef struct waiting_event {
    sti_address to;
    sti_event event;
} waiting_event;

/* A ring that grows. */
typedef struct event_queue {
    waiting_event *at;
    size_t first, n, room; /* room is a power of two */
} event_queue;

typedef struct job_queue {
    sti_job **at;
    size_t first, n, room;
} job_queue;

typedef struct thread {
    sti_node *node;
    uint32_t index;
    pthread_t handle;
    sti_inbox inbox;
    event_queue events;
    job_queue urgent; /* the coordinator's, a scheduler's, the shard's */
    job_queue jobs;
    sti_effects effects;
    sti_msg *taken; /* spare array to swap with the inbox */
    size_t room_taken;
    sti_worker *worker;
    bool worker_ended;
    uint64_t now; /* last reading, since the start */
    uint32_t track;
    atomic_uint_least64_t callback_ns;
} thread;

struct sti_node {
    sti_node_options options;
    thread *threads;
    sti_coordinator *coordinator;
    sti_scheduler **schedulers; /* [run->schedulers]; NULL: another node's */
    uint32_t *scheduler_track;
    sti_shard *shard;
    bool coordinator_ended;
    sti_job_names *names;
    uint32_t coordinator_track, shard_track;
    uint32_t spins;
    uint64_t started_ns, cpu_started_ns;
    bool told_cancel;
    atomic_bool aborted;
    pthread_mutex_t lock;
    strads_err err;  /* lock; the first one */
    char text[1024]; /* lock */
};

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
    if (!node->threads)
        return strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                           o->threads);
    for (uint32_t t = 0; t < o->threads; t++) {
        thread *th = &node->threads[t];
        th->node = node;
        th->index = t;
        strads_err err = sti_inbox_init(&th->inbox);
        if (!err)
            err = sti_worker_new(o->run, o->first_worker + t, &th->worker);
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

static void free_thread(thread *th)
{
    if (!th->node)
        return;
    for (size_t k = 0; k < th->events.n; k++) {
        const waiting_event *e =
            &th->events.at[(th->events.first + k) & (th->events.room - 1)];
        if (e->event.kind == STI_EVENT_MESSAGE)
            sti_object_drop(e->event.msg.object);
    }
    free(th->events.at);
    free(th->urgent.at);
    free(th->jobs.at);
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

/* ---- queues ------------------------------------------------------------ */

static bool push_event(thread *th, const waiting_event *event)
{
    event_queue *q = &th->events;
    if (q->n == q->room) {
        size_t room = q->room ? 2 * q->room : 64;
        waiting_event *at = malloc(sizeof *at * room);
        if (!at)
            return false;
        for (size_t k = 0; k < q->n; k++)
            at[k] = q->at[(q->first + k) & (q->room - 1)];
        free(q->at);
        *q = (event_queue){.at = at, .n = q->n, .room = room};
    }
    q->at[(q->first + q->n++) & (q->room - 1)] = *event;
    return true;
}

static bool push_job(job_queue *q, sti_job *job)
{
    if (q->n == q->room) {
        size_t room = q->room ? 2 * q->room : 64;
        sti_job **at = malloc(sizeof(sti_job *) * room);
        if (!at)
            return false;
        for (size_t k = 0; k < q->n; k++)
            at[k] = q->at[(q->first + k) & (q->room - 1)];
        free(q->at);
        *q = (job_queue){.at = at, .n = q->n, .room = room};
    }
    q->at[(q->first + q->n++) & (q->room - 1)] = job;
    return true;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node's queues");
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

static void fail_thread(thread *th, strads_err err)
{
    sti_node_abort(th->node, err, strads_error_text());
}

static bool finished(const thread *th)
{
    if (atomic_load_explicit(&th->node->aborted, memory_order_relaxed))
        return true;
    bool coordinates = th->index == 0 && th->node->coordinator;
    return th->worker_ended && (!coordinates || th->node->coordinator_ended);
}

/* ---- messages ---------------------------------------------------------- */

static bool is_scheduler(sti_address role)
{
    return role >= STI_SCHEDULER_0 && role < STI_CLIENT_0;
}

/* The thread of this node that hosts a role; NULL: another node's. */
static thread *thread_of(sti_node *node, sti_address to)
{
    const sti_run *run = node->options.run;
    if (is_scheduler(to))
        return sti_run_node_of(run, to) == node->options.node
                   ? &node->threads[(to - STI_SCHEDULER_0) / run->nodes %
                                    node->options.threads]
                   : NULL;
    if (to < STI_WORKER_0)
        return node->coordinator ? &node->threads[0] : NULL;
    uint32_t worker = to - STI_WORKER_0;
    if (worker < node->options.first_worker ||
        worker >= node->options.first_worker + node->options.threads)
        return NULL;
    return &node->threads[worker - node->options.first_worker];
}

void sti_node_deliver(sti_node *node, const sti_msg *msg)
{
    thread *to = thread_of(node, msg->to);
    if (!to) {
        sti_object_drop(msg->object);
        sti_node_abort(node, STRADS_EPEER,
                       "a node sent a message for a role of another node");
        return;
    }
    if (sti_inbox_put(&to->inbox, msg))
        sti_node_abort(node, STRADS_ENOMEM, strads_error_text());
}

static void send(thread *th, const sti_msg *msg)
{
    thread *to = thread_of(th->node, msg->to);
    strads_err err = STRADS_OK;
    if (to == th) {
        const waiting_event event = {msg->to, {.msg = *msg}};
        if (!push_event(th, &event)) {
            sti_object_drop(msg->object);
            err = no_memory();
        }
    } else if (to) {
        err = sti_inbox_put(&to->inbox, msg);
    } else {
        err = th->node->options.send(th->node->options.arg, msg);
    }
    if (err)
        fail_thread(th, err);
}

/* ---- roles ------------------------------------------------------------- */

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

static void report(sti_node *node)
{
    if (!node->options.report)
        return;
    strads_progress progress;
    sti_node_progress(node, &progress);
    node->options.report(node->options.arg, &progress);
}

static void end_role(thread *th, sti_address role, strads_err err)
{
    if (role == STI_COORDINATOR) {
        th->node->coordinator_ended = true;
        if (err)
            fail_thread(th, err);
    } else {
        th->worker_ended = true;
    }
}

/* Carries out what a role asked for. The array may grow meanwhile only by the
 * next step, so it is read by place. */
static void apply(thread *th, sti_address role)
{
    for (size_t k = 0; k < th->effects.n; k++) {
        const sti_effect effect = th->effects.at[k];
        switch (effect.kind) {
        case STI_EFFECT_SEND:
            send(th, &effect.msg);
            break;
        case STI_EFFECT_COMPUTE:
            if (!push_job(role < STI_WORKER_0 ? &th->urgent : &th->jobs,
                          effect.job))
                fail_thread(th, no_memory());
            break;
        case STI_EFFECT_REPORT:
            report(th->node);
            break;
        case STI_EFFECT_END:
            end_role(th, role, effect.err);
            break;
        case STI_EFFECT_TIMER: /* a store's clients are no roles of a run */
        case STI_EFFECT_WAKE:
            break;
        }
    }
    th->effects.n = 0;
    if (th->effects.lost)
        fail_thread(th, no_memory());
}

static void step(thread *th, const waiting_event *waiting)
{
    sti_node *node = th->node;
    const sti_event *event = &waiting->event;
    if (waiting->to == STI_COORDINATOR)
        sti_coordinator_step(node->coordinator, event, 1, &th->effects);
    else if (is_scheduler(waiting->to))
        sti_scheduler_step(node->schedulers[waiting->to - STI_SCHEDULER_0],
                           event, 1, &th->effects);
    else if (waiting->to == STI_SHARD_0)
        sti_shard_step(node->shard, event, 1, &th->effects);
    else
        sti_worker_step(th->worker, event, 1, &th->effects);
    apply(th, waiting->to);
}

static bool step_next(thread *th)
{
    event_queue *q = &th->events;
    if (q->n == 0)
        return false;
    waiting_event waiting = q->at[q->first];
    q->first = (q->first + 1) & (q->room - 1);
    q->n--;
    waiting.event.now = th->now;
    step(th, &waiting);
    return true;
}

/* ---- jobs -------------------------------------------------------------- */

static uint32_t track_of(const thread *th, sti_address role)
{
    if (role == STI_COORDINATOR)
        return th->node->coordinator_track;
    if (is_scheduler(role))
        return th->node->scheduler_track[role - STI_SCHEDULER_0];
    return role == STI_SHARD_0 ? th->node->shard_track : th->track;
}

/* What other workers wait for goes before this thread's own share. */
static bool run_next_job(thread *th)
{
    job_queue *q = th->urgent.n ? &th->urgent : &th->jobs;
    if (q->n == 0)
        return false;
    sti_job *job = q->at[q->first];
    q->first = (q->first + 1) & (q->room - 1);
    q->n--;
    sti_node *node = th->node;
    uint64_t begin = sti_node_clock(node);
    sti_job_run(node->options.run, job);
    uint64_t end = sti_node_clock(node);
    job->elapsed_ns = end - begin;
    if (sti_job_is_callback(job))
        atomic_fetch_add_explicit(&th->callback_ns, end - begin,
                                  memory_order_relaxed);
    th->now = end;
    sti_trace_span(node->options.trace, track_of(th, job->role),
                   sti_job_name(node->names, job), begin, end, job->round);
    const waiting_event done = {job->role,
                                {.kind = STI_EVENT_DONE, .job = job}};
    if (!push_event(th, &done))
        fail_thread(th, no_memory());
    return true;
}

/* ---- the loop ---------------------------------------------------------- */

static void take_inbox(thread *th)
{
    size_t n = sti_inbox_take(&th->inbox, &th->taken, &th->room_taken);
    if (n)
        th->now = sti_node_clock(th->node);
    for (size_t k = 0; k < n; k++) {
        const waiting_event event = {th->taken[k].to, {.msg = th->taken[k]}};
        if (!push_event(th, &event)) {
            sti_object_drop(th->taken[k].object);
            fail_thread(th, no_memory());
        }
    }
}

/* The user wants to stop: the coordinator ends the run with the model so far;
 * another node cannot, and its leaving ends the run for all. */
static void look_at_stop(thread *th)
{
    sti_node *node = th->node;
    if (th->index || node->told_cancel ||
        !sti_stop_is_asked(node->options.stop))
        return;
    node->told_cancel = true;
    if (!node->coordinator) {
        sti_node_abort(node, STRADS_ECANCELED, "stopped by its user");
        return;
    }
    const waiting_event cancel = {STI_COORDINATOR, {.kind = STI_EVENT_CANCEL}};
    if (!push_event(th, &cancel))
        fail_thread(th, no_memory());
}

static void *drive(void *arg)
{
    thread *th = arg;
    while (!finished(th)) {
        take_inbox(th);
        look_at_stop(th);
        if (step_next(th) || run_next_job(th))
            continue;
        if (!finished(th))
            sti_inbox_wait(&th->inbox, th->node->spins, SLEEP_NS);
    }
    return NULL;
}

static strads_err start_threads(sti_node *node, uint32_t *started)
{
    for (*started = 1; *started < node->options.threads; ++*started) {
        thread *th = &node->threads[*started];
        if (pthread_create(&th->handle, NULL, drive, th))
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
    thread *first = &node->threads[0];
    if (node->coordinator) {
        const waiting_event start = {STI_COORDINATOR,
                                     {.kind = STI_EVENT_START}};
        if (!push_event(first, &start))
            fail_thread(first, no_memory());
    }
    drive(first);
    for (uint32_t t = 1; t < started; t++)
        pthread_join(node->threads[t].handle, NULL);
    pthread_mutex_lock(&node->lock); /* others may still say that they fail */
    strads_err failed =
        node->err ? strads_fail(node->err, "%s", node->text) : STRADS_OK;
    pthread_mutex_unlock(&node->lock);
    return failed;
}
