/* Sums of outer products for AVX2: tiles of 4 lines by 12 columns stay in
 * registers while the panel's rows pass by. The build compiles this file for
 * such processors; it is entered on them alone. */
#include "outer_kernels.h"

#ifndef __AVX2__

outer_product *outer_product_avx2(void)
{
    return NULL;
}

#else

#include <immintrin.h>

enum { LINES = 4, WIDE = 3, LANES = 4, COLUMNS = WIDE * LANES };

#define UNROLL _Pragma("GCC unroll 4")

static void add_tile(uint32_t rows, size_t line, const double *at,
                     const double *across, double *to)
{
    __m256d s[LINES][WIDE];

    UNROLL
    for (int i = 0; i < LINES; i++)
        UNROLL
    for (int j = 0; j < WIDE; j++)
        s[i][j] = _mm256_setzero_pd();
    for (uint32_t r = 0; r < rows; r++, at += line, across += line) {
        __m256d b[WIDE];
        UNROLL
        for (int j = 0; j < WIDE; j++)
            b[j] = _mm256_loadu_pd(across + LANES * j);
        UNROLL
        for (int i = 0; i < LINES; i++) {
            const __m256d a = _mm256_broadcast_sd(at + i);
            UNROLL
            for (int j = 0; j < WIDE; j++)
                s[i][j] = _mm256_fmadd_pd(a, b[j], s[i][j]);
        }
    }
    UNROLL
    for (size_t i = 0; i < LINES; i++)
        UNROLL
    for (size_t j = 0; j < WIDE; j++) {
        double *cell = to + i * line + LANES * j;
        _mm256_storeu_pd(cell, _mm256_add_pd(_mm256_loadu_pd(cell), s[i][j]));
    }
}

static void outer(uint32_t rows, uint32_t n, const double *panel, double *sum)
{
    const size_t line = outer_product_line(n);

    for (uint32_t i = 0; i < n; i += LINES)
        for (uint32_t j = 0; j < i + LINES; j += COLUMNS)
            add_tile(rows, line, panel + i, panel + j, sum + i * line + j);
}

outer_product *outer_product_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? outer
               : NULL;
}

#endif
