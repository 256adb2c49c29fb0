/* Fits must match their reported values: P at w and D at b, computed from
 * the objective in the header, under every option and in every kind of run. P
 * and D enclose the minimum, so no reference solution is needed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/expect.h"
#include "tests/svm_expect.h"

typedef struct size_case {
    uint64_t rows, cols;
    double density;
} size_case;

static const size_case sizes[] = {{60, 20, 1},
                                  {40, 150, .5},
                                  {300, 500, .1},
                                  {400, 30, .3}};

static const strads_svm_options variants[] = {
    {.loss = "squared-hinge"},
    {.loss = "hinge"},
    {.loss = "squared-hinge", .c = 10, .bias = 1},
    {.loss = "hinge", .c = .1, .bias = 2},
    {.loss = "epsilon", .epsilon = .3},
    {.loss = "squared-epsilon", .epsilon = .1, .bias = 1},
    {.loss = "epsilon", .c = .5},
};

static void expect_worth(const lasso_design *design,
                         const strads_svm_options *options,
                         const strads_engine_options *engine, double tolerance,
                         const char *what)
{
    svm_fit fit = svm_fit_run(design, options, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g", what,
                 (int)fit.end, fit.gap);
    const svm_worth worth = svm_fit_worth(design, options, NULL, &fit);
    svm_expect_worth(&worth, tolerance, 1e-13, what);
    cr_expect_lt(fabs(worth.primal - fit.objective), 1e-11 * worth.primal,
                 "%s: reports %.15g at %.15g", what, fit.objective,
                 worth.primal);
    uint64_t supports = 0;
    for (uint64_t i = 0; i < design->rows; i++)
        supports += fit.b[i] != 0;
    cr_expect_eq(fit.supports, supports);
    cr_expect_float_eq(fit.intercept, options->bias * fit.w[design->cols],
                       1e-12);
    svm_fit_free(&fit);
}

Test(svm_optimum, bounds_enclose_the_minimum_under_every_option)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        lasso_design design = svm_design_random(sizes[i].rows, sizes[i].cols,
                                                sizes[i].density, 7 + i);
        for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++) {
            char what[64];
            (void)snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
            const strads_engine_options engine = {.workers = 1,
                                                  .deterministic = true,
                                                  .tolerance = 1e-9};
            expect_worth(&design, &variants[k], &engine, 1e-9, what);
        }
        lasso_design_free(&design);
    }
}

Test(svm_optimum, kinks_are_settled_to_the_last_digits_in_few_rounds)
{
    lasso_design design = svm_design_random(900, 25, 1, 21);
    const strads_svm_options kinks[] = {{.loss = "hinge", .c = 10, .bias = 1},
                                        {.loss = "epsilon", .epsilon = .1}};

    for (uint32_t partitions = 1; partitions <= 4; partitions *= 2)
        for (size_t k = 0; k < 2; k++) {
            char what[64];
            const strads_engine_options engine = {.workers = 1,
                                                  .partitions = partitions,
                                                  .tolerance = 1e-11,
                                                  .max_rounds = 1500};
            (void)snprintf(what, sizeof(what), "%s, %u partitions",
                           kinks[k].loss, partitions);
            expect_worth(&design, &kinks[k], &engine, 1e-11, what);
        }
    lasso_design_free(&design);
}

static void expect_same_bits(const lasso_design *design,
                             const strads_svm_options *options, uint32_t pools,
                             double tolerance)
{
    svm_fit fit[2];

    for (uint32_t k = 0; k < 2; k++) {
        const strads_engine_options engine = {.workers = 1 + 2 * k,
                                              .partitions = 3,
                                              .pools = pools,
                                              .deterministic = true,
                                              .tolerance = tolerance};
        fit[k] = svm_fit_run(design, options, &engine);
        expect_ok(fit[k].err);
    }
    cr_expect_arr_eq(fit[0].w, fit[1].w, design->cols * sizeof(double));
    cr_expect_arr_eq(fit[0].b, fit[1].b, design->rows * sizeof(double));
    svm_fit_free(&fit[0]);
    svm_fit_free(&fit[1]);
}

/* Every second row almost equals the one before, with either label. D has
 * little curvature along such pairs, and coordinate ascent alone takes more
 * than 2,500 rounds. */
