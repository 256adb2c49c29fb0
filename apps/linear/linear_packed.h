/* Columns over all rows in one place. Workers write the entries of their
 * rows, one partition after the other (STRADS_MERGE_CONCAT), and the
 * coordinator assembles them. A solver then needs no messages. */
#ifndef LINEAR_PACKED_H
#define LINEAR_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <strads/program.h>

#include "apps/kernels/column_kernels.h"

/* Kernels may read this many entries beyond a column's end. */
enum { LINEAR_PACKED_SLACK = 16 };

typedef struct linear_packed {
    uint64_t rows;
    uint32_t n, capacity; /* columns */
    uint64_t *at, *count; /* [capacity] start and number of a column's
                           * entries */
    uint64_t entries, room_entries;
    double *value;   /* [room_entries + LINEAR_PACKED_SLACK] */
    uint32_t *index; /* [the same] rows */
} linear_packed;

void linear_packed_free(linear_packed *packed);

/* Removes all columns and keeps the memory. */
static inline void linear_packed_clear(linear_packed *packed)
{
    packed->n = 0;
    packed->entries = 0;
}

/* The length of an array parallel to `value`. */
static inline uint64_t linear_packed_room(const linear_packed *packed)
{
    return packed->room_entries + LINEAR_PACKED_SLACK;
}

/* The id of a block of columns to be packed. It contains their number of
 * entries, below 2^40, because a partial's size must be known before the
 * dispatch. */
static inline uint64_t linear_packed_id(uint64_t number, uint64_t entries)
{
    return number << 40 | entries;
}
static inline uint64_t linear_packed_entries(uint64_t id)
{
    return id & ((UINT64_C(1) << 40) - 1);
}

/* `partial` of such a phase: an upper bound in bytes. */
size_t linear_packed_bytes(const strads_task *task);
/* In `update`: writes the entries of the block's columns in `view`. */
strads_err linear_packed_write(strads_task *task, const column_view *view);
/* In `aggregate`: appends the block's columns to *packed. STRADS_EPEER: the
 * received data does not fit; STRADS_ENOMEM. */
strads_err linear_packed_take(linear_packed *packed,
                              const strads_commit *commit);

#endif
