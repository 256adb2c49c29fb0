/* A node's store: its shards and clients, and the threads that run them. The
 * shards of a node share a *box*; each client has its own. A box has an inbox
 * and a lock. The thread that holds the lock runs the box's roles: a worker in
 * a call, or a thread that has just received a message. The bytes of a push or
 * an answer are then still in that processor's cache. A thread that cannot take
 * the lock leaves its message in the inbox. The holder checks the inbox again
 * after it unlocks, so that no message is left behind. Messages that would have
 * to wait for space in a link's queue are left to the store's thread, which
 * also handles timers.
 *
 * Invariants:
 * - A box handles its messages in order of arrival. Its outgoing messages leave
 *   in the order in which the roles sent them: a message that cannot be sent
 *   yet blocks the later ones.
 * - A thread that holds a lock sleeps only for space in a link's queue. No
 *   thread waits for a box while it holds the lock of another one. Workers are
 *   woken after the lock is released: a worker that was woken earlier would
 *   block at once.
 * - A receiving thread never waits, so that messages that others wait for are
 *   always received. */
#include "engine/net/node_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/store/client.h"
#include "engine/store/shard.h"

/* Links between nodes lose no messages (retransmit.h), so resending is rarely
 * of use. */
static const uint64_t resend_ns = UINT64_C(30000000000);

enum {
    SLEEP_NS = 20 * 1000000, /* between two checks of the timers */
    MOST_TURNS = 64,         /* of shard work by a thread that must not stay */
    DUE_MAX = 16,
    CLIENTS_MAX = 2 /* the workers' client and the engine's */
};

/* Messages in order of arrival. */
typedef struct msg_list {
    sti_msg *at;
    size_t n, capacity;
} msg_list;

/* State of the roles that run under one lock. */
typedef struct box {
    pthread_mutex_t inbox_lock; /* guards `inbox`; held briefly */
    msg_list inbox;             /* emptied by the holder of `lock` */
    atomic_bool stirred;        /* the inbox is not empty */

    pthread_mutex_t lock; /* guards the fields below */
    msg_list taken; /* messages from the inbox, with which it swaps arrays */
    sti_effects effects; /* messages from `sent` on are still to be sent */
    size_t sent;
} box;

/* A worker that may be asleep. */
typedef struct waiter {
    pthread_cond_t wake;
    bool woken; /* guarded by sleep_lock */
    bool due;   /* guarded by the box's lock: wake it after unlocking */
} waiter;

typedef struct client_box {
    sti_client_host host; /* first: enter_call() and others cast from it */
    sti_node_store *store;
    box box;
    uint32_t first_worker, n_workers;
    waiter *workers; /* [n_workers] */
    /* Guarded by the box's lock. */
    uint64_t timer_at; /* UINT64_MAX: none */
    waiter *due[DUE_MAX];
    uint32_t n_due;
    bool settles; /* set `settled` after unlocking */

    pthread_mutex_t sleep_lock; /* taken last; guards the fields below */
    pthread_cond_t acknowledged;
    bool settled;
} client_box;

typedef struct shard_place {
    sti_shard *role;
    uint32_t track;
} shard_place;

struct sti_node_store {
    sti_node_store_setup setup;
    strads_table_spec *tables; /* [n_tables], names copied */
    uint32_t n_tables;
    uint64_t started_ns;
    client_box clients[CLIENTS_MAX];
    uint32_t n_clients;
    strads_session *engine; /* of the engine's client; node 0 */
    box box;                /* of the shards */
    shard_place *shards;    /* [n_shards]: shard number k x hosts + own host */
    uint32_t n_shards;

    pthread_t thread;
    bool started;
    pthread_mutex_t bell_lock; /* guards the next two fields */
    pthread_cond_t bell;
    bool called; /* the thread has work */

    atomic_bool stopping;
    atomic_bool loses;         /* workers of a lost node must be removed */
    atomic_bool *lost;         /* [nodes] */
    atomic_bool aborted;       /* err and text are set */
    pthread_mutex_t fail_lock; /* guards the fields below */
    strads_err err;            /* the first failure */
    char text[1024];
};

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node's store");
}

/* Returns the ns since the store was opened. */
static uint64_t now_of(const sti_node_store *store)
{
    return sti_monotonic_now() - store->started_ns;
}

