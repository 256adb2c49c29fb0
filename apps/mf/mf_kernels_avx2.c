/* The inner loops for AVX2 and FMA; a vector of 16 floats is two registers. The
 * build compiles this file for such processors; it is entered on them alone. */
#include "mf_kernels.h"

#ifndef __AVX2__

mf_kernel mf_kernel_avx2(uint32_t stride)
{
    (void)stride;
    return NULL;
}

mf_rank_swap mf_rank_swap_avx2(void)
{
    return NULL;
}

#else

#include <immintrin.h>

typedef __m256 vec;
enum { LANES = 8 };

static inline vec zero(void)
{
    return _mm256_setzero_ps();
}

static inline vec load(const float *x)
{
    return _mm256_load_ps(x);
}

static inline void store(float *x, vec v)
{
    _mm256_store_ps(x, v);
}

static inline vec spread(float x)
{
    return _mm256_set1_ps(x);
}

static inline vec mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec fmadd(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline float add_up(vec s)
{
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_hadd_ps(four, four);

    return _mm_cvtss_f32(_mm_hadd_ps(two, two));
}

#include "mf_kernels_loops.h"

/* ---- SGD, short rows ----------------------------------------------------- */

/* The lanes of eight registers, each added up. */
INLINE __m256 sums_of(const __m256 s[LANES])
{
    const __m256 low =
        _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    const __m256 high =
        _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));

    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                         _mm256_permute2f128_ps(low, high, 0x31));
}

INLINE __m256 products(const mf_step *s, const mf_rating *x,
                       const uint32_t each, const uint32_t vectors)
{
    __m256 a[LANES];

#pragma GCC unroll 8
    for (uint32_t j = 0; j < LANES; j += each)
        multiply(s, x + j, each, a + j, vectors);
    return sums_of(a);
}

INLINE __m256 values(const mf_rating *x)
{
    const float *from = (const float *)(const void *)x;
    const __m256 mixed = _mm256_shuffle_ps(_mm256_loadu_ps(from),
                                           _mm256_loadu_ps(from + LANES), 0xDD);

    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
}

/* ---- SGD, long rows ------------------------------------------------------ */

/* The errors of the ratings x[0] and, of a pair, x[1]. */
INLINE void predict(const mf_step *s, const mf_rating *x, const uint32_t each,
                    float e[PAIR], const uint32_t vectors)
{
    const float *p = user_row(s, x, vectors), *q[PAIR];
    __m256 sum[PAIR][PER];
    float product[2 * PAIR];

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
        q[k] = item_row(s, x + k, vectors);
        sum[k][0] = sum[k][1] = _mm256_setzero_ps();
    }
    for (uint32_t v = 0; v < vectors; v++)
#pragma GCC unroll 2
        for (uint32_t h = 0; h < PER; h++) {
            const size_t at = (size_t)v * MF_LANES + h * LANES;
            const __m256 a = _mm256_load_ps(p + at);
#pragma GCC unroll 2
            for (uint32_t k = 0; k < each; k++)
                sum[k][h] =
                    _mm256_fmadd_ps(a, _mm256_load_ps(q[k] + at), sum[k][h]);
        }
    const __m256 two =
        _mm256_hadd_ps(_mm256_add_ps(sum[0][0], sum[0][1]),
                       _mm256_add_ps(sum[each - 1][0], sum[each - 1][1]));
    const __m128 halves =
        _mm_add_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps(two, 1));
    _mm_storeu_ps(product, _mm_hadd_ps(halves, halves));
#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++)
        e[k] = x[k].value - product[k];
}

/* Ratings `at` to `end`, `each` at a time; the squares of their errors. */
INLINE double visit_all(const mf_step *s, const mf_rating *rating, size_t at,
                        size_t end, size_t n, ahead *a, const uint32_t each,
                        const uint32_t vectors)
{
    const __m256 decay = _mm256_set1_ps(s->decay);
    const __m256 decay_all = each == 2 ? _mm256_mul_ps(decay, decay) : decay;
    double loss = 0;

    for (; at < end; at += each) {
        const mf_rating *x = rating + at;
        const mf_rating *soon = n - at >= SOON + PAIR ? x + SOON : x;
        float e[PAIR], g[PAIR];
        if (at % MF_BATCH == 0)
            fetch_ahead(a);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++)
            fetch_item(s, soon + k, vectors);
        predict(s, x, each, e, vectors);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            loss += (double)e[k] * (double)e[k];
            g[k] = s->size * e[k];
        }
        move(s, x, g, each, decay, decay_all, vectors);
    }
    return loss;
}

static double kernel_long(const mf_rating *rating, size_t n,
                          const mf_step *given)
{
    const mf_step step = *given;
    const uint32_t vectors = step.stride / MF_LANES;
    ahead a = ahead_of(&step, n);
    const double pairs =
        visit_all(&step, rating, 0, step.paired, n, &a, 2, vectors);

    return pairs + visit_all(&step, rating, step.paired, n, n, &a, 1, vectors);
}

mf_kernel mf_kernel_avx2(uint32_t stride)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return NULL;
    return stride <= MF_SHORT ? kernel_of_short[stride / MF_LANES - 1]
                              : kernel_long;
}

/* ---- CCD++ --------------------------------------------------------------- */

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
