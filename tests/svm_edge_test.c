/* Small problems with a closed-form solution, unusual data, and
 * contradictory options. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/svm_fit.h"

static const strads_svm_options hinge = {.loss = "hinge"};
static const strads_svm_options squared = {.loss = "squared-hinge"};

static svm_fit fit_or_fail(const lasso_design *design,
                           const strads_svm_options *options)
{
    svm_fit fit = svm_fit_run(design, options, NULL);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g",
                 options->loss, (int)fit.end, fit.gap);
    return fit;
}

static void expect_good(const lasso_design *design,
                        const strads_svm_options *options)
{
    svm_fit fit = fit_or_fail(design, options);
    const svm_worth worth = svm_fit_worth(design, options, NULL, &fit);

    cr_expect_leq(worth.primal - worth.dual, 1.1e-10 * worth.primal + 1e-300,
                  "%s: P %g, D %g", options->loss, worth.primal, worth.dual);
    svm_fit_free(&fit);
}

static void expect_refused(const lasso_design *design,
                           const strads_svm_options *options, strads_err err,
                           const char *says)
{
    svm_fit fit = svm_fit_run(design, options, NULL);

    cr_expect_eq(fit.err, err, "%d: %s", (int)fit.err, strads_error_text());
    cr_expect_not_null(strstr(strads_error_text(), says), "\"%s\" in \"%s\"",
                       says, strads_error_text());
    svm_fit_free(&fit);
}

/* Rows x and -x with labels 1 and -1, x = (3, 4): w = t x / |x|, and both
 * rows have margin m = 5 t. */
static lasso_design two_points(void)
{
    lasso_design d = lasso_design_zero(2, 2);

    lasso_design_col(&d, 0)[0] = 3;
    lasso_design_col(&d, 1)[0] = 4;
    lasso_design_col(&d, 0)[1] = -3;
    lasso_design_col(&d, 1)[1] = -4;
    d.y[0] = 1;
    d.y[1] = -1;
    return d;
}

