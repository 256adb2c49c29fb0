/* SVMs with an L1 penalty must satisfy the optimality conditions of the
 * objective in strads/svm.h, under every option and in every kind of run, and
 * report the objective of their coefficients. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

static linear_fit fit_run(const lasso_design *design,
                          const strads_svm_l1_options *options,
                          const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_svm_l1, options, 1e-10,
                          engine);
}

/* The fit as one of glm's squared hinge, which is half of this loss. */
static linear_fit halved(const linear_fit *fit)
{
    linear_fit half = *fit;

    half.lambda /= 2;
    return half;
}

static void expect_optimal(const lasso_design *d,
                           const strads_svm_l1_options *options,
                           const strads_engine_options *engine,
                           const char *what)
{
    const strads_glm_options o =
        glm_of_logistic(&options->fit, "squared-hinge");
    linear_fit fit = fit_run(d, options, engine), half = halved(&fit);
    uint64_t nonzeros = 0;

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g", what,
                 (int)fit.end, fit.gap);
    const double miss = glm_miss(d, &o, &half),
                 value = 2 * glm_value(d, &o, &half);
    cr_expect_lt(miss, 1e-3, "%s: violated by %g lambda", what, miss);
    cr_expect_lt(fabs(value - fit.objective), 1e-9 * value,
                 "%s: reports %.15g at %.15g", what, fit.objective, value);
    for (uint64_t j = 0; j < d->cols; j++)
        nonzeros += fit.w[j] != 0;
    cr_expect_eq(fit.nonzeros, nonzeros);
    linear_fit_free(&fit);
}

/* ---- tests ------------------------------------------------------------- */

static const strads_svm_l1_options variants[] = {
    {.fit = {.c = 1, .l1_ratio = 1}},
    {.fit = {.c = 30, .l1_ratio = 1}, .loss = "squared-hinge"},
    {.fit = {.c = .3, .l1_ratio = 1, .intercept = true}},
    {.fit = {.lambda_ratio = .05, .l1_ratio = 1, .standardize = true}},
    {.fit = {.lambda_ratio = .02,
             .l1_ratio = .4,
             .intercept = true,
             .standardize = true}},
    {.fit = {.c = 1, .l1_ratio = 0}},
    {.fit = {.c = .1, .l1_ratio = 0, .intercept = true}},
};

enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static lasso_design design_of(uint64_t rows, uint64_t cols, double density,
                              double correlation)
{
    return glm_design_random(&(lasso_recipe){.rows = rows,
                                             .cols = cols,
                                             .seed = rows + cols,
                                             .density = density,
                                             .correlation = correlation,
                                             .noise = 2},
                             "logistic");
}

Test(svm_l1, kkt_conditions_hold_under_every_option)
{
    lasso_design designs[] = {design_of(60, 20, 1, 0),
                              design_of(40, 150, 1, .9),
                              design_of(120, 250, .1, .5),
                              design_of(250, 50, .1, .7)};

    for (size_t i = 0; i < sizeof(designs) / sizeof(designs[0]); i++) {
        for (size_t k = 0; k < VARIANTS; k++) {
            char what[64];
            (void)snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
            expect_optimal(&designs[i], &variants[k], NULL, what);
        }
        lasso_design_free(&designs[i]);
    }
}

Test(svm_l1, above_lambda_max_all_coefficients_are_0_and_below_one_is_not)
{
    lasso_design design = design_of(80, 30, 1, 0);

    for (int intercept = 0; intercept < 2; intercept++) {
        strads_svm_l1_options options = {.fit = {.lambda_ratio = 1.001,
                                                 .l1_ratio = 1,
                                                 .intercept = intercept}};
        linear_fit fit = fit_run(&design, &options, NULL);
        expect_ok(fit.err);
        cr_expect_eq(fit.nonzeros, 0);
        linear_fit_free(&fit);
        options.fit.lambda_ratio = .98;
        fit = fit_run(&design, &options, NULL);
        expect_ok(fit.err);
        cr_expect_gt(fit.nonzeros, 0);
        linear_fit_free(&fit);
    }
    lasso_design_free(&design);
}

/* Rows x and -x of one column with labels 1 and -1: |w| + 2 C (1 - x w)^2
 * has its minimum at x w = 1 - 1 / (4 C x), or at 0. */
Test(svm_l1, two_points_have_the_solution_that_can_be_written_down)
{
    lasso_design d = lasso_design_zero(2, 1);

    lasso_design_col(&d, 0)[0] = 2;
    lasso_design_col(&d, 0)[1] = -2;
    d.y[0] = 1;
    d.y[1] = -1;
    for (double c = .01; c < 1000; c *= 10) {
        const strads_svm_l1_options options = {.fit = {.c = c, .l1_ratio = 1}};
        linear_fit fit = fit_run(&d, &options, NULL);
        expect_ok(fit.err);
        cr_expect_float_eq(fit.w[0], fmax(1 - 1 / (8 * c), 0) / 2, 1e-6,
                           "C %g: %.9g", c, fit.w[0]);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(svm_l1, unsupported_options_are_refused)
{
    lasso_design d = design_of(10, 3, 1, 0);
    const strads_svm_l1_options wrong[] = {{.loss = "hinge"},
                                           {.fit = {.c = -1}},
                                           {.fit = {.c = 1, .lambda = 1}}};

    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        linear_fit fit = fit_run(&d, &wrong[k], NULL);
        cr_expect_eq(fit.err, STRADS_EINVAL, "%zu: %s", k, strads_error_text());
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}
