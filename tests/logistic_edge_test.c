/* Data that a textbook does not mention, and options that contradict each
 * other: the first train as one would expect, the second are refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/logistic_design.h"

static const strads_logistic_options with_intercept = {.lambda_ratio = .1,
                                                       .l1_ratio = 1,
                                                       .intercept = true};
static const strads_logistic_options without = {.lambda_ratio = .1,
                                                .l1_ratio = 1};
static const logistic_view plain = {.negative = -1, .positive = 1};

static linear_fit fit_or_fail(const lasso_design *design,
                              const strads_logistic_options *options)
{
    linear_fit fit = logistic_design_fit(design, options, NULL);

    expect_ok(fit.err);
    return fit;
}

static void expect_optimal(const lasso_design *design,
                           const strads_logistic_options *options)
{
    linear_fit fit = fit_or_fail(design, options);
    const double violation = logistic_violation(design, &plain, options, &fit);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(violation, 1e-3, "violated by %g lambda", violation);
    linear_fit_free(&fit);
}

static void expect_refused(const lasso_design *design,
                           const strads_logistic_options *options,
                           strads_err err, const char *sentence)
{
    linear_fit fit = logistic_design_fit(design, options, NULL);

    cr_expect_eq(fit.err, err, "%s", sentence);
    cr_expect(strstr(strads_error_text(), sentence) != NULL,
              "\"%s\" does not say \"%s\"", strads_error_text(), sentence);
    linear_fit_free(&fit);
}

static lasso_design small(uint64_t seed)
{
    return logistic_design_random(&(lasso_recipe){.rows = 40,
                                                  .cols = 12,
                                                  .seed = seed,
                                                  .density = 1,
                                                  .noise = 1,
                                                  .offset = 1});
}

Test(logistic_edge, labels_need_not_be_plus_and_minus_one)
{
    lasso_design d = small(3);
    linear_fit first = fit_or_fail(&d, &with_intercept);

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = d.y[i] > 0 ? 7 : 2.5;
    linear_fit same = fit_or_fail(&d, &with_intercept);
    cr_expect_lt(lasso_distance(&d, first.w, same.w), 1e-12);
    strads_logistic_options turned = with_intercept;
    turned.classes = "7,2.5";
    linear_fit other = fit_or_fail(&d, &turned);
    for (uint64_t j = 0; j < d.cols; j++)
        other.w[j] = -other.w[j];
    cr_expect_lt(lasso_distance(&d, first.w, other.w), 1e-4);
    cr_expect_float_eq(other.intercept, -first.intercept, 1e-4);
    linear_fit_free(&first);
    linear_fit_free(&same);
    linear_fit_free(&other);
    lasso_design_free(&d);
}

Test(logistic_edge, what_are_no_classes_is_refused)
{
    lasso_design d = logistic_design_random(&(lasso_recipe){
        .rows = 80, .cols = 3, .seed = 4, .density = 1, .noise = 1});
    strads_logistic_options o = without;

    o.classes = "1,2";
    expect_refused(&d, &o, STRADS_EINVAL, "there are rows with the label -1");
    o.classes = "-1,0,1";
    expect_refused(&d, &o, STRADS_EFORMAT, "there is no row with the label 0");
    o.classes = "1";
    expect_refused(&d, &o, STRADS_EINVAL, "expected two labels or more");
    o.classes = "1,-1,1";
    expect_refused(&d, &o, STRADS_EINVAL, "2 to 10000 different labels");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = (double)i + .5;
    expect_refused(&d, &without, STRADS_EFORMAT, "than 64 different labels");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 4;
    expect_refused(&d, &without, STRADS_EFORMAT, "all rows have the label 4");
    lasso_design_free(&d);
    d = lasso_design_zero(1, 3);
    expect_refused(&d, &without, STRADS_EFORMAT, "all rows have the label 0");
    lasso_design_free(&d);
}

Test(logistic_edge, two_rows_are_enough)
{
    lasso_design d = lasso_design_zero(2, 3);

    d.y[0] = 1;
    lasso_design_col(&d, 1)[0] = 4;
    lasso_design_col(&d, 2)[0] = 1;
    const logistic_view view = {.negative = 0, .positive = 1};
    linear_fit fit = fit_or_fail(&d, &without);
    cr_expect_lt(logistic_violation(&d, &view, &without, &fit), 1e-3);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_edge, one_column_is_enough)
{
    lasso_design d = logistic_design_random(&(lasso_recipe){
        .rows = 30, .cols = 1, .seed = 5, .density = 1, .noise = 1});
    strads_logistic_options o = with_intercept;

    expect_optimal(&d, &o);
    expect_optimal(&d, &without);
    o.standardize = true;
    o.l1_ratio = .5;
    expect_optimal(&d, &o);
    o = (strads_logistic_options){.c = 1, .intercept = true};
    expect_optimal(&d, &o);
    lasso_design_free(&d);
}

Test(logistic_edge, no_signal_gives_no_coefficients)
{
    lasso_design d = lasso_design_zero(6, 4);

    d.y[1] = 1;
    for (int k = 0; k < 2; k++) {
        linear_fit fit = fit_or_fail(&d, k ? &with_intercept : &without);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_eq(fit.nonzeros, 0);
        cr_expect_float_eq(fit.intercept, k ? log(.2) : 0, 1e-12);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(logistic_edge, separable_classes_have_finite_coefficients)
{
    const strads_logistic_options weak = {.lambda = 1e-6,
                                          .l1_ratio = 1,
                                          .intercept = true};
    lasso_design d = small(5);

    for (uint64_t i = 0; i < d.rows; i++) /* column 0 tells all */
        lasso_design_col(&d, 0)[i] = 3 * d.y[i];
    expect_optimal(&d, &without);
    expect_optimal(&d, &weak);
    lasso_design_free(&d);
}