static bool is_here(const sti_node_store *store, sti_address a)
{
    return sti_run_node_of(store->setup.run, a) == store->setup.node;
}

/* Wakes the store's thread. */
static void ring_bell(sti_node_store *store)
{
    pthread_mutex_lock(&store->bell_lock);
    store->called = true;
    pthread_cond_signal(&store->bell);
    pthread_mutex_unlock(&store->bell_lock);
}

/* ---- failing ----------------------------------------------------------- */

static void wake_worker(client_box *c, waiter *w)
{
    pthread_mutex_lock(&c->sleep_lock);
    w->woken = true;
    pthread_mutex_unlock(&c->sleep_lock);
    pthread_cond_signal(&w->wake);
}

static void wake_settled(client_box *c)
{
    pthread_mutex_lock(&c->sleep_lock);
    c->settled = true;
    pthread_mutex_unlock(&c->sleep_lock);
    pthread_cond_broadcast(&c->acknowledged);
}

/* The first failure is kept. */
void sti_node_store_abort(sti_node_store *store, strads_err err,
                          const char *text)
{
    pthread_mutex_lock(&store->fail_lock);
    if (!store->err) {
        store->err = err;
        (void)snprintf(store->text, sizeof store->text, "%s", text);
    }
    pthread_mutex_unlock(&store->fail_lock);
    atomic_store(&store->aborted, true);
    for (uint32_t k = 0; k < store->n_clients; k++) {
        client_box *c = &store->clients[k];
        sti_client_outdate(c->host.client);
        for (uint32_t w = 0; w < c->n_workers; w++)
            wake_worker(c, &c->workers[w]);
        wake_settled(c);
    }
}

/* Returns the error of sti_node_store_abort as this thread's error, or
 * STRADS_OK. */
static strads_err failure_of(sti_node_store *store)
{
    if (!atomic_load(&store->aborted))
        return STRADS_OK;
    pthread_mutex_lock(&store->fail_lock);
    strads_err err = strads_fail(store->err, "%s", store->text);
    pthread_mutex_unlock(&store->fail_lock);
    return err;
}

static void fail_store(sti_node_store *store, strads_err err)
{
    store->setup.failed(store->setup.arg, err, strads_error_text());
}

static void fail_by_message(sti_node_store *store, const sti_msg *msg)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    store->setup.failed(store->setup.arg,
                        failure ? failure->err : STRADS_ENOMEM,
                        failure ? failure->text : "no memory for the store");
    sti_object_drop(msg->object);
}

/* ---- sending ----------------------------------------------------------- */

static client_box *client_of(sti_node_store *store, sti_address client)
{
    const bool own = client - STI_CLIENT_0 == store->setup.node;
    return &store->clients[own ? 0 : store->n_clients - 1];
}

static uint64_t bytes_of(const sti_msg *msg)
{
    const sti_buffer *buffer = (const sti_buffer *)msg->object;
    if (msg->kind == STI_MSG_ROWS && msg->object)
        buffer = ((const sti_row_answer *)msg->object)->parts;
    else if (msg->kind != STI_MSG_PUSH && msg->kind != STI_MSG_PEER_VECTOR)
        buffer = NULL;
    return buffer ? buffer->size : 0;
}

static bool reserve_message(msg_list *list)
{
    if (list->n < list->capacity)
        return true;
    const size_t capacity = list->capacity ? 2 * list->capacity : 64;
    sti_msg *at = realloc(list->at, sizeof *at * capacity);
    if (!at)
        return false;
    list->at = at;
    list->capacity = capacity;
    return true;
}

/* Puts a message into the inbox of a role of this node. Takes over the
 * reference. */
static void leave_message(sti_node_store *store, const sti_msg *msg)
{
    box *to =
        msg->to < STI_CLIENT_0 ? &store->box : &client_of(store, msg->to)->box;
    pthread_mutex_lock(&to->inbox_lock);
    const bool fits = reserve_message(&to->inbox);
    if (fits)
        to->inbox.at[to->inbox.n++] = *msg;
    atomic_store_explicit(&to->stirred, true, memory_order_release);
    pthread_mutex_unlock(&to->inbox_lock);
    if (fits)
        return;
    sti_object_drop(msg->object);
    fail_store(store, no_memory());
}

