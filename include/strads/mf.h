/* strads/mf.h - matrix factorisation, a built-in program.
 *
 *     r_ui ~ mean + b_u + c_i + p_u'q_i
 *
 * by stochastic gradient descent, alternating least squares, descent by row, or
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

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`); NULL: all defaults. */
typedef struct strads_mf_options {
    const char *method; /* "sgd"; "als": whole rows by least squares, "cd": by
                           16 factors at a time; "ccd++": one rank after the
                           other; NULL: "als" for implicit and nonnegative, else
                           "sgd" */
    uint32_t rank;      /* factors of a user and an item, 1 .. 1024; 0: 16 */
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
    double holdout;    /* share of held-out ratings, below 1, at most 100,000 of
                           them; 0: 0.02 */
    uint32_t patience; /* the run ends after so many successive sweeps with a
                           held-out squared error 0.5 % above the best; 0: 3 */
    bool no_biases;    /* b_u and c_i stay 0 */
    bool implicit;    /* ratings are counts, from 0 up: the target of p_u'q_i is
                           1 for counts above 0 and 0 elsewhere, with confidence
                           1 + alpha r (Hu, Koren, Volinsky 2008) */
    bool nonnegative; /* p_u, q_i >= 0; mean, b_u and c_i are 0 */
    double alpha;     /* > 0; 0: 1 */
    const char *user, *item,
        *rating; /* names of these columns in the header line
                           of the data (strads_data_options) and of `test`;
                           NULL: common names */
} strads_mf_options;

/* The program: name "mf"; ratings, split by rows, compressed rows, f32. The
 * parameters are the items, 1 + rank numbers each: c_i and q_i. */
extern STRADS_API const strads_program strads_program_mf;

/* Results, from the state that strads_result_state returns; any thread, valid
 * as long as the state. */

/* Returns [rows x (1 + rank)] b_u and p_u of each user; NULL if a bound or a
 * signal ended the run before they were gathered. */
STRADS_API const float *strads_mf_users(const void *state);
/* Returns the mean of the training ratings. */
STRADS_API double strads_mf_mean(const void *state);
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
/* Root mean squared errors after that sweep: of the ratings trained on (as
 * each was met), held out, and of the test; NaN when there are none. */
STRADS_API void strads_mf_errors(const void *state, double *train,
                                 double *validation, double *test);

#ifdef __cplusplus
}
#endif

#endif
