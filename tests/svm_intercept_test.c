/* Unpenalised intercepts: P at the run's solution, and D at its b, scaled to
 * sum 0, enclose the minimum, computed independently from the objective; for
 * every loss, on few columns and on many, with labels of any offset. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/svm_expect.h"

static const strads_svm_options variants[] = {
    {.loss = "squared-hinge", .intercept = true},
    {.loss = "hinge", .intercept = true},
    {.loss = "squared-hinge", .c = 30, .intercept = true},
    {.loss = "hinge", .c = .1, .intercept = true},
    {.loss = "epsilon", .epsilon = .3, .intercept = true},
    {.loss = "squared-epsilon", .epsilon = .1, .intercept = true},
    {.loss = "squared-epsilon", .c = .01, .intercept = true},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static bool is_of_numbers(const strads_svm_options *options)
{
    return strstr(options->loss, "epsilon") != NULL;
}

/* Unbalanced classes; numbers far from 0. */
static lasso_design design_for(const strads_svm_options *options, uint64_t rows,
                               uint64_t cols, double density, uint64_t seed)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = rows,
                                                         .cols = cols,
                                                         .seed = seed,
                                                         .density = density,
                                                         .noise = 1});
    for (uint64_t i = 0; i < rows; i++)
        d.y[i] = is_of_numbers(options) ? d.y[i] + 50 : d.y[i] > -.8 ? 1 : -1;
    d.y[0] = is_of_numbers(options) ? d.y[0] : 1;
    d.y[1] = is_of_numbers(options) ? d.y[1] : -1;
    return d;
}

static void expect_minimum(const lasso_design *design,
                           const strads_svm_options *options,
                           const strads_engine_options *engine,
                           const char *what)
{
    svm_fit fit = svm_fit_run(design, options, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g", what,
                 (int)fit.end, fit.gap);
    const svm_worth worth = svm_fit_worth(design, options, NULL, &fit);
    cr_expect_lt(fabs(worth.primal - fit.objective), 1e-10 * worth.primal,
                 "%s: reports %.15g at %.15g", what, fit.objective,
                 worth.primal);
    svm_expect_worth(&worth, engine->tolerance, 1e-12, what);
    svm_fit_free(&fit);
}

Test(svm_intercept, bounds_enclose_the_minimum_under_every_loss)
{
    static const struct {
        uint64_t rows, cols;
        double density;
    } sizes[] = {{60, 20, 1}, {120, 1300, .1}, {400, 30, .3}};
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-8};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < VARIANTS; k++) {
            char what[64];
            lasso_design d =
                design_for(&variants[k], sizes[i].rows, sizes[i].cols,
                           sizes[i].density, 40 + i);
            (void)snprintf(what, sizeof what, "design %zu, variant %zu", i, k);
            expect_minimum(&d, &variants[k], &engine, what);
            lasso_design_free(&d);
        }
}

Test(svm_intercept, workers_and_pools_reach_the_same)
{
    static const strads_engine_options engines[] = {
        {.workers = 2, .partitions = 2, .tolerance = 1e-7},
        {.workers = 4, .partitions = 4, .pools = 2, .tolerance = 1e-7},
        {.workers = 2, .partitions = 3, .policy = "cyclic", .tolerance = 1e-7}};

    for (size_t k = 0; k < VARIANTS; k++) {
        lasso_design d = design_for(&variants[k], 200, 1300, .05, 60);
        for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
            char what[64];
            (void)snprintf(what, sizeof what, "variant %zu, run %zu", k, e);
            expect_minimum(&d, &variants[k], &engines[e], what);
        }
        lasso_design_free(&d);
    }
}

/* With and without standardisation, the intercept takes the common offset of
 * the labels. */
Test(svm_intercept, numbers_may_be_anywhere)
{
    for (int s = 0; s < 2; s++) {
        const strads_svm_options options = {.loss = "epsilon",
                                            .intercept = true,
                                            .standardize = s > 0};
        lasso_design d = design_for(&options, 150, 12, 1, 71);
        const strads_engine_options engine = {.workers = 1, .tolerance = 1e-9};
        svm_fit near = svm_fit_run(&d, &options, &engine);
        for (uint64_t i = 0; i < d.rows; i++)
            d.y[i] += 1e4;
        svm_fit far = svm_fit_run(&d, &options, &engine);
        expect_ok(near.err | far.err);
        cr_expect_eq(far.end, STRADS_END_CONVERGED);
        cr_expect_float_eq(far.objective, near.objective,
                           1e-8 * near.objective);
        cr_expect_float_eq(far.intercept - near.intercept, 1e4, 1e-2);
        svm_fit_free(&near);
        svm_fit_free(&far);
        lasso_design_free(&d);
    }
}

/* One uninformative column: only the intercept remains. */
Test(svm_intercept, without_columns_it_is_a_constant)
{
    static const double labels[] = {1, 2, 3, 4, 10};
    lasso_design d = lasso_design_zero(5, 1);
    const strads_svm_options squared = {.loss = "squared-epsilon",
                                        .epsilon = 0,
                                        .c = 3,
                                        .intercept = true};
    const strads_svm_options plain = {.loss = "epsilon", .intercept = true};

    for (int i = 0; i < 5; i++)
        d.y[i] = labels[i];
    svm_fit mean = svm_fit_run(&d, &squared, NULL);
    svm_fit median = svm_fit_run(&d, &plain, NULL);
    expect_ok(mean.err | median.err);
    cr_expect_float_eq(mean.intercept, 4, 1e-5);
    cr_expect_float_eq(median.intercept, 3, 1e-5);
    svm_fit_free(&mean);
    svm_fit_free(&median);
    lasso_design_free(&d);
}

Test(svm_intercept, each_of_several_classes_has_its_own)
{
    const strads_svm_options options = {.loss = "squared-hinge",
                                        .intercept = true};
    const strads_engine_options engine = {.workers = 2, .tolerance = 1e-8};
    lasso_design d = design_for(&options, 150, 40, .5, 80);

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = d.y[i] + (double)(i % 3 == 0) * 4;
    svm_fit fit = svm_fit_run(&d, &options, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED);
    for (uint32_t k = 0; k < fit.width; k++) {
        static const double labels[] = {-1, 1, 3, 5};
        lasso_design one = d;
        one.y = malloc(d.rows * sizeof(double));
        for (uint64_t i = 0; i < d.rows; i++)
            one.y[i] = d.y[i] == labels[k] ? 1 : -1;
        svm_fit part = svm_fit_class(&d, &fit, k);
        const svm_worth worth = svm_fit_worth(&one, &options, NULL, &part);
        svm_expect_worth(&worth, 1e-7, 1e-12, "a class");
        svm_fit_free(&part);
        free(one.y);
    }
    svm_fit_free(&fit);
    lasso_design_free(&d);
}

Test(svm_intercept, it_is_penalised_or_not)
{
    lasso_design d = svm_design_random(20, 5, 1, 3);
    const strads_svm_options both = {.bias = 1, .intercept = true};
    svm_fit fit = svm_fit_run(&d, &both, NULL);

    cr_expect_eq(fit.err, STRADS_EINVAL);
    expect_says("give one of them");
    svm_fit_free(&fit);
    lasso_design_free(&d);
}
