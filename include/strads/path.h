/* strads/path.h - the points of regularisation paths and of cross-validations
 * of linear programs: a sequence of fits at lambdas that fall evenly in their
 * logarithm. */
#ifndef STRADS_PATH_H
#define STRADS_PATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A point of a path with its certified gap, relative to its objective (or to
 * that of the null model, see gaps_of_null). It is at most the run's tolerance
 * unless rounding prevents it. */
typedef struct strads_path_point {
    double lambda, objective, gap, intercept;
    double deviance; /* twice the weighted sum of the losses over the rows; for
                        least squares the sum of squared residuals */
    uint64_t nonzeros;
    uint64_t round;        /* its commit reached the point */
    const uint32_t *index; /* [nonzeros] columns, ascending */
    const double *value;   /* [nonzeros] */
} strads_path_point;

/* The quality of fits at one lambda on held-out rows. */
typedef struct strads_cv_point {
    double lambda;
    double error;     /* mean over rows of twice the loss: the squared error or
                         the deviance */
    double deviation; /* the standard error of `error`, from the folds' means */
    double accuracy;  /* share of correct labels; NaN for regression */
    double gap;       /* the largest relative gap of the folds' fits */
} strads_cv_point;

#ifdef __cplusplus
}
#endif

#endif
