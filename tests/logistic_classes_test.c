/* More than two classes: each against the rest is a problem of two classes, and
 * must end where that problem ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/logistic_design.h"
#include "tests/toy_data.h"

enum { COLS = 30, CLASSES = LOGISTIC_DESIGN_CLASSES };

static const double *const label = logistic_design_label;

/* Trains from `start` [COLS x CLASSES], or from 0 (NULL), and hands out the
 * numbers [cols + intercept] x CLASSES. */
static strads_result *train_from(const lasso_design *d,
                                 const strads_logistic_options *options,
                                 uint32_t workers, const double *start)
{
    uint32_t param[COLS];
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = 3,
                                          .deterministic = true,
                                          .tolerance = 1e-10,
                                          .n_start = start ? COLS : 0,
                                          .start_param = param,
                                          .start_value = start};
    strads_data *data = NULL;
    strads_result *result = NULL;

    for (uint32_t j = 0; j < COLS; j++)
        param[j] = j;
    cr_assert_eq(lasso_design_data(d, 3, &data), STRADS_OK);
    expect_ok(
        strads_run(&strads_program_logistic, options, data, &engine, &result));
    strads_data_free(data);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
    return result;
}

static strads_result *train(const lasso_design *d,
                            const strads_logistic_options *options,
                            uint32_t workers)
{
    return train_from(d, options, workers, NULL);
}

/* The part of one class, as if it had been trained alone. */
static linear_fit part_of(const strads_result *result, uint32_t class)
{
    const void *state = strads_result_state(result);
    static double w[COLS];
    uint64_t parameters;
    uint32_t width;
    const double *value = strads_result_values(result, &parameters, &width);

    cr_assert_eq(width, CLASSES);
    for (uint32_t j = 0; j < COLS; j++)
        w[j] = value[j * CLASSES + class];
    return (linear_fit){.w = w,
                        .intercept = strads_glm_intercepts(state)[class],
                        .lambda = strads_glm_resolved(state)->lambda};
}

static void expect_optimum(const lasso_design *d,
                           const strads_logistic_options *options,
                           strads_result *result)
{
    const strads_progress *last = strads_result_progress(result);
    double sum = 0;

    for (uint32_t k = 0; k < CLASSES; k++) {
        const logistic_view view = {.positive = label[k]};
        const linear_fit part = part_of(result, k);
        cr_expect_lt(logistic_violation(d, &view, options, &part), 1e-3,
                     "class %u", k);
        sum += logistic_value(d, &view, options, &part);
    }
    cr_expect_lt(fabs(sum - last->objective), 1e-9 * sum, "%.12g for %.12g",
                 last->objective, sum);
    cr_expect_leq(last->gap, 1e-10);
    strads_result_free(result);
}

static void expect_optimal(const lasso_design *d,
                           const strads_logistic_options *options)
{
    expect_optimum(d, options, train(d, options, 2));
}

Test(logistic_classes, each_against_the_rest_is_optimal)
{
    const strads_logistic_options cases[] = {
        {.lambda_ratio = .05, .l1_ratio = 1},
        {.lambda_ratio = .05, .l1_ratio = 1, .intercept = true},
        {.lambda = .01, .l1_ratio = .5, .intercept = true, .standardize = true},
        {.c = 1, .l1_ratio = 0, .intercept = true},
    };
    lasso_design d = logistic_design_classes(COLS, 1);

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        expect_optimal(&d, &cases[k]);
    lasso_design_free(&d);
}

/* From the solution it takes few rounds, and from anywhere it is the same. */
Test(logistic_classes, a_start_is_of_all_classes)
{
    const strads_logistic_options cases[] = {
        {.lambda_ratio = .05, .l1_ratio = 1},
        {.lambda = .01, .l1_ratio = .5, .intercept = true},
        {.c = 1, .l1_ratio = 0, .intercept = true}};
    lasso_design d = logistic_design_classes(COLS, 1);
    double far[COLS * CLASSES];

    for (int k = 0; k < COLS * CLASSES; k++)
        far[k] = (double)(k % 7) / 3 - 1;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        uint64_t parameters;
        uint32_t width;
        strads_result *cold = train(&d, &cases[c], 1);
        const double *w = strads_result_values(cold, &parameters, &width);
        strads_result *warm = train_from(&d, &cases[c], 2, w);
        cr_expect_lt(strads_result_progress(warm)->round,
                     strads_result_progress(cold)->round);
        expect_optimum(&d, &cases[c], warm);
        expect_optimum(&d, &cases[c], train_from(&d, &cases[c], 2, far));
        strads_result_free(cold);
    }
    lasso_design_free(&d);
}

Test(logistic_classes, classes_are_in_the_order_that_was_asked_for)
{
    const strads_logistic_options options = {.lambda = .02,
                                             .l1_ratio = 1,
                                             .classes = "10,3,0,-2"};
    const strads_logistic_options plain = {.lambda = .02, .l1_ratio = 1};
    lasso_design d = logistic_design_classes(COLS, 1);
    strads_result *a = train(&d, &options, 1), *b = train(&d, &plain, 1);

    for (uint32_t k = 0; k < CLASSES; k++) {
        double w[COLS];
        memcpy(w, part_of(a, k).w, sizeof(w));
        cr_expect_lt(lasso_distance(&d, w, part_of(b, CLASSES - 1 - k).w),
                     1e-4);
    }
    strads_result_free(a);
    strads_result_free(b);
    lasso_design_free(&d);
}

Test(logistic_classes, the_bits_are_the_same_on_any_workers)
{
    const strads_logistic_options options = {.lambda_ratio = .1,
                                             .l1_ratio = 1,
                                             .intercept = true};
    lasso_design d = logistic_design_classes(COLS, 1);
    strads_result *a = train(&d, &options, 1), *b = train(&d, &options, 3);
    cr_expect(toy_same_values(a, b));
    strads_result_free(a);
    strads_result_free(b);
    lasso_design_free(&d);
}
