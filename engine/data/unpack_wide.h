/* The decoder of row gaps for vectors of 32 or 64 bytes, compiled once for
 * AVX2, AVX-512 and NEON. A vector is two or four quarters of 16 bytes, with
 * NEON two registers. A quarter takes four codes, which span at most 4 + 3 x 25
 * + 25 bits of it. A byte shuffle brings each code into a lane of its own, a
 * shift and a mask leave the code, and a prefix sum makes rows of gaps. */
#ifndef UNPACK_WIDE_H
#define UNPACK_WIDE_H

#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include "engine/data/unpack.h"

#ifdef __AVX512F__

enum { UNPACK_LANES = 16 };
typedef __m512i lanes;

#define lanes_all _mm512_set1_epi32
#define lanes_load(from) _mm512_loadu_si512((const void *)(from))
#define lanes_store(to, x) _mm512_storeu_si512((void *)(to), x)
#define lanes_add _mm512_add_epi32
#define lanes_and _mm512_and_si512
#define lanes_shift_right _mm512_srlv_epi32
#define lanes_shuffle_bytes _mm512_shuffle_epi8

static inline lanes lanes_load_quarters(const uint8_t *const from[4])
{
    const __m512i low = _mm512_castsi128_si512(
        _mm_loadu_si128((const __m128i *)(const void *)from[0]));
    __m512i all = _mm512_inserti32x4(
        low, _mm_loadu_si128((const __m128i *)(const void *)from[1]), 1);
    all = _mm512_inserti32x4(
        all, _mm_loadu_si128((const __m128i *)(const void *)from[2]), 2);
    return _mm512_inserti32x4(
        all, _mm_loadu_si128((const __m128i *)(const void *)from[3]), 3);
}

/* Lane k becomes the sum of lanes 0 to k. */
static inline lanes lanes_prefix(lanes x)
{
    const __m512i zero = _mm512_setzero_si512();
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
    return _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
}

#elif defined(__AVX2__)

enum { UNPACK_LANES = 8 };
typedef __m256i lanes;

#define lanes_all _mm256_set1_epi32
#define lanes_load(from) \
    _mm256_loadu_si256((const __m256i *)(const void *)(from))
#define lanes_store(to, x) _mm256_storeu_si256((__m256i *)(void *)(to), x)
#define lanes_add _mm256_add_epi32
#define lanes_and _mm256_and_si256
#define lanes_shift_right _mm256_srlv_epi32
#define lanes_shuffle_bytes _mm256_shuffle_epi8

static inline lanes lanes_load_quarters(const uint8_t *const from[4])
{
    return _mm256_set_m128i(
        _mm_loadu_si128((const __m128i *)(const void *)from[1]),
        _mm_loadu_si128((const __m128i *)(const void *)from[0]));
}

static inline lanes lanes_prefix(lanes x)
{
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
    /* The upper half lacks the sum of the lower one, its last lane. */
    const __m256i last = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(3));
    return _mm256_add_epi32(x, _mm256_blend_epi32(_mm256_setzero_si256(), last,
                                                  0xf0));
}

#else

enum { UNPACK_LANES = 8 };

typedef struct lanes {
    int32x4_t low, high;
} lanes;

static inline lanes lanes_all(int x)
{
    return (lanes){vdupq_n_s32(x), vdupq_n_s32(x)};
}

static inline lanes lanes_load(const void *from)
{
    const int32_t *at = from;
    return (lanes){vld1q_s32(at), vld1q_s32(at + 4)};
}

static inline void lanes_store(void *to, lanes x)
{
    int32_t *at = to;
    vst1q_s32(at, x.low);
    vst1q_s32(at + 4, x.high);
}

static inline lanes lanes_add(lanes a, lanes b)
{
    return (lanes){a.low + b.low, a.high + b.high};
}

static inline lanes lanes_and(lanes a, lanes b)
{
    return (lanes){a.low & b.low, a.high & b.high};
}

