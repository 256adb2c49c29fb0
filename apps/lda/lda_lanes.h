/* Sixteen lanes in the registers of a table, and operations on them: two
 * registers with LDA_AVX2, one with LDA_AVX512, otherwise four vectors of the
 * compiler. The including file defines which. All three form their sums in the
 * same order, to the bit. */
#ifndef LDA_LANES_H
#define LDA_LANES_H

#include <string.h>

#include "lda_kernels.h"

#define INLINE static inline __attribute__((always_inline))

#if defined LDA_AVX512 || defined LDA_AVX2

#include <immintrin.h>

/* q of four topics of a list. */
INLINE __m128 four_of(const float *q, const uint32_t *list)
{
    return _mm_setr_ps(q[list[0] & 0xFFFF], q[list[1] & 0xFFFF],
                       q[list[2] & 0xFFFF], q[list[3] & 0xFFFF]);
}

#endif

#if defined LDA_AVX512

typedef __m512 lanes;

INLINE lanes zero_lanes(void)
{
    return _mm512_setzero_ps();
}

INLINE lanes all_lanes(float x)
{
    return _mm512_set1_ps(x);
}

INLINE lanes load_lanes(const float *from)
{
    return _mm512_loadu_ps(from);
}

INLINE void store_lanes(float *to, lanes x)
{
    _mm512_storeu_ps(to, x);
}

INLINE lanes load_counts(const int32_t *n)
{
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(n));
}

/* Counts of a document. */
INLINE lanes row_counts(const uint16_t *n)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)n)));
}

INLINE lanes add_lanes(lanes a, lanes b)
{
    return _mm512_add_ps(a, b);
}

INLINE lanes multiply_lanes(lanes a, lanes b)
{
    return _mm512_mul_ps(a, b);
}

/* The sum of all lanes, added by halves. */
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
INLINE __m512 running_sums(__m512 p)
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

/* The sum of all lanes, equal to the last running sum to the bit but available
 * sooner, because neighbouring lanes combine faster than distant ones. */
INLINE float sum_of_prefix(__m512 p)
{
    p = _mm512_add_ps(p, _mm512_permute_ps(p, 0xB1));
    p = _mm512_add_ps(p, _mm512_permute_ps(p, 0x4E));
    p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0xB1));
    p = _mm512_add_ps(p, _mm512_shuffle_f32x4(p, p, 0x4E));
    return _mm512_cvtss_f32(p);
}

/* The first lane with a running sum above u; subtracts the sum before it from
 * u. */
INLINE uint32_t find_lane(lanes p, float *u)
{
    const __m512 all = _mm512_set1_ps(*u);
    uint32_t lane =
        (uint32_t)__builtin_popcount(_mm512_cmp_ps_mask(p, all, _CMP_LE_OQ));

    lane = lane > LDA_LANES - 1 ? LDA_LANES - 1 : lane;
    *u -= _mm512_cvtss_f32(
        _mm512_maskz_permutexvar_ps(lane ? 1 : 0,
                                    _mm512_set1_epi32((int)lane - 1), p));
    return lane;
}

/* Subtracts x from all lanes from `lane` on. */
INLINE lanes less_from(lanes p, uint32_t lane, float x)
{
    return _mm512_mask_sub_ps(p, (__mmask16)(0xFFFFU << lane), p,
                              _mm512_set1_ps(x));
}

/* The next token loads whole vectors of q and of the row. A whole stored vector
 * is forwarded to such a load at once; after a store of one number the load
 * waits for the cache. */
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

/* Loads sixteen values one by one, which is faster than a gather on some
 * processors. */
INLINE __m512 sixteen_of(const float *q, const uint32_t *list)
{
    const __m256 a = _mm256_set_m128(four_of(q, list + 4), four_of(q, list));
    const __m256 b =
        _mm256_set_m128(four_of(q, list + 12), four_of(q, list + 8));

    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}

