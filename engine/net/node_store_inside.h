/* engine/net/node_store_inside.h - what node_store.c (its birth and end),
 * node_store_drive.c (shards, messages), node_store_end.c (clients) and
 * node_store_session.c (workers' calls) share. */
#ifndef STI_NODE_STORE_INSIDE_H
#define STI_NODE_STORE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/store/shard.h"
#include "engine/store/store_client.h"
#include "engine/exec/inbox.h"
#include "engine/net/node_store.h"
#include "engine/store/session_inside.h"

/* A worker that may be asleep. */
typedef struct sti_store_waiter {
    pthread_cond_t wake;
    bool woken;         /* sleep_lock */
    bool due;           /* lock: to be woken once that is given back */
    uint64_t parked_ns; /* lock: the longest that an answer waited for clocks */
} sti_store_waiter;

enum { STI_DUE_MAX = 16 };

/* A client and its workers (node_store_end.c). */
typedef struct sti_store_end {
    sti_node_store *store;
    uint32_t first_worker, n_workers;
    sti_store_waiter *workers; /* [n_workers] */
    sti_inbox inbox; /* to the client: who has the lock takes what is there */

    pthread_mutex_t lock; /* guards what follows */
    sti_client *client;
    sti_effects effects; /* empty but in a call */
    uint64_t timer_at;   /* UINT64_MAX: none */
    sti_msg *taken;      /* spare array to swap with the inbox */
    size_t room_taken;
    sti_store_waiter *due[STI_DUE_MAX];
    uint32_t n_due;
    bool settles; /* `settled` is due */

    pthread_mutex_t sleep_lock; /* taken last; guards what follows */
    pthread_cond_t acknowledged;
    bool settled;
} sti_store_end;

typedef struct sti_store_shard {
    sti_kept *kept;
    sti_journal *journal; /* NULL: none */
    sti_shard *role;
    sti_job *job;      /* to be run; NULL: none */
    uint64_t timer_at; /* UINT64_MAX: none */
    uint32_t track;
} sti_store_shard;

enum { STI_STORE_ENDS_MAX = 2 }; /* the workers', the engine's */

struct sti_node_store {
    sti_node_store_setup setup;
    strads_table_spec *tables; /* [n_tables], each with a name of its own */
    uint32_t n_tables;
    uint64_t started_ns;
    sti_store_end end[STI_STORE_ENDS_MAX];
    uint32_t n_ends;
    strads_session *engine; /* of the engine's end; node 0 */

    sti_inbox inbox; /* nobody sleeps at it */
    /* What was brought and is not done yet: raised from 0 by who drives then.
     * What follows is the driver's alone. */
    atomic_uint work;
    /* Of clients, to other nodes: left to who drives, and not sent yet. As long
     * as there are any, all that these send goes that way, in its order. */
    atomic_uint left;
    pthread_mutex_t driving; /* held while it drives, for who stops it */
    bool may_wait;
    sti_store_shard *shards; /* [n_shards]: number node + k x nodes */
    uint32_t n_shards;
    uint32_t next_shard; /* whose job is looked at next */
    sti_effects effects;
    sti_msg *late; /* [n_late] to be passed on by who may wait, in order */
    size_t n_late, room_late;
    sti_msg *taken; /* spare array to swap with the inbox */
    size_t room_taken;

    pthread_t thread;
    bool started;
    pthread_mutex_t bell_lock; /* guards what follows */
    pthread_cond_t bell;
    bool called; /* the thread is to look up */
    bool handed; /* .. and to drive */

    atomic_bool stopping;
    atomic_bool restarts; /* S5 is due */
    atomic_bool aborted;  /* err and text are there */
    pthread_mutex_t fail_lock;
    strads_err err;  /* fail_lock; the first */
    char text[1024]; /* fail_lock */
};

static inline bool sti_node_store_has(const sti_node_store *store,
                                      sti_address a)
{
    return sti_run_node_of(store->setup.run, a) == store->setup.node;
}

/* ns since the store was opened. */
uint64_t sti_node_store_now(const sti_node_store *store);

/* What the store was aborted with, as this thread's error; STRADS_OK. */
strads_err sti_node_store_failure(sti_node_store *store);

/* The store's thread; what it is to look at besides messages has changed. */
void *sti_node_store_main(void *arg);
void sti_node_store_call(sti_node_store *store);

/* ---- node_store_drive.c: what a thread does not carry further itself ---- */

void sti_node_store_fail(sti_node_store *store, strads_err err);
void sti_node_store_take_failure(sti_node_store *store, const sti_msg *msg);
void sti_node_store_send(sti_node_store *store, const sti_msg *msg);
void sti_node_store_leave(sti_node_store *store, const sti_msg *msg);
sti_store_end *sti_node_store_end_of(sti_node_store *store, sti_address client);

/* ---- node_store_end.c: `may_wait`, for room in a link's queue ---- */

strads_err sti_store_end_init(sti_store_end *end, sti_node_store *store,
                              const sti_client_setup *setup);
void sti_store_end_free(sti_store_end *end);

/* A message to the client; takes over the reference. Waits for nobody: where
 * somebody has the lock, he will take it. */
void sti_store_end_deliver(sti_store_end *end, const sti_msg *msg,
                           bool may_wait);

/* Gives the lock back, then takes what has arrived meanwhile. */
void sti_store_end_unlock(sti_store_end *end, bool may_wait);

/* With the lock held: carries out what the client asked for. */
void sti_store_end_carry_out(sti_store_end *end, bool may_wait);

/* With the lock held, which it gives back meanwhile: until the worker is woken,
 * or the store is aborted. */
void sti_store_end_sleep(sti_store_end *end, sti_store_waiter *waiter);

/* Until the shards have all that was pushed, or the store is aborted. */
void sti_store_end_settle(sti_store_end *end);
void sti_store_end_wake_all(sti_store_end *end);
void sti_store_end_look_at_timer(sti_store_end *end);

/* The sessions of node_store_session.c; `behind` is a sti_store_end. */
strads_err sti_store_end_session(sti_store_end *end, uint32_t worker,
                                 strads_session **out);

#endif
