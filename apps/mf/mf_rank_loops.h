/* The loop of CCD++, compiled once for any processor and once for each vector
 * instruction set. The compiler vectorises it to sixteen ratings at a time:
 * their factors are gathered one by one, and there are sixteen sums in a fixed
 * order. Includes mf_kernels.h; included by the files with the tables. */
#ifndef MF_RANK_LOOPS_H
#define MF_RANK_LOOPS_H

#include "mf_kernels.h"

enum { RANK_LANES = 16 };

typedef struct rank_lanes {
    float side[RANK_LANES], square[RANK_LANES], left[RANK_LANES];
} rank_lanes;

/* Ratings at + 0 .. n - 1 of the line. */
static inline __attribute__((always_inline)) void
swap_some(const mf_rank_line *line, uint32_t at, uint32_t n,
          const float *factor, float was, float now, rank_lanes *sum)
{
    float *left = line->left + at;
    float gone[RANK_LANES], q[RANK_LANES];

    for (uint32_t l = 0; l < n; l++) {
        const float *f = factor + 2 * (size_t)line->item[at + l];
        gone[l] = f[0];
        q[l] = f[1];
    }
    for (uint32_t l = 0; l < n; l++) {
        const float x = left[l] + now * q[l] - was * gone[l];
        left[l] = x;
        sum->side[l] += x * q[l];
        sum->square[l] += q[l] * q[l];
        sum->left[l] += x * x;
    }
}

static float add_up_rank(float *lane)
{
    for (uint32_t half = RANK_LANES / 2; half; half /= 2)
        for (uint32_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static mf_rank_sums swap_rank(const mf_rank_line *line, const float *factor,
                              float was, float now)
{
    rank_lanes sum = {0};
    uint32_t at = 0;

    for (; at + RANK_LANES <= line->n; at += RANK_LANES)
        swap_some(line, at, RANK_LANES, factor, was, now, &sum);
    swap_some(line, at, line->n - at, factor, was, now, &sum);
    return (mf_rank_sums){.side = add_up_rank(sum.side),
                          .square = add_up_rank(sum.square),
                          .left = add_up_rank(sum.left)};
}

#endif
