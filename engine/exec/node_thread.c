/* What a thread of a node does. It is at its own desk while it is awake, but
 * for jobs of its worker; with nothing to do it takes a turn at one whose
 * thread sleeps, a job out of another's pool, or what has come for one who is
 * at a job. Events go before jobs, so that a role's answer never waits for a
 * computation. */
#include "engine/base/stop_flag.h"
#include "engine/exec/node_state.h"

enum {
    SLEEP_NS = 20 * 1000000, /* then the stop flag is looked at again */
    LATE_NS = 1000 * 1000,   /* a thread that was woken should be there */
    MOVABLE_NS = 200 * 1000, /* jobs that are done while it is on its way */
    WORTH_NS = 50 * 1000     /* jobs that another thread is woken for take so
                                long: its data have to move to that core */
};

static void fail_thread(sti_thread *th, strads_err err)
{
    sti_node_abort(th->node, err, strads_error_text());
}

static void push(sti_thread *th, sti_address to, const sti_event *event)
{
    strads_err err = sti_desk_push(th->at, to, event);
    if (err)
        fail_thread(th, err);
}

static bool finished(const sti_thread *th)
{
    if (atomic_load_explicit(&th->node->aborted, memory_order_relaxed))
        return true;
    bool coordinates = th->index == 0 && th->node->coordinator;
    return th->own->worker_ended &&
           (!coordinates || th->node->coordinator_ended);
}

/* ---- messages ---------------------------------------------------------- */

static bool is_scheduler(sti_address role)
{
    return role >= STI_SCHEDULER_0 && role < STI_CLIENT_0;
}

/* The desk of this node where a role is; NULL: another node's. */
sti_desk *sti_desk_of(sti_node *node, sti_address to)
{
    const sti_run *run = node->options.run;
    if (is_scheduler(to))
        return sti_run_node_of(run, to) == node->options.node
                   ? &node->desks[(to - STI_SCHEDULER_0) / run->nodes %
                                  node->options.threads]
                   : NULL;
    if (to < STI_WORKER_0)
        return node->coordinator ? &node->desks[0] : NULL;
    uint32_t worker = to - STI_WORKER_0;
    if (worker < node->options.first_worker ||
        worker >= node->options.first_worker + node->options.threads)
        return NULL;
    return &node->desks[worker - node->options.first_worker];
}

/* A thread that sleeps is not woken for what is done sooner than it is awake:
 * this one does it when it has nothing else to do (help). The first thread's
 * desk has what is the caller's, so nobody else is ever there. */
static strads_err hand_over(sti_node *node, sti_desk *to, const sti_msg *msg)
{
    uint64_t work_ns = UINT64_MAX;
    if (to->index > 0 && !node->wakes_always && sti_inbox_is_asleep(&to->inbox))
        work_ns = sti_desk_expect(to, msg);
    strads_err err = work_ns < UINT64_MAX
                         ? sti_inbox_leave(&to->inbox, msg, work_ns)
                         : sti_inbox_put(&to->inbox, msg);
    sti_node_attend(node, to);
    return err;
}

static void send(sti_thread *th, const sti_msg *msg)
{
    sti_desk *to = sti_desk_of(th->node, msg->to);
    if (to == th->at) {
        push(th, msg->to, &(sti_event){.msg = *msg});
        return;
    }
    strads_err err = to ? hand_over(th->node, to, msg)
                        : th->node->options.send(th->node->options.arg, msg);
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
        th->at->worker_ended = true;
        if (th->at != th->own) /* whose thread is through, then */
            sti_inbox_stir(&th->at->inbox);
    }
}

static uint64_t usual_ns(const sti_desk *desk)
{
    return atomic_load_explicit(&desk->job_ns, memory_order_relaxed);
}

/* Whether a job that waits at a desk is worth another thread's time. */
static bool wants_relief(const sti_desk *desk, unsigned at_least)
{
    return atomic_load_explicit(&desk->pool.n_waiting, memory_order_relaxed) >=
               at_least &&
           usual_ns(desk) >= WORTH_NS;
}

/* This thread takes up one of two jobs by itself; the other may be somebody
 * else's. */
static void call_for_relief(sti_thread *th)
{
    sti_node *node = th->node;
    for (uint32_t t = 0; t < node->options.threads; t++)
        if (atomic_load(&node->threads[t].idle)) {
            sti_inbox_stir(&node->desks[t].inbox);
            return;
        }
}