/* With the box's lock held: moves the messages of the inbox to b->taken. */
static void take_inbox(box *b)
{
    b->taken.n = 0;
    if (!atomic_load_explicit(&b->stirred, memory_order_acquire))
        return;
    pthread_mutex_lock(&b->inbox_lock);
    const msg_list came = b->inbox;
    b->inbox = b->taken;
    b->taken = came;
    atomic_store_explicit(&b->stirred, false, memory_order_relaxed);
    pthread_mutex_unlock(&b->inbox_lock);
}

/* With the box's lock held: sends the messages of the roles. False: a link's
 * queue is full, and the caller must not wait; the store's thread sends the
 * remainder. */
static bool send_all(sti_node_store *store, box *b, bool may_wait)
{
    for (; b->sent < b->effects.n; b->sent++) {
        const sti_effect *effect = &b->effects.at[b->sent];
        const sti_msg *msg = &effect->msg;
        if (effect->kind != STI_EFFECT_SEND)
            continue;
        if (msg->kind == STI_MSG_FAIL) {
            fail_by_message(store, msg);
        } else if (is_here(store, msg->to)) {
            leave_message(store, msg);
        } else if (may_wait ||
                   store->setup.has_capacity(store->setup.arg, msg->to,
                                             bytes_of(msg))) {
            strads_err err = store->setup.send(store->setup.arg, msg);
            if (err)
                fail_store(store, err);
        } else {
            ring_bell(store);
            return false;
        }
    }
    b->effects.n = b->sent = 0;
    if (b->effects.lost)
        fail_store(store, no_memory());
    return true;
}

static void free_box(box *b)
{
    for (size_t k = 0; k < b->sent; k++)
        b->effects.at[k].msg.object = NULL; /* the receiver has taken it over */
    sti_effects_free(&b->effects);
    for (size_t k = 0; k < b->inbox.n; k++)
        sti_object_drop(b->inbox.at[k].object);
    free(b->inbox.at);
    free(b->taken.at);
    pthread_mutex_destroy(&b->lock);
    pthread_mutex_destroy(&b->inbox_lock);
}

static void init_box(box *b)
{
    pthread_mutex_init(&b->inbox_lock, NULL);
    pthread_mutex_init(&b->lock, NULL);
}

/* ---- shards ------------------------------------------------------------ */

static void take_shards_inbox(sti_node_store *store)
{
    const sti_run *run = store->setup.run;
    box *b = &store->box;
    take_inbox(b);
    for (size_t k = 0; k < b->taken.n; k++) {
        const sti_msg *msg = &b->taken.at[k];
        const uint32_t shard = msg->to - STI_SHARD_0;
        const sti_event event = {.now = now_of(store), .msg = *msg};
        sti_shard_step(
            store->shards[shard / (run->n_hosts ? run->n_hosts : run->nodes)]
                .role,
            &event, 1, &b->effects);
    }
}

static void work_shard(sti_node_store *store, const shard_place *shard,
                       uint64_t bytes)
{
    const uint64_t zero = store->started_ns - store->setup.zero_ns;
    const uint64_t begin = now_of(store);
    sti_shard_work(shard->role, begin, &store->box.effects);
    sti_trace_span(store->setup.trace, shard->track, bytes ? "commit" : "serve",
                   zero + begin, zero + now_of(store), 0);
}

/* With the lock held: runs the shards until they have no work. A thread that
 * must not wait stops after MOST_TURNS or at a full queue; the store's thread
 * continues. */
static void drive_shards(sti_node_store *store, bool may_wait)
{
    bool busy = send_all(store, &store->box, may_wait);
    unsigned turns = 0;
    while (busy && !atomic_load(&store->stopping)) {
        busy = false;
        take_shards_inbox(store);
        for (uint32_t k = 0; k < store->n_shards; k++) {
            uint64_t bytes;
            if (!sti_shard_has_work(store->shards[k].role, &bytes))
                continue;
            work_shard(store, &store->shards[k], bytes);
            busy = true;
        }
        if (!send_all(store, &store->box, may_wait))
            return;
        if (busy && !may_wait && ++turns == MOST_TURNS) {
            ring_bell(store);
            return;
        }
    }
}

