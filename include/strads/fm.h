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
 * together.
 *
 * By stochastic gradient descent, each partition passes over its rows in random
 * order and moves a copy of the parameters. The copies are averaged, each
 * column by its entries in each partition, once to 8 times a sweep.
 *
 * The loss bpr fits the order of items of implicit feedback (Rendle et al.,
 * UAI 2009): for a row with the columns c of a context (a user) and a of an
 * item, it draws an item b that the context did not have, and adds
 * ln(1 + exp(y(c, b) - y(c, a))). */
#ifndef STRADS_FM_H
#define STRADS_FM_H

#include <stdint.h>

#include "strads/data.h"
#include "strads/engine.h"
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
/* Most fits of a search, and `tune` for none. */
#define STRADS_FM_TRIALS 64
#define STRADS_FM_NO_SEARCH STRADS_OPTION_ZERO

/* The options (`config`). strads_fm_tune chooses rank and lambda where they are
 * 0; the defaults here are those of a run without it. */
typedef struct strads_fm_options {
    const char *loss; /* "squared": (y - label)^2 / 2; "logistic": labels of
                         two values or two names; "bpr": rows with a label
                         above 0 are what their context had; NULL: squared */
    uint32_t rank;    /* numbers in v_j, up to STRADS_FM_RANK_MAX; 0: 8;
                         STRADS_FM_LINEAR: none */
    uint32_t sweeps;  /* most passes over the columns; 0: 100. The run ends
                         earlier if a sweep lowers the objective by less than
                         the engine's tolerance, as a share of it. sgd: passes
                         over the rows, all of them; 0: 30 */
    double lambda;    /* weight of the penalty; 0: 5 / n; -0.0: none, as
                         --lambda 0 */
    double lambda_factors; /* the same for V; 0: that of w; -0.0: none */
    const char *classes;   /* logistic: "NEGATIVE,POSITIVE": labels or their
                              names; NULL: the two of the data, ascending */
    uint32_t tune;         /* most fits of strads_fm_tune, up to
                              STRADS_FM_TRIALS; 0: 16; STRADS_FM_NO_SEARCH:
                              none. Nothing is searched for the loss bpr */
    const char *method;    /* "als" or "sgd"; NULL: als, for the loss bpr sgd */
    double step;           /* sgd: share of a row's residual that a step removes
                           in the first sweep, up to 1, about; it falls
                           linearly to 1/50 of it; 0: .1 */
    uint32_t context; /* bpr: the columns before this one are of the context,
                           the others of the item; less than the columns */
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

/* Compares rows with equal entries in the columns before `context`: a row with
 * a label above 0 with one without. *pairs is the number of such pairs,
 * *ordered that of the pairs where the first row has the larger score; equal
 * scores count half. label and score are [rows->lines]; scores are finite.
 * STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_fm_order(const strads_sparse *rows,
                                      uint32_t context, const double *label,
                                      const double *score, double *pairs,
                                      double *ordered);

/* ---- choosing the options ------------------------------------------------ */

/* One fit of a search. */
typedef struct strads_fm_trial {
    uint32_t rank; /* 0: no factors */
    double lambda; /* for all rows of the data */
    double loss;   /* mean of the held-out rows */
} strads_fm_trial;

/* A search's result. */
typedef struct strads_fm_tuning {
    strads_fm_options options; /* as given, with the choice filled in */
    uint64_t rows, held;       /* that the fits used, and that they were judged
                                  by */
    uint32_t trials, best; /* 0 trials: nothing was searched, and `options` are
                              those given */
    strads_fm_trial trial[STRADS_FM_TRIALS]; /* in the order of their fits */
} strads_fm_tuning;

/* Chooses lambda and rank, where they are 0, by fits on a sample of the rows of
 * which a fifth is held out: first lambda for a rank of 8, or that given, in
 * steps of 4 and 2; then rank 0, and ranks 16 and 32 while they are better. The
 * result depends on data, options and seed alone, not on workers and
 * partitions. Nothing is searched if both are given, with `tune`
 * STRADS_FM_NO_SEARCH, for fewer than 100 rows, or if the sample has no rows to
 * fit or to hold out, or for the logistic loss only one class to fit.
 *
 * `data` has all partitions, by columns. Of `engine`: workers, seed, tolerance,
 * stop; NULL: defaults. If `stop` becomes true, the search ends with the best
 * fit so far. Blocks; any thread. STRADS_EINVAL: an option, or data that lacks
 * partitions. STRADS_ENOMEM. Errors of strads_run. */
STRADS_API strads_err strads_fm_tune(const strads_fm_options *given,
                                     const strads_data *data,
                                     const strads_engine_options *engine,
                                     strads_fm_tuning *out);

#ifdef __cplusplus
}
#endif

#endif
