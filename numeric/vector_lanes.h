/* Vectors of one register, for files that are compiled for AVX-512, AVX2 or
 * NEON. Loops use these definitions and are written once for all; exp and log
 * are included. Sums, products and quotients are plain C on the compiler's
 * vector types.
 *
 * exp(-t), t >= 0, by exp(-t) = 2^k exp(g), |g| <= log(2)/2, and a polynomial;
 * log(1 + e), 0 <= e <= 1, by 2 atanh(e / (2 + e)) and its series; an argument
 * above sqrt(2) is halved first. Both are within a few units in the last place
 * of libm's. */
#ifndef VECTOR_LANES_H
#define VECTOR_LANES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#ifdef __AVX512F__

enum { WIDE_LANES = 8 };

typedef __m512d wide;
typedef __mmask8 wide_mask;

/* True if this processor supports the instruction set of the file. */
static inline bool wide_runs_here(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
}

/* Mask of the first `left` lanes; left is at least 1. */
static inline wide_mask lanes_first(uint64_t left)
{
    return (wide_mask)(left < WIDE_LANES ? (1u << left) - 1 : 0xff);
}

#define wide_all _mm512_set1_pd
#define wide_min _mm512_min_pd
#define wide_max _mm512_max_pd
#define wide_abs _mm512_abs_pd
#define wide_sqrt _mm512_sqrt_pd
#define wide_fma _mm512_fmadd_pd /* a b + c */
#define wide_fms _mm512_fmsub_pd /* a b - c */
#define wide_sum _mm512_reduce_add_pd
#define wide_load_all _mm512_loadu_pd
#define wide_store_all _mm512_storeu_pd
#define wide_store _mm512_mask_storeu_pd /* to, mask, value */
/* Loads the lanes of a mask from lanes_first; others are 0. */
#define wide_load _mm512_maskz_loadu_pd
/* pick: a in lanes of the mask, else b; keep: a in lanes of the mask, else
 * 0. */
#define wide_pick(mask, a, b) _mm512_mask_mov_pd(b, mask, a)
#define wide_keep _mm512_maskz_mov_pd
#define wide_above(a, b) _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)
#define wide_differs(a, b) _mm512_cmp_pd_mask(a, b, _CMP_NEQ_OQ)
#define wide_both(a, b) ((wide_mask)((a) & (b)))
#define wide_without(a, b) ((wide_mask)((a) & ~(b)))
#define wide_any(mask) ((mask) != 0)

/* p 2^k, where big is 1.5 x 2^52 + k. */
static inline wide wide_times_power(wide p, wide big)
{
    return _mm512_scalef_pd(p, big - wide_all(0x1.8p52));
}

#elif defined(__AVX2__)

enum { WIDE_LANES = 4 };

typedef __m256d wide;
typedef __m256d wide_mask; /* all bits of a lane, or none */

static inline bool wide_runs_here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline wide_mask lanes_first(uint64_t left)
{
    const int64_t n = left < WIDE_LANES ? (int64_t)left : WIDE_LANES;

    return _mm256_castsi256_pd(
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                           _mm256_set_epi64x(3, 2, 1, 0)));
}

#define wide_all _mm256_set1_pd
#define wide_min _mm256_min_pd
#define wide_max _mm256_max_pd
#define wide_abs(a) _mm256_andnot_pd(wide_all(-0.), a)
#define wide_sqrt _mm256_sqrt_pd
#define wide_fma _mm256_fmadd_pd
#define wide_fms _mm256_fmsub_pd
#define wide_load_all _mm256_loadu_pd
#define wide_load_floats(from) _mm256_cvtps_pd(_mm_loadu_ps(from))
#define wide_store_all _mm256_storeu_pd
#define wide_store(to, mask, a) \
    _mm256_maskstore_pd(to, _mm256_castpd_si256(mask), a)
#define wide_load(mask, from) \
    _mm256_maskload_pd(from, _mm256_castpd_si256(mask))
#define wide_pick(mask, a, b) _mm256_blendv_pd(b, a, mask)
#define wide_keep(mask, a) _mm256_and_pd(a, mask)
#define wide_above(a, b) _mm256_cmp_pd(a, b, _CMP_GT_OQ)
#define wide_differs(a, b) _mm256_cmp_pd(a, b, _CMP_NEQ_OQ)
#define wide_both(a, b) _mm256_and_pd(a, b)
#define wide_without(a, b) _mm256_andnot_pd(b, a)
#define wide_any(mask) (_mm256_movemask_pd(mask) != 0)

static inline double wide_sum(wide s)
{
    const __m128d two =
        _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));

    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* The sum of the lanes of each of four vectors. */
static inline wide wide_sums(const wide s[WIDE_LANES])
{
    const __m256d low = _mm256_hadd_pd(s[0], s[1]);
    const __m256d high = _mm256_hadd_pd(s[2], s[3]);

    return _mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20),
                         _mm256_permute2f128_pd(low, high, 0x31));
}

static inline __m128d load_pair(const uint32_t *index, const double *v)
{
    return _mm_loadh_pd(_mm_load_sd(v + index[0]), v + index[1]);
}

