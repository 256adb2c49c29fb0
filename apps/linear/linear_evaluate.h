/* How good predictions are: figures for people to choose models by, each from
 * rows with labels. Intervals hold with 95 %, and ask for many rows. */
#ifndef LINEAR_EVALUATE_H
#define LINEAR_EVALUATE_H

#include <stdint.h>

typedef struct linear_interval {
    double value, low, high;
} linear_interval;

/* Numbers: n predictions and labels. r2 is NaN where all labels are equal; one
 * row has no interval: its bounds are NaN. */
typedef struct linear_errors {
    linear_interval rmse, r2;
    double absolute; /* mean |error| */
} linear_errors;

linear_errors linear_evaluate_numbers(uint64_t n, const double *predicted,
                                      const double *label);

/* The share of `right` among n, by Wilson's interval (1927). */
linear_interval linear_evaluate_share(uint64_t right, uint64_t n);

/* A mean of n rows, from the sums of their values and of their squares; of one
 * row the bounds are NaN. */
linear_interval linear_evaluate_mean(uint64_t n, double sum, double squares);

/* F1 of a class: `both` rows have it and were given it, `given` were given it,
 * `rows` have it; by Wilson's interval of a share. NaN where no row has it or
 * was given it. */
linear_interval linear_evaluate_f1(uint64_t both, uint64_t given,
                                   uint64_t rows);

/* The share of pairs, one row of the class and one not, that `score` has in
 * the right order, equal scores counting half: the area under the ROC curve, by
 * DeLong's interval (Biometrics 44, 1988). NaN where a side has no rows; or
 * when memory runs out. */
linear_interval linear_evaluate_auc(uint64_t n, const double *score,
                                    const unsigned char *is_class);

#endif
