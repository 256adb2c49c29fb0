/* The scans of packed columns: the versions for AVX2 and AVX-512 give the
 * products of the portable one, and all refuse rows out of range. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/scan.h"

enum { ROWS = 5000, COLS = 60, BYTES = 1 << 20 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 33) % below;
}

/* A chunk in the form of the file, and the products by definition. */
typedef struct packed {
    uint8_t *gaps;
    uint64_t start[COLS + 1];
    uint32_t skips[COLS];
    uint8_t *bytes;
    float table[256], *narrow, v[ROWS + 16];
    double dot[COLS], size[COLS];
} packed;

static void put_code(packed *p, uint64_t *bit, unsigned bits, uint32_t code)
{
    for (unsigned k = 0; k < bits; k++, ++*bit)
        if (code >> k & 1)
            p->gaps[*bit / 8] |= (uint8_t)(1 << *bit % 8);
}

static sti_scan_chunk make_chunk(packed *p, unsigned bits,
                                 sti_scan_values values)
{
    const uint32_t skip = bits > 0 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
    uint64_t bit = 0, n = 0;
    p->gaps = calloc(BYTES, 1);
    p->bytes = calloc(BYTES, 1);
    p->narrow = calloc(BYTES, sizeof *p->narrow);
    for (int k = 0; k < 256; k++)
        p->table[k] = (float)(k - 100) / 64;
    for (int i = 0; i < ROWS; i++)
        p->v[i] = (float)sin(i);
    for (int j = 0; j < COLS; j++) {
        const uint64_t most = draw(4) == 0 ? draw(3) : draw(900);
        uint64_t row = 0, m = 0;
        p->skips[j] = 0;
        p->dot[j] = p->size[j] = 0;
        for (bit = (bit + 7) / 8 * 8; m < most; m++) {
            uint64_t gap = bits == 0 ? 0 : draw(draw(9) == 0 ? 400 : 4);
            if (row + gap >= ROWS)
                break;
            row += gap;
            for (; gap >= skip; gap -= skip, p->skips[j]++)
                put_code(p, &bit, bits, skip);
            put_code(p, &bit, bits, (uint32_t)gap);
            p->bytes[n] = (uint8_t)draw(256);
            p->narrow[n] = (float)cos((double)n);
            const float x = values == STI_SCAN_EQUAL   ? p->table[0]
                            : values == STI_SCAN_BYTES ? p->table[p->bytes[n]]
                                                       : p->narrow[n];
            p->dot[j] += (double)x * (double)p->v[row];
            p->size[j] += fabs((double)x * (double)p->v[row]);
            row++;
            n++;
        }
        p->start[j + 1] = n;
    }
    return (sti_scan_chunk){.cols = COLS,
                            .bits = bits,
                            .rows = ROWS,
                            .gaps = p->gaps,
                            .start = p->start,
                            .skips = p->skips,
                            .values = values,
                            .bytes = p->bytes,
                            .table = p->table,
                            .narrow = p->narrow};
}

static void expect_scan(const packed *p, const sti_scan_chunk *c,
                        sti_scan_columns *scan)
{
    float dot[COLS];
    cr_assert(scan(c, p->v, dot));
    for (int j = 0; j < COLS; j++) {
        const double n = (double)(p->start[j + 1] - p->start[j]);
        cr_assert_leq(fabs((double)dot[j] - p->dot[j]),
                      0x1p-23 * (n / 8 + 18) * p->size[j] + 1e-30,
                      "column %d: %g, expected %g", j, (double)dot[j],
                      p->dot[j]);
    }
    /* One row less, or one entry more, is out of range. */
    sti_scan_chunk less = *c;
    uint64_t start[COLS + 1];
    memcpy(start, p->start, sizeof start);
    less.rows = 2;
    cr_assert_not(scan(&less, p->v, dot));
    less.rows = ROWS;
    less.start = start;
    start[COLS]++;
    less.skips = (uint32_t[COLS]){0};
    if (c->bits == 3)
        cr_assert_not(scan(&less, p->v, dot));
}

Test(data_scan, all_versions_give_the_products_by_definition)
{
    sti_scan_columns *const version[] = {sti_scan_portable, sti_scan_avx2(),
                                         sti_scan_avx512()};
    for (unsigned bits = 0; bits <= 25; bits++)
        for (int values = 0; values < 3; values++) {
            packed p = {.gaps = NULL};
            state = bits * 10 + (unsigned)values;
            const sti_scan_chunk c =
                make_chunk(&p, bits, (sti_scan_values)values);
            for (int k = 0; k < 3; k++)
                if (version[k])
                    expect_scan(&p, &c, version[k]);
            free(p.gaps);
            free(p.bytes);
            free(p.narrow);
        }
}
