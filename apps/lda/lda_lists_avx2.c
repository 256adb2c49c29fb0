/* Drawing topics for AVX2 where documents' counts are lists. */
#include "lda_kernels.h"

#ifdef __AVX2__

#include "lda_vectors_avx2.h"

/* The topic at u in [0, mass) of alpha_k q_k; K or more: none, by rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    lanes p = zeros();

    for (uint32_t g = 0; g < groups; g++)
        p = add(p, load(s->sums + g * LDA_LANES));
    uint32_t at = lane_of(prefix(p), &u);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    return k + lane_of(prefix(mul(load(s->alpha + k), load(s->q + k))), &u);
}

/* q of four topics of a list. */
INLINE __m128 four_of(const float *q, const uint32_t *list)
{
    return _mm_setr_ps(q[list[0] & 0xFFFF], q[list[1] & 0xFFFF],
                       q[list[2] & 0xFFFF], q[list[3] & 0xFFFF]);
}

/* What eight topics of a list weigh, but for the own one; a bit for that. */
INLINE __m256 weigh_eight(const lda_site *s, const uint32_t *list, __m256i own,
                          int *found)
{
    const __m256i x = _mm256_loadu_si256((const void *)list);
    const __m256i k = _mm256_and_si256(x, _mm256_set1_epi32(0xFFFF));
    const __m256 is_own = _mm256_castsi256_ps(_mm256_cmpeq_epi32(k, own));
    const __m256 n = _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 16));
    const __m256 q =
        _mm256_set_m128(four_of(s->q, list + 4), four_of(s->q, list));

    *found = _mm256_movemask_ps(is_own);
    return _mm256_andnot_ps(is_own, _mm256_mul_ps(n, q));
}

/* Running sums of a list without the token's own topic, whose place is found,
 * over the lines in s->scratch. */
static lanes sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                      lda_change *c)
{
    const __m256i own = _mm256_set1_epi32((int)c->from);
    lanes p = zeros();

    for (uint32_t at = 0; at < lines * LDA_LANES; at += LDA_LANES) {
        int low, high;
        p.low = _mm256_add_ps(p.low, weigh_eight(s, list + at, own, &low));
        p.high =
            _mm256_add_ps(p.high, weigh_eight(s, list + at + HALF, own, &high));
        store(s->scratch + at, p);
        const uint32_t found = (uint32_t)(low | high << HALF);
        if (found)
            c->from_at = at + (uint32_t)__builtin_ctz(found);
    }
    return p;
}

/* Fills in c->to and c->to_at; u is below the list's sum. False: rounding has
 * hit what is not there. */
static bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        lanes p, float u, lda_change *c)
{
    const uint32_t lane = lane_of(p, &u);
    uint32_t line = 0;

    for (uint32_t v = 0; v < lines; v++)
        line += s->scratch[v * LDA_LANES + lane] <= u;
    if (line >= lines || list[line * LDA_LANES + lane] >> 16 == 0)
        return false;
    c->to_at = line * LDA_LANES + lane;
    c->to = list[c->to_at] & 0xFFFF;
    return true;
}

static int64_t place_in(const uint32_t *list, uint32_t used, uint32_t topic)
{
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    const __m256i want = _mm256_set1_epi32((int)topic);

    for (uint32_t at = 0; at < used; at += HALF) {
        const __m256i x = _mm256_loadu_si256((const void *)(list + at));
        const __m256i same = _mm256_cmpeq_epi32(_mm256_and_si256(x, low), want);
        const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(same));
        if (mask)
            return at + (uint32_t)__builtin_ctz((uint32_t)mask);
    }
    return -1;
}

#include "lda_lists_loops.h"

/* Token i, and those after it that see the same. Returns the first that does
 * not. */
static uint64_t token_in_list(lda_site *s, const lda_documents *documents,
                              const lda_tokens *t, uint64_t i)
{
    const uint32_t d = t->document[i];
    uint32_t *list = documents->list + (uint64_t)documents->line[d] * LDA_LANES;
    uint32_t *used = &documents->used[d];
    lda_change c = {.from = lda_topic_of(s, t->topic[i]), .to_at = -1};
    const uint32_t lines = (*used + LDA_LANES - 1) / LDA_LANES;
    const lanes p = sum_list(s, list, lines, &c);
    const float listed = sum_of_prefix(p);
    const lda_own own = lda_own_of(s, list, &c);

    for (;;) {
        const float u = lda_uniform(s) * (own.weight + listed + own.smooth);
        if (__builtin_expect(u < own.weight, 1)) {
            if (!sees_the_same(t, i))
                return i + 1;
            fetch_ahead(documents, t, ++i);
            continue;
        }
        if (u - own.weight >= listed) {
            c.to = lda_draw_smooth_other(s, c.from, draw_smooth);
            break;
        }
        if (pick_listed(s, list, lines, prefix(p), u - own.weight, &c))
            break;
    }
    if (c.to != c.from)
        move_listed(s, list, used, c);
    t->topic[i] = (uint16_t)c.to;
    return i + 1;
}

void lda_draw_lists_avx2(lda_site *shared, const lda_documents *documents,
                         const lda_tokens *tokens)
{
    lda_site here = *shared, *s = &here;

    for (uint64_t i = 0; i < tokens->n;) {
        fetch_ahead(documents, tokens, i);
        i = token_in_list(s, documents, tokens, i);
    }
    *shared = here;
}

#endif
