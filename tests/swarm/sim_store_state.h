/* tests/swarm/sim_store_state.h - what the files of a simulated store
 * share: sim_store.c carries out events, sim_store_fault.c is what goes wrong,
 * sim_store_worker.c the workers' threads and calls, sim_store_tell.c the tale.
 */
#ifndef STI_SIM_STORE_STATE_H
#define STI_SIM_STORE_STATE_H

#include <xxhash.h>

#include "engine/sim/sim_run_token.h"
#include "engine/sim/sim_queue.h"
#include "tests/swarm/sim_store.h"

struct sti_sim_worker {
    sti_client_host host; /* first: its session has it behind it */
    sti_sim_store *sim;
    uint32_t number, client;
    strads_session *session;
    uint64_t *as_of_rows; /* of those that it asked for alone, all tables' */
    bool asked;           /* its node, in the read under way */
    bool due;             /* its turn is in the queue */
    bool left;            /* its body has returned */
};

typedef struct sti_sim_shard {
    sti_shard *role;
    bool busy; /* its work is under way, and done when its time is over */
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
    uint64_t *highest; /* [clients x shards] the last push ever sent */
    sti_effects effects;
    sti_run_token *token;
    XXH3_state_t *digest;
    sti_sim_store_outcome outcome;
    uint64_t now;
    bool over;
    strads_err err;
    char text[1024];
};

/* Faults, and their ends, are timers of the coordinator: a store alone has
 * none. `round` says which. */
enum { STI_SIM_WORLD = STI_COORDINATOR };

/* ---- sim_store.c ------------------------------------------------------- */

/* Carries out events until a worker is to go on; n_workers when it is over. */
uint32_t sti_sim_store_next(sti_sim_store *sim);

/* An event for a role. */
void sti_sim_store_event(sti_sim_store *sim, uint64_t time, sti_address to,
                         sti_event event);

/* Puts a worker's turn into the queue, unless it is there. */
void sti_sim_store_wake(sti_sim_store *sim, uint32_t worker, uint64_t time);

/* What a role, or a call of its workers, asked for. */
void sti_sim_store_apply(sti_sim_store *sim, sti_address role);

/* Gives back what an item that is not carried out has with it. */
void sti_sim_store_drop(const sti_sim_item *item);

/* How long a time is on a node, which may be slow. */
uint64_t sti_sim_store_on_node(const sti_sim_store *sim, uint32_t node,
                               uint64_t ns);

/* ---- sim_store_fault.c ------------------------------------------------- */

/* Puts all that is planned into the queue; carries out one of it. */
void sti_sim_store_plan(sti_sim_store *sim);
void sti_sim_store_turn_of_world(sti_sim_store *sim, uint64_t which);

/* ---- sim_store_worker.c ------------------------------------------------ */

/* Its client is there. */
void sti_sim_worker_join(sti_sim_worker *worker, sti_client *client);

/* The life of a worker's thread. */
void sti_sim_worker_run(void *sim, uint32_t number);

/* ---- sim_store_tell.c -------------------------------------------------- */

/* A line about a message, and what happened to it. */
void sti_sim_store_tell_msg(sti_sim_store *sim, const char *what,
                            const sti_msg *msg);

#endif
