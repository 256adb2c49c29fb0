/* A path of lambdas: every point is held against the optimality conditions,
 * against its deviance, added up once more, and against the fit at its lambda
 * alone. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/logistic_design.h"

#define TOLERANCE 1e-10

static const logistic_view plain = {.negative = -1, .positive = 1};

static strads_result *run_path(const strads_data *data,
                               const strads_logistic_path_options *options,
                               uint32_t workers, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = TOLERANCE,
                                          .max_rounds = 200000};
    strads_result *result = NULL;

    cr_assert_eq(strads_run(&strads_program_logistic_path, options, data,
                            &engine, &result),
                 STRADS_OK, "%s", strads_error_text());
    return result;
}

static void check_points(const lasso_design *d,
                         const strads_logistic_path_options *options,
                         const strads_result *result)
{
    uint32_t n;
    const strads_path_point *point =
        strads_logistic_path(strads_result_state(result), &n);

    cr_assert_eq(n, options->points);
    for (uint32_t k = 0; k < n; k++) {
        linear_fit fit = linear_fit_at(&point[k], d->cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        const double share = pow(options->ratio, k / (n - 1.));
        cr_expect_float_eq(point[k].lambda, point[0].lambda * share,
                           1e-12 * point[k].lambda);
        cr_expect_leq(point[k].gap, TOLERANCE, "point %u: gap %g", k,
                      point[k].gap);
        cr_expect_lt(logistic_violation(d, &plain, &options->fit, &fit), 1e-3,
                     "point %u: %g", k,
                     logistic_violation(d, &plain, &options->fit, &fit));
        cr_expect_float_eq(logistic_value(d, &plain, &options->fit, &fit),
                           fit.objective, 1e-9 * fit.objective);
        fit.lambda = 0; /* what is left is the loss */
        cr_expect_float_eq(2 * (double)d->rows *
                               logistic_value(d, &plain, &options->fit, &fit),
                           point[k].deviance, 1e-9 * point[k].deviance);
        linear_fit_free(&fit);
    }
}

static const strads_logistic_options kinds[] = {
    {.l1_ratio = 1},
    {.l1_ratio = 1, .intercept = true, .standardize = true},
    {.l1_ratio = .5, .intercept = true}};

Test(logistic_path, every_point_meets_the_optimality_conditions)
{
    const lasso_recipe recipes[] = {
        {.rows = 60, .cols = 30, .seed = 1, .density = 1, .noise = 1},
        {.rows = 40,
         .cols = 150,
         .seed = 2,
         .density = .3,
         .noise = .5,
         .correlation = .9,
         .offset = 3}};

    for (size_t r = 0; r < 2; r++) {
        lasso_design d = logistic_design_random(&recipes[r]);
        strads_data *data = NULL;
        cr_assert_eq(lasso_design_data(&d, 4, &data), STRADS_OK);
        for (size_t o = 0; o < sizeof(kinds) / sizeof(kinds[0]); o++)
            for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                const strads_logistic_path_options options = {.fit = kinds[o],
                                                              .points = 25,
                                                              .ratio = .02};
                strads_result *result = run_path(data, &options, workers, 4);
                check_points(&d, &options, result);
                strads_result_free(result);
            }
        strads_data_free(data);
        lasso_design_free(&d);
    }
}

Test(logistic_path, a_point_is_the_fit_at_its_lambda_alone)
{
    const lasso_recipe recipe = {
        .rows = 80, .cols = 60, .seed = 5, .density = .5, .noise = 1};
    const strads_logistic_path_options options = {.fit = {.l1_ratio = 1},
                                                  .points = 10,
                                                  .ratio = .05};
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;
    uint32_t n;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_logistic_path(strads_result_state(result), &n);
    for (uint32_t k = 1; k < n; k++) {
        const strads_logistic_options alone = {.lambda = point[k].lambda,
                                               .l1_ratio = 1};
        linear_fit one = logistic_design_fit(&d, &alone, NULL);
        linear_fit fit = linear_fit_at(&point[k], d.cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        cr_expect_float_eq(one.objective, fit.objective, 1e-9 * one.objective);
        cr_expect_lt(lasso_distance(&d, one.w, fit.w), 1e-3);
        linear_fit_free(&fit);
        linear_fit_free(&one);
    }
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(logistic_path, it_starts_where_it_is_told_and_a_path_of_one_point_is_a_fit)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 10, .seed = 6, .density = 1, .noise = 1};
    const strads_logistic_path_options options = {.fit = {.l1_ratio = 1},
                                                  .points = 1,
                                                  .ratio = .5,
                                                  .first = .02};
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;
    uint32_t n;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_logistic_path(strads_result_state(result), &n);
    cr_assert_eq(n, 1);
    cr_expect_eq(point->lambda, .02);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
    linear_fit fit = linear_fit_at(point, d.cols);
    cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
    cr_expect_lt(logistic_violation(&d, &plain, &options.fit, &fit), 1e-3);
    linear_fit_free(&fit);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(logistic_path, labels_that_no_column_explains_give_points_of_zeros)
{
    const strads_logistic_path_options options = {.fit = {.l1_ratio = 1},
                                                  .points = 5,
                                                  .ratio = .1};
    lasso_design d = lasso_design_zero(6, 3);
    strads_data *data = NULL;
    uint32_t n;

    d.y[1] = d.y[2] = 1;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_logistic_path(strads_result_state(result), &n);
    cr_assert_eq(n, 5);
    for (uint32_t k = 0; k < n; k++)
        cr_expect(point[k].nonzeros == 0 && point[k].gap == 0);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(logistic_path, options_that_contradict_a_path_are_refused)
{
    static const strads_logistic_path_options wrong[] = {
        {.fit = {.l1_ratio = 1, .lambda = 1}},
        {.fit = {.l1_ratio = 1, .lambda_ratio = .1}},
        {.fit = {.l1_ratio = 1, .c = 1}},
        {.fit = {.l1_ratio = 0}},
        {.fit = {.l1_ratio = 1}, .points = 10001},
        {.fit = {.l1_ratio = 1}, .ratio = 1.5},
        {.fit = {.l1_ratio = 1}, .ratio = NAN},
        {.fit = {.l1_ratio = 1}, .first = INFINITY},
        {.fit = {.l1_ratio = 1, .classes = "1,2,3"}},
        {.fit = {.l1_ratio = 1e-5}}};
    lasso_design d = lasso_design_zero(4, 2);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 1, &data), STRADS_OK);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        strads_result *result = NULL;
        cr_expect_eq(strads_run(&strads_program_logistic_path, &wrong[k], data,
                                NULL, &result),
                     STRADS_EINVAL, "%zu", k);
    }
    strads_data_free(data);
    lasso_design_free(&d);
}
