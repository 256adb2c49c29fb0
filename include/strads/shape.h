/* strads/shape.h - how large a program is, and how that is cut. Any thread. */
#ifndef STRADS_SHAPE_H
#define STRADS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes, told by `shape`. */
typedef struct strads_shape {
    uint64_t parameters; /* J; preset to the columns of the data */
    uint32_t width;      /* numbers a parameter; preset to 1 */
    uint32_t block_max;  /* parameters a block at most; preset to 64 */
    /* RING: how many blocks there should be, ids 0 .. blocks - 1; preset to
     * what the plan has, or the option `blocks` says, or two a partition. A
     * program may set another number (blocks that fit a cache, say), but not
     * against a plan. */
    uint32_t blocks;
    /* Numbers that all tasks share and no block owns (LDA's topics), f64,
     * preset to 0. They start at 0. An update sees, and adds to, task->total:
     * what is committed of dispatches 1 .. n - 1 - s, the same for all
     * partitions, and all that its own partition has added since; n is its own
     * dispatch, and s how many dispatches before it were in flight when it left
     * (depth at most, 0 when `schedule` waits). So whole numbers below 2^53
     * are exact. They ride with each dispatch: some thousands at most. Their
     * table in the store is "shared totals". `aggregate` may add to them, too.
     * Not with `run`. */
    uint32_t totals;
    /* Told, not to be changed: of the whole data set, whatever of it this
     * process keeps. */
    uint64_t rows, cols;
    uint32_t partitions; /* K */
    uint32_t pools;      /* of partitions; K where the program is not pooled */
    /* How many of the parameters, the first ones, a model holds; preset to 0:
     * all. The rest is the run's own (a dual program's samples, say). */
    uint64_t coefficients;
    /* RING; told: a plan or the option `blocks` says how many blocks, so
     * `blocks` is not a mere preset. */
    bool blocks_given;
    /* About how many bytes of memory the coordinator's process has for each
     * parameter during the run, at the least and without the data: what the
     * program keeps, and values, weights and priorities. Preset to 0: not
     * told. A run whose parameters need more than is free is refused with
     * STRADS_ENOMEM before its first callback. */
    uint32_t param_bytes;
} strads_shape;

/* The pool of a partition, and the first partition of a pool; pool == pools
 * gives the end. */
static inline uint32_t strads_pool_of(const strads_shape *shape,
                                      uint32_t partition)
{
    return (uint32_t)((uint64_t)partition * shape->pools / shape->partitions);
}

static inline uint32_t strads_pool_first(const strads_shape *shape,
                                         uint32_t pool)
{
    return (uint32_t)(((uint64_t)pool * shape->partitions + shape->pools - 1) /
                      shape->pools);
}

#ifdef __cplusplus
}
#endif

#endif
