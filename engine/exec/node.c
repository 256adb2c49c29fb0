/* A node: one thread for each worker, and the roles that they drive.
 *
 * One lock guards the roles, their events and the waiting jobs. An idle thread
 * takes the lock, steps roles until no event is left, takes a job and runs it
 * without the lock. So a role's step never waits for a computation, and if jobs
 * are short, one thread runs them all without handing work over. The
 * coordinator, the schedulers and their jobs run only on the caller's thread.
 * Messages to other nodes are sent without the lock, in order. With one thread
 * and one node there is no locking.
 *
 * A thread without work spins for a short time, if there are as many cores as
 * threads, and then sleeps. It is woken if the ready work takes longer than a
 * wakeup. With several nodes it offers its core to other threads while it
 * spins: one of them may be the thread that receives the next message.
 *
 * The first error wins and makes every thread leave after its current job. */
#include "engine/exec/node.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/cores.h"
#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"
#include "engine/exec/job_names.h"
#include "engine/exec/job_pool.h"

enum {
    SPINS = 4000,            /* polls before sleeping, about 50 us */
    YIELD_NS = 50 * 1000,    /* the same, if a thread yields between polls */
    SLEEP_NS = 20 * 1000000, /* then the stop flag is checked again */
    TAKE_NS = 10 * 1000,     /* shortest work that an awake thread takes over */
    WAKE_NS = 40 * 1000 /* shortest work that a sleeping thread is woken for */
};

typedef struct waiting_event {
    sti_address to;
    sti_event event;
} waiting_event;

/* A growing ring. */
typedef struct event_queue {
    waiting_event *at;
    size_t first, n, capacity; /* capacity is a power of two */
} event_queue;

typedef struct worker_context {
    sti_node *node;
    uint32_t index;
    bool started; /* must be joined */
    pthread_t handle;
    sti_effects effects;
    uint64_t now;             /* its last clock reading, since the start */
    uint64_t round, round_ns; /* time that it has computed for this round */
    uint32_t track;
    atomic_uint_least64_t callback_ns;
} worker_context;

struct sti_node {
    sti_node_options options;
    worker_context *contexts;  /* [options.threads]; 0 is the caller's */
    strads_worker_time *times; /* [options.threads] for progress reports */
    uint32_t coordinator_track;
    uint32_t *scheduler_track;
    bool spins;  /* before a thread sleeps */
    bool yields; /* between polls */
    uint64_t started_ns, cpu_started_ns;
    bool cancel_sent;       /* the stop flag was seen and passed on */
    uint64_t leaves_ns;     /* then: the time at which another node leaves */
    atomic_bool peer_stops; /* another node requested it */
    atomic_bool aborted;
    pthread_mutex_t error_lock;
    strads_err err;  /* error_lock; the first error */
    char text[1024]; /* error_lock */

    bool shared;          /* other threads use the node, so it is locked */
    pthread_mutex_t lock; /* guards all below */
    sti_coordinator *coordinator;
    sti_scheduler **schedulers; /* [run->schedulers]; NULL: on another node */
    sti_worker **workers;       /* [options.threads] */
    uint32_t n_workers_ended;
    uint64_t now; /* the latest time passed to a role */
    bool coordinator_ended;
    event_queue caller_events, worker_events;
    sti_job_queue caller_jobs;
    sti_job_pool pool;
    sti_msg *out; /* to other nodes */
    size_t n_out, cap_out;
    bool sending; /* a thread is sending them */
    bool caller_sleeps;
    uint32_t n_sleep; /* other threads asleep */
    pthread_cond_t wake_caller, wake_other;
    /* Written when a thread releases the lock, read without it. */
    atomic_bool work_for_caller, work_for_all;
};

/* Records the first error; threads leave when they see it. */
static void record_error(sti_node *node, strads_err err, const char *text)
{
    pthread_mutex_lock(&node->error_lock);
    if (!node->err) {
        node->err = err;
        (void)snprintf(node->text, sizeof node->text, "%s", text);
    }
    pthread_mutex_unlock(&node->error_lock);
    atomic_store(&node->aborted, true);
}

