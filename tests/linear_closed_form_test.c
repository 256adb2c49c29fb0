/* The Lasso and logistic regression on designs with a minimum in closed
 * form. */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/expect.h"
#include "tests/glm_design.h"

/* ---- the Lasso ----------------------------------------------------------- */

static linear_fit fit_lasso(const lasso_design *design,
                            const strads_lasso_options *options)
{
    linear_fit fit = lasso_design_fit(design, options, NULL);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    return fit;
}

static double soft(double z, double by)
{
    return z > by ? z - by : z < -by ? z + by : 0;
}

/* Columns of a Hadamard matrix: +-1, any two orthogonal. */
static lasso_design orthogonal(void)
{
    lasso_design d = lasso_design_zero(64, 40);

    for (uint64_t i = 0; i < d.rows; i++) {
        d.y[i] = sin(3. * (double)i) * 4 + (i % 5 == 0);
        for (uint64_t j = 0; j < d.cols; j++)
            lasso_design_col(&d, j)[i] =
                __builtin_popcountll(i & (j + 1)) % 2 ? -1 : 1;
    }
    return d;
}

Test(linear_closed_form, an_orthogonal_design_gives_soft_thresholds)
{
    const strads_lasso_options cases[] = {{.lambda = .2},
                                          {.lambda = .2, .positive = true},
                                          {.lambda = .3, .l1_ratio = .6},
                                          {.lambda = .2,
                                           .standardize = true,
                                           .intercept = true}};
    lasso_design d = orthogonal();

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const strads_lasso_options *o = &cases[c];
        const double ratio = o->l1_ratio > 0 ? o->l1_ratio : 1;
        const double l1 = o->lambda * ratio, l2 = o->lambda - l1;
        linear_fit fit = fit_lasso(&d, o);
        for (uint64_t j = 0; j < d.cols; j++) {
            double z = 0;
            for (uint64_t i = 0; i < d.rows; i++)
                z += lasso_design_col(&d, j)[i] * d.y[i] / (double)d.rows;
            double w = soft(z, l1) / (1 + l2);
            if (o->positive && w < 0)
                w = 0;
            cr_expect_float_eq(fit.w[j], w, 1e-6, "case %zu, column %llu", c,
                               (unsigned long long)j);
        }
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(linear_closed_form, from_lambda_max_on_nothing_enters)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 50, .cols = 70, .seed = 5, .density = .5, .noise = 1});
    const double above[] = {1, 1.0001, 7};

    for (size_t k = 0; k < 3; k++) {
        const strads_lasso_options o = {.lambda_ratio = above[k]};
        linear_fit fit = fit_lasso(&d, &o);
        cr_expect_eq(fit.nonzeros, 0, "at %g lambda_max: %llu nonzeros",
                     above[k], (unsigned long long)fit.nonzeros);
        linear_fit_free(&fit);
    }
    linear_fit below =
        fit_lasso(&d, &(strads_lasso_options){.lambda_ratio = .99});
    cr_expect_gt(below.nonzeros, 0);
    linear_fit_free(&below);
    lasso_design_free(&d);
}

/* ---- logistic regression ------------------------------------------------- */

static double logit(double p)
{
    return log(p / (1 - p));
}

#define TOLERANCE 1e-13

static linear_fit fit_logistic(const lasso_design *design,
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
Test(linear_closed_form, a_column_of_ones_is_a_penalised_share)
{
    lasso_design d = lasso_design_zero(10, 1);

    for (int i = 0; i < 10; i++) {
        d.x[i] = 1;
        d.y[i] = i < 8 ? 5 : 2;
    }
    linear_fit fit =
        fit_logistic(&d,
                     &(strads_logistic_options){.lambda = .1, .l1_ratio = 1});
    cr_expect_float_eq(fit.w[0], logit(.8 - .1), promised(&fit, .7 * .29));
    cr_expect_leq(fit.updates_other, 3, "a model for nothing");
    cr_expect_float_eq(fit.lambda_max, .3, 1e-12);
    linear_fit_free(&fit);
    fit = fit_logistic(&d, &(strads_logistic_options){.lambda = .3 + 1e-9,
                                                      .l1_ratio = 1});
    cr_expect_eq(fit.nonzeros, 0);
    linear_fit_free(&fit);
    /* lambda (a |w| + (1 - a)/2 w^2): k/n - s(w) = lambda (a + (1 - a) w). */
    fit = fit_logistic(&d, &(strads_logistic_options){.lambda = .1,
                                                      .l1_ratio = .5});
    cr_expect_float_eq(.8 - 1 / (1 + exp(-fit.w[0])), .05 + .05 * fit.w[0],
                       (.25 + .05) * promised(&fit, .05));
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* L2 alone: k/n - s(w) = lambda w, and no w is 0. */
Test(linear_closed_form, an_l2_penalty_alone_leaves_no_zeros)
{
    lasso_design d = lasso_design_zero(10, 2);

    for (int i = 0; i < 10; i++) {
        d.x[i] = 1;
        d.y[i] = i < 8;
        lasso_design_col(&d, 1)[i] = i == 9;
    }
    linear_fit fit =
        fit_logistic(&d,
                     &(strads_logistic_options){.lambda = .1, .l1_ratio = 0});
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
Test(linear_closed_form, two_groups_are_drawn_towards_each_other)
{
    enum { N = 40, HERE = 10, THERE = 30 };
    lasso_design d = lasso_design_zero(N, 1);
    const double lambda = .03;

    for (int i = 0; i < N; i++) {
        d.x[i] = i < HERE;
        d.y[i] = i < HERE ? i < 8 : i % 3 == 0; /* 8 of 10, 10 of 30 */
    }
    linear_fit fit =
        fit_logistic(&d, &(strads_logistic_options){.lambda = lambda,
                                                    .l1_ratio = 1,
                                                    .intercept = true});
    const double here = (8 - N * lambda) / HERE,
                 there = (10 + N * lambda) / THERE;
    cr_expect_float_eq(fit.intercept, logit(there), 1e-7);
    cr_expect_float_eq(fit.w[0], logit(here) - logit(there), 1e-7);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(linear_closed_form, above_lambda_max_only_the_intercept_is_left)
{
    lasso_design d = glm_design_random(
        &(lasso_recipe){.rows = 50, .cols = 12, .seed = 4, .noise = 1},
        "logistic");
    double positive = 0;

    for (uint64_t i = 0; i < d.rows; i++)
        positive += d.y[i] > 0;
    linear_fit fit =
        fit_logistic(&d, &(strads_logistic_options){.lambda_ratio = 1.0001,
                                                    .l1_ratio = 1,
                                                    .intercept = true});
    cr_expect_eq(fit.nonzeros, 0);
    cr_expect_float_eq(fit.intercept, logit(positive / (double)d.rows), 1e-9);
    linear_fit_free(&fit);
    fit = fit_logistic(&d, &(strads_logistic_options){.lambda_ratio = .999,
                                                      .l1_ratio = 1,
                                                      .intercept = true});
    cr_expect_gt(fit.nonzeros, 0);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}
