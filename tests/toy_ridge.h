/* tests/toy_ridge.h - ridge regression on a toy matrix: a convex program in
 * the form of a real one, with a PROBE phase for the Gram entries that correct
 * pipelined rounds, and its closed form. */
#ifndef TESTS_TOY_RIDGE_H
#define TESTS_TOY_RIDGE_H

#include "strads/strads.h"

/* Minimises |y - X w|^2 / 2 + lambda |w|^2 / 2. */
typedef struct toy_ridge_config {
    double lambda;
} toy_ridge_config;

/* Blocks are solved exactly. The gap is the largest gradient of a scan; a
 * scan runs whenever the policy is idle. */
extern const strads_program toy_ridge;

/* The solution w[cols] by Cholesky; false if memory is exhausted. */
bool toy_ridge_solve(uint64_t rows, uint64_t cols, double lambda, double *w);

#endif
