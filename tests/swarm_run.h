/* tests/swarm_run.h - one seed of the swarm: its plan carried out, every
 * promise of the store checked. */
#ifndef TESTS_SWARM_RUN_H
#define TESTS_SWARM_RUN_H

#include "engine/runtime/sim_store.h"

typedef struct swarm_result {
    char breach[512]; /* "": every promise was kept, and everybody ended */
    sti_sim_store_outcome outcome;
    uint64_t reads, incs, snapshots;
} swarm_result;

/* `tell`: NULL, or where events are told, from number `tell_from` on. */
void swarm_seed(uint64_t seed, FILE *tell, uint64_t tell_from,
                swarm_result *result);

#endif
