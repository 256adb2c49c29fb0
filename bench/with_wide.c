/* A pack of known origin, far wider than memory if need be:
 *
 *   with_wide ROWS COLUMNS ENTRIES SEED OUT.pack
 *
 * A column has about ENTRIES entries, in rows at random: gaps are geometric.
 * Values are multiples of 1/64 between -2 and 2. Labels are X w plus standard
 * normal noise, where 200 evenly spaced coefficients are 2 to 4 in size and all
 * others are 0. The same arguments give the same bytes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/ending.h"
#include "engine/base/random.h"
#include "engine/data/pack_format.h"

enum { GAPS = 1 << 16, SUPPORT = 200, VALUES = 254 };

typedef struct wide {
    uint64_t rows, cols, seed;
    uint32_t gap[GAPS]; /* quantiles of the gaps */
    uint32_t *row;
    double *value;
    double *label;
} wide;

static uint64_t scramble(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Marsaglia's xorshift: good enough for data, and a fifth of the time. */
static uint64_t next_bits(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static uint64_t draw_column(wide *w, uint64_t j)
{
    uint64_t state = scramble(2 * j + w->seed) | 1, n = 0;
    for (uint64_t row = 0;; row++) {
        const uint64_t bits = next_bits(&state);
        row += w->gap[bits % GAPS];
        if (row >= w->rows)
            return n;
        const int code = (int)(bits >> 20 & 0xffff) * VALUES / 65536;
        w->row[n] = (uint32_t)row;
        w->value[n++] =
            (code < VALUES / 2 ? code - VALUES / 2 : code - VALUES / 2 + 1) /
            64.0;
    }
}

static void add_to_labels(wide *w, uint64_t j, uint64_t n)
{
    const uint64_t every = w->cols / SUPPORT > 0 ? w->cols / SUPPORT : 1;
    if (j % every != every / 2)
        return;
    const uint64_t bits = scramble(j + w->seed * 3);
    const double size = 2 + 2 * sti_random_to_unit(bits);
    for (uint64_t e = 0; e < n; e++)
        w->label[w->row[e]] += (bits & 1 ? size : -size) * w->value[e];
}

static void add_noise(wide *w)
{
    for (uint64_t i = 0; i < w->rows; i++) {
        const double u = 1 - sti_random_to_unit(scramble(2 * i + w->seed * 5));
        const double v = sti_random_to_unit(scramble(2 * i + 1 + w->seed * 5));
        w->label[i] += sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        (void)fputs("with_wide ROWS COLUMNS ENTRIES SEED OUT.pack\n", stderr);
        return 2;
    }
    wide *w = bench_reserve(1, sizeof *w);
    sti_packer *packer = NULL;
    w->rows = strtoull(argv[1], NULL, 10);
    w->cols = strtoull(argv[2], NULL, 10);
    w->seed = strtoull(argv[4], NULL, 10);
    const double mean = (double)w->rows / strtod(argv[3], NULL);
    for (uint32_t k = 0; k < GAPS; k++) {
        const double u = (k + .5) / GAPS;
        w->gap[k] = (uint32_t)(log1p(-u) / log1p(-1 / mean));
    }
    w->row = bench_reserve(w->rows, sizeof *w->row);
    w->value = bench_reserve(w->rows, sizeof *w->value);
    w->label = bench_reserve(w->rows, sizeof *w->label);
    bench_check(sti_packer_open(argv[5], w->rows, STRADS_PACK_EXACT, &packer));
    for (uint64_t j = 0; j < w->cols; j++) {
        const uint64_t n = draw_column(w, j);
        add_to_labels(w, j, n);
        bench_check(sti_packer_add(packer, n, w->row, w->value));
    }
    add_noise(w);
    const sti_pack_extras extras = {.label = w->label};
    strads_pack_result result = {.size = sizeof result};
    bench_check(sti_packer_close(packer, &extras, &result));
    (void)printf("%llu rows, %llu columns, %llu entries, %llu bytes\n",
                 (unsigned long long)result.rows,
                 (unsigned long long)result.cols,
                 (unsigned long long)result.nnz,
                 (unsigned long long)result.file_bytes);
    return 0;
}
