/* tests/toy_residual.h - state of the workers of least-squares toys: the
 * residual r = y - X w of their partition's rows, for the last w that they
 * received. */
#ifndef TESTS_TOY_RESIDUAL_H
#define TESTS_TOY_RESIDUAL_H

#include "strads/strads.h"

/* The slots `open` (local is a double[rows of the partition] for free()) and
 * `refresh`. The program has its data by columns, in f64. */
strads_err toy_residual_open(const strads_task *task, void **local);
strads_err toy_residual_refresh(strads_task *task, const strads_change *changes,
                                uint32_t n);

/* x_j' r. */
double toy_residual_times(const strads_task *task, uint32_t j);

#endif
