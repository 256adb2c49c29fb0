/* The scan of packed columns for registers of 32 or 64 bytes, compiled once for
 * AVX2 and once for AVX-512, on top of the decoder of row gaps. Rows stay in a
 * register and are gathered at once. */
#ifndef SCAN_WIDE_H
#define SCAN_WIDE_H

#include "engine/data/scan_slow.h"
#include "engine/data/unpack_wide.h"

#ifdef __AVX512F__

typedef __m512 reals;
#define reals_zero _mm512_setzero_ps
#define reals_add _mm512_add_ps
#define reals_fma _mm512_fmadd_ps
#define reals_sum _mm512_reduce_add_ps

/* Which lanes are entries: codes that are no skips, of the first n. */
typedef __mmask16 lanes_mask;

static inline lanes_mask lanes_entries(lanes code, lanes skip, uint64_t n)
{
    const lanes_mask there =
        (lanes_mask)(n >= 16 ? 0xffff : (1U << (unsigned)n) - 1);
    return _mm512_mask_cmpneq_epi32_mask(there, code, skip);
}

static inline unsigned lanes_count(lanes_mask m)
{
    return (unsigned)__builtin_popcount(m);
}

static inline lanes lanes_steps(lanes code, lanes_mask entries)
{
    return _mm512_mask_add_epi32(code, entries, code, _mm512_set1_epi32(1));
}

static inline bool lanes_below(lanes row, lanes rows, lanes_mask m)
{
    return _mm512_mask_cmpge_epu32_mask(m, row, rows) == 0;
}

/* Without optimisation this is a macro of gcc that converts the mask. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
static inline reals lanes_gather(const float *v, lanes row, lanes_mask m)
{
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, row, v, 4);
}
#pragma GCC diagnostic pop

/* The values of the entries, in their lanes. */
static inline reals values_bytes(const uint8_t *at, const float *table,
                                 lanes_mask m)
{
    const __m512i byte = _mm512_cvtepu8_epi32(
        _mm_loadu_si128((const __m128i *)(const void *)at));
    return lanes_gather(table, _mm512_maskz_expand_epi32(m, byte), m);
}

static inline reals values_floats(const float *at, lanes_mask m)
{
    return _mm512_maskz_expand_ps(m, _mm512_loadu_ps(at));
}

/* Entries in any lanes are handled. */
static inline bool lanes_handles(lanes_mask m, uint64_t n)
{
    (void)m, (void)n;
    return true;
}

static inline uint32_t lanes_last(lanes x)
{
    return (uint32_t)_mm_extract_epi32(_mm512_extracti32x4_epi32(x, 3), 3);
}

#else

typedef __m256 reals;
#define reals_zero _mm256_setzero_ps
#define reals_add _mm256_add_ps
#define reals_fma _mm256_fmadd_ps

static inline float reals_sum(reals x)
{
    __m128 s =
        _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

typedef __m256i lanes_mask; /* all bits of a lane, or none */

static inline lanes_mask lanes_entries(lanes code, lanes skip, uint64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i there =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n > 8 ? 8 : (int)n), lane);
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(code, skip), there);
}

static inline unsigned lanes_bits(lanes_mask m)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}

static inline unsigned lanes_count(lanes_mask m)
{
    return (unsigned)__builtin_popcount(lanes_bits(m));
}

static inline lanes lanes_steps(lanes code, lanes_mask entries)
{
    return _mm256_sub_epi32(code, entries); /* a full lane is -1 */
}

static inline bool lanes_below(lanes row, lanes rows, lanes_mask m)
{
    const __m256i good =
        _mm256_and_si256(_mm256_cmpgt_epi32(rows, row),
                         _mm256_cmpgt_epi32(row, _mm256_set1_epi32(-1)));
    return lanes_bits(_mm256_andnot_si256(good, m)) == 0;
}

static inline reals lanes_gather(const float *v, lanes row, lanes_mask m)
{
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), v, row,
                                    _mm256_castsi256_ps(m), 4);
}

static inline reals values_bytes(const uint8_t *at, const float *table,
                                 lanes_mask m)
{
    const __m256i byte = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64((const __m128i *)(const void *)at));
    return lanes_gather(table, byte, m);
}

