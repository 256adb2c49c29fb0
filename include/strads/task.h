/* strads/task.h - what a worker's callback gets. */
#ifndef STRADS_TASK_H
#define STRADS_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "strads/block.h"
#include "strads/data.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pooled program's workers see of a partition of their pool. An update
 * may read its share, and of its state what `open` has made, and what updates
 * of dispatches have that were committed before this one left, if this one
 * changes none of it; news come to a partition with its next dispatch, so what
 * `receive` makes of a result is there for all after a dispatch to ALL that
 * follows. What belongs to the parameters of its block, which nobody else
 * holds, it may also change. */
typedef struct strads_peer {
    const strads_share *share;
    void *local; /* NULL until it has been opened */
} strads_peer;

/* A worker's callback: one block, on one share. Pointers are valid during the
 * call only, but for `share`, `config` and `store`, which last for the run. */
typedef struct strads_task {
    const strads_share *share; /* this partition's data */
    void *local;               /* this partition's state, made by `open` */
    const void *config;        /* the program's options, read only */
    strads_store *store;       /* tables, by the consistency rule; NULL on
                                  nodes other than the coordinator's, and on
                                  several nodes in `run` */
    uint64_t seed;             /* the run's: name random streams by it */
    uint64_t round;
    uint32_t phase; /* place in `phases`; 0 in a simple program */
    uint32_t step;  /* RING: 0 .. K - 1, partitions that the block has met
                       in this lap so far */
    uint32_t width; /* numbers a parameter */
    strads_block block;
    strads_block against;          /* PROBE: the block to compare with */
    const strads_block *in_flight; /* of earlier dispatches, not yet in what */
    uint32_t n_in_flight;          /* `refresh` has brought */
    double *value;   /* [n x width] the block's committed values at dispatch.
                        OWNER and RING: also the way out, see strads/phase.h */
    void *object;    /* RING: the block's payload object, or NULL */
    double *partial; /* zeroed; as many bytes as the phase's `partial` said */
    size_t partial_bytes; /* CONCAT: may be lowered to what was written */
    /* Shared totals, [shape->totals], or NULL; what `update` adds is seen by
     * this partition's next update at once and by the others as told at
     * strads_shape. NULL in other callbacks. */
    double *total;
    const struct strads_shape *shape; /* of the run, for its whole life */
    /* [n_peers] the partitions first_peer .. first_peer + n_peers - 1: this
     * one's pool. NULL where the program is not pooled. */
    const strads_peer *peer;
    uint32_t first_peer, n_peers;
    void *state;  /* run, partition 0 alone: what `begin` made, to keep what the
                     result is to tell; elsewhere NULL */
    void *engine; /* run: for the calls of strads/loop.h */
} strads_task;

#ifdef __cplusplus
}
#endif

#endif
