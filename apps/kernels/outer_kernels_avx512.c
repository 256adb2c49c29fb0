/* Sums of outer products for AVX-512: tiles of 8 lines by 24 columns stay in
 * registers while the panel's rows pass by. The build compiles this file for
 * such processors; it is entered on them alone. */
#include "outer_kernels.h"

#ifndef __AVX512F__

outer_product *outer_product_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

enum { LINES = 8, WIDE = 3, LANES = 8 };

static void add_tile(uint32_t rows, size_t line, const double *at,
                     const double *across, double *to)
{
    __m512d s[LINES][WIDE];

    for (int i = 0; i < LINES; i++)
        for (int j = 0; j < WIDE; j++)
            s[i][j] = _mm512_setzero_pd();
    for (uint32_t r = 0; r < rows; r++, at += line, across += line) {
        __m512d b[WIDE];
        for (int j = 0; j < WIDE; j++)
            b[j] = _mm512_loadu_pd(across + LANES * j);
        for (int i = 0; i < LINES; i++) {
            const __m512d a = _mm512_set1_pd(at[i]);
            for (int j = 0; j < WIDE; j++)
                s[i][j] = _mm512_fmadd_pd(a, b[j], s[i][j]);
        }
    }
    for (size_t i = 0; i < LINES; i++)
        for (size_t j = 0; j < WIDE; j++) {
            double *cell = to + i * line + LANES * j;
            _mm512_storeu_pd(cell,
                             _mm512_add_pd(_mm512_loadu_pd(cell), s[i][j]));
        }
}

static void outer(uint32_t rows, uint32_t n, const double *panel, double *sum)
{
    const size_t line = outer_product_line(n);

    for (uint32_t i = 0; i < n; i += LINES)
        for (uint32_t j = 0; j < i + LINES; j += OUTER_TILE)
            add_tile(rows, line, panel + i, panel + j, sum + i * line + j);
}

outer_product *outer_product_avx512(void)
{
    return __builtin_cpu_supports("avx512f") ? outer : NULL;
}

#endif
