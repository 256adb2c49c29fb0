/* strads/mf.h - matrix factorisation, a built-in program.
 *
 *     r_ui ~ mean + b_u + c_i + p_u'q_i
 *
 * by stochastic gradient descent, alternating least squares, descent by row or
 * by rank (CCD++: Yu et al., ICDM 2012). Users are split over the partitions
 * and stay there with their factors, blocks of items travel with theirs (DSGD:
 * Gemulla et al., KDD 2011); by rank it is items' sums that are merged. The
 * biases are damped means that are taken out before. Needs no tuning: ratings
 * are scaled to mean 0 and deviation 1, the penalty follows the error on
 * ratings that are held out, and a sweep of SGD whose loss explodes is undone
 * and goes on with half the step. */
#ifndef STRADS_MF_H
#define STRADS_MF_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to; NULL: all defaults. */
typedef struct strads_mf_options {
    const char *method; /* "sgd"; "als": whole rows by least squares, "cd": by
                           16 factors at a time; "ccd++": one rank after the
                           other; NULL: "als" for implicit and nonnegative, else
                           "sgd" */
    uint32_t rank;      /* factors of a user and an item, 1 .. 1024; 0: 16 */
    uint32_t sweeps;    /* passes over the ratings at most; 0: 20 */
    const char *test;   /* ratings to measure the error on after each sweep, not
                           trained on; every process reads them; NULL: none */
    double step;        /* first step size, > 0; 0: 0.08. It falls linearly to
                           1/50 of that */
    double lambda;      /* penalty of a rating on |p_u|^2 and |q_i|^2, in scaled
                           units; 0: a tenth of the held-out error */
    bool unweighted;    /* lambda is of a row, however many ratings it has; 0
                           then is n / sqrt(rows x columns) times as much, n
                           being the ratings */
    double holdout;     /* share of the ratings that is held out, below 1, at
                           most 100,000 of them; 0: 0.02 */
    uint32_t patience;  /* sweeps in a row whose held-out squared error is 0.5 %
                           above the best one: they end the run; 0: 3 */
    bool no_biases;     /* b_u and c_i stay 0 */
    bool implicit;      /* ratings are how often, from 0 up: p_u'q_i is to be 1
                           where it is above 0 and 0 everywhere else, with
                           confidence 1 + alpha r (Hu, Koren, Volinsky 2008) */
    bool nonnegative;   /* p_u, q_i >= 0; mean, b_u and c_i are 0 */
    double alpha;       /* > 0; 0: 1 */
    const char *user, *item, *rating; /* the columns of that name in a header
                           line, of the data (strads_data_options) and of
                           `test`; NULL: by common names */
} strads_mf_options;

/* The program: name "mf"; ratings, rows split, rows compressed, f32. Its
 * parameters are the items, 1 + rank numbers each: c_i and q_i. */
extern STRADS_API const strads_program strads_program_mf;

/* Results, from the state that strads_result_state returns; any thread, valid
 * as long as the state. */

/* [rows x (1 + rank)] b_u and p_u of each user; NULL when the run ended before
 * they were brought together: a bound or a signal cut it short. */
STRADS_API const float *strads_mf_users(const void *state);
/* The mean of the ratings that were trained on. */
STRADS_API double strads_mf_mean(const void *state);
/* What a rating adds to the penalty on |p_u|^2, in the ratings' unit; with
 * implicit feedback, or unweighted, what a user does. As it would be in the
 * sweep after the one whose factors the result has. */
STRADS_API double strads_mf_penalty(const void *state);
/* The options as the run took them, every default filled in. */
STRADS_API const strads_mf_options *strads_mf_resolved(const void *state);
/* Sweeps that were undone because their loss exploded. */
STRADS_API uint32_t strads_mf_undone(const void *state);
/* The sweep, from 1, whose factors the result has: that of the least held-out
 * error; the last one where nothing is held out; 0 before the first. */
STRADS_API uint32_t strads_mf_best_sweep(const void *state);
/* Root mean squared errors after that sweep: of the ratings trained on (as
 * each was met), held out, and of the test; NaN when there are none. */
STRADS_API void strads_mf_errors(const void *state, double *train,
                                 double *validation, double *test);

#ifdef __cplusplus
}
#endif

#endif
