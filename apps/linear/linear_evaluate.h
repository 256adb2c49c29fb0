/* Quality of predictions: measures to choose models by, from rows with
 * labels. Intervals have 95 % confidence for many rows. */
#ifndef LINEAR_EVALUATE_H
#define LINEAR_EVALUATE_H

#include <stdint.h>

typedef struct linear_interval {
    double value, low, high;
} linear_interval;

/* Numbers: n predictions and labels. r2 is NaN if all labels are equal; with
 * one row the bounds are NaN. */
typedef struct linear_errors {
    linear_interval rmse, r2;
    double absolute; /* mean |error| */
} linear_errors;

linear_errors linear_evaluate_numbers(uint64_t n, const double *predicted,
                                      const double *label);

/* The share of `right` in n, with Wilson's interval (1927). */
linear_interval linear_evaluate_share(uint64_t right, uint64_t n);

/* The mean of n rows, from the sums of their values and of their squares;
 * with one row the bounds are NaN. */
linear_interval linear_evaluate_mean(uint64_t n, double sum, double squares);

/* F1 of a class: `both` rows have it and were assigned to it, `given` were
 * assigned, `rows` have it; with Wilson's interval of a share. NaN if no row
 * has it or was assigned. */
linear_interval linear_evaluate_f1(uint64_t both, uint64_t given,
                                   uint64_t rows);

/* The share of pairs, one row of the class and one outside, that `score`
 * orders correctly; equal scores count half. This is the area under the ROC
 * curve, with DeLong's interval (Biometrics 44, 1988). NaN if a side has no
 * rows, or if memory is exhausted. */
linear_interval linear_evaluate_auc(uint64_t n, const double *score,
                                    const unsigned char *is_class);

/* The share of pairs of rows whose order in time is known that `score` orders
 * correctly, the larger score first; equal scores count half (Harrell's C, J.
 * Am. Med. Assoc. 247, 1982). A row's time is that of its event, or minus the
 * time up to which there was none: the other row of a pair then has to have its
 * event earlier or at that time. NaN if there are no pairs, or if memory is
 * exhausted. */
double linear_evaluate_concordance(uint64_t n, const double *score,
                                   const double *time);

#endif
