/* strads/svm.h - linear support vector machines, a built-in program.
 *
 *     minimise 1/2 |w|^2 + C sum_i c_i loss(y_i, x_i'w)
 *
 * over w, as liblinear does; c_i is the row's weight, 1 unless told. With m =
 * y x'w for classes y = +-1, and r = y - x'w for numbers y,
 *
 *     hinge            max(0, 1 - m)
 *     squared-hinge    max(0, 1 - m)^2
 *     epsilon          max(0, |r| - epsilon)
 *     squared-epsilon  max(0, |r| - epsilon)^2
 *
 * With k > 2 classes it is k such problems, each class against all others, with
 * one C; objective and gap are those of their sum, and w has k numbers for each
 * column, in the order of the classes.
 *
 * With a bias B each row has one more column, of value B, whose coefficient is
 * penalised like all others, as in liblinear: the intercept is B times that
 * coefficient. With `intercept` one is added to x'w that is not penalised. The
 * gap that it reports is a relative duality gap, (P - D) / P. */
#ifndef STRADS_SVM_H
#define STRADS_SVM_H

#include <stdbool.h>

#include "strads/error.h"
#include "strads/logistic.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to; NULL: the squared hinge at C = 1. */
typedef struct strads_svm_options {
    const char *loss; /* as above; NULL: "squared-hinge" */
    double c;         /* C, > 0; 0: 1 */
    double bias;      /* B, >= 0; 0: no such column */
    bool intercept;   /* fit one that is not penalised, without a bias */
    double epsilon;   /* >= 0, of the last two losses */
    bool standardize; /* penalise as if each column had been divided by its
                         standard deviation (1/W; without a bias: by its root
                         mean square); w stays in the data's unit. Workers then
                         hold a second copy of their values, in 8 bytes */
    const char *class_weight; /* NULL, "none": 1; "balanced": W / (k W_class),
                                 with W the sum of weights; or
                                 "LABEL=WEIGHT,..." */
    const char *weights;      /* a file with the weight of each row, one a line;
                                 NULL: 1 */
    const char *classes; /* the labels in order, "0,1,2", or by their names; of
                            two the second is positive. NULL: the data's,
                            ascending; more than two numbers have to be listed
                            where a process does not keep the whole data */
    const double *start_intercept; /* [k] the intercepts, beside start values of
                                      coefficients; NULL: 0. The caller's */
    const double *row_weight; /* [rows] as `weights`, from memory, in place of a
                                 file; the caller's, during the run. For runs of
                                 one process. NULL: by `weights` */
} strads_svm_options;

/* Passes over fewer entries than this are left to one partition of a pool: the
 * visits that rows need more where several work on them cost more than they
 * save. */
#define STRADS_SVM_ALONE 1e6

/* The program: name "svm"; rows split, rows compressed. Its parameters are the
 * cols coefficients, which the model holds, that of the bias, groups of rows,
 * which are scheduled, and at the end a dual value for each row, as of the last
 * report; each of 1 number, or of k. Needs labels; of 2 to 1,000 values, for the
 * first two losses. */
extern STRADS_API const strads_program strads_program_svm;

/* The squared hinge with an L1 penalty or the elastic net, by columns: the
 * problem of strads/logistic.h, of two labels or of each against all others,
 * with max(0, 1 - m)^2 in the place of log(1 + exp(-m)). With l1_ratio 1 and
 * lambda = 1 / (C W), which c asks for, w is that of
 *
 *     minimise |w|_1 + C sum_i c_i max(0, 1 - y_i (x_i'w + b))^2
 *
 * and the objective is 1 / (C W) of it. What `config` points to; NULL: C = 1,
 * l1_ratio 1. */
typedef struct strads_svm_l1_options {
    strads_logistic_options fit; /* multiclass: not "softmax" */
    const char *loss;            /* NULL, "squared-hinge" */
} strads_svm_l1_options;

/* The program: name "svm-l1"; parameters, data and results (of
 * strads_glm_resolved, _intercepts and _lambda_max) are those of
 * strads_program_glm (strads/glm.h). */
extern STRADS_API const strads_program strads_program_svm_l1;

/* Results, from the state that strads_result_state returns; any thread. */

/* The options as the run took them: classes filled in. Valid as long as the
 * state. */
STRADS_API const strads_svm_options *strads_svm_resolved(const void *state);
/* What is added to x'w, as committed last; one number, or one for each of more
 * than two classes; 0 without a bias or an intercept. Also of the state of
 * strads_program_logistic_dual. Valid as long as the state. */
STRADS_API const double *strads_svm_intercepts(const void *state);
/* Rows whose dual value was not 0 at the last report; those of several
 * problems are added up. */
STRADS_API uint64_t strads_svm_supports(const void *state);

#ifdef __cplusplus
}
#endif

#endif
