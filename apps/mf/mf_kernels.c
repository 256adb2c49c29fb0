/* The portable inner loops, and the choice of the fastest version. */
#include "mf_kernels.h"

#include <stdbool.h>
#include <string.h>

#include <strads/version.h>

#include "mf_rank_loops.h"

static void update_rows(float *restrict p, float *restrict q, float g,
                        const mf_step *step)
{
    for (uint32_t k = 0; k < step->stride; k++) {
        const float a = p[k], b = q[k];
        p[k] = step->decay * a + g * b;
        q[k] = step->decay * b + g * a;
    }
}

static void move_pair(float *restrict p, float *restrict q, float *restrict r,
                      const float g[2], const mf_step *step)
{
    const float decay = step->decay, decay_2 = decay * decay;

    for (uint32_t k = 0; k < step->stride; k++) {
        const float a = p[k], b = q[k], c = r[k];
        p[k] = decay_2 * a + g[0] * b + g[1] * c;
        q[k] = decay * b + g[0] * a;
        r[k] = decay * c + g[1] * a;
    }
}

static float *user_row_of(const mf_step *step, mf_rating x)
{
    return step->p + (size_t)x.user * step->stride;
}

static float *item_row_of(const mf_step *step, mf_rating x)
{
    return step->q + (size_t)x.item * step->stride;
}

/* The size of the next batch, with `left` ratings remaining. */
static size_t batch_of(const mf_step *step, bool paired, size_t left)
{
    const size_t most =
        step->stride <= MF_SHORT ? (size_t)MF_BATCH : 1 + (size_t)paired;

    return left < most ? left : most;
}

double mf_kernel_portable(const mf_rating *rating, size_t n,
                          const mf_step *step)
{
    double loss = 0;

    for (size_t at = 0, m; at < n; at += m) {
        const bool paired = at < step->paired;
        const mf_rating *x = rating + at;
        float g[MF_BATCH];
        m = batch_of(step, paired, n - at);
        for (size_t k = 0; k < m; k++) {
            const float e =
                x[k].value - mf_dot(user_row_of(step, x[k]),
                                    item_row_of(step, x[k]), step->stride);
            loss += (double)e * (double)e;
            g[k] = step->size * e;
        }
        if (paired)
            for (size_t k = 0; k < m; k += 2)
                move_pair(user_row_of(step, x[k]), item_row_of(step, x[k]),
                          item_row_of(step, x[k + 1]), g + k, step);
        else
            for (size_t k = 0; k < m; k++)
                update_rows(user_row_of(step, x[k]), item_row_of(step, x[k]),
                            g[k], step);
    }
    return loss;
}

mf_kernel mf_kernel_choose(uint32_t stride)
{
    const strads_kernel_level level = strads_kernels();
    const mf_kernel fast =
        level == STRADS_KERNELS_AVX512 ? mf_kernel_avx512(stride)
        : level == STRADS_KERNELS_AVX2 ? mf_kernel_avx2(stride)
        : level == STRADS_KERNELS_NEON ? mf_kernel_neon(stride)
                                       : NULL;

    return fast ? fast : mf_kernel_portable;
}

/* ---- CCD++ --------------------------------------------------------------- */

mf_rank_sums mf_rank_swap_portable(const mf_rank_line *line,
                                   const float *factor, float was, float now)
{
    return swap_rank(line, factor, was, now);
}

mf_rank_swap mf_rank_swap_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const mf_rank_swap fast =
        level == STRADS_KERNELS_AVX512 ? mf_rank_swap_avx512()
        : level == STRADS_KERNELS_AVX2 ? mf_rank_swap_avx2()
        : level == STRADS_KERNELS_NEON ? mf_rank_swap_neon()
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