/* ---- events ------------------------------------------------------------ */

static bool reserve_event(event_queue *q)
{
    if (q->n < q->capacity)
        return true;
    size_t capacity = q->capacity ? 2 * q->capacity : 64;
    waiting_event *at = malloc(sizeof *at * capacity);
    if (!at)
        return false;
    for (size_t k = 0; k < q->n; k++)
        at[k] = q->at[(q->first + k) & (q->capacity - 1)];
    free(q->at);
    *q = (event_queue){.at = at, .n = q->n, .capacity = capacity};
    return true;
}

/* Queues an event for a role of this node. Without memory it drops the event
 * and its message's reference, and ends the run. */
static void queue_event(sti_node *node, sti_address to, const sti_event *event)
{
    event_queue *q =
        to < STI_WORKER_0 ? &node->caller_events : &node->worker_events;
    if (reserve_event(q)) {
        q->at[(q->first + q->n++) & (q->capacity - 1)] =
            (waiting_event){to, *event};
        return;
    }
    if (event->kind == STI_EVENT_MESSAGE)
        sti_object_drop(event->msg.object);
    record_error(node, STRADS_ENOMEM, "no memory for a node's queues");
}

static bool pop_event(event_queue *q, waiting_event *out)
{
    if (q->n == 0)
        return false;
    *out = q->at[q->first];
    q->first = (q->first + 1) & (q->capacity - 1);
    q->n--;
    return true;
}

static void free_events(event_queue *q)
{
    waiting_event left;
    while (pop_event(q, &left))
        if (left.event.kind == STI_EVENT_MESSAGE)
            sti_object_drop(left.event.msg.object);
    free(q->at);
}

/* ---- construction ------------------------------------------------------ */

static strads_err make_workers(sti_node *node)
{
    const sti_node_options *o = &node->options;
    node->contexts = calloc(o->threads, sizeof *node->contexts);
    node->workers = calloc(o->threads, sizeof(sti_worker *));
    node->times = calloc(o->threads, sizeof *node->times);
    if (!node->contexts || !node->workers || !node->times)
        return strads_fail(STRADS_ENOMEM, "no memory for %u threads",
                           o->threads);
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; t < o->threads && !err; t++) {
        char name[32];
        (void)snprintf(name, sizeof name, "worker %u", o->first_worker + t);
        node->contexts[t].node = node;
        node->contexts[t].index = t;
        node->contexts[t].track = sti_trace_track(o->trace, o->node, name);
        err = sti_worker_new(o->run, o->first_worker + t, &node->workers[t]);
    }
    return err ? err
               : sti_job_pool_init(&node->pool, o->run, o->first_worker,
                                   o->threads);
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
    node->shared = options->threads > 1 || options->run->nodes > 1;
    node->yields = options->run->nodes > 1;
    node->spins = options->threads <= sti_cores();
    pthread_mutex_init(&node->error_lock, NULL);
    pthread_mutex_init(&node->lock, NULL);
    strads_err err = sti_monotonic_cond_init(&node->wake_caller) &&
                             sti_monotonic_cond_init(&node->wake_other)
                         ? make_roles(node)
                         : strads_fail(STRADS_ENOMEM, "no memory for a node");
    if (!err)
        err = make_workers(node);
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
    for (uint32_t t = 0; node->contexts && t < node->options.threads; t++)
        sti_effects_free(&node->contexts[t].effects);
    for (uint32_t t = 0; node->workers && t < node->options.threads; t++)
        sti_worker_free(node->workers[t]);
    free(node->contexts);
    free(node->workers);
    free(node->times);
    free_events(&node->caller_events);
    free_events(&node->worker_events);
    sti_job_pool_free(&node->pool);
    for (size_t k = 0; k < node->n_out; k++)
        sti_object_drop(node->out[k].object);
    free(node->out);
    sti_coordinator_free(node->coordinator);
    for (uint32_t s = 0; node->schedulers && s < node->options.run->schedulers;
         s++)
        sti_scheduler_free(node->schedulers[s]);
    free(node->schedulers);
    free(node->scheduler_track);
    pthread_cond_destroy(&node->wake_caller);
    pthread_cond_destroy(&node->wake_other);
    pthread_mutex_destroy(&node->error_lock);
    pthread_mutex_destroy(&node->lock);
    free(node);
}

