/* engine/data/whole.h - a data set of which this process holds some rows. */
#ifndef STI_DATA_WHOLE_H
#define STI_DATA_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"

/* The largest number of rows or columns: the rest of 32 bits is kept free. */
#define STI_MOST_LINES UINT64_C(0xFFFFFFFE)

/* What is counted before anything is kept. The arrays are of sti_big_alloc. */
typedef struct sti_counts {
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz; /* [cols] */
    uint32_t *row_nnz; /* [rows] */
} sti_counts;

/* How a process that holds some rows of a data set agrees with those that hold
 * the others. Each call waits for all of them. */
typedef struct sti_whole {
    /* Turns the counts of the process's rows into the whole's; without
     * STRADS_LAYOUT_ROWS those of rows are right for the own rows alone. *own
     * are these among all; *bounds, freed by the caller, is where the whole's
     * partitions begin. */
    strads_err (*count)(void *arg, const strads_data_options *options,
                        bool has_labels, sti_counts *counts, strads_range *own,
                        uint64_t **bounds);
    /* The sums over all processes. */
    strads_err (*add)(void *arg, uint64_t sums[2]);
    void *arg;
} sti_whole;

/* As strads_data_from_arrays, of the rows of a whole that this process has,
 * which may be none; the partitions that it keeps are these. */
strads_err sti_data_from_part(const strads_arrays *part, const sti_whole *whole,
                              const strads_data_options *options,
                              strads_data **out);

/* Cuts lines 0 .. lines - 1, line k holding nnz[k] entries (nnz == NULL: one
 * each), into `parts` ranges: part p is bounds[p] .. bounds[p + 1] - 1. Each
 * boundary is the one nearest to p / parts of all entries. */
void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds);

/* A sum over what columns or labels are called, in order; of NULL: 0. */
uint64_t sti_digest_names(const strads_names *names);

#endif
