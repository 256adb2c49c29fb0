/* Normal equations for any processor, and the choice of the fastest version. */
#include "mf_equations.h"

#include <stdlib.h>
#include <string.h>

#include <strads/version.h>

#include "mf_conjugate_loops.h"
#include "mf_parts.h"

void mf_equations_mirror(uint32_t width, float *matrix)
{
    for (uint32_t i = MF_TILE; i < width; i++)
        for (uint32_t j = 0; j < i / MF_TILE * MF_TILE; j++)
            matrix[(size_t)j * width + i] = matrix[(size_t)i * width + j];
}

const mf_equations mf_equations_portable = {.gather = gather_outer,
                                            .subtract = subtract,
                                            .solve = solve_cholesky,
                                            .solve_nonnegative =
                                                solve_nonnegative,
                                            MF_CONJUGATE_LOOPS};

const mf_equations *mf_equations_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const mf_equations *fast =
        level == STRADS_KERNELS_AVX512 ? mf_equations_avx512()
        : level == STRADS_KERNELS_AVX2 ? mf_equations_avx2()
        : level == STRADS_KERNELS_NEON ? mf_equations_neon()
                                       : NULL;

    return fast ? fast : &mf_equations_portable;
}

/* ---- solving for one row ------------------------------------------------- */

static void add_ridge(const mf_row_solver *r, const mf_ridge *ridge,
                      float *matrix)
{
    const size_t square = (size_t)r->slab * r->slab;

    for (size_t k = 0; k < square && ridge->gram; k++)
        matrix[k] += ridge->gram[k];
    for (uint32_t j = 0; j < r->slab; j++)
        matrix[(size_t)j * (r->slab + 1)] += (float)ridge->penalty;
}

/* With A = matrix (and gram), b = side, and x0 = whole ? 0 : x,
 *     (A + penalty) d = b - penalty x0,   x = x0 + d */
static void settle_free(mf_row_solver *r, const mf_ridge *ridge, float *matrix,
                        const float *side, float *x)
{
    for (uint32_t j = 0; j < r->slab; j++) {
        if (ridge->whole)
            x[j] = 0;
        r->step[j] = side[j] - (float)ridge->penalty * x[j];
        r->slope[j] = 0;
    }
    add_ridge(r, ridge, matrix);
    r->equations->solve(r->slab, matrix, r->step);
    for (uint32_t j = 0; j < r->slab; j++)
        x[j] += r->step[j];
}

/* The same over x >= 0, for x itself: (A + penalty) x = b + A x0. */
static void settle_nonnegative(mf_row_solver *r, const mf_ridge *ridge,
                               float *matrix, const float *side, float *x)
{
    const uint32_t n = r->slab;

    mf_equations_mirror(n, matrix);
    memcpy(r->right, side, sizeof(*side) * n);
    for (uint32_t i = 0; i < n; i++) {
        r->step[i] = ridge->whole ? 0 : -x[i];
        for (uint32_t j = 0; j < n; j++)
            r->right[j] -= r->step[i] * matrix[(size_t)i * n + j];
    }
    add_ridge(r, ridge, matrix);
    r->equations->solve_nonnegative(n, matrix, r->right, r->slope, x);
    for (uint32_t j = 0; j < n; j++)
        r->step[j] += x[j];
}

/* The gradient is (A + penalty) x - b - A x0, so d'Ad - 2b'd is d'(gradient - b
 * - penalty x). */
double mf_settle(mf_row_solver *r, const mf_ridge *ridge, float *matrix,
                 const float *side, float *x)
{
    double change = 0;

    if (ridge->nonnegative)
        settle_nonnegative(r, ridge, matrix, side, x);
    else
        settle_free(r, ridge, matrix, side, x);
    for (uint32_t j = 0; j < r->slab; j++)
        change += (double)r->step[j] * ((double)r->slope[j] - (double)side[j] -
                                        ridge->penalty * (double)x[j]);
    return change;
}

/* ---- memory -------------------------------------------------------------- */

bool mf_row_solver_open(mf_row_solver *r, uint32_t slab)
{
    r->equations = mf_equations_choose();
    r->slab = slab;
    r->matrix = mf_floats((uint64_t)slab * slab);
    r->side = mf_floats(slab);
    r->right = mf_floats(slab);
    r->step = mf_floats(slab);
    r->slope = mf_floats(slab);
    return r->matrix && r->side && r->right && r->step && r->slope;
}

void mf_row_solver_close(mf_row_solver *r)
{
    free(r->matrix);
    free(r->side);
    free(r->right);
    free(r->step);
    free(r->slope);
}

void mf_row_solver_clear(mf_row_solver *r)
{
    memset(r->matrix, 0, sizeof(float) * r->slab * r->slab);
    memset(r->side, 0, sizeof(float) * r->slab);
}

void mf_gram(mf_row_solver *r, const float *rows, uint64_t n, uint32_t stride,
             float *gram)
{
    enum { PANEL = 256 };
    uint32_t index[PANEL];
    const float nothing[PANEL] = {0};

    for (uint32_t k = 0; k < PANEL; k++)
        index[k] = k;
    memset(gram, 0, sizeof(float) * stride * stride);
    for (uint64_t at = 0; at < n; at += PANEL) {
        const mf_line line = {.factor = rows + at * stride,
                              .stride = stride,
                              .n = n - at < PANEL ? (uint32_t)(n - at) : PANEL,
                              .index = index,
                              .target = nothing};
        r->equations->gather(&line, 0, stride, gram, r->side);
    }
    mf_equations_mirror(stride, gram);
}
