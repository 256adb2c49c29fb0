/* What a thread of a node does. It owns its inbox, a queue of events for the
 * roles on it, and its worker's pool of jobs; nobody else touches the queue.
 * Events go before jobs, so that a role's answer never waits for a computation.
 * A thread with nothing to do takes a job out of another's pool. */
#include <stdlib.h>

#include "engine/base/stop_flag.h"
#include "engine/runtime/node_state.h"

enum {
    SLEEP_NS = 20 * 1000000, /* then the stop flag is looked at again */
    WORTH_NS = 50 * 1000     /* jobs that another thread is woken for take so
                                long: its data have to move to that core */
};

/* ---- queues ------------------------------------------------------------ */

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node's queues");
}

static void fail_thread(sti_thread *th, strads_err err)
{
    sti_node_abort(th->node, err, strads_error_text());
}

static bool make_room(struct sti_event_queue *q)
{
    if (q->n < q->room)
        return true;
    size_t room = q->room ? 2 * q->room : 64;
    struct sti_waiting_event *at = malloc(sizeof *at * room);
    if (!at)
        return false;
    for (size_t k = 0; k < q->n; k++)
        at[k] = q->at[(q->first + k) & (q->room - 1)];
    free(q->at);
    *q = (struct sti_event_queue){.at = at, .n = q->n, .room = room};
    return true;
}

void sti_thread_push(sti_thread *th, sti_address to, const sti_event *event)
{
    struct sti_event_queue *q = &th->events;
    if (make_room(q)) {
        q->at[(q->first + q->n++) & (q->room - 1)] =
            (struct sti_waiting_event){to, *event};
        return;
    }
    if (event->kind == STI_EVENT_MESSAGE)
        sti_object_drop(event->msg.object);
    fail_thread(th, no_memory());
}

static bool finished(const sti_thread *th)
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
sti_thread *sti_thread_of(sti_node *node, sti_address to)
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

static void send(sti_thread *th, const sti_msg *msg)
{
    sti_thread *to = sti_thread_of(th->node, msg->to);
    strads_err err = STRADS_OK;
    if (to == th) {
        sti_thread_push(th, msg->to, &(sti_event){.msg = *msg});
    } else if (to) {
        err = sti_inbox_put(&to->inbox, msg);
    } else {
        err = th->node->options.send(th->node->options.arg, msg);
    }
    if (err)
        fail_thread(th, err);
}

/* ---- roles ------------------------------------------------------------- */

static void report(sti_node *node)
{
    if (!node->options.report)
        return;
    strads_progress progress;
    sti_node_progress(node, &progress);
    node->options.report(node->options.arg, &progress);
}

static void end_role(sti_thread *th, sti_address role, strads_err err)
{
    if (role == STI_COORDINATOR) {
        th->node->coordinator_ended = true;
        if (err)
            fail_thread(th, err);
    } else {
        th->worker_ended = true;
    }
}

/* Whether what waits at a thread is worth another's time. */
static bool wants_relief(sti_thread *th, unsigned at_least)
{
    return atomic_load_explicit(&th->pool.n_waiting, memory_order_relaxed) >=
               at_least &&
           atomic_load_explicit(&th->job_ns, memory_order_relaxed) >= WORTH_NS;
}

/* This thread takes up one of two jobs by itself; the other may be somebody
 * else's. */
static void call_for_relief(sti_thread *th)
{
    sti_node *node = th->node;
    for (uint32_t t = 0; t < node->options.threads; t++)
        if (atomic_load(&node->threads[t].idle)) {
            sti_inbox_stir(&node->threads[t].inbox);
            return;
        }
}

static void keep_job(sti_thread *th, sti_address role, sti_job *job)
{
    strads_err err = role < STI_WORKER_0
                         ? sti_job_queue_put(&th->urgent, job)
                         : sti_job_pool_put(&th->pool, (sti_worker_job *)job);
    if (err)
        fail_thread(th, err);
    else if (wants_relief(th, 2))
        call_for_relief(th);
}

/* Carries out what a role asked for. The array may grow meanwhile only by the
 * next step, so it is read by place. */
