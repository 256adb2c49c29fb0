/* strads/glm.h - generalised linear models, a loss with a penalty, a built-in
 * program.
 *
 *     minimise 1/W sum c_i f(y_i, o_i + x_i'w + b) + lambda sum_j g(w_j)
 *
 * over w, and over b with an intercept, which is not penalised. f is one of the
 * losses and g one of the penalties that docs/glm.md lists; c_i is the row's
 * weight (1 unless told), W the sum of all, o_i its offset (0 unless told). f is
 * 0 at its best: it is half of the deviance where the loss is a likelihood's.
 *
 * The gap that it reports is a relative duality gap, (P - D) / P. Coefficients
 * that neither a penalty nor bounds hold are taken to be within ten times what
 * they are now, or would be in a fit of their column alone. Of "mcp" and "scad",
 * which are not convex, it is by how much the stationarity conditions are missed
 * (docs/glm.md). */
#ifndef STRADS_GLM_H
#define STRADS_GLM_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/path.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to. All zero: least squares with an L1 penalty at
 * lambda_max / 100. At most one of lambda, lambda_ratio and c may be given. */
typedef struct strads_glm_options {
    const char *loss;      /* NULL: "squared" */
    const char *penalty;   /* NULL: "l1" */
    double loss_parameter; /* of losses that have one; 0: what is usual */
    double lambda;         /* weight of the penalty, > 0; 0: by lambda_ratio */
    double lambda_ratio;   /* lambda / lambda_max, > 0; 0: by c. If c is 0, too:
                              0.01 */
    double c;              /* lambda = 1 / (c W), > 0; 0: not given */
    double l1_ratio;     /* of "elastic-net": the L1 share, .001 .. 1; 0: .5 */
    double gamma;        /* of "mcp" (above 1) and "scad" (above 2): the penalty
                            is flat from gamma lambda on; 0: 3, 3.7 */
    double lower, upper; /* of each coefficient, with 0 between them; both 0: no
                              bounds */
    bool positive;       /* w >= 0: in place of a lower bound */
    bool intercept;      /* fit b */
    bool standardize;    /* penalise as if each column had been divided by its
                              standard deviation (1/W; without an intercept: by
                              its root mean square); w stays in the data's unit */
    const char *weights; /* a file with the weight of each row, one a line;
                              NULL: 1 */
    const char *offset;  /* the same with o_i; NULL: 0 */
    const char *penalty_factors; /* a file with a number from 0 up for each
                                    column, which its share of the penalty is
                                    multiplied by; 0: it is not penalised.
                                    NULL: 1. Read by the coordinator */
    const char *groups; /* of "group": a file with a number from 0 up for each
                           column, the same for all of a group. Read by the
                           coordinator */
    const char *class_weight; /* classes: NULL, "none": 1; "balanced": W / (k
                                 W_class); or "LABEL=WEIGHT,..." */
    const char
        *classes; /* labels, "0,1"; the second of two is positive, more are
                            each fitted against the rest. NULL: the data's,
                            ascending */
    /* The same from memory, in place of files; the caller's, during the run. For
     * runs of one process. NULL: by the files. */
    const double *row_weight;     /* [rows] */
    const double *row_offset;     /* [rows] */
    const double *penalty_factor; /* [columns] */
    const uint32_t *column_group; /* [columns] */
    /* [k] b of each problem, beside start values of the coefficients; NULL: the
     * best where these are 0. The caller's. */
    const double *start_intercept;
} strads_glm_options;

/* The program: name "glm", one parameter a column and, with an intercept, one
 * more, b, and perhaps more that only it has a use for; each has a number for each
 * class where these are more than two. Rows split, columns compressed. Needs
 * labels. */
extern STRADS_API const strads_program strads_program_glm;

/* ---- a path --------------------------------------------------------------- */