/* Its thread is to look up, or to start for it. */
static void call_thread(sti_node *node, sti_desk *desk)
{
    sti_inbox_stir(&desk->inbox);
    sti_node_attend(node, desk);
}

static void keep_job(sti_thread *th, sti_address role, sti_job *job)
{
    sti_desk *desk = th->at;
    strads_err err = role < STI_WORKER_0
                         ? sti_job_queue_put(&desk->urgent, job)
                         : sti_job_pool_put(&desk->pool, (sti_worker_job *)job);
    if (err)
        fail_thread(th, err);
    else if (wants_relief(desk, 2))
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
        fail_thread(th, strads_fail(STRADS_ENOMEM,
                                    "no memory for a role's effects"));
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
    else
        sti_worker_step(th->at->worker, event, 1, &th->effects);
    apply(th, waiting->to);
}

static bool step_next(sti_thread *th)
{
    struct sti_waiting_event waiting;
    if (!sti_desk_pop(th->at, &waiting))
        return false;
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
    return th->track;
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
    push(th, job->role, &(sti_event){.kind = STI_EVENT_DONE, .job = job});
}

/* A job of this desk's worker has been carried out, here or elsewhere. */
static void note_worker_job(sti_thread *th, sti_worker_job *job)
{
    sti_desk_note(th->at, &job->job);
    push_done(th, &job->job);
}

static void run_worker_job(sti_thread *th, sti_worker_job *job)
{
    if (th->round != job->job.round) {
        th->round = job->job.round;
        th->round_ns = 0;
    }
    job->behind_ns = th->round_ns;
    run(th, &job->job);
    th->round_ns += job->job.elapsed_ns;
}

/* Others may look after the desk meanwhile. Who is a guest there stays: he must
 * not wait for a second desk. */
static void run_own_job(sti_thread *th, sti_worker_job *job)
{
    sti_desk *desk = th->at;
    const bool leaves = desk == th->own && desk->pool.shared;
    if (leaves)
        pthread_mutex_unlock(&desk->held);
    run_worker_job(th, job);
    if (leaves)
        pthread_mutex_lock(&desk->held);
    sti_job_pool_end(&desk->pool, job);
    note_worker_job(th, job);
}

/* What other workers wait for goes before this one's own share. */
static bool run_next_job(sti_thread *th)
{
    sti_desk *desk = th->at;
    if (desk->urgent.n) {
        sti_job *job = sti_job_queue_take(&desk->urgent, 0);
        run(th, job);
        push_done(th, job);
        return true;
    }
    sti_worker_job *job = sti_job_pool_take(&desk->pool);
    if (!job)
        return false;
    run_own_job(th, job);
    return true;
}

static void take_relieved(sti_thread *th)
{
    sti_worker_job *job;
    while ((job = sti_job_pool_take_relieved(&th->at->pool))) {
        th->now = sti_node_clock(th->node);
        note_worker_job(th, job);
    }
}

static void take_inbox(sti_thread *th)
{
    sti_desk *desk = th->at;
    size_t n = sti_inbox_take(&desk->inbox, &desk->taken, &desk->room_taken);
    if (n)
        th->now = sti_node_clock(th->node);
    for (size_t k = 0; k < n; k++)
        push(th, desk->taken[k].to, &(sti_event){.msg = desk->taken[k]});
}

static bool is_for_worker(const sti_desk *desk)
{
    return desk->events.n > 0 &&
           desk->events.at[desk->events.first].to >= STI_WORKER_0;
}

/* A desk whose thread is at a long job: its worker hears what has come, so that
 * who waits for this worker's next block or partial does not wait for the job.
 * What is another role's, and all behind it, is left to the thread. False:
 * there was nothing, or somebody is there. */
static bool look_after(sti_thread *th, sti_desk *desk)
{
    bool found = false;
    if (usual_ns(desk) < WORTH_NS || pthread_mutex_trylock(&desk->held))
        return false;
    th->at = desk;
    take_inbox(th);
    take_relieved(th);
    while (is_for_worker(desk))
        found = step_next(th);
    const bool has_more = sti_desk_has_more(desk);
    th->at = th->own;
    pthread_mutex_unlock(&desk->held);
    if (has_more)
        call_thread(th->node, desk);
    return found;
}

