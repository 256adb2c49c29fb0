/* Who steps a node's shards. Messages for them lie in the inbox; one thread at
 * a time drives them: whoever brought a message when nobody did.
 * That is mostly the transport's thread that has just received it, so a push is
 * added, and rows are sent, by the thread that has the bytes in its processor's
 * cache. What would have to wait is left for the store's own thread, which then
 * drives: where a journal is synced, always.
 *
 * Invariants: what a shard sends leaves in its order, because all that comes
 * after a message that is late is late, too. A thread of the transport waits
 * neither for a worker nor for room in a link's queue, so what others wait for
 * is always received. */
#include <stdlib.h>

#include "engine/base/monotonic_clock.h"
#include "engine/round/job.h"
#include "engine/exec/job_names.h"
#include "engine/net/node_store_inside.h"

enum {
    SLEEP_NS = 20 * 1000000, /* then timers are looked at again */
    MOST_TURNS = 64          /* of a thread that has something else to do */
};

void sti_node_store_fail(sti_node_store *store, strads_err err)
{
    store->setup.failed(store->setup.arg, err, strads_error_text());
}

void sti_node_store_take_failure(sti_node_store *store, const sti_msg *msg)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    store->setup.failed(store->setup.arg,
                        failure ? failure->err : STRADS_ENOMEM,
                        failure ? failure->text : "no memory for the store");
    sti_object_drop(msg->object);
}

/* ---- the store's thread ------------------------------------------------ */

/* `drives`: it is to drive from now on. */
static void ring(sti_node_store *store, bool drives)
{
    pthread_mutex_lock(&store->bell_lock);
    store->called = true;
    store->handed |= drives;
    pthread_cond_signal(&store->bell);
    pthread_mutex_unlock(&store->bell_lock);
}

void sti_node_store_call(sti_node_store *store)
{
    ring(store, false);
}

/* There is more to do: nobody's, if nobody drives. */
static bool bring_work(sti_node_store *store)
{
    return atomic_fetch_add(&store->work, 1) == 0;
}

void sti_node_store_leave(sti_node_store *store, const sti_msg *msg)
{
    strads_err err = sti_inbox_put(&store->inbox, msg);
    if (err)
        sti_node_store_fail(store, err);
    if (bring_work(store))
        ring(store, true);
}

/* ---- sending ----------------------------------------------------------- */

void sti_node_store_send(sti_node_store *store, const sti_msg *msg)
{
    strads_err err = store->setup.send(store->setup.arg, msg);
    if (err)
        sti_node_store_fail(store, err);
}

/* What was left to the driver. */
static void send_left(sti_node_store *store, const sti_msg *msg)
{
    const bool of_client = msg->from >= STI_CLIENT_0;
    sti_node_store_send(store, msg);
    if (of_client)
        atomic_fetch_sub(&store->left, 1);
}

/* ---- driving: messages to others --------------------------------------- */

sti_store_end *sti_node_store_end_of(sti_node_store *store, sti_address client)
{
    bool own = client - STI_CLIENT_0 == store->setup.node;
    return &store->end[own ? 0 : store->n_ends - 1];
}

static uint64_t bytes_of(const sti_msg *msg)
{
    const sti_row_answer *answer = (const sti_row_answer *)msg->object;
    return msg->kind == STI_MSG_ROWS && answer->parts
               ? answer->parts->size + answer->lent_bytes
               : 0;
}

/* Who keeps it beyond this step has all of it. */
static void own(sti_node_store *store, const sti_msg *msg)
{
    if (msg->kind != STI_MSG_ROWS || !msg->object)
        return;
    strads_err err = sti_row_answer_own((sti_row_answer *)msg->object);
    if (err)
        sti_node_store_fail(store, err);
}

static void pass_later(sti_node_store *store, const sti_msg *msg)
{
    if (store->n_late == store->room_late) {
        size_t room = store->room_late ? 2 * store->room_late : 16;
        sti_msg *late = realloc(store->late, sizeof *late * room);
        if (!late) {
            sti_object_drop(msg->object);
            sti_node_store_fail(
                store, strads_fail(STRADS_ENOMEM,
                                   "no memory for messages of the store"));
            return;
        }
        store->late = late;
        store->room_late = room;
    }
    store->late[store->n_late++] = *msg;
}

/* To a client here, or to another node as soon as there is room. */
static void pass(sti_node_store *store, const sti_msg *msg)
{
    if (msg->kind == STI_MSG_FAIL) {
        sti_node_store_take_failure(store, msg);
    } else if (sti_node_store_has(store, msg->to)) {
        own(store, msg);
        sti_store_end_deliver(sti_node_store_end_of(store, msg->to), msg,
                              store->may_wait);
    } else if (store->may_wait ||
               (!store->n_late &&
                store->setup.has_room(store->setup.arg, msg->to,
                                      bytes_of(msg)))) {
        send_left(store, msg);
    } else {
        own(store, msg);
        pass_later(store, msg);
    }
}

static void pass_late_ones(sti_node_store *store)
{
    for (size_t k = 0; k < store->n_late; k++)
        send_left(store, &store->late[k]);
    store->n_late = 0;
}

/* ---- driving: shards --------------------------------------------------- */

static sti_store_shard *shard_of(sti_node_store *store, sti_address a)
{
    const sti_run *run = store->setup.run;
    return &store->shards[(a - STI_SHARD_0) /
                          (run->n_hosts ? run->n_hosts : run->nodes)];
}

