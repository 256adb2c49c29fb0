/* strads/svm.h - linear support vector machines, a built-in program.
 *
 *     minimise 1/2 |w|^2 + C sum_i c_i loss(y_i, x_i'w)
 *
 * over w, as liblinear does; c_i is the row's weight (default 1). With m = y
 * x'w for classes y = +-1, and r = y - x'w for numbers y,
 *
 *     hinge            max(0, 1 - m)
 *     squared-hinge    max(0, 1 - m)^2
 *     epsilon          max(0, |r| - epsilon)
 *     squared-epsilon  max(0, |r| - epsilon)^2
 *
 * With k > 2 classes the program solves k such problems with one C, each class
 * against all others; objective and gap are those of their sum, and w has k
 * numbers for each column, in the order of the classes.
 *
 * With a bias B each row has a further column of value B, and its coefficient
 * is penalised like all others, as in liblinear: the intercept is B times that
 * coefficient. With `intercept` an intercept without a penalty is added to x'w.
 * The reported gap is a relative duality gap, (P - D) / P. */
#ifndef STRADS_SVM_H
#define STRADS_SVM_H

#include <stdbool.h>

#include "strads/error.h"
#include "strads/logistic.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`); NULL: the squared hinge at C = 1. */
typedef struct strads_svm_options {
    const char *loss; /* as above; NULL: "squared-hinge" */
    double c;         /* C, > 0; 0: 1 */
    double bias;      /* B, >= 0; 0: no such column */
    bool intercept;   /* fit an intercept without a penalty; not with a bias */
    double epsilon;   /* >= 0, of the last two losses */
    bool standardize; /* penalise as if each column were divided by its standard
                         deviation (1/W; without a bias: by its root mean
                         square); w keeps the data's unit. Workers then hold a
                         second copy of their values, 8 bytes each */
    const char *class_weight; /* NULL, "none": 1; "balanced": W / (k W_class),
                                 with W the sum of weights; or
                                 "LABEL=WEIGHT,..." */
    const char *weights;      /* a file with the weight of each row, one a line;
                                 NULL: 1 */
    const char *classes; /* the labels in order, "0,1,2" or names; of two the
                            second is positive. NULL: those of the data,
                            ascending. More than two numbers must be listed if a
                            process does not keep the whole data */
    const double *start_intercept; /* [k] start values of the intercepts, with
                                      start values of coefficients; NULL: 0.
                                      Must outlive the run */
    const double *row_weight; /* [rows] weights from memory instead of a file;
                                 must outlive the run. For runs of one process.
                                 NULL: by `weights` */
} strads_svm_options;

/* One partition of a pool makes passes over fewer entries than this: with
 * several partitions, rows need more visits, which costs more than it saves. */
#define STRADS_SVM_ALONE 1e6

/* The program: name "svm"; split by rows, compressed rows. Parameters: the cols
 * coefficients, which the model contains; the coefficient of the bias; groups
 * of rows, which the policy schedules; and a dual value for each row, updated
 * with each report. Each has 1 number, or k. Needs labels; the first two losses
 * need labels of 2 to 10,000 values. */
extern STRADS_API const strads_program strads_program_svm;

/* The squared hinge with an L1 penalty or the elastic net, by columns: the
 * problem of strads/logistic.h, for two labels or for each against all others,
 * with max(0, 1 - m)^2 instead of log(1 + exp(-m)). With l1_ratio 1 and lambda
 * = 1 / (C W), that is with `c`, w solves
 *
 *     minimise |w|_1 + C sum_i c_i max(0, 1 - y_i (x_i'w + b))^2
 *
 * and the objective is 1 / (C W) times this one. The options (`config`); NULL:
 * C = 1, l1_ratio 1. */
typedef struct strads_svm_l1_options {
    strads_logistic_options fit; /* multiclass: not "softmax" */
    const char *loss;            /* NULL, "squared-hinge" */
} strads_svm_l1_options;

/* The program: name "svm-l1"; parameters, data and results (of
 * strads_glm_resolved, _intercepts and _lambda_max) are those of
 * strads_program_glm (strads/glm.h). */
extern STRADS_API const strads_program strads_program_svm_l1;

/* Results, from the state that strads_result_state returns; any thread. */

/* Returns the options with classes filled in. Valid as long as the state. */
STRADS_API const strads_svm_options *strads_svm_resolved(const void *state);
/* Returns the last committed intercepts: one number, or one for each of more
 * than two classes; 0 without a bias or an intercept. Also for the state of
 * strads_program_logistic_dual. Valid as long as the state. */
STRADS_API const double *strads_svm_intercepts(const void *state);
/* Returns the number of support vectors, rows with a nonzero dual value, at the
 * last report, summed over the problems. */
STRADS_API uint64_t strads_svm_supports(const void *state);

#ifdef __cplusplus
}
#endif

#endif
