/* tests/loop_tally.h - a data-parallel program that counts. In each clock
 * partition p reads two tables, checks the values against the staleness rule
 * and adds 1 to column p of every row. So each row shows how many clocks of
 * each partition it contains. It does not depend on Criterion. */
#ifndef TESTS_LOOP_TALLY_H
#define TESTS_LOOP_TALLY_H

#include <stdatomic.h>

#include "strads/strads.h"

enum { TALLY_ROWS = 7, TALLY_PARTITIONS_MAX = 8 };

/* Parameters of the next run; global, because the nodes of a test are
 * threads of one process. */
typedef struct tally_plan {
    uint32_t clocks, staleness;
    uint32_t fails;   /* 1 + the clock in which the last partition fails */
    uint32_t reports; /* partition `reporter` reports after this many clocks */
    uint32_t reporter;
    uint32_t converges; /* 1 + the report with gap 0 */
    uint32_t stops;     /* 1 + the clock in which partition 0 sets `stop` */
    volatile bool *stop;
    bool careless;      /* no loop checks whether the run has ended */
    uint32_t slow_us;   /* partition 0 sleeps this long in each clock */
    uint32_t flushes;   /* flush in every clock that is a multiple of this */
    uint32_t snapshots; /* snapshot of the second table after this many
                         * clocks */
    atomic_uint wrong;  /* reads against the rule, or inexact snapshots */
    /* 1 + the clock in which each loop ended; 0: still running. */
    atomic_uint ended[TALLY_PARTITIONS_MAX];
    atomic_uint partitions_met; /* partitions that ended without an error */
} tally_plan;

extern tally_plan tally;

extern const strads_program tally_program;

#endif