/* ---- clients ----------------------------------------------------------- */

/* With the lock held: handles the effects of a step or a call from number
 * `before` on: notes the timer and the workers to wake. If more than DUE_MAX
 * are due, it wakes the others at once. */
static void note_effects(client_box *c, size_t before)
{
    const sti_effects *out = &c->box.effects;
    for (size_t k = before; k < out->n; k++) {
        if (out->at[k].kind == STI_EFFECT_TIMER)
            c->timer_at = out->at[k].at;
        if (out->at[k].kind != STI_EFFECT_WAKE)
            continue;
        waiter *w = &c->workers[out->at[k].worker - c->first_worker];
        if (w->due)
            continue;
        if (c->n_due == DUE_MAX) {
            wake_worker(c, w);
            continue;
        }
        w->due = true;
        c->due[c->n_due++] = w;
    }
}

/* With the lock held. */
static void step_client(client_box *c, const sti_event *event)
{
    const size_t before = c->box.effects.n;
    sti_client_step(c->host.client, event, 1, &c->box.effects);
    note_effects(c, before);
    c->settles |= sti_client_settled(c->host.client);
}

/* Unlocks, then wakes the workers that are due. */
static void release_client(client_box *c)
{
    waiter *due[DUE_MAX];
    const uint32_t n = c->n_due;
    const bool settles = c->settles;
    for (uint32_t k = 0; k < n; k++) {
        due[k] = c->due[k];
        due[k]->due = false;
    }
    c->n_due = 0;
    c->settles = false;
    pthread_mutex_unlock(&c->box.lock);
    for (uint32_t k = 0; k < n; k++)
        wake_worker(c, due[k]);
    if (settles)
        wake_settled(c);
}

/* With the lock held: handles the inbox, and sends. */
static void drive_client(client_box *c, bool may_wait)
{
    box *b = &c->box;
    take_inbox(b);
    for (size_t k = 0; k < b->taken.n; k++)
        step_client(c, &(sti_event){.now = now_of(c->store),
                                    .msg = b->taken.at[k]});
    (void)send_all(c->store, b, may_wait);
}

/* Called after unlocking a box or leaving a message: handles the inboxes of
 * unlocked boxes, so that no message is left behind. */
static void handle_inboxes(sti_node_store *store)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t k = 0; k < store->n_clients; k++) {
            client_box *c = &store->clients[k];
            if (!atomic_load(&c->box.stirred) ||
                pthread_mutex_trylock(&c->box.lock) != 0)
                continue;
            drive_client(c, false);
            release_client(c);
            again = true;
        }
        if (!atomic_load(&store->box.stirred) || atomic_load(&store->stopping))
            continue;
        if (pthread_mutex_trylock(&store->box.lock) != 0)
            continue;
        drive_shards(store, false);
        pthread_mutex_unlock(&store->box.lock);
        again = true;
    }
}

void sti_node_store_deliver(sti_node_store *store, const sti_msg *msg)
{
    leave_message(store, msg);
    handle_inboxes(store);
}

/* ---- the store's thread ------------------------------------------------ */

static void wait_for_bell(sti_node_store *store)
{
    const uint64_t until = sti_monotonic_in(SLEEP_NS);
    bool late = false;
    pthread_mutex_lock(&store->bell_lock);
    while (!store->called && !late)
        late = !sti_monotonic_wait(&store->bell, &store->bell_lock, until);
    store->called = false;
    pthread_mutex_unlock(&store->bell_lock);
}

/* Removes the workers of lost nodes. */
static void lose_workers(sti_node_store *store)
{
    const sti_run *run = store->setup.run;
    for (uint32_t w = 0; w < run->workers; w++) {
        if (!atomic_load(&store->lost[run->node_of[w]]))
            continue;
        pthread_mutex_lock(&store->box.lock);
        take_shards_inbox(store);
        for (uint32_t k = 0; k < store->n_shards; k++)
            sti_shard_lose(store->shards[k].role, w);
        pthread_mutex_unlock(&store->box.lock);
        client_box *c = &store->clients[0];
        pthread_mutex_lock(&c->box.lock);
        drive_client(c, true);
        const size_t before = c->box.effects.n;
        if (sti_client_lose(c->host.client, w, &c->box.effects))
            fail_store(store, STRADS_ENOMEM);
        note_effects(c, before);
        release_client(c);
    }
}

