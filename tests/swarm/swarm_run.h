/* tests/swarm/swarm_run.h - one seed of the swarm: its plan carried out, every
 * promise of the store checked. */
#ifndef TESTS_SWARM_RUN_H
#define TESTS_SWARM_RUN_H

#include "tests/swarm/sim_store.h"

typedef struct swarm_result {
    char breach[512]; /* "": every promise was kept, and everybody ended */
    sti_sim_store_outcome outcome;
    uint64_t reads, incs, snapshots;
    uint64_t adaptive; /* reads at an adaptive staleness above 0 */
    uint64_t held;     /* rows that filters held back, by pushes */
    uint64_t batched;  /* rows that workers added at once */
    uint64_t early;    /* pushes, before their clock or flush */
} swarm_result;

/* What a shard may lie about, for a test of the checker. */
typedef enum swarm_lie {
    SWARM_HONEST = 0,
    SWARM_ACK_OF_MORE,   /* an ACK tells of a push that did not arrive */
    SWARM_OLD_AS_NEW,    /* ROWS say that they are newer than they are */
    SWARM_APPLIED_EARLY, /* ROWS claim own pushes that they do not hold */
    SWARM_LIES
} swarm_lie;

/* `tell`: NULL, or where events are told, from number `tell_from` on. */
void swarm_seed(uint64_t seed, FILE *tell, uint64_t tell_from,
                swarm_result *result);

/* The same seed with shards that lie. */
void swarm_seed_of_lies(uint64_t seed, swarm_lie lie, swarm_result *result);

#endif
