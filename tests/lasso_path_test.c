/* A path of lambdas: every point is held against the optimality conditions,
 * against closed forms, and against the fit at its lambda alone. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/lasso/lasso_parts.h"
#include "tests/lasso_design.h"

#define TOLERANCE 1e-11

static strads_result *run_program(const strads_program *program,
                                  const strads_data *data,
                                  const strads_lasso_path_options *options,
                                  uint32_t workers, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = TOLERANCE,
                                          .max_rounds = 200000};
    strads_result *result = NULL;

    cr_assert_eq(strads_run(program, options, data, &engine, &result),
                 STRADS_OK, "%s", strads_error_text());
    return result;
}

static strads_result *run_path(const strads_data *data,
                               const strads_lasso_path_options *options,
                               uint32_t workers, uint32_t partitions)
{
    return run_program(&strads_program_lasso_path, data, options, workers,
                       partitions);
}

static void check_points(const lasso_design *d,
                         const strads_lasso_path_options *options,
                         const strads_result *result)
{
    uint32_t n;
    const strads_path_point *point =
        strads_lasso_path(strads_result_state(result), &n);

    cr_assert_eq(n, options->points);
    for (uint32_t k = 0; k < n; k++) {
        linear_fit fit = linear_fit_at(&point[k], d->cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        const double share = pow(options->ratio, k / (n - 1.));
        cr_expect_float_eq(point[k].lambda, point[0].lambda * share,
                           1e-12 * point[k].lambda);
        cr_expect_leq(point[k].gap, TOLERANCE, "point %u: gap %g", k,
                      point[k].gap);
        cr_expect_lt(lasso_violation(d, &options->fit, &fit), 2e-4,
                     "point %u: %g", k,
                     lasso_violation(d, &options->fit, &fit));
        cr_expect_float_eq(lasso_value(d, &options->fit, &fit), fit.objective,
                           1e-9 * fit.objective);
        linear_fit_free(&fit);
    }
}

static const strads_lasso_options kinds[] = {
    {.l1_ratio = 1},
    {.l1_ratio = 1, .intercept = true, .standardize = true},
    {.l1_ratio = .5, .intercept = true},
    {.l1_ratio = 1, .positive = true}};

Test(lasso_path, every_point_meets_the_optimality_conditions)
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
        lasso_design d = lasso_design_random(&recipes[r]);
        strads_data *data = NULL;
        cr_assert_eq(lasso_design_data(&d, 4, &data), STRADS_OK);
        for (size_t o = 0; o < sizeof(kinds) / sizeof(kinds[0]); o++)
            for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                const strads_lasso_path_options options = {.fit = kinds[o],
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

static uint64_t looks, looked_at;
static strads_err (*take_look)(strads_commit *commit);

static strads_err count_look(strads_commit *commit)
{
    looks++;
    looked_at += commit->block.n;
    return take_look(commit);
}

Test(lasso_path, columns_that_looks_leave_out_meet_the_conditions_too)
{
    const lasso_recipe recipe = {.rows = 60,
                                 .cols = 400,
                                 .seed = 6,
                                 .density = 1,
                                 .noise = .3,
                                 .correlation = .7,
                                 .offset = 1};
    lasso_design d = lasso_design_random(&recipe);
    strads_program program = strads_program_lasso_path;
    strads_phase phases[LASSO_LOOK + 1];
    strads_data *data = NULL;

    cr_assert_eq(program.n_phases, sizeof(phases) / sizeof(phases[0]));
    memcpy(phases, program.phases, sizeof(phases));
    take_look = phases[LASSO_LOOK].aggregate;
    phases[LASSO_LOOK].aggregate = count_look;
    program.phases = phases;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    for (size_t o = 0; o < sizeof(kinds) / sizeof(kinds[0]); o++) {
        const strads_lasso_path_options options = {.fit = kinds[o],
                                                   .points = 40,
                                                   .ratio = .1};
        looks = looked_at = 0;
        strads_result *result = run_program(&program, data, &options, 2, 2);
        check_points(&d, &options, result);
        cr_expect_gt(looks, 10, "%llu looks", (unsigned long long)looks);
        cr_expect_lt(looked_at, looks * d.cols / 2);
        strads_result_free(result);
    }
    strads_data_free(data);
    lasso_design_free(&d);
}

/* Columns e_j: n w_j = soft(y_j, n lambda) for each by itself. */
Test(lasso_path, on_unit_columns_every_point_is_a_threshold)
{
    enum { N = 12 };
    const strads_lasso_path_options options = {.points = 40, .ratio = .01};
    lasso_design d = lasso_design_zero(N, N);
    strads_data *data = NULL;
    uint32_t n;

    for (uint64_t j = 0; j < N; j++) {
        lasso_design_col(&d, j)[j] = 1;
        d.y[j] = (j % 2 ? -1. : 1.) * (double)(j + 1);
    }
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 2, 2);
    const strads_path_point *point =
        strads_lasso_path(strads_result_state(result), &n);
    cr_assert_eq(n, 40);
    cr_expect_float_eq(point[0].lambda, 1, 1e-12, "lambda_max is 12 / n");
    for (uint32_t k = 0; k < n; k++) {
        linear_fit fit = linear_fit_at(&point[k], N);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        for (uint64_t j = 0; j < N; j++) {
            const double rest = fabs(d.y[j]) - N * point[k].lambda;
            cr_expect_float_eq(fit.w[j], copysign(fmax(rest, 0), d.y[j]), 1e-4);
        }
        linear_fit_free(&fit);
    }
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_path, a_point_is_the_fit_at_its_lambda_alone)
{
    const lasso_recipe recipe = {
        .rows = 80, .cols = 60, .seed = 5, .density = .5, .noise = 1};
    const strads_lasso_path_options options = {.points = 10, .ratio = .05};
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;
    uint32_t n;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_lasso_path(strads_result_state(result), &n);
    for (uint32_t k = 1; k < n; k++) {
        const strads_lasso_options alone = {.lambda = point[k].lambda};
        linear_fit one = lasso_design_fit(&d, &alone, NULL);
        linear_fit fit = linear_fit_at(&point[k], d.cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        cr_expect_float_eq(one.objective, fit.objective, 1e-10 * one.objective);
        cr_expect_lt(lasso_distance(&d, one.w, fit.w), 1e-3);
        linear_fit_free(&fit);
        linear_fit_free(&one);
    }
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_path, it_starts_where_it_is_told_and_a_path_of_one_point_is_a_fit)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 10, .seed = 6, .density = 1, .noise = 1};
    const strads_lasso_path_options options = {.fit = {.l1_ratio = 1},
                                               .points = 1,
                                               .ratio = .5,
                                               .first = .25};
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;
    uint32_t n;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_lasso_path(strads_result_state(result), &n);
    cr_assert_eq(n, 1);
    cr_expect_eq(point->lambda, .25);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
    linear_fit fit = linear_fit_at(point, d.cols);
    cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
    cr_expect_lt(lasso_violation(&d, &options.fit, &fit), 2e-4);
    linear_fit_free(&fit);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_path, labels_that_no_column_explains_give_points_of_zeros)
{
    const strads_lasso_path_options options = {.points = 5, .ratio = .1};
    lasso_design d = lasso_design_zero(6, 3);
    strads_data *data = NULL;
    uint32_t n;

    lasso_design_col(&d, 0)[0] = 1;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    strads_result *result = run_path(data, &options, 1, 2);
    const strads_path_point *point =
        strads_lasso_path(strads_result_state(result), &n);
    cr_assert_eq(n, 5);
    for (uint32_t k = 0; k < n; k++)
        cr_expect(point[k].nonzeros == 0 && point[k].gap == 0);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_path, options_that_contradict_a_path_are_refused)
{
    static const strads_lasso_path_options wrong[] = {
        {.fit = {.lambda = 1}},
        {.fit = {.lambda_ratio = .1}},
        {.points = 10001},
        {.ratio = 1.5},
        {.ratio = -1},
        {.ratio = NAN},
        {.first = -1},
        {.first = INFINITY},
        {.fit = {.l1_ratio = 1e-5}}};
    lasso_design d = lasso_design_zero(4, 2);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 1, &data), STRADS_OK);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        strads_result *result = NULL;
        cr_expect_eq(strads_run(&strads_program_lasso_path, &wrong[k], data,
                                NULL, &result),
                     STRADS_EINVAL, "%zu", k);
    }
    strads_data_free(data);
    lasso_design_free(&d);
}
