/* Rows with weights: a row of weight c counts as c rows, so the oracle is the
 * design in which it stands c times, or the objective; wherever they come from,
 * and with weights of classes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/glm_design.h"

static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                     "poisson", "gamma",    "tweedie",
                                     "huber"};
enum { LOSSES = sizeof losses / sizeof losses[0] };

static char path[] = "/tmp/strads_weights_XXXXXX";

static void make_file(void)
{
    const int file = mkstemp(path);

    cr_assert_geq(file, 0);
    (void)close(file);
}

static void remove_file(void)
{
    (void)unlink(path);
}

TestSuite(glm_weights, .init = make_file, .fini = remove_file);

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* ---- repeated rows ------------------------------------------------------- */

/* 0 to 3 for each row, to be freed; in the file as well. */
static double *draw_weights(const lasso_design *d)
{
    double *weight = calloc(d->rows, sizeof(*weight));
    FILE *file = fopen(path, "w");

    cr_assert(weight && file);
    for (uint64_t i = 0; i < d->rows; i++) {
        weight[i] = (double)(i * 7 % 4);
        (void)fprintf(file, "%g\n", weight[i]);
    }
    (void)fclose(file);
    return weight;
}

/* The fit with weights of a file has `least` nonzeros or more. */
static void expect_same(const lasso_design *d, const lasso_design *many,
                        strads_glm_options options, uint32_t partitions,
                        uint64_t least)
{
    const strads_engine_options engine = {.workers = partitions,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = 1e-11};
    linear_fit right = glm_design_fit(many, &options, &engine);
    options.weights = path;
    linear_fit fit = glm_design_fit(d, &options, &engine);

    expect_ok(right.err);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: gap %g", options.loss,
                 fit.gap);
    cr_expect_geq(fit.nonzeros, least);
    cr_expect_float_eq(fit.lambda_max, right.lambda_max,
                       1e-8 * right.lambda_max, "%s", options.loss);
    cr_expect_float_eq(fit.objective, right.objective, 1e-9 * right.objective,
                       "%s", options.loss);
    cr_expect_float_eq(fit.intercept, right.intercept, 1e-4, "%s",
                       options.loss);
    cr_expect_lt(lasso_distance(d, fit.w, right.w), 1e-4, "%s", options.loss);
    linear_fit_free(&fit);
    linear_fit_free(&right);
}

static const strads_glm_options several[] = {
    {.lambda_ratio = .05},
    {.lambda_ratio = .05, .intercept = true},
    {.lambda_ratio = .02, .intercept = true, .standardize = true},
    {.penalty = "elastic-net",
     .lambda_ratio = .1,
     .upper = INFINITY,
     .intercept = true}};
enum { SEVERAL = sizeof(several) / sizeof(several[0]) };

Test(glm_weights, a_row_of_weight_c_is_c_rows)
{
    static const lasso_recipe recipes[] = {{.rows = 90,
                                            .cols = 40,
                                            .seed = 3,
                                            .correlation = .5,
                                            .noise = .5,
                                            .offset = 2},
                                           {.rows = 120,
                                            .cols = 60,
                                            .seed = 4,
                                            .density = .15,
                                            .noise = .5,
                                            .offset = 1}};

    for (size_t r = 0; r < 2; r++)
        for (size_t l = 0; l < LOSSES; l++) {
            lasso_design d = glm_design_random(&recipes[r], losses[l]);
            double *weight = draw_weights(&d);
            lasso_design many = lasso_design_repeated(&d, weight);
            for (size_t c = 0; c < SEVERAL; c++)
                for (uint32_t partitions = 1; partitions <= 4;
                     partitions *= 2) {
                    strads_glm_options o = several[c];
                    o.loss = losses[l];
                    expect_same(&d, &many, o, partitions, 1);
                }
            free(weight);
            lasso_design_free(&many);
            lasso_design_free(&d);
        }
}

/* Sets of more than 400 short columns are solved through the columns
 * themselves, brought together. */
Test(glm_weights, a_row_of_weight_c_is_c_rows_in_large_sets)
{
    const strads_glm_options o = {.lambda_ratio = .003, .intercept = true};
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 800,
                                                         .cols = 1200,
                                                         .seed = 5,
                                                         .density = .003,
                                                         .correlation = .5,
                                                         .noise = .5});
    double *weight = draw_weights(&d);
    lasso_design many = lasso_design_repeated(&d, weight);

    expect_same(&d, &many, o, 2, 401);
    free(weight);
    lasso_design_free(&many);
    lasso_design_free(&d);
}

/* ---- classes, and numbers that are not whole ----------------------------- */