Test(svm_edge, two_points_have_the_solution_that_can_be_written_down)
{
    lasso_design d = two_points();

    /* hinge: t^2/2 + 2 C max(0, 1 - 5 t): t = 10 C up to 5 t = 1. */
    for (double c = .001; c < 100; c *= 10) {
        const strads_svm_options options = {.loss = "hinge", .c = c};
        svm_fit fit = fit_or_fail(&d, &options);
        const double t = fmin(10 * c, .2);
        cr_expect_float_eq(fit.w[0], t * .6, 1e-5 * t, "C %g: %g", c, fit.w[0]);
        cr_expect_float_eq(fit.w[1], t * .8, 1e-5 * t);
        svm_fit_free(&fit);
    }
    /* squared: t^2/2 + 2 C (1 - 5 t)^2: t (1 + 100 C) = 20 C. */
    for (double c = .001; c < 100; c *= 10) {
        const strads_svm_options options = {.loss = "squared-hinge", .c = c};
        svm_fit fit = fit_or_fail(&d, &options);
        const double t = 20 * c / (1 + 100 * c);
        cr_expect_float_eq(fit.w[0], t * .6, 1e-5 * t, "C %g: %g", c, fit.w[0]);
        cr_expect_float_eq(fit.w[1], t * .8, 1e-5 * t);
        svm_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(svm_edge, one_row_for_numbers_has_the_solution_that_can_be_written_down)
{
    lasso_design d = lasso_design_zero(1, 1);

    lasso_design_col(&d, 0)[0] = 2;
    d.y[0] = 5;
    /* w^2/2 + C max(0, 5 - 2 w - .5): w = 2 C up to 2 w = 4.5. */
    for (double c = .01; c < 100; c *= 10) {
        const strads_svm_options options = {.loss = "epsilon",
                                            .c = c,
                                            .epsilon = .5};
        svm_fit fit = fit_or_fail(&d, &options);
        cr_expect_float_eq(fit.w[0], fmin(2 * c, 2.25), 1e-8);
        svm_fit_free(&fit);
    }
    /* w^2/2 + C (4.5 - 2 w)^2: w (1 + 8 C) = 18 C. */
    const strads_svm_options options = {.loss = "squared-epsilon",
                                        .c = 2,
                                        .epsilon = .5};
    svm_fit fit = fit_or_fail(&d, &options);
    cr_expect_float_eq(fit.w[0], 36. / 17, 1e-8);
    svm_fit_free(&fit);
    lasso_design_free(&d);
}

Test(svm_edge, separable_rows_are_separated)
{
    lasso_design d = lasso_design_zero(40, 3);

    for (uint64_t i = 0; i < 40; i++) {
        d.y[i] = i % 2 ? 1 : -1;
        lasso_design_col(&d, 0)[i] = d.y[i] * (1 + (double)i / 40);
        lasso_design_col(&d, 1)[i] = (double)(i % 5) - 2;
    }
    const strads_svm_options hard[] = {{.loss = "hinge", .c = 100},
                                       {.loss = "squared-hinge", .c = 100}};
    for (size_t k = 0; k < 2; k++) {
        svm_fit fit = fit_or_fail(&d, &hard[k]);
        for (uint64_t i = 0; i < 40; i++) {
            double z = 0;
            for (uint64_t j = 0; j < 3; j++)
                z += lasso_design_col(&d, j)[i] * fit.w[j];
            cr_expect_gt(z * d.y[i], .9);
        }
        cr_expect_eq(fit.w[2], 0);
        svm_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(svm_edge, labels_may_be_any_two_numbers)
{
    lasso_design d = svm_design_random(80, 20, .5, 6);
    svm_fit plain = fit_or_fail(&d, &hinge);

    for (uint64_t i = 0; i < 80; i++)
        d.y[i] = d.y[i] > 0 ? 12.5 : 3;
    svm_fit other = fit_or_fail(&d, &hinge);
    const strads_svm_options turned = {.loss = "hinge", .classes = "12.5,3"};
    svm_fit turn = fit_or_fail(&d, &turned);
    cr_expect_str_eq(other.classes, "3,12.5");
    for (uint64_t j = 0; j < 20; j++) {
        cr_expect_float_eq(plain.w[j], other.w[j], 1e-14);
        cr_expect_float_eq(plain.w[j], -turn.w[j], 1e-4);
    }
    const strads_svm_options wrong = {.loss = "hinge", .classes = "3,4"};
    expect_refused(&d, &wrong, STRADS_EINVAL,
                   "there are rows with the label 12.5");
    svm_fit_free(&plain);
    svm_fit_free(&other);
    svm_fit_free(&turn);
    lasso_design_free(&d);
}

Test(svm_edge, empty_and_equal_rows_and_columns_are_no_trouble)
{
    lasso_design d = svm_design_random(60, 12, .4, 8);

    for (uint64_t j = 0; j < 12; j++) {
        lasso_design_col(&d, j)[3] = lasso_design_col(&d, j)[4] = 0;
        lasso_design_col(&d, j)[6] = lasso_design_col(&d, j)[5];
    }
    d.y[5] = 1;
    d.y[6] = -1;
    for (uint64_t i = 0; i < 60; i++) {
        lasso_design_col(&d, 7)[i] = 0;
        lasso_design_col(&d, 9)[i] = lasso_design_col(&d, 8)[i];
    }
    const strads_svm_options variants[] = {hinge,
                                           squared,
                                           {.loss = "epsilon", .epsilon = .2},
                                           {.loss = "squared-epsilon",
                                            .epsilon = .2}};
    for (size_t k = 0; k < 4; k++)
        expect_good(&d, &variants[k]);
    svm_fit fit = fit_or_fail(&d, &squared);
    cr_expect_eq(fit.w[7], 0);
    cr_expect_float_eq(fit.w[8], fit.w[9], 1e-12);
    svm_fit_free(&fit);
    lasso_design_free(&d);
}

/* `many` columns of scale 1e-8 and 1e8 each, beside others of scale 1. All
 * of them affect y. */
static lasso_design unequal_columns(uint64_t rows, uint64_t cols, uint64_t many,
                                    bool classes, uint64_t seed)
{
    const lasso_recipe recipe = {.rows = rows,
                                 .cols = cols,
                                 .seed = seed,
                                 .noise = 1};
    lasso_design d = classes ? svm_design_random(rows, cols, 1, seed)
                             : lasso_design_random(&recipe);

    for (uint64_t j = 0; j < 2 * many; j++)
        for (uint64_t i = 0; i < rows; i++)
            lasso_design_col(&d, j)[i] *= j % 2 ? 1e8 : 1e-8;
    return d;
}

/* The relative gap at the fit's w and b. */
static double gap_of(const lasso_design *design,
                     const strads_svm_options *options, const svm_fit *fit)
{
    const svm_worth worth = svm_fit_worth(design, options, NULL, fit);

    return (worth.primal - worth.dual) / worth.primal;
}

static const strads_svm_options kinks[] = {{.loss = "hinge"},
                                           {.loss = "hinge", .intercept = true},
                                           {.loss = "epsilon", .epsilon = .1},
                                           {.loss = "epsilon",
                                            .epsilon = .1,
                                            .intercept = true}};

/* Expects a gap of 1e-6 in less than thousands of rounds. */
static void expect_soon(const lasso_design *d, const strads_svm_options *o,
                        uint32_t partitions)
{
    const strads_engine_options engine = {.workers = 1,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = 1e-6,
                                          .max_rounds = 2000};
    svm_fit fit = svm_fit_run(d, o, &engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s, %d rows, C %g: gap %g",
                 o->loss, (int)d->rows, o->c, fit.gap);
    cr_expect_leq(fabs(gap_of(d, o, &fit)), 1.01e-6);
    svm_fit_free(&fit);
}

Test(svm_edge, losses_with_kinks_converge_on_columns_of_1e_minus_8_and_1e8)
{
    for (uint64_t turn = 2; turn < 12; turn++)
        for (size_t k = 0; k < 4; k++) {
            const uint64_t seed = turn / 2;
            const uint64_t many = turn % 2 ? 2 * seed : 1; /* half of all */
            lasso_design d =
                unequal_columns(30 * seed, 4 * seed, many, k < 2, seed);
            expect_soon(&d, &kinks[k], 1 << seed % 3);
            lasso_design_free(&d);
        }
}

/* Rows that are fitted exactly, with b far from their bounds. */
Test(svm_edge, losses_with_kinks_converge_on_few_rows_at_a_large_c)
{
    const uint64_t rows[] = {5, 13, 40, 120}, cols[] = {33, 70, 200, 200};

    for (size_t n = 0; n < 16; n++)
        for (size_t k = 0; k < 4; k++) {
            strads_svm_options options = kinks[k];
            options.c = n % 2 ? 100 : 10;
            lasso_design d =
                unequal_columns(rows[n / 4], cols[n / 4], 0, k < 2, n);
            expect_soon(&d, &options, 1 << n % 3);
            lasso_design_free(&d);
        }
}

/* Newton steps of a squared loss may also be a million times too long. */
Test(svm_edge, constant_columns_beside_an_intercept_converge_at_any_c)
{
    static const strads_svm_options losses[] = {
        {.loss = "hinge", .intercept = true},
        {.loss = "squared-hinge", .intercept = true},
        {.loss = "squared-epsilon", .epsilon = .1, .intercept = true}};

    for (size_t k = 0; k < 9; k++) {
        strads_svm_options options = losses[k % 3];
        options.c = (const double[]){1, 100, k % 3 ? 1e6 : 1e4}[k / 3];
        lasso_design d = unequal_columns(200, 200, 0, k % 3 < 2, k);
        for (uint64_t j = 0; j < 200; j += 6)
            for (uint64_t i = 0; i < 200; i++)
                lasso_design_col(&d, j)[i] = 7;
        expect_soon(&d, &options, 2);
        lasso_design_free(&d);
    }
}

Test(svm_edge, a_tolerance_below_rounding_ends_a_fit_near_the_optimum)
{
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-18,
                                          .max_rounds = 2000};

    for (size_t k = 0; k < 2; k++) {
        const strads_svm_options options = {.loss = k ? "epsilon" : "hinge"};
        lasso_design d = unequal_columns(60, 12, 1, k == 0, 1);
        svm_fit fit = svm_fit_run(&d, &options, &engine);
        expect_ok(fit.err);
        cr_expect(fit.end == STRADS_END_STOPPED || fit.gap == 0,
                  "%s: ended by %d, gap %g", options.loss, (int)fit.end,
                  fit.gap);
        cr_expect_leq(gap_of(&d, &options, &fit), 1e-9, "%s: gap %g",
                      options.loss, fit.gap);
        svm_fit_free(&fit);
        lasso_design_free(&d);
    }
}

Test(svm_edge, class_weights_count_as_so_many_rows)
{
    lasso_design d = svm_design_random(50, 10, .5, 12);
    lasso_design twice = lasso_design_zero(100, 10);
    uint64_t n = 0;

    for (uint64_t i = 0; i < 50; i++)
        for (int k = 0; k < (d.y[i] > 0 ? 2 : 1); k++, n++) {
            for (uint64_t j = 0; j < 10; j++)
                lasso_design_col(&twice, j)[n] = lasso_design_col(&d, j)[i];
            twice.y[n] = d.y[i];
        }
    for (; n < 100; n++) /* empty rows do not affect w */
        twice.y[n] = 1;
    const strads_svm_options weighted = {.loss = "squared-hinge",
                                         .class_weight = "1=2"};
    svm_fit a = fit_or_fail(&d, &weighted), b = fit_or_fail(&twice, &squared);
    for (uint64_t j = 0; j < 10; j++)
        cr_expect_float_eq(a.w[j], b.w[j], 1e-4);
    const strads_svm_options wrong = {.loss = "hinge", .class_weight = "7=2"};
    expect_refused(&d, &wrong, STRADS_EINVAL, "no row has the label 7");
    svm_fit_free(&a);
    svm_fit_free(&b);
    lasso_design_free(&d);
    lasso_design_free(&twice);
}

Test(svm_edge, options_that_are_none_are_refused)
{
    lasso_design d = svm_design_random(6, 3, 1, 1);
    const struct {
        strads_svm_options options;
        const char *says;
    } cases[] = {
        {{.c = -1}, "c is -1"},
        {{.c = INFINITY}, "c is inf"},
        {{.bias = NAN}, "bias is"},
        {{.loss = "epsilon", .epsilon = -2}, "epsilon is -2"},
        {{.loss = "square"}, "loss is \"square\""},
        {{.loss = "epsilon", .class_weight = "balanced"},
         "--class-weight balanced: the loss epsilon is for numbers"},
        {{.loss = "squared-epsilon", .classes = "-1,1"},
         "--classes -1,1: the loss squared-epsilon is for numbers"},
    };

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        expect_refused(&d, &cases[k].options, STRADS_EINVAL, cases[k].says);
    const strads_svm_options absent = {.weights = "/nowhere/at/all"};
    expect_refused(&d, &absent, STRADS_EINVAL, "cannot be opened");
    lasso_design_free(&d);
}
