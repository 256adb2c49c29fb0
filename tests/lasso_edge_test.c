/* Data that a textbook does not mention, and options that contradict each
 * other: the first train as one would expect, the second are refused. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/lasso_design.h"

static const strads_lasso_options with_intercept = {.lambda_ratio = .1,
                                                    .intercept = true};
static const strads_lasso_options without = {.lambda_ratio = .1};

static linear_fit fit_or_fail(const lasso_design *design,
                              const strads_lasso_options *options)
{
    linear_fit fit = lasso_design_fit(design, options, NULL);

    expect_ok(fit.err);
    return fit;
}

static void expect_zero(const lasso_design *design,
                        const strads_lasso_options *options)
{
    linear_fit fit = fit_or_fail(design, options);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED);
    cr_expect_eq(fit.nonzeros, 0);
    cr_expect_eq(fit.gap, 0);
    linear_fit_free(&fit);
}

static void expect_optimal(const lasso_design *design,
                           const strads_lasso_options *options)
{
    linear_fit fit = fit_or_fail(design, options);
    const double violation = lasso_violation(design, options, &fit);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(violation, 1e-4, "violated by %g lambda", violation);
    linear_fit_free(&fit);
}

Test(lasso_edge, no_signal_gives_no_coefficients)
{
    lasso_design d = lasso_design_zero(6, 4);

    expect_zero(&d, &without);
    expect_zero(&d, &with_intercept);
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = (double)i;
    expect_zero(&d, &without);
    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 1)[i] = 1. + (double)(i % 2);
        d.y[i] = 0;
    }
    expect_zero(&d, &without);
    lasso_design_free(&d);
}

Test(lasso_edge, a_constant_label_is_all_intercept)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = 30, .cols = 9, .seed = 2, .density = 1});

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 1957.3;
    linear_fit fit = fit_or_fail(&d, &with_intercept);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_float_eq(fit.intercept, 1957.3, 1e-9);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(lasso_edge, one_row_or_one_column_is_enough)
{
    lasso_design row = lasso_design_zero(1, 3);

    row.y[0] = 2;
    lasso_design_col(&row, 1)[0] = 4;
    lasso_design_col(&row, 2)[0] = 1;
    expect_optimal(&row, &without);
    linear_fit fit = fit_or_fail(&row, &with_intercept);
    cr_expect_eq(fit.nonzeros, 0);
    cr_expect_float_eq(fit.intercept, 2, 1e-12);
    linear_fit_free(&fit);
    lasso_design_free(&row);
}

Test(lasso_edge, more_partitions_than_rows_leave_some_empty)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 5, .cols = 12, .seed = 9, .density = 1, .noise = .1});
    const strads_engine_options engine = {.workers = 3, .partitions = 11};
    linear_fit fit = lasso_design_fit(&d, &with_intercept, &engine);

    expect_ok(fit.err);
    cr_expect_lt(lasso_violation(&d, &with_intercept, &fit), 1e-4);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(lasso_edge, empty_and_constant_columns_never_enter)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 40,
                                                         .cols = 10,
                                                         .seed = 4,
                                                         .density = 1,
                                                         .noise = .2,
                                                         .offset = 1});

    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 0)[i] = 0;
        lasso_design_col(&d, 7)[i] = .1;
    }
    linear_fit fit = fit_or_fail(&d, &with_intercept);
    cr_expect_eq(fit.w[0], 0);
    cr_expect_eq(fit.w[7], 0);
    linear_fit_free(&fit);
    expect_optimal(&d, &with_intercept);
    expect_optimal(&d, &(strads_lasso_options){.lambda_ratio = .1,
                                               .standardize = true});
    lasso_design_free(&d);
}

Test(lasso_edge, duplicate_columns_share_what_one_would_have)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 40, .cols = 12, .seed = 6, .density = 1, .noise = .2});

    for (uint64_t j = 6; j < 12; j++)
        memcpy(lasso_design_col(&d, j), lasso_design_col(&d, j - 6),
               d.rows * sizeof(double));
    expect_optimal(&d, &without);
    expect_optimal(&d, &with_intercept);
    lasso_design_free(&d);
}

Test(lasso_edge, columns_of_any_scale_live_side_by_side)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 50, .cols = 20, .seed = 3, .density = 1, .noise = .2});

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] *= j % 2 ? 1e8 : 1e-8;
    expect_optimal(&d, &(strads_lasso_options){.lambda_ratio = .1,
                                               .standardize = true});
    expect_optimal(&d, &without);
    lasso_design_free(&d);
}

Test(lasso_edge, a_label_far_from_zero_costs_an_intercept_no_digits)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 60, .cols = 25, .seed = 12, .density = 1, .noise = .3});
    linear_fit near = fit_or_fail(&d, &with_intercept);

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] += 1e8;
    linear_fit far = fit_or_fail(&d, &with_intercept);
    cr_expect_eq(far.end, STRADS_END_CONVERGED, "gap %g", far.gap);
    cr_expect_lt(lasso_distance(&d, near.w, far.w), 1e-6);
    cr_expect_float_eq(far.intercept, near.intercept + 1e8, 1e-5);
    linear_fit_free(&near);
    linear_fit_free(&far);
    lasso_design_free(&d);
}

Test(lasso_edge, a_tolerance_beyond_the_arithmetic_still_ends)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 30, .cols = 40, .seed = 21, .density = 1, .noise = .3});
    const strads_engine_options engine = {.workers = 1, .tolerance = 1e-30};
    linear_fit fit = lasso_design_fit(&d, &without, &engine);

    expect_ok(fit.err);
    cr_expect_neq(fit.end, STRADS_END_ROUNDS);
    cr_expect_lt(fit.gap, 1e-10);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* Means so large that little is left of the pairs once they are centred: what
 * is gained within the set is noise, and P goes up and down from scan to scan.
 */
