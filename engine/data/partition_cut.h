/* engine/data/partition_cut.h - contiguous ranges of about equal weight. */
#ifndef STI_DATA_PARTITION_CUT_H
#define STI_DATA_PARTITION_CUT_H

#include <stdint.h>

/* Cuts lines 0 .. lines - 1, line k holding nnz[k] entries (nnz == NULL: one
 * each), into `parts` ranges: part p is bounds[p] .. bounds[p + 1] - 1. Each
 * boundary is the one nearest to p / parts of all entries. */
void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds);

#endif
