/* Sums of outer products: tiles of some rows by some registers' columns stay in
 * three quarters of the registers while the loop runs over the panel's rows. */
#include "outer_kernels.h"
#include "vector_lanes.h"

enum {
    LINES = WIDE_LANES < 4 ? 4 : WIDE_LANES,
    ACROSS = WIDE_LANES < 4 ? 6 : 3,
    COLUMNS = ACROSS * WIDE_LANES
};

#define UNROLL _Pragma("GCC unroll 8")

static void add_tile(uint32_t rows, size_t line, const double *at,
                     const double *across, double *to)
{
    wide s[LINES][ACROSS];

    UNROLL
    for (int i = 0; i < LINES; i++)
        UNROLL
    for (int j = 0; j < ACROSS; j++)
        s[i][j] = wide_all(0);
    for (uint32_t r = 0; r < rows; r++, at += line, across += line) {
        wide b[ACROSS];
        UNROLL
        for (int j = 0; j < ACROSS; j++)
            b[j] = wide_load_all(across + WIDE_LANES * j);
        UNROLL
        for (int i = 0; i < LINES; i++) {
            const wide a = wide_all(at[i]);
            UNROLL
            for (int j = 0; j < ACROSS; j++)
                s[i][j] = wide_fma(a, b[j], s[i][j]);
        }
    }
    UNROLL
    for (size_t i = 0; i < LINES; i++)
        UNROLL
    for (size_t j = 0; j < ACROSS; j++) {
        double *cell = to + i * line + WIDE_LANES * j;
        wide_store_all(cell, wide_load_all(cell) + s[i][j]);
    }
}

static void outer(uint32_t rows, uint32_t n, const double *panel, double *sum)
{
    const size_t line = outer_product_line(n);

    for (uint32_t i = 0; i < n; i += LINES)
        for (uint32_t j = 0; j < i + LINES; j += COLUMNS)
            add_tile(rows, line, panel + i, panel + j, sum + i * line + j);
}
