/* The loops of conjugate gradients in mf_equations.h, for all instruction sets.
 * Includes mf_equations_loops.h; included by the files with the tables. */
#ifndef MF_CONJUGATE_LOOPS_H
#define MF_CONJUGATE_LOOPS_H

#include "mf_equations_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__aarch64__)
#include "mf_lanes.h"
#else

#define INLINE static inline __attribute__((always_inline))
typedef part vec;
enum { LANES = PART };

/* The sums of the lanes of each of LANES registers. */
INLINE vec sums_of_parts(const vec a[LANES])
{
    vec sum;

    for (uint32_t g = 0; g < LANES; g++)
        sum[g] = (a[g][0] + a[g][2]) + (a[g][1] + a[g][3]);
    return sum;
}

#define sums_of sums_of_parts

#endif

INLINE const vec *vec_at(const float *x)
{
    return (const vec *)(const void *)x;
}

INLINE vec *vec_in(float *x)
{
    return (vec *)(void *)x;
}

/* Ratings at once: their rows' addresses fit into general registers. Rows at
 * once of a product with the Gram matrix: their sums fit into vector
 * registers. */
enum { CLOSE = LANES < 8 ? LANES : 8 };
#ifdef __AVX512F__
enum { TOGETHER = 16 };
#elif defined(__AVX2__) || defined(__aarch64__)
enum { TOGETHER = 4 };
#else
enum { TOGETHER = 2 };
#endif

/* ---- ratings ------------------------------------------------------------- */

/* Addresses of the rows of up to CLOSE ratings from k on. Beyond the last one
 * it is repeated; its products are multiplied by 0. */
INLINE void find_close(const mf_line *line, uint32_t k, const float *q[CLOSE])
{
    const uint32_t last = line->n - 1;

#pragma GCC unroll 8
    for (uint32_t g = 0; g < CLOSE; g++)
        q[g] = line->factor +
               (size_t)line->index[k + g < last ? k + g : last] * line->stride;
}

INLINE void dot_close(const mf_line *line, uint32_t k, const float *x,
                      vec sum[CLOSE])
{
    const float *q[CLOSE];

    find_close(line, k, q);
    for (uint32_t j = 0; j < line->stride; j += LANES) {
        const vec v = *vec_at(x + j);
#pragma GCC unroll 8
        for (uint32_t g = 0; g < CLOSE; g++)
            sum[g] += v * *vec_at(q[g] + j);
    }
}

INLINE void add_close(const mf_line *line, uint32_t k, const float *by,
                      float *out)
{
    const float *q[CLOSE];
    vec times[CLOSE];

    find_close(line, k, q);
#pragma GCC unroll 8
    for (uint32_t g = 0; g < CLOSE; g++)
        times[g] = by[g] - (vec){0};
    for (uint32_t j = 0; j < line->stride; j += LANES) {
        vec sum = *vec_at(out + j);
#pragma GCC unroll 8
        for (uint32_t g = 0; g < CLOSE; g++)
            sum += times[g] * *vec_at(q[g] + j);
        *vec_in(out + j) = sum;
    }
}

static double pull(const mf_line *line, bool targets, const float *x,
                   float *out)
{
    double side = 0;

    for (uint32_t k = 0; k < line->n; k += LANES) {
        const uint32_t n = line->n - k < LANES ? line->n - k : LANES;
        float by[LANES] __attribute__((aligned(64)));
        vec sum[LANES];

        memset(sum, 0, sizeof(sum));
        for (uint32_t g = 0; g < n; g += CLOSE)
            dot_close(line, k + g, x, sum + g);
        *vec_in(by) = sums_of(sum);
        for (uint32_t g = 0; g < n; g++) {
            const float w = line->weight[k + g], s = by[g];
            const float target = targets && w > 0 ? 1 + w : 0;
            side += (double)target * (double)s;
            by[g] = target - w * s;
        }
        for (uint32_t g = n; g < LANES; g++)
            by[g] = 0;
        for (uint32_t g = 0; g < n; g += CLOSE)
            add_close(line, k + g, by + g, out);
    }
    return side;
}

