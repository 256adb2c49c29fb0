/* The portable inner loop, and the choice among all of them. */
#include "mf_kernels.h"

#include <strads/version.h>

static void move(float *restrict p, float *restrict q, float g,
                 const mf_step *step)
{
    for (uint32_t k = 0; k < step->stride; k++) {
        const float a = p[k], b = q[k];
        p[k] = step->decay * a + g * b;
        q[k] = step->decay * b + g * a;
    }
}

double mf_kernel_portable(const mf_rating *rating, size_t n,
                          const mf_step *step)
{
    double loss = 0;

    for (size_t at = 0; at < n; at += MF_BATCH) {
        const size_t m = n - at < MF_BATCH ? n - at : MF_BATCH;
        const mf_rating *x = rating + at;
        float e[MF_BATCH];
        for (size_t k = 0; k < m; k++) {
            e[k] =
                x[k].value - mf_dot(step->p + (size_t)x[k].user * step->stride,
                                    step->q + (size_t)x[k].item * step->stride,
                                    step->stride);
            loss += (double)e[k] * (double)e[k];
        }
        for (size_t k = 0; k < m; k++)
            move(step->p + (size_t)x[k].user * step->stride,
                 step->q + (size_t)x[k].item * step->stride, step->size * e[k],
                 step);
    }
    return loss;
}

mf_kernel mf_kernel_choose(uint32_t stride)
{
    const mf_kernel fast = strads_kernels() == STRADS_KERNELS_AVX512
                               ? mf_kernel_avx512(stride)
                               : NULL;

    return fast ? fast : mf_kernel_portable;
}
