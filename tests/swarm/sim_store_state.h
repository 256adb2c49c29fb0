/* tests/swarm/sim_store_state.h - state that the files of a simulated store
 * share. sim_store.c carries out events, sim_store_fault.c the faults,
 * sim_store_worker.c the workers' threads and calls; sim_store_tell.c writes
 * the event log. */
#ifndef STI_SIM_STORE_STATE_H
#define STI_SIM_STORE_STATE_H

#include <xxhash.h>

#include "engine/sim/sim_run_token.h"
#include "engine/sim/sim_queue.h"
#include "tests/swarm/sim_store.h"

struct sti_sim_worker {
    sti_client_host host; /* first: the session's backend points to it */
    sti_sim_store *sim;
    uint32_t number, client;
    strads_session *session;
    uint64_t *as_of_rows; /* of rows read alone, for all tables */
    bool asked;           /* the current read has asked its node */
    bool due;             /* its turn is in the queue */
    bool left;            /* its body has returned */
};

typedef struct sti_sim_shard {
    sti_shard *role;
    bool busy; /* its work is in progress until its time has passed */
} sti_sim_shard;

struct sti_sim_store {
    sti_sim_store_setup setup;
    sti_sim_queue queue;
    sti_sim_net net;
    sti_random random;
    sti_sim_shard *shards;
    sti_client **clients;
    sti_sim_worker *workers;
    uint32_t n_workers, n_left;
    uint64_t *paused_until; /* [nodes] */
    uint64_t *slow_until, *slowness;
    uint64_t *highest; /* [clients x shards] the last push sent */
    sti_effects effects;
    sti_run_token *token;
    XXH3_state_t *digest;
    sti_sim_store_outcome outcome;
    uint64_t now;
    bool over;
    strads_err err;
    char text[1024];
};

/* The start and end of a fault are timers of the coordinator, which a store
 * alone does not have. `round` identifies the fault. */
enum { STI_SIM_WORLD = STI_COORDINATOR };

/* ---- sim_store.c ------------------------------------------------------- */

/* Carries out events until a worker has the turn; n_workers at the end. */
uint32_t sti_sim_store_next(sti_sim_store *sim);

/* An event for a role. */
void sti_sim_store_event(sti_sim_store *sim, uint64_t time, sti_address to,
                         sti_event event);

/* Queues a worker's turn, unless it is queued. */
void sti_sim_store_wake(sti_sim_store *sim, uint32_t worker, uint64_t time);

/* Carries out the effects of a role, or of a call of its workers. */
void sti_sim_store_apply(sti_sim_store *sim, sti_address role);

/* Frees the contents of an item that is not carried out. */
void sti_sim_store_drop(const sti_sim_item *item);

/* The duration of a time on a node, which may be slow. */
uint64_t sti_sim_store_on_node(const sti_sim_store *sim, uint32_t node,
                               uint64_t ns);

/* ---- sim_store_fault.c ------------------------------------------------- */

/* Queues all planned faults; carries out one of them. */
void sti_sim_store_plan(sti_sim_store *sim);
void sti_sim_store_turn_of_world(sti_sim_store *sim, uint64_t which);

/* ---- sim_store_worker.c ------------------------------------------------ */

/* Called when the worker's client exists. */
void sti_sim_worker_join(sti_sim_worker *worker, sti_client *client);

/* The main function of a worker's thread. */
void sti_sim_worker_run(void *sim, uint32_t number);

/* ---- sim_store_tell.c -------------------------------------------------- */

/* Logs a message and its fate. */
void sti_sim_store_log_msg(sti_sim_store *sim, const char *what,
                           const sti_msg *msg);

#endif
