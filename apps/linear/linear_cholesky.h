/* Solving with a small symmetric matrix, of which columns may depend on each
 * other. */
#ifndef LINEAR_CHOLESKY_H
#define LINEAR_CHOLESKY_H

#include "apps/kernels/column_kernels.h"

/* L L' = matrix [n x n] in place, of its lower half. What depends on the lines
 * before gets a pivot so large that it does not move. */
void linear_factor(const column_kernels *kernels, uint32_t n, double *matrix);

/* x = matrix^-1 x by the factor. */
void linear_solve(const column_kernels *kernels, uint32_t n,
                  const double *factor, double *x);

#endif