/* A mask of the entries of sixteen that have the topic. */
INLINE uint32_t places_of(const uint32_t *list, uint32_t topic)
{
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(_mm512_loadu_si512(list),
                                                    _mm512_set1_epi32(0xFFFF)),
                                   _mm512_set1_epi32((int)topic));
}

/* The weights of sixteen topics of a list; 0 for the own topic. */
INLINE lanes weigh_listed(const lda_site *s, const uint32_t *list, uint32_t own)
{
    const __m512 n =
        _mm512_cvtepi32_ps(_mm512_srli_epi32(_mm512_loadu_si512(list), 16));

    return _mm512_maskz_mul_ps((__mmask16)~places_of(list, own), n,
                               sixteen_of(s->q, list));
}

#elif defined LDA_AVX2

enum { HALF = LDA_LANES / 2 };

typedef struct lanes {
    __m256 low, high;
} lanes;

INLINE lanes zero_lanes(void)
{
    return (lanes){_mm256_setzero_ps(), _mm256_setzero_ps()};
}

INLINE lanes load_lanes(const float *from)
{
    return (lanes){_mm256_loadu_ps(from), _mm256_loadu_ps(from + HALF)};
}

INLINE void store_lanes(float *to, lanes x)
{
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + HALF, x.high);
}

INLINE lanes add_lanes(lanes a, lanes b)
{
    return (lanes){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

INLINE lanes multiply_lanes(lanes a, lanes b)
{
    return (lanes){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

INLINE lanes all_lanes(float x)
{
    return (lanes){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

INLINE lanes load_counts(const int32_t *n)
{
    return (lanes){_mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)n)),
                   _mm256_cvtepi32_ps(
                       _mm256_loadu_si256((const void *)(n + HALF)))};
}

INLINE lanes row_counts(const uint16_t *n)
{
    const __m128i low = _mm_loadu_si128((const void *)n);
    const __m128i high = _mm_loadu_si128((const void *)(n + HALF));

    return (lanes){_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(low)),
                   _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(high))};
}

/* The sum of all lanes, added by halves. */
INLINE float sum_of(lanes p)
{
    const __m256 a = _mm256_add_ps(p.low, p.high);
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

/* Shifts by four lanes, with 0 in the first ones. */
INLINE lanes four_on(lanes p)
{
    return (lanes){_mm256_permute2f128_ps(p.low, p.low, 0x08),
                   _mm256_permute2f128_ps(p.low, p.high, 0x21)};
}

/* Adds the lanes 4 - skip before; skip is a constant. */
#define ADD_ALIGNED(p, skip)                                               \
    do {                                                                   \
        const lanes far = four_on(p);                                      \
        const __m256i a =                                                  \
            _mm256_alignr_epi8(_mm256_castps_si256((p).low),               \
                               _mm256_castps_si256(far.low), 4 * (skip));  \
        const __m256i b =                                                  \
            _mm256_alignr_epi8(_mm256_castps_si256((p).high),              \
                               _mm256_castps_si256(far.high), 4 * (skip)); \
        (p) = add_lanes(p, (lanes){_mm256_castsi256_ps(a),                 \
                                   _mm256_castsi256_ps(b)});               \
    } while (0)

/* Running sums over the lanes, by 1, 2, 4 and 8 places. */
INLINE lanes running_sums(lanes p)
{
    ADD_ALIGNED(p, 3);
    ADD_ALIGNED(p, 2);
    p = add_lanes(p, four_on(p));
    p.high = _mm256_add_ps(p.high, p.low);
    return p;
}

/* The sum of all lanes, equal to the last running sum to the bit but available
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

/* One bit for each lane. */
INLINE uint32_t bits_of(__m256 low, __m256 high)
{
    return (uint32_t)(_mm256_movemask_ps(low) | _mm256_movemask_ps(high)
                                                    << HALF);
}

/* The first lane with a running sum above u; subtracts the sum before it from
 * u. */
INLINE uint32_t find_lane(lanes p, float *u)
{
    const __m256 all = _mm256_set1_ps(*u);
    _Alignas(32) float sum[LDA_LANES];
    uint32_t lane = (uint32_t)__builtin_popcount(
        bits_of(_mm256_cmp_ps(p.low, all, _CMP_LE_OQ),
                _mm256_cmp_ps(p.high, all, _CMP_LE_OQ)));

    store_lanes(sum, p);
    lane = lane > LDA_LANES - 1 ? LDA_LANES - 1 : lane;
    if (lane > 0)
        *u -= sum[lane - 1];
    return lane;
}

INLINE __m256i eight_numbers(void)
{
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}

INLINE lanes less_from(lanes p, uint32_t lane, float x)
{
    const __m256i before = _mm256_set1_epi32((int)lane - 1);
    const __m256 by = _mm256_set1_ps(x);
    const __m256i low = _mm256_cmpgt_epi32(eight_numbers(), before);
    const __m256i high = _mm256_cmpgt_epi32(
        _mm256_add_epi32(eight_numbers(), _mm256_set1_epi32(HALF)), before);

    p.low = _mm256_sub_ps(p.low, _mm256_and_ps(_mm256_castsi256_ps(low), by));
    p.high =
        _mm256_sub_ps(p.high, _mm256_and_ps(_mm256_castsi256_ps(high), by));
    return p;
}

/* As with AVX-512: stores whole vectors. */
INLINE void put_q(float *q, uint32_t k, float value)
{
    float *at = q + k / HALF * HALF;
    const __m256i lane =
        _mm256_cmpeq_epi32(eight_numbers(), _mm256_set1_epi32((int)(k % HALF)));

    _mm256_storeu_ps(at, _mm256_blendv_ps(_mm256_loadu_ps(at),
                                          _mm256_set1_ps(value),
                                          _mm256_castsi256_ps(lane)));
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

INLINE __m256 is_topic(const uint32_t *list, uint32_t topic)
{
    const __m256i x = _mm256_loadu_si256((const void *)list);

    return _mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0xFFFF)),
                           _mm256_set1_epi32((int)topic)));
}

