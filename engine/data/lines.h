/* engine/data/lines.h - compressed or dense lines in arrays of the types that
 * other libraries use, read a block at a time. */
#ifndef STI_DATA_LINES_H
#define STI_DATA_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/build.h"
#include "strads/data.h"

typedef struct sti_lines {
    const strads_arrays *a;
    uint64_t lines, minors; /* rows and columns, or columns and rows */
    uint64_t first_row;     /* of these rows in the whole data set */
} sti_lines;

/* The place of line k's first entry. */
static inline uint64_t sti_lines_start(const sti_lines *l, uint64_t k)
{
    if (l->a->start == NULL)
        return k * l->minors;
    return l->a->starts == STRADS_I32 ? ((const uint32_t *)l->a->start)[k]
                                      : ((const uint64_t *)l->a->start)[k];
}

/* The index of the entry at place `at` of a line that starts at `first`. */
static inline uint64_t sti_lines_index(const sti_lines *l, uint64_t at,
                                       uint64_t first)
{
    if (l->a->start == NULL)
        return at - first;
    return l->a->indices == STRADS_I32 ? ((const uint32_t *)l->a->index)[at]
                                       : ((const uint64_t *)l->a->index)[at];
}

static inline double sti_lines_value(const sti_lines *l, uint64_t at)
{
    return l->a->values == STRADS_F32 ? (double)((const float *)l->a->value)[at]
                                      : ((const double *)l->a->value)[at];
}

/* One pass that counts the entries of each line and of each minor index, dense
 * ones without zeros, and checks all. Returns false if an index is out of
 * range or does not ascend in its line, or a value is not finite, or not as
 * `values`; the counts are then incomplete. The starts ascend. */
bool sti_lines_count(const sti_lines *l, strads_scalar values,
                     uint32_t *line_nnz, uint32_t *minor_nnz);

/* Counts the entries of a part into its starts, as sti_side_count. */
void sti_lines_count_part(const sti_lines *l, bool by_col, sti_part *part);

/* Writes the entries of a part to their places in index and values of the
 * side, in ascending order. Entries beyond the counted places are dropped. */
void sti_lines_place_part(const sti_lines *l, const sti_side *side,
                          sti_part *part);

/* The sum of sti_digest_entries over all entries. */
uint64_t sti_lines_digest(const sti_lines *l);

#endif
