/* engine/sim/sim_loop_state.h - what sim_loop.c (events),
 * sim_loop_session.c (partitions' calls) and sim_loop_rows.c (start values, the
 * model) share. */
#ifndef STI_SIM_LOOP_STATE_H
#define STI_SIM_LOOP_STATE_H

#include <xxhash.h>

#include "engine/store/shard.h"
#include "engine/store/store_client.h"
#include "engine/sim/sim_baton.h"
#include "engine/sim/sim_loop.h"
#include "engine/sim/sim_queue.h"
#include "engine/sim/sim_wire.h"
#include "engine/store/session_inside.h"

/* A partition. */
typedef struct sti_sim_looper {
    sti_sim_loop *sim;
    uint32_t number, client;
    bool due;           /* its turn is in the queue */
    bool left;          /* its body has returned */
    uint64_t parked_ns; /* the longest that an answer waited for clocks */
    uint64_t clocks;    /* that were priced */
    uint64_t cpu_ns;    /* of its thread, when it was looked at last */
} sti_sim_looper;

struct sti_sim_loop {
    sti_sim_loop_setup setup;
    sti_sim_queue queue;
    sti_sim_cost cost;
    sti_sim_wire *wire;
    sti_kept **kept; /* [shards] */
    sti_shard **shards;
    uint32_t *tracks;         /* [shards] on the trace */
    sti_client **clients;     /* [nodes] */
    sti_sim_looper *loopers;  /* [partitions] */
    uint32_t n_left, visitor; /* visitor: partitions when there is none */
    uint64_t *last_there;     /* [nodes x shards x 2] see in_order */
    sti_effects effects;
    sti_baton *baton;
    XXH3_state_t *digest;
    uint64_t now, events, busy_ns, spent_ns;
    bool over;
    strads_err err;
    char text[1024];
};

/* Puts what is in the tables of `start` into the shards, whose roles are still
 * to be made. STRADS_ENOMEM. (sim_loop_rows.c) */
strads_err sti_sim_loop_put(sti_sim_loop *sim, const strads_store *start);

/* Ends the run; the first error counts. */
void sti_sim_loop_stop(sti_sim_loop *sim, strads_err err);

/* Carries out events until a partition is to go on; `partitions` when it is
 * over. */
uint32_t sti_sim_loop_next(sti_sim_loop *sim);

/* Puts a partition's turn into the queue, unless it is there. */
void sti_sim_loop_wake(sti_sim_loop *sim, uint32_t partition, uint64_t time);

/* What a role, or a call of its partitions, asked for. */
void sti_sim_loop_apply(sti_sim_loop *sim, sti_address role);

#endif
