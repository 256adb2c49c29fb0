/* Data that a textbook does not mention, beyond the shapes of glm_shapes_test.c
 * and linear_edge_test.c, and options that contradict each other: the first
 * train as one would expect, the second are refused. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/sample.h"

/* A loss with an intercept and without, and by how much fits may miss the
 * conditions. */
typedef struct loss_case {
    const char *loss;
    double miss;
} loss_case;

static const loss_case losses[] = {{"squared", 1e-4}, {"logistic", 1e-3}};
enum { LOSSES = sizeof losses / sizeof losses[0] };

static strads_glm_options with(const loss_case *l, bool intercept)
{
    return (strads_glm_options){.loss = l->loss,
                                .lambda_ratio = .1,
                                .intercept = intercept};
}

/* 40 rows and 12 columns. */
static lasso_design small(const loss_case *l, uint64_t seed, double offset)
{
    return glm_design_random(&(lasso_recipe){.rows = 40,
                                             .cols = 12,
                                             .seed = seed,
                                             .noise = 1,
                                             .offset = offset},
                             l->loss);
}

static linear_fit fit_or_fail(const lasso_design *design,
                              const strads_glm_options *options,
                              const strads_engine_options *engine)
{
    linear_fit fit = glm_design_fit(design, options, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", options->loss,
                 strads_error_text());
    return fit;
}

static void expect_optimal(const loss_case *l, const lasso_design *design,
                           strads_glm_options options)
{
    options.loss = l->loss;
    linear_fit fit = fit_or_fail(design, &options, NULL);
    const double miss = glm_miss(design, &options, &fit);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: gap %g", l->loss, fit.gap);
    cr_expect_lt(miss, l->miss, "%s: violated by %g lambda", l->loss, miss);
    linear_fit_free(&fit);
}

static void expect_refused(const lasso_design *design, strads_glm_options o,
                           strads_err err, const char *sentence)
{
    linear_fit fit = glm_design_fit(design, &o, NULL);

    cr_expect_eq(fit.err, err, "%s", sentence);
    cr_expect(strstr(strads_error_text(), sentence) != NULL,
              "\"%s\" does not say \"%s\"", strads_error_text(), sentence);
    linear_fit_free(&fit);
}

/* ---- designs ------------------------------------------------------------- */

static void expect_zero(const lasso_design *d, const strads_glm_options *o,
                        double intercept)
{
    linear_fit fit = fit_or_fail(d, o, NULL);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_eq(fit.nonzeros, 0);
    cr_expect_leq(fit.gap, strads_glm_classifies(o->loss) ? 1e-10 : 0);
    cr_expect_float_eq(fit.intercept, intercept, 1e-12);
    linear_fit_free(&fit);
}

Test(glm_edge, no_signal_gives_no_coefficients)
{
    lasso_design d = lasso_design_zero(6, 4);

    for (int intercept = 0; intercept < 2; intercept++) {
        const strads_glm_options squared = with(&losses[0], intercept);
        const strads_glm_options logistic = with(&losses[1], intercept);
        for (uint64_t i = 0; i < d.rows; i++)
            d.y[i] = i == 1;
        expect_zero(&d, &logistic, intercept ? log(.2) : 0);
        for (uint64_t i = 0; i < d.rows; i++)
            d.y[i] = (double)i;
        expect_zero(&d, &squared, intercept ? 2.5 : 0);
    }
    const strads_glm_options without = with(&losses[0], false);
    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 1)[i] = 1. + (double)(i % 2);
        d.y[i] = 0;
    }
    expect_zero(&d, &without, 0);
    lasso_design_free(&d);
}

/* Start values for them are dropped, too. */
Test(glm_edge, empty_and_constant_columns_never_enter)
{
    const uint32_t param[] = {0, 7};
    const double value[] = {1, -2};
    const strads_engine_options engines[] = {{.workers = 1},
                                             {.workers = 1,
                                              .n_start = 2,
                                              .start_param = param,
                                              .start_value = value}};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        strads_glm_options o = with(l, true);
        lasso_design d = small(l, 4, 1);
        for (uint64_t i = 0; i < d.rows; i++) {
            lasso_design_col(&d, 0)[i] = 0;
            lasso_design_col(&d, 7)[i] = .1;
        }
        for (int k = 0; k < 2; k++) {
            linear_fit fit = fit_or_fail(&d, &o, &engines[k]);
            cr_expect_eq(fit.w[0], 0);
            cr_expect_eq(fit.w[7], 0);
            cr_expect_lt(glm_miss(&d, &o, &fit), l->miss);
            linear_fit_free(&fit);
        }
        o.intercept = false;
        o.standardize = true;
        expect_optimal(l, &d, o);
        lasso_design_free(&d);
    }
}

