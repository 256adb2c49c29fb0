/* strads/mf.h - matrix factorisation, a built-in program.
 *
 *     r_ui ~ mean + b_u + c_i + p_u'q_i
 *
 * and with times + g_t, a bias of each period (Koren 2009, section 3). By
 * stochastic gradient descent, alternating least squares, descent by row, or
 * descent by rank (CCD++: Yu et al., ICDM 2012). Users and their factors stay
 * on their partition; blocks of items travel with their factors (DSGD: Gemulla
 * et al., KDD 2011). CCD++ merges sums of items instead. Biases are damped
 * means, subtracted beforehand. Ratings are scaled to mean 0 and deviation 1,
 * and the penalty follows the error on held-out ratings. If the loss of an SGD
 * sweep explodes, the sweep is undone and repeated with half the step. */
#ifndef STRADS_MF_H
#define STRADS_MF_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/engine.h"
#include "strads/error.h"
#include "strads/options.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rank of a model of mean and biases alone. */
#define STRADS_MF_BIASES STRADS_OPTION_ZERO
/* Most fits of a search, and `tune` for none. */
#define STRADS_MF_TRIALS 64
#define STRADS_MF_NO_SEARCH STRADS_OPTION_ZERO

/* `cg_steps` for exact solutions. */
#define STRADS_MF_EXACT STRADS_OPTION_ZERO

/* The options (`config`); NULL: all defaults. strads_mf_tune chooses rank, step
 * and lambda where they are 0; the defaults here are those of a run without
 * it. */
typedef struct strads_mf_options {
    const char *method; /* "sgd"; "als": whole rows by least squares, "cd": by
                           16 factors at a time; "ccd++": one rank after the
                           other; NULL: "als" for implicit and nonnegative, else
                           "sgd" */
    uint32_t rank;      /* factors of a user and an item, 1 .. 1024; 0: 16;
                           STRADS_MF_BIASES: none */
    uint32_t sweeps;    /* most passes over the ratings; 0: 20 */
    const char *test;   /* a file of ratings to measure the error on after each
                           sweep; every process reads it; NULL: none */
    double step;        /* first step size, > 0; 0: 0.08. It falls linearly to
                           1/50 of that */
    double lambda;      /* penalty of a rating on |p_u|^2 and |q_i|^2, in scaled
                           units; 0: a tenth of the held-out error; -0.0:
                           none, as --lambda 0 */
    bool unweighted;    /* lambda applies to a row, independent of its number of
                           ratings; a lambda of 0 is then n / sqrt(rows x
                           columns) times as large, with n ratings */
    double holdout;     /* share of held-out ratings, below 1, at most 100,000
                           of them; 0: 0.02; -0.0: none, as --holdout 0 */
    uint32_t patience;  /* the run ends after so many successive sweeps with a
                           held-out squared error 0.5 % above the best; 0: 3 */
    uint32_t stop_after; /* the run ends after this sweep, with the step sizes
                            of `sweeps` sweeps; 0: `sweeps` */
    bool no_biases;      /* b_u and c_i stay 0 */
    bool no_clip;        /* predictions may leave the range of the ratings */
    bool implicit;    /* ratings are counts, from 0 up: the target of p_u'q_i is
                           1 for counts above 0 and 0 elsewhere, with confidence
                           1 + alpha r (Hu, Koren, Volinsky 2008) */
    bool nonnegative; /* p_u, q_i >= 0. b_u and c_i have any sign, and the mean
                         is three deviations of the ratings lower: factors add
                         to it. With no_biases, mean, b_u and c_i are 0, and
                         ratings must be 0 or above */
    double alpha;     /* > 0; 0: 1 */
    uint32_t tune;    /* most fits of strads_mf_tune, up to STRADS_MF_TRIALS; 0:
                         16; STRADS_MF_NO_SEARCH: none */
    const char *user, *item,
        *rating;       /* names of these columns in the header line
                           of the data (strads_data_options) and of `test`;
                           NULL: common names */
    uint32_t cg_steps; /* implicit: steps of conjugate gradients for a row, from
                          its factors in the previous sweep (Takacs, Pilaszy
                          and Tikk 2011), up to 1000; STRADS_MF_EXACT: rows are
                          solved exactly; 0: 3 above rank 32, and exactly up to
                          there */
    const char *loss;  /* NULL or "squared"; of the order of items, for implicit
                          feedback by SGD, with x = p_u'(q_i - q_j) for an item i
                          that the user had and another one, j: "bpr",
                          ln(1 + e^-x) (Rendle et al. 2009), or "warp", 1 - x
                          weighted by the rank (Weston et al. 2011). lambda is
                          then per pair, 0: 0.01, and step 0: 0.1 */
    /* sgd, als and cd with the squared loss, also implicit: a folder for the
     * ratings, of which a few blocks are in memory then (strads/scratch.h); the
     * factors are those of a run in memory with as many blocks. Each process
     * uses its own folder of this name. STRADS_EIO: too little room.
     * NULL: in memory */
    const char *scratch;
    /* The column of times of `test`, as strads_data_options: the data has times
     * (strads_share), and the model a bias of each period. NULL: no times.
     * STRADS_EINVAL: data without times, or with implicit, no_biases or
     * scratch. */
    const char *time;
    /* "random"; with times also "time": the last ratings of each user are held
     * out; NULL: random */
    const char *holdout_by;
} strads_mf_options;