static void *run_store(void *arg)
{
    sti_node_store *store = arg;
    while (!atomic_load(&store->stopping)) {
        wait_for_bell(store);
        if (atomic_exchange(&store->loses, false))
            lose_workers(store);
        pthread_mutex_lock(&store->box.lock);
        drive_shards(store, true);
        pthread_mutex_unlock(&store->box.lock);
        for (uint32_t k = 0; k < store->n_clients; k++) {
            client_box *c = &store->clients[k];
            pthread_mutex_lock(&c->box.lock);
            const uint64_t now = now_of(store);
            if (now >= c->timer_at) {
                c->timer_at = UINT64_MAX;
                step_client(c,
                            &(sti_event){.kind = STI_EVENT_TIMER, .now = now});
            }
            drive_client(c, true);
            release_client(c);
        }
        handle_inboxes(store);
    }
    return NULL;
}

bool sti_node_store_lose(sti_node_store *store, uint32_t node)
{
    const sti_run *run = store->setup.run;
    if (!atomic_load(&store->clients[0].host.has_peers))
        return false;
    for (uint32_t s = 0; s < run->shards; s++)
        if (sti_run_node_of(run, STI_SHARD_0 + s) == node)
            return false;
    atomic_store(&store->lost[node], true);
    atomic_store(&store->loses, true);
    ring_bell(store);
    return true;
}

/* ---- workers' calls ---------------------------------------------------- */

static strads_err enter_call(sti_client_host *host, uint32_t worker)
{
    client_box *c = (client_box *)host;
    (void)worker;
    pthread_mutex_lock(&c->box.lock);
    return failure_of(c->store);
}

/* Releases the lock while the worker sleeps. */
static strads_err sleep_in_call(sti_client_host *host, uint32_t worker)
{
    client_box *c = (client_box *)host;
    waiter *w = &c->workers[worker - c->first_worker];
    note_effects(c, c->box.sent);
    (void)send_all(c->store, &c->box, true);
    release_client(c);
    handle_inboxes(c->store);
    pthread_mutex_lock(&c->sleep_lock);
    while (!w->woken && !atomic_load(&c->store->aborted))
        pthread_cond_wait(&w->wake, &c->sleep_lock);
    w->woken = false;
    pthread_mutex_unlock(&c->sleep_lock);
    pthread_mutex_lock(&c->box.lock);
    return failure_of(c->store);
}

static void leave_call(sti_client_host *host, uint32_t worker, bool more)
{
    client_box *c = (client_box *)host;
    (void)worker;
    note_effects(c, c->box.sent);
    if (!more)
        (void)send_all(c->store, &c->box, true);
    release_client(c);
    handle_inboxes(c->store);
}

static uint64_t host_now(const sti_client_host *host)
{
    return now_of(((const client_box *)host)->store);
}

static sti_address home_of_worker(const sti_client_host *host, uint32_t worker)
{
    const sti_run *run = ((const client_box *)host)->store->setup.run;
    return STI_CLIENT_0 +
           sti_run_node_of(run, STI_WORKER_0 + sti_run_host(run, worker));
}

/* Waits until the shards have acknowledged all pushes of a client. */
static strads_err settle_client(client_box *c)
{
    bool done = false;
    while (!done && !atomic_load(&c->store->aborted)) {
        pthread_mutex_lock(&c->box.lock);
        done = sti_client_settled(c->host.client);
        pthread_mutex_lock(&c->sleep_lock);
        c->settled = done;
        pthread_mutex_unlock(&c->sleep_lock);
        release_client(c);
        handle_inboxes(c->store);
        pthread_mutex_lock(&c->sleep_lock);
        while (!c->settled && !atomic_load(&c->store->aborted))
            pthread_cond_wait(&c->acknowledged, &c->sleep_lock);
        pthread_mutex_unlock(&c->sleep_lock);
    }
    return failure_of(c->store);
}

strads_err sti_node_store_settle(sti_node_store *store)
{
    return settle_client(&store->clients[0]);
}

