/* strads/lasso.h - the Lasso and the elastic net, a built-in program.
 *
 *     minimise 1/(2n) sum_i c_i (y_i - x_i w - b)^2
 *              + lambda (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
 *
 * over w, and over b with an intercept (otherwise b = 0), which is not
 * penalised. c_i is a row's weight (default 1) and n their sum: a row of weight
 * 2 equals two rows. The reported gap is a relative duality gap, (P - D) / P.
 * The program is glm (strads/glm.h) with the squared loss; that header
 * describes its parameters and results. */
#ifndef STRADS_LASSO_H
#define STRADS_LASSO_H

#include "strads/error.h"
#include "strads/glm.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`). The program uses lambda, lambda_ratio, l1_ratio (0:
 * 1), intercept, standardize, positive, weights, row_weight and penalty_factor
 * only. All zero: the Lasso at lambda_max / 100. */
typedef strads_glm_options strads_lasso_options;

/* The program: name "lasso"; parameters and data as for "glm". */
extern STRADS_API const strads_program strads_program_lasso;

/* The same for data that is cut by columns (STRADS_SPLIT_COLS), in memory or
 * packed in a file of any size (`packed`): workers hold columns and a copy of
 * the margins, and only columns that may be nonzero are unpacked. Lambda above
 * 0. `config` as for "lasso".
 * Parameters beyond the columns are the margins X w and the intercept. Results
 * by strads_columns_resolved and its neighbours (strads/glm.h). */
extern STRADS_API const strads_program strads_program_lasso_columns;

/* The program of `strads lasso path`: glm-path (strads/glm.h) with fewer
 * options and the same functions for results and cross-validation. `config`
 * points to strads_glm_path_options; start from a copy of the program's
 * defaults. */
extern STRADS_API const strads_program strads_program_lasso_path;

/* Its path by columns: glm-path-columns (strads/glm.h) with fewer options. */
extern STRADS_API const strads_program strads_program_lasso_path_columns;

#ifdef __cplusplus
}
#endif

#endif
