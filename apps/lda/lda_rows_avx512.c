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

INLINE uint32_t choose(lda_site *s, const weighed *t, const uint32_t vectors)
{
    for (;;) {
        const float u = lda_uniform(s) * t->all;
        if (__builtin_expect(u < t->own, 1))
            return t->from;
        const uint32_t k =
            draw_other(t->w, t->p, t->from, t->full, u - t->own, vectors);
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

/* beside: the site of a word that is drawn by turns with this one, or NULL. */
INLINE void change_q(lda_site *s, lda_site *beside, uint32_t k, int32_t by)
{
    s->word[k] += by;
    lda_set_total(s, k, s->total[k] + by);
    put_q(s->q, k, ((float)s->word[k] + s->beta) * s->inverse[k]);
    if (beside)
        put_q(beside->q, k,
              ((float)beside->word[k] + beside->beta) * s->inverse[k]);
}

INLINE void move(lda_site *s, lda_site *beside, uint16_t *row, uint16_t *z,
                 uint32_t from, uint32_t to)
{
    if (to == from)
        return;
    *z = (uint16_t)to;
    add_to_row(row, to, 1);
    if (from < s->topics) {
        add_to_row(row, from, -1);
        change_q(s, beside, from, -1);
    }
    change_q(s, beside, to, 1);
    s->moved++;
}

INLINE uint16_t *row_of(const lda_documents *documents,
                        const lda_tokens *tokens, uint64_t i,
                        const uint32_t vectors)
{
    return documents->row + (size_t)tokens->document[i] * vectors * LDA_LANES;
}

INLINE void fetch_ahead(const lda_documents *documents,
                        const lda_tokens *tokens, uint64_t i,
                        const uint32_t vectors)
{
    const uint64_t next = i + AHEAD < tokens->n ? i + AHEAD : tokens->n - 1;
    const char *soon = (const char *)row_of(documents, tokens, next, vectors);

    for (size_t at = 0; at < 2 * LDA_LANES * (size_t)vectors; at += LINE)
        _mm_prefetch(soon + at, _MM_HINT_T0);
}

INLINE void draw_token(lda_site *s, lda_site *beside,
                       const lda_documents *documents, const lda_tokens *tokens,
                       uint64_t i, const uint32_t vectors)
{
    uint16_t *row = row_of(documents, tokens, i, vectors);
    const weighed t = weigh(s, row, tokens->topic[i], vectors);

    move(s, beside, row, &tokens->topic[i], t.from, choose(s, &t, vectors));
}

INLINE void draw_rows(lda_site *shared, const lda_documents *documents,
                      const lda_tokens *tokens, const uint32_t vectors)
{
    lda_site here = *shared; /* a copy may stay in registers */

    for (uint64_t i = 0; i < tokens->n; i++) {
        fetch_ahead(documents, tokens, i, vectors);
        draw_token(&here, NULL, documents, tokens, i, vectors);
    }
    *shared = here;
}

/* A token of each is weighed before either is settled. */
INLINE void draw_rows_by_turns(lda_site *one, lda_site *other,
                               const lda_documents *documents,
                               const lda_tokens *ones, const lda_tokens *others,
                               const uint32_t vectors)
{
    lda_site a = *one, b = *other;
    const uint64_t n = ones->n < others->n ? ones->n : others->n;

    for (uint64_t i = 0; i < n; i++) {
        fetch_ahead(documents, ones, i, vectors);
        fetch_ahead(documents, others, i, vectors);
        uint16_t *row = row_of(documents, ones, i, vectors);
        uint16_t *row_b = row_of(documents, others, i, vectors);
        if (row == row_b) {
            draw_token(&a, &b, documents, ones, i, vectors);
            draw_token(&b, &a, documents, others, i, vectors);
            continue;
        }
        const weighed t = weigh(&a, row, ones->topic[i], vectors);
        const weighed t_b = weigh(&b, row_b, others->topic[i], vectors);
        const uint32_t to = choose(&a, &t, vectors);
        const uint32_t to_b = choose(&b, &t_b, vectors);
        move(&a, &b, row, &ones->topic[i], t.from, to);
        move(&b, &a, row_b, &others->topic[i], t_b.from, to_b);
    }
    *one = a;
    *other = b;
}

/* The call with `vectors`, a constant, for as many as the site has. */
#define CASE(v, call)         \
    case v: {                 \
        enum { vectors = v }; \
        call;                 \
        break;                \
    }
#define EACH_WIDTH(call)             \
    switch (s->padded / LDA_LANES) { \
        CASE(1, call);               \
        CASE(2, call);               \
        CASE(3, call);               \
        CASE(4, call);               \
        CASE(5, call);               \
        CASE(6, call);               \
        CASE(7, call);               \
        CASE(8, call);               \
    default:                         \
        break;                       \
    }

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
