/* Fits of random designs must satisfy the optimality conditions of the
 * objective as the header states it, under every option and on every kind of
 * run; what they report must be what these coefficients give. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/logistic_design.h"

typedef struct size_case {
    uint64_t rows, cols;
    double density, correlation;
} size_case;

static const size_case sizes[] = {
    {60, 20, 1, 0},     {40, 150, 1, .9},  {200, 500, .1, .5},
    {500, 80, .05, .7}, {30, 600, .3, .8}, {60, 200, 1, .97},
    {2000, 12, .5, .8},
};

static const strads_logistic_options variants[] = {
    {.lambda_ratio = .1, .l1_ratio = 1},
    {.lambda_ratio = .01, .l1_ratio = 1},
    {.c = 1, .l1_ratio = 1},
    {.lambda_ratio = .05, .l1_ratio = 1, .intercept = true},
    {.lambda_ratio = .05, .l1_ratio = 1, .standardize = true},
    {.lambda_ratio = .05,
     .l1_ratio = 1,
     .intercept = true,
     .standardize = true},
    {.lambda_ratio = .05, .l1_ratio = .5},
    {.l1_ratio = 0},
    {.c = .1, .l1_ratio = 0, .intercept = true, .standardize = true},
    {.lambda_ratio = .02,
     .l1_ratio = .2,
     .intercept = true,
     .standardize = true},
};

static const logistic_view plain = {.negative = -1, .positive = 1};

static lasso_design design_of(const size_case *size, double offset)
{
    return logistic_design_random(
        &(lasso_recipe){.rows = size->rows,
                        .cols = size->cols,
                        .seed = size->rows + size->cols,
                        .density = size->density,
                        .correlation = size->correlation,
                        .noise = 2,
                        .offset = offset});
}

static void expect_optimal(const lasso_design *design,
                           const logistic_view *view,
                           const strads_logistic_options *options,
                           const strads_engine_options *engine,
                           const char *what)
{
    linear_fit fit = logistic_design_fit(design, options, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g", what,
                 (int)fit.end, fit.gap);
    const double violation = logistic_violation(design, view, options, &fit);
    cr_expect_lt(violation, 1e-3, "%s: violated by %g lambda", what, violation);
    const double value = logistic_value(design, view, options, &fit);
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

Test(logistic_optimum, kkt_conditions_hold_under_every_option)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        lasso_design design = design_of(&sizes[i], i % 2 ? 3 : 0);
        for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++) {
            char what[64];
            snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
            expect_optimal(&design, &plain, &variants[k], NULL, what);
        }
        lasso_design_free(&design);
    }
}

/* More than a Newton step's matrix is for. */
Test(logistic_optimum, a_large_support_is_solved_as_well)
{
    const lasso_recipe recipe = {.rows = 900,
                                 .cols = 640,
                                 .seed = 21,
                                 .density = .05,
                                 .correlation = .6,
                                 .noise = 2};
    const strads_logistic_options kinds[] = {
        {.lambda_ratio = .004, .l1_ratio = 1},
        {.lambda_ratio = .004, .l1_ratio = .9, .intercept = true}};
    lasso_design d = logistic_design_random(&recipe);

    for (int k = 0; k < 2; k++) {
        linear_fit fit = logistic_design_fit(&d, &kinds[k], NULL);
        cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_gt(fit.nonzeros, 400, "%llu",
                     (unsigned long long)fit.nonzeros);
        cr_expect_lt(logistic_violation(&d, &plain, &kinds[k], &fit), 1e-3);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(logistic_optimum, workers_partitions_depth_and_policies_reach_the_same)
{
    const char *policies[] = {"priority", "uniform", "cyclic"};
    lasso_design design = design_of(&sizes[2], 1);
    const strads_logistic_options options = {.lambda_ratio = .03,
                                             .l1_ratio = 1,
                                             .intercept = true};
    linear_fit first = logistic_design_fit(&design, &options, NULL);

    cr_assert_eq(first.err, STRADS_OK, "%s", strads_error_text());
    for (size_t p = 0; p < 3; p++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            const strads_engine_options engine = {.workers = workers,
                                                  .partitions = 4,
                                                  .policy = policies[p],
                                                  .depth = workers,
                                                  .blocks = workers,
                                                  .tolerance = 1e-9};
            linear_fit fit = logistic_design_fit(&design, &options, &engine);
            cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
            cr_expect_lt(fabs(fit.objective - first.objective),
                         1e-8 * first.objective,
                         "%s, %u workers: %.12g for "
                         "%.12g",
                         policies[p], workers, fit.objective, first.objective);
            cr_expect_gt(fit.updates_policy, 10 * fit.updates_other,
                         "%s: %llu updates by the policy, %llu others",
                         policies[p], (unsigned long long)fit.updates_policy,
                         (unsigned long long)fit.updates_other);
            linear_fit_free(&fit);
        }
    linear_fit_free(&first);
    lasso_design_free(&design);
}

Test(logistic_optimum, deterministic_runs_repeat_bit_for_bit_on_any_workers)
{
    lasso_design design = design_of(&sizes[4], 0);
    const strads_logistic_options options = {.lambda_ratio = .02,
                                             .l1_ratio = 1,
                                             .intercept = true};
    linear_fit fit[2];

    for (uint32_t k = 0; k < 2; k++) {
        const strads_engine_options engine = {.workers = 1 + 2 * k,
                                              .partitions = 3,
                                              .depth = 2,
                                              .deterministic = true,
                                              .tolerance = 1e-8};
        fit[k] = logistic_design_fit(&design, &options, &engine);
        cr_assert_eq(fit[k].err, STRADS_OK, "%s", strads_error_text());
    }
    cr_expect_arr_eq(fit[0].w, fit[1].w, design.cols * sizeof(double));
    cr_expect_eq(fit[0].intercept, fit[1].intercept);
    cr_expect_eq(fit[0].updates_policy, fit[1].updates_policy);
    linear_fit_free(&fit[0]);
    linear_fit_free(&fit[1]);
    lasso_design_free(&design);
}

/* Newton's method, whose preconditioner sees some of the rows only. */
Test(logistic_optimum, an_l2_penalty_on_few_columns_needs_few_rounds)
{
    lasso_design design = design_of(&sizes[6], 2);
    const strads_logistic_options options = {.c = 1, .intercept = true};
    linear_fit first = {0};

    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        const strads_engine_options engine = {.workers = workers,
                                              .partitions = 4,
                                              .deterministic = true,
                                              .max_rounds = 80};
        linear_fit fit = logistic_design_fit(&design, &options, &engine);
        cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_lt(logistic_violation(&design, &plain, &options, &fit), 1e-3);
        if (workers == 1) {
            first = fit;
            continue;
        }
        cr_expect_arr_eq(fit.w, first.w, design.cols * sizeof(double));
        linear_fit_free(&fit);
    }
    linear_fit_free(&first);
    lasso_design_free(&design);
}

/* The gap bounds what is left, and at the end is no looser than what the
 * definition gives for these coefficients. */
Test(logistic_optimum, the_gap_is_a_bound_and_a_tight_one)
{
    for (size_t k = 0; k < 3; k++) {
        lasso_design design = design_of(&sizes[k], 0);
        const strads_logistic_options options = {.lambda_ratio = .02,
                                                 .l1_ratio = 1};
        linear_fit best = logistic_design_fit(&design, &options, NULL);
        for (double tolerance = .3; tolerance > 1e-8; tolerance /= 10) {
            const strads_engine_options engine = {.workers = 1,
                                                  .tolerance = tolerance};
            linear_fit fit = logistic_design_fit(&design, &options, &engine);
            cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
            const double left =
                (fit.objective - best.objective) / fit.objective;
            cr_expect_leq(left, fit.gap + 1e-12, "left %g, gap %g", left,
                          fit.gap);
            cr_expect_leq(fit.gap, tolerance);
            cr_expect_leq(fit.gap,
                          1.1 * logistic_gap(&design, &plain, &fit) + 1e-12);
            linear_fit_free(&fit);
        }
        linear_fit_free(&best);
        lasso_design_free(&design);
    }
}

/* The same with an intercept and an L2 part, where the bound is another. */
Test(logistic_optimum, every_certificate_bounds_what_is_left)
{
    lasso_design design = design_of(&sizes[3], 2);

    for (size_t k = 3; k < sizeof(variants) / sizeof(variants[0]); k++) {
        const strads_engine_options tight = {.workers = 1, .tolerance = 1e-12};
        linear_fit best = logistic_design_fit(&design, &variants[k], &tight);
        for (double tolerance = .3; tolerance > 1e-7; tolerance /= 10) {
            const strads_engine_options engine = {.workers = 1,
                                                  .tolerance = tolerance};
            linear_fit fit =
                logistic_design_fit(&design, &variants[k], &engine);
            cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
            cr_expect_leq(fit.objective - best.objective,
                          fit.gap * fit.objective + 1e-12,
                          "variant %zu: %.12g above %.12g, gap %g", k,
                          fit.objective, best.objective, fit.gap);
            linear_fit_free(&fit);
        }
        linear_fit_free(&best);
    }
    lasso_design_free(&design);
}

Test(logistic_optimum, a_start_near_the_optimum_ends_there)
{
    lasso_design design = design_of(&sizes[0], 2);
    const strads_logistic_options options = {.lambda_ratio = .05,
                                             .l1_ratio = 1,
                                             .intercept = true};
    linear_fit cold = logistic_design_fit(&design, &options, NULL);
    uint32_t param[20];

    cr_assert_eq(cold.err, STRADS_OK, "%s", strads_error_text());
    for (uint32_t j = 0; j < 20; j++)
        param[j] = j;
    cold.w[3] += .5;
    const strads_engine_options engine = {.workers = 2,
                                          .n_start = 20,
                                          .start_param = param,
                                          .start_value = cold.w};
    expect_optimal(&design, &plain, &options, &engine, "warm start");
    linear_fit_free(&cold);
    lasso_design_free(&design);
}

Test(logistic_optimum, class_weights_count_rows_so_many_times)
{
    const strads_logistic_options cases[] = {
        {.lambda_ratio = .05, .l1_ratio = 1, .class_weight = "balanced"},
        {.lambda_ratio = .05,
         .l1_ratio = 1,
         .intercept = true,
         .standardize = true,
         .class_weight = "1=3.5,-1=0.25"},
    };
    lasso_design design = design_of(&sizes[0], 1);
    double c[60], count[2] = {0, 0};

    for (uint64_t i = 0; i < design.rows; i++)
        count[design.y[i] > 0]++;
    const double weight[2][2] = {{30 / count[0], 30 / count[1]}, {.25, 3.5}};
    for (int k = 0; k < 2; k++) {
        for (uint64_t i = 0; i < design.rows; i++)
            c[i] = weight[k][design.y[i] > 0];
        const logistic_view view = {.negative = -1, .positive = 1, .c = c};
        expect_optimal(&design, &view, &cases[k], NULL, "class weights");
    }
    lasso_design_free(&design);
}

Test(logistic_optimum, row_weights_come_from_a_file)
{
    lasso_design design = design_of(&sizes[3], 1);
    const strads_logistic_options options = {.lambda_ratio = .05,
                                             .l1_ratio = .8,
                                             .intercept = true,
                                             .standardize = true,
                                             .weights = "row-weights.txt"};
    const strads_engine_options engine = {.workers = 2, .partitions = 3};
    FILE *file = fopen(options.weights, "w");
    double c[500];

    cr_assert_not_null(file);
    for (uint64_t i = 0; i < design.rows; i++) {
        c[i] = i % 7 == 0 ? 0 : .5 + (double)(i % 5);
        fprintf(file, "%.17g\n", c[i]);
    }
    fclose(file);
    const logistic_view view = {.negative = -1, .positive = 1, .c = c};
    expect_optimal(&design, &view, &options, &engine, "row weights");
    remove(options.weights);
    lasso_design_free(&design);
}