static lasso_design pairs_of_rows(uint64_t rows, uint64_t cols)
{
    lasso_design design = svm_design_random(rows, cols, .02, 8);

    for (uint64_t i = 1; i < rows; i += 2) {
        for (uint64_t j = 0; j < cols; j++) {
            double *x = lasso_design_col(&design, j);
            x[i] = x[i - 1] + (x[i] != 0 ? .02 * x[i] : 0);
        }
        design.y[i] = i % 4 == 1 ? design.y[i - 1] : -design.y[i - 1];
    }
    return design;
}

Test(svm_optimum, rows_that_are_nearly_alike_are_settled_in_few_rounds)
{
    lasso_design design = pairs_of_rows(400, 1250);
    const strads_svm_options kinks[] = {{.loss = "hinge", .c = 10, .bias = 1},
                                        {.loss = "epsilon", .epsilon = .1}};

    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        for (size_t k = 0; k < 2; k++) {
            char what[64];
            const strads_engine_options engine = {.workers = workers,
                                                  .partitions = 4,
                                                  .pools = 1 + workers % 2,
                                                  .tolerance = 1e-9,
                                                  .max_rounds = 2500};
            (void)snprintf(what, sizeof(what), "%s, %u workers", kinks[k].loss,
                           workers);
            expect_worth(&design, &kinks[k], &engine, 1e-9, what);
        }
    expect_same_bits(&design, &variants[1], 1, 1e-8);
    lasso_design_free(&design);
}

/* With many columns and few entries, Newton steps are found by products, as
 * always above 1,200 columns. */
static lasso_design wide_design(size_t k)
{
    return k == 0   ? svm_design_random(150, 700, .5, 31)
           : k == 1 ? svm_design_random(300, 1250, .1, 32)
                    : pairs_of_rows(400, 1250);
}

Test(svm_optimum, steps_by_products_settle_the_last_digits)
{
    for (size_t d = 0; d < 3; d++) {
        lasso_design design = wide_design(d);
        for (uint32_t workers = 1; workers <= 2; workers++)
            for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]);
                 k++) {
                char what[64];
                strads_svm_options options = variants[k];
                const strads_engine_options engine = {.workers = workers,
                                                      .partitions = 2 * workers,
                                                      .pools = 1 + k % 2,
                                                      .tolerance = 1e-9};
                options.c = 20;
                (void)snprintf(what, sizeof(what), "design %zu, %u workers, %s",
                               d, workers, options.loss);
                expect_worth(&design, &options, &engine, 1e-9, what);
            }
        expect_same_bits(&design, &variants[2], 1, 1e-9);
        lasso_design_free(&design);
    }
}

/* A run that ends within a step, where w has moved along a direction,
 * returns the w of the reported objective; after the step the objective would
 * be lower. */
Test(svm_optimum, a_run_that_ends_amid_a_step_reports_its_objective)
{
    const strads_svm_options options = {.loss = "squared-hinge", .c = 1000};
    lasso_design design = wide_design(0);
    uint64_t whole = 0, same = 0;

    for (uint64_t short_of = 0; short_of < 12; short_of++) {
        const strads_engine_options engine = {
            .workers = 1,
            .partitions = 1,
            .tolerance = 1e-11,
            .max_rounds = short_of > 0 ? whole - short_of : 0};
        svm_fit fit = svm_fit_run(&design, &options, &engine);
        expect_ok(fit.err);
        const svm_worth worth = svm_fit_worth(&design, &options, NULL, &fit);
        cr_expect_leq(worth.primal, fit.objective * (1 + 1e-11),
                      "%llu short of %llu rounds: reports %.15g at %.15g",
                      (unsigned long long)short_of, (unsigned long long)whole,
                      fit.objective, worth.primal);
        same += fabs(worth.primal - fit.objective) <= 1e-11 * worth.primal;
        if (short_of == 0)
            whole = fit.rounds;
        cr_assert_gt(whole, 40);
        svm_fit_free(&fit);
    }
    cr_expect_gt(same, 8);
    lasso_design_free(&design);
}