strads_err sti_node_store_session(sti_node_store *store, uint32_t worker,
                                  strads_session **out)
{
    return sti_client_session(&store->clients[0].host, worker,
                              store->setup.run->partitions, out);
}

/* ---- the engine's client ----------------------------------------------- */

/* Start values are flushed when this many bytes are pending. */
static const uint64_t push_bytes = UINT64_C(8) << 20;

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (bytes[k])
            return false;
    return true;
}

static strads_err put_table(strads_session *session, uint32_t table,
                            const sti_table *from)
{
    uint64_t gathered = 0;
    strads_err err = STRADS_OK;
    for (uint64_t row = 0; !err && row < from->spec.rows; row++) {
        const sti_row_delta delta = sti_table_row(from, (uint32_t)row);
        sti_pending *pending =
            sti_session_pending(session, table, (uint32_t)row);
        if (is_zero(delta.cells, delta.n * pending->cell))
            continue;
        err = sti_pending_add(pending, &delta);
        gathered += delta.n * pending->cell;
        if (err || gathered < push_bytes)
            continue;
        gathered = 0;
        err = strads_session_flush(session);
    }
    return err ? err : strads_session_flush(session);
}

strads_err sti_node_store_put(sti_node_store *store, const strads_store *from)
{
    strads_session *engine = store->engine;
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < store->n_tables; t++)
        if (strads_store_version(from, t)) /* it has start values */
            err = put_table(engine, t, from->tables[t]);
    if (!err)
        err = engine->ops->push(engine, STI_PUSH_LEAVE, 0, false);
    return err ? err : settle_client(&store->clients[1]);
}

strads_err sti_node_store_get(sti_node_store *store, uint32_t table, uint32_t n,
                              const uint32_t *rows, void *out)
{
    client_box *c = &store->clients[1];
    pthread_mutex_lock(&c->box.lock);
    sti_client_discard_rows(c->host.client);
    release_client(c);
    return strads_session_read_rows(store->engine, table, n, rows,
                                    STRADS_STALENESS_INFINITE, out);
}

/* ---- opening and closing ----------------------------------------------- */

static strads_err copy_tables(sti_node_store *store)
{
    uint32_t n = store->setup.n_tables;
    store->tables = calloc(n + 1, sizeof *store->tables);
    if (!store->tables)
        return no_memory();
    for (; store->n_tables < n; store->n_tables++) {
        strads_table_spec *spec = &store->tables[store->n_tables];
        *spec = store->setup.tables[store->n_tables];
        spec->name = strdup(spec->name);
        if (!spec->name)
            return no_memory();
    }
    return STRADS_OK;
}

static strads_err open_client(sti_node_store *store, uint32_t number,
                              uint32_t first_worker, uint32_t workers)
{
    client_box *c = &store->clients[store->n_clients];
    const sti_tuning *tuning = &store->setup.run->tuning;
    const sti_client_setup setup = {.client = number,
                                    .shards = store->setup.run->shards,
                                    .first_worker = first_worker,
                                    .workers = workers,
                                    .peers = store->setup.run->partitions,
                                    .tables = store->tables,
                                    .n_tables = store->n_tables,
                                    .cache_bytes = tuning->cache_bytes,
                                    .max_pushes = tuning->window,
                                    .resend_ns = resend_ns};
    *c = (client_box){.store = store,
                      .first_worker = first_worker,
                      .timer_at = UINT64_MAX,
                      .workers = calloc(workers + 1, sizeof *c->workers),
                      .host = {.effects = &c->box.effects,
                               .tables = store->tables,
                               .n_tables = store->n_tables,
                               .shards = store->setup.run->shards,
                               .piece = STI_PIECE_BYTES,
                               .begin = enter_call,
                               .wait = sleep_in_call,
                               .end = leave_call,
                               .home = home_of_worker,
                               .now = host_now,
                               .zero_ns = store->started_ns}};
    if (!c->workers)
        return no_memory();
    init_box(&c->box);
    pthread_mutex_init(&c->sleep_lock, NULL);
    pthread_cond_init(&c->acknowledged, NULL);
    for (; c->n_workers < workers; c->n_workers++)
        pthread_cond_init(&c->workers[c->n_workers].wake, NULL);
    store->n_clients++;
    return sti_client_new(&setup, &c->host.client);
}

