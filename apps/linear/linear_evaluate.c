#include "linear_evaluate.h"

#include <math.h>
#include <stdlib.h>

#define NORMAL_95 1.959963984540054

/* Both figures are functions of means, so by the delta method their variance
 * is that of each row's influence: of e^2 on MSE, and of
 * (e^2 - MSE / V d^2) / V on R2 = 1 - MSE / V, where d = y - mean(y). No
 * distribution of errors is assumed. */
linear_errors linear_evaluate_numbers(uint64_t n, const double *predicted,
                                      const double *label)
{
    const double rows = (double)n;
    double mean = 0, squares = 0, spread = 0, absolute = 0;
    double of_squares = 0, of_r2 = 0;

    for (uint64_t i = 0; i < n; i++)
        mean += label[i] / rows;
    for (uint64_t i = 0; i < n; i++) {
        const double e = label[i] - predicted[i], d = label[i] - mean;
        squares += e * e / rows;
        spread += d * d / rows;
        absolute += fabs(e) / rows;
    }
    for (uint64_t i = 0; i < n; i++) {
        const double e = label[i] - predicted[i], d = label[i] - mean;
        const double u = e * e - squares;
        const double v = (e * e - squares / spread * d * d) / spread;
        of_squares += u * u / rows;
        of_r2 += v * v / rows;
    }
    const double r2 = spread > 0 ? 1 - squares / spread : NAN;
    const double reach = NORMAL_95 * sqrt(of_squares / rows);
    const double reach_r2 = NORMAL_95 * sqrt(of_r2 / rows);
    return (linear_errors){.rmse = {.value = sqrt(squares),
                                    .low = sqrt(fmax(squares - reach, 0)),
                                    .high = sqrt(squares + reach)},
                           .r2 = {.value = r2,
                                  .low = r2 - reach_r2,
                                  .high = fmin(r2 + reach_r2, 1)},
                           .absolute = absolute};
}

linear_interval linear_evaluate_share(uint64_t right, uint64_t n)
{
    const double rows = (double)n, z = NORMAL_95 * NORMAL_95;
    const double p = (double)right / rows;
    const double middle = (p + z / (2 * rows)) / (1 + z / rows);
    const double reach = NORMAL_95 / (1 + z / rows) *
                         sqrt(p * (1 - p) / rows + z / (4 * rows * rows));

    return (linear_interval){p, fmax(middle - reach, 0),
                             fmin(middle + reach, 1)};
}

typedef struct scored {
    double score;
    unsigned char is_class;
} scored;

static int by_score(const void *a, const void *b)
{
    const double u = ((const scored *)a)->score, v = ((const scored *)b)->score;

    return (u > v) - (u < v);
}

double linear_evaluate_auc(uint64_t n, const double *score,
                           const unsigned char *is_class)
{
    scored *all = malloc((n + 1) * sizeof(*all));
    double ordered = 0, others = 0, members = 0;

    if (!all)
        return NAN;
    for (uint64_t i = 0; i < n; i++)
        all[i] = (scored){score[i], is_class[i]};
    qsort(all, n, sizeof(*all), by_score);
    for (uint64_t i = 0; i < n;) {
        double here[2] = {0, 0}; /* of this score: others, members */
        uint64_t k = i;
        for (; k < n && all[k].score == all[i].score; k++)
            here[all[k].is_class != 0]++;
        ordered += here[1] * (others + here[0] / 2);
        others += here[0];
        members += here[1];
        i = k;
    }
    free(all);
    return others > 0 && members > 0 ? ordered / (others * members) : NAN;
}
