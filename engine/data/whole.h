/* engine/data/whole.h - a data set with rows on several processes. */
#ifndef STI_DATA_WHOLE_H
#define STI_DATA_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"

/* The largest number of rows or columns: the two largest values of 32 bits
 * are reserved. */
#define STI_MOST_LINES UINT64_C(0xFFFFFFFE)

/* Counts of a data set, made before any data is kept. The arrays are of
 * sti_big_alloc. */
typedef struct sti_counts {
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz; /* [cols] */
    uint32_t *row_nnz; /* [rows] */
} sti_counts;

/* How processes that each hold some rows of a data set agree on the whole.
 * Each call waits for all processes. */
typedef struct sti_whole {
    /* Replaces the counts of this process's rows by those of the whole.
     * Without STRADS_LAYOUT_ROWS, row counts are valid for the own rows only.
     * *own is the range of these rows among all. The caller frees *bounds, the
     * bounds of the whole's partitions. */
    strads_err (*count)(void *arg, const strads_data_options *options,
                        bool has_labels, sti_counts *counts, strads_range *own,
                        uint64_t **bounds);
    /* Adds the sums over all processes. */
    strads_err (*add)(void *arg, uint64_t sums[2]);
    void *arg;
} sti_whole;

/* Like strads_data_from_arrays, for the rows of a whole that this process
 * has (possibly none). The process keeps the partitions of these rows. */
strads_err sti_data_from_part(const strads_arrays *part, const sti_whole *whole,
                              const strads_data_options *options,
                              strads_data **out);

/* Cuts lines 0 .. lines - 1 into `parts` ranges; line k has nnz[k] entries
 * (nnz == NULL: one each). Part p is bounds[p] .. bounds[p + 1] - 1. Each
 * boundary is the one nearest to p / parts of all entries. */
void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds);

/* A sum over the names of columns or labels, in order; 0 for NULL. */
uint64_t sti_digest_names(const strads_names *names);

#endif
