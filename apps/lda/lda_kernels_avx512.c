/* The inner loops for AVX-512. The build compiles this file for such
 * processors, and without fused products, so that it makes the draws of the
 * portable ones; it is entered on them alone. */
#include "lda_kernels.h"

#ifndef __AVX512F__

const lda_kernels *lda_kernels_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    AHEAD = 6,    /* tokens that documents are fetched before */
    UNROLLED = 8, /* vectors of a row that fit into registers */
    LISTED = 16,  /* of a list, which are summed up at once */
    LINE = 64     /* bytes */
};

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

/* Without optimisation gcc's gather is a macro with a conversion of its own. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/* from[at] in the lanes of `mask`, the others 0. */
INLINE __m512 gather(__mmask16 mask, __m512i at, const float *from)
{
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, at, from, 4);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

INLINE float lane_at(__m512 p, uint32_t lane)
{
    return _mm512_cvtss_f32(
        _mm512_permutexvar_ps(_mm512_set1_epi32((int)lane), p));
}

/* The first lane whose running sum is above u, and u less what is before. */
INLINE uint32_t lane_of(__m512 p, float *u)
{
    const __m512 all = _mm512_set1_ps(*u);
    uint32_t lane =
        (uint32_t)__builtin_popcount(_mm512_cmp_ps_mask(p, all, _CMP_LE_OQ));

    lane = lane > 15 ? 15 : lane;
    const __m512 before =
        _mm512_maskz_permutexvar_ps(lane ? 0xFFFF : 0,
                                    _mm512_set1_epi32((int)lane - 1), p);
    *u = _mm512_cvtss_f32(_mm512_sub_ps(all, before));
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

/* ---- q ----------------------------------------------------------------- */

/* All lanes, added up by halves. */
INLINE float sum_of(__m512 p)
{
    const __m256 a =
        _mm256_add_ps(_mm512_castps512_ps256(p), _mm512_extractf32x8_ps(p, 1));
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

static void build(lda_site *s)
{
    const __m512 beta = _mm512_set1_ps(s->beta);
    __m512 all = _mm512_setzero_ps();

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        const __m512 n = _mm512_cvtepi32_ps(_mm512_loadu_si512(s->word + k));
        const __m512 q = _mm512_mul_ps(_mm512_add_ps(n, beta),
                                       _mm512_loadu_ps(s->inverse + k));
        const __m512 w = _mm512_mul_ps(_mm512_loadu_ps(s->alpha + k), q);
        _mm512_storeu_ps(s->q + k, q);
        s->sums[lda_sum_of(k)] = sum_of(w);
        all = _mm512_add_ps(all, w);
    }
    s->mass = sum_of(all);
}

/* The topic at u in [0, mass) of alpha_k q_k; K or more: none, by rounding. */
static uint32_t draw_smooth(const lda_site *s, float u)
{
    const uint32_t groups = (s->padded / LDA_LANES + LDA_LANES - 1) / LDA_LANES;
    __m512 p = _mm512_setzero_ps();

    for (uint32_t g = 0; g < groups; g++)
        p = _mm512_add_ps(p, _mm512_loadu_ps(s->sums + g * LDA_LANES));
    uint32_t at = lane_of(prefix(p), &u);
    for (; at + LDA_LANES < groups * LDA_LANES && s->sums[at] <= u;
         at += LDA_LANES)
        u -= s->sums[at];
    const uint32_t k = at * LDA_LANES;
    if (k >= s->padded)
        return s->topics;
    p = _mm512_mul_ps(_mm512_loadu_ps(s->alpha + k), _mm512_loadu_ps(s->q + k));
    return k + lane_of(prefix(p), &u);
}

static uint32_t draw_smooth_other(lda_site *s, uint32_t from)
{
    uint32_t k;

    do
        k = draw_smooth(s, lda_uniform(s) * s->mass);
    while (k >= s->topics || k == from);
    return k;
}

/* ---- full rows --------------------------------------------------------- */

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
    const uint32_t lane = lane_of(p, &u);
    const __m512 vu = _mm512_set1_ps(u);
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m512i first = _mm512_set1_epi32((int)(v * LDA_LANES));
        sum = _mm512_add_ps(
            sum,
            _mm512_maskz_mov_ps(_mm512_cmpneq_epi32_mask(vfrom, first), w[v]));
        rank = count_at_most(rank, sum, vu);
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
    const __m512 p = prefix(add_all(w, vectors));
    const float all = lane_at(p, 15) - (full - own);
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

/* ---- lists ------------------------------------------------------------- */

/* A list as it is summed up. */
typedef struct listed {
    __m512 p; /* running sums over the lanes of all lines together */
    float sum;
} listed;

/* Adds sixteen topics of a list but for the own one, and says which that is. */
INLINE uint32_t add_line(const lda_site *s, const uint32_t *line, __m512i own,
                         __m512 *p)
{
    const __m512i x = _mm512_loadu_si512(line);
    const __m512i k = _mm512_and_si512(x, _mm512_set1_epi32(0xFFFF));
    const __mmask16 is_own = _mm512_cmpeq_epi32_mask(k, own);
    const __m512 n = _mm512_cvtepi32_ps(_mm512_srli_epi32(x, 16));
    const __m512 q = gather((__mmask16)~is_own, k, s->q);

    *p = _mm512_add_ps(*p, _mm512_mul_ps(n, q));
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
    p = prefix(p);
    return (listed){p, lane_at(p, 15)};
}

INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        __m512 p, float u, const __m512 sum[LISTED],
                        lda_change *c, const uint32_t vectors)
{
    const uint32_t lane = lane_of(p, &u);
    const __m512 vu = _mm512_set1_ps(u);
    const uint32_t n = vectors ? vectors : lines;
    __m512i rank = _mm512_setzero_si512();

#pragma GCC unroll 16
    for (uint32_t v = 0; v < n; v++)
        rank =
            count_at_most(rank,
                          vectors ? sum[v]
                                  : _mm512_loadu_ps(s->scratch + v * LDA_LANES),
                          vu);
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

INLINE void token_in_list(lda_site *s, uint32_t *list, uint32_t *used,
                          uint16_t *z, const uint32_t vectors)
{
    lda_change c = {.from = lda_topic_of(s, *z), .to_at = -1};
    const uint32_t lines = (*used + LDA_LANES - 1) / LDA_LANES;
    __m512 sum[LISTED];
    const listed l = sum_list(s, list, lines, &c, sum, vectors);
    const lda_own own = lda_own_of(s, list, &c);

    for (;;) {
        const float u = lda_uniform(s) * (own.weight + l.sum + own.smooth);
        if (__builtin_expect(u < own.weight, 1))
            return;
        if (u - own.weight >= l.sum) {
            c.to = draw_smooth_other(s, c.from);
            break;
        }
        if (pick_listed(s, list, lines, l.p, u - own.weight, sum, &c, vectors))
            break;
    }
    if (c.to == c.from)
        return;
    if (c.to_at < 0)
        c.to_at = place_in(list, *used, c.to);
    *z = (uint16_t)c.to;
    lda_change_list(s, list, used, c);
    lda_move(s, c.from, c.to);
}

INLINE void fetch_list(const lda_documents *documents, uint32_t d)
{
    const char *list = (const char *)(documents->list +
                                      (uint64_t)documents->line[d] * LDA_LANES);

    for (uint32_t at = 0; at < documents->used[d]; at += LDA_LANES)
        _mm_prefetch(list + at * sizeof(uint32_t), _MM_HINT_T0);
}

static void draw_lists(lda_site *shared, const lda_documents *documents,
                       const lda_tokens *tokens)
{
    lda_site here = *shared, *s = &here;
    const uint64_t n = tokens->n;

    for (uint64_t i = 0; i < n; i++) {
        const uint32_t d = tokens->document[i];
        const uint64_t next = i + AHEAD < n ? i + AHEAD : n - 1;
        fetch_list(documents, tokens->document[next]);
        uint32_t *list =
            documents->list + (uint64_t)documents->line[d] * LDA_LANES;
        uint32_t *used = &documents->used[d];
        uint16_t *z = &tokens->topic[i];
        switch ((*used + LDA_LANES - 1) / LDA_LANES) {
#define CASE(v)                             \
    case v:                                 \
        token_in_list(s, list, used, z, v); \
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
            token_in_list(s, list, used, z, 0);
        }
    }
    *shared = here;
}

static void draw(lda_site *s, const lda_documents *documents,
                 const lda_tokens *tokens)
{
    if (!documents->row) {
        draw_lists(s, documents, tokens);
        return;
    }
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

const lda_kernels *lda_kernels_avx512(void)
{
    static const lda_kernels table = {.name = "avx512",
                                      .build = build,
                                      .draw = draw};
    return &table;
}

#endif