/* v[index[0 .. 3]]: four loads are faster than a gather. */
static inline wide wide_gather(const uint32_t *index, const double *v)
{
    return _mm256_set_m128d(load_pair(index + 2, v), load_pair(index, v));
}

/* The last bits of big are those of k. */
static inline wide wide_times_power(wide p, wide big)
{
    const __m256i exponent =
        _mm256_add_epi64(_mm256_castpd_si256(big), _mm256_set1_epi64x(1023));

    return p * _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
}

#elif defined(__aarch64__)

enum { WIDE_LANES = 2 };

typedef float64x2_t wide;
typedef uint64x2_t wide_mask; /* all bits of a lane, or none */

static inline wide_mask lanes_first(uint64_t left)
{
    return (wide_mask){UINT64_MAX, left > 1 ? UINT64_MAX : 0};
}

#define wide_all vdupq_n_f64
#define wide_abs vabsq_f64
#define wide_sqrt vsqrtq_f64
#define wide_fma(a, b, c) vfmaq_f64(c, a, b)
#define wide_fms(a, b, c) vfmaq_f64(-(c), a, b)
#define wide_sum vaddvq_f64
#define wide_load_all vld1q_f64
#define wide_load_floats(from) vcvt_f64_f32(vld1_f32(from))
#define wide_store_all vst1q_f64
#define wide_pick(mask, a, b) vbslq_f64(mask, a, b)
#define wide_keep(mask, a) vbslq_f64(mask, a, wide_all(0))
#define wide_above vcgtq_f64
#define wide_both vandq_u64
#define wide_without vbicq_u64
#define wide_any(mask) (vmaxvq_u32(vreinterpretq_u32_u64(mask)) != 0)

/* Of numbers that cannot be compared, the second, as on x86-64. */
static inline wide wide_min(wide a, wide b)
{
    return vbslq_f64(vcltq_f64(a, b), a, b);
}

static inline wide wide_max(wide a, wide b)
{
    return vbslq_f64(vcgtq_f64(a, b), a, b);
}

/* Less or greater: no number differs from NaN, as on x86-64. */
static inline wide_mask wide_differs(wide a, wide b)
{
    return vorrq_u64(vcltq_f64(a, b), vcgtq_f64(a, b));
}

static inline wide wide_load(wide_mask mask, const double *from)
{
    return vgetq_lane_u64(mask, 1) ? vld1q_f64(from) : (wide){*from, 0};
}

static inline void wide_store(double *to, wide_mask mask, wide a)
{
    if (vgetq_lane_u64(mask, 1))
        vst1q_f64(to, a);
    else
        *to = vgetq_lane_f64(a, 0);
}

/* The sum of the lanes of each of two vectors. */
static inline wide wide_sums(const wide s[WIDE_LANES])
{
    return vpaddq_f64(s[0], s[1]);
}

/* v[index[0]], v[index[1]]. */
static inline wide wide_gather(const uint32_t *index, const double *v)
{
    return (wide){v[index[0]], v[index[1]]};
}

static inline wide wide_times_power(wide p, wide big)
{
    const int64x2_t exponent =
        vaddq_s64(vreinterpretq_s64_f64(big), vdupq_n_s64(1023));

    return p * vreinterpretq_f64_s64(vshlq_n_s64(exponent, 52));
}

#endif

/* exp(-t) for t >= 0; 0 above about 708. */
static inline wide wide_exp_minus(wide t)
{
    /* 1 / k! from k = 13 down to 0. */
    static const double series[] = {1.6059043836821613e-10,
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
    const wide x = wide_max(-t, wide_all(-708));
    /* Adding 1.5 x 2^52 rounds a number to an integer. */
    const wide big =
        wide_fma(x, wide_all(1.4426950408889634), wide_all(0x1.8p52));
    const wide k = big - wide_all(0x1.8p52);
    wide g = wide_fma(k, wide_all(-0x1.62e42fefa0000p-1), x);
    g = wide_fma(k, wide_all(-0x1.cf79abc9e3b39p-40), g);
    wide p = wide_all(series[0]);
    for (int i = 1; i < 14; i++)
        p = wide_fma(p, g, wide_all(series[i]));
    return wide_pick(wide_above(t, wide_all(708)), wide_all(0),
                     wide_times_power(p, big));
}

/* log(1 + e) for 0 <= e <= 1. */
static inline wide wide_log_1p(wide e)
{
    const wide_mask high = wide_above(e, wide_all(0.41421356237309503));
    /* High: log 2 + log(1 + d), d = (e - 1) / 2 in (-.3, 0]. */
    const wide d = wide_pick(high, (e - wide_all(1)) * wide_all(.5), e);
    const wide a = d / (d + wide_all(2));
    const wide a2 = a * a;
    wide p = wide_all(2. / 23);
    for (int k = 21; k >= 1; k -= 2)
        p = wide_fma(p, a2, wide_all(2. / k));
    return wide_fma(p, a, wide_keep(high, wide_all(0.6931471805599453)));
}

#endif