Test(lasso_edge, gains_that_are_all_rounding_still_end)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 60,
                                                         .cols = 100,
                                                         .seed = 1,
                                                         .density = 1,
                                                         .correlation = .9,
                                                         .noise = .3,
                                                         .offset = 1e4});
    const strads_lasso_options options = {.lambda_ratio = 1e-6,
                                          .intercept = true};
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-30,
                                          .max_rounds = 200000};
    linear_fit fit = lasso_design_fit(&d, &options, &engine);

    expect_ok(fit.err);
    cr_expect_neq(fit.end, STRADS_END_ROUNDS, "gap %g", fit.gap);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* To a tolerance that their arithmetic allows. */
static void expect_nearly(const lasso_design *design,
                          const strads_lasso_options *options)
{
    const strads_engine_options engine = {.workers = 2, .tolerance = 1e-7};
    linear_fit fit = lasso_design_fit(design, options, &engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(lasso_violation(design, options, &fit), 1e-2);
    const double value = lasso_value(design, options, &fit);
    cr_expect_float_eq(value, fit.objective, 1e-7 * value);
    linear_fit_free(&fit);
}

/* Pairs of columns far from 0 have few digits left, which a scan finds: then the
 * set is solved by its columns. */
Test(lasso_edge, columns_far_from_0_are_solved_though_their_pairs_are_not)
{
    static const double offsets[] = {1e2, 1e4, 1e5};

    for (size_t k = 0; k < sizeof(offsets) / sizeof(offsets[0]); k++) {
        lasso_design d =
            lasso_design_random(&(lasso_recipe){.rows = 300,
                                                .cols = 30,
                                                .seed = 31,
                                                .density = 1,
                                                .correlation = .5,
                                                .noise = .5,
                                                .offset = offsets[k]});
        expect_nearly(&d, &with_intercept);
        lasso_design_free(&d);
    }
}

/* Small sets of these columns are solved by pairs, larger ones by themselves. */
Test(lasso_edge, a_set_may_outgrow_its_pairs)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 200,
                                                         .cols = 300,
                                                         .seed = 32,
                                                         .density = 1,
                                                         .correlation = .3,
                                                         .noise = .5});

    for (int intercept = 0; intercept < 2; intercept++)
        expect_nearly(&d, &(strads_lasso_options){.lambda_ratio = 1e-3,
                                                  .intercept = intercept});
    lasso_design_free(&d);
}

/* All columns correlate with all others by `rho`, and most of them are in the
 * support at so small a lambda. */
static void expect_few_rounds(double rho, double ratio)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 500, .cols = 300, .seed = 1, .density = 1, .noise = .3});
    lasso_design common = lasso_design_random(
        &(lasso_recipe){.rows = 500, .cols = 1, .seed = 2, .density = 1});
    const strads_lasso_options options = {.lambda_ratio = ratio};
    const strads_engine_options engine = {.workers = 1,
                                          .max_rounds = 1500,
                                          .tolerance = 1e-8};

    for (uint64_t i = 0; i < d.rows; i++)
        for (uint64_t j = 0; j < d.cols; j++) {
            double *x = &lasso_design_col(&d, j)[i];
            *x = sqrt(1 - rho) * *x + sqrt(rho) * common.x[i];
        }
    linear_fit fit = lasso_design_fit(&d, &options, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "rho %g: gap %g", rho, fit.gap);
    cr_expect_gt(fit.nonzeros, 100);
    cr_expect_lt(lasso_violation(&d, &options, &fit), .1);
    linear_fit_free(&fit);
    lasso_design_free(&common);
    lasso_design_free(&d);
}

