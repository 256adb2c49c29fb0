/* The inner loops for AVX2: sixteen lanes are two registers. The build compiles this file for such
 * processors, and without fused products, so that it makes the draws of the
 * portable loops; it is entered on them alone. */
#include "lda_kernels.h"

#ifndef __AVX2__

const lda_kernels *lda_kernels_avx2(void)
{
    return NULL;
}

#else

#include <immintrin.h>

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

INLINE lanes all_lanes(float x)
{
    return (lanes){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

INLINE lanes counts(const int32_t *n)
{
    return (lanes){_mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)n)),
                   _mm256_cvtepi32_ps(
                       _mm256_loadu_si256((const void *)(n + HALF)))};
}

/* All lanes, added up by halves. */
INLINE float sum_of(lanes p)
{
    const __m256 a = _mm256_add_ps(p.low, p.high);
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
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
INLINE uint32_t find_lane(lanes p, float *u)
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

/* ---- rows ----------------------------------------------------------------- */

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
    const uint32_t lane = find_lane(load(p), &u);
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

/* ---- lists ---------------------------------------------------------------- */

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

/* A list as it is summed up: the sums over the lines are in s->scratch. */
typedef struct listed {
    lanes p;
    float sum;
} listed;

/* Without the token's own topic, whose place is found. */
INLINE void sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                     lda_change *c, listed *l, const uint32_t vectors)
{
    (void)vectors;
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
    l->p = p;
    l->sum = sum_of_prefix(p);
}

/* Fills in c->to and c->to_at; u is below the list's sum. False: rounding has
 * hit what is not there. */
INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const listed *l, float u, lda_change *c,
                        const uint32_t vectors)
{
    (void)vectors;
    const uint32_t lane = find_lane(prefix(l->p), &u);
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

#define KNOWN_LINES(f)
#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

const lda_kernels *lda_kernels_avx2(void)
{
    static const lda_kernels table = {.name = "avx2",
                                      .build = build,
                                      .draw = draw,
                                      .draw_by_turns = draw_by_turns,
                                      .draw_labelled = draw_labelled};
    return __builtin_cpu_supports("avx2") ? &table : NULL;
}

#endif
