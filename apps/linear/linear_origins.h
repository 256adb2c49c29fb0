/* Origins of columns. Where there is an intercept that is not penalised, a fit
 * does not depend on where a column has its 0,
 *
 *     z = X w + b = (X - 1 c') w + b',   b' = b + c'w,
 *
 * but its arithmetic does: a column whose mean is m times its deviation loses
 * m^2 roundings in sums of squares and products. So full columns whose mean is
 * far above their deviation are computed with less an origin c_j, in a copy;
 * x - c is exact where x and c are near each other. A column with zeros that are
 * left out has a deviation of at least its mean / sqrt rows, and stays as it is.
 *
 * Origins come from samples of all partitions, so they are the same wherever
 * these are. The phase `origins` of a program finds them: its block is all full
 * columns, its partials are summed and go to all workers. */
#ifndef LINEAR_ORIGINS_H
#define LINEAR_ORIGINS_H

#include <strads/program.h>

#include "apps/kernels/column_kernels.h"

/* Columns without zeros left out anywhere, into column[]; how many. */
uint32_t linear_origins_list(const strads_data *data, uint32_t *column);

/* The phase: numbers of a partial; a partition's samples of the block's
 * columns, by columns, or by rows: how many of its rows are sampled, sample s of
 * them, and what that row has in the block's column k. */
size_t linear_origins_size(const strads_task *task);
void linear_origins_sample(strads_task *task);
uint64_t linear_origins_rows(uint64_t rows);
uint64_t linear_origins_row(uint64_t rows, uint64_t s);
void linear_origins_add(strads_task *task, uint32_t k, uint64_t s,
                        double value);
/* The origins of the block in merged samples; *origin becomes an array [columns]
 * if there is one. STRADS_ENOMEM. */
strads_err linear_origins_take(const strads_block *block, const double *merged,
                               uint64_t columns, double **origin);

/* A partition's copy of columns less their origins. */
typedef struct linear_moved {
    const double **at; /* [columns], NULL: no column moves */
    double *value;
} linear_moved;

/* From a merged partial, the task's, in `receive`. STRADS_ENOMEM. */
strads_err linear_moved_new(const strads_task *task, linear_moved *moved);
void linear_moved_free(linear_moved *moved);

#endif
