/* Cross-validation of a path program: folds of rows, a run on each one's rest,
 * and what its points are worth on the rows left out. */
#ifndef LINEAR_CV_H
#define LINEAR_CV_H

#include <strads/path.h>
#include <strads/program.h>

#include "linear_classes.h"

typedef struct linear_cv {
    const strads_program *program; /* of a path; columns compressed */
    const void *config;            /* its options, with lambdas as here */
    /* Puts the weights of a fold's rest into a copy of config. */
    void (*weigh)(void *config, const double *weight);
    linear_weights weights; /* of rows */
    uint32_t points;
    double ratio, first;
    /* The points that a run of it has reached. */
    const strads_path_point *(*path)(const void *state, uint32_t *n);
    /* What a row of that label loses at x'w + b = sum; whether its label would
     * be found (NULL: labels are numbers). Any thread. */
    double (*loss)(const void *arg, double label, double sum);
    bool (*right)(const void *arg, double label, double sum);
    /* What rows of that label are multiplied by; NULL: 1. */
    double (*heavy)(const void *arg, double label);
    const void *arg;
    bool by_label;           /* each fold has about its share of each label */
    uint32_t folds, threads; /* 0: 10, 1 */
    uint64_t seed;           /* who is in which fold */
    double tolerance;        /* of each fold's points */
    const volatile bool *stop;
    double time_limit; /* seconds; 0: any */
} linear_cv;

/* Fills in points[cv->points]; *best and *simplest, and errors, as
 * strads_lasso_cv tells. Blocks. */
strads_err linear_cv_run(const strads_data *data, const linear_cv *cv,
                         strads_cv_point *points, uint32_t *best,
                         uint32_t *simplest);

#endif