Test(svm_optimum, workers_partitions_and_policies_reach_the_same)
{
    const char *policies[] = {"priority", "uniform", "cyclic"};
    lasso_design design = svm_design_random(200, 60, .3, 3);

    for (size_t p = 0; p < 3; p++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (size_t k = 0; k < 2; k++) {
                char what[64];
                const strads_engine_options engine = {.workers = workers,
                                                      .partitions = 4,
                                                      .pools = 1 + p % 2,
                                                      .policy = policies[p],
                                                      .tolerance = 1e-9};
                (void)snprintf(what, sizeof(what), "%s, %u workers, %s",
                               policies[p], workers, variants[k].loss);
                expect_worth(&design, &variants[k], &engine, 1e-9, what);
            }
    lasso_design_free(&design);
}

Test(svm_optimum, deterministic_runs_repeat_bit_for_bit_on_any_workers)
{
    lasso_design design = svm_design_random(150, 80, .3, 5);

    for (uint32_t pools = 1; pools <= 3; pools++)
        expect_same_bits(&design, &variants[1], pools, 1e-8);
    lasso_design_free(&design);
}

/* More than a million entries: the first passes are split over partitions.
 * Later passes over active rows run on one partition. With a squared loss rows
 * become inactive quickly, and passes that check all rows again are also split.
 */
Test(svm_optimum, long_passes_are_dealt_out_and_short_ones_are_not)
{
    lasso_design design = svm_design_random(1400, 1250, .6, 6);

    for (uint32_t workers = 1; workers <= 2; workers++) {
        const strads_svm_options *options = &variants[workers - 1];
        const strads_engine_options engine = {.workers = workers,
                                              .partitions = 4,
                                              .tolerance = 1e-4};
        expect_worth(&design, options, &engine, 1e-4, options->loss);
    }
    expect_same_bits(&design, &variants[1], 1, 1e-3);
    expect_same_bits(&design, &variants[0], 1, 1e-5);
    lasso_design_free(&design);
}

Test(svm_optimum, nearly_all_updates_are_of_blocks_that_the_policy_chose)
{
    lasso_design design = svm_design_random(300, 100, .2, 9);
    svm_fit fit = svm_fit_run(&design, &variants[0], NULL);

    expect_ok(fit.err);
    cr_expect_gt(fit.updates_policy, 300);
    cr_expect_lt(fit.updates_other, fit.updates_policy / 10);
    svm_fit_free(&fit);
    lasso_design_free(&design);
}

/* Newton steps for few columns, conjugate gradients for many: both change b,
 * which the policy did not choose. */
Test(svm_optimum, steps_of_all_rows_at_once_are_counted_as_no_policys)
{
    lasso_design designs[] = {svm_design_random(900, 25, 1, 21),
                              pairs_of_rows(400, 1250)};
    const strads_svm_options options = {.loss = "hinge", .c = 10, .bias = 1};
    const strads_engine_options engine = {.partitions = 2, .tolerance = 1e-9};

    for (size_t k = 0; k < 2; k++) {
        svm_fit fit = svm_fit_run(&designs[k], &options, &engine);
        expect_ok(fit.err);
        cr_expect_gt(fit.updates_other, 100, "design %zu", k);
        svm_fit_free(&fit);
        lasso_design_free(&designs[k]);
    }
}

Test(svm_optimum, a_start_from_the_solution_needs_few_updates)
{
    lasso_design design = svm_design_random(300, 100, .2, 4);
    uint32_t param[101];

    for (uint32_t j = 0; j <= 100; j++)
        param[j] = j;
    for (size_t k = 0; k < 4; k += 2) {
        const strads_engine_options first = {.workers = 1, .tolerance = 1e-7};
        svm_fit cold = svm_fit_run(&design, &variants[k], &first);
        expect_ok(cold.err);
        const strads_engine_options engine = {.workers = 2,
                                              .tolerance = 1e-9,
                                              .n_start = 101,
                                              .start_param = param,
                                              .start_value = cold.w};
        expect_worth(&design, &variants[k], &engine, 1e-9, variants[k].loss);
        svm_fit warm = svm_fit_run(&design, &variants[k], &engine);
        cr_expect_lt(warm.updates_policy, cold.updates_policy,
                     "variant %zu: %llu updates, cold %llu", k,
                     (unsigned long long)warm.updates_policy,
                     (unsigned long long)cold.updates_policy);
        svm_fit_free(&cold);
        svm_fit_free(&warm);
    }
    lasso_design_free(&design);
}
