/* Fits of random designs must satisfy the optimality conditions of the
 * objective as the header states it, under every option and on every kind of
 * run; what they report must be what these coefficients give. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/lasso_design.h"

typedef struct size_case {
    uint64_t rows, cols;
    double density, correlation;
} size_case;

static const size_case sizes[] = {
    {60, 20, 1, 0},     {40, 150, 1, .9},  {200, 500, .1, .5},
    {500, 80, .05, .7}, {30, 600, .3, .8}, {100, 300, 1, .98},
};

static const strads_lasso_options variants[] = {
    {.lambda_ratio = .1},
    {.lambda_ratio = .01},
    {.lambda_ratio = .05, .intercept = true},
    {.lambda_ratio = .05, .standardize = true},
    {.lambda_ratio = .05, .intercept = true, .standardize = true},
    {.lambda_ratio = .05, .positive = true},
    {.lambda_ratio = .05, .l1_ratio = .5},
    {.lambda_ratio = .02,
     .l1_ratio = .2,
     .intercept = true,
     .standardize = true,
     .positive = true},
};

static lasso_design design_of(const size_case *size, double offset)
{
    return lasso_design_random(&(lasso_recipe){.rows = size->rows,
                                               .cols = size->cols,
                                               .seed = size->rows + size->cols,
                                               .density = size->density,
                                               .correlation = size->correlation,
                                               .noise = .5,
                                               .offset = offset});
}

static void expect_optimal(const lasso_design *design,
                           const strads_lasso_options *options,
                           const strads_engine_options *engine,
                           const char *what)
{
    linear_fit fit = lasso_design_fit(design, options, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g", what,
                 (int)fit.end, fit.gap);
    const double violation = lasso_violation(design, options, &fit);
    cr_expect_lt(violation, 1e-4, "%s: violated by %g lambda", what, violation);
    const double value = lasso_value(design, options, &fit);
    cr_expect_lt(fabs(value - fit.objective), 1e-9 * value,
                 "%s: reports %.15g at %.15g", what, fit.objective, value);
    uint64_t nonzeros = 0;
    for (uint64_t j = 0; j < design->cols; j++)
        nonzeros += fit.w[j] != 0;
    cr_expect_eq(fit.nonzeros, nonzeros, "%s: %llu of %llu nonzeros", what,
                 (unsigned long long)fit.nonzeros,
                 (unsigned long long)nonzeros);
    linear_fit_free(&fit);
}

Test(lasso_optimum, kkt_conditions_hold_under_every_option)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        lasso_design design = design_of(&sizes[i], i % 2 ? 3 : 0);
        for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++) {
            char what[64];
            snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
            const strads_engine_options engine = {.workers = 1,
                                                  .deterministic = true,
                                                  .tolerance = 1e-10};
            expect_optimal(&design, &variants[k], &engine, what);
        }
        lasso_design_free(&design);
    }
}

/* More columns with few entries than a set has pairs kept of: their columns are
 * brought together instead. More than 400 must be in the set, so that is what
 * has to come out of it. */
Test(lasso_optimum, large_sets_of_short_columns_are_solved_too)
{
    const size_case sizes_short[] = {{1500, 3000, .002, .5},
                                     {500, 4000, .008, .95}};
    const strads_lasso_options options[] = {
        {.lambda_ratio = .003},
        {.lambda_ratio = .003, .intercept = true, .standardize = true},
        {.lambda_ratio = .002, .l1_ratio = .6, .positive = true},
    };

    for (size_t i = 0; i < 2 * sizeof(options) / sizeof(options[0]); i++) {
        lasso_design design = design_of(&sizes_short[i % 2], i % 2 ? 1 : 0);
        const size_t k = i / 2;
        char what[64];
        snprintf(what, sizeof(what), "design %zu, variant %zu", i % 2, k);
        const strads_engine_options engine = {.workers = 1 + (uint32_t)k % 2,
                                              .partitions = 3,
                                              .depth = (uint32_t)k % 2,
                                              .deterministic = true,
                                              .tolerance = 1e-11};
        expect_optimal(&design, &options[k], &engine, what);
        lasso_design_free(&design);
    }
}

