/* bench/bare_lasso.h - the engine's place taken by a straight loop: a Lasso's
 * own callbacks on the same partitions, one thread each, with the simplest
 * policy (columns are grouped by 64 as they get a priority, the group with the
 * most comes next; a phase to nobody gets all that have one), nothing in
 * flight, and barriers that spin. bare_lasso_calls.c defines the calls that
 * callbacks make into an engine, so that the library's own stays out.
 *
 * Reading order: this file, bare_lasso_rounds.c, bare_lasso_threads.c,
 * bare_lasso_calls.c. What fails ends the process. */
#ifndef BENCH_BARE_LASSO_H
#define BENCH_BARE_LASSO_H

#include <pthread.h>
#include <stdatomic.h>

#include <strads/lasso.h>
#include <strads/strads.h>

enum { BARE_GROUP = 64, BARE_THREADS_MAX = 64 };

typedef struct bare_loop bare_loop;

typedef struct bare_group {
    uint32_t n, known; /* members; those whose pairs are known */
    uint32_t param[BARE_GROUP];
    double pairs[BARE_GROUP * BARE_GROUP]; /* [n x n] */
    double priority;                       /* sum over members */
} bare_group;

/* One order to all threads: changes to refresh, then a phase to update. */
typedef struct bare_order {
    strads_change change;
    bool refresh, receive, quit;
    const strads_phase *phase;
    strads_block block, against;
    size_t partial; /* numbers */
} bare_order;

struct bare_loop {
    const strads_program *program;
    strads_lasso_options config;
    const strads_data *data;
    strads_shape shape;
    void *state;
    uint32_t threads;

    double *value, *priority, *change, *new_priority, *merged;
    uint32_t *changed, *solved;
    double *solved_value;
    uint32_t *group_of; /* 1 + its group, 0: none yet */
    bare_group **groups;
    uint32_t n_groups;
    double rest, left, tolerance;
    uint32_t route; /* the phase that the policy's blocks go to */
    uint32_t *wish_param, *wish_against; /* pairs that a commit asked for */
    uint32_t n_wish, m_wish;

    bare_order order;
    void *local[BARE_THREADS_MAX];
    double *partial[BARE_THREADS_MAX];
    size_t capacity[BARE_THREADS_MAX], room_merged;
    double busy[BARE_THREADS_MAX], alone; /* in callbacks; in aggregate */
    pthread_t thread[BARE_THREADS_MAX];
    atomic_uint turn, done;

    uint64_t scans, blocks, updates, probes;
};

/* ---- bare_lasso_rounds.c ----------------------------------------------- */

/* From the phases of the start to a gap of `gap`, or with an `optimum` to so
 * near it: (P - optimum) / optimum <= gap. */
typedef struct bare_target {
    double gap, optimum; /* 0: none is known */
    bool verbose;        /* a line on standard error for each scan */
} bare_target;

void bare_loop_train(bare_loop *e, const bare_target *target,
                     strads_report *report);

/* The program's first phase of a kind, and its number; there must be one. */
uint32_t bare_loop_phase_number(const bare_loop *e, strads_when when);

/* ---- bare_lasso_threads.c ---------------------------------------------- */

/* Starts all threads but the caller's, which is partition 0's; ends them. */
void bare_loop_start(bare_loop *e);
void bare_loop_stop(bare_loop *e);

/* What a callback on partition t gets, without a block. */
strads_task bare_loop_task(bare_loop *e, uint32_t t);

/* Has all threads carry the order out, and merges their partials. */
void bare_loop_everyone(bare_loop *e);

/* ---- bare_lasso_calls.c ------------------------------------------------ */

/* Gives column j a priority, and a group if it has none. */
void bare_loop_prioritise(bare_loop *e, uint32_t j, double priority);

#endif