INLINE uint32_t places_of(const uint32_t *list, uint32_t topic)
{
    return bits_of(is_topic(list, topic), is_topic(list + HALF, topic));
}

INLINE __m256 weigh_eight(const lda_site *s, const uint32_t *list, uint32_t own)
{
    const __m256i x = _mm256_loadu_si256((const void *)list);
    const __m256 n = _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 16));
    const __m256 q =
        _mm256_set_m128(four_of(s->q, list + 4), four_of(s->q, list));

    return _mm256_andnot_ps(is_topic(list, own), _mm256_mul_ps(n, q));
}

INLINE lanes weigh_listed(const lda_site *s, const uint32_t *list, uint32_t own)
{
    return (lanes){weigh_eight(s, list, own), weigh_eight(s, list + HALF, own)};
}

#else

/* Four registers of the compiler's vector types: SSE2 on x86-64, NEON on
 * arm64. */
enum { FOUR = 4, EIGHT = 8 };

typedef float four __attribute__((vector_size(4 * FOUR)));
typedef int32_t four_whole __attribute__((vector_size(4 * FOUR)));
typedef uint32_t four_bits __attribute__((vector_size(4 * FOUR)));
typedef uint16_t four_short __attribute__((vector_size(2 * FOUR)));
typedef uint16_t eight_short __attribute__((vector_size(2 * EIGHT)));

typedef struct lanes {
    four a, b, c, d;
} lanes;

/* Lanes of the vectors x (0 to 3) and y (4 to 7). */
#ifdef __clang__
#define SELECT(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define SELECT(x, y, i, j, k, l) \
    __builtin_shuffle(x, y, (four_whole){i, j, k, l})
#endif

INLINE four four_at(const float *from)
{
    four x;

    memcpy(&x, from, sizeof x);
    return x;
}

INLINE four all_four(float x)
{
    return (four){x, x, x, x};
}

