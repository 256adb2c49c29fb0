/* What the inner loops for AVX2 share: sixteen lanes are two registers. Only
 * files that are compiled for such processors include this. */
#ifndef LDA_VECTORS_AVX2_H
#define LDA_VECTORS_AVX2_H

#include <immintrin.h>

#include "lda_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { HALF = LDA_LANES / 2, ALIGNED = 32 };

typedef struct lanes {
    __m256 low, high;
} lanes;

INLINE lanes zeros(void)
{
    return (lanes){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

INLINE lanes load(const float *from)
{
    return (lanes){_mm256_loadu_ps(from), _mm256_loadu_ps(from + HALF)};
}

INLINE void store(float *to, lanes x)
{
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + HALF, x.high);
}

INLINE lanes add(lanes a, lanes b)
{
    return (lanes){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

INLINE lanes mul(lanes a, lanes b)
{
    return (lanes){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

/* Four lanes further, with 0 in the first ones. */
INLINE lanes four_on(lanes p)
{
    return (lanes){_mm256_permute2f128_ps(p.low, p.low, 0x08),
                   _mm256_permute2f128_ps(p.low, p.high, 0x21)};
}

/* Adds what is 4 - skip lanes before; skip is known to the compiler. */
#define ADD_ALIGNED(p, skip)                                                   \
    do {                                                                       \
        const lanes far = four_on(p);                                          \
        const __m256i a =                                                      \
            _mm256_alignr_epi8(_mm256_castps_si256((p).low),                   \
                               _mm256_castps_si256(far.low), 4 * (skip));      \
        const __m256i b =                                                      \
            _mm256_alignr_epi8(_mm256_castps_si256((p).high),                  \
                               _mm256_castps_si256(far.high), 4 * (skip));     \
        (p) = add(p, (lanes){_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)}); \
    } while (0)

/* Running sums over the lanes, by 1, 2, 4 and 8 places. */
INLINE lanes prefix(lanes p)
{
    ADD_ALIGNED(p, 3);
    ADD_ALIGNED(p, 2);
    p = add(p, four_on(p));
    p.high = _mm256_add_ps(p.high, p.low);
    return p;
}

INLINE float last_of(__m256 x)
{
    const __m128 four = _mm256_extractf128_ps(x, 1);

    return _mm_cvtss_f32(_mm_permute_ps(four, 0xFF));
}

/* All lanes, added up as the last of the running sums is, to the bit, and known
 * sooner. */
INLINE float sum_of_prefix(lanes p)
{
    p.low = _mm256_add_ps(p.low, _mm256_permute_ps(p.low, 0xB1));
    p.high = _mm256_add_ps(p.high, _mm256_permute_ps(p.high, 0xB1));
    p.low = _mm256_add_ps(p.low, _mm256_permute_ps(p.low, 0x4E));
    p.high = _mm256_add_ps(p.high, _mm256_permute_ps(p.high, 0x4E));
    const __m128 a = _mm_add_ps(_mm256_extractf128_ps(p.low, 1),
                                _mm256_castps256_ps128(p.low));
    const __m128 b = _mm_add_ps(_mm256_extractf128_ps(p.high, 1),
                                _mm256_castps256_ps128(p.high));

    return _mm_cvtss_f32(_mm_add_ss(b, a));
}

/* A bit for each lane that is at most u. */
INLINE uint32_t at_most(lanes p, float u)
{
    const __m256 all = _mm256_set1_ps(u);
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(p.low, all, _CMP_LE_OQ));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(p.high, all, _CMP_LE_OQ));

    return (uint32_t)(low | high << HALF);
}

/* The first lane whose running sum is above u, and u less what is before. */
INLINE uint32_t lane_of(lanes p, float *u)
{
    _Alignas(ALIGNED) float sum[LDA_LANES];
    uint32_t lane = (uint32_t)__builtin_popcount(at_most(p, *u));

    store(sum, p);
    lane = lane > LDA_LANES - 1 ? LDA_LANES - 1 : lane;
    if (lane > 0)
        *u -= sum[lane - 1];
    return lane;
}

/* All bits in lane k % 8. */
INLINE __m256i lane_mask(uint32_t k)
{
    return _mm256_cmpeq_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                              _mm256_set1_epi32((int)(k % HALF)));
}

/* Draw all tokens of a word anew, in documents that are rows, and lists. */
void lda_draw_rows_avx2(lda_site *site, const lda_documents *documents,
                        const lda_tokens *tokens);
void lda_draw_rows_by_turns_avx2(lda_site *site, lda_site *other,
                                 const lda_documents *documents,
                                 const lda_tokens *tokens,
                                 const lda_tokens *others);
void lda_draw_lists_avx2(lda_site *site, const lda_documents *documents,
                         const lda_tokens *tokens);

#endif
