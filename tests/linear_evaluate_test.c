/* Figures of quality, held against pairs counted one by one, values worked out
 * by hand, and how often intervals hold in repeated draws. */
#include <criterion/criterion.h>
#include <math.h>

#include "apps/linear/linear_evaluate.h"
#include "strads/policy.h"

Test(linear_evaluate, errors_agree_with_a_calculation_by_hand)
{
    const double predicted[] = {1, 2, 4, 3}, label[] = {1, 3, 3, 5};
    const linear_errors e = linear_evaluate_numbers(4, predicted, label);

    cr_expect_float_eq(e.rmse.value, sqrt(1.5), 1e-15);
    cr_expect_float_eq(e.absolute, 1, 1e-15);
    cr_expect_float_eq(e.r2.value, 1 - 6. / 8, 1e-15);
    cr_expect(e.rmse.low < e.rmse.value && e.rmse.value < e.rmse.high);
    cr_expect(e.r2.low < e.r2.value && e.r2.value < e.r2.high);
}

/* Also where the mean of n numbers is none of them: ten times .1. */
Test(linear_evaluate, equal_labels_have_no_r2)
{
    const double predicted[10] = {1, 2};
    double label[10];

    for (int i = 0; i < 10; i++)
        label[i] = .1;
    for (uint64_t n = 1; n <= 10; n++)
        cr_expect(isnan(linear_evaluate_numbers(n, predicted, label).r2.value),
                  "%u rows", (unsigned)n);
}

Test(linear_evaluate, one_row_has_no_interval)
{
    const double predicted = 1, label = 3;
    const linear_errors e = linear_evaluate_numbers(1, &predicted, &label);
    const linear_interval mean = linear_evaluate_mean(1, 2, 4);

    cr_expect_float_eq(e.rmse.value, 2, 1e-15);
    cr_expect(isnan(e.rmse.low) && isnan(e.rmse.high));
    cr_expect(isnan(e.r2.low) && isnan(e.r2.high));
    cr_expect_float_eq(mean.value, 2, 1e-15);
    cr_expect(isnan(mean.low) && isnan(mean.high));
}

/* y = x + e, both uniform on [-1/2, 1/2]: MSE 1/12, R2 1/2. */
Test(linear_evaluate, intervals_hold_nineteen_times_in_twenty)
{
    enum { TRIALS = 400, N = 500 };
    double x[N], y[N];
    int rmse = 0, r2 = 0, share = 0;

    for (uint64_t t = 0; t < TRIALS; t++) {
        uint64_t right = 0;
        for (uint64_t i = 0; i < N; i++) {
            x[i] = strads_random_unit(1, t, i, 0) - .5;
            y[i] = x[i] + strads_random_unit(1, t, i, 1) - .5;
            right += strads_random_unit(1, t, i, 2) < .9;
        }
        const linear_errors e = linear_evaluate_numbers(N, x, y);
        const linear_interval p = linear_evaluate_share(right, N);
        rmse += e.rmse.low <= sqrt(1. / 12) && sqrt(1. / 12) <= e.rmse.high;
        r2 += e.r2.low <= .5 && .5 <= e.r2.high;
        share += p.low <= .9 && .9 <= p.high;
    }
    const int counts[] = {rmse, r2, share};
    for (int k = 0; k < 3; k++)
        cr_expect(counts[k] >= .91 * TRIALS && counts[k] <= .985 * TRIALS,
                  "%d: %d of %d", k, counts[k], TRIALS);
}

Test(linear_evaluate, wilsons_interval_stays_within_0_and_1)
{
    const linear_interval none = linear_evaluate_share(0, 10);
    const linear_interval all = linear_evaluate_share(10, 10);

    cr_expect_float_eq(none.low, 0, 1e-15);
    cr_expect_float_eq(none.high, .2775, 1e-4); /* z^2 / (n + z^2) */
    cr_expect_float_eq(all.low, 1 - .2775, 1e-4);
    cr_expect_float_eq(all.high, 1, 1e-15);
}

/* 8 of 12 rows in both: J = 8 / 12, F1 = 16 / 20; and none, and all. */
Test(linear_evaluate, f1_has_an_interval_where_it_is_0_or_1_too)
{
    const linear_interval some = linear_evaluate_f1(8, 9, 11);
    const linear_interval none = linear_evaluate_f1(0, 4, 6);
    const linear_interval all = linear_evaluate_f1(10, 10, 10);

    cr_expect_float_eq(some.value, .8, 1e-15);
    cr_expect(some.low > .4 && some.low < .8 && some.high > .8 &&
              some.high < 1);
    cr_expect_eq(none.value, 0);
    cr_expect_float_eq(none.high, 2 * .2775 / 1.2775, 1e-4);
    cr_expect_eq(all.value, 1);
    cr_expect_float_eq(all.low, 2 * .7225 / 1.7225, 1e-4);
    cr_expect(isnan(linear_evaluate_f1(0, 0, 0).value));
}

