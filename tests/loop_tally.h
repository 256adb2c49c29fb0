/* tests/loop_tally.h - a data-parallel program that counts: in each clock
 * partition p adds 1 to column p of every row of two tables, after it has read
 * them and held what it read against the staleness rule. So each row says how
 * many clocks of whom are in it. No part of it knows Criterion. */
#ifndef TESTS_LOOP_TALLY_H
#define TESTS_LOOP_TALLY_H

#include <stdatomic.h>

#include "strads/strads.h"

enum { TALLY_ROWS = 7, TALLY_PARTITIONS_MAX = 8 };

/* What the next run is to do: the nodes of a test are threads of one process.
 */
typedef struct tally_plan {
    uint32_t clocks, staleness;
    uint32_t fails;   /* 1 + the clock in which the last partition fails */
    uint32_t reports; /* partition `reporter` reports in so many clocks */
    uint32_t reporter;
    uint32_t converges; /* 1 + the report whose gap is 0 */
    uint32_t stops;     /* 1 + the clock in which partition 0 sets `stop` */
    volatile bool *stop;
    bool careless;      /* no loop asks whether the run has ended */
    uint32_t slow_us;   /* partition 0 sleeps that long in each clock */
    uint32_t flushes;   /* a flush in every clock that this divides */
    uint32_t snapshots; /* one of the second table in so many clocks */
    atomic_uint wrong;  /* reads against the rule, or snapshots not exact */
    /* 1 + the clock in which each loop ended; 0: it has not. */
    atomic_uint ended[TALLY_PARTITIONS_MAX];
    atomic_uint partitions_met; /* partitions that ended well */
} tally_plan;

extern tally_plan tally;

extern const strads_program tally_program;

#endif
