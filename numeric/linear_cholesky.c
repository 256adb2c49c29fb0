#include "linear_cholesky.h"

#include <math.h>

/* A pivot below this share of its diagonal means that the column depends on
 * others. */
#define DEPENDENT 1e-12

enum { SIDE = COLUMN_TILE_SIDE };

/* Computes row i in columns `first` to `end` - 1, given the products with
 * the columns before them in `off`: the remainder of the usual recurrence. */
static void finish_line(uint32_t stride, double *matrix, uint32_t i,
                        uint32_t first, uint32_t end, const double *off)
{
    double *line = matrix + (size_t)i * stride;

    for (uint32_t l = first; l < end && l <= i; l++) {
        const double *above = matrix + (size_t)l * stride;
        double rest = line[l] - off[l - first];
        for (uint32_t k = first; k < l; k++)
            rest -= line[k] * above[k];
        if (l < i)
            line[l] = rest / above[l];
        else
            line[i] =
                rest > DEPENDENT * line[i] ? sqrt(rest) : LINEAR_DEPENDENT;
    }
}

/* Goes tile by tile, so that each row is read once for four others. */
void linear_factor_from(const column_kernels *kernels, uint32_t begin,
                        uint32_t n, uint32_t stride, double *matrix)
{
    for (uint32_t i = begin; i < n; i += SIDE)
        for (uint32_t l = 0; l < i + SIDE && l < n; l += SIDE) {
            const double *down[SIDE], *across[SIDE];
            double off[SIDE][SIDE];
            for (uint32_t k = 0; k < SIDE; k++) {
                const uint32_t d = i + k < n ? i + k : n - 1,
                               a = l + k < n ? l + k : n - 1;
                down[k] = matrix + (size_t)d * stride;
                across[k] = matrix + (size_t)a * stride;
            }
            kernels->dot_tile(l, down, across, off);
            for (uint32_t k = 0; k < SIDE && i + k < n; k++)
                finish_line(stride, matrix, i + k, l, l + SIDE, off[k]);
        }
}

void linear_solve(const column_kernels *kernels, uint32_t n,
                  const double *factor, double *x)
{
    for (uint32_t i = 0; i < n; i++) {
        const double *line = factor + (size_t)i * n;
        x[i] = (x[i] - kernels->dot_dense(i, line, x)) / line[i];
    }
    for (uint32_t i = n; i-- > 0;) {
        const double *line = factor + (size_t)i * n;
        x[i] /= line[i];
        kernels->add_dense(i, -x[i], line, x);
    }
}
