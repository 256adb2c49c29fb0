/* How good predictions are: figures for people to choose models by, each from
 * rows with labels. Intervals hold with 95 %, and ask for many rows. */
#ifndef LINEAR_EVALUATE_H
#define LINEAR_EVALUATE_H

#include <stdint.h>

typedef struct linear_interval {
    double value, low, high;
} linear_interval;

/* Numbers: n predictions and labels. r2 is NaN where all labels are equal. */
typedef struct linear_errors {
    linear_interval rmse, r2;
    double absolute; /* mean |error| */
} linear_errors;

linear_errors linear_evaluate_numbers(uint64_t n, const double *predicted,
                                      const double *label);

/* The share of `right` among n, by Wilson's interval (1927). */
linear_interval linear_evaluate_share(uint64_t right, uint64_t n);

/* The share of pairs, one row of the class and one not, that `score` has in
 * the right order, equal scores counting half: the area under the ROC curve.
 * NaN where a side has no rows; or when memory runs out. */
double linear_evaluate_auc(uint64_t n, const double *score,
                           const unsigned char *is_class);

#endif
