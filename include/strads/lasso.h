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

#include <stdbool.h>

#include "strads/error.h"
#include "strads/glm.h"
#include "strads/path.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to. All zero: the Lasso at lambda_max / 100. At most
 * one of lambda and lambda_ratio may be given. */
typedef struct strads_lasso_options {
    double lambda;       /* weight of the penalty, > 0; 0: by lambda_ratio */
    double lambda_ratio; /* lambda / lambda_max, > 0; 0: 0.01 */
    double l1_ratio;     /* the L1 share of the penalty, .001 .. 1; 0: 1 */
    bool intercept;      /* fit b */
    bool standardize;    /* penalise as if each column had been divided by its
                            standard deviation (1/n; without an intercept: by
                            its root mean square); w stays in the data's unit */
    bool positive;       /* w >= 0 */
    const char *weights; /* a file with the weight of each row, one a line, or
                            NULL: all 1 */
    const double *row_weight; /* [rows] the same from memory, in place of a
                                 file; the caller's, during the run. For runs of
                                 one process. NULL: by `weights` */
} strads_lasso_options;

/* The program: name "lasso"; parameters and data as for "glm". */
extern STRADS_API const strads_program strads_program_lasso;

/* ---- a path ------------------------------------------------------------ */

/* One fit after the other, in one run that keeps what it knows: points lambdas,
 * evenly spaced in their logarithm. */
typedef struct strads_lasso_path_options {
    strads_lasso_options fit; /* lambda and lambda_ratio stay 0 */
    uint32_t points;          /* 1 .. 10000; 0: 100 */
    double ratio;         /* the last lambda / the first, at most 1; 0: .01 */
    double first;         /* the first lambda; 0: lambda_max */
    const char *lambdas;  /* in place of these "L,L,...", or a file with numbers
                             from 0 up; NULL: none */
    const double *lambda; /* [points] the same from memory; the caller's, during
                             the run */
} strads_lasso_path_options;

/* The program: name "lasso-path"; data as for "lasso". The gap that it reports
 * is the worst of all points, 1 until the last one is reached, when the run
 * ends; its coefficients are the last point's. Measures: "points" reached, and
 * the "lambda" at hand. */
extern STRADS_API const strads_program strads_program_lasso_path;

/* The points reached, *n of them, in the order of the path; NULL, 0 for other
 * programs' states. They live as long as the state. */
STRADS_API const strads_path_point *strads_lasso_path(const void *state,
                                                      uint32_t *n);

/* ---- cross-validation -------------------------------------------------- */

typedef struct strads_lasso_cv_options {
    strads_lasso_path_options path; /* first or lambda: all folds use the same
                                       lambdas; not `lambdas` */
    uint32_t folds;                 /* 2 .. rows; 0: 10 */
    const char *fold_file;          /* each row's fold, a number from 1, one a
                                       line; NULL: drawn */
    uint32_t threads;               /* folds at once; 0: 1 */
    uint64_t seed;                  /* who is in which fold */
    double tolerance;               /* of each fold's points; 0: 1e-6 */
    const volatile bool *stop;      /* as in strads_engine_options */
    double time_limit;              /* seconds for all folds; 0: any */
} strads_lasso_cv_options;

/* Fits the path once for each fold, on the rows of the others, and judges it by
 * the fold's; rows count by their weights in both. Folds are as equal as can
 * be, and drawn by `seed`. Fills in points[path.points]; *best is the place of
 * the least error, *simplest that of the largest lambda whose error is within
 * one standard error of it (Breiman et al., "Classification and Regression
 * Trees", 1984, section 3.4.3). The same options give the same bits, whatever
 * `threads` is. `data` has columns, rows split, labels, and all its partitions
 * are in this process. STRADS_EINVAL: an option, or data without labels.
 * STRADS_ENOMEM. STRADS_ECANCELED: stopped, or time was up. Blocks. */
STRADS_API strads_err strads_lasso_cv(const strads_data *data,
                                      const strads_lasso_cv_options *options,
                                      strads_cv_point *points, uint32_t *best,
                                      uint32_t *simplest);

#ifdef __cplusplus
}
#endif

#endif