/* ---- the lock, and waking ---------------------------------------------- */

static void enter_node(sti_node *node)
{
    if (node->shared)
        pthread_mutex_lock(&node->lock);
}

/* Releases the lock. `own_ns`: the time of the job that this thread runs
 * next. */
static void leave_node(sti_node *node, uint64_t own_ns)
{
    if (!node->shared)
        return;
    const bool caller = node->caller_events.n || node->caller_jobs.first;
    const bool any = node->worker_events.n || (node->n_out && !node->sending);
    const sti_job_pool *pool = &node->pool;
    const uint64_t ns = pool->n_ready ? pool->ready_ns + own_ns : 0;
    atomic_store_explicit(&node->work_for_caller, caller, memory_order_release);
    atomic_store_explicit(&node->work_for_all, any || ns >= TAKE_NS,
                          memory_order_release);
    if (node->caller_sleeps && (caller || any || pool->n_ready))
        pthread_cond_signal(&node->wake_caller);
    else if (node->n_sleep && (any || ns >= WAKE_NS))
        pthread_cond_signal(&node->wake_other);
    pthread_mutex_unlock(&node->lock);
}

static bool is_over(const sti_node *node)
{
    if (atomic_load_explicit(&node->aborted, memory_order_relaxed))
        return true;
    return node->n_workers_ended == node->options.threads &&
           (!node->coordinator || node->coordinator_ended);
}

static void wake_all(sti_node *node)
{
    if (!node->shared)
        return;
    pthread_cond_broadcast(&node->wake_caller);
    pthread_cond_broadcast(&node->wake_other);
}

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool may_find_work(const worker_context *c)
{
    const sti_node *node = c->node;
    return atomic_load_explicit(&node->work_for_all, memory_order_acquire) ||
           atomic_load_explicit(&node->aborted, memory_order_relaxed) ||
           (c->index == 0 &&
            atomic_load_explicit(&node->work_for_caller, memory_order_acquire));
}

/* Polls for work without the lock. If other threads want the core, a yield can
 * last for their time slices, so that time bounds the yields, not a count. */
static void spin_for_work(const worker_context *c)
{
    if (!c->node->yields) {
        for (uint32_t k = 0; k < SPINS && !may_find_work(c); k++)
            pause_cpu();
        return;
    }
    const uint64_t until = sti_monotonic_in(YIELD_NS);
    while (!may_find_work(c) && sti_monotonic_now() < until)
        sched_yield();
}

/* Waits until there may be work; the lock is held before and after. */
static void wait_for_work(worker_context *c)
{
    sti_node *node = c->node;
    leave_node(node, 0);
    if (node->spins)
        spin_for_work(c);
    enter_node(node);
    if (!node->shared || may_find_work(c) || is_over(node))
        return;
    const uint64_t until = sti_monotonic_in(SLEEP_NS);
    if (c->index == 0) {
        node->caller_sleeps = true;
        (void)sti_monotonic_wait(&node->wake_caller, &node->lock, until);
        node->caller_sleeps = false;
    } else {
        node->n_sleep++;
        (void)sti_monotonic_wait(&node->wake_other, &node->lock, until);
        node->n_sleep--;
    }
}

/* ---- calls from other threads ------------------------------------------ */

void sti_node_abort(sti_node *node, strads_err err, const char *text)
{
    record_error(node, err, text);
    enter_node(node);
    wake_all(node);
    leave_node(node, 0);
}

