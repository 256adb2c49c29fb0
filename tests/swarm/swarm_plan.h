/* tests/swarm/swarm_plan.h - a seed's cluster, network, faults and work. */
#ifndef TESTS_SWARM_PLAN_H
#define TESTS_SWARM_PLAN_H

#include "tests/swarm/sim_store.h"

enum { SWARM_TABLES = 3, SWARM_FAULTS = 16 };

typedef struct swarm_plan {
    sti_sim_store_setup setup; /* without its callbacks and its log */
    strads_table_spec tables[SWARM_TABLES];
    sti_sim_fault faults[SWARM_FAULTS];
    uint32_t clocks; /* each worker ends so many clocks, then leaves */
    uint32_t calls;  /* the maximum in a clock */
    uint64_t think_ns;
    bool sweeps;        /* workers add to all rows of a shard of table 0 */
    bool asks_ahead;    /* workers prefetch rows that they often read next */
    uint32_t straggler; /* a worker that takes eight times as long, or none */
} swarm_plan;

/* The same seed gives the same plan on the same tree. The setup points into
 * *plan. */
void swarm_plan_draw(uint64_t seed, swarm_plan *plan);

void swarm_plan_print(const swarm_plan *plan, FILE *to);

#endif