/* ---- the Gram matrix ----------------------------------------------------- */

/* out = rows x one tile of columns of the matrix. */
INLINE void multiply_tile(uint32_t depth, uint32_t columns,
                          const float *tile_at,
                          const float *const row[TOGETHER], float *out)
{
    part sum[TOGETHER][MF_TILE / PART];

    memset(sum, 0, sizeof(sum));
    for (uint32_t i = 0; i < depth; i++) {
#pragma GCC unroll 4
        for (uint32_t b = 0; b < MF_TILE / PART; b++) {
            const part g =
                *part_at(tile_at + (size_t)i * MF_TILE + (size_t)b * PART);
#pragma GCC unroll 16
            for (uint32_t a = 0; a < TOGETHER; a++)
                sum[a][b] += row[a][i] * g;
        }
    }
    for (uint32_t a = 0; a < TOGETHER; a++)
        for (uint32_t b = 0; b < MF_TILE / PART; b++)
            *part_in(out + (size_t)a * columns + (size_t)b * PART) = sum[a][b];
}

static void multiply(uint32_t depth, uint32_t columns, const float *tiles,
                     uint32_t n, const float *x, float *out)
{
    for (uint32_t from = 0; from < n; from += TOGETHER) {
        const float *row[TOGETHER];
        for (uint32_t a = 0; a < TOGETHER; a++)
            row[a] = x + (size_t)(from + a < n ? from + a : n - 1) * depth;
        for (uint32_t j = 0; j < columns; j += MF_TILE)
            multiply_tile(depth, columns, tiles + (size_t)j * depth, row,
                          out + (size_t)from * columns + j);
    }
}

static uint32_t scan(uint32_t from, uint32_t n, const float *a, const float *b,
                     float bound)
{
    typedef int mask __attribute__((vector_size(4 * PART)));
    enum { WORDS = sizeof(mask) / sizeof(uint64_t) };

    for (; from < n; from += MF_SCAN) {
        mask any = {0};
#pragma GCC unroll 16
        for (uint32_t k = from; k < from + MF_SCAN; k += PART)
            any |= *part_at(a + k) + *part_at(b + k) > bound;
        uint64_t word[WORDS], all = 0;
        memcpy(word, &any, sizeof(any));
        for (uint32_t k = 0; k < WORDS; k++)
            all |= word[k];
        if (all)
            return from;
    }
    return n;
}

/* ---- a step -------------------------------------------------------------- */

INLINE double dot_rows(uint32_t width, const float *a, const float *b)
{
    vec sum = {0};

    for (uint32_t j = 0; j < width; j += LANES)
        sum += *vec_at(a + j) * *vec_at(b + j);
    double total = 0;
    for (uint32_t g = 0; g < LANES; g++)
        total += (double)sum[g];
    return total;
}

static double conjugate_step(uint32_t width, float *x, float *left, float *way,
                             const float *change)
{
    const double squares = dot_rows(width, left, left);
    const double curvature = -dot_rows(width, way, change);

    if (!(squares > 0) || !(curvature > 0))
        return 0;
    const float by = (float)(squares / curvature);
    for (uint32_t j = 0; j < width; j += LANES) {
        *vec_in(x + j) += by * *vec_at(way + j);
        *vec_in(left + j) += by * *vec_at(change + j);
    }
    const float turn = (float)(dot_rows(width, left, left) / squares);
    for (uint32_t j = 0; j < width; j += LANES)
        *vec_in(way + j) = *vec_at(left + j) + turn * *vec_at(way + j);
    return squares * (double)by;
}

#define MF_CONJUGATE_LOOPS                            \
    .pull = pull, .multiply = multiply, .scan = scan, \
    .conjugate_step = conjugate_step

#endif
