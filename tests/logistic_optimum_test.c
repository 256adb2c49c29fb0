/* What the optimum of logistic regression has of its own: large supports, few
 * columns with an L2 penalty, a gap that is tight, weights of classes and rows.
 * What it has in common with the Lasso's is in linear_optimum_test.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/expect.h"
#include "tests/logistic_design.h"

static const logistic_view plain = {.negative = -1, .positive = 1};

static lasso_design design_of(uint64_t rows, uint64_t cols, double density,
                              double correlation, double offset)
{
    return logistic_design_random(&(lasso_recipe){.rows = rows,
                                                  .cols = cols,
                                                  .seed = rows + cols,
                                                  .density = density,
                                                  .correlation = correlation,
                                                  .noise = 2,
                                                  .offset = offset});
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
        expect_ok(fit.err);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_gt(fit.nonzeros, 400, "%llu",
                     (unsigned long long)fit.nonzeros);
        cr_expect_lt(logistic_violation(&d, &plain, &kinds[k], &fit), 1e-3);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

/* Many more columns than can matter: most scans leave most of them out, and
 * those that come to violate late must not be among them. */
Test(logistic_optimum, no_column_of_many_is_overlooked)
{
    const strads_logistic_options kinds[] = {
        {.lambda_ratio = .05, .l1_ratio = 1},
        {.lambda_ratio = .02, .l1_ratio = 1},
        {.lambda_ratio = .02, .l1_ratio = 1, .intercept = true}};
    lasso_design d = design_of(150, 3000, .3, .9, 0);

    for (int k = 0; k < 3; k++) {
        linear_fit fit = logistic_design_fit(&d, &kinds[k], NULL);
        expect_ok(fit.err);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_lt(logistic_violation(&d, &plain, &kinds[k], &fit), 1e-3);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

/* Correlated columns: hundreds slope at 0 for what some ten explain, and a
 * model of the first set has a visit to each of its members at least. */
Test(logistic_optimum, of_many_that_violate_at_first_few_are_in_the_first_set)
{
    const strads_logistic_options options = {.lambda_ratio = .6, .l1_ratio = 1};
    const strads_engine_options engine = {.workers = 1, .tolerance = .5};
    lasso_design d = design_of(300, 800, 1, .97, 0);
    linear_fit fit = logistic_design_fit(&d, &options, &engine);

    expect_ok(fit.err);
    cr_expect_lt(fit.updates_policy, 60, "%llu",
                 (unsigned long long)fit.updates_policy);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* Newton's method, whose preconditioner sees some of the rows only. */
Test(logistic_optimum, an_l2_penalty_on_few_columns_needs_few_rounds)
{
    lasso_design design = design_of(2000, 12, .5, .8, 2);
    const strads_logistic_options options = {.c = 1, .intercept = true};
    linear_fit first = {0};

    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        const strads_engine_options engine = {.workers = workers,
                                              .partitions = 4,
                                              .deterministic = true,
                                              .max_rounds = 80};
        linear_fit fit = logistic_design_fit(&design, &options, &engine);
        expect_ok(fit.err);
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
        lasso_design design = k == 0   ? design_of(60, 20, 1, 0, 0)
                              : k == 1 ? design_of(40, 150, 1, .9, 0)
                                       : design_of(200, 500, .1, .5, 0);
        const strads_logistic_options options = {.lambda_ratio = .02,
                                                 .l1_ratio = 1};
        linear_fit best = logistic_design_fit(&design, &options, NULL);
        for (double tolerance = .3; tolerance > 1e-8; tolerance /= 10) {
            const strads_engine_options engine = {.workers = 1,
                                                  .tolerance = tolerance};
            linear_fit fit = logistic_design_fit(&design, &options, &engine);
            expect_ok(fit.err);
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

/* The optimum of rows that count c[i] times. */
static void expect_weighted(const lasso_design *design, const double *c,
                            const strads_logistic_options *options,
                            const strads_engine_options *engine)
{
    const logistic_view view = {.negative = -1, .positive = 1, .c = c};
    linear_fit fit = logistic_design_fit(design, options, engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(logistic_violation(design, &view, options, &fit), 1e-3);
    cr_expect_float_eq(logistic_value(design, &view, options, &fit),
                       fit.objective, 1e-9 * fit.objective);
    linear_fit_free(&fit);
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
    lasso_design design = design_of(60, 20, 1, 0, 1);
    double c[60], count[2] = {0, 0};

    for (uint64_t i = 0; i < design.rows; i++)
        count[design.y[i] > 0]++;
    const double weight[2][2] = {{30 / count[0], 30 / count[1]}, {.25, 3.5}};
    for (int k = 0; k < 2; k++) {
        for (uint64_t i = 0; i < design.rows; i++)
            c[i] = weight[k][design.y[i] > 0];
        expect_weighted(&design, c, &cases[k], NULL);
    }
    lasso_design_free(&design);
}

Test(logistic_optimum, row_weights_come_from_a_file)
{
    lasso_design design = design_of(500, 80, .05, .7, 1);
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
    expect_weighted(&design, c, &options, &engine);
    remove(options.weights);
    lasso_design_free(&design);
}