static inline int32x4_t shift_right(int32x4_t x, int32x4_t by)
{
    return vreinterpretq_s32_u32(
        vshlq_u32(vreinterpretq_u32_s32(x), vnegq_s32(by)));
}

static inline lanes lanes_shift_right(lanes x, lanes by)
{
    return (lanes){shift_right(x.low, by.low), shift_right(x.high, by.high)};
}

static inline int32x4_t shuffle_bytes(int32x4_t x, int32x4_t place)
{
    return vreinterpretq_s32_u8(
        vqtbl1q_u8(vreinterpretq_u8_s32(x), vreinterpretq_u8_s32(place)));
}

static inline lanes lanes_shuffle_bytes(lanes x, lanes place)
{
    return (lanes){shuffle_bytes(x.low, place.low),
                   shuffle_bytes(x.high, place.high)};
}

static inline lanes lanes_load_quarters(const uint8_t *const from[4])
{
    return (lanes){vreinterpretq_s32_u8(vld1q_u8(from[0])),
                   vreinterpretq_s32_u8(vld1q_u8(from[1]))};
}

static inline int32x4_t prefix_of_four(int32x4_t x)
{
    const int32x4_t zero = vdupq_n_s32(0);
    x += vextq_s32(zero, x, 3);
    return x + vextq_s32(zero, x, 2);
}

static inline lanes lanes_prefix(lanes x)
{
    const int32x4_t low = prefix_of_four(x.low);
    return (lanes){low, prefix_of_four(x.high) + vdupq_laneq_s32(low, 3)};
}

#endif

/* Where the codes of a register are in the bytes that were loaded for it. */
typedef struct lane_places {
    uint8_t byte[4 * UNPACK_LANES]; /* for the shuffle, within a quarter */
    uint32_t shift[UNPACK_LANES];
    uint64_t quarter[4]; /* the first byte of each quarter */
} lane_places;

static inline lane_places find_places(unsigned bits)
{
    lane_places p = {.quarter = {0}};
    for (unsigned k = 0; k < UNPACK_LANES; k++) {
        const unsigned first = k / 4 * 4 * bits; /* bit of its quarter */
        const unsigned bit = first % 8 + k % 4 * bits;
        p.quarter[k / 4] = first / 8;
        p.shift[k] = bit % 8;
        for (unsigned i = 0; i < 4; i++)
            p.byte[4 * k + i] = (uint8_t)(bit / 8 + i);
    }
    return p;
}

/* A register spans less than 2^30 rows, so a row that wraps around is below the
 * one before, and the last lane alone shows that all rows are in range. */
static inline uint64_t unpack_wide(const uint8_t *codes, uint64_t n,
                                   unsigned bits, sti_unpack_range range,
                                   uint32_t *row)
{
    const lane_places p = find_places(bits);
    const lanes place = lanes_load(p.byte), shift = lanes_load(p.shift);
    const lanes mask = lanes_all((int)((UINT32_C(1) << bits) - 1));
    uint64_t k = 0;
    for (; k + UNPACK_LANES <= n; k += UNPACK_LANES) {
        const uint8_t *const from[4] = {codes + p.quarter[0],
                                        codes + p.quarter[1],
                                        codes + p.quarter[2],
                                        codes + p.quarter[3]};
        const lanes bytes =
            lanes_shuffle_bytes(lanes_load_quarters(from), place);
        const lanes code = lanes_and(lanes_shift_right(bytes, shift), mask);
        /* row = next - 1 + sum of (code + 1) */
        const lanes sum = lanes_prefix(lanes_add(code, lanes_all(1)));
        lanes_store(row + k, lanes_add(sum, lanes_all((int)range.next - 1)));
        const uint32_t last = row[k + UNPACK_LANES - 1];
        if (last < range.next || last >= range.rows)
            return STI_UNPACK_BAD;
        range.next = (uint64_t)last + 1;
        codes += (uint64_t)bits * UNPACK_LANES / 8;
    }
    return sti_unpack_portable(codes, n - k, bits, range, row + k);
}

#endif
