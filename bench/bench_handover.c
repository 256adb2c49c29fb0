/* Handing over a matrix in memory: the time and memory of
 * strads_data_from_arrays, with the options of a fit by the program glm.
 *
 *   bench_handover [--json]
 *
 * For each kind: the median of ROUNDS calls in processor time, as GB/s of the
 * matrix X, and the memory that the data set takes, in multiples of X. The
 * first line is the floor: memcpy into fresh memory. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measuring.h"
#include "strads/engine.h"
#include "strads/glm.h"

enum { ROUNDS = 7 };

typedef struct kind {
    const char *name;
    uint64_t rows, cols;
    double density; /* of values that are not 0 */
    bool sparse, by_row;
    strads_scalar values;
} kind;

static const kind kinds[] = {
    {"columns, f64", 200000, 100, 1, false, false, STRADS_F64},
    {"rows, f64", 200000, 100, 1, false, true, STRADS_F64},
    {"columns, f32", 200000, 100, 1, false, false, STRADS_F32},
    {"rows, f32", 200000, 100, 1, false, true, STRADS_F32},
    {"columns, f64, 1/5 not 0", 12000, 784, .2, false, false, STRADS_F64},
    {"rows, f64, 1/5 not 0", 12000, 784, .2, false, true, STRADS_F64},
    {"CSC, lent", 200000, 2000, .02, true, false, STRADS_F64},
    {"CSR", 200000, 2000, .02, true, true, STRADS_F64},
};

static uint64_t drawn(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static double *make_values(const kind *k, uint64_t n)
{
    double *f64 = malloc((n + 16) * sizeof *f64);
    float *f32 = (float *)f64;
    uint64_t state = 1;
    for (uint64_t i = 0; f64 && i < n; i++) {
        const double u = (double)(drawn(&state) % 1000000 + 1) / 1e6;
        const bool zero = !k->sparse && u > k->density;
        if (k->values == STRADS_F32)
            f32[i] = zero ? 0 : (float)u;
        else
            f64[i] = zero ? 0 : u;
    }
    return f64;
}

/* Lines of equal length, with gaps of 1 to 2 / density - 1. */
static uint64_t make_indices(const kind *k, uint64_t lines, uint64_t minors,
                             uint64_t *start, uint32_t *index)
{
    const uint64_t most = (uint64_t)(2 / k->density) - 1;
    uint64_t n = 0, state = 2;
    start[0] = 0;
    for (uint64_t j = 0; j < lines; j++) {
        for (uint64_t i = drawn(&state) % most; i < minors;
             i += 1 + drawn(&state) % most)
            index[n++] = (uint32_t)i;
        start[j + 1] = n;
    }
    return n;
}

static bool measure(const kind *k, bool json)
{
    const uint64_t lines = k->by_row ? k->rows : k->cols;
    const uint64_t minors = k->by_row ? k->cols : k->rows;
    const uint64_t cells = k->rows * k->cols;
    const uint64_t most = k->sparse ? cells / 20 : cells;
    uint64_t *start = malloc((lines + 1) * sizeof *start);
    uint32_t *index = malloc((k->sparse ? most : 1) * sizeof *index);
    uint64_t n = cells;
    if (start && index && k->sparse)
        n = make_indices(k, lines, minors, start, index);
    double *value = make_values(k, n);
    double *label = calloc(k->rows, sizeof *label);
    const size_t width = k->values == STRADS_F32 ? 4 : 8;
    const double size = (double)(n * (width + (k->sparse ? 4 : 0)));
    const strads_arrays a = {.size = sizeof a,
                             .rows = k->rows,
                             .cols = k->cols,
                             .by_row = k->by_row,
                             .borrow = true,
                             .start = k->sparse ? start : NULL,
                             .starts = STRADS_I64,
                             .index = index,
                             .indices = STRADS_I32,
                             .value = value,
                             .values = k->values,
                             .label = label};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 1,
                                          .partitions = 1};
    strads_data_options cut = {.size = sizeof cut};
    double seconds[ROUNDS], bytes = 0;
    bool good = start && index && value && label &&
                !strads_run_cut(&strads_program_glm, NULL, &engine, &cut);
    for (int round = 0; good && round < ROUNDS; round++) {
        strads_data *data = NULL;
        const double begin = bench_cpu();
        good = !strads_data_from_arrays(&a, &cut, &data);
        seconds[round] = bench_cpu() - begin;
        bytes = good ? (double)strads_data_bytes(data) : 0;
        strads_data_free(data);
    }
    if (good) {
        const double median = bench_median(seconds, ROUNDS);
        printf(json ? "{\"kind\": \"%s\", \"cpu_ms\": %.2f, \"GB_per_s\": "
                      "%.2f, \"memory\": %.3f}\n"
                    : "%-26s %8.2f ms %6.2f GB/s  memory %.3f X\n",
               k->name, 1e3 * median, size / 1e9 / median, bytes / size);
    } else {
        (void)fprintf(stderr, "bench_handover: %s\n", strads_error_text());
    }
    free(start);
    free(index);
    free(value);
    free(label);
    return good;
}

/* Copies 160 MB into fresh memory. */
static bool measure_floor(bool json)
{
    const size_t bytes = 160000000;
    double seconds[ROUNDS];
    char *from = malloc(bytes);
    bool good = from != NULL;
    if (good)
        memset(from, 1, bytes);
    for (int round = 0; good && round < ROUNDS; round++) {
        const double begin = bench_cpu();
        char *to = malloc(bytes);
        good = to != NULL;
        if (good)
            memcpy(to, from, bytes);
        seconds[round] = bench_cpu() - begin;
        good = good && to[bytes / 2] == 1;
        free(to);
    }
    const double median = good ? bench_median(seconds, ROUNDS) : 1;
    printf(json ? "{\"kind\": \"%s\", \"cpu_ms\": %.2f, \"GB_per_s\": %.2f}\n"
                : "%-26s %8.2f ms %6.2f GB/s\n",
           "memcpy", 1e3 * median, (double)bytes / 1e9 / median);
    free(from);
    return good;
}

int main(int argc, char **argv)
{
    const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    bool good = measure_floor(json);
    for (size_t k = 0; good && k < sizeof kinds / sizeof *kinds; k++)
        good = measure(&kinds[k], json);
    return good ? 0 : 1;
}