Test(lasso_edge, a_large_support_of_correlated_columns_is_solved_for)
{
    expect_few_rounds(.9, 1e-4);
    expect_few_rounds(.9, 1e-5);
    expect_few_rounds(.999, 1e-5);
}

/* Updates at the last report, and the most between two. */
typedef struct strides {
    uint64_t last, longest;
} strides;

static void note_stride(void *arg, const strads_progress *progress)
{
    strides *s = arg;
    const uint64_t stride = progress->updates_policy - s->last;

    s->longest = stride > s->longest ? stride : s->longest;
    s->last = progress->updates_policy;
}

/* Columns that all but depend, in blocks through the data: the set takes
 * thousands of passes to be solved, and nobody is left in the dark so long. */
Test(lasso_edge, a_scan_is_never_far_away)
{
    enum { COLS = 1800, PASSES = 110 };
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 300,
                                                         .cols = COLS,
                                                         .seed = 2,
                                                         .density = .03,
                                                         .correlation = .9});
    uint32_t all[COLS];
    double start[COLS];
    strides s = {0};
    for (uint32_t j = 0; j < COLS; j++) {
        all[j] = j;
        start[j] = 1e-3;
    }
    const strads_lasso_options options = {.lambda_ratio = 1e-6};
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .depth = 1,
                                          .max_rounds = 600,
                                          .n_start = COLS,
                                          .start_param = all,
                                          .start_value = start,
                                          .progress = note_stride,
                                          .progress_arg = &s};
    linear_fit fit = lasso_design_fit(&d, &options, &engine);

    expect_ok(fit.err);
    cr_assert_gt(fit.updates_policy, PASSES * COLS);
    cr_expect_lt(s.longest, PASSES * COLS, "%llu updates without a scan",
                 (unsigned long long)s.longest);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(lasso_edge, options_that_contradict_are_refused)
{
    const strads_lasso_options bad[] = {{.lambda = -1},
                                        {.lambda = NAN},
                                        {.lambda_ratio = NAN},
                                        {.lambda = .1, .lambda_ratio = .1},
                                        {.l1_ratio = 1.5},
                                        {.l1_ratio = 1e-9},
                                        {.lambda = INFINITY}};
    lasso_design d = lasso_design_zero(3, 2);

    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        linear_fit fit = lasso_design_fit(&d, &bad[k], NULL);
        cr_expect_eq(fit.err, STRADS_EINVAL, "case %zu", k);
        cr_expect_neq(strads_error_text()[0], '\0');
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(lasso_edge, the_table_refuses_what_the_struct_may_not_hold)
{
    strads_lasso_options o = {0};
    const strads_option *table = strads_program_lasso.options;
    const struct {
        const char *name, *text;
        strads_err err;
    } cases[] = {{"lambda", "-0.1", STRADS_EINVAL},
                 {"lambda", "nan", STRADS_EINVAL},
                 {"lambda", "0.5", STRADS_OK},
                 {"lambda-ratio", "x", STRADS_EINVAL},
                 {"l1-ratio", "0", STRADS_EINVAL},
                 {"l1-ratio", "1.1", STRADS_EINVAL},
                 {"l1-ratio", "0.5", STRADS_OK}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        cr_expect_eq(strads_option_set(strads_option_find(table, cases[k].name),
                                       &o, cases[k].text),
                     cases[k].err, "%s=%s", cases[k].name, cases[k].text);
    cr_expect_eq(o.lambda, .5);
    cr_expect_eq(o.l1_ratio, .5);
}

Test(lasso_edge, rows_without_labels_are_refused)
{
    const uint64_t start[] = {0, 1};
    const uint32_t index[] = {0};
    const double value[] = {1};
    const strads_columns columns = {
        .rows = 2, .cols = 1, .start = start, .index = index, .value = value};
    strads_data *data = NULL;
    strads_result *result = NULL;

    cr_assert_eq(strads_data_from_columns(&columns, NULL, &data), STRADS_OK);
    cr_expect_eq(strads_run(&strads_program_lasso, NULL, data, NULL, &result),
                 STRADS_EINVAL);
    cr_expect_null(result);
    strads_data_free(data);
}
