/* tests/columns_cut.h - designs as data for fits by columns. */
#ifndef TESTS_COLUMNS_CUT_H
#define TESTS_COLUMNS_CUT_H

#include "tests/lasso_design.h"

/* How a run holds its data. */
typedef struct columns_cut {
    uint32_t partitions, workers, pools;
    bool packed;
} columns_cut;

/* The design for a program with this split, in memory or in a pack at
 * oracle_path("columns.pack"). The caller frees it. */
strads_data *columns_cut_data(const lasso_design *design, strads_split split,
                              const columns_cut *cut);

#endif
