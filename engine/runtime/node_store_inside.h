/* engine/runtime/node_store_inside.h - what node_store.c (its birth and end),
 * node_store_drive.c (shards, clients, messages) and node_store_session.c
 * (workers' calls) share. */
#ifndef STI_NODE_STORE_INSIDE_H
#define STI_NODE_STORE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/shard/shard.h"
#include "engine/shard/store_client.h"
#include "engine/runtime/inbox.h"
#include "engine/runtime/node_store.h"
#include "engine/store/session_inside.h"

/* A worker that may be waiting. */
typedef struct sti_store_waiter {
    pthread_cond_t wake;
    bool woken;
    uint64_t parked_ns; /* the longest that an answer waited for clocks */
} sti_store_waiter;

/* A client and its workers. */
typedef struct sti_store_end {
    sti_node_store *store;
    uint32_t first_worker, n_workers;
    atomic_uint waiting;  /* messages to it that others must not overtake */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t acknowledged;
    sti_client *client;
    sti_store_waiter *workers; /* [n_workers] */
    sti_effects effects;       /* empty but in a call */
    uint64_t timer_at;         /* UINT64_MAX: none */
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

/* Carries out what the client asked for, with the end's lock held. `may_wait`:
 * for room in a link's queue. */
void sti_store_end_carry_out(sti_store_end *end, bool may_wait);

/* The sessions of node_store_session.c; `behind` is a sti_store_end. */
strads_err sti_store_end_session(sti_store_end *end, uint32_t worker,
                                 strads_session **out);

#endif
