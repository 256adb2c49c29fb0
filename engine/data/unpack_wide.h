/* The decoder of row gaps for registers of 32 or 64 bytes, compiled once for
 * AVX2 and once for AVX-512. A register is two or four quarters of 16 bytes; a
 * quarter takes four codes, which span at most 4 + 3 x 25 + 25 bits of it. A
 * byte shuffle brings each code into a lane of its own, a shift and a mask
 * leave the code, and a prefix sum makes rows of gaps. */
#ifndef UNPACK_WIDE_H
#define UNPACK_WIDE_H

#include <immintrin.h>

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

#else

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