/* Column 0 separates the classes: a weak penalty leaves its coefficient
 * finite. */
Test(glm_edge, separable_classes_have_finite_coefficients)
{
    const loss_case *logistic = &losses[1];
    lasso_design d = small(logistic, 5, 0);

    for (uint64_t i = 0; i < d.rows; i++)
        lasso_design_col(&d, 0)[i] = d.y[i] > 0 ? 3 : -3;
    expect_optimal(logistic, &d,
                   (strads_glm_options){.lambda = 1e-6, .intercept = true});
    lasso_design_free(&d);
}

/* Columns that differ by `apart` have the minimum of their differences.
 * Newton's steps leave out what nearly depends on others, and its slope shows
 * that. */
Test(glm_edge, columns_that_nearly_repeat_others_are_not_certified_too_early)
{
    static const char *const names[] = {"squared", "logistic", "poisson",
                                        "squared-hinge", "huber"};
    int converged = 0, runs = 0, drawn = 0;

    for (uint64_t seed = 1; seed <= 8; seed++)
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
            for (double apart = 1e-2; apart > 1e-9; apart /= 10) {
                if (!sample_takes_next(2))
                    continue;
                const strads_glm_options o = {.loss = names[n],
                                              .penalty = "none",
                                              .intercept = seed % 2};
                lasso_design d = glm_design_random(&(lasso_recipe){.rows = 60,
                                                                   .cols = 4,
                                                                   .seed = seed,
                                                                   .noise = 2},
                                                   names[n]);
                linear_fit plain =
                    linear_fit_run(&d, &strads_program_glm, &o, 1e-9, NULL);
                for (uint64_t j = 1; j < d.cols; j++)
                    for (uint64_t i = 0; i < d.rows; i++)
                        lasso_design_col(&d, j)[i] =
                            lasso_design_col(&d, 0)[i] +
                            apart * lasso_design_col(&d, j)[i];
                linear_fit fit =
                    linear_fit_run(&d, &strads_program_glm, &o, 1e-6, NULL);
                expect_ok(plain.err);
                expect_ok(fit.err);
                drawn += apart > 1e-3;
                if (plain.end == STRADS_END_CONVERGED) {
                    const bool over = fit.end == STRADS_END_CONVERGED;
                    runs += apart > 1e-3;
                    converged += over && apart > 1e-3;
                    cr_expect(!over ||
                                  fit.objective <= plain.objective * (1 + 2e-6),
                              "%s, apart by %g: %.9g for %.9g, gap %g",
                              names[n], apart, fit.objective, plain.objective,
                              fit.gap);
                }
                linear_fit_free(&plain);
                linear_fit_free(&fit);
                lasso_design_free(&d);
            }
    cr_expect_eq(converged, runs);
    cr_expect_geq(4 * runs, 3 * drawn, "%d of %d", runs, drawn);
    cr_expect_gt(runs, 0);
}

/* Newton's method on all columns, and descent where there are too many. */
Test(glm_edge, an_l2_penalty_accepts_the_same_columns_as_an_l1_penalty)
{
    const strads_glm_options ridge[] = {
        {.penalty = "ridge", .c = 1},
        {.penalty = "ridge", .c = 1e4, .intercept = true, .standardize = true}};
    for (uint64_t cols = 12; cols <= 60; cols += 48) {
        lasso_design d = glm_design_random(
            &(lasso_recipe){.rows = 40, .cols = cols, .seed = 5, .noise = 1},
            "logistic");
        for (uint64_t i = 0; i < d.rows; i++) {
            lasso_design_col(&d, 1)[i] = 0;
            lasso_design_col(&d, 2)[i] = lasso_design_col(&d, 3)[i];
            lasso_design_col(&d, 4)[i] = d.y[i] > 0 ? 3 : -3;
            lasso_design_col(&d, 5)[i] *= 1e-8;
            lasso_design_col(&d, 6)[i] += 100;
        }
        expect_optimal(&losses[1], &d, ridge[0]);
        expect_optimal(&losses[1], &d, ridge[1]);
        lasso_design_free(&d);
    }
}

