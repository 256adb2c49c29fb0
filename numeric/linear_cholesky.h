/* Solves small symmetric systems; columns may be linearly dependent. */
#ifndef LINEAR_CHOLESKY_H
#define LINEAR_CHOLESKY_H

#include "column_kernels.h"

/* The pivot of a row that depends on earlier ones: so large that its unknown
 * stays 0. */
#define LINEAR_DEPENDENT 1e150

/* L L' = matrix [n x n] in place, in its lower half; rows are `stride`
 * apart. Rows before `first` are already those of L. */
void linear_factor_from(const column_kernels *kernels, uint32_t first,
                        uint32_t n, uint32_t stride, double *matrix);
static inline void linear_factor(const column_kernels *kernels, uint32_t n,
                                 double *matrix)
{
    linear_factor_from(kernels, 0, n, n, matrix);
}

/* x = matrix^-1 x, by the factor. */
void linear_solve(const column_kernels *kernels, uint32_t n,
                  const double *factor, double *x);

#endif
