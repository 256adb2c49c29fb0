/* Solving with a small symmetric matrix, of which columns may depend on each
 * other. */
#ifndef LINEAR_CHOLESKY_H
#define LINEAR_CHOLESKY_H

#include "apps/kernels/column_kernels.h"

/* The pivot of what depends on the lines before: so large that it does not move.
 */
#define LINEAR_DEPENDENT 1e150

/* L L' = matrix [n x n] in place, of its lower half, whose lines are `stride`
 * apart. Those before `first` are L's already. */
void linear_factor_from(const column_kernels *kernels, uint32_t first,
                        uint32_t n, uint32_t stride, double *matrix);
static inline void linear_factor(const column_kernels *kernels, uint32_t n,
                                 double *matrix)
{
    linear_factor_from(kernels, 0, n, n, matrix);
}

/* x = matrix^-1 x by the factor. */
void linear_solve(const column_kernels *kernels, uint32_t n,
                  const double *factor, double *x);

#endif