Test(glm_edge, a_label_far_from_zero_costs_an_intercept_no_digits)
{
    const strads_glm_options o = with(&losses[0], true);
    const strads_engine_options engine = {.workers = 1, .tolerance = 1e-12};
    lasso_design d = small(&losses[0], 12, 0);
    linear_fit near = fit_or_fail(&d, &o, &engine);

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] += 1e8;
    linear_fit far = fit_or_fail(&d, &o, &engine);
    cr_expect_eq(far.end, STRADS_END_CONVERGED, "gap %g", far.gap);
    cr_expect_lt(lasso_distance(&d, near.w, far.w), 1e-6);
    cr_expect_float_eq(far.intercept, near.intercept + 1e8, 1e-5);
    linear_fit_free(&near);
    linear_fit_free(&far);
    lasso_design_free(&d);
}

Test(glm_edge, columns_far_from_zero_cost_an_intercept_no_digits)
{
    lasso_design d = small(&losses[1], 9, 1);

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] += 1e3;
    expect_optimal(&losses[1], &d, with(&losses[1], true));
    lasso_design_free(&d);
}

Test(glm_edge, a_tolerance_beyond_the_arithmetic_still_ends)
{
    const strads_engine_options engine = {.workers = 1, .tolerance = 1e-30};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        const strads_glm_options o = with(l, l == &losses[1]);
        lasso_design d = glm_design_random(
            &(lasso_recipe){.rows = 30, .cols = 40, .seed = 21, .noise = .3},
            l->loss);
        linear_fit fit = fit_or_fail(&d, &o, &engine);
        cr_expect_neq(fit.end, STRADS_END_ROUNDS);
        cr_expect_lt(fit.gap, 1e-10);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

/* Means so large that little is left of the pairs once they are centred: what
 * is gained within the set is noise, and P goes up and down from scan to scan.
 */
Test(glm_edge, gains_that_are_all_rounding_still_end)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 60,
                                                         .cols = 100,
                                                         .seed = 1,
                                                         .correlation = .9,
                                                         .noise = .3,
                                                         .offset = 1e4});
    const strads_glm_options options = {.lambda_ratio = 1e-6,
                                        .intercept = true};
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-30,
                                          .max_rounds = 200000};
    linear_fit fit = glm_design_fit(&d, &options, &engine);

    expect_ok(fit.err);
    cr_expect_neq(fit.end, STRADS_END_ROUNDS, "gap %g", fit.gap);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* To a tolerance that their arithmetic allows. */
static void expect_nearly(const lasso_design *design,
                          const strads_glm_options *options)
{
    const strads_engine_options engine = {.workers = 2, .tolerance = 1e-7};
    linear_fit fit = glm_design_fit(design, options, &engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_lt(glm_miss(design, options, &fit), 1e-2);
    const double value = glm_value(design, options, &fit);
    cr_expect_float_eq(value, fit.objective, 1e-7 * value);
    linear_fit_free(&fit);
}

/* Pairs of columns far from 0 have few digits left, which a scan finds: then
 * the set is solved by its columns. */
Test(glm_edge, columns_far_from_0_are_solved_though_their_pairs_are_not)
{
    static const double offsets[] = {1e2, 1e4, 1e5};

    for (size_t k = 0; k < sizeof(offsets) / sizeof(offsets[0]); k++) {
        lasso_design d =
            lasso_design_random(&(lasso_recipe){.rows = 300,
                                                .cols = 30,
                                                .seed = 31,
                                                .correlation = .5,
                                                .noise = .5,
                                                .offset = offsets[k]});
        const strads_glm_options o = with(&losses[0], true);
        expect_nearly(&d, &o);
        lasso_design_free(&d);
    }
}

/* Small sets of these columns are solved by pairs, larger ones by
 * themselves. */
Test(glm_edge, a_set_may_outgrow_its_pairs)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 200, .cols = 300, .seed = 32, .correlation = .3, .noise = .5});

    for (int intercept = 0; intercept < 2; intercept++)
        expect_nearly(&d, &(strads_glm_options){.lambda_ratio = 1e-3,
                                                .intercept = intercept});
    lasso_design_free(&d);
}

