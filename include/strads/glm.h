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
 * The gap that it reports is a relative duality gap, (P - D) / P. Coefficients that neither a penalty nor bounds hold are
 * taken to be within ten times what they are now, or would be in a fit of their
 * column alone. */
#ifndef STRADS_GLM_H
#define STRADS_GLM_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to. All zero: least squares with an L1 penalty at
 * lambda_max / 100. At most one of lambda and lambda_ratio may be given. */
typedef struct strads_glm_options {
    const char *loss;      /* NULL: "squared" */
    const char *penalty;   /* NULL: "l1" */
    double loss_parameter; /* of losses that have one; 0: what is usual */
    double lambda;         /* weight of the penalty, > 0; 0: by lambda_ratio */
    double lambda_ratio;   /* lambda / lambda_max, > 0; 0: 0.01 */
    double l1_ratio;     /* of "elastic-net": the L1 share, .001 .. 1; 0: .5 */
    double lower, upper; /* of each coefficient, with 0 between them; both 0: no
                              bounds */
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
    const char *class_weight;    /* classes: NULL, "none": 1; "balanced": W / (k
                                 W_class); or "LABEL=WEIGHT,..." */
    const char *classes; /* two labels, "0,1"; the second is positive. NULL: the
                            data's, ascending */
    /* The same from memory, in place of files; the caller's, during the run. For
     * runs of one process. NULL: by the files. */
    const double *row_weight;     /* [rows] */
    const double *row_offset;     /* [rows] */
    const double *penalty_factor; /* [columns] */
} strads_glm_options;

/* The program: name "glm", one parameter a column and, with an intercept, one
 * more, b. Rows split, columns compressed. Needs labels. */
extern STRADS_API const strads_program strads_program_glm;

/* Results, from the state that strads_result_state returns; any thread. */

/* The options as the run took them: the loss, the penalty, lambda and classes
 * filled in, what they were found by left out. Valid as long as the state. */
STRADS_API const strads_glm_options *strads_glm_resolved(const void *state);
/* b of the coefficients committed last; 0 without an intercept. */
STRADS_API double strads_glm_intercept(const void *state);
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
