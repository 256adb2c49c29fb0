/* tests/swarm/store_checker.h - checks the store's guarantees against the
 * actions and reads of workers.
 *
 * Column (worker, clock) of a row takes that worker's increments of that clock:
 * the k-th of them, k = 0, 1, ..., adds 4^k. So a value shows which increments
 * it contains, and how often. Digit k in base 4 is 0 if increment k is missing,
 * 1 if it is there once, 2 or 3 if more often. */
#ifndef TESTS_STORE_CHECKER_H
#define TESTS_STORE_CHECKER_H

#include <stdbool.h>

#include "engine/store/message.h"
#include "engine/store/pending.h"
#include "engine/store/shard.h"

/* Increments of one worker to one row in one clock; their sum is exact in
 * f32. */
enum { CHECKER_INCS = 8 };

typedef struct checker checker;

typedef struct checker_setup {
    uint32_t shards, clients, workers_each;
    const strads_table_spec *tables; /* cols: workers x clocks */
    uint32_t n_tables;
    uint32_t clocks; /* increments are made in clocks 0 .. clocks - 1 */
} checker_setup;

/* NULL: no memory. */
checker *checker_new(const checker_setup *setup);
void checker_free(checker *c);

/* "": no guarantee was broken so far. Otherwise the first broken guarantee, and
 * how. */
const char *checker_breach(const checker *c);

/* ---- actions of workers ------------------------------------------------- */

/* The next increment of a worker to a row; false after CHECKER_INCS of them in
 * this clock. */
bool checker_inc(checker *c, uint32_t worker, uint32_t table, uint32_t row,
                 uint32_t *col, double *value);

/* A push has returned. `pending`: [n_tables x shards] the increments that it
 * left pending, which must match the tables' filters. NULL: none, and all were
 * sent, even if no message shows it. */
void checker_pushed(checker *c, uint32_t worker, sti_push_end end,
                    const sti_pending *pending);

/* The number of rows that pushes have held back. */
uint64_t checker_held(const checker *c);

/* Checks the bound of an adaptive staleness. */
void checker_adaptive(checker *c, uint32_t worker, uint32_t table,
                      uint32_t staleness);

/* The store reports that a worker is at this clock. */
void checker_clock(checker *c, uint32_t worker, uint64_t clock);

/* A barrier has returned. */
void checker_barrier(checker *c, uint32_t worker);

/* ---- reads of workers --------------------------------------------------- */

typedef struct checker_read {
    uint32_t worker, table, n;
    const uint32_t *rows; /* [n] */
    bool exact;           /* of clock `needs` */
    uint64_t needs;       /* all updates of clocks below must be there */
    uint64_t as_of;       /* as the store reported */
    const void *values;   /* [n x cols] of the table's type */
} checker_read;

/* Checks P1 and P2, and P3 as far as a read shows it. */
void checker_saw(checker *c, const checker_read *read);

/* An exact snapshot of that clock was refused because a worker is too far
 * ahead. */
void checker_refused(checker *c, uint32_t worker, uint32_t table,
                     uint64_t clock);

/* ---- messages of roles, and the final state ------------------------------ */

/* Checks a sent message: a client's pushes; a shard's numbers, which must not
 * decrease (P4). */
void checker_told(checker *c, const sti_msg *msg);

/* Checks P3 when all workers have left and all pushes are acknowledged. */
void checker_end(checker *c, uint32_t shard, const sti_shard *role);

#endif
