/* The loops of CCD++ for any processor, and the choice. Sums are sixteen in a
 * fixed order, so that a compiler may use vectors without changing a bit. */
#include "mf_ranks_kernels.h"

#include <string.h>

#include <strads/version.h>

enum { RANK_LANES = 16 };

typedef struct lanes {
    float side[RANK_LANES], square[RANK_LANES], left[RANK_LANES];
} lanes;

static float add_up(float *lane)
{
    for (uint32_t half = RANK_LANES / 2; half; half /= 2)
        for (uint32_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

mf_rank_sums mf_rank_swap_portable(const mf_rank_line *line,
                                   const float *factor, float was, float now)
{
    lanes sum;

    memset(&sum, 0, sizeof(sum));
    for (uint32_t k = 0; k < line->n; k++) {
        const float *f = factor + 2 * (size_t)line->item[k];
        const float x = line->left[k] + now * f[1] - was * f[0];
        const uint32_t l = k % RANK_LANES;
        line->left[k] = x;
        sum.side[l] += x * f[1];
        sum.square[l] += f[1] * f[1];
        sum.left[l] += x * x;
    }
    return (mf_rank_sums){.side = add_up(sum.side),
                          .square = add_up(sum.square),
                          .left = add_up(sum.left)};
}

mf_rank_swap mf_rank_swap_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const mf_rank_swap fast =
        level == STRADS_KERNELS_AVX512 ? mf_rank_swap_avx512()
        : level == STRADS_KERNELS_AVX2 ? mf_rank_swap_avx2()
                                       : NULL;

    return fast ? fast : mf_rank_swap_portable;
}

void mf_rank_add(const mf_rank_line *line, float p, double *sums)
{
    typedef double pair __attribute__((vector_size(16)));
    const pair each = {(double)p, (double)p * (double)p};

    for (uint32_t k = 0; k < line->n; k++) {
        double *at = sums + 2 * (size_t)line->item[k];
        const pair x = {(double)line->left[k], 1};
        pair sum;
        memcpy(&sum, at, sizeof(sum));
        sum += x * each;
        memcpy(at, &sum, sizeof(sum));
    }
}
