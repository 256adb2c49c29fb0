/* Drawing topics for AVX-512 where documents' counts are full rows. */
#include "lda_kernels.h"

#ifdef __AVX512F__

#include "lda_vectors.h"

enum {
    UNROLLED = 8, /* vectors of a row that fit into registers */
    LINE = 64     /* bytes */
};

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

/* The topic at u among the others; K or more: none, by rounding. */
INLINE uint32_t draw_other(const __m512 *w, __m512 p, uint32_t from, float own,
                           float u, const uint32_t vectors)
{
    const __m512i lanes = lane_numbers();
    const __m512i own_lane = _mm512_set1_epi32((int)(from % LDA_LANES));
    const __m512i vfrom = _mm512_sub_epi32(_mm512_set1_epi32((int)from), lanes);
    __m512 sum = _mm512_setzero_ps();
    __m512i rank = _mm512_setzero_si512();

    p = _mm512_mask_sub_ps(p, _mm512_cmpge_epi32_mask(lanes, own_lane), p,
                           _mm512_set1_ps(own));
    __m512 left = _mm512_set1_ps(u);
    const uint32_t lane = lane_of(p, &left);
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m512i first = _mm512_set1_epi32((int)(v * LDA_LANES));
        sum = _mm512_add_ps(
            sum,
            _mm512_maskz_mov_ps(_mm512_cmpneq_epi32_mask(vfrom, first), w[v]));
        rank = count_at_most(rank, sum, left);
    }
    return count_at(rank, lane) * LDA_LANES + lane;
}

/* With a number of vectors that the compiler knows all weights stay in
 * registers. */
INLINE uint32_t draw_row(lda_site *s, const uint16_t *row, uint32_t from,
                         const uint32_t vectors)
{
    const bool had = from < s->topics;
    const uint32_t at = had ? from : 0;
    const float n = (float)row[at];
    const float full = had ? (n + s->alpha[at]) * s->q[at] : 0;
    const float own = had ? lda_own_weight(s, at, n) : 0;
    __m512 w[UNROLLED];

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m256i counts =
            _mm256_loadu_si256((const void *)(row + v * LDA_LANES));
        w[v] = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(counts));
        w[v] = _mm512_add_ps(w[v], _mm512_loadu_ps(s->alpha + v * LDA_LANES));
        w[v] = _mm512_mul_ps(w[v], _mm512_loadu_ps(s->q + v * LDA_LANES));
    }
    const __m512 sum = add_all(w, vectors), p = prefix(sum);
    const float all = sum_of_prefix(sum) - (full - own);
    for (;;) {
        const float u = lda_uniform(s) * all;
        if (__builtin_expect(u < own, 1))
            return from;
        const uint32_t k = draw_other(w, p, from, full, u - own, vectors);
        if (__builtin_expect(k < s->topics, 1))
            return k;
    }
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

INLINE void change_q(lda_site *s, uint32_t k, int32_t by)
{
    s->word[k] += by;
    lda_set_total(s, k, s->total[k] + by);
    put_q(s->q, k, ((float)s->word[k] + s->beta) * s->inverse[k]);
}

INLINE void draw_rows(lda_site *shared, const lda_documents *documents,
                      const lda_tokens *tokens, const uint32_t vectors)
{
    lda_site here = *shared, *s = &here; /* a copy may stay in registers */
    const size_t width = (size_t)vectors * LDA_LANES;
    const uint64_t n = tokens->n;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t next = i + AHEAD < n ? i + AHEAD : n - 1;
        const char *soon =
            (const char *)(documents->row + tokens->document[next] * width);
        for (size_t at = 0; at < 2 * width; at += LINE)
            _mm_prefetch(soon + at, _MM_HINT_T0);
        uint16_t *row = documents->row + tokens->document[i] * width;
        const uint32_t from = lda_topic_of(s, tokens->topic[i]);
        const uint32_t to = draw_row(s, row, from, vectors);
        if (to == from)
            continue;
        tokens->topic[i] = (uint16_t)to;
        add_to_row(row, to, 1);
        if (from < s->topics) {
            add_to_row(row, from, -1);
            change_q(s, from, -1);
        }
        change_q(s, to, 1);
        s->moved++;
    }
    *shared = here;
}

void lda_draw_rows(lda_site *s, const lda_documents *documents,
                   const lda_tokens *tokens)
{
    switch (s->padded / LDA_LANES) {
#define CASE(v)                             \
    case v:                                 \
        draw_rows(s, documents, tokens, v); \
        break
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
#undef CASE
    default:
        break;
    }
}

#endif
