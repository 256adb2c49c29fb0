/* Rows with weights: a row of weight c counts as c rows, so the oracle is the
 * design in which it stands c times. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/lasso_design.h"

/* The weights of rows: 0 to 3, in a file of its own. */
static double weight_of(uint64_t row)
{
    return (double)((row * 7) % 4);
}

static void write_weights(uint64_t rows, char *path)
{
    (void)strcpy(path, "/tmp/strads_weights_XXXXXX");
    FILE *file = fdopen(mkstemp(path), "w");
    cr_assert_not_null(file);
    for (uint64_t i = 0; i < rows; i++)
        (void)fprintf(file, "%g\n", weight_of(i));
    (void)fclose(file);
}

static lasso_design repeated(const lasso_design *d)
{
    double *times = calloc(d->rows, sizeof(double));

    for (uint64_t i = 0; i < d->rows; i++)
        times[i] = weight_of(i);
    lasso_design out = lasso_design_repeated(d, times);
    free(times);
    return out;
}

/* The fit with weights has `least` nonzeros or more. */
static void expect_same(const lasso_design *d, const lasso_design *many,
                        strads_lasso_options options, const char *path,
                        uint32_t partitions, uint64_t least)
{
    const strads_engine_options engine = {.workers = partitions,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = 1e-11};
    linear_fit right = lasso_design_fit(many, &options, &engine);
    options.weights = path;
    linear_fit fit = lasso_design_fit(d, &options, &engine);

    expect_ok(right.err);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_geq(fit.nonzeros, least);
    cr_expect_float_eq(fit.lambda_max, right.lambda_max,
                       1e-12 * right.lambda_max);
    cr_expect_float_eq(fit.objective, right.objective, 1e-9 * right.objective);
    cr_expect_float_eq(fit.intercept, right.intercept, 1e-5);
    cr_expect_lt(lasso_distance(d, fit.w, right.w), 1e-5);
    linear_fit_free(&fit);
    linear_fit_free(&right);
}

static const strads_lasso_options several[] = {
    {.lambda_ratio = .05},
    {.lambda_ratio = .05, .intercept = true},
    {.lambda_ratio = .02, .intercept = true, .standardize = true},
    {.lambda_ratio = .1, .l1_ratio = .5, .positive = true, .intercept = true}};
enum { SEVERAL = sizeof(several) / sizeof(several[0]) };

static void expect_repeats(const lasso_recipe *recipe)
{
    lasso_design d = lasso_design_random(recipe);
    lasso_design many = repeated(&d);
    char path[64];

    write_weights(d.rows, path);
    for (size_t c = 0; c < SEVERAL; c++)
        for (uint32_t partitions = 1; partitions <= 4; partitions *= 2)
            expect_same(&d, &many, several[c], path, partitions, 1);
    (void)unlink(path);
    lasso_design_free(&many);
    lasso_design_free(&d);
}

Test(lasso_weights, a_row_of_weight_c_is_c_rows_of_full_columns)
{
    const lasso_recipe recipe = {.rows = 90,
                                 .cols = 40,
                                 .seed = 3,
                                 .density = 1,
                                 .correlation = .5,
                                 .noise = .5,
                                 .offset = 2};

    expect_repeats(&recipe);
}

Test(lasso_weights, a_row_of_weight_c_is_c_rows_of_sparse_columns)
{
    const lasso_recipe recipe = {.rows = 120,
                                 .cols = 60,
                                 .seed = 4,
                                 .density = .15,
                                 .noise = .5,
                                 .offset = 1};

    expect_repeats(&recipe);
}

/* Sets of more than 400 short columns are solved through the columns
 * themselves, brought together. */
Test(lasso_weights, a_row_of_weight_c_is_c_rows_in_large_sets)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 800,
                                                         .cols = 1200,
                                                         .seed = 5,
                                                         .density = .003,
                                                         .correlation = .5,
                                                         .noise = .5});
    lasso_design many = repeated(&d);
    const strads_lasso_options o = {.lambda_ratio = .003, .intercept = true};
    char path[64];

    write_weights(d.rows, path);
    expect_same(&d, &many, o, path, 2, 401);
    (void)unlink(path);
    lasso_design_free(&many);
    lasso_design_free(&d);
}

