/* Vector registers of floats for the loops of SGD, in files that are compiled
 * for AVX-512, AVX2 or NEON. Sums and products use C's operators. */
#ifndef MF_LANES_H
#define MF_LANES_H

#include <stdbool.h>

#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include "mf_kernels.h"

#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX512F__

typedef __m512 vec;
enum { LANES = 16 };

#define zero _mm512_setzero_ps
#define load _mm512_load_ps
#define store _mm512_store_ps
#define spread _mm512_set1_ps
#define fmadd _mm512_fmadd_ps       /* a b + c */
#define add_up _mm512_reduce_add_ps /* all lanes */

/* Whether this processor has the file's instruction set. */
static inline bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
}

/* One level of a tree that sums the lanes of sixteen registers at once and
 * returns sum j in lane j. */
INLINE __m512 add_1(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

/* Sums over halves of every four lanes: two of a's, then two of b's. */
INLINE __m512 add_2(__m512 a, __m512 b)
{
    const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);

    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

INLINE __m512 add_4(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88),
                         _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* The sums of the lanes of each of LANES registers. */
INLINE vec sums_of(const vec a[LANES])
{
    vec w[4];

#pragma GCC unroll 4
    for (uint32_t g = 0; g < 4; g++)
        w[g] = add_2(add_1(a[4 * g], a[4 * g + 1]),
                     add_1(a[4 * g + 2], a[4 * g + 3]));
    return add_4(add_4(w[0], w[1]), add_4(w[2], w[3]));
}

/* The values of LANES ratings. */
INLINE vec load_values(const mf_rating *x)
{
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13,
                                         11, 9, 7, 5, 3, 1);

    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi32(_mm512_loadu_si512(x), odd,
                                  _mm512_loadu_si512(x + 8)));
}

#elif defined(__AVX2__)

typedef __m256 vec;
enum { LANES = 8 };

#define zero _mm256_setzero_ps
#define load _mm256_load_ps
#define store _mm256_store_ps
#define spread _mm256_set1_ps
#define fmadd _mm256_fmadd_ps

static inline bool runs_here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline float add_up(vec s)
{
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_hadd_ps(four, four);

    return _mm_cvtss_f32(_mm_hadd_ps(two, two));
}

INLINE vec sums_of(const vec s[LANES])
{
    const __m256 low =
        _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    const __m256 high =
        _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));

    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                         _mm256_permute2f128_ps(low, high, 0x31));
}

INLINE vec load_values(const mf_rating *x)
{
    const float *from = (const float *)(const void *)x;
    const __m256 mixed = _mm256_shuffle_ps(_mm256_loadu_ps(from),
                                           _mm256_loadu_ps(from + LANES), 0xDD);

    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
}

#elif defined(__aarch64__)

typedef float32x4_t vec;
enum { LANES = 4 };

#define zero() vdupq_n_f32(0)
#define load vld1q_f32
#define store vst1q_f32
#define spread vdupq_n_f32
#define fmadd(a, b, c) vfmaq_f32(c, a, b)
#define add_up vaddvq_f32

INLINE vec sums_of(const vec s[LANES])
{
    return vpaddq_f32(vpaddq_f32(s[0], s[1]), vpaddq_f32(s[2], s[3]));
}

INLINE vec load_values(const mf_rating *x)
{
    return vld2q_f32((const float *)(const void *)x).val[1];
}

#endif

#endif
