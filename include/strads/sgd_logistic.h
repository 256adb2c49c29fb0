/* strads/sgd_logistic.h - logistic regression, or a support vector machine, by
 * data-parallel stochastic gradients through the parameter store, a built-in
 * program.
 *
 *     minimise 1/n sum loss(y_i (x_i'w + b)) + lambda/2 |w|^2
 *     loss(m) = log(1 + exp(-m)), or with loss "hinge" max(0, 1 - m)
 *
 * over w, and over b with an intercept (otherwise b = 0), which is not
 * penalised. y_i is 1 for the positive label and -1 for the other one. */
#ifndef STRADS_SGD_LOGISTIC_H
#define STRADS_SGD_LOGISTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`); all zero: the defaults below. */
typedef struct strads_sgd_logistic_options {
    double lambda;          /* weight of the penalty, > 0; 0: 1e-4 */
    bool intercept;         /* fit b */
    uint32_t epochs;        /* passes over the data; 0: 20 */
    uint32_t batch;         /* rows of a mini-batch; 0: 32 */
    const char *staleness;  /* clocks, "infinite", "adaptive", or "hogwild": one
                               copy of w, written without synchronisation, in
                               one process; NULL: "1" */
    uint32_t staleness_max; /* of "adaptive"; 0: 16 */
    const char *step;    /* "theorem", "constant" or "decay"; NULL: theorem */
    double rate;         /* constant: the step; decay: the first; 0: 0.5 */
    double diameter;     /* theorem: F; 0: sqrt(loss(0) / lambda) */
    double lipschitz;    /* theorem: L; 0: measured on the data */
    const char *classes; /* "NEGATIVE,POSITIVE": labels or their names; NULL:
                            the two of the data, ascending */
    const double *start_intercept; /* start value of b, with start values of the
                                      coefficients; NULL: 0 */
    uint32_t push_bits; /* 8: changes of weights travel in 8 bits, with error
                           feedback (strads/store.h); 0: full precision */
    const char *loss;   /* "logistic" or "hinge"; NULL: logistic */
} strads_sgd_logistic_options;

/* The program: name "sgd-logistic", one parameter for each column, split by
 * rows, compressed rows. Needs labels of two values or two names. */
extern STRADS_API const strads_program strads_program_sgd_logistic;

/* Results, from the state that strads_result_state returns; any thread. */

/* Returns b of the model; 0 without an intercept. */
STRADS_API double strads_sgd_logistic_intercept(const void *state);

/* Returns the objective at w = 0, b = 0. A run that ends above it has
 * diverged. */
STRADS_API double strads_sgd_logistic_at_zero(const void *state);
/* Returns the options with labels, F and L filled in. Valid as long as the
 * state. */
STRADS_API const strads_sgd_logistic_options *
strads_sgd_logistic_resolved(const void *state);

#ifdef __cplusplus
}
#endif

#endif
