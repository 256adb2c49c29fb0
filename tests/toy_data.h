/* tests/toy_data.h - small data sets with entries by a formula, and runs of
 * toy programs on them. It neither prints nor depends on Criterion, so race
 * tests and benchmarks may use it too. */
#ifndef TESTS_TOY_DATA_H
#define TESTS_TOY_DATA_H

#include "strads/strads.h"

/* Entry (i, j) of every toy matrix: a small integer, 0 for half of the
 * entries. */
double toy_entry(uint64_t i, uint64_t j);

/* The label of row i: a small integer. */
double toy_label(uint64_t i);

/* A matrix of rows x cols, split as the program requires; NULL on failure. */
strads_data *toy_data(const strads_program *program, uint64_t rows,
                      uint64_t cols, uint32_t partitions);

/* A run. `options.size` is filled in, and the data has options.partitions
 * partitions. */
typedef struct toy_run {
    const strads_program *program;
    const void *config;
    uint64_t rows, cols; /* 0: 23 x 17 */
    strads_engine_options options;
} toy_run;

/* strads_run on a toy matrix; `out` may be NULL. */
strads_err toy_run_it(const toy_run *run, strads_result **out);

/* True if two results are bit-identical. */
bool toy_same_values(const strads_result *a, const strads_result *b);

/* From now on runs are simulated, each worker on a node of its own, with
 * reordered messages: blocks are packed, buffers copied. */
void toy_simulate_from_now_on(void);

/* Fails a callback of a toy program if the engine broke a promise. */
#define TOY_CHECK(condition)                                               \
    do {                                                                   \
        if (!(condition))                                                  \
            return strads_fail(STRADS_EPROGRAM, "%s:%d: not %s", __FILE__, \
                               __LINE__, #condition);                      \
    } while (0)

/* ---- parts of programs ------------------------------------------------- */

/* Define a `shape` that sets the given fields of *shape; and a `begin`, an
 * `open`, and an `open` of payloads that allocate zeroed memory. */
#define TOY_SHAPE(name, ...)                                         \
    static strads_err name(const void *config, const strads_data *d, \
                           strads_shape *shape)                      \
    {                                                                \
        (void)config, (void)d;                                       \
        __VA_ARGS__;                                                 \
        return STRADS_OK;                                            \
    }
#define TOY_BEGIN(name, bytes)                                       \
    static strads_err name(const void *config, const strads_data *d, \
                           const strads_shape *shape, void **state)  \
    {                                                                \
        (void)config, (void)d, (void)shape;                          \
        return toy_zeroed(bytes, state);                             \
    }
#define TOY_OPEN(name, bytes)                                     \
    static strads_err name(const strads_task *task, void **local) \
    {                                                             \
        (void)task;                                               \
        return toy_zeroed(bytes, local);                          \
    }
#define TOY_OPEN_OBJECT(name, bytes)                         \
    static strads_err name(strads_task *task, void **object) \
    {                                                        \
        (void)task;                                          \
        return toy_zeroed(bytes, object);                    \
    }

/* Allocates zeroed memory. */
strads_err toy_zeroed(size_t bytes, void **out);

/* A `begin` with the number of partitions as state, a uint32_t. */
strads_err toy_begin_partitions(const void *config, const strads_data *data,
                                const strads_shape *shape, void **state);

/* Sizes of partials, an `update` and an `aggregate` that do nothing. */
size_t toy_one_number(const strads_task *task);
size_t toy_two_numbers(const strads_task *task);
strads_err toy_does_nothing(strads_task *task);
strads_err toy_commits_nothing(strads_commit *commit);

/* A `refresh` that adds the changes to a local state of one double per
 * parameter. */
strads_err toy_replica_refresh(strads_task *task, const strads_change *changes,
                               uint32_t n);

/* A `merge_with`: the larger of each two numbers. */
void toy_keep_larger(void *into, const void *from, size_t bytes);

/* Objects of a block: one uint64_t, initially zero. */
extern const strads_payload toy_counter;

/* x_i' x_j of columns in f64. */
double toy_column_product(const strads_sparse *x, uint32_t i, uint32_t j);

#endif
