/* Columns over all rows in one place, assembled from pieces: each has the
 * entries of one partition's rows, and the pieces follow each other in the
 * order of the partitions. A solver then needs no messages. */
#ifndef LINEAR_PACKED_H
#define LINEAR_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <strads/error.h>

#include "column_kernels.h"

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

/* The most bytes of a piece of so many columns with `entries` entries. */
size_t linear_packed_bytes(uint64_t columns, uint64_t entries);
/* Writes a piece, the entries of the listed columns in `view`; returns its
 * bytes. */
size_t linear_packed_write(const column_list *list, const column_view *view,
                           void *piece);
/* Appends n columns to *packed, from all pieces, one after the other.
 * STRADS_EPEER: they do not fit the data; STRADS_ENOMEM. */
strads_err linear_packed_take(linear_packed *packed, uint32_t n,
                              const void *pieces, size_t bytes);

#endif
