/* Weighted sums of outer products of rows: X'HX of a share of few columns. */
#ifndef LINEAR_OUTER_H
#define LINEAR_OUTER_H

#include <stddef.h>

#include "linear_kernels.h"

/* Whether data have few columns and many rows, and p^2/2 multiplications of
 * dense numbers a row are not much beside some 300 passes over its entries. */
bool linear_outer_suits(const strads_data *data);

/* Rows of a panel, and what a tile of the kernel may write beyond n. */
enum { LINEAR_PANEL = 64, LINEAR_TILE = 24 };

/* The length of a panel's and a sum's lines: room for whole tiles. */
static inline size_t linear_outer_line(uint32_t n)
{
    return ((size_t)n + LINEAR_TILE - 1) / LINEAR_TILE * LINEAR_TILE +
           LINEAR_TILE;
}

/* sum[i][j] += panel_ri panel_rj over the panel's rows r, for j <= i < n; what
 * is above the diagonal is not defined. Panel [rows x line], 0 from n on; sum
 * [line x line]. */
typedef void linear_outer(uint32_t rows, uint32_t n, const double *panel,
                          double *sum);

linear_outer linear_outer_portable;
/* NULL where this build or processor has not got what they are named for. */
linear_outer *linear_outer_avx2(void);
linear_outer *linear_outer_avx512(void);
linear_outer *linear_outer_choose(void);

#endif
