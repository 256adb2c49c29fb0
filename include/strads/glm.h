/* strads/glm.h - generalised linear models, a loss with a penalty, a built-in
 * program.
 *
 *     minimise 1/W sum c_i f(y_i, o_i + x_i'w + b) + lambda sum_j g(w_j)
 *
 * over w, and over b with an intercept, which is not penalised. docs/glm.md
 * lists the losses f and the penalties g. c_i is the row's weight (default 1),
 * W the sum of all weights, o_i the row's offset (default 0). The least value
 * of f is 0; f is half of the deviance for the loss of a likelihood.
 *
 * The reported gap is a relative duality gap, (P - D) / P. For a coefficient
 * without penalty and bounds, it assumes that the optimum is within ten times
 * the present value, or ten times the fit of its column alone. For "mcp" and
 * "scad", which are not convex, the gap is the largest relative violation of
 * the stationarity conditions (docs/glm.md). */
#ifndef STRADS_GLM_H
#define STRADS_GLM_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/model.h"
#include "strads/path.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`). All zero: least squares with an L1 penalty at
 * lambda_max / 100. At most one of lambda, lambda_ratio and c may be given. */
typedef struct strads_glm_options {
    const char *loss;      /* NULL: "squared" */
    const char *penalty;   /* NULL: "l1" */
    double loss_parameter; /* of losses that have one; 0: its default */
    double lambda;         /* weight of the penalty, > 0; 0: by lambda_ratio;
                              -0.0: none, as --lambda 0 */
    double lambda_ratio;   /* lambda / lambda_max, > 0; 0: by c. If c is 0, too:
                              0.01 */
    double c;              /* lambda = 1 / (c W), > 0; 0: not given */
    double l1_ratio;       /* of "elastic-net" and "sparse-group": the L1 share,
                            .001 .. 1; 0: .5 */
    double gamma;        /* of "mcp" (above 1) and "scad" (above 2): the penalty
                            is flat from gamma lambda on; 0: 3, 3.7 */
    double lower, upper; /* of each coefficient, with 0 between them; both 0: no
                              bounds */
    bool positive;       /* w >= 0: in place of a lower bound */
    bool intercept;      /* fit b */
    bool standardize;    /* penalise as if each column were divided by its
                              standard deviation (1/W; without an intercept: by
                              its root mean square); w keeps the data's unit */
    const char *weights; /* a file with the weight of each row, one a line;
                              NULL: 1 */
    const char *offset;  /* a file with o_i, one a line; NULL: 0 */
    const char *penalty_factors; /* a file with a factor from 0 up for each
                                    column, which multiplies its penalty; 0: not
                                    penalised. NULL: 1. Read by the
                                    coordinator */
    const char *groups; /* of "group" and "sparse-group": a file with the number
                           of each column's group, from 0. Read by the
                           coordinator. Groups that overlap:
                           strads_glm_overlap_read */
    const char *strata; /* of "cox" and "cox-efron": a file with the number of
                           each row's stratum, from 0 up, one a line. Rows are
                           at risk together only within a stratum, and each
                           stratum has its own baseline hazard. NULL: one
                           stratum */
    const char *class_weight; /* classes: NULL, "none": 1; "balanced": W / (k
                                 W_class); or "LABEL=WEIGHT,..." */
    const char
        *classes; /* labels, "0,1"; the second of two is positive, more are
                            each fitted against the rest. NULL: the data's,
                            ascending */
    /* The same from memory instead of files; they must outlive the run. For
     * runs of one process. NULL: the files. */
    const double *row_weight;     /* [rows] */
    const double *row_offset;     /* [rows] */
    const double *penalty_factor; /* [columns] */
    const uint32_t *column_group; /* [columns] */
    const uint32_t *row_stratum;  /* [rows] */
    /* [k] start value of b for each problem, with start values of the
     * coefficients; must outlive the run. NULL: the best b for coefficients of
     * 0. */
    const double *start_intercept;
    /* "auto", "rows" or "columns": which program `strads lasso train` runs.
     * NULL: "auto". */
    const char *cut;
} strads_glm_options;

