/* Start values b of a logistic loss: their w is X'b, each lies between its
 * bounds, and D is above its value at b = 0, even for strongly coupled rows. */
#include <criterion/criterion.h>
#include <math.h>

#include "apps/glm_dual/dual.h"

enum { ROWS = 3, COLS = 4 };

static const uint64_t start[] = {0, 2, 4, 5};
static const uint32_t column[] = {0, 2, 1, 2, 3};
static const double entry[] = {1, .5, -2, 1, .25};
static const strads_share share = {
    .rows = {0, ROWS},
    .cols = {0, COLS},
    .by_row = {.lines = ROWS, .start = start, .index = column, .f64 = entry}};

static const double target[ROWS] = {1, -1, 1};

/* Returns D, and X'b in `w`. */
static double dual_value_at(const dual_sample *sample, double *w)
{
    double dual = 0;

    for (int i = 0; i < ROWS; i++) {
        for (uint64_t e = start[i]; e < start[i + 1]; e++)
            w[column[e]] += entry[e] * sample[i].b;
        dual += dual_log_loss.conjugate(&sample[i], sample[i].b);
    }
    for (int j = 0; j < COLS; j++)
        dual -= w[j] * w[j] / 2;
    return dual;
}

static dual_local local_of(dual_sample *sample, double *w)
{
    return (dual_local){.rows = ROWS,
                        .columns = COLS,
                        .kernels = &column_kernels_portable,
                        .sample = sample,
                        .w = w};
}

static void expect_guess(double cost)
{
    double w[COLS + 1] = {0}, expected[COLS + 1] = {0}, square = 0;
    dual_sample sample[ROWS] = {{0}};
    dual_local local = local_of(sample, w);

    for (int i = 0; i < ROWS; i++) /* the last one has no weight */
        dual_log_loss.set(&sample[i], target[i], i < 2 ? cost : 0, 0);
    const double told = dual_log_loss.guess(&local, &share);
    cr_expect_gt(dual_value_at(sample, expected), 0, "C = %g", cost);
    for (int j = 0; j <= COLS; j++) {
        cr_expect_float_eq(w[j], expected[j], 1e-12 * (1 + fabs(w[j])));
        square += expected[j] * expected[j];
    }
    cr_expect_float_eq(told, square, 1e-12 * (1 + square));
    for (int i = 0; i < 2; i++) {
        const double part = target[i] * sample[i].b;
        cr_expect(part > 0 && part < cost);
        cr_expect_float_eq(part, cost * dual_logistic(sample[i].u),
                           1e-12 * cost);
    }
    cr_expect_eq(sample[2].b, 0);
}

Test(dual_guess, its_w_is_that_of_its_b_and_d_rises)
{
    static const double cost[] = {1e-6, .01, 1, 30, 1e6};

    for (int k = 0; k < 5; k++)
        expect_guess(cost[k]);
}

Test(dual_guess, rows_that_cancel_stay_where_they_are)
{
    static const double none[] = {0, 0, 0, 0, 0};
    strads_share empty = share;
    double w[COLS + 1] = {0};
    dual_sample sample[ROWS] = {{0}};
    dual_local local = local_of(sample, w);

    empty.by_row.f64 = none;
    for (int i = 0; i < ROWS; i++)
        dual_log_loss.set(&sample[i], target[i], 1, 0);
    cr_expect_eq(dual_log_loss.guess(&local, &empty), 0);
    for (int i = 0; i < ROWS; i++)
        cr_expect_eq(sample[i].b, 0);
}
