/* Weighted sums of outer products of rows: X'HX of a share of few columns. */
#ifndef OUTER_KERNELS_H
#define OUTER_KERNELS_H

#include <stddef.h>

#include "column_kernels.h"

/* Whether data have few columns and many rows, and p^2/2 multiplications of
 * dense numbers a row are not much beside some 300 passes over its entries. */
bool outer_product_suits(const strads_data *data);

/* Rows of a panel, and what a tile of the kernel may write beyond n. */
enum { OUTER_PANEL = 64, OUTER_TILE = 24 };

/* The length of a panel's and a sum's lines: room for whole tiles. */
static inline size_t outer_product_line(uint32_t n)
{
    return ((size_t)n + OUTER_TILE - 1) / OUTER_TILE * OUTER_TILE + OUTER_TILE;
}

/* sum[i][j] += panel_ri panel_rj over the panel's rows r, for j <= i < n; what
 * is above the diagonal is not defined. Panel [rows x line], 0 from n on; sum
 * [line x line]. */
typedef void outer_product(uint32_t rows, uint32_t n, const double *panel,
                           double *sum);

outer_product outer_product_portable;
/* NULL where this build or processor has not got what they are named for. */
outer_product *outer_product_avx2(void);
outer_product *outer_product_avx512(void);
outer_product *outer_product_choose(void);

#endif
