/* tests/loop_wide.h - a data-parallel program that reads a whole table of
 * wide rows in each clock, and adds to all of it, so that rows bypass the
 * cache. It does not depend on Criterion. */
#ifndef TESTS_LOOP_WIDE_H
#define TESTS_LOOP_WIDE_H

#include <stdatomic.h>

#include "strads/strads.h"

/* Parameters of the next run. */
typedef struct wide_plan {
    uint32_t clocks;
    bool backwards;    /* the last row is read first */
    bool endless;      /* another condition ends it, at any clock */
    bool batches;      /* rows are added in batches */
    atomic_uint wrong; /* rows with impossible values */
    atomic_uint done;  /* partitions that have seen all clocks of all
                        * partitions */
} wide_plan;

extern wide_plan wide;

extern const strads_program wide_program;

#endif
