/* engine/data/data_set.h - what a strads_data is made of. */
#ifndef STI_DATA_DATA_SET_H
#define STI_DATA_DATA_SET_H

#include "engine/data/sparse_build.h"
#include "strads/data.h"

struct strads_data {
    uint64_t rows, cols, nnz;
    uint64_t checksum;
    uint64_t index_base;
    uint32_t *col_nnz;    /* [cols] */
    uint32_t *row_nnz;    /* [rows]; NULL without STRADS_LAYOUT_ROWS */
    uint64_t *row_bounds; /* [partitions + 1]; all 0 under SPLIT_COLS */
    uint32_t partitions, keep_first, keep_count;
    strads_share *shares; /* [keep_count] */
    sti_side by_col, by_row;
    double *label; /* [label_count]; NULL when there are none */
    uint64_t label_count;
    uint64_t bytes;
    const strads_names *row_names, *col_names;
    strads_names *own_row_names, *own_col_names; /* where made by the reader */
    const strads_names *label_names;
    strads_names *own_label_names;
    uint64_t unknown, repeated;
};

/* Options with every default filled in. */
strads_err sti_data_options(const strads_data_options *given,
                            strads_data_options *out);

#endif
