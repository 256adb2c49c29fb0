/* strads/path.h - what the paths and cross-validations of linear programs have
 * in common: one fit after the other, at lambdas that fall evenly in their
 * logarithm. */
#ifndef STRADS_PATH_H
#define STRADS_PATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A point of a path, at its own certified gap: at most the run's tolerance,
 * unless the arithmetic ended before. */
typedef struct strads_path_point {
    double lambda, objective, gap, intercept;
    double
        deviance; /* twice the sum of the losses over the rows, as they weigh;
                        least squares: the sum of squared residuals */
    uint64_t nonzeros;
    uint64_t round;        /* at whose commit it was reached */
    const uint32_t *index; /* [nonzeros] columns, ascending */
    const double *value;   /* [nonzeros] */
} strads_path_point;

/* What fits at one lambda are worth on rows that they have not seen. */
typedef struct strads_cv_point {
    double lambda;
    double error;     /* mean over rows of twice the loss: of the squared error,
                         or of the deviance */
    double deviation; /* its standard error: that of the folds' means */
    double accuracy;  /* share of labels that are right; NaN of numbers */
} strads_cv_point;

#ifdef __cplusplus
}
#endif

#endif