/* The program: name "glm". Parameters: one for each column, then b with an
 * intercept, then internal ones. With more than two classes each has one number
 * a class. Split by rows, compressed columns. Needs labels. */
extern STRADS_API const strads_program strads_program_glm;

/* ---- a path -------------------------------------------------------------- */

/* A sequence of fits in one run, each warm-started from the one before. */
typedef struct strads_glm_path_options {
    strads_glm_options fit; /* lambda, lambda_ratio and c stay 0 */
    uint32_t points;        /* 1 .. 10000, evenly in their logarithm; 0: 100 */
    double ratio;           /* the last lambda / the first, at most 1; 0: .01 */
    double first;           /* the first lambda; 0: lambda_max */
    const char *lambdas;  /* instead of these: "L,L,...", or a file with numbers
                             from 0 up; NULL: none */
    const double *lambda; /* [points] the same from memory; must outlive the
                             run */
    /* Without such a list, the path ends early, from its fifth point on: at a
     * point that explains more than this share of the null deviance, and at one
     * that adds less than this share to what is explained. At most 1; 0: no
     * early end. Not by columns. */
    double most_explained, least_gain;
    /* Gaps of points, and the tolerance, are relative to the objective of the
     * null model, all penalised coefficients 0, if it is larger than the
     * point's: late points are then as exact in a plot as early ones. Not by
     * columns. */
    bool gaps_of_null;
    /* Programs by columns cross-validate the path in the same run; the others
     * do not use these. folds: 2 .. rows; 0: by the file. A file has each row's
     * fold, a number from 1, one a line; NULL: drawn. Neither: no folds. */
    uint32_t folds;
    const char *fold_file;
} strads_glm_path_options;

/* The program: name "glm-path"; data as for "glm", any penalty except "none".
 * The run ends at the last point. The reported gap is the worst of all points,
 * 1 until the last one; the coefficients are the last point's. Measures:
 * "points" reached and the present "lambda". */
extern STRADS_API const strads_program strads_program_glm_path;

/* Returns the *n points reached, in the order of the path; NULL and 0 for the
 * state of another program. Valid as long as the state. */
STRADS_API const strads_path_point *strads_glm_path(const void *state,
                                                    uint32_t *n);

/* ---- relaxed fits -------------------------------------------------------- */

typedef struct strads_glm_relax_options {
    strads_glm_options fit;    /* those of the penalised fit or path */
    double share;              /* of the penalised coefficients, 0 .. 1; 0: the
                                  relaxed ones alone */
    double tolerance;          /* of the relaxed fits; 0: 1e-9 */
    const volatile bool *stop; /* as in strads_engine_options */
} strads_glm_relax_options;

/* Refits the same loss without a penalty (bounds stay) on the columns that each
 * point selects, and sets out[k] to points[k] with
 *
 *     coefficients = share x penalised + (1 - share) x relaxed
 *
 * (Meinshausen, Computational Statistics & Data Analysis 52, 2007; the
 * mixture: Hastie, Tibshirani and Tibshirani, Statistical Science 35, 2020),
 * the same of the intercept, and the mixture's deviance. Objective and gap
 * stay those of the penalised fit. A point keeps its penalised coefficients if
 * it selects more columns than rows - 3 (the intercept counts as one), or if
 * the fit without a penalty has no minimum.
 *
 * out[n] has the indices of `points`, which must live as long; the caller frees
 * its values by strads_glm_relaxed_free. `data` needs compressed columns, a
 * split by rows, labels, and all its partitions in this process.
 * STRADS_EINVAL: an option; ridge or none, which select no columns; more than
 * two classes. STRADS_ECANCELED: stopped. STRADS_ENOMEM. Blocks. Any thread. */
STRADS_API strads_err strads_glm_relax(const strads_data *data,
                                       const strads_glm_relax_options *options,
                                       const strads_path_point *points,
                                       uint32_t n, strads_path_point *out);
/* Frees the values that strads_glm_relax made. NULL is allowed. */
STRADS_API void strads_glm_relaxed_free(strads_path_point *points, uint32_t n);

/* ---- cross-validation ---------------------------------------------------- */

