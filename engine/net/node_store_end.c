/* A client of a node, and who steps it: whoever has its lock. That is a worker
 * in a call, or the thread that has just received a message to it: rows are
 * copied while they are in its processor's cache. Who cannot have the lock
 * leaves its message to who has it; he looks once more after he has given it
 * back, so that none stays there.
 *
 * Invariants: messages are taken in the order in which they came; what a client
 * sends leaves in the order in which it was asked for, because the lock is held
 * until it has left. Nobody sleeps with the lock, and nobody is woken by who
 * has it: he would only wait for it. */
#include <stdlib.h>

#include "engine/net/node_store_inside.h"

/* ---- birth and end ----------------------------------------------------- */

strads_err sti_store_end_init(sti_store_end *end, sti_node_store *store,
                              const sti_client_setup *setup)
{
    const uint32_t workers = setup->workers;
    *end =
        (sti_store_end){.store = store,
                        .first_worker = setup->first_worker,
                        .timer_at = UINT64_MAX,
                        .workers = calloc(workers + 1, sizeof *end->workers)};
    if (!end->workers)
        return strads_fail(STRADS_ENOMEM, "no memory for a node's store");
    strads_err err = sti_inbox_init(&end->inbox);
    if (err) {
        free(end->workers);
        return err;
    }
    pthread_mutex_init(&end->lock, NULL);
    pthread_mutex_init(&end->sleep_lock, NULL);
    pthread_cond_init(&end->acknowledged, NULL);
    for (; end->n_workers < workers; end->n_workers++)
        pthread_cond_init(&end->workers[end->n_workers].wake, NULL);
    err = sti_client_new(setup, &end->client);
    if (err)
        sti_store_end_free(end);
    return err;
}

void sti_store_end_free(sti_store_end *end)
{
    sti_client_free(end->client);
    sti_effects_free(&end->effects);
    for (uint32_t w = 0; w < end->n_workers; w++)
        pthread_cond_destroy(&end->workers[w].wake);
    free(end->workers);
    free(end->taken);
    pthread_cond_destroy(&end->acknowledged);
    pthread_mutex_destroy(&end->sleep_lock);
    pthread_mutex_destroy(&end->lock);
    sti_inbox_free(&end->inbox);
}

/* ---- sleeping ---------------------------------------------------------- */

static void wake(sti_store_end *end, sti_store_waiter *waiter)
{
    pthread_mutex_lock(&end->sleep_lock);
    waiter->woken = true;
    pthread_mutex_unlock(&end->sleep_lock);
    pthread_cond_signal(&waiter->wake);
}

static void wake_settled(sti_store_end *end)
{
    pthread_mutex_lock(&end->sleep_lock);
    end->settled = true;
    pthread_mutex_unlock(&end->sleep_lock);
    pthread_cond_broadcast(&end->acknowledged);
}

/* With the lock held. More than are noted are woken at once. */
static void note_due(sti_store_end *end, sti_store_waiter *waiter)
{
    if (waiter->due)
        return;
    if (end->n_due == STI_DUE_MAX) {
        wake(end, waiter);
        return;
    }
    waiter->due = true;
    end->due[end->n_due++] = waiter;
}

/* Gives the lock back, and wakes who is due. */
static void release(sti_store_end *end)
{
    sti_store_waiter *due[STI_DUE_MAX];
    const uint32_t n = end->n_due;
    const bool settles = end->settles;
    for (uint32_t k = 0; k < n; k++) {
        due[k] = end->due[k];
        due[k]->due = false;
    }
    end->n_due = 0;
    end->settles = false;
    pthread_mutex_unlock(&end->lock);
    for (uint32_t k = 0; k < n; k++)
        wake(end, due[k]);
    if (settles)
        wake_settled(end);
}

void sti_store_end_wake_all(sti_store_end *end)
{
    for (uint32_t w = 0; w < end->n_workers; w++)
        wake(end, &end->workers[w]);
    wake_settled(end);
}

/* ---- what the client asks for ------------------------------------------ */

/* A message that is kept beyond this step has all of its push: what of that is
 * lent goes back once it is acknowledged, which may be any time then. */
static void leave(sti_store_end *end, sti_msg msg)
{
    const sti_buffer *push = (const sti_buffer *)msg.object;
    sti_buffer *whole;
    if (!sti_node_store_has(end->store, msg.to))
        atomic_fetch_add(&end->store->left, 1);
    if (msg.kind == STI_MSG_PUSH && push->rest_bytes) {
        strads_err err = sti_buffer_copy(push, &whole);
        sti_object_drop(msg.object);
        if (err) { /* which ends the run */
            sti_node_store_fail(end->store, err);
            return;
        }
        msg.object = &whole->head;
    }
    sti_node_store_leave(end->store, &msg);
}