static bool is_scheduler(sti_address role)
{
    return role >= STI_SCHEDULER_0 && role < STI_CLIENT_0;
}

static bool is_here(const sti_node *node, sti_address role)
{
    const sti_node_options *o = &node->options;
    if (is_scheduler(role))
        return sti_run_node_of(o->run, role) == o->node;
    if (role < STI_WORKER_0)
        return node->coordinator != NULL;
    return role - STI_WORKER_0 >= o->first_worker &&
           role - STI_WORKER_0 < o->first_worker + o->threads;
}

void sti_node_stop(sti_node *node)
{
    atomic_store(&node->peer_stops, true);
}

void sti_node_deliver(sti_node *node, const sti_msg *msg)
{
    if (!is_here(node, msg->to)) {
        sti_object_drop(msg->object);
        sti_node_abort(node, STRADS_EPEER,
                       "a node sent a message for a role of another node");
        return;
    }
    enter_node(node);
    queue_event(node, msg->to, &(sti_event){.msg = *msg});
    leave_node(node, 0);
}

uint64_t sti_node_clock(const sti_node *node)
{
    return sti_monotonic_now() - node->started_ns;
}

uint64_t sti_node_busy(const sti_node *node)
{
    uint64_t busy = 0;
    for (uint32_t t = 0; t < node->options.threads; t++)
        busy += atomic_load_explicit(&node->contexts[t].callback_ns,
                                     memory_order_relaxed);
    return busy;
}

void sti_node_progress(const sti_node *node, strads_progress *out)
{
    *out = *sti_coordinator_progress(node->coordinator);
    out->seconds = 1e-9 * (double)sti_node_clock(node);
    out->cpu_seconds = 1e-9 * (double)(sti_clock_now(CLOCK_PROCESS_CPUTIME_ID) -
                                       node->cpu_started_ns);
    out->callback_seconds = 0;
    for (uint32_t t = 0; t < node->options.threads; t++) {
        strads_worker_time *w = &node->times[t];
        w->callback_seconds =
            1e-9 * (double)atomic_load_explicit(&node->contexts[t].callback_ns,
                                                memory_order_relaxed);
        w->waiting_seconds = fmax(out->seconds - w->callback_seconds, 0);
        out->callback_seconds += w->callback_seconds;
    }
    out->n_workers = node->options.threads;
    out->worker = node->times;
    out->priorities = node->options.run->priorities;
}

bool sti_node_position(const sti_node *node, sti_checkpoint_position *out)
{
    return sti_coordinator_position(node->coordinator, out);
}

strads_end sti_node_end(const sti_node *node)
{
    return sti_coordinator_end(node->coordinator);
}

/* ---- messages to other nodes -------------------------------------------- */

static void queue_message(sti_node *node, const sti_msg *msg)
{
    if (node->n_out == node->cap_out) {
        size_t capacity = node->cap_out ? 2 * node->cap_out : 64;
        sti_msg *grown = realloc(node->out, capacity * sizeof *grown);
        if (!grown) {
            sti_object_drop(msg->object);
            record_error(node, STRADS_ENOMEM,
                         "no memory for a node's messages");
            return;
        }
        node->out = grown;
        node->cap_out = capacity;
    }
    node->out[node->n_out++] = *msg;
}

/* Sends the queued messages without the lock, one thread at a time, so that
 * their order is kept. False: there are none, or another thread is sending. */
static bool send_out(sti_node *node)
{
    if (!node->n_out || node->sending)
        return false;
    sti_msg *messages = node->out;
    const size_t n = node->n_out;
    node->out = NULL;
    node->n_out = node->cap_out = 0;
    node->sending = true;
    leave_node(node, 0);
    for (size_t k = 0; k < n; k++) {
        strads_err err = node->options.send(node->options.arg, &messages[k]);
        if (err)
            record_error(node, err, strads_error_text());
    }
    free(messages);
    enter_node(node);
    node->sending = false;
    return true;
}

/* ---- roles -------------------------------------------------------------- */