INLINE four_whole four_numbers(void)
{
    return (four_whole){0, 1, 2, 3};
}

/* x in lanes where the mask is set, otherwise 0. */
INLINE four keep_four(four_whole mask, four x)
{
    return (four)((four_whole)x & mask);
}

INLINE lanes zero_lanes(void)
{
    return (lanes){{0}, {0}, {0}, {0}};
}

INLINE lanes all_lanes(float x)
{
    return (lanes){all_four(x), all_four(x), all_four(x), all_four(x)};
}

INLINE lanes load_lanes(const float *from)
{
    return (lanes){four_at(from), four_at(from + FOUR),
                   four_at(from + (size_t)2 * FOUR),
                   four_at(from + (size_t)3 * FOUR)};
}

INLINE void store_lanes(float *to, lanes p)
{
    memcpy(to, &p, sizeof p);
}

INLINE four four_counts(const int32_t *n)
{
    four_whole x;

    memcpy(&x, n, sizeof x);
    return __builtin_convertvector(x, four);
}

INLINE lanes load_counts(const int32_t *n)
{
    return (lanes){four_counts(n), four_counts(n + FOUR),
                   four_counts(n + (size_t)2 * FOUR),
                   four_counts(n + (size_t)3 * FOUR)};
}

INLINE four four_of_row(const uint16_t *n)
{
    four_short x;

    memcpy(&x, n, sizeof x);
    return __builtin_convertvector(__builtin_convertvector(x, four_whole),
                                   four);
}

INLINE lanes row_counts(const uint16_t *n)
{
    return (lanes){four_of_row(n), four_of_row(n + FOUR),
                   four_of_row(n + (size_t)2 * FOUR),
                   four_of_row(n + (size_t)3 * FOUR)};
}

INLINE lanes add_lanes(lanes p, lanes q)
{
    return (lanes){p.a + q.a, p.b + q.b, p.c + q.c, p.d + q.d};
}

INLINE lanes multiply_lanes(lanes p, lanes q)
{
    return (lanes){p.a * q.a, p.b * q.b, p.c * q.c, p.d * q.d};
}

/* The sum of all lanes, added by halves. */
INLINE float sum_of(lanes p)
{
    four x = (p.a + p.c) + (p.b + p.d);

    x += SELECT(x, x, 2, 3, 2, 3);
    return x[0] + x[1];
}

/* Running sums over the lanes, by 1, 2, 4 and 8 places. */
INLINE lanes running_sums(lanes p)
{
    const four none = {0};

    p = add_lanes(p, (lanes){SELECT(none, p.a, 3, 4, 5, 6),
                             SELECT(p.a, p.b, 3, 4, 5, 6),
                             SELECT(p.b, p.c, 3, 4, 5, 6),
                             SELECT(p.c, p.d, 3, 4, 5, 6)});
    p = add_lanes(p, (lanes){SELECT(none, p.a, 2, 3, 4, 5),
                             SELECT(p.a, p.b, 2, 3, 4, 5),
                             SELECT(p.b, p.c, 2, 3, 4, 5),
                             SELECT(p.c, p.d, 2, 3, 4, 5)});
    p = add_lanes(p, (lanes){none, p.a, p.b, p.c});
    return add_lanes(p, (lanes){none, none, p.a, p.b});
}

/* The sum of all lanes, equal to the last running sum to the bit but available
 * sooner. */
INLINE float sum_of_prefix(lanes p)
{
    const four low =
        SELECT(p.a, p.b, 0, 2, 4, 6) + SELECT(p.a, p.b, 1, 3, 5, 7);
    const four high =
        SELECT(p.c, p.d, 0, 2, 4, 6) + SELECT(p.c, p.d, 1, 3, 5, 7);
    const four x =
        SELECT(low, high, 0, 2, 4, 6) + SELECT(low, high, 1, 3, 5, 7);

    return (x[0] + x[1]) + (x[2] + x[3]);
}