static void step_shard(sti_node_store *store, sti_store_shard *shard,
                       const sti_event *event)
{
    sti_effects *out = &store->effects;
    sti_shard_step(shard->role, event, 1, out);
    for (size_t k = 0; k < out->n; k++)
        if (out->at[k].kind == STI_EFFECT_COMPUTE)
            shard->job = out->at[k].job;
        else if (out->at[k].kind == STI_EFFECT_TIMER)
            shard->timer_at = out->at[k].at;
        else
            pass(store, &out->at[k].msg);
    out->n = 0;
    if (out->lost)
        sti_node_store_fail(store, strads_fail(STRADS_ENOMEM,
                                               "no memory for a node's store"));
}

static void run_job(sti_node_store *store, const sti_store_shard *shard,
                    sti_job *job)
{
    uint64_t from = store->started_ns - store->setup.zero_ns;
    uint64_t begin = sti_node_store_now(store);
    sti_job_run(NULL, job);
    sti_trace_span(store->setup.trace, shard->track, sti_job_name(NULL, job),
                   from + begin, from + sti_node_store_now(store), 0);
}

/* One job of the shards, in turn. */
static bool run_next_job(sti_node_store *store)
{
    for (uint32_t k = 0; k < store->n_shards; k++) {
        sti_store_shard *shard = &store->shards[store->next_shard];
        store->next_shard = (store->next_shard + 1) % store->n_shards;
        if (!shard->job)
            continue;
        sti_job *job = shard->job;
        shard->job = NULL;
        run_job(store, shard, job);
        step_shard(store, shard,
                   &(sti_event){.kind = STI_EVENT_DONE,
                                .now = sti_node_store_now(store),
                                .job = job});
        return true;
    }
    return false;
}

static void look_at_shards_timer(sti_node_store *store, sti_store_shard *shard,
                                 uint64_t now)
{
    if (now < shard->timer_at)
        return;
    shard->timer_at = UINT64_MAX;
    step_shard(store, shard, &(sti_event){.kind = STI_EVENT_TIMER, .now = now});
}

static void restart_shards(sti_node_store *store)
{
    const sti_event start = {.kind = STI_EVENT_START,
                             .now = sti_node_store_now(store)};
    for (uint32_t k = 0; k < store->n_shards; k++)
        if (store->shards[k].journal)
            step_shard(store, &store->shards[k], &start);
}

/* ---- driving: who, and how long ---------------------------------------- */

static bool take_inbox(sti_node_store *store)
{
    size_t n = sti_inbox_take(&store->inbox, &store->taken, &store->room_taken);
    for (size_t k = 0; k < n; k++) {
        const sti_msg *msg = &store->taken[k];
        if (sti_node_store_has(store, msg->to) && msg->to < STI_CLIENT_0)
            step_shard(store, shard_of(store, msg->to),
                       &(sti_event){.now = sti_node_store_now(store),
                                    .msg = *msg});
        else
            pass(store, msg);
    }
    return n > 0;
}

/* False: there was nothing to do. */
static bool turn(sti_node_store *store)
{
    if (store->may_wait && store->n_late)
        pass_late_ones(store);
    if (atomic_exchange(&store->restarts, false))
        restart_shards(store);
    bool busy = take_inbox(store);
    for (uint32_t k = 0; k < store->n_shards; k++)
        look_at_shards_timer(store, &store->shards[k],
                             sti_node_store_now(store));
    return run_next_job(store) || busy;
}

/* Until nobody has brought anything meanwhile. A thread that may not wait hands
 * over what it cannot do, and what there is too much of. */
static void drive(sti_node_store *store, bool may_wait)
{
    bool leaves = false;
    unsigned seen = 0, turns = 0;
    do {
        seen = atomic_load(&store->work);
        pthread_mutex_lock(&store->driving);
        store->may_wait = may_wait;
        while (!leaves && !atomic_load(&store->stopping) && turn(store))
            leaves = !may_wait && (store->n_late || ++turns == MOST_TURNS);
        leaves |= !may_wait && store->n_late;
        pthread_mutex_unlock(&store->driving);
        if (leaves) {
            ring(store, true);
            return;
        }
    } while (atomic_fetch_sub(&store->work, seen) != seen);
}

/* Takes a call; true: this thread drives now. */
static bool answer_bell(sti_node_store *store)
{
    const uint64_t until = sti_monotonic_in(SLEEP_NS);
    bool late = false;
    pthread_mutex_lock(&store->bell_lock);
    while (!store->called && !late)
        late = !sti_monotonic_wait(&store->bell, &store->bell_lock, until);
    bool handed = store->handed;
    store->called = store->handed = false;
    pthread_mutex_unlock(&store->bell_lock);
    return handed;
}

void *sti_node_store_main(void *arg)
{
    sti_node_store *store = arg;
    bool told = false;
    while (!atomic_load(&store->stopping)) {
        bool handed = answer_bell(store);
        if (handed || bring_work(store)) /* shards' timers are work, too */
            drive(store, true);
        if (!told && atomic_load(&store->aborted)) {
            told = true;
            for (uint32_t k = 0; k < store->n_ends; k++)
                sti_store_end_wake_all(&store->end[k]);
        }
        for (uint32_t k = 0; k < store->n_ends; k++)
            sti_store_end_look_at_timer(&store->end[k]);
    }
    return NULL;
}

void sti_node_store_restart(sti_node_store *store)
{
    atomic_store(&store->restarts, true);
    if (bring_work(store))
        ring(store, true);
}

void sti_node_store_deliver(sti_node_store *store, const sti_msg *msg)
{
    if (msg->to >= STI_CLIENT_0) {
        sti_store_end_deliver(sti_node_store_end_of(store, msg->to), msg,
                              false);
        return;
    }
    if (store->setup.journal) {
        sti_node_store_leave(store, msg);
        return;
    }
    strads_err err = sti_inbox_put(&store->inbox, msg);
    if (err)
        sti_node_store_fail(store, err);
    if (bring_work(store))
        drive(store, false);
}
