/* Origins of columns. With an unpenalised intercept, a fit does not depend
 * on the origin of a column,
 *
 *     z = X w + b = (X - 1 c') w + b',   b' = b + c'w,
 *
 * but its arithmetic does: a column with mean m times its standard deviation
 * loses m^2 roundings in sums of squares and products. So full columns with a
 * mean far above their deviation are shifted by an origin c_j, in a copy; x - c
 * is exact if x and c are close. A column with omitted zeros has a deviation of
 * at least its mean / sqrt rows, and is not shifted.
 *
 * Origins come from samples of all partitions, so they do not depend on where
 * the partitions are. The phase `origins` of a program finds them: its block is
 * all full columns, its partials are summed and sent to all workers. */
#ifndef LINEAR_ORIGINS_H
#define LINEAR_ORIGINS_H

#include <strads/program.h>

#include "numeric/column_kernels.h"

/* Lists the columns without omitted zeros in column[]; returns their number. */
uint32_t linear_origins_list(const strads_data *data, uint32_t *column);

/* The phase. The length of a partial; a partition's samples of the block's
 * columns, by columns; or by rows: the number of sampled rows, the s-th of
 * them, and that row's value in the block's column k. */
size_t linear_origins_size(const strads_task *task);
void linear_origins_sample(strads_task *task);
uint64_t linear_origins_rows(uint64_t rows);
uint64_t linear_origins_row(uint64_t rows, uint64_t s);
void linear_origins_add(strads_task *task, uint32_t k, uint64_t s,
                        double value);
/* Determines the origins of the block from merged samples. If there is one,
 * *origin becomes an array [columns]. STRADS_ENOMEM. */
strads_err linear_origins_take(const strads_block *block, const double *merged,
                               uint64_t columns, double **origin);

/* A partition's copy of shifted columns. */
typedef struct linear_moved {
    const double **at; /* [columns], NULL: no column is shifted */
    double *value;
} linear_moved;

/* Makes it from the task's merged partial, in `receive`. STRADS_ENOMEM. */
strads_err linear_moved_new(const strads_task *task, linear_moved *moved);
void linear_moved_free(linear_moved *moved);

#endif
