/* strads/logistic.h - logistic regression with an L1 penalty, an L2 penalty or
 * the elastic net, a built-in program.
 *
 *     minimise 1/W sum c_i log(1 + exp(-y_i (x_i'w + b)))
 *              + lambda (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
 *
 * over w, and over b with an intercept (otherwise b = 0), which is not
 * penalised. y_i is 1 for the positive label and -1 for the other one, c_i the
 * row's weight (default 1), W the sum of all weights: a row of weight 2 equals
 * two rows. The reported gap is a relative duality gap, (P - D) / P.
 *
 * With k > 2 labels the program solves k such problems with one lambda, each
 * label against all others; objective and gap are those of their sum. With
 * `multiclass` = "softmax" it solves one problem,
 *
 *     minimise 1/W sum c_i (log sum_k exp(x_i'w_k + b_k) - (x_i'w + b)_label)
 *              + lambda sum_k (l1_ratio |w_k|_1 + (1 - l1_ratio)/2 |w_k|^2). */
#ifndef STRADS_LOGISTIC_H
#define STRADS_LOGISTIC_H

#include <stdbool.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`); NULL: lambda_max / 100 and l1_ratio 1. At most one of
 * lambda, lambda_ratio and c may be given. */
typedef struct strads_logistic_options {
    double lambda; /* weight of the penalty, > 0; 0: by the two below; -0.0:
                      none, as --lambda 0 */
    double
        lambda_ratio; /* lambda / lambda_max, > 0; 0: by c. If c is 0 as well:
                            0.01, or c = 1 if l1_ratio is 0 */
    double c;         /* liblinear's C = 1 / (W lambda), > 0; 0: not given */
    double l1_ratio;  /* the L1 share of the penalty, 0 or .001 .. 1 */
    bool intercept;   /* fit b */
    bool standardize; /* penalise as if each column were divided by its
                            standard deviation (1/W; without an intercept: by
                            its root mean square); w keeps the data's unit */
    const char *class_weight; /* NULL, "none": 1; "balanced": W / (k W_class);
                                 or "LABEL=WEIGHT,..." */
    const char *weights;      /* a file with the weight of each row, one a line;
                                 NULL: 1 */
    const char *multiclass;   /* more than two labels: NULL, "ovr": each against
                               the rest; "softmax": all at once */
    const char *classes; /* the labels in order, "0,1,2" or names; of two the
                            second is positive. NULL: those of the data,
                            ascending. More than two numbers must be listed if a
                            process does not keep the whole data */
    const double *row_weight; /* [rows] weights from memory instead of a file;
                                 must outlive the run. For runs of one process.
                                 NULL: by `weights` */
    const double
        *start_intercept; /* [k] start values of b, with start values of
                                      the coefficients; must outlive the run.
                                      NULL: the best b for coefficients of 0;
                                      the dual starts at 0 */
    /* "auto", "rows" or "columns": which program `strads logistic train` runs.
     * NULL: "auto". */
    const char *cut;
} strads_logistic_options;

/* The program: name "logistic". Parameters: one for each column, then b with an
 * intercept; each has 1 number, or k for k > 2 labels, in their order. Split by
 * rows, compressed columns. Needs labels of 2 to 10,000 values. Results by
 * strads_glm_resolved, strads_glm_intercepts and strads_glm_lambda_max
 * (strads/glm.h). */
extern STRADS_API const strads_program strads_program_logistic;

/* The same for two classes, an L1 penalty or both, and data that is cut by
 * columns: see strads_program_glm_columns (strads/glm.h). Name
 * "logistic-columns". */
extern STRADS_API const strads_program strads_program_logistic_columns;

/* A program for the L2 penalty with a given lambda or c, which solves the dual
 * with a variable for each row: several times faster on sparse data with many
 * columns (Yu, Huang, Lin, Machine Learning 85, 2011). Name "logistic-dual",
 * the same options; split by rows, compressed rows. Parameters and intercepts
 * are those of strads_program_svm (strads/svm.h). With several labels, one
 * problem for each label against the others. */
extern STRADS_API const strads_program strads_program_logistic_dual;

/* Returns whether strads_program_logistic_dual suits these options and, unless
 * `data` is NULL, this data: not a softmax; |x_i|^2 C at most 1e8 for every row
 * (beyond that w, a sum over rows, loses its digits); and enough columns that
 * Newton's method by columns is not faster. Checks only the part of the data
 * that this process keeps. Any thread. */
STRADS_API bool
strads_logistic_suits_dual(const strads_logistic_options *options,
                           const strads_data *data);

/* Returns the options of a run of the dual program, from its state, with lambda
 * and classes filled in, and the options that determined them cleared. Strings
 * are valid as long as the state. */
STRADS_API strads_logistic_options
strads_logistic_dual_resolved(const void *state);

/* The program of `strads logistic path`, for two labels: glm-path
 * (strads/glm.h) with fewer options and the same functions for results and
 * cross-validation. `config` points to strads_glm_path_options; start from a
 * copy of the program's defaults. */
extern STRADS_API const strads_program strads_program_logistic_path;

/* Its path by columns: glm-path-columns (strads/glm.h) with fewer options. */
extern STRADS_API const strads_program strads_program_logistic_path_columns;

#ifdef __cplusplus
}
#endif

#endif