static void free_client(client_box *c)
{
    sti_client_free(c->host.client);
    for (uint32_t w = 0; w < c->n_workers; w++)
        pthread_cond_destroy(&c->workers[w].wake);
    free(c->workers);
    pthread_cond_destroy(&c->acknowledged);
    pthread_mutex_destroy(&c->sleep_lock);
    free_box(&c->box);
}

/* The engine's client has one worker, numbered after those of the
 * partitions. */
static strads_err open_clients(sti_node_store *store)
{
    const sti_node_store_setup *setup = &store->setup;
    const sti_run *run = setup->run;
    strads_err err =
        open_client(store, setup->node, setup->first_worker, setup->workers);
    if (!err && setup->node == 0)
        err = open_client(store, run->nodes, run->partitions, 1);
    if (!err && setup->node == 0)
        err = sti_client_session(&store->clients[1].host, run->partitions,
                                 run->partitions, &store->engine);
    return err;
}

static strads_err open_shard(sti_node_store *store, uint32_t number)
{
    const sti_run *run = store->setup.run;
    shard_place *shard = &store->shards[store->n_shards++];
    char name[32];
    (void)snprintf(name, sizeof name, "shard %u", number);
    shard->track = sti_trace_track(store->setup.trace, store->setup.node, name);
    const sti_shard_setup setup = {.shard = number,
                                   .shards = run->shards,
                                   .clients = run->nodes + 1,
                                   .workers = run->partitions + 1,
                                   .tables = store->tables,
                                   .n_tables = store->n_tables};
    return sti_shard_new(&setup, &shard->role);
}

static strads_err open_shards(sti_node_store *store)
{
    const sti_run *run = store->setup.run;
    store->shards = calloc(run->shards, sizeof *store->shards);
    store->lost = calloc(run->nodes, sizeof *store->lost);
    strads_err err = store->shards && store->lost ? STRADS_OK : no_memory();
    for (uint32_t s = 0; !err && s < run->shards; s++)
        if (is_here(store, STI_SHARD_0 + s))
            err = open_shard(store, s);
    return err;
}

strads_err sti_node_store_open(const sti_node_store_setup *setup,
                               sti_node_store **out)
{
    sti_node_store *store = calloc(1, sizeof *store);
    if (!store)
        return no_memory();
    store->setup = *setup;
    store->started_ns = sti_monotonic_now();
    init_box(&store->box);
    pthread_mutex_init(&store->fail_lock, NULL);
    pthread_mutex_init(&store->bell_lock, NULL);
    (void)sti_monotonic_cond_init(&store->bell);
    strads_err err = copy_tables(store);
    if (!err)
        err = open_shards(store);
    if (!err)
        err = open_clients(store);
    store->started =
        !err && !pthread_create(&store->thread, NULL, run_store, store);
    if (!err && !store->started)
        err = strads_fail(STRADS_EIO, "cannot start the store's thread: use "
                                      "fewer partitions");
    if (err)
        sti_node_store_close(store);
    else
        *out = store;
    return err;
}

void sti_node_store_stop(sti_node_store *store)
{
    atomic_store(&store->stopping, true);
    ring_bell(store);
    if (store->started)
        pthread_join(store->thread, NULL);
    store->started = false;
    pthread_mutex_lock(&store->box.lock); /* let drive_shards end */
    pthread_mutex_unlock(&store->box.lock);
}

void sti_node_store_close(sti_node_store *store)
{
    if (!store)
        return;
    sti_node_store_stop(store);
    sti_session_free(store->engine);
    for (uint32_t k = 0; k < store->n_clients; k++)
        free_client(&store->clients[k]);
    for (uint32_t k = 0; k < store->n_shards; k++)
        sti_shard_free(store->shards[k].role);
    for (uint32_t t = 0; t < store->n_tables; t++)
        free((char *)(uintptr_t)store->tables[t].name);
    free(store->tables);
    free(store->shards);
    free(store->lost);
    free_box(&store->box);
    pthread_cond_destroy(&store->bell);
    pthread_mutex_destroy(&store->bell_lock);
    pthread_mutex_destroy(&store->fail_lock);
    free(store);
}