/* Reports progress on the caller's thread, without the lock. */
static void report_progress(sti_node *node)
{
    if (!node->options.report)
        return;
    strads_progress progress;
    sti_node_progress(node, &progress);
    leave_node(node, 0);
    node->options.report(node->options.arg, &progress);
    enter_node(node);
}

static void send_message(sti_node *node, const sti_msg *msg)
{
    if (is_here(node, msg->to))
        queue_event(node, msg->to, &(sti_event){.msg = *msg});
    else
        queue_message(node, msg);
}

static void keep_job(sti_node *node, sti_address role, sti_job *job)
{
    if (role < STI_WORKER_0)
        sti_job_queue_put(&node->caller_jobs, job);
    else
        sti_job_pool_put(&node->pool, (sti_worker_job *)job);
}

static void end_role(sti_node *node, sti_address role, strads_err err)
{
    if (role != STI_COORDINATOR) {
        node->n_workers_ended++;
        return;
    }
    node->coordinator_ended = true;
    if (err)
        record_error(node, err, strads_error_text());
}

/* Carries out a role's effects. `report` releases the lock, so effects are read
 * by index. */
static void apply_effects(worker_context *c, sti_address role)
{
    for (size_t k = 0; k < c->effects.n; k++) {
        const sti_effect effect = c->effects.at[k];
        switch (effect.kind) {
        case STI_EFFECT_SEND:
            send_message(c->node, &effect.msg);
            break;
        case STI_EFFECT_COMPUTE:
            keep_job(c->node, role, effect.job);
            break;
        case STI_EFFECT_REPORT:
            report_progress(c->node);
            break;
        case STI_EFFECT_END:
            end_role(c->node, role, effect.err);
            break;
        case STI_EFFECT_TIMER: /* only a store's clients emit these */
        case STI_EFFECT_WAKE:
            break;
        }
    }
    c->effects.n = 0;
    if (c->effects.lost)
        record_error(c->node, STRADS_ENOMEM, "no memory for a role's effects");
}

static void step_role(worker_context *c, waiting_event *waiting)
{
    sti_node *node = c->node;
    const sti_address to = waiting->to;
    const sti_event *event = &waiting->event;
    if (c->now > node->now)
        node->now = c->now;
    waiting->event.now = node->now;
    if (to == STI_COORDINATOR)
        sti_coordinator_step(node->coordinator, event, 1, &c->effects);
    else if (is_scheduler(to))
        sti_scheduler_step(node->schedulers[to - STI_SCHEDULER_0], event, 1,
                           &c->effects);
    else
        sti_worker_step(
            node->workers[to - STI_WORKER_0 - node->options.first_worker],
            event, 1, &c->effects);
    apply_effects(c, to);
}

static bool step_next(worker_context *c)
{
    waiting_event waiting;
    if (!(c->index == 0 && pop_event(&c->node->caller_events, &waiting)) &&
        !pop_event(&c->node->worker_events, &waiting))
        return false;
    step_role(c, &waiting);
    return true;
}

/* ---- jobs -------------------------------------------------------------- */

static uint32_t track_of_role(const worker_context *c, sti_address role)
{
    if (role == STI_COORDINATOR)
        return c->node->coordinator_track;
    if (is_scheduler(role))
        return c->node->scheduler_track[role - STI_SCHEDULER_0];
    return c->track;
}

static void run_job(worker_context *c, sti_job *job)
{
    sti_node *node = c->node;
    uint64_t begin = sti_node_clock(node);
    sti_job_run(node->options.run, job);
    uint64_t end = sti_node_clock(node);
    job->elapsed_ns = end - begin;
    if (sti_job_is_callback(job))
        atomic_fetch_add_explicit(&c->callback_ns, end - begin,
                                  memory_order_relaxed);
    c->now = end;
    sti_job_span(node->options.run, job, node->options.trace,
                 track_of_role(c, job->role), begin, end);
}

/* The caller's jobs come first, because other workers wait for their
 * results. */