Test(logistic_edge, empty_and_constant_columns_never_enter)
{
    lasso_design d = small(6);

    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 0)[i] = 0;
        lasso_design_col(&d, 7)[i] = .1;
    }
    linear_fit fit = fit_or_fail(&d, &with_intercept);
    cr_expect_eq(fit.w[0], 0);
    cr_expect_eq(fit.w[7], 0);
    linear_fit_free(&fit);
    expect_optimal(&d, &with_intercept);
    expect_optimal(&d, &(strads_logistic_options){.lambda_ratio = .1,
                                                  .l1_ratio = 1,
                                                  .standardize = true});
    /* ... nor does what a start value says of them stay */
    const uint32_t param[] = {0, 7};
    const double value[] = {1, -2};
    const strads_engine_options engine = {.workers = 1,
                                          .n_start = 2,
                                          .start_param = param,
                                          .start_value = value};
    fit = logistic_design_fit(&d, &with_intercept, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.w[0], 0);
    cr_expect_eq(fit.w[7], 0);
    cr_expect_lt(logistic_violation(&d, &plain, &with_intercept, &fit), 1e-3);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_edge, duplicate_columns_share_what_one_would_have)
{
    lasso_design d = small(7);

    for (uint64_t j = 6; j < 12; j++)
        memcpy(lasso_design_col(&d, j), lasso_design_col(&d, j - 6),
               d.rows * sizeof(double));
    expect_optimal(&d, &without);
    expect_optimal(&d, &with_intercept);
    lasso_design_free(&d);
}

/* On the way multiples of one column all have coefficients, and then the model
 * has no minimum on the support. */
Test(logistic_edge, a_large_support_of_dependent_columns_is_solved)
{
    const strads_logistic_options variants[] = {
        {.lambda_ratio = .02, .l1_ratio = 1},
        {.lambda_ratio = .005, .l1_ratio = 1, .intercept = true},
        {.lambda_ratio = .005, .l1_ratio = .9}};
    lasso_design d = logistic_design_random(&(lasso_recipe){.rows = 300,
                                                            .cols = 360,
                                                            .seed = 12,
                                                            .density = .1,
                                                            .correlation = .6,
                                                            .noise = 1});

    for (uint64_t j = 0; j + 3 <= d.cols; j += 3)
        for (uint64_t i = 0; i < d.rows; i++) {
            lasso_design_col(&d, j + 1)[i] = 1.01 * lasso_design_col(&d, j)[i];
            lasso_design_col(&d, j + 2)[i] += lasso_design_col(&d, j)[i];
        }
    for (size_t k = 0; k < sizeof(variants) / sizeof(*variants); k++) {
        linear_fit fit = fit_or_fail(&d, &variants[k]);
        cr_expect_gt(fit.nonzeros, 60, "%llu nonzeros",
                     (unsigned long long)fit.nonzeros);
        linear_fit_free(&fit);
        expect_optimal(&d, &variants[k]);
    }
    lasso_design_free(&d);
}

Test(logistic_edge, columns_of_any_scale_live_side_by_side)
{
    lasso_design d = small(8);

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] *= j % 2 ? 1e8 : 1e-8;
    expect_optimal(&d, &(strads_logistic_options){.lambda_ratio = .1,
                                                  .l1_ratio = 1,
                                                  .standardize = true,
                                                  .intercept = true});
    expect_optimal(&d, &without);
    lasso_design_free(&d);
}

