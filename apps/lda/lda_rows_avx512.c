/* Drawing topics for AVX-512 where documents' counts are full rows. */
#include "lda_kernels.h"

#ifdef __AVX512F__

#include "lda_vectors.h"

enum { UNROLLED = 8 }; /* vectors of a row that fit into registers */

/* All vectors added up pair by pair: the shortest way to the sum. */
INLINE __m512 add_all(const __m512 *w, const uint32_t vectors)
{
    __m512 t[UNROLLED];

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++)
        t[v] = w[v];
#pragma GCC unroll 3
    for (uint32_t half = UNROLLED / 2; half; half /= 2) {
#pragma GCC unroll 4
        for (uint32_t v = 0; v < half; v++) {
            if (v + half < vectors)
                t[v] = _mm512_add_ps(t[v], t[v + half]);
        }
    }
    return t[0];
}

/* A token's topic, what all topics weigh in its document, and their sums. */
typedef struct weighed {
    uint32_t from;
    float full, own; /* what its topic weighs, with the token and without */
    float all;       /* all without it */
    __m512 w[UNROLLED], p;
} weighed;

/* With a number of vectors that the compiler knows all weights stay in
 * registers. */
INLINE weighed weigh(const lda_site *s, const uint16_t *row, uint16_t z,
                     const uint32_t vectors)
{
    weighed t = {.from = lda_topic_of(s, z)};
    const bool had = t.from < s->topics;
    const uint32_t at = had ? t.from : 0;
    const float n = (float)row[at];

    t.full = had ? (n + s->alpha[at]) * s->q[at] : 0;
    t.own = had ? lda_own_weight(s, at, n) : 0;
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m256i counts =
            _mm256_loadu_si256((const void *)(row + v * LDA_LANES));
        t.w[v] = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(counts));
        t.w[v] =
            _mm512_add_ps(t.w[v], _mm512_loadu_ps(s->alpha + v * LDA_LANES));
        t.w[v] = _mm512_mul_ps(t.w[v], _mm512_loadu_ps(s->q + v * LDA_LANES));
    }
    const __m512 sum = add_all(t.w, vectors);
    t.p = prefix(sum);
    t.all = sum_of_prefix(sum) - (t.full - t.own);
    return t;
}

/* The topic at u among the others; K or more: none, by rounding. */
INLINE uint32_t draw_other(const weighed *t, float u, const uint32_t vectors)
{
    const __m512i lanes = lane_numbers();
    const __m512i own_lane = _mm512_set1_epi32((int)(t->from % LDA_LANES));
    const __m512i vfrom =
        _mm512_sub_epi32(_mm512_set1_epi32((int)t->from), lanes);
    __m512 sum = _mm512_setzero_ps();
    __m512i rank = _mm512_setzero_si512();

    const __m512 p =
        _mm512_mask_sub_ps(t->p, _mm512_cmpge_epi32_mask(lanes, own_lane), t->p,
                           _mm512_set1_ps(t->full));
    __m512 left = _mm512_set1_ps(u);
    const uint32_t lane = lane_of(p, &left);
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m512i first = _mm512_set1_epi32((int)(v * LDA_LANES));
        sum = _mm512_add_ps(sum,
                            _mm512_maskz_mov_ps(_mm512_cmpneq_epi32_mask(vfrom,
                                                                         first),
                                                t->w[v]));
        rank = count_at_most(rank, sum, left);
    }
    return count_at(rank, lane) * LDA_LANES + lane;
}

/* The next token loads whole vectors of q and of the row. A vector that was
 * stored as a whole is handed to such a load at once; after a store of one
 * number the load waits until that is in the cache. */
INLINE void put_q(float *q, uint32_t k, float value)
{
    float *at = q + k / LDA_LANES * LDA_LANES;

    _mm512_storeu_ps(at, _mm512_mask_mov_ps(_mm512_loadu_ps(at),
                                            (__mmask16)(1U << k % LDA_LANES),
                                            _mm512_set1_ps(value)));
}

INLINE void add_to_row(uint16_t *row, uint32_t k, int16_t by)
{
    void *at = row + k / LDA_LANES * LDA_LANES;
    const __m256i old = _mm256_loadu_si256(at);

    _mm256_storeu_si256(at,
                        _mm256_mask_add_epi16(old,
                                              (__mmask16)(1U << k % LDA_LANES),
                                              old, _mm256_set1_epi16(by)));
}

#include "lda_rows_loops.h"

void lda_draw_rows(lda_site *s, const lda_documents *documents,
                   const lda_tokens *tokens)
{
    EACH_WIDTH(draw_rows(s, documents, tokens, vectors))
}

void lda_draw_rows_by_turns(lda_site *s, lda_site *other,
                            const lda_documents *documents,
                            const lda_tokens *tokens, const lda_tokens *others)
{
    EACH_WIDTH(draw_rows_by_turns(s, other, documents, tokens, others, vectors))
}

#endif
