/* strads/logistic.h - logistic regression with an L1 penalty, an L2 penalty or
 * the elastic net, a built-in program.
 *
 *     minimise 1/W sum c_i log(1 + exp(-y_i (x_i'w + b)))
 *              + lambda (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
 *
 * over w, and over b with an intercept (b = 0 otherwise), which is not
 * penalised. y_i is 1 for one of two labels and -1 for the other, c_i the
 * row's weight (1 unless told), W the sum of all weights: a row of weight 2
 * counts as two. The gap that it reports is a relative duality gap,
 * (P - D) / P.
 *
 * With k > 2 labels it is k such problems, each label against all others, with
 * one lambda; objective and gap are those of their sum. Or, as `multiclass`
 * asks, it is one problem,
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

/* What `config` points to; NULL: lambda_max / 100 and l1_ratio 1. At most one
 * of lambda, lambda_ratio and c may be given. */
typedef struct strads_logistic_options {
    double lambda;       /* weight of the penalty, > 0; 0: by the two below */
    double lambda_ratio; /* lambda / lambda_max, > 0; 0: by c. If c is 0, too:
                            0.01, and c = 1 where l1_ratio is 0 */
    double c;            /* liblinear's C = 1 / (W lambda), > 0; 0: not given */
    double l1_ratio;     /* the L1 share of the penalty, 0 or .001 .. 1 */
    bool intercept;      /* fit b */
    bool standardize;    /* penalise as if each column had been divided by its
                            standard deviation (1/W; without an intercept: by
                            its root mean square); w stays in the data's unit */
    const char *class_weight; /* NULL, "none": 1; "balanced": W / (k W_class);
                                 or "LABEL=WEIGHT,..." */
    const char *weights;      /* a file with the weight of each row, one a line;
                                 NULL: 1 */
    const char *multiclass;   /* more than two labels: NULL, "ovr": each against
                               the rest; "softmax": all at once */
    const char *classes; /* the labels in order, "0,1,2", or by their names; of
                            two the second is positive. NULL: the data's,
                            ascending; more than two numbers have to be listed
                            where a process does not keep the whole data */
    const double *row_weight; /* [rows] as `weights`, from memory, in place of a
                                 file; the caller's, during the run. For runs of
                                 one process. NULL: by `weights` */
    const double *start_intercept; /* [k] b, beside start values of the
                                      coefficients. The caller's; NULL: the best
                                      where these are 0, the dual begins with
                                      0 */
} strads_logistic_options;

/* The program: name "logistic", one parameter a column and, with an intercept,
 * one more, b; each of 1 number, or of k for k > 2 labels, in their order. Rows
 * split, columns compressed. Needs labels of 2 to 1,000 values. Results by
 * strads_glm_resolved, strads_glm_intercepts and strads_glm_lambda_max
 * (strads/glm.h). */
extern STRADS_API const strads_program strads_program_logistic;

/* The same minimum, where the penalty is L2 alone, of a given lambda or c:
 * found in the dual, a variable a row, which on sparse data of many columns is
 * several times faster (Yu, Huang, Lin, Machine Learning 85, 2011). Name
 * "logistic-dual", the same struct of options; rows split, rows compressed. Its
 * parameters, and its intercepts, are those of strads_program_svm
 * (strads/svm.h). Several labels are each told from the rest. */
extern STRADS_API const strads_program strads_program_logistic_dual;

/* Whether these options are such, and unless `data` is NULL the data as well:
 * not a softmax, and with rows whose squares, times C, are 1e8 at most (beyond
 * that w, a sum over rows, has no digits left); and not of so few columns for
 * their rows that Newton's method by columns is faster. Only what this process
 * keeps of the data is looked at. Any thread. */
STRADS_API bool
strads_logistic_suits_dual(const strads_logistic_options *options,
                           const strads_data *data);

/* The options as a run of the dual program took them, from its state: lambda and
 * classes filled in, what they were found by left out. Its texts are valid as
 * long as the state. */
STRADS_API strads_logistic_options
strads_logistic_dual_resolved(const void *state);

/* The same for one lambda after the other, of two labels, as the command has it:
 * glm-path (strads/glm.h, with its functions for results and cross-validation)
 * with fewer options. `config` is strads_glm_path_options: the program's
 * defaults, changed. */
extern STRADS_API const strads_program strads_program_logistic_path;

#ifdef __cplusplus
}
#endif

#endif