/* One fit after the other, in one run that keeps what it knows. */
typedef struct strads_glm_path_options {
    strads_glm_options fit; /* lambda, lambda_ratio and c stay 0 */
    uint32_t points;        /* 1 .. 10000, evenly in their logarithm; 0: 100 */
    double ratio;           /* the last lambda / the first, at most 1; 0: .01 */
    double first;           /* the first lambda; 0: lambda_max */
    const char *lambdas;  /* in place of these "L,L,...", or a file with numbers
                             from 0 up; NULL: none */
    const double *lambda; /* [points] the same from memory; the caller's, during
                             the run */
} strads_glm_path_options;

/* The program: name "glm-path"; data as for "glm", any penalty but "none". The
 * gap that it reports is the worst of all points, 1 until the last one is
 * reached, when the run ends; its coefficients are the last point's. Measures:
 * "points" reached, and the "lambda" at hand. */
extern STRADS_API const strads_program strads_program_glm_path;

/* The points reached, *n of them, in the order of the path; NULL, 0 for other
 * programs' states. They live as long as the state. */
STRADS_API const strads_path_point *strads_glm_path(const void *state,
                                                    uint32_t *n);

/* ---- cross-validation ------------------------------------------------------ */

typedef struct strads_glm_cv_options {
    strads_glm_path_options path; /* first or lambda: all folds use the same
                                     lambdas; not `lambdas` */
    uint32_t folds;               /* 2 .. rows; 0: 10 */
    const char *fold_file;        /* each row's fold, a number from 1, one a
                                     line; NULL: drawn */
    uint32_t threads;             /* folds at once; 0: 1 */
    uint64_t seed;                /* who is in which fold */
    double tolerance;             /* of each fold's points; 0: 1e-6 */
    const volatile bool *stop;    /* as in strads_engine_options */
    double time_limit;            /* seconds for all folds; 0: any */
} strads_glm_cv_options;

/* Fits the path once for each fold, on the rows of the others, and judges it by
 * the fold's: the error of a row is twice its loss, the squared error or the
 * deviance, as it and its class weigh. Folds are as equal as can be, and drawn by
 * `seed`; of classes, each has about its share of each. Fills in
 * points[path.points]; *best is the place of the least error, *simplest that of
 * the largest lambda whose error is within one standard error of it (Breiman et
 * al., "Classification and Regression Trees", 1984, section 3.4.3). The same
 * options give the same bits, whatever `threads` is. `data` has columns, rows
 * split, labels, and all its partitions are in this process. STRADS_EINVAL: an
 * option, or data without labels. STRADS_ENOMEM. STRADS_ECANCELED: stopped, or
 * time was up. Blocks. */
STRADS_API strads_err strads_glm_cv(const strads_data *data,
                                    const strads_glm_cv_options *options,
                                    strads_cv_point *points, uint32_t *best,
                                    uint32_t *simplest);

/* ---- results -------------------------------------------------------------- */

/* Results, from the state that strads_result_state returns; any thread. */

/* The options as the run took them: the loss, the penalty, lambda and classes
 * filled in, what they were found by left out. Valid as long as the state. */
STRADS_API const strads_glm_options *strads_glm_resolved(const void *state);
/* b of the coefficients committed last, of each problem; 0 without an intercept.
 * Valid as long as the state. */
STRADS_API const double *strads_glm_intercepts(const void *state);
/* The smallest lambda at which all penalised coefficients are 0 in a solution;
 * of "ridge", where there is none, that of an l1_ratio of .001; 0 where nothing
 * is penalised. */
STRADS_API double strads_glm_lambda_max(const void *state);

/* What a loss predicts at o + x'w + b = margin: the number, the mean count, or
 * the probability of the second class. NaN: there is no such loss. */
STRADS_API double strads_glm_mean(const char *loss, double margin);
/* Whether a loss is of two classes. */
STRADS_API bool strads_glm_classifies(const char *loss);

#ifdef __cplusplus
}
#endif

#endif
