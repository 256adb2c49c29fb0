/* Conjugate gradients for batches of rows. */
#include "mf_conjugate.h"

#include <stdlib.h>
#include <string.h>

#include "mf_parts.h"

bool mf_conjugate_open(mf_conjugate *c, uint32_t stride)
{
    const uint64_t batch = (uint64_t)MF_CONJUGATE_ROWS * stride;

    c->equations = mf_equations_choose();
    c->stride = stride;
    c->tiles = mf_floats((uint64_t)stride * stride);
    c->product = mf_floats(batch);
    c->left = mf_floats(batch);
    c->way = mf_floats(batch);
    c->change = mf_floats(batch);
    return c->tiles && c->product && c->left && c->way && c->change;
}

void mf_conjugate_close(mf_conjugate *c)
{
    free(c->tiles);
    free(c->product);
    free(c->left);
    free(c->way);
    free(c->change);
    *c = (mf_conjugate){0};
}

void mf_conjugate_set(mf_conjugate *c, const float *gram, double penalty)
{
    float *to = c->tiles;

    c->penalty = penalty;
    for (uint32_t j = 0; j < c->stride; j += MF_TILE)
        for (uint32_t i = 0; i < c->stride; i++, to += MF_TILE)
            memcpy(to, gram + (size_t)i * c->stride + j, sizeof(*to) * MF_TILE);
}

/* out -= (G + penalty I) x */
static void subtract_shared(mf_conjugate *c, uint32_t n, const float *x,
                            float *out)
{
    const float penalty = (float)c->penalty;

    c->equations->multiply(c->stride, c->stride, c->tiles, n, x, c->product);
    for (size_t k = 0; k < (size_t)n * c->stride; k++)
        out[k] -= c->product[k] + penalty * x[k];
}

void mf_conjugate_begin(mf_conjugate *c, uint32_t n, const float *x,
                        float *left, float *way)
{
    subtract_shared(c, n, x, left);
    memcpy(way, left, sizeof(*way) * n * c->stride);
}

void mf_conjugate_step(mf_conjugate *c, uint32_t n, float *x, float *left,
                       float *way, float *change, double *gain)
{
    subtract_shared(c, n, way, change);
    for (uint32_t k = 0; k < n; k++) {
        const size_t at = (size_t)k * c->stride;
        const double by =
            c->equations->conjugate_step(c->stride, x + at, left + at, way + at,
                                         change + at);
        if (gain)
            gain[k] += by;
    }
    memset(change, 0, sizeof(*change) * n * c->stride);
}

/* x'Ax - 2 t'x = -t'x - remainder'x */
void mf_conjugate_solve(mf_conjugate *c, uint32_t n, const mf_line *line,
                        uint32_t steps, float *x, double *objective)
{
    double gain[MF_CONJUGATE_ROWS] = {0};

    memset(c->left, 0, sizeof(*c->left) * n * c->stride);
    memset(c->change, 0, sizeof(*c->change) * n * c->stride);
    for (uint32_t k = 0; k < n; k++)
        objective[k] =
            -c->equations->pull(&line[k], true, x + (size_t)k * c->stride,
                                c->left + (size_t)k * c->stride);
    mf_conjugate_begin(c, n, x, c->left, c->way);
    for (uint32_t k = 0; k < n; k++)
        for (size_t j = (size_t)k * c->stride; j < (k + (size_t)1) * c->stride;
             j++)
            objective[k] -= (double)c->left[j] * (double)x[j];
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t k = 0; k < n; k++)
            (void)c->equations->pull(&line[k], false,
                                     c->way + (size_t)k * c->stride,
                                     c->change + (size_t)k * c->stride);
        mf_conjugate_step(c, n, x, c->left, c->way, c->change, gain);
    }
    for (uint32_t k = 0; k < n; k++)
        objective[k] -= gain[k];
}