/* The first lane with a running sum above u; subtracts the sum before it from
 * u. */
INLINE uint32_t find_lane(lanes p, float *u)
{
    const four all = all_four(*u);
    const four_whole n = (four_whole)(p.a <= all) + (four_whole)(p.b <= all) +
                         (four_whole)(p.c <= all) + (four_whole)(p.d <= all);
    uint32_t lane = (uint32_t) - (n[0] + n[1] + n[2] + n[3]);
    float sum[LDA_LANES];

    store_lanes(sum, p);
    lane = lane > LDA_LANES - 1 ? LDA_LANES - 1 : lane;
    if (lane > 0)
        *u -= sum[lane - 1];
    return lane;
}

/* Subtracts x from all lanes from `lane` on. */
INLINE lanes less_from(lanes p, uint32_t lane, float x)
{
    const four_whole k = four_numbers();
    const int32_t from = (int32_t)lane - 1;
    const four by = all_four(x);

    return (lanes){p.a - keep_four(k > from, by),
                   p.b - keep_four(k > from - FOUR, by),
                   p.c - keep_four(k > from - 2 * FOUR, by),
                   p.d - keep_four(k > from - 3 * FOUR, by)};
}

/* As with AVX-512: stores whole vectors. */
INLINE void put_q(float *q, uint32_t k, float value)
{
    float *at = q + (size_t)(k / FOUR) * FOUR;
    const four_whole lane = four_numbers() == (int32_t)(k % FOUR);
    const four x = (four)((~lane & (four_whole)four_at(at)) |
                          (lane & (four_whole)all_four(value)));

    memcpy(at, &x, sizeof x);
}

INLINE void add_to_row(uint16_t *row, uint32_t k, int16_t by)
{
    const eight_short numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    uint16_t *at = row + (size_t)(k / EIGHT) * EIGHT;
    eight_short x;

    memcpy(&x, at, sizeof x);
    x += (eight_short)(numbers == (uint16_t)(k % EIGHT)) & (uint16_t)by;
    memcpy(at, &x, sizeof x);
}

INLINE four_whole four_listed(const uint32_t *list)
{
    four_whole x;

    memcpy(&x, list, sizeof x);
    return x;
}

/* The bits `from` of the entries of four that have the topic. */
INLINE four_whole four_places(const uint32_t *list, uint32_t topic,
                              int32_t from)
{
    const four_whole bit = {1, 2, 4, 8};

    return ((four_listed(list) & 0xFFFF) == (int32_t)topic) & (bit << from);
}

/* A mask of the entries of sixteen that have the topic. */
INLINE uint32_t places_of(const uint32_t *list, uint32_t topic)
{
    const four_whole x = four_places(list, topic, 0) |
                         four_places(list + FOUR, topic, FOUR) |
                         four_places(list + (size_t)2 * FOUR, topic, 2 * FOUR) |
                         four_places(list + (size_t)3 * FOUR, topic, 3 * FOUR);

    return (uint32_t)(x[0] | x[1] | x[2] | x[3]);
}

INLINE four weigh_four(const lda_site *s, const uint32_t *list, uint32_t own)
{
    const four_whole x = four_listed(list);
    const four_whole n = (four_whole)((four_bits)x >> 16);
    const four q = {s->q[list[0] & 0xFFFF], s->q[list[1] & 0xFFFF],
                    s->q[list[2] & 0xFFFF], s->q[list[3] & 0xFFFF]};

    return keep_four((x & 0xFFFF) != (int32_t)own,
                     __builtin_convertvector(n, four) * q);
}

/* The weights of sixteen topics of a list; 0 for the own topic. */
INLINE lanes weigh_listed(const lda_site *s, const uint32_t *list, uint32_t own)
{
    return (lanes){weigh_four(s, list, own), weigh_four(s, list + FOUR, own),
                   weigh_four(s, list + (size_t)2 * FOUR, own),
                   weigh_four(s, list + (size_t)3 * FOUR, own)};
}

#endif

#endif