static void send(sti_store_end *end, const sti_msg *msg, bool may_wait)
{
    if (msg->kind == STI_MSG_FAIL)
        sti_node_store_take_failure(end->store, msg);
    else if (may_wait && !sti_node_store_has(end->store, msg->to) &&
             !atomic_load(&end->store->left))
        sti_node_store_send(end->store, msg);
    else
        leave(end, *msg);
}

void sti_store_end_carry_out(sti_store_end *end, bool may_wait)
{
    for (size_t k = 0; k < end->effects.n; k++) {
        sti_effect *effect = &end->effects.at[k];
        switch (effect->kind) {
        case STI_EFFECT_SEND:
            send(end, &effect->msg, may_wait);
            break;
        case STI_EFFECT_TIMER:
            end->timer_at = effect->at;
            break;
        case STI_EFFECT_WAKE:
            note_due(end, &end->workers[effect->worker - end->first_worker]);
            break;
        case STI_EFFECT_COMPUTE:
        case STI_EFFECT_REPORT:
        case STI_EFFECT_END:
            break; /* no client asks for these */
        }
    }
    end->effects.n = 0;
    if (end->effects.lost)
        sti_node_store_fail(end->store,
                            strads_fail(STRADS_ENOMEM,
                                        "no memory for a node's store"));
}

/* ---- stepping ---------------------------------------------------------- */

/* How long the answer waited for clocks is no fault of the network. */
static void note_parked(sti_store_end *end, const sti_row_answer *answer)
{
    uint32_t index = answer ? answer->worker - end->first_worker : UINT32_MAX;
    if (index < end->n_workers && answer->id &&
        answer->parked_ns > end->workers[index].parked_ns)
        end->workers[index].parked_ns = answer->parked_ns;
}

/* With the lock held. */
static void step(sti_store_end *end, const sti_event *event, bool may_wait)
{
    if (event->kind == STI_EVENT_MESSAGE && event->msg.kind == STI_MSG_ROWS)
        note_parked(end, (const sti_row_answer *)event->msg.object);
    sti_client_step(end->client, event, 1, &end->effects);
    sti_store_end_carry_out(end, may_wait);
    end->settles |= sti_client_settled(end->client);
}

/* With the lock held. */
static void take_inbox(sti_store_end *end, bool may_wait)
{
    size_t n = sti_inbox_take(&end->inbox, &end->taken, &end->room_taken);
    for (size_t k = 0; k < n; k++)
        step(end,
             &(sti_event){.now = sti_node_store_now(end->store),
                          .msg = end->taken[k]},
             may_wait);
}

static void take_what_arrived(sti_store_end *end, bool may_wait)
{
    while (atomic_load(&end->inbox.stirred) &&
           pthread_mutex_trylock(&end->lock) == 0) {
        take_inbox(end, may_wait);
        release(end);
    }
}

void sti_store_end_deliver(sti_store_end *end, const sti_msg *msg,
                           bool may_wait)
{
    strads_err err = sti_inbox_put(&end->inbox, msg);
    if (err)
        sti_node_store_fail(end->store, err);
    take_what_arrived(end, may_wait);
}

void sti_store_end_unlock(sti_store_end *end, bool may_wait)
{
    release(end);
    take_what_arrived(end, may_wait);
}

void sti_store_end_look_at_timer(sti_store_end *end)
{
    uint64_t now = sti_node_store_now(end->store);
    pthread_mutex_lock(&end->lock);
    if (now >= end->timer_at) {
        end->timer_at = UINT64_MAX;
        step(end, &(sti_event){.kind = STI_EVENT_TIMER, .now = now}, true);
    }
    sti_store_end_unlock(end, true);
}

/* ---- waiting ----------------------------------------------------------- */

void sti_store_end_sleep(sti_store_end *end, sti_store_waiter *waiter)
{
    sti_store_end_unlock(end, true);
    pthread_mutex_lock(&end->sleep_lock);
    while (!waiter->woken && !atomic_load(&end->store->aborted))
        pthread_cond_wait(&waiter->wake, &end->sleep_lock);
    waiter->woken = false;
    pthread_mutex_unlock(&end->sleep_lock);
    pthread_mutex_lock(&end->lock);
}

void sti_store_end_settle(sti_store_end *end)
{
    bool done = false;
    while (!done && !atomic_load(&end->store->aborted)) {
        pthread_mutex_lock(&end->lock);
        done = sti_client_settled(end->client);
        pthread_mutex_lock(&end->sleep_lock);
        end->settled = done;
        pthread_mutex_unlock(&end->sleep_lock);
        sti_store_end_unlock(end, true);
        pthread_mutex_lock(&end->sleep_lock);
        while (!end->settled && !atomic_load(&end->store->aborted))
            pthread_cond_wait(&end->acknowledged, &end->sleep_lock);
        pthread_mutex_unlock(&end->sleep_lock);
    }
}
