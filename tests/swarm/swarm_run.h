/* tests/swarm/swarm_run.h - one seed of the swarm: runs its plan and checks
 * every guarantee of the store. */
#ifndef TESTS_SWARM_RUN_H
#define TESTS_SWARM_RUN_H

#include "tests/swarm/sim_store.h"

typedef struct swarm_result {
    char breach[512]; /* "": no guarantee was broken, and all workers ended */
    sti_sim_store_outcome outcome;
    uint64_t reads, incs, snapshots;
    uint64_t adaptive; /* reads at an adaptive staleness above 0 */
    uint64_t held;     /* rows that filters held back from pushes */
    uint64_t batched;  /* rows that workers added in one call */
    uint64_t early; /* pushes before the end of their clock, without a flush */
} swarm_result;

/* Lies of a shard, for a test of the checker. */
typedef enum swarm_lie {
    SWARM_HONEST = 0,
    SWARM_ACK_OF_MORE,   /* an ACK covers a push that did not arrive */
    SWARM_OLD_AS_NEW,    /* ROWS claim to be newer than they are */
    SWARM_APPLIED_EARLY, /* ROWS claim own pushes that they do not contain */
    SWARM_LIES
} swarm_lie;

/* `tell`: NULL, or the output of the event log, from event `tell_from` on. */
void swarm_seed(uint64_t seed, FILE *tell, uint64_t tell_from,
                swarm_result *result);

/* The same seed with lying shards. */
void swarm_seed_of_lies(uint64_t seed, swarm_lie lie, swarm_result *result);

#endif
