/* strads/fm.h - factorisation machines of second order, a built-in program.
 *
 *     y(x) = w_0 + sum_j w_j x_j + sum_{j<l} v_j'v_l x_j x_l
 *
 * (Rendle, "Factorization machines", ICDM 2010). Training minimises
 *
 *     1/n sum loss(y(x_i), y_i) + lambda/2 |w|^2 + lambda_factors/2 |V|^2
 *
 * by alternating least squares (Rendle et al., SIGIR 2011): y(x) is linear in
 * (w_j, v_j) if all other columns are fixed, so each column's minimum has a
 * closed form. The logistic loss is replaced by a parabola that touches it
 * from above (Jaakkola and Jordan, 2000), so the objective never rises. Columns
 * without a common row, for example all users of one-hot ratings, are solved
 * together. */
#ifndef STRADS_FM_H
#define STRADS_FM_H

#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/model.h"
#include "strads/options.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rank of a model without factors, and the greatest rank. */
#define STRADS_FM_LINEAR STRADS_OPTION_ZERO
#define STRADS_FM_RANK_MAX 256

/* The options (`config`); all zero: the defaults below. */
typedef struct strads_fm_options {
    const char *loss; /* "squared": (y - label)^2 / 2, or "logistic": labels of
                         two values or two names; NULL: squared */
    uint32_t rank;    /* numbers in v_j, up to STRADS_FM_RANK_MAX; 0: 8;
                         STRADS_FM_LINEAR: none */
    uint32_t sweeps;  /* most passes over the columns; 0: 100. The run ends
                         earlier if a sweep lowers the objective by less than
                         the engine's tolerance, as a share of it */
    double lambda;    /* weight of the penalty; 0: 5 / n; -0.0: none, as
                         --lambda 0 */
    double lambda_factors; /* the same for V; 0: that of w; -0.0: none */
    const char *classes;   /* logistic: "NEGATIVE,POSITIVE": labels or their
                              names; NULL: the two of the data, ascending */
} strads_fm_options;

/* The program: name "fm", split by rows, compressed columns. Parameter j holds
 * w_j and v_j, 1 + rank numbers; the last parameter, behind those of all
 * columns, holds w_0, and models contain it as their intercept. V starts with
 * normal deviates of deviation 0.1, unless start values are given. Each process
 * keeps a copy of all parameters for each of its partitions. With the same seed
 * and partitions, the bits are the same on any number of workers and nodes. */
extern STRADS_API const strads_program strads_program_fm;

/* Results, from the state that strads_result_state returns; any thread, valid
 * as long as the state. */

/* Returns the options with all defaults, lambdas and labels filled in. */
STRADS_API const strads_fm_options *strads_fm_resolved(const void *state);
/* Returns [1 + rank] numbers: w_0 of the result, and zeros. */
STRADS_API const double *strads_fm_intercepts(const void *state);
/* Returns the mean loss on the training rows after the last sweep. */
STRADS_API double strads_fm_loss(const void *state);

/* Computes y(x) for each line of `rows`, into out[rows->lines]: the prediction
 * (squared) or the log odds of the positive label (logistic). `model` is that
 * of a factorisation machine (strads/model.h). Columns that it lacks are
 * ignored. STRADS_EFORMAT: a model of another program. STRADS_ENOMEM.
 * Any thread. */
STRADS_API strads_err strads_fm_predict(const strads_model *model,
                                        const strads_sparse *rows, double *out);

#ifdef __cplusplus
}
#endif

#endif
