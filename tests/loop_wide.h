/* tests/loop_wide.h - a data-parallel program that reads all of a table of wide
 * rows each clock, and adds to all of it: rows come past the cache. No part knows
 * Criterion. */
#ifndef TESTS_LOOP_WIDE_H
#define TESTS_LOOP_WIDE_H

#include <stdatomic.h>

#include "strads/strads.h"

/* What the next run is to do. */
typedef struct wide_plan {
    uint32_t clocks;
    bool backwards;    /* the last row is read first */
    bool endless;      /* something else ends it, at any clock */
    bool batches;      /* rows are added in batches */
    atomic_uint wrong; /* rows that were read and cannot be */
    atomic_uint done;  /* partitions that have seen all clocks of everybody */
} wide_plan;

extern wide_plan wide;

extern const strads_program wide_program;

#endif
