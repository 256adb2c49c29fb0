/* tests/swarm/store_checker.h - what the store promises, held against what workers
 * did and saw.
 *
 * Column (worker, clock) of a row takes that worker's increments of that clock:
 * the k-th of them, k = 0, 1, ..., adds 4^k. So a value tells which increments
 * are in it, and how often: digit k in base 4 is 1 when increment k is there, 2
 * or 3 when it is there more than once, 0 when it is not. */
#ifndef TESTS_STORE_CHECKER_H
#define TESTS_STORE_CHECKER_H

#include <stdbool.h>

#include "engine/store/message.h"
#include "engine/store/pending.h"
#include "engine/store/shard.h"

/* Increments of one worker to one row in one clock: exact in f32. */
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

/* "": every promise was kept so far. Otherwise the promise that was broken
 * first, and how. */
const char *checker_breach(const checker *c);

/* ---- what workers do --------------------------------------------------- */

/* The next increment of a worker to a row: false when it has made
 * CHECKER_INCS in this clock. */
bool checker_inc(checker *c, uint32_t worker, uint32_t table, uint32_t row,
                 uint32_t *col, double *value);

/* A push is through. `pending`: [n_tables x shards] what it left with the worker, which
 * must be what the tables' filters hold back; NULL: nothing, and all of it was
 * sent, also what no message has shown. */
void checker_pushed(checker *c, uint32_t worker, sti_push_end end,
                    const sti_pending *pending);

/* How many rows were held back by pushes so far. */
uint64_t checker_held(const checker *c);

/* An adaptive staleness keeps its bound. */
void checker_adaptive(checker *c, uint32_t worker, uint32_t table,
                      uint32_t staleness);

/* The store says that a worker is at this clock. */
void checker_clock(checker *c, uint32_t worker, uint64_t clock);

/* A barrier let go. */
void checker_barrier(checker *c, uint32_t worker);

/* ---- what workers see -------------------------------------------------- */

typedef struct checker_read {
    uint32_t worker, table, n;
    const uint32_t *rows; /* [n] */
    bool exact;           /* of clock `needs` */
    uint64_t needs;       /* the clock below which all must be there */
    uint64_t as_of;       /* as the store said */
    const void *values;   /* [n x cols] of the table's type */
} checker_read;

/* P1 and P2, and P3 as far as it shows. */
void checker_saw(checker *c, const checker_read *read);

/* An exact snapshot of that clock was not kept, because somebody is too far
 * ahead. */
void checker_refused(checker *c, uint32_t worker, uint32_t table,
                     uint64_t clock);

/* ---- what roles tell, and what is left --------------------------------- */

/* What roles send: a client its pushes; what a shard tells never goes back,
 * P4. */
void checker_told(checker *c, const sti_msg *msg);

/* P3, when all workers have left and all is acknowledged. */
void checker_end(checker *c, uint32_t shard, const sti_shard *role);

#endif
