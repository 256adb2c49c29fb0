/* The loops of mf_equations.h. They are compiled once for any processor, once
 * for AVX-512, where a tile fills sixteen registers, and for AVX2 and NEON with
 * fused products. Includes mf_equations.h; included by the files with the
 * tables. */
#ifndef MF_EQUATIONS_LOOPS_H
#define MF_EQUATIONS_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "mf_equations.h"

typedef float lanes __attribute__((vector_size(64)));

/* Ratings are summed in panels: their rows stay in the second-level cache while
 * each tile is summed, and long sums are made of short ones. */
enum { GATHER_PANEL = 256, AHEAD = 20 };

/* A register of numbers, and the lines and registers of a part of a tile. */
#ifdef __AVX512F__
enum { PART = MF_TILE, PART_LINES = MF_TILE, PART_ACROSS = 1 };
#elif defined(__AVX2__)
enum { PART = 8, PART_LINES = 4, PART_ACROSS = 2 };
#elif defined(__aarch64__)
enum { PART = 4, PART_LINES = 8, PART_ACROSS = 2 };
#else
enum { PART = 4, PART_LINES = 4, PART_ACROSS = 2 };
#endif
typedef float part __attribute__((vector_size(4 * PART)));

static inline const part *part_at(const float *x)
{
    return (const part *)(const void *)x;
}

static inline part *part_in(float *x)
{
    return (part *)(void *)x;
}

static inline const lanes *lanes_at(const float *x)
{
    return (const lanes *)(const void *)x;
}

static inline lanes *lanes_in(float *x)
{
    return (lanes *)(void *)x;
}

/* ---- sums -------------------------------------------------------------- */

/* Sums one tile over the ratings [begin, end): factors `down` x `across` of
 * their rows. Whether there are weights, and a side to sum, is known at compile
 * time. */
typedef struct tile {
    uint32_t begin, end, down, across, width;
    float *matrix, *side;
} tile;

/* Sums the part of a tile from line i and column j on, as large as fits into
 * registers. A sum has the same order in parts of all sizes. */
static inline __attribute__((always_inline)) void
gather_part(const mf_line *line, const tile *t, uint32_t i, uint32_t j,
            bool weighted, bool sided)
{
    const float *down = line->factor + t->down + i;
    const float *across = line->factor + t->across + j;
    const size_t stride = line->stride;
    const uint32_t last = line->n - 1;
    part sum[PART_LINES][PART_ACROSS], right[PART_ACROSS];

    memset(sum, 0, sizeof(sum));
    memset(right, 0, sizeof(right));
    for (uint32_t k = t->begin; k < t->end; k++) {
        const float *q = down + line->index[k] * stride;
        const float *v = across + line->index[k] * stride;
        if (i == 0 && j == 0) {
            const uint32_t next = k + AHEAD < last ? k + AHEAD : last;
            __builtin_prefetch(down + line->index[next] * stride);
        }
#pragma GCC unroll 2
        for (uint32_t b = 0; b < PART_ACROSS; b++) {
            part x = *part_at(v + (size_t)b * PART);
            if (sided)
                right[b] += line->target[k] * x;
            if (weighted)
                x *= line->weight[k];
#pragma GCC unroll 16
            for (uint32_t a = 0; a < PART_LINES; a++)
                sum[a][b] += q[a] * x;
        }
    }
    for (uint32_t b = 0; b < PART_ACROSS; b++) {
#pragma GCC unroll 16
        for (uint32_t a = 0; a < PART_LINES; a++)
            *part_in(t->matrix + (size_t)(i + a) * t->width + j +
                     (size_t)b * PART) += sum[a][b];
        if (sided)
            *part_in(t->side + j + (size_t)b * PART) += right[b];
    }
}

static inline __attribute__((always_inline)) void
gather_tile(const mf_line *line, const tile *t, bool weighted, bool sided)
{
    for (uint32_t j = 0; j < MF_TILE; j += PART * PART_ACROSS) {
        gather_part(line, t, 0, j, weighted, sided);
        for (uint32_t i = PART_LINES; i < MF_TILE; i += PART_LINES)
            gather_part(line, t, i, j, weighted, false);
    }
}

static void gather_outer(const mf_line *line, uint32_t from, uint32_t width,
                         float *matrix, float *side)
{
    for (uint32_t begin = 0; begin < line->n; begin += GATHER_PANEL) {
        const uint32_t left = line->n - begin;
        tile t = {.begin = begin,
                  .end = begin + (left < GATHER_PANEL ? left : GATHER_PANEL),
                  .width = width};
        for (uint32_t i = 0; i < width; i += MF_TILE)
            for (uint32_t j = 0; j <= i; j += MF_TILE) {
                t.down = from + i;
                t.across = from + j;
                t.matrix = matrix + (size_t)i * width + j;
                t.side = side + i;
                if (i == j && line->weight)
                    gather_tile(line, &t, true, true);
                else if (i == j)
                    gather_tile(line, &t, false, true);
                else
                    gather_tile(line, &t, line->weight, false);
            }
    }
}

