/* tests/static_toy.h - a static program whose every number depends on the order
 * in which each partition took its blocks, on what each block met before, and
 * on what the totals were when; and the same in one plain loop. */
#ifndef TESTS_STATIC_TOY_H
#define TESTS_STATIC_TOY_H

#include "strads/strads.h"

enum {
    STATIC_TOY_PARAMETERS = 30,
    STATIC_TOY_TOTALS = 3,
    STATIC_TOY_LAPS = 4,
    STATIC_TOY_BLOCKS = 64 /* at most */
};

typedef struct static_toy_config {
    uint32_t blocks;  /* 0: as the engine presets */
    uint32_t objects; /* blocks have one */
} static_toy_config;

/* The program for such a config: its phases differ. */
const strads_program *static_toy(const static_toy_config *config);

/* What comes of it: table 0, and a number made of partials and totals. */
typedef struct static_toy_end {
    double value[STATIC_TOY_PARAMETERS];
    double told;
} static_toy_end;

void static_toy_take(const strads_result *result, static_toy_end *end);

/* The oracle: the plan's laps in a loop. */
void static_toy_walk(const strads_plan *plan, const static_toy_config *config,
                     static_toy_end *end);

/* A plan that is no rotation: all blocks start at the last partition, go down
 * to the first, and the next follows a step behind. */
strads_plan *static_toy_stairs(uint32_t partitions, uint32_t blocks);

#endif
