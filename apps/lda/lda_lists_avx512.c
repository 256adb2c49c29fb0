/* Drawing topics for AVX-512 where documents' counts are lists. */
#include "lda_kernels.h"

#ifdef __AVX512F__

#include "lda_vectors.h"

enum { LISTED = 16 }; /* lines of a list that are summed up at once */

/* ---- alpha_k q_k --------------------------------------------------------- */

/* The topic at u in [0, mass) of alpha_k q_k; K or more: none, by rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    __m512 p = _mm512_setzero_ps(), left = _mm512_set1_ps(u);

    for (uint32_t g = 0; g < groups; g++)
        p = _mm512_add_ps(p, _mm512_loadu_ps(s->sums + g * LDA_LANES));
    uint32_t at = lane_of(prefix(p), &left);
    u = _mm512_cvtss_f32(left);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    p = _mm512_mul_ps(_mm512_loadu_ps(s->alpha + k), _mm512_loadu_ps(s->q + k));
    left = _mm512_set1_ps(u);
    return k + lane_of(prefix(p), &left);
}

/* ---- n_dk q_k ------------------------------------------------------------ */

/* A list as it is summed up. */
typedef struct listed {
    __m512 p; /* running sums over the lanes of all lines together */
    float sum;
} listed;

/* q of four topics of a list. */
INLINE __m128 four_of(const float *q, const uint32_t *list)
{
    return _mm_setr_ps(q[list[0] & 0xFFFF], q[list[1] & 0xFFFF],
                       q[list[2] & 0xFFFF], q[list[3] & 0xFFFF]);
}

/* Of sixteen, by a load each: that is done sooner than a gather, which is many
 * small operations on some processors. */
INLINE __m512 sixteen_of(const float *q, const uint32_t *list)
{
    const __m256 a = _mm256_set_m128(four_of(q, list + 4), four_of(q, list));
    const __m256 b =
        _mm256_set_m128(four_of(q, list + 12), four_of(q, list + 8));

    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}

/* Adds sixteen topics of a list but for the own one, and says which that is. */
INLINE uint32_t add_line(const lda_site *s, const uint32_t *line, __m512i own,
                         __m512 *p)
{
    const __m512i x = _mm512_loadu_si512(line);
    const __m512i k = _mm512_and_si512(x, _mm512_set1_epi32(0xFFFF));
    const __mmask16 is_own = _mm512_cmpeq_epi32_mask(k, own);
    const __m512 n = _mm512_cvtepi32_ps(_mm512_srli_epi32(x, 16));
    const __m512 q = sixteen_of(s->q, line);

    *p = _mm512_add_ps(*p, _mm512_maskz_mul_ps((__mmask16)~is_own, n, q));
    return is_own;
}

/* Without the token's own topic, whose place is found. vectors: known to the
 * compiler, or 0 and sums go to s->scratch. */
INLINE listed sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                       lda_change *c, __m512 sum[LISTED],
                       const uint32_t vectors)
{
    const __m512i own = _mm512_set1_epi32((int)c->from);
    __m512 p = _mm512_setzero_ps();
    uint64_t found[LISTED / 4] = {0};

#pragma GCC unroll 16
    for (uint32_t v = 0; v < vectors; v++) {
        const uint64_t is_own = add_line(s, list + v * LDA_LANES, own, &p);
        sum[v] = p;
        found[v / 4] |= is_own << (v % 4 * LDA_LANES);
    }
#pragma GCC unroll 4
    for (uint32_t f = 0; f < vectors; f += 4) {
        if (found[f / 4])
            c->from_at =
                f * LDA_LANES + (uint32_t)__builtin_ctzll(found[f / 4]);
    }
    for (uint32_t v = 0; vectors == 0 && v < lines; v++) {
        const uint32_t is_own = add_line(s, list + v * LDA_LANES, own, &p);
        _mm512_storeu_ps(s->scratch + v * LDA_LANES, p);
        const uint32_t at =
            v * LDA_LANES + (uint32_t)__builtin_ctz(1U << LDA_LANES | is_own);
        c->from_at = is_own ? at : c->from_at;
    }
    return (listed){prefix(p), sum_of_prefix(p)};
}

INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        __m512 p, float u, const __m512 sum[LISTED],
                        lda_change *c, const uint32_t vectors)
{
    __m512 left = _mm512_set1_ps(u);
    const uint32_t lane = lane_of(p, &left);
    const uint32_t n = vectors ? vectors : lines;
    __m512i rank = _mm512_setzero_si512();

#pragma GCC unroll 16
    for (uint32_t v = 0; v < n; v++)
        rank =
            count_at_most(rank,
                          vectors ? sum[v]
                                  : _mm512_loadu_ps(s->scratch + v * LDA_LANES),
                          left);
    const uint32_t line = count_at(rank, lane);
    if (line >= n || list[line * LDA_LANES + lane] >> 16 == 0)
        return false;
    c->to_at = line * LDA_LANES + lane;
    c->to = list[c->to_at] & 0xFFFF;
    return true;
}

static int64_t place_in(const uint32_t *list, uint32_t used, uint32_t topic)
{
    const __m512i low = _mm512_set1_epi32(0xFFFF);
    const __m512i want = _mm512_set1_epi32((int)topic);

    for (uint32_t at = 0; at < used; at += LDA_LANES) {
        __mmask16 m = _mm512_cmpeq_epi32_mask(
            _mm512_and_si512(_mm512_loadu_si512(list + at), low), want);
        if (m)
            return at + (uint32_t)__builtin_ctz((uint32_t)m);
    }
    return -1;
}

#include "lda_lists_loops.h"

/* Token i, and those after it that see the same. Returns the first that does
 * not. */
INLINE uint64_t token_in_list(lda_site *s, const lda_documents *documents,
                              const lda_tokens *t, uint64_t i,
                              const uint32_t vectors)
{
    const uint32_t d = t->document[i];
    uint32_t *list = documents->list + (uint64_t)documents->line[d] * LDA_LANES;
    uint32_t *used = &documents->used[d];
    lda_change c = {.from = lda_topic_of(s, t->topic[i]), .to_at = -1};
    const uint32_t lines = (*used + LDA_LANES - 1) / LDA_LANES;
    __m512 sum[LISTED];
    const listed l = sum_list(s, list, lines, &c, sum, vectors);
    const lda_own own = lda_own_of(s, list, &c);

    for (;;) {
        const float u = lda_uniform(s) * (own.weight + l.sum + own.smooth);
        if (__builtin_expect(u < own.weight, 1)) {
            if (!sees_the_same(t, i))
                return i + 1;
            fetch_ahead(documents, t, ++i);
            continue;
        }
        if (u - own.weight >= l.sum) {
            c.to = lda_draw_smooth_other(s, c.from, draw_smooth);
            break;
        }
        if (pick_listed(s, list, lines, l.p, u - own.weight, sum, &c, vectors))
            break;
    }
    if (c.to != c.from)
        move_listed(s, list, used, c);
    t->topic[i] = (uint16_t)c.to;
    return i + 1;
}

void lda_draw_lists(lda_site *shared, const lda_documents *documents,
                    const lda_tokens *tokens)
{
    lda_site here = *shared, *s = &here;

    for (uint64_t i = 0; i < tokens->n;) {
        fetch_ahead(documents, tokens, i);
        const uint32_t used = documents->used[tokens->document[i]];
        switch ((used + LDA_LANES - 1) / LDA_LANES) {
#define CASE(v)                                        \
    case v:                                            \
        i = token_in_list(s, documents, tokens, i, v); \
        break
        case 0:
            CASE(1);
            CASE(2);
            CASE(3);
            CASE(4);
            CASE(5);
            CASE(6);
            CASE(7);
            CASE(8);
            CASE(9);
            CASE(10);
            CASE(11);
            CASE(12);
            CASE(13);
            CASE(14);
            CASE(15);
            CASE(16);
#undef CASE
        default:
            i = token_in_list(s, documents, tokens, i, 0);
        }
    }
    *shared = here;
}

#endif
