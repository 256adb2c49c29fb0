/* What the inner loops for AVX2 and AVX-512 share; rows have `vectors` of 16
 * floats. */
#ifndef MF_KERNELS_VECTORS_H
#define MF_KERNELS_VECTORS_H

#include <immintrin.h>

#include "mf_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { PAIR = 2 };

INLINE float *user_row(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    return s->p + (size_t)x->user * vectors * MF_LANES;
}

INLINE float *item_row(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    return s->q + (size_t)x->item * vectors * MF_LANES;
}

/* The item's row, which is in the second cache, is wanted in the first one. */
INLINE void fetch_item(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    const float *q = item_row(s, x, vectors);

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++)
        _mm_prefetch((const char *)(q + (size_t)v * MF_LANES), _MM_HINT_T0);
}

/* What is to come from memory while a cell is worked on: so much a batch. */
typedef struct ahead {
    const char *at, *end;
    size_t lines; /* a batch */
} ahead;

INLINE ahead ahead_of(const mf_step *s, size_t n)
{
    const size_t batches = (n + MF_BATCH - 1) / MF_BATCH;
    const size_t lines = (s->ahead_bytes + MF_ALIGN - 1) / MF_ALIGN;

    return (ahead){.at = s->ahead,
                   .end = s->ahead + lines * MF_ALIGN,
                   .lines = batches ? (lines + batches - 1) / batches : 0};
}

INLINE void fetch_ahead(ahead *a)
{
    for (size_t k = 0; k < a->lines && a->at < a->end; k++, a->at += MF_ALIGN)
        _mm_prefetch(a->at, _MM_HINT_T1);
}

#ifdef __AVX512F__

/* Sums over halves of every four lanes: two of a's, then two of b's. */
INLINE __m512 add_2(__m512 a, __m512 b)
{
    const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);

    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

#endif
#endif