/* All columns correlate with all others by `rho`, and most of them are in the
 * support at so small a lambda. */
static void expect_few_rounds(double rho, double ratio)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = 500, .cols = 300, .seed = 1, .noise = .3});
    lasso_design common =
        lasso_design_random(&(lasso_recipe){.rows = 500, .cols = 1, .seed = 2});
    const strads_glm_options options = {.lambda_ratio = ratio};
    const strads_engine_options engine = {.workers = 1,
                                          .max_rounds = 1500,
                                          .tolerance = 1e-8};

    for (uint64_t i = 0; i < d.rows; i++)
        for (uint64_t j = 0; j < d.cols; j++) {
            double *x = &lasso_design_col(&d, j)[i];
            *x = sqrt(1 - rho) * *x + sqrt(rho) * common.x[i];
        }
    linear_fit fit = glm_design_fit(&d, &options, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "rho %g: gap %g", rho, fit.gap);
    cr_expect_gt(fit.nonzeros, 100);
    cr_expect_lt(glm_miss(&d, &options, &fit), .1);
    linear_fit_free(&fit);
    lasso_design_free(&common);
    lasso_design_free(&d);
}

Test(glm_edge, a_large_support_of_correlated_columns_is_solved_for)
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
    const uint64_t stride = progress->updates_other - s->last;

    s->longest = stride > s->longest ? stride : s->longest;
    s->last = progress->updates_other;
}

/* Columns that all but depend, in blocks through the data: the set takes
 * thousands of passes to be solved, and nobody is left in the dark so long. */
Test(glm_edge, a_scan_is_never_far_away)
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
    const strads_glm_options options = {.lambda_ratio = 1e-6};
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .max_rounds = 600,
                                          .n_start = COLS,
                                          .start_param = all,
                                          .start_value = start,
                                          .progress = note_stride,
                                          .progress_arg = &s};
    linear_fit fit = glm_design_fit(&d, &options, &engine);

    expect_ok(fit.err);
    cr_assert_gt(fit.updates_other, PASSES * COLS);
    cr_expect_lt(s.longest, PASSES * COLS, "%llu updates without a scan",
                 (unsigned long long)s.longest);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* On the way multiples of one column all have coefficients, and then the model
 * has no minimum on the support. */
