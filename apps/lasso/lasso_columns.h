/* The working set through its columns: where it has too many pairs to keep, its
 * columns are brought to the coordinator once, and blocks are solved there in
 * the set of apps/linear, whose model is exact here: roots are those of the
 * rows' weights, which the columns have been multiplied by. Workers hear of the
 * changes with the next scan. */
#ifndef LASSO_COLUMNS_H
#define LASSO_COLUMNS_H

#include "apps/linear/linear_set.h"
#include "lasso_parts.h"

/* Member k of the set is state->set[k]; y and c are labels, without their mean if
 * there is an intercept, and roots of weights. */
typedef struct lasso_columns {
    linear_set set;
    bool has_rows; /* y is here */
    double always; /* entries of a set that may always be kept here */
    double share;  /* of all entries: a larger set may have as many */
} lasso_columns;

strads_err lasso_columns_new(lasso_state *state, uint64_t rows);
void lasso_columns_free(lasso_columns *columns);

/* Columns of a block that is solved this way. */
enum { LASSO_COLUMNS_MAX = 32768 };

/* Whether a set of so many entries may be kept a second time. Once it is, it
 * stays: the policy's blocks would be too large for pairs of their own. */
bool lasso_columns_fit(const lasso_state *state, double entries);

/* After a scan that chose this way: takes the committed w[columns]; what is
 * still to be brought here. */
strads_err lasso_columns_start(lasso_state *state, const double *w);
bool lasso_columns_lack_any(const lasso_state *state);

/* Of the phases that bring rows and columns, and of the one that solves. */
size_t lasso_rows_size(const strads_task *task);
strads_err lasso_update_rows(strads_task *task);
strads_err lasso_take_rows(strads_commit *commit);
strads_err lasso_take_columns(strads_commit *commit);
strads_err lasso_columns_solve(strads_commit *commit);

#endif
