/* Tiny designs whose minimum can be written down. */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/expect.h"
#include "tests/glm_design.h"

static double logit(double p)
{
    return log(p / (1 - p));
}

#define TOLERANCE 1e-13

static linear_fit fit_well(const lasso_design *design,
                           const strads_logistic_options *options)
{
    const strads_engine_options engine = {.workers = 1, .tolerance = TOLERANCE};
    linear_fit fit = logistic_design_fit(design, options, &engine);

    expect_ok(fit.err);
    return fit;
}

/* How far from the minimum w may be where P bends by `bend` at least on the
 * way: bend/2 (w - w*)^2 <= P - P* <= TOLERANCE P. */
static double promised(const linear_fit *fit, double bend)
{
    return sqrt(2 * TOLERANCE * fit->objective / bend);
}

/* A column of ones, k of n labels positive: slope k/n - s(w) = lambda. */
Test(logistic_closed_form, a_column_of_ones_is_a_penalised_share)
{
    lasso_design d = lasso_design_zero(10, 1);

    for (int i = 0; i < 10; i++) {
        d.x[i] = 1;
        d.y[i] = i < 8 ? 5 : 2;
    }
    linear_fit fit =
        fit_well(&d, &(strads_logistic_options){.lambda = .1, .l1_ratio = 1});
    cr_expect_float_eq(fit.w[0], logit(.8 - .1), promised(&fit, .7 * .29));
    cr_expect_leq(fit.updates_policy, 3, "a model for nothing");
    cr_expect_float_eq(fit.lambda_max, .3, 1e-12);
    linear_fit_free(&fit);
    fit = fit_well(&d, &(strads_logistic_options){.lambda = .3 + 1e-9,
                                                  .l1_ratio = 1});
    cr_expect_eq(fit.nonzeros, 0);
    linear_fit_free(&fit);
    /* lambda (a |w| + (1 - a)/2 w^2): k/n - s(w) = lambda (a + (1 - a) w). */
    fit =
        fit_well(&d, &(strads_logistic_options){.lambda = .1, .l1_ratio = .5});
    cr_expect_float_eq(.8 - 1 / (1 + exp(-fit.w[0])), .05 + .05 * fit.w[0],
                       (.25 + .05) * promised(&fit, .05));
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* L2 alone: k/n - s(w) = lambda w, and no w is 0. */
Test(logistic_closed_form, an_l2_penalty_alone_leaves_no_zeros)
{
    lasso_design d = lasso_design_zero(10, 2);

    for (int i = 0; i < 10; i++) {
        d.x[i] = 1;
        d.y[i] = i < 8;
        lasso_design_col(&d, 1)[i] = i == 9;
    }
    linear_fit fit =
        fit_well(&d, &(strads_logistic_options){.lambda = .1, .l1_ratio = 0});
    const double u = 1 / (1 + exp(-fit.w[0]));
    const double last = 1 / (1 + exp(-fit.w[0] - fit.w[1]));
    cr_expect_eq(fit.nonzeros, 2);
    cr_expect_float_eq(.8 - .9 * u - .1 * last, .1 * fit.w[0], 1e-6);
    cr_expect_float_eq(-.1 * last, .1 * fit.w[1], 1e-6);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* x is 1 in one group and 0 in the other, with an intercept: the slope of
 * each group's sum is n lambda, one up and one down. */
Test(logistic_closed_form, two_groups_are_drawn_towards_each_other)
{
    enum { N = 40, HERE = 10, THERE = 30 };
    lasso_design d = lasso_design_zero(N, 1);
    const double lambda = .03;

    for (int i = 0; i < N; i++) {
        d.x[i] = i < HERE;
        d.y[i] = i < HERE ? i < 8 : i % 3 == 0; /* 8 of 10, 10 of 30 */
    }
    linear_fit fit =
        fit_well(&d, &(strads_logistic_options){.lambda = lambda,
                                                .l1_ratio = 1,
                                                .intercept = true});
    const double here = (8 - N * lambda) / HERE,
                 there = (10 + N * lambda) / THERE;
    cr_expect_float_eq(fit.intercept, logit(there), 1e-7);
    cr_expect_float_eq(fit.w[0], logit(here) - logit(there), 1e-7);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_closed_form, above_lambda_max_only_the_intercept_is_left)
{
    lasso_design d = glm_design_random(
        &(lasso_recipe){.rows = 50, .cols = 12, .seed = 4, .noise = 1},
        "logistic");
    double positive = 0;

    for (uint64_t i = 0; i < d.rows; i++)
        positive += d.y[i] > 0;
    linear_fit fit =
        fit_well(&d, &(strads_logistic_options){.lambda_ratio = 1.0001,
                                                .l1_ratio = 1,
                                                .intercept = true});
    cr_expect_eq(fit.nonzeros, 0);
    cr_expect_float_eq(fit.intercept, logit(positive / (double)d.rows), 1e-9);
    linear_fit_free(&fit);
    fit = fit_well(&d, &(strads_logistic_options){.lambda_ratio = .999,
                                                  .l1_ratio = 1,
                                                  .intercept = true});
    cr_expect_gt(fit.nonzeros, 0);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}