Test(lasso_optimum, workers_partitions_depth_and_policies_reach_the_same)
{
    const char *policies[] = {"priority", "uniform", "cyclic"};
    lasso_design design = design_of(&sizes[2], 1);
    const strads_lasso_options options = {.lambda_ratio = .03,
                                          .intercept = true};
    linear_fit first = lasso_design_fit(&design, &options, NULL);

    cr_assert_eq(first.err, STRADS_OK, "%s", strads_error_text());
    for (size_t p = 0; p < 3; p++)
        for (uint32_t depth = 0; depth <= 4; depth += 2)
            for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                const strads_engine_options engine = {.workers = workers,
                                                      .partitions = 4,
                                                      .policy = policies[p],
                                                      .depth = depth,
                                                      .blocks = 1 + depth / 2,
                                                      .tolerance = 1e-9};
                linear_fit fit = lasso_design_fit(&design, &options, &engine);
                cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
                cr_expect_lt(fabs(fit.objective - first.objective),
                             1e-8 * first.objective,
                             "%s, depth %u, %u workers: %.12g, not %.12g",
                             policies[p], depth, workers, fit.objective,
                             first.objective);
                linear_fit_free(&fit);
            }
    linear_fit_free(&first);
    lasso_design_free(&design);
}

Test(lasso_optimum, deterministic_runs_repeat_bit_for_bit_on_any_workers)
{
    lasso_design design = design_of(&sizes[4], 0);
    const strads_lasso_options options = {.lambda_ratio = .02};
    linear_fit fit[2];

    for (uint32_t k = 0; k < 2; k++) {
        const strads_engine_options engine = {.workers = 1 + 2 * k,
                                              .partitions = 3,
                                              .depth = 2,
                                              .deterministic = true,
                                              .tolerance = 1e-8};
        fit[k] = lasso_design_fit(&design, &options, &engine);
        cr_assert_eq(fit[k].err, STRADS_OK, "%s", strads_error_text());
    }
    cr_expect_arr_eq(fit[0].w, fit[1].w, design.cols * sizeof(double));
    cr_expect_eq(fit[0].updates_policy, fit[1].updates_policy);
    linear_fit_free(&fit[0]);
    linear_fit_free(&fit[1]);
    lasso_design_free(&design);
}

Test(lasso_optimum, the_gap_bounds_what_a_rough_fit_has_left_to_gain)
{
    lasso_design design = design_of(&sizes[1], 0);
    const strads_lasso_options options = {.lambda_ratio = .02};
    linear_fit best = lasso_design_fit(&design, &options, NULL);

    for (double tolerance = .3; tolerance > 1e-6; tolerance /= 10) {
        const strads_engine_options engine = {.workers = 1,
                                              .tolerance = tolerance};
        linear_fit fit = lasso_design_fit(&design, &options, &engine);
        cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
        const double left = (fit.objective - best.objective) / fit.objective;
        cr_expect_leq(left, fit.gap + 1e-12, "left %g, gap %g", left, fit.gap);
        cr_expect_leq(fit.gap, tolerance);
        linear_fit_free(&fit);
    }
    linear_fit_free(&best);
    lasso_design_free(&design);
}

Test(lasso_optimum, a_start_near_the_optimum_ends_there)
{
    lasso_design design = design_of(&sizes[0], 2);
    const strads_lasso_options options = {.lambda_ratio = .05,
                                          .intercept = true};
    linear_fit cold = lasso_design_fit(&design, &options, NULL);
    uint32_t param[20];

    cr_assert_eq(cold.err, STRADS_OK, "%s", strads_error_text());
    for (uint32_t j = 0; j < 20; j++)
        param[j] = j;
    cold.w[3] += .5;
    const strads_engine_options engine = {.workers = 2,
                                          .n_start = 20,
                                          .start_param = param,
                                          .start_value = cold.w};
    expect_optimal(&design, &options, &engine, "warm start");
    linear_fit_free(&cold);
    lasso_design_free(&design);
}