Test(glm_edge, a_large_support_of_dependent_columns_is_solved)
{
    const strads_glm_options variants[] = {
        {.loss = "logistic", .lambda_ratio = .02},
        {.loss = "logistic", .lambda_ratio = .005, .intercept = true},
        {.loss = "logistic",
         .penalty = "elastic-net",
         .lambda_ratio = .005,
         .l1_ratio = .9}};
    lasso_design d = glm_design_random(&(lasso_recipe){.rows = 300,
                                                       .cols = 360,
                                                       .seed = 12,
                                                       .density = .1,
                                                       .correlation = .6,
                                                       .noise = 1},
                                       "logistic");

    for (uint64_t j = 0; j + 3 <= d.cols; j += 3)
        for (uint64_t i = 0; i < d.rows; i++) {
            lasso_design_col(&d, j + 1)[i] = 1.01 * lasso_design_col(&d, j)[i];
            lasso_design_col(&d, j + 2)[i] += lasso_design_col(&d, j)[i];
        }
    for (size_t k = 0; k < sizeof(variants) / sizeof(*variants); k++) {
        linear_fit fit = fit_or_fail(&d, &variants[k], NULL);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
        cr_expect_gt(fit.nonzeros, 60, "%llu nonzeros",
                     (unsigned long long)fit.nonzeros);
        cr_expect_lt(glm_miss(&d, &variants[k], &fit), 1e-3);
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

/* ---- refusals ----------------------------------------------------- */

Test(glm_edge, options_that_contradict_are_refused)
{
    static const uint32_t groups[12];
    static const double offset[40] = {[3] = NAN};
    static const struct {
        strads_glm_options options;
        const char *says;
    } bad[] = {
        {{.lambda = -1}, "lambda"},
        {{.lambda = NAN}, "lambda"},
        {{.lambda = INFINITY}, "lambda"},
        {{.lambda_ratio = NAN}, "lambda"},
        {{.lambda = .1, .lambda_ratio = .1}, "set the same number"},
        {{.lambda = .1, .c = 1}, "set the same number"},
        {{.c = INFINITY}, "c is inf"},
        {{.penalty = "elastic-net", .l1_ratio = 1.5}, "l1"},
        {{.penalty = "elastic-net", .l1_ratio = 1e-9}, "l1"},
        {{.loss = "cubic"},
         "loss is \"cubic\"; expected one of squared|logistic"},
        {{.penalty = "l0"},
         "penalty is \"l0\"; expected one of l1|elastic-net"},
        {{.penalty = "none", .lambda = 1}, "has no lambda"},
        {{.l1_ratio = .5}, "no mixture"},
        {{.penalty = "group"}, "needs groups"},
        {{.penalty = "sparse-group"}, "needs groups"},
        {{.penalty = "group", .l1_ratio = .5, .column_group = groups},
         "has no mixture"},
        {{.column_group = groups}, "does not use them"},
        {{.gamma = 2}, "l1 has none"},
        {{.penalty = "scad", .gamma = 2}, "it must be above 2"},
        {{.penalty = "group", .column_group = groups, .lower = -1, .upper = 1},
         "takes no bounds"},
        {{.penalty = "group",
          .column_group = groups,
          .positive = true,
          .upper = 1},
         "takes no bounds"},
        {{.loss_parameter = 2}, "the loss squared has none"},
        {{.classes = "0,1"}, "no classes"},
        {{.lower = 1, .upper = 2}, "0 must be between them"},
        {{.row_offset = offset}, "the offset of row 4 is nan"},
        {{.loss = "logistic", .class_weight = "heavy"}, "heavy"},
        {{.loss = "logistic", .class_weight = "1=2,"}, "1=2,"},
        {{.loss = "logistic", .class_weight = "1=0"}, "1=0"},
        {{.loss = "logistic", .class_weight = "3=1"}, "3"}};
    lasso_design d = small(&losses[1], 11, 0);

    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        expect_refused(&d, bad[k].options, STRADS_EINVAL, bad[k].says);
    lasso_design_free(&d);
}

Test(glm_edge, invalid_classes_are_refused)
{
    lasso_design d = glm_design_random(
        &(lasso_recipe){.rows = 80, .cols = 3, .seed = 4, .noise = 1},
        "logistic");
    strads_glm_options o = {.loss = "logistic"};
    const strads_glm_options plain = o;

    o.classes = "1,2";
    expect_refused(&d, o, STRADS_EINVAL, "there are rows with the label 0");
    o.classes = "-1,0,1";
    expect_refused(&d, o, STRADS_EFORMAT, "there is no row with the label -1");
    o.classes = "1";
    expect_refused(&d, o, STRADS_EINVAL, "expected two labels or more");
    o.classes = "1,0,1";
    expect_refused(&d, o, STRADS_EINVAL, "2 to 10000 different labels");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = (double)i + .5;
    expect_refused(&d, plain, STRADS_EFORMAT, "than 64 different labels");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 4;
    expect_refused(&d, plain, STRADS_EFORMAT, "all rows have the label 4");
    lasso_design_free(&d);
    d = lasso_design_zero(1, 3);
    expect_refused(&d, plain, STRADS_EFORMAT, "all rows have the label 0");
    lasso_design_free(&d);
}

Test(glm_edge, rows_without_labels_are_refused)
{
    const uint64_t start[] = {0, 1};
    const uint32_t index[] = {0};
    const double value[] = {1};
    const strads_columns columns = {
        .rows = 2, .cols = 1, .start = start, .index = index, .value = value};
    strads_data *data = NULL;
    strads_result *result = NULL;

    cr_assert_eq(strads_data_from_columns(&columns, NULL, &data), STRADS_OK);
    cr_expect_eq(strads_run(&strads_program_glm, NULL, data, NULL, &result),
                 STRADS_EINVAL);
    cr_expect_null(result);
    strads_data_free(data);
}