typedef struct strads_glm_cv_options {
    strads_glm_path_options path; /* first or lambda: all folds use the same
                                     lambdas; not `lambdas` */
    uint32_t folds;               /* 2 .. rows; 0: 10 */
    const char *fold_file;        /* each row's fold, a number from 1, one a
                                     line; NULL: drawn */
    uint32_t threads;             /* folds at once; 0: 1 */
    uint64_t seed;                /* of the draw of folds */
    double tolerance;             /* of each fold's points; 0: 1e-6 */
    const volatile bool *stop;    /* as in strads_engine_options */
    double time_limit;            /* seconds for all folds; 0: no limit */
    const double *relax; /* [relaxes] shares of strads_glm_relax, descending,
                            that are validated at each lambda; NULL: 1 alone */
    uint32_t relaxes;
} strads_glm_cv_options;

/* Cross-validates a path: fits it once for each fold on the rows of all other
 * folds, and measures the error on the rows of the fold. The error of a row is
 * twice its loss (the squared error or the deviance), weighted by row and
 * class. Of "cox" and "cox-efron" the error of a fold is twice the loss of all
 * rows minus that of the rows outside the fold, divided by the weight of the
 * fold's events (Verweij and van Houwelingen, Statistics in Medicine 12, 1993);
 * folds without events do not count. Of "ordinal" the thresholds of the other
 * rows judge those of a fold. Folds are drawn by `seed`, of nearly equal
 * size, and stratified by class.
 *
 * Fills in points[path.points]. *best is the index of the least error,
 * *simplest that of the largest lambda with an error within one standard error
 * of it (Breiman et al., "Classification and Regression Trees", 1984, section
 * 3.4.3). With `relax` it fills in points[path.points x relaxes]: point k at
 * share r is points[k x relaxes + r], and of several shares at a lambda the
 * first one counts as the simplest. The bits do not depend on `threads`. `data`
 * needs compressed columns, a split by rows, labels, and all its partitions in
 * this process.
 * STRADS_EINVAL: an option, or data without labels. STRADS_ENOMEM.
 * STRADS_ECANCELED: stopped, or the time limit. Blocks. */
STRADS_API strads_err strads_glm_cv(const strads_data *data,
                                    const strads_glm_cv_options *options,
                                    strads_cv_point *points, uint32_t *best,
                                    uint32_t *simplest);

/* ---- by columns ---------------------------------------------------------- */

/* The program for data that is cut by columns (STRADS_SPLIT_COLS), in memory or
 * packed in a file of any size (`packed`): workers hold columns and a copy of
 * the margins, and only columns that may be nonzero are unpacked. The penalty
 * l1 or elastic-net with a lambda above 0; every loss with two classes or with
 * numbers. Every process reads the file of penalty factors.
 * Name "glm-columns"; `config` as for "glm". Parameters beyond the columns are
 * the margins X w and the intercept. */
extern STRADS_API const strads_program strads_program_glm_columns;

/* The same for a path, with an option to cross-validate it: several lambdas,
 * and folds, share a pass over the columns. Name "glm-path-columns"; `config`
 * as for "glm-path", lambdas above 0. The coefficients are those of the last
 * point on all rows. Measures: "points", where those of folds count as shares,
 * and "lambda". */
extern STRADS_API const strads_program strads_program_glm_path_columns;

/* As strads_glm_path, for the programs of paths by columns: the points that are
 * reached without a gap. */
STRADS_API const strads_path_point *strads_columns_path(const void *state,
                                                        uint32_t *n);

/* The result of a cross-validation by columns, as strads_glm_cv returns it:
 * points[n], n of strads_columns_path. STRADS_ECANCELED: the run ended before
 * its last fold. STRADS_EINVAL: it had no folds. */
STRADS_API strads_err strads_columns_cv(const void *state,
                                        strads_cv_point *points, uint32_t *best,
                                        uint32_t *simplest);

/* Results, from the state that strads_result_state returns; any thread: the
 * options with lambda filled in, the intercept, lambda_max, the work done. */