static inline reals values_floats(const float *at, lanes_mask m)
{
    return _mm256_and_ps(_mm256_loadu_ps(at), _mm256_castsi256_ps(m));
}

/* Values lie in the lanes of their codes only if no skip precedes them. */
static inline bool lanes_handles(lanes_mask m, uint64_t n)
{
    const unsigned there = n >= 8 ? 0xff : (1U << (unsigned)n) - 1;
    return lanes_bits(m) == there;
}

static inline uint32_t lanes_last(lanes x)
{
    return (uint32_t)_mm256_extract_epi32(x, 7);
}

#endif

/* What stays the same for all columns of a chunk. */
typedef struct scan_constants {
    lanes place, shift, mask, skip, rows;
    uint64_t quarter[4];
} scan_constants;

static inline scan_constants find_constants(const sti_scan_chunk *c)
{
    const lane_places p = find_places(c->bits);
    return (scan_constants){.place = lanes_load(p.byte),
                            .shift = lanes_load(p.shift),
                            .mask =
                                lanes_all((int)((UINT32_C(1) << c->bits) - 1)),
                            .skip = lanes_all((int)scan_skip(c->bits)),
                            .rows = lanes_all((int)c->rows),
                            .quarter = {p.quarter[0], p.quarter[1],
                                        p.quarter[2], p.quarter[3]}};
}

static inline lanes load_codes(const scan_constants *k, const uint8_t *codes)
{
    const uint8_t *const from[4] = {codes + k->quarter[0],
                                    codes + k->quarter[1],
                                    codes + k->quarter[2],
                                    codes + k->quarter[3]};
    const lanes bytes =
        lanes_shuffle_bytes(lanes_load_quarters(from), k->place);
    return lanes_and(lanes_shift_right(bytes, k->shift), k->mask);
}

static inline bool scan_column(const sti_scan_chunk *c, const scan_constants *k,
                               uint32_t j, const uint8_t *codes, const float *v,
                               float *dot)
{
    const uint64_t end = c->start[j + 1];
    uint64_t left = end - c->start[j] + c->skips[j];
    scan_place at = {.next = c->next_row, .entry = c->start[j]};
    reals sum = reals_zero();
    while (left > 0) {
        const uint64_t n = left < UNPACK_LANES ? left : UNPACK_LANES;
        const lanes code = load_codes(k, codes);
        const lanes_mask m = lanes_entries(code, k->skip, n);
        codes += (uint64_t)c->bits * UNPACK_LANES / 8;
        left -= n;
        if (!lanes_handles(m, n)) {
            const uint8_t *again = codes - (uint64_t)c->bits * UNPACK_LANES / 8;
            if (!scan_codes(c, again, 0, n, end, &at, v))
                return false;
            continue;
        }
        /* row = next - 1 + the steps so far */
        const lanes step = lanes_prefix(lanes_steps(code, m));
        const lanes row = lanes_add(step, lanes_all((int)at.next - 1));
        if (at.entry + lanes_count(m) > end || !lanes_below(row, k->rows, m))
            return false;
        const reals there = lanes_gather(v, row, m);
        if (c->values == STI_SCAN_EQUAL)
            sum = reals_add(sum, there);
        else if (c->values == STI_SCAN_BYTES)
            sum =
                reals_fma(there, values_bytes(c->bytes + at.entry, c->table, m),
                          sum);
        else
            sum = reals_fma(there, values_floats(c->narrow + at.entry, m), sum);
        at.entry += lanes_count(m);
        at.next = at.next + lanes_last(step);
    }
    *dot = scan_total(&at) +
           reals_sum(sum) * (c->values == STI_SCAN_EQUAL ? c->table[0] : 1);
    return at.entry == end;
}

/* A register spans less than 2^30 rows and next stays below 2^31, so no sum
 * wraps around unnoticed. */
static bool scan_wide(const sti_scan_chunk *c, const float *v, float *dot)
{
    const scan_constants k = find_constants(c);
    const uint8_t *gaps = c->gaps;
    for (uint32_t j = 0; j < c->cols; j++) {
        if (!scan_column(c, &k, j, gaps, v, &dot[j]))
            return false;
        gaps +=
            ((c->start[j + 1] - c->start[j] + c->skips[j]) * c->bits + 7) / 8;
    }
    return true;
}

#endif
