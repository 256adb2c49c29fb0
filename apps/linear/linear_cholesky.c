#include "linear_cholesky.h"

#include <math.h>

/* A pivot below this share of its diagonal: a column that others span. */
#define DEPENDENT 1e-12

void linear_factor(const linear_kernels *kernels, uint32_t n, double *matrix)
{
    for (uint32_t i = 0; i < n; i++) {
        double *line = matrix + (size_t)i * n;
        for (uint32_t l = 0; l < i; l++) {
            const double *above = matrix + (size_t)l * n;
            line[l] = (line[l] - kernels->dot_dense(l, line, above)) / above[l];
        }
        const double rest = line[i] - kernels->dot_dense(i, line, line);
        line[i] = rest > DEPENDENT * line[i] ? sqrt(rest) : 1e150;
    }
}

void linear_solve(const linear_kernels *kernels, uint32_t n,
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