/* Adds halves, then quarters. */
static inline float sum_lanes(const lanes *x)
{
    typedef float half __attribute__((vector_size(32)));
    typedef float quarter __attribute__((vector_size(16)));
    half h[2];
    quarter q[2];

    memcpy(h, x, sizeof(h));
    h[0] += h[1];
    memcpy(q, h, sizeof(q));
    q[0] += q[1];
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

static void subtract(const mf_line *line, uint32_t from, uint32_t width,
                     const float *row, float *error)
{
    for (uint32_t k = 0; k < line->n; k++) {
        const float *q =
            line->factor + (size_t)line->index[k] * line->stride + from;
        lanes sum = *lanes_at(q) * *lanes_at(row);
        for (uint32_t j = MF_TILE; j < width; j += MF_TILE)
            sum += *lanes_at(q + j) * *lanes_at(row + j);
        error[k] -= (line->weight ? line->weight[k] : 1) * sum_lanes(&sum);
    }
}

/* ---- solutions --------------------------------------------------------- */

/* Factorises line j, and subtracts it from the later lines of its tile. */
static inline __attribute__((always_inline)) void
factorise_line(uint32_t width, float *matrix, float *x, float *per, uint32_t j)
{
    float *u = matrix + (size_t)j * width;
    const uint32_t first = j / MF_TILE * MF_TILE;

    per[j] = u[j] > per[j] ? 1 / sqrtf(u[j]) : 0;
    for (uint32_t k = first; k < width; k += MF_TILE)
        *lanes_in(u + k) *= per[j];
    x[j] *= per[j];
    for (uint32_t i = j + 1; i < first + MF_TILE; i++) {
        float *w = matrix + (size_t)i * width;
        for (uint32_t k = first; k < width; k += MF_TILE)
            *lanes_in(w + k) -= u[i] * *lanes_at(u + k);
        x[i] -= u[i] * x[j];
    }
    memset(u + first, 0, sizeof(*u) * (j + 1 - first));
}

/* Subtracts all lines of a tile from a later line i at once, because one at a
 * time would read a large matrix from memory for each line. */
static inline void take_out_tile(uint32_t width, float *matrix, float *x,
                                 uint32_t first, uint32_t i)
{
    const float *u = matrix + (size_t)first * width;
    float *w = matrix + (size_t)i * width;

    for (uint32_t k = i / MF_TILE * MF_TILE; k < width; k += MF_TILE) {
        lanes left = *lanes_at(w + k);
#pragma GCC unroll 16
        for (uint32_t j = 0; j < MF_TILE; j++)
            left -=
                u[(size_t)j * width + i] * *lanes_at(u + (size_t)j * width + k);
        *lanes_in(w + k) = left;
    }
    for (uint32_t j = 0; j < MF_TILE; j++)
        x[i] -= u[(size_t)j * width + i] * x[first + j];
}

/* U'U = matrix, line by line. U overwrites the matrix, with 0 on and before the
 * diagonal, up to the start of the tile. per[j] is 1 / U_jj, or 0 if U_jj is
 * only rounding. x becomes U'^-1 x. */
static inline __attribute__((always_inline)) void
factorise(uint32_t width, float *matrix, float *x, float *per)
{
    for (uint32_t j = 0; j < width; j++)
        per[j] = 1e-5F * matrix[(size_t)j * width + j];
    for (uint32_t first = 0; first < width; first += MF_TILE) {
        for (uint32_t j = first; j < first + MF_TILE; j++)
            factorise_line(width, matrix, x, per, j);
        for (uint32_t i = first + MF_TILE; i < width; i++)
            take_out_tile(width, matrix, x, first, i);
    }
}

static inline __attribute__((always_inline)) void
solve_of(uint32_t width, float *matrix, float *x)
{
    float per[MF_WIDTH_MAX];

    mf_equations_mirror(width, matrix);
    factorise(width, matrix, x, per);
    for (uint32_t j = width; j-- > 0;) {
        const float *u = matrix + (size_t)j * width;
        const uint32_t first = j / MF_TILE * MF_TILE;
        lanes sum = *lanes_at(u + first) * *lanes_at(x + first);
        for (uint32_t k = first + MF_TILE; k < width; k += MF_TILE)
            sum += *lanes_at(u + k) * *lanes_at(x + k);
        x[j] = (x[j] - sum_lanes(&sum)) * per[j];
    }
}

/* Most rows are solved in one tile, so that case gets constant loop bounds. */
static void solve_cholesky(uint32_t width, float *matrix, float *x)
{
    if (width == MF_TILE)
        solve_of(MF_TILE, matrix, x);
    else
        solve_of(width, matrix, x);
}

/* The problem of Lee and Seung, by the descent of Franc et al. 2005: coordinate
 * j becomes max(0, x_j - slope_j / matrix_jj). */
static void solve_nonnegative(uint32_t width, const float *matrix,
                              const float *side, float *slope, float *x)
{
    enum { PASSES = 500 };
    float most = INFINITY, largest = 0;

    for (uint32_t j = 0; j < width; j += MF_TILE)
        *lanes_in(slope + j) = -*lanes_at(side + j);
    for (uint32_t i = 0; i < width; i++)
        for (uint32_t j = 0; j < width; j += MF_TILE)
            *lanes_in(slope + j) +=
                x[i] * *lanes_at(matrix + (size_t)i * width + j);
    for (uint32_t pass = 0; pass < PASSES && most > 1e-6F * largest; pass++) {
        most = largest = 0;
        for (uint32_t i = 0; i < width; i++) {
            const float *line = matrix + (size_t)i * width;
            if (!(line[i] > 0))
                continue;
            const float to = fmaxf(x[i] - slope[i] / line[i], 0);
            const float by = to - x[i];
            largest = fmaxf(largest, to);
            if (by == 0)
                continue;
            most = fmaxf(most, fabsf(by));
            x[i] = to;
            for (uint32_t j = 0; j < width; j += MF_TILE)
                *lanes_in(slope + j) += by * *lanes_at(line + j);
        }
    }
}

#endif
