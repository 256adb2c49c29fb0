/* One code after the other: for the portable scan, and for the wide ones where
 * they meet a skip. */
#ifndef SCAN_SLOW_H
#define SCAN_SLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/byte_order.h"
#include "engine/data/scan.h"

/* Progress within a column. Several sums keep the rounding of a long column
 * small (strads_pack_reader_dots has the bound). */
enum { SCAN_SUMS = 16 };
typedef struct scan_place {
    uint64_t next;  /* the row from which the next gap counts */
    uint64_t entry; /* the next one of the chunk */
    float sum[SCAN_SUMS];
} scan_place;

static inline float scan_total(const scan_place *at)
{
    float total = 0;
    for (int k = 0; k < SCAN_SUMS; k++)
        total += at->sum[k];
    return total;
}

static inline float scan_value(const sti_scan_chunk *c, uint64_t entry)
{
    return c->values == STI_SCAN_EQUAL   ? c->table[0]
           : c->values == STI_SCAN_BYTES ? c->table[c->bytes[entry]]
                                         : c->narrow[entry];
}

/* The code of a skip; codes of 0 bits have none. */
static inline uint32_t scan_skip(unsigned bits)
{
    return bits > 0 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
}

/* Adds the entries of the codes that begin at this bit, and that are at most
 * `end` of the chunk. False: a row or an entry is out of range. */
static inline bool scan_codes(const sti_scan_chunk *c, const uint8_t *gaps,
                              uint64_t bit, uint64_t codes, uint64_t end,
                              scan_place *at, const float *v)
{
    const uint32_t mask = (UINT32_C(1) << c->bits) - 1;
    const uint32_t skip = scan_skip(c->bits);
    for (; codes > 0; codes--, bit += c->bits) {
        uint32_t window;
        memcpy(&window, gaps + (bit >> 3), sizeof window);
        const uint32_t code = (le32toh(window) >> (bit & 7)) & mask;
        at->next += code;
        if (code == skip)
            continue;
        if (at->next >= c->rows || at->entry >= end)
            return false;
        at->sum[at->entry % SCAN_SUMS] +=
            v[at->next++] * scan_value(c, at->entry);
        at->entry++;
    }
    return true;
}

#endif