/* Newton's method on all columns, and descent where there are too many. */
Test(logistic_edge, an_l2_penalty_bears_what_an_l1_penalty_does)
{
    const strads_logistic_options ridge[] = {
        {.c = 1, .l1_ratio = 0},
        {.c = 1e4, .l1_ratio = 0, .intercept = true, .standardize = true}};
    for (uint64_t cols = 12; cols <= 60; cols += 48) {
        lasso_design d = logistic_design_random(&(lasso_recipe){
            .rows = 40, .cols = cols, .seed = 5, .density = 1, .noise = 1});
        for (uint64_t i = 0; i < d.rows; i++) {
            lasso_design_col(&d, 1)[i] = 0;
            lasso_design_col(&d, 2)[i] = lasso_design_col(&d, 3)[i];
            lasso_design_col(&d, 4)[i] = 3 * d.y[i];
            lasso_design_col(&d, 5)[i] *= 1e-8;
            lasso_design_col(&d, 6)[i] += 100;
        }
        expect_optimal(&d, &ridge[0]);
        expect_optimal(&d, &ridge[1]);
        lasso_design_free(&d);
    }
}

Test(logistic_edge, columns_far_from_zero_cost_an_intercept_no_digits)
{
    lasso_design d = small(9);

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] += 1e3;
    expect_optimal(&d, &with_intercept);
    lasso_design_free(&d);
}

Test(logistic_edge, more_partitions_than_rows_leave_some_empty)
{
    lasso_design d = logistic_design_random(&(lasso_recipe){
        .rows = 5, .cols = 12, .seed = 9, .density = 1, .noise = .1});
    const strads_engine_options engine = {.workers = 3, .partitions = 11};
    linear_fit fit = logistic_design_fit(&d, &with_intercept, &engine);

    expect_ok(fit.err);
    cr_expect_lt(logistic_violation(&d, &plain, &with_intercept, &fit), 1e-3);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_edge, a_tolerance_beyond_the_arithmetic_still_ends)
{
    lasso_design d = small(10);
    const strads_engine_options engine = {.workers = 1, .tolerance = 1e-30};
    linear_fit fit = logistic_design_fit(&d, &with_intercept, &engine);

    expect_ok(fit.err);
    cr_expect_neq(fit.end, STRADS_END_ROUNDS);
    cr_expect_lt(fit.gap, 1e-10);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_edge, options_that_contradict_are_refused)
{
    const strads_logistic_options bad[] = {
        {.lambda = -1, .l1_ratio = 1},
        {.lambda = NAN, .l1_ratio = 1},
        {.lambda = .1, .lambda_ratio = .1, .l1_ratio = 1},
        {.lambda = .1, .c = 1, .l1_ratio = 1},
        {.c = INFINITY, .l1_ratio = 1},
        {.l1_ratio = 1.5},
        {.l1_ratio = 1e-9},
        {.l1_ratio = 1, .class_weight = "heavy"},
        {.l1_ratio = 1, .class_weight = "1=2,"},
        {.l1_ratio = 1, .class_weight = "1=0"},
        {.l1_ratio = 1, .class_weight = "3=1"}};
    lasso_design d = small(11);

    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        linear_fit fit = logistic_design_fit(&d, &bad[k], NULL);
        cr_expect_eq(fit.err, STRADS_EINVAL, "case %zu", k);
        cr_expect_neq(strads_error_text()[0], '\0');
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

static void expect_weights_refused(const lasso_design *d, const char *text,
                                   const char *sentence)
{
    const char *path = "bad-weights.txt";
    strads_logistic_options o = without;
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    o.weights = path;
    expect_refused(d, &o, STRADS_EFORMAT, sentence);
    remove(path);
}

Test(logistic_edge, a_file_of_weights_that_does_not_fit_is_refused)
{
    lasso_design d = lasso_design_zero(3, 2);
    strads_logistic_options o = without;

    d.y[0] = 1;
    expect_weights_refused(&d, "1\n2\n", "has 2 lines and the data 3 rows");
    expect_weights_refused(&d, "1\n2\n1\n1\n", "more lines than the data");
    expect_weights_refused(&d, "1\n-2\n1\n", "bad-weights.txt:2: found \"-2\"");
    expect_weights_refused(&d, "1\nx\n1\n", "bad-weights.txt:2: found \"x\"");
    expect_weights_refused(&d, "0\n2\n1\n",
                           "no row has a weight above 0 with the label 1");
    o.weights = "no-such-file";
    expect_refused(&d, &o, STRADS_EINVAL, "no-such-file: cannot be opened");
    lasso_design_free(&d);
}
