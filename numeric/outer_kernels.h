/* Weighted sums of outer products of rows: X'HX of a share with few columns. */
#ifndef OUTER_KERNELS_H
#define OUTER_KERNELS_H

#include <stddef.h>

#include "column_kernels.h"

/* True if the data has few columns and many rows, and p^2/2 dense
 * multiplications per row cost little compared to some 300 passes over its
 * entries. */
bool outer_product_suits(uint64_t rows, uint64_t columns, uint64_t entries);

/* Rows of a panel, and the numbers that a tile of the kernel may write
 * beyond n. */
enum { OUTER_PANEL = 64, OUTER_TILE = 24 };

/* The length of the lines of panels and sums: a multiple of the tile. */
static inline size_t outer_product_line(uint32_t n)
{
    return ((size_t)n + OUTER_TILE - 1) / OUTER_TILE * OUTER_TILE + OUTER_TILE;
}

/* sum[i][j] += panel_ri panel_rj over the panel's rows r, for j <= i < n;
 * above the diagonal the sum is undefined. Panel [rows x line], 0 from column n
 * on; sum [line x line]. */
typedef void outer_product(uint32_t rows, uint32_t n, const double *panel,
                           double *sum);

outer_product outer_product_portable;
/* NULL if this build or processor does not support the instruction set. */
outer_product *outer_product_avx2(void);
outer_product *outer_product_avx512(void);
outer_product *outer_product_neon(void);
outer_product *outer_product_choose(void);

#endif
