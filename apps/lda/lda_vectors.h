/* What the inner loops for AVX-512 share. Only files that are compiled for such
 * processors include this. */
#ifndef LDA_VECTORS_H
#define LDA_VECTORS_H

#include <immintrin.h>

#include "lda_kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* Draw all tokens of a word anew, in documents that are rows, and lists. */
void lda_draw_rows(lda_site *site, const lda_documents *documents,
                   const lda_tokens *tokens);
void lda_draw_rows_by_turns(lda_site *site, lda_site *other,
                            const lda_documents *documents,
                            const lda_tokens *tokens, const lda_tokens *others);
void lda_draw_lists(lda_site *site, const lda_documents *documents,
                    const lda_tokens *tokens);

/* Running sums over the lanes, by 1, 2, 4 and 8 places. */
INLINE __m512 prefix(__m512 p)
{
    const __m512i zero = _mm512_setzero_si512();

#define STEP(by)                                                               \
    p = _mm512_add_ps(p, _mm512_castsi512_ps(                                  \
                             _mm512_alignr_epi32(_mm512_castps_si512(p), zero, \
                                                 16 - (by))))
    STEP(1);
    STEP(2);
    STEP(4);
    STEP(8);
#undef STEP
    return p;
}

/* All lanes, added up as the last of the running sums is, to the bit, and known
 * sooner: neighbours are at hand earlier than lanes that are far away. */
INLINE float sum_of_prefix(__m512 p)
{
    p = _mm512_add_ps(p, _mm512_permute_ps(p, 0xB1));
    p = _mm512_add_ps(p, _mm512_permute_ps(p, 0x4E));
    p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0xB1));
    p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0x4E));
    return _mm512_cvtss_f32(p);
}

/* The first lane whose running sum is above u, and u less what is before. u is
 * the same in all lanes, and stays there: its way out and back takes time. */
INLINE uint32_t lane_of(__m512 p, __m512 *u)
{
    uint32_t lane =
        (uint32_t)__builtin_popcount(_mm512_cmp_ps_mask(p, *u, _CMP_LE_OQ));

    lane = lane > 15 ? 15 : lane;
    const __m512 before =
        _mm512_maskz_permutexvar_ps(lane ? 0xFFFF : 0,
                                    _mm512_set1_epi32((int)lane - 1), p);
    *u = _mm512_sub_ps(*u, before);
    return lane;
}

INLINE __m512i lane_numbers(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                             15);
}

/* One more in the lanes where the sum is at most u. */
INLINE __m512i count_at_most(__m512i n, __m512 sums, __m512 u)
{
    return _mm512_mask_add_epi32(n, _mm512_cmp_ps_mask(sums, u, _CMP_LE_OQ), n,
                                 _mm512_set1_epi32(1));
}

INLINE uint32_t count_at(__m512i n, uint32_t lane)
{
    return (uint32_t)_mm512_cvtsi512_si32(
        _mm512_permutexvar_epi32(_mm512_set1_epi32((int)lane), n));
}

#endif