static bool run_next_job(worker_context *c)
{
    sti_node *node = c->node;
    sti_job *job = c->index ? NULL : sti_job_queue_take(&node->caller_jobs);
    sti_worker_job *of_worker =
        job ? NULL : sti_job_pool_take(&node->pool, c->index);
    if (of_worker) {
        job = &of_worker->job;
        if (c->round != job->round) {
            c->round = job->round;
            c->round_ns = 0;
        }
        of_worker->behind_ns = c->round_ns;
    }
    if (!job)
        return false;
    leave_node(node, of_worker ? job->elapsed_ns : 0);
    run_job(c, job);
    enter_node(node);
    if (of_worker) {
        c->round_ns += job->elapsed_ns;
        sti_job_pool_finish(&node->pool, of_worker);
    }
    queue_event(node, job->role,
                &(sti_event){.kind = STI_EVENT_DONE, .job = job});
    return true;
}

/* ---- the loop ---------------------------------------------------------- */

/* Handles the user's stop. The coordinator ends the run with the current model.
 * Another node asks for that and works on meanwhile: if it left at once, the
 * run would end without a model. */
static void check_stop(worker_context *c)
{
    sti_node *node = c->node;
    if (c->index ||
        (!sti_stop_is_asked(node->options.stop) &&
         !atomic_load_explicit(&node->peer_stops, memory_order_relaxed)))
        return;
    if (node->cancel_sent) {
        if (!node->coordinator && sti_monotonic_now() >= node->leaves_ns)
            record_error(node, STRADS_ECANCELED, STI_STOP_LATE);
        return;
    }
    node->cancel_sent = true;
    if (node->coordinator) {
        queue_event(node, STI_COORDINATOR,
                    &(sti_event){.kind = STI_EVENT_CANCEL});
        return;
    }
    node->leaves_ns = sti_monotonic_in(STI_STOP_PATIENCE_NS);
    leave_node(node, 0);
    node->options.ask_stop(node->options.arg);
    enter_node(node);
}

/* The loop of a thread, until all roles have ended or the run has failed. */
static void *drive_node(void *context)
{
    worker_context *c = context;
    sti_node *node = c->node;
    enter_node(node);
    while (!is_over(node)) {
        check_stop(c);
        if (step_next(c) || send_out(node) || run_next_job(c))
            continue;
        wait_for_work(c);
        c->now = sti_node_clock(node);
    }
    while (send_out(node))
        ;
    wake_all(node);
    leave_node(node, 0);
    return NULL;
}

static strads_err start_threads(sti_node *node)
{
    const uint32_t n = node->options.threads;
    for (uint32_t t = 1; t < n; t++) {
        worker_context *c = &node->contexts[t];
        c->started = !pthread_create(&c->handle, NULL, drive_node, c);
        if (!c->started)
            return strads_fail(STRADS_EIO,
                               "cannot start thread %u of %u: use fewer "
                               "workers",
                               t + 1, n);
    }
    return STRADS_OK;
}

strads_err sti_node_run(sti_node *node)
{
    node->started_ns = sti_monotonic_now();
    node->cpu_started_ns = sti_clock_now(CLOCK_PROCESS_CPUTIME_ID);
    enter_node(node); /* a peer may be lost already */
    if (node->coordinator)
        queue_event(node, STI_COORDINATOR,
                    &(sti_event){.kind = STI_EVENT_START});
    leave_node(node, 0);
    strads_err err = start_threads(node);
    if (err)
        sti_node_abort(node, err, strads_error_text());
    (void)drive_node(&node->contexts[0]);
    for (uint32_t t = 1; t < node->options.threads; t++)
        if (node->contexts[t].started)
            pthread_join(node->contexts[t].handle, NULL);
    pthread_mutex_lock(
        &node->error_lock); /* other threads may still report failures */
    strads_err failed =
        node->err ? strads_fail(node->err, "%s", node->text) : STRADS_OK;
    pthread_mutex_unlock(&node->error_lock);
    return failed;
}
