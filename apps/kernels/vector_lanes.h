/* As many numbers at once as a register holds, for files that are compiled for
 * AVX-512 or AVX2: exp and log among others.
 *
 * exp(-t), t >= 0, by exp(-t) = 2^k exp(g), |g| <= log(2)/2, and a polynomial;
 * log(1 + e), 0 <= e <= 1, by 2 atanh(e / (2 + e)) and its series, where the
 * argument is halved first when it is above sqrt(2). Both are within some units
 * of the last place of libm's. */
#ifndef VECTOR_LANES_H
#define VECTOR_LANES_H

#include <immintrin.h>
#include <stdint.h>

/* 1 / k! from k = 13 down to 0. */
static const double wide_exp_series[] = {1.6059043836821613e-10,
                                         2.08767569878681e-09,
                                         2.505210838544172e-08,
                                         2.755731922398589e-07,
                                         2.7557319223985893e-06,
                                         2.48015873015873e-05,
                                         1.984126984126984e-04,
                                         1.388888888888889e-03,
                                         8.333333333333333e-03,
                                         4.1666666666666664e-02,
                                         1.6666666666666666e-01,
                                         .5,
                                         1,
                                         1};

#ifdef __AVX512F__

enum { WIDE_LANES = 8 };

typedef __m512d wide;

/* exp(-t) for t >= 0; 0 from some 708 on. */
static inline wide wide_exp_minus(wide t)
{
    const wide x = _mm512_max_pd(_mm512_sub_pd(_mm512_setzero_pd(), t),
                                 _mm512_set1_pd(-708));
    /* Added to 1.5 x 2^52 a number loses what is behind its point. */
    const wide big = _mm512_set1_pd(0x1.8p52);
    const wide k = _mm512_sub_pd(
        _mm512_fmadd_pd(x, _mm512_set1_pd(1.4426950408889634), big), big);
    wide g = _mm512_fmadd_pd(k, _mm512_set1_pd(-0x1.62e42fefa0000p-1), x);
    g = _mm512_fmadd_pd(k, _mm512_set1_pd(-0x1.cf79abc9e3b39p-40), g);
    wide p = _mm512_set1_pd(wide_exp_series[0]);
    for (int i = 1; i < 14; i++)
        p = _mm512_fmadd_pd(p, g, _mm512_set1_pd(wide_exp_series[i]));
    p = _mm512_scalef_pd(p, k);
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(t, _mm512_set1_pd(708),
                                                  _CMP_LE_OQ),
                               p);
}

/* log(1 + e) for 0 <= e <= 1. */
static inline wide wide_log_1p(wide e)
{
    const __mmask8 high =
        _mm512_cmp_pd_mask(e, _mm512_set1_pd(0.41421356237309503), _CMP_GT_OQ);
    /* High: log 2 + log(1 + d), d = (e - 1) / 2 in (-.3, 0]. */
    const wide d =
        _mm512_mask_mov_pd(e, high,
                           _mm512_mul_pd(_mm512_sub_pd(e, _mm512_set1_pd(1)),
                                         _mm512_set1_pd(.5)));
    const wide a = _mm512_div_pd(d, _mm512_add_pd(d, _mm512_set1_pd(2)));
    const wide a2 = _mm512_mul_pd(a, a);
    wide p = _mm512_set1_pd(2. / 23);
    for (int k = 21; k >= 1; k -= 2)
        p = _mm512_fmadd_pd(p, a2, _mm512_set1_pd(2. / k));
    return _mm512_fmadd_pd(
        p, a, _mm512_maskz_mov_pd(high, _mm512_set1_pd(0.6931471805599453)));
}

/* The first of `left` lanes. */
static inline __mmask8 lanes_first(uint64_t left)
{
    return (__mmask8)(left < WIDE_LANES ? (1u << left) - 1 : 0xff);
}

#elif defined(__AVX2__)

enum { WIDE_LANES = 4 };

typedef __m256d wide;

static inline wide wide_abs(wide x)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.), x);
}

/* exp(-t) for t >= 0; 0 from some 708 on. */
static inline wide wide_exp_minus(wide t)
{
    const wide x = _mm256_max_pd(_mm256_sub_pd(_mm256_setzero_pd(), t),
                                 _mm256_set1_pd(-708));
    /* Added to 1.5 x 2^52 a number loses what is behind its point, and its last
     * bits are those of a whole number. */
    const wide big = _mm256_set1_pd(0x1.8p52);
    const wide shifted =
        _mm256_fmadd_pd(x, _mm256_set1_pd(1.4426950408889634), big);
    const wide k = _mm256_sub_pd(shifted, big);
    const __m256i exponent = _mm256_add_epi64(_mm256_castpd_si256(shifted),
                                              _mm256_set1_epi64x(1023));
    wide g = _mm256_fmadd_pd(k, _mm256_set1_pd(-0x1.62e42fefa0000p-1), x);
    g = _mm256_fmadd_pd(k, _mm256_set1_pd(-0x1.cf79abc9e3b39p-40), g);
    wide p = _mm256_set1_pd(wide_exp_series[0]);
    for (int i = 1; i < 14; i++)
        p = _mm256_fmadd_pd(p, g, _mm256_set1_pd(wide_exp_series[i]));
    p = _mm256_mul_pd(p, _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52)));
    return _mm256_and_pd(p, _mm256_cmp_pd(t, _mm256_set1_pd(708), _CMP_LE_OQ));
}

/* log(1 + e) for 0 <= e <= 1. */
static inline wide wide_log_1p(wide e)
{
    const wide high =
        _mm256_cmp_pd(e, _mm256_set1_pd(0.41421356237309503), _CMP_GT_OQ);
    /* High: log 2 + log(1 + d), d = (e - 1) / 2 in (-.3, 0]. */
    const wide d =
        _mm256_blendv_pd(e,
                         _mm256_mul_pd(_mm256_sub_pd(e, _mm256_set1_pd(1)),
                                       _mm256_set1_pd(.5)),
                         high);
    const wide a = _mm256_div_pd(d, _mm256_add_pd(d, _mm256_set1_pd(2)));
    const wide a2 = _mm256_mul_pd(a, a);
    wide p = _mm256_set1_pd(2. / 23);
    for (int k = 21; k >= 1; k -= 2)
        p = _mm256_fmadd_pd(p, a2, _mm256_set1_pd(2. / k));
    return _mm256_fmadd_pd(p, a,
                           _mm256_and_pd(high,
                                         _mm256_set1_pd(0.6931471805599453)));
}

/* The sum of all lanes. */
static inline double wide_sum(wide s)
{
    const __m128d two =
        _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));

    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* All bits of the first of `left` lanes. */
static inline __m256i lanes_first(uint64_t left)
{
    const int64_t n = left < WIDE_LANES ? (int64_t)left : WIDE_LANES;

    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                              _mm256_set_epi64x(3, 2, 1, 0));
}

#endif
#endif
