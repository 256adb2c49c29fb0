/* Cross-validation of a path program: folds of rows, a run on each one's rest,
 * and what its points are worth on the rows left out. */
#ifndef LINEAR_CV_H
#define LINEAR_CV_H

#include <strads/path.h>
#include <strads/program.h>

#include "linear_classes.h"
#include "linear_path.h"

/* What a fold's rest is: for a copy of a path's options. */
typedef struct linear_cv_rest {
    const double *weight, *offset; /* [rows]; NULL: there are none */
    uint32_t points;
    const double *lambda; /* [points] */
} linear_cv_rest;

typedef struct linear_cv {
    const strads_program *program; /* of a path; columns compressed */
    const void *config;            /* its options */
    /* Puts a fold's rest into a copy of config. */
    void (*fill)(void *config, const linear_cv_rest *rest);
    linear_weights weights; /* of rows */
    const double *offset;   /* [rows]; NULL: 0 */
    linear_lambdas lambdas; /* a list from memory, or from `first` on */
    /* The points that a run of it has reached. */
    const strads_path_point *(*path)(const void *state, uint32_t *n);
    /* What a row of that label loses at o + x'w + b = sum. Any thread. */
    double (*loss)(const void *arg, double label, double sum);
    const void *arg;
    /* The two of the whole data, whose weights rows have besides, and of which
     * each fold has about its share; NULL: labels are numbers. */
    const linear_classes *classes;
    uint32_t folds, threads; /* 0: 10, 1 */
    const char *fold_file;   /* each row's, from 1; NULL: drawn, */
    uint64_t seed;           /* by it */
    double tolerance;        /* of each fold's points */
    const volatile bool *stop;
    double time_limit; /* seconds; 0: any */
} linear_cv;

/* What the options of all programs' cross-validations say. */
#define LINEAR_CV_OPTIONS(o)                                                   \
    .folds = (o)->folds, .fold_file = (o)->fold_file, .threads = (o)->threads, \
    .seed = (o)->seed, .tolerance = (o)->tolerance, .stop = (o)->stop,         \
    .time_limit = (o)->time_limit

/* Fills in points[cv->lambdas.points]; *best and *simplest, and errors, as
 * strads_glm_cv tells. Blocks. */
strads_err linear_cv_run(const strads_data *data, const linear_cv *cv,
                         strads_cv_point *points, uint32_t *best,
                         uint32_t *simplest);

#endif