typedef struct strads_columns_work {
    uint64_t scans;      /* passes over all columns */
    uint64_t candidates; /* columns that were unpacked */
    uint64_t updates;    /* of coordinates, all of them on workers */
} strads_columns_work;
STRADS_API strads_glm_options strads_columns_resolved(const void *state);
STRADS_API double strads_columns_intercept(const void *state);
STRADS_API double strads_columns_lambda_max(const void *state);
STRADS_API strads_columns_work strads_columns_worked(const void *state);

/* ---- results ------------------------------------------------------------- */

/* Results, from the state that strads_result_state returns; any thread. */

/* Returns the options with loss, penalty, lambda and classes filled in, and the
 * options that determined them cleared. Valid as long as the state. */
STRADS_API const strads_glm_options *strads_glm_resolved(const void *state);
/* Returns b of each problem for the last committed coefficients; 0 without an
 * intercept. Valid as long as the state. */
STRADS_API const double *strads_glm_intercepts(const void *state);
/* Returns lambda_max, the smallest lambda at which all penalised coefficients
 * are 0. For "ridge", which has none, that of an l1_ratio of .001; 0 without a
 * penalty. */
STRADS_API double strads_glm_lambda_max(const void *state);
/* Returns whether the fit has no minimum: nothing is penalised, and some
 * combination of columns separates the labels (zeros, for Poisson and
 * Tweedie), so that coefficients grow without bound. The run then ends with
 * STRADS_END_STOPPED and a gap of 1. */
STRADS_API bool strads_glm_separable(const void *state);

/* Returns the baseline hazard of a finished fit of "cox" (Breslow's estimate:
 * Biometrics 30, 1974) or "cox-efron" (with Efron's sums at equal times), at
 * the last committed coefficients: that of rows with X w + o = 0. n is 0 for
 * other losses. Valid as long as the state. */
STRADS_API const strads_baseline *strads_glm_baseline(const void *state);

/* Returns the thresholds t of a finished fit of "ordinal", ascending, one fewer
 * than its classes: P(class <= k) = 1 / (1 + exp(x'w + o - t[k])). *n is 0 for
 * other losses. Valid as long as the state. */
STRADS_API const double *strads_glm_thresholds(const void *state, uint32_t *n);
/* Computes those at the coefficients of a point of a path or a fit:
 * thresholds[n], n one fewer than the classes. `data` as for strads_glm_relax.
 * STRADS_EINVAL: an option, another loss or n. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_glm_point_thresholds(
    const strads_data *data, const strads_glm_options *options,
    const strads_path_point *point, uint32_t n, double *thresholds);

/* Returns the probability that a row at this margin x'w + o has no event up to
 * `time`, that is exp(-H(time) exp(margin)) with H the baseline hazard of its
 * stratum. NaN: a stratum without steps. Any thread. */
STRADS_API double strads_glm_survival(const strads_baseline *baseline,
                                      uint32_t stratum, double time,
                                      double margin);

/* Computes sum c_i f(y_i, z_i), or of "cox" and "cox-efron" the loss of all
 * rows, at the margins z[rows] of labels y[rows]. Of `options` the loss (not of
 * classes), its parameter, row_weight and row_stratum are used. STRADS_EINVAL:
 * a loss of classes, an option. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_glm_loss(const strads_glm_options *options,
                                      uint64_t rows, const double *y,
                                      const double *z, double *out);

/* Returns the prediction of a loss at margin = o + x'w + b: the number, the
 * mean, or the probability of the second class. NaN: unknown loss. */
STRADS_API double strads_glm_mean(const char *loss, double margin);
/* Returns whether a loss is for two classes. */
STRADS_API bool strads_glm_classifies(const char *loss);

/* ---- groups that overlap ------------------------------------------------- */

/* Columns in more than one group, for the latent group Lasso (Jacob, Obozinski,
 * Vert, ICML 2009): a coefficient is the sum of a part for each group of its
 * column, and groups penalise their parts. It is the fit of "group" or
 * "sparse-group" to data in which columns are repeated, with `group` as
 * column_group. */
typedef struct strads_glm_overlap {
    uint64_t columns, copies;
    uint32_t *source; /* [copies] the column of a copy, ascending */
    uint32_t *group;  /* [copies] and its group */
} strads_glm_overlap;

