/* strads/lasso.h - the Lasso and the elastic net, a built-in program.
 *
 *     minimise 1/(2n) sum_i c_i (y_i - x_i w - b)^2
 *              + lambda (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
 *
 * over w, and over b with an intercept (b = 0 otherwise), which is not
 * penalised; c_i is a row's weight, 1 unless told, and n their sum: a row of
 * weight 2 is one that is there twice. The gap that it reports is a relative
 * duality gap, (P - D) / P. It is glm (strads/glm.h) with the squared loss, and
 * what that says of results, and of parameters, holds for its states. */
#ifndef STRADS_LASSO_H
#define STRADS_LASSO_H

#include "strads/error.h"
#include "strads/glm.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to: of these options lambda, lambda_ratio, l1_ratio (0: 1),
 * intercept, standardize, positive, weights and row_weight count, and no others.
 * All zero: the Lasso at lambda_max / 100. */
typedef strads_glm_options strads_lasso_options;

/* The program: name "lasso"; parameters and data as for "glm". */
extern STRADS_API const strads_program strads_program_lasso;

/* The same for one lambda after the other, as the command has it: glm-path
 * (strads/glm.h, with its functions for results and cross-validation) with fewer
 * options. `config` is strads_glm_path_options: the program's defaults, changed. */
extern STRADS_API const strads_program strads_program_lasso_path;

#ifdef __cplusplus
}
#endif

#endif
