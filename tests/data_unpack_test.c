/* The decoders of row gaps: all versions against each other and against a
 * decoder of single bits, for every width, length and place in a byte; and rows
 * beyond the end. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/unpack.h"

enum { CODES_MOST = 70, BYTES = CODES_MOST * 4 + STI_UNPACK_OVERREAD };

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Packs n random codes, and returns the row after the last of them. */
static uint64_t pack_codes(uint8_t *to, uint64_t n, unsigned bits,
                           uint64_t next, uint32_t *row, uint64_t *seed)
{
    memset(to, 0xff, BYTES); /* what follows the codes does not matter */
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t code = next_random(seed) & ((1u << bits) - 1);
        for (unsigned b = 0; b < bits; b++) {
            const uint64_t at = k * bits + b;
            to[at / 8] = (uint8_t)(to[at / 8] & ~(1u << at % 8));
            to[at / 8] |= (uint8_t)((code >> b & 1) << at % 8);
        }
        row[k] = (uint32_t)(next + code);
        next = (uint64_t)row[k] + 1;
    }
    return next;
}

/* One version against the packed codes; at the last row that fits and one
 * short of it. */
static void check_version(sti_unpack_rows *unpack)
{
    uint64_t seed = 7;
    uint8_t codes[BYTES];
    uint32_t row[CODES_MOST], found[CODES_MOST];
    for (unsigned bits = 0; bits <= STI_UNPACK_BITS_MAX; bits++)
        for (uint64_t n = 0; n <= CODES_MOST; n++) {
            const uint64_t first = next_random(&seed) % 1000;
            const uint64_t end = pack_codes(codes, n, bits, first, row, &seed);
            const sti_unpack_range fits = {first, end};
            memset(found, 0, sizeof found);
            cr_assert_eq(unpack(codes, n, bits, fits, found), end);
            cr_assert_eq(memcmp(found, row, n * sizeof *row), 0,
                         "%u bits, %u codes", bits, (unsigned)n);
            const sti_unpack_range tight = {first, end - 1};
            if (n > 0)
                cr_assert_eq(unpack(codes, n, bits, tight, found),
                             STI_UNPACK_BAD, "%u bits, %u codes", bits,
                             (unsigned)n);
        }
}

/* Rows that pass 2^32 do not come back to small ones. */
static void check_wrap(sti_unpack_rows *unpack)
{
    uint8_t codes[4096];
    uint32_t row[1000];
    memset(codes, 0xff, sizeof codes);
    for (uint64_t first = UINT32_MAX - 3000; first < UINT32_MAX - 2;
         first += 17)
        for (unsigned bits = 1; bits <= STI_UNPACK_BITS_MAX; bits++) {
            const sti_unpack_range range = {first, UINT32_MAX - 1};
            const uint64_t n = 1000;
            const uint64_t end = first + n * ((UINT64_C(1) << bits));
            cr_assert_eq(unpack(codes, n, bits, range, row),
                         end <= range.rows ? end : STI_UNPACK_BAD,
                         "%u bits from %llu", bits, (unsigned long long)first);
        }
}

Test(data_unpack, all_versions_decode_the_same_rows)
{
    sti_unpack_rows *const version[] = {sti_unpack_portable, sti_unpack_avx2(),
                                        sti_unpack_avx512(), sti_unpack_neon(),
                                        sti_unpack_best()};
    for (size_t k = 0; k < sizeof version / sizeof *version; k++)
        if (version[k] != NULL) {
            check_version(version[k]);
            check_wrap(version[k]);
        }
}