/* Reads a file of groups: a line "G" or "G,G,..." for each column, numbers from
 * 0 up. The caller frees *out. STRADS_EINVAL: no such file, or another number
 * of lines. STRADS_EFORMAT, STRADS_EIO, STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_glm_overlap_read(const char *path,
                                              uint64_t columns,
                                              strads_glm_overlap *out);
STRADS_API void strads_glm_overlap_free(strads_glm_overlap *overlap);

/* Copies `data`, which is as for strads_glm_relax, with the columns of
 * overlap->source; the caller frees *out. STRADS_EINVAL: other data.
 * STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_glm_overlap_data(const strads_data *data,
                                              const strads_glm_overlap *overlap,
                                              strads_data **out);

/* Sums parts v[copies] up to coefficients w[columns]. */
STRADS_API void strads_glm_overlap_fold(const strads_glm_overlap *overlap,
                                        const double *v, double *w);

/* ---- adaptive penalties -------------------------------------------------- */

typedef struct strads_glm_adaptive_options {
    strads_glm_options fit; /* of the adaptive fit; its loss, rows, classes,
                               intercept, bounds and standardize also apply to
                               the first fit */
    double gamma;           /* above 0; 0: 1 */
    const double *first; /* [columns] the coefficients of a first fit; NULL: a
                               ridge fit at the lambda that predicts best */
    uint32_t threads;    /* of that; 0: 1 */
    uint64_t seed;       /* of the draw of its folds */
    const volatile bool *stop; /* as in strads_engine_options */
    double time_limit;         /* seconds; 0: no limit */
} strads_glm_adaptive_options;

/* Computes the penalty factors of the adaptive Lasso (Zou, J. Am. Stat. Assoc.
 * 101, 2006): factor[columns], to be set as `penalty_factor` of a fit, path or
 * cross-validation,
 *
 *     factor_j = p_j / (s_j |first_j|)^gamma
 *
 * p_j is the penalty factor of `fit`, s_j the scale by which `standardize`
 * divides column j, otherwise 1. A factor is at most 1e30, so that a column
 * with a first coefficient of 0 is left out. The default first fit is the ridge
 * with the least error of 10 folds among 20 lambdas from lambda_max down to
 * 1e-5 of it.
 *
 * `data` as for strads_glm_cv. STRADS_EINVAL: an option; penalties except l1
 * and elastic-net; more than two classes; a first fit of zeros. STRADS_ENOMEM.
 * STRADS_ECANCELED: stopped, or the time limit. Blocks. */
STRADS_API strads_err
strads_glm_adaptive(const strads_data *data,
                    const strads_glm_adaptive_options *options, double *factor);

/* ---- standard errors ----------------------------------------------------- */

typedef struct strads_glm_dispersion {
    double value;   /* the variance of a label is this times V(mean) */
    double dof;     /* rows with a weight, less the coefficients and b */
    bool estimated; /* the dispersion is Pearson's estimate; otherwise it is
                          1, as for logistic and poisson */
} strads_glm_dispersion;

/* Computes standard errors of a fit without a penalty and bounds, from the
 * expected information at w and b (McCullagh and Nelder, "Generalized Linear
 * Models", 1989, section 2.5). se[columns + 1], the last of b (0 without an
 * intercept).
 *
 * `data`: one partition with compressed rows and labels. Of `options`, which
 * are those of the fit, the loss (squared, logistic, poisson, gamma, tweedie),
 * its parameter, intercept, classes (two), weights and offsets are used; the
 * penalty must be "none". STRADS_EINVAL: other options, or columns that depend
 * on each other; the sentence has the first one's number. STRADS_ELIMIT: more
 * than 5,000 columns. STRADS_ENOMEM. Memory: 8 bytes times columns squared;
 * time: rows times the entries of a row squared. Blocks. Any thread. */
STRADS_API strads_err strads_glm_errors(const strads_data *data,
                                        const strads_glm_options *options,
                                        const double *w, double b, double *se,
                                        strads_glm_dispersion *dispersion);

#ifdef __cplusplus
}
#endif

#endif