Test(lasso_weights, a_file_that_does_not_fit_is_refused)
{
    static const struct {
        const char *text, *sentence;
        strads_err err;
    } cases[] = {
        {"1\n2\n", "has 2 lines and the data 3 rows", STRADS_EFORMAT},
        {"1\n2\n1\n1\n", "more lines than the data", STRADS_EFORMAT},
        {"1\n-2\n1\n", ":2: found \"-2\"", STRADS_EFORMAT},
        {"0\n0\n0\n", "all weights are 0", STRADS_EINVAL},
    };
    lasso_design d = lasso_design_zero(3, 2);

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        char path[] = "/tmp/strads_weights_XXXXXX";
        FILE *file = fdopen(mkstemp(path), "w");
        cr_assert_not_null(file);
        (void)fputs(cases[c].text, file);
        (void)fclose(file);
        const strads_lasso_options o = {.lambda_ratio = .1, .weights = path};
        linear_fit fit = lasso_design_fit(&d, &o, NULL);
        cr_expect_eq(fit.err, cases[c].err, "case %zu", c);
        cr_expect(strstr(strads_error_text(), cases[c].sentence),
                  "case %zu: %s", c, strads_error_text());
        linear_fit_free(&fit);
        (void)unlink(path);
    }
    lasso_design_free(&d);
}

Test(lasso_weights, weights_from_memory_are_those_of_a_file)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 5, .seed = 6, .density = 1, .noise = .5};
    lasso_design d = lasso_design_random(&recipe);
    strads_lasso_options o = {.lambda_ratio = .1, .intercept = true};
    double weight[30];
    char path[64];

    for (uint64_t i = 0; i < d.rows; i++)
        weight[i] = weight_of(i);
    write_weights(d.rows, path);
    o.weights = path;
    linear_fit file = lasso_design_fit(&d, &o, NULL);
    o.weights = NULL;
    o.row_weight = weight;
    linear_fit memory = lasso_design_fit(&d, &o, NULL);
    cr_expect_arr_eq(file.w, memory.w, d.cols * sizeof(double));
    weight[7] = NAN;
    linear_fit bad = lasso_design_fit(&d, &o, NULL);
    cr_expect_eq(bad.err, STRADS_EINVAL);
    expect_says("weight of row 8 is");
    linear_fit_free(&file);
    linear_fit_free(&memory);
    linear_fit_free(&bad);
    (void)unlink(path);
    lasso_design_free(&d);
}

/* Runs the Lasso on the design, rows weighed by its options or by the data. */
static strads_result *weighed(const lasso_design *d, uint32_t partitions,
                              const double *of_options, const double *of_data)
{
    const strads_lasso_options o = {.lambda_ratio = .1,
                                    .intercept = true,
                                    .row_weight = of_options};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 1,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = 1e-10};
    strads_data *data = NULL;
    strads_result *result = NULL;

    expect_ok(lasso_design_data(d, partitions, &data));
    if (of_data)
        expect_ok(strads_data_weigh(data, of_data, d->rows));
    expect_ok(strads_run(&strads_program_lasso, &o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

static const double *values_of(const strads_result *result)
{
    uint64_t parameters;
    uint32_t width;
    return strads_result_values(result, &parameters, &width);
}

Test(lasso_weights, weights_of_the_data_are_those_of_the_options)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 5, .seed = 6, .density = 1, .noise = .5};
    lasso_design d = lasso_design_random(&recipe);
    double weight[30];

    for (uint64_t i = 0; i < d.rows; i++)
        weight[i] = weight_of(i);
    for (uint32_t partitions = 1; partitions <= 3; partitions++) {
        strads_result *options = weighed(&d, partitions, weight, NULL);
        strads_result *data = weighed(&d, partitions, NULL, weight);
        strads_result *none = weighed(&d, partitions, NULL, NULL);
        const double *w = values_of(options);
        cr_expect_arr_eq(w, values_of(data), d.cols * sizeof *w);
        cr_expect_arr_neq(w, values_of(none), d.cols * sizeof *w);
        strads_result_free(options);
        strads_result_free(data);
        strads_result_free(none);
    }
    lasso_design_free(&d);
}

Test(lasso_weights, weights_that_are_none_leave_the_data_as_they_are)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 5, .seed = 6, .density = 1, .noise = .5};
    lasso_design d = lasso_design_random(&recipe);
    double weight[30] = {1, 2, 3};
    strads_data *data = NULL;

    expect_ok(lasso_design_data(&d, 2, &data));
    cr_expect_eq(strads_data_weigh(data, weight, 29), STRADS_EINVAL);
    expect_says("29 weights for 30 rows; expected one a row");
    weight[7] = -1;
    cr_expect_eq(strads_data_weigh(data, weight, 30), STRADS_EINVAL);
    expect_says("the weight of row 8 is -1");
    cr_expect_null(strads_data_share(data, 0)->weight);
    strads_data_free(data);
    lasso_design_free(&d);
}
