/* The inner loops for AVX-512. The build compiles this file for such
 * processors, and without fused products, so that it makes the draws of the
 * portable loops; it is entered on them alone. */
#include "lda_kernels.h"

#ifndef __AVX512F__

const lda_kernels *lda_kernels_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m512 lanes;

INLINE lanes zeros(void)
{
    return _mm512_setzero_ps();
}

INLINE lanes all_lanes(float x)
{
    return _mm512_set1_ps(x);
}

INLINE lanes load(const float *from)
{
    return _mm512_loadu_ps(from);
}

INLINE void store(float *to, lanes x)
{
    _mm512_storeu_ps(to, x);
}

INLINE lanes counts(const int32_t *n)
{
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(n));
}

INLINE lanes add(lanes a, lanes b)
{
    return _mm512_add_ps(a, b);
}

INLINE lanes mul(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

/* All lanes, added up by halves. */
INLINE float sum_of(lanes p)
{
    const __m256 a =
        _mm256_add_ps(_mm512_castps512_ps256(p), _mm512_extractf32x8_ps(p, 1));
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

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

INLINE uint32_t find_lane(__m512 p, float *u)
{
    __m512 left = _mm512_set1_ps(*u);
    const uint32_t lane = lane_of(p, &left);

    *u = _mm512_cvtss_f32(left);
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

/* ---- rows ----------------------------------------------------------------- */

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
        for (uint32_t v = 0; v < half; v++)
            if (v + half < vectors)
                t[v] = _mm512_add_ps(t[v], t[v + half]);
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
    const __m512i numbers = lane_numbers();
    const __m512i own_lane = _mm512_set1_epi32((int)(t->from % LDA_LANES));
    const __m512i vfrom =
        _mm512_sub_epi32(_mm512_set1_epi32((int)t->from), numbers);
    __m512 sum = _mm512_setzero_ps();
    __m512i rank = _mm512_setzero_si512();

    const __m512 p =
        _mm512_mask_sub_ps(t->p, _mm512_cmpge_epi32_mask(numbers, own_lane),
                           t->p, _mm512_set1_ps(t->full));
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

/* ---- lists ---------------------------------------------------------------- */

enum { LISTED = 16 }; /* lines of a list that are summed up at once */

/* A list as it is summed up. */
typedef struct listed {
    __m512 p; /* running sums over the lanes of all lines together */
    float sum;
    __m512 by_line[LISTED]; /* or in s->scratch, where there are more */
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
INLINE void sum_list(const lda_site *s, const uint32_t *list, uint32_t lines,
                     lda_change *c, listed *l, const uint32_t vectors)
{
    const __m512i own = _mm512_set1_epi32((int)c->from);
    __m512 p = _mm512_setzero_ps();
    uint64_t found[LISTED / 4] = {0};

#pragma GCC unroll 16
    for (uint32_t v = 0; v < vectors; v++) {
        const uint64_t is_own = add_line(s, list + v * LDA_LANES, own, &p);
        l->by_line[v] = p;
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
    l->p = prefix(p);
    l->sum = sum_of_prefix(p);
}

INLINE bool pick_listed(const lda_site *s, const uint32_t *list, uint32_t lines,
                        const listed *l, float u, lda_change *c,
                        const uint32_t vectors)
{
    __m512 left = _mm512_set1_ps(u);
    const uint32_t lane = lane_of(l->p, &left);
    const uint32_t n = vectors ? vectors : lines;
    __m512i rank = _mm512_setzero_si512();

#pragma GCC unroll 16
    for (uint32_t v = 0; v < n; v++)
        rank =
            count_at_most(rank,
                          vectors ? l->by_line[v]
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

#define KNOWN_LINES(f)                                                         \
    f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) \
        f(15) f(16)
#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

const lda_kernels *lda_kernels_avx512(void)
{
    static const lda_kernels table = {.name = "avx512",
                                      .build = build,
                                      .draw = draw,
                                      .draw_by_turns = draw_by_turns,
                                      .draw_labelled = draw_labelled};
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? &table
               : NULL;
}

#endif
