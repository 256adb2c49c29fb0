/* Drawing topics for AVX2 where documents' counts are full rows. */
#include "lda_kernels.h"

#ifdef __AVX2__

#include "lda_vectors_avx2.h"

enum { UNROLLED = LDA_DENSE_TOPICS / LDA_LANES };

/* A token's topic, what all topics weigh in its document, and their sums. */
typedef struct weighed {
    uint32_t from;
    float full, own; /* what its topic weighs, with the token and without */
    float all;       /* all without it */
    lanes p;
    _Alignas(ALIGNED) float w[LDA_DENSE_TOPICS];
} weighed;

/* Weighs one half of the lanes of all vectors, and adds these up pair by pair:
 * as many as there are registers. */
INLINE __m256 weigh_half(const lda_site *s, const uint16_t *row, float *w,
                         uint32_t from, const uint32_t vectors)
{
    __m256 t[UNROLLED];

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const uint32_t k = v * LDA_LANES + from;
        const __m256 n = _mm256_cvtepi32_ps(
            _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(row + k))));
        t[v] = _mm256_mul_ps(_mm256_add_ps(n, _mm256_loadu_ps(s->alpha + k)),
                             _mm256_loadu_ps(s->q + k));
        _mm256_store_ps(w + k, t[v]);
    }
#pragma GCC unroll 3
    for (uint32_t half = UNROLLED / 2; half; half /= 2) {
#pragma GCC unroll 4
        for (uint32_t v = 0; v < half; v++)
            if (v + half < vectors)
                t[v] = _mm256_add_ps(t[v], t[v + half]);
    }
    return t[0];
}

INLINE weighed weigh(const lda_site *s, const uint16_t *row, uint16_t z,
                     const uint32_t vectors)
{
    weighed t;
    lanes sum;

    t.from = lda_topic_of(s, z);
    const bool had = t.from < s->topics;
    const uint32_t at = had ? t.from : 0;
    const float n = (float)row[at];
    t.full = had ? (n + s->alpha[at]) * s->q[at] : 0;
    t.own = had ? lda_own_weight(s, at, n) : 0;
    sum.low = weigh_half(s, row, t.w, 0, vectors);
    sum.high = weigh_half(s, row, t.w, HALF, vectors);
    t.p = prefix(sum);
    t.all = sum_of_prefix(sum) - (t.full - t.own);
    return t;
}

/* The topic at u among the others; K or more: none, by rounding. */
INLINE uint32_t draw_other(const weighed *t, float u, const uint32_t vectors)
{
    _Alignas(ALIGNED) float p[LDA_LANES];
    float before = 0;
    uint32_t rank = 0;

    store(p, t->p);
    for (uint32_t l = t->from % LDA_LANES; l < LDA_LANES; l++)
        p[l] -= t->full;
    const uint32_t lane = lane_of(load(p), &u);
    for (uint32_t j = lane; j < vectors * LDA_LANES; j += LDA_LANES) {
        before += j == t->from ? 0 : t->w[j];
        rank += before <= u;
    }
    return rank * LDA_LANES + lane;
}

/* The next token loads whole vectors of q and of the row. A vector that was
 * stored as a whole is handed to such a load at once; after a store of one
 * number the load waits until that is in the cache. */
INLINE void put_q(float *q, uint32_t k, float value)
{
    float *at = q + k / HALF * HALF;

    _mm256_storeu_ps(at, _mm256_blendv_ps(_mm256_loadu_ps(at),
                                          _mm256_set1_ps(value),
                                          _mm256_castsi256_ps(lane_mask(k))));
}

INLINE void add_to_row(uint16_t *row, uint32_t k, int16_t by)
{
    const __m128i numbers = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    const __m128i mask =
        _mm_cmpeq_epi16(numbers, _mm_set1_epi16((int16_t)(k % HALF)));
    void *at = row + k / HALF * HALF;

    _mm_storeu_si128(at,
                     _mm_add_epi16(_mm_loadu_si128(at),
                                   _mm_and_si128(mask, _mm_set1_epi16(by))));
}

#include "lda_rows_loops.h"

void lda_draw_rows_avx2(lda_site *s, const lda_documents *documents,
                        const lda_tokens *tokens)
{
    EACH_WIDTH(draw_rows(s, documents, tokens, vectors))
}

void lda_draw_rows_by_turns_avx2(lda_site *s, lda_site *other,
                                 const lda_documents *documents,
                                 const lda_tokens *tokens,
                                 const lda_tokens *others)
{
    EACH_WIDTH(draw_rows_by_turns(s, other, documents, tokens, others, vectors))
}

#endif