/* Takes a job off the hands of a thread that has more than it can do now. */
static bool relieve_another(sti_thread *th)
{
    sti_node *node = th->node;
    for (uint32_t k = 1; k < node->options.threads; k++) {
        sti_desk *other = &node->desks[(th->index + k) % node->options.threads];
        if (sti_inbox_has_come(&other->inbox) && look_after(th, other))
            return true; /* it may have been for this one */
        if (!wants_relief(other, 1))
            continue;
        sti_worker_job *job = sti_job_pool_take(&other->pool);
        if (!job)
            continue;
        run_worker_job(th, job);
        if (sti_job_pool_give_back(&other->pool, job))
            fail_thread(th, STRADS_ENOMEM);
        if (!look_after(th, other))
            call_thread(node, other);
        return true;
    }
    return false;
}

/* ---- the loop ---------------------------------------------------------- */

/* One event or one job of the desk where the thread is; false: none. */
static bool turn(sti_thread *th)
{
    take_inbox(th);
    take_relieved(th);
    return step_next(th) || run_next_job(th);
}

/* A turn at another's desk. Who finds somebody there wakes the desk's own
 * thread: it is the one that waits for him to leave. */
static bool turn_at(sti_thread *th, sti_desk *desk)
{
    if (pthread_mutex_trylock(&desk->held)) {
        call_thread(th->node, desk);
        return false;
    }
    th->at = desk;
    bool found = turn(th);
    if (sti_desk_has_more(desk))
        sti_inbox_mark(&desk->inbox);
    th->at = th->own;
    pthread_mutex_unlock(&desk->held);
    return found;
}

/* The first desk from `from` on with something left while its thread sleeps;
 * while that is being woken, where its jobs take less than `called_ns`. NULL:
 * none. */
static sti_desk *find_left(const sti_thread *th, uint32_t from,
                           uint64_t called_ns)
{
    sti_node *node = th->node;
    for (uint32_t t = from; t < node->options.threads; t++) {
        sti_desk *desk = &node->desks[t];
        if (desk != th->own && !node->wakes_always &&
            sti_inbox_is_left(&desk->inbox, usual_ns(desk) < called_ns))
            return desk;
    }
    return NULL;
}

/* Does what was left for threads that sleep. */
static bool help(sti_thread *th, uint64_t called_ns)
{
    sti_desk *desk = find_left(th, 1, called_ns);
    while (desk && !turn_at(th, desk))
        desk = find_left(th, desk->index + 1, called_ns);
    return desk != NULL;
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
    push(th, STI_COORDINATOR, &(sti_event){.kind = STI_EVENT_CANCEL});
}

/* Others look for long before they sleep only where their jobs are longer than
 * to hand them over; what the first thread waits for, the whole run does. */
static uint32_t spins(const sti_thread *th)
{
    return th->index == 0 || usual_ns(th->own) >= STI_HANDING_NS
               ? th->node->spins
               : 0;
}

/* A thread that has been woken gets some time before another does its work,
 * where that is long: it has the data at hand. */
static void rest(sti_thread *th)
{
    sti_desk *desk = th->own;
    if (sti_inbox_spin(&desk->inbox, spins(th)) || help(th, MOVABLE_NS))
        return;
    const bool awaited = find_left(th, 1, UINT64_MAX) != NULL;
    pthread_mutex_unlock(&desk->held);
    const bool woken =
        sti_inbox_sleep(&desk->inbox, awaited ? LATE_NS : SLEEP_NS);
    pthread_mutex_lock(&desk->held);
    if (awaited && !woken)
        (void)help(th, UINT64_MAX);
}

/* Who is through does first what it has left to others. */
void *sti_thread_drive(void *thread)
{
    sti_thread *th = thread;
    sti_inbox_awake(&th->own->inbox);
    pthread_mutex_lock(&th->own->held);
    while (!finished(th)) {
        look_at_stop(th);
        if (turn(th) || help(th, 0))
            continue;
        atomic_store(&th->idle, true);
        if (!finished(th) && !relieve_another(th))
            rest(th);
        atomic_store(&th->idle, false);
    }
    pthread_mutex_unlock(&th->own->held);
    while (!atomic_load(&th->node->aborted) && help(th, UINT64_MAX))
        ;
    return NULL;
}
