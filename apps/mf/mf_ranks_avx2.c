/* The loop of CCD++ for AVX2. The build compiles this file for such processors;
 * it is entered on them alone. */
#include "mf_ranks_kernels.h"

#ifndef __AVX2__

mf_rank_swap mf_rank_swap_avx2(void)
{
    return NULL;
}

#else

#include <immintrin.h>

enum { LANES = 8 };

typedef struct sums {
    __m256 side, square, left;
} sums;

/* The pairs of two items, as they stand in memory. */
static inline __m128 two(const uint32_t *item, const float *factor)
{
    const double *pair = (const double *)(const void *)factor;

    return _mm_castpd_ps(
        _mm_loadh_pd(_mm_load_sd(pair + item[0]), pair + item[1]));
}

/* Those of items 0, 1, 4 and 5 from `item` on. */
static inline __m256 four(const uint32_t *item, const float *factor)
{
    return _mm256_set_m128(two(item + 4, factor), two(item, factor));
}

/* What is left of eight ratings. */
static inline __m256 swap_eight(sums *s, const uint32_t *item, __m256 old,
                                const float *factor, __m256 out, __m256 in)
{
    const __m256 a = four(item, factor), b = four(item + 2, factor);
    const __m256 gone = _mm256_shuffle_ps(a, b, 0x88);
    const __m256 q = _mm256_shuffle_ps(a, b, 0xDD);
    const __m256 x = _mm256_fmadd_ps(in, q, _mm256_fmadd_ps(out, gone, old));

    s->side = _mm256_fmadd_ps(x, q, s->side);
    s->square = _mm256_fmadd_ps(q, q, s->square);
    s->left = _mm256_fmadd_ps(x, x, s->left);
    return x;
}

static float add_up(__m256 s)
{
    const __m128 four_sums =
        _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two_sums = _mm_hadd_ps(four_sums, four_sums);

    return _mm_cvtss_f32(_mm_hadd_ps(two_sums, two_sums));
}

static mf_rank_sums swap(const mf_rank_line *line, const float *factor,
                         float was, float now)
{
    const __m256 out = _mm256_set1_ps(-was), in = _mm256_set1_ps(now);
    sums s = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    mf_rank_sums last = {0, 0, 0};
    uint32_t k = 0;

    for (; k + LANES <= line->n; k += LANES) {
        float *left = line->left + k;
        _mm256_storeu_ps(left,
                         swap_eight(&s, line->item + k, _mm256_loadu_ps(left),
                                    factor, out, in));
    }
    for (; k < line->n; k++) {
        const float *f = factor + 2 * (size_t)line->item[k];
        const float x = line->left[k] + now * f[1] - was * f[0];
        line->left[k] = x;
        last.side += x * f[1];
        last.square += f[1] * f[1];
        last.left += x * x;
    }
    return (mf_rank_sums){.side = add_up(s.side) + last.side,
                          .square = add_up(s.square) + last.square,
                          .left = add_up(s.left) + last.left};
}

mf_rank_swap mf_rank_swap_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? swap
               : NULL;
}

#endif