static void apply(sti_thread *th, sti_address role)
{
    for (size_t k = 0; k < th->effects.n; k++) {
        const sti_effect effect = th->effects.at[k];
        switch (effect.kind) {
        case STI_EFFECT_SEND:
            send(th, &effect.msg);
            break;
        case STI_EFFECT_COMPUTE:
            keep_job(th, role, effect.job);
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

static void step(sti_thread *th, const struct sti_waiting_event *waiting)
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

static bool step_next(sti_thread *th)
{
    struct sti_event_queue *q = &th->events;
    if (q->n == 0)
        return false;
    struct sti_waiting_event waiting = q->at[q->first];
    q->first = (q->first + 1) & (q->room - 1);
    q->n--;
    waiting.event.now = th->now;
    step(th, &waiting);
    return true;
}

/* ---- jobs -------------------------------------------------------------- */

static uint32_t track_of(const sti_thread *th, sti_address role)
{
    if (role == STI_COORDINATOR)
        return th->node->coordinator_track;
    if (is_scheduler(role))
        return th->node->scheduler_track[role - STI_SCHEDULER_0];
    return role == STI_SHARD_0 ? th->node->shard_track : th->track;
}

static void run(sti_thread *th, sti_job *job)
{
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
}

static void push_done(sti_thread *th, sti_job *job)
{
    sti_thread_push(th, job->role,
                    &(sti_event){.kind = STI_EVENT_DONE, .job = job});
}

/* Owner: a job of its worker has been carried out, here or elsewhere. */
static void note_worker_job(sti_thread *th, sti_worker_job *job)
{
    if (job->job.call == STI_CALL_WORK || job->job.call == STI_CALL_HOP) {
        uint64_t usual =
            atomic_load_explicit(&th->job_ns, memory_order_relaxed);
        atomic_store_explicit(&th->job_ns,
                              (7 * usual + job->job.elapsed_ns) / 8,
                              memory_order_relaxed);
    }
    push_done(th, &job->job);
}

/* What other workers wait for goes before this thread's own share. */
static bool run_next_job(sti_thread *th)
{
    if (th->urgent.n) {
        sti_job *job = sti_job_queue_take(&th->urgent, 0);
        run(th, job);
        push_done(th, job);
        return true;
    }
    sti_worker_job *job = sti_job_pool_take(&th->pool);
    if (!job)
        return false;
    run(th, &job->job);
    sti_job_pool_end(&th->pool, job);
    note_worker_job(th, job);
    return true;
}

/* Takes a job off the hands of a thread that has more than it can do now. */
static bool relieve_another(sti_thread *th)
{
    sti_node *node = th->node;
    for (uint32_t k = 1; k < node->options.threads; k++) {
        sti_thread *other =
            &node->threads[(th->index + k) % node->options.threads];
        if (!wants_relief(other, 1))
            continue;
        sti_worker_job *job = sti_job_pool_take(&other->pool);
        if (!job)
            continue;
        run(th, &job->job);
        if (sti_job_pool_give_back(&other->pool, job))
            fail_thread(th, STRADS_ENOMEM);
        sti_inbox_stir(&other->inbox);
        return true;
    }
    return false;
}

static void take_relieved(sti_thread *th)
{
    sti_worker_job *job;
    while ((job = sti_job_pool_take_relieved(&th->pool))) {
        th->now = sti_node_clock(th->node);
        note_worker_job(th, job);
    }
}

/* ---- the loop ---------------------------------------------------------- */

static void take_inbox(sti_thread *th)
{
    size_t n = sti_inbox_take(&th->inbox, &th->taken, &th->room_taken);
    if (n)
        th->now = sti_node_clock(th->node);
    for (size_t k = 0; k < n; k++) {
        sti_thread_push(th, th->taken[k].to, &(sti_event){.msg = th->taken[k]});
    }
}

/* The user wants to stop: the coordinator ends the run with the model so far;
 * another node cannot, and its leaving ends the run for all. */
static void look_at_stop(sti_thread *th)
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
    sti_thread_push(th, STI_COORDINATOR,
                    &(sti_event){.kind = STI_EVENT_CANCEL});
}

void *sti_thread_drive(void *thread)
{
    sti_thread *th = thread;
    while (!finished(th)) {
        take_inbox(th);
        take_relieved(th);
        look_at_stop(th);
        if (step_next(th) || run_next_job(th))
            continue;
        atomic_store(&th->idle, true);
        if (!finished(th) && !relieve_another(th))
            sti_inbox_wait(&th->inbox, th->node->spins, SLEEP_NS);
        atomic_store(&th->idle, false);
    }
    return NULL;
}