/* The range of the training times is cut into so many periods. */
#define STRADS_MF_PERIODS 20

/* Biases of periods, in the ratings' unit. Period k begins at first + k (last -
 * first) / STRADS_MF_PERIODS; earlier times belong to the first period, later
 * ones to the last. */
typedef struct strads_mf_periods {
    bool any; /* false: the model has no times, and all biases are 0 */
    double first, last;
    double bias[STRADS_MF_PERIODS];
} strads_mf_periods;

/* Returns the period of a time. */
static inline uint32_t strads_mf_period(const strads_mf_periods *p, double time)
{
    const double at = (time - p->first) / (p->last - p->first);

    if (!(at > 0))
        return 0;
    return at >= 1 ? STRADS_MF_PERIODS - 1 : (uint32_t)(at * STRADS_MF_PERIODS);
}

/* The program: name "mf"; ratings, split by rows, compressed rows, f32. The
 * parameters are the items, 1 + rank numbers each: c_i and q_i. */
extern STRADS_API const strads_program strads_program_mf;

/* Results, from the state that strads_result_state returns; any thread, valid
 * as long as the state. */

/* Returns [rows x (1 + rank)] b_u and p_u of each user; NULL if a bound or a
 * signal ended the run before they were gathered. */
STRADS_API const float *strads_mf_users(const void *state);
/* Returns the model's mean: of the training ratings, less strads_mf_lift. */
STRADS_API double strads_mf_mean(const void *state);
/* Returns the part of the mean that non-negative factors model, 0 for other
 * models. It replaces p_u'q_i in the prediction of an unknown user or item. */
STRADS_API double strads_mf_lift(const void *state);
/* Returns the constant by which the remainders were raised for non-negative
 * factors, 0 for other models; it is the lift without the penalty's effect. */
STRADS_API double strads_mf_raise(const void *state);
/* Returns the weight of the penalty on |p_u|^2 for each rating, in the ratings'
 * unit; for each user with implicit feedback or `unweighted`. It is that of the
 * sweep after the one that produced the result's factors. */
STRADS_API double strads_mf_penalty(const void *state);
/* Returns the options with all defaults filled in. */
STRADS_API const strads_mf_options *strads_mf_resolved(const void *state);
/* Returns the number of sweeps that were undone because their loss exploded. */
STRADS_API uint32_t strads_mf_undone(const void *state);
/* Returns the sweep, from 1, that produced the result's factors: the one with
 * the least held-out error, or the last one without held-out ratings; 0 before
 * the first. */
STRADS_API uint32_t strads_mf_best_sweep(const void *state);
/* Root mean squared errors after that sweep: of the ratings trained on, held
 * out, and of the test; NaN when there are none. Predictions of the last two
 * are clipped to the range. */
STRADS_API void strads_mf_errors(const void *state, double *train,
                                 double *validation, double *test);
/* The least and the largest rating, to which predictions are clipped; -infinity
 * and infinity with no_clip or implicit feedback. */
STRADS_API void strads_mf_range(const void *state, double *low, double *high);
/* Returns the biases of periods, valid as long as the state. */
STRADS_API const strads_mf_periods *strads_mf_times(const void *state);
/* Returns the damping d of the users' biases, b_u = sum (r - mean - c_i) / (n +
 * d), estimated from the ratings. */
STRADS_API double strads_mf_damping(const void *state);

/* ---- choosing the options ------------------------------------------------ */

/* One fit of a search, with its options. */
typedef struct strads_mf_trial {
    uint32_t rank; /* 0: biases alone */
    double lambda, step;
    uint32_t sweep; /* the one with the least held-out error, from 1 */
    double rmse;    /* of the held-out ratings after this sweep */
    double seconds; /* wall time */
} strads_mf_trial;

/* A search's result. */
typedef struct strads_mf_tuning {
    strads_mf_options options; /* as given, with the choice filled in: for a fit
                                  on all ratings, none of them held out */
    uint64_t ratings;          /* of the sample */
    uint32_t trials, best; /* 0 trials: nothing was searched, and `options` are
                              those given */
    strads_mf_trial trial[STRADS_MF_TRIALS]; /* in the order of their fits */
} strads_mf_tuning;

/* Chooses rank, lambda, step and stop_after by fits on a sample of users with a
 * part of its ratings held out. A value that `given` has (not 0) is fixed. The
 * order is: biases alone, lambda at rank 16, step, larger ranks while they are
 * better. The result depends on ratings, options and seed alone, not on workers
 * and partitions. Nothing is searched for implicit feedback, if nothing is
 * left to choose, with `tune` STRADS_MF_NO_SEARCH, a holdout of -0.0, or fewer
 * than 500 ratings.
 *
 * `data` has all partitions, with rows (STRADS_LAYOUT_ROWS), and is not
 * changed. Of `engine`: workers, seed, stop, memory; NULL: defaults. If `stop`
 * becomes true, the search ends with the best fit so far. Blocks; any thread.
 * STRADS_EINVAL: an option, or data that lacks partitions. STRADS_ENOMEM.
 * Errors of strads_run. */
STRADS_API strads_err strads_mf_tune(const strads_mf_options *given,
                                     const strads_data *data,
                                     const strads_engine_options *engine,
                                     strads_mf_tuning *out);

#ifdef __cplusplus
}
#endif

#endif