Test(linear_evaluate, the_area_is_the_share_of_pairs_in_order)
{
    enum { N = 60 };
    double score[N], ordered = 0, pairs = 0;
    unsigned char is_class[N];

    for (uint64_t i = 0; i < N; i++) {
        is_class[i] = strads_random_unit(2, 0, i, 0) < .4;
        score[i] = floor(8 * strads_random_unit(2, 1, i, 0)) + is_class[i];
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            if (is_class[i] && !is_class[k]) {
                pairs++;
                ordered += score[i] > score[k]    ? 1
                           : score[i] == score[k] ? .5
                                                  : 0;
            }
    const linear_interval auc = linear_evaluate_auc(N, score, is_class);
    cr_expect_float_eq(auc.value, ordered / pairs, 1e-14);
    cr_expect(isnan(linear_evaluate_auc(0, score, is_class).value));
}

/* How often an interval that is computed from a draw of rows has the truth. */
typedef struct cover {
    double area, f1, mean;
} cover;

static double normal(uint64_t draw, uint64_t row)
{
    double sum = -6;

    for (uint64_t k = 0; k < 12; k++)
        sum += strads_random_unit(77, draw, row, k);
    return sum;
}

static bool has(linear_interval i, double truth)
{
    return i.low <= truth && truth <= i.high;
}

/* Scores are normal with means 1/2 and -1/2 by class, so the area is
 * Phi(1 / sqrt 2). If scores above 0 are predicted positive, F1 is Phi(1/2). */
Test(linear_evaluate, intervals_have_the_truth_in_nineteen_of_twenty_draws)
{
    enum { DRAWS = 1000, N = 120 };
    cover c = {0};

    for (uint64_t d = 0; d < DRAWS; d++) {
        double score[N], sum = 0, squares = 0;
        unsigned char is_class[N];
        uint64_t both = 0, given = 0, rows = 0;
        for (uint64_t i = 0; i < N; i++) {
            is_class[i] = strads_random_unit(78, d, i, 0) < .5;
            score[i] = normal(d, i) + (is_class[i] ? .5 : -.5);
            both += is_class[i] && score[i] > 0;
            given += score[i] > 0;
            rows += is_class[i];
            const double x = normal(d + DRAWS, i);
            sum += x;
            squares += x * x;
        }
        c.area += has(linear_evaluate_auc(N, score, is_class), .7602499) /
                  (double)DRAWS;
        c.f1 += has(linear_evaluate_f1(both, given, rows), .6914625) /
                (double)DRAWS;
        c.mean += has(linear_evaluate_mean(N, sum, squares), 0) / (double)DRAWS;
    }
    cr_expect(c.area > .92 && c.area < .975, "area: %g", c.area);
    cr_expect(c.f1 > .92 && c.f1 < .975, "F1: %g", c.f1);
    cr_expect(c.mean > .92 && c.mean < .975, "mean: %g", c.mean);
}

/* Pairs counted one by one; times and scores with ties. */
Test(linear_evaluate, concordance_is_the_share_of_pairs_in_order)
{
    enum { N = 60 };
    uint64_t seed = 1;

    for (int trial = 0; trial < 50; trial++) {
        double score[N], time[N], right = 0, pairs = 0;
        for (int i = 0; i < N; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            score[i] = (double)(seed >> 40 & (trial % 2 ? 7 : 1023));
            time[i] = 1 + (double)(seed >> 20 & (trial % 3 ? 15 : 1023));
            time[i] = seed >> 60 & 1 ? time[i] : -time[i];
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double later = fabs(time[j]);
                if (time[i] < 0 || later < time[i] || time[j] == time[i])
                    continue;
                pairs++;
                right += score[i] > score[j]    ? 1
                         : score[i] == score[j] ? .5
                                                : 0;
            }
        cr_expect_float_eq(linear_evaluate_concordance(N, score, time),
                           right / pairs, 1e-14);
    }
    cr_expect(isnan(
        linear_evaluate_concordance(2, (double[]){1, 2}, (double[]){-1, -2})));
}
