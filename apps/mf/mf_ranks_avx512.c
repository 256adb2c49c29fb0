/* The loop of CCD++ for AVX-512. The build compiles this file for such
 * processors; it is entered on them alone. */
#include "mf_ranks_kernels.h"

#ifndef __AVX512F__

mf_rank_swap mf_rank_swap_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

enum { RANK_LANES = 16 };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* in the macro, at -O0 */
/* Pairs of eight items, as they stand in memory. */
static inline __m512 pairs(__m256i item, __mmask8 mask, const float *factor)
{
    const double *pair = (const double *)(const void *)factor;

    return _mm512_castpd_ps(
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, item, pair, 8));
}
#pragma GCC diagnostic pop

static mf_rank_sums swap(const mf_rank_line *line, const float *factor,
                         float was, float now)
{
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14,
                                          12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13,
                                         11, 9, 7, 5, 3, 1);
    const __m512 out = _mm512_set1_ps(-was), in = _mm512_set1_ps(now);
    __m512 side = _mm512_setzero_ps(), square = side, left = side;

    for (uint32_t k = 0; k < line->n; k += RANK_LANES) {
        const uint32_t m = line->n - k;
        const __mmask16 mask =
            (__mmask16)(m < RANK_LANES ? (1U << m) - 1 : 0xFFFFU);
        const __m512i item = _mm512_maskz_loadu_epi32(mask, line->item + k);
        const __m512 a =
            pairs(_mm512_castsi512_si256(item), (__mmask8)mask, factor);
        const __m512 b = pairs(_mm512_extracti64x4_epi64(item, 1),
                               (__mmask8)(mask >> 8), factor);
        const __m512 q = _mm512_permutex2var_ps(a, odd, b);
        const __m512 gone = _mm512_permutex2var_ps(a, even, b);
        const __m512 old = _mm512_maskz_loadu_ps(mask, line->left + k);
        const __m512 x =
            _mm512_fmadd_ps(in, q, _mm512_fmadd_ps(out, gone, old));
        _mm512_mask_storeu_ps(line->left + k, mask, x);
        side = _mm512_fmadd_ps(x, q, side);
        square = _mm512_fmadd_ps(q, q, square);
        left = _mm512_fmadd_ps(x, x, left);
    }
    return (mf_rank_sums){.side = _mm512_reduce_add_ps(side),
                          .square = _mm512_reduce_add_ps(square),
                          .left = _mm512_reduce_add_ps(left)};
}

mf_rank_swap mf_rank_swap_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? swap
               : NULL;
}

#endif