/* The optimum of rows that count c[i] times. */
static void expect_weighted(const lasso_design *design, const double *c,
                            strads_glm_options options)
{
    const strads_engine_options engine = {.workers = 2, .partitions = 3};
    linear_fit fit = glm_design_fit(design, &options, &engine);

    options.row_weight = c;
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(glm_miss(design, &options, &fit), 1e-3);
    cr_expect_float_eq(glm_value(design, &options, &fit), fit.objective,
                       1e-9 * fit.objective);
    linear_fit_free(&fit);
}

Test(glm_weights, classes_count_so_many_times)
{
    const lasso_recipe recipe = {
        .rows = 60, .cols = 20, .seed = 80, .noise = 2, .offset = 1};
    strads_glm_options o = {.loss = "logistic",
                            .lambda_ratio = .05,
                            .class_weight = "balanced"};
    lasso_design d = glm_design_random(&recipe, o.loss);
    double c[60], count[2] = {0, 0};

    for (uint64_t i = 0; i < d.rows; i++)
        count[d.y[i] > 0]++;
    for (uint64_t i = 0; i < d.rows; i++)
        c[i] = 30 / count[d.y[i] > 0];
    expect_weighted(&d, c, o);
    for (uint64_t i = 0; i < d.rows; i++)
        c[i] = d.y[i] > 0 ? 3.5 : .25;
    o.intercept = o.standardize = true;
    o.class_weight = "1=3.5,0=0.25";
    expect_weighted(&d, c, o);
    lasso_design_free(&d);
}

Test(glm_weights, a_file_that_does_not_fit_is_refused)
{
    static const struct {
        const char *loss, *text, *sentence;
        strads_err err;
    } cases[] = {
        {"squared", "1\n2\n", "has 2 lines and the data 3 rows",
         STRADS_EFORMAT},
        {"squared", "1\n2\n1\n1\n", "more lines than the data", STRADS_EFORMAT},
        {"squared", "1\n-2\n1\n", ":2: found \"-2\"", STRADS_EFORMAT},
        {"squared", "1\nx\n1\n", ":2: found \"x\"", STRADS_EFORMAT},
        {"squared", "0\n0\n0\n", "all weights are 0", STRADS_EINVAL},
        {"logistic", "0\n2\n1\n",
         "no row has a weight above 0 with the label 1", STRADS_EFORMAT},
        {"squared", NULL, "no-such-file: cannot be opened", STRADS_EINVAL},
    };
    lasso_design d = lasso_design_zero(3, 2);

    d.y[0] = 1;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const strads_glm_options o = {.loss = cases[c].loss,
                                      .lambda_ratio = .1,
                                      .weights = cases[c].text
                                                     ? path
                                                     : "no-such-file"};
        write_text(cases[c].text ? cases[c].text : "");
        linear_fit fit = glm_design_fit(&d, &o, NULL);
        cr_expect_eq(fit.err, cases[c].err, "case %zu", c);
        cr_expect(strstr(strads_error_text(), cases[c].sentence),
                  "case %zu: %s", c, strads_error_text());
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

/* ---- from memory --------------------------------------------------------- */

static const lasso_recipe small = {.rows = 30,
                                   .cols = 5,
                                   .seed = 6,
                                   .noise = .5};

Test(glm_weights, from_memory_are_those_of_a_file)
{
    lasso_design d = lasso_design_random(&small);
    strads_glm_options o = {.lambda_ratio = .1,
                            .intercept = true,
                            .weights = path};
    double *weight = draw_weights(&d);
    linear_fit file = glm_design_fit(&d, &o, NULL);

    o.weights = NULL;
    o.row_weight = weight;
    linear_fit memory = glm_design_fit(&d, &o, NULL);
    cr_expect_arr_eq(file.w, memory.w, d.cols * sizeof(double));
    weight[7] = NAN;
    linear_fit bad = glm_design_fit(&d, &o, NULL);
    cr_expect_eq(bad.err, STRADS_EINVAL);
    expect_says("weight of row 8 is");
    linear_fit_free(&file);
    linear_fit_free(&memory);
    linear_fit_free(&bad);
    free(weight);
    lasso_design_free(&d);
}

/* Runs glm on the design, rows weighed by its options or by the data. */
static strads_result *weighed(const lasso_design *d, uint32_t partitions,
                              const double *of_options, const double *of_data)
{
    const strads_glm_options o = {.lambda_ratio = .1,
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
    expect_ok(strads_run(&strads_program_glm, &o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

Test(glm_weights, of_the_data_are_those_of_the_options)
{
    lasso_design d = lasso_design_random(&small);
    double *weight = draw_weights(&d);

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
    free(weight);
    lasso_design_free(&d);
}

Test(glm_weights, that_are_none_leave_the_data_as_they_are)
{
    lasso_design d = lasso_design_random(&small);
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
