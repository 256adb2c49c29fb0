/* Fits of random designs by the Lasso and by logistic regression must satisfy
 * the optimality conditions of the objective as the header states it, under
 * every option and on every kind of run; what they report must be what these
 * coefficients give. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/logistic_design.h"

/* ---- the programs ------------------------------------------------------ */

typedef union options {
    strads_lasso_options lasso;
    strads_logistic_options logistic;
} options;

static const options of_lasso[] = {
    {.lasso = {.lambda_ratio = .1}},
    {.lasso = {.lambda_ratio = .01}},
    {.lasso = {.lambda_ratio = .05, .intercept = true}},
    {.lasso = {.lambda_ratio = .05, .standardize = true}},
    {.lasso = {.lambda_ratio = .05, .intercept = true, .standardize = true}},
    {.lasso = {.lambda_ratio = .05, .positive = true}},
    {.lasso = {.lambda_ratio = .05, .l1_ratio = .5}},
    {.lasso = {.lambda_ratio = .02,
               .l1_ratio = .2,
               .intercept = true,
               .standardize = true,
               .positive = true}},
};

static const options of_logistic[] = {
    {.logistic = {.lambda_ratio = .1, .l1_ratio = 1}},
    {.logistic = {.lambda_ratio = .01, .l1_ratio = 1}},
    {.logistic = {.c = 1, .l1_ratio = 1}},
    {.logistic = {.lambda_ratio = .05, .l1_ratio = 1, .intercept = true}},
    {.logistic = {.lambda_ratio = .05, .l1_ratio = 1, .standardize = true}},
    {.logistic = {.lambda_ratio = .05,
                  .l1_ratio = 1,
                  .intercept = true,
                  .standardize = true}},
    {.logistic = {.lambda_ratio = .05, .l1_ratio = .5}},
    {.logistic = {.l1_ratio = 0}},
    {.logistic =
         {.c = .1, .l1_ratio = 0, .intercept = true, .standardize = true}},
    {.logistic = {.lambda_ratio = .02,
                  .l1_ratio = .2,
                  .intercept = true,
                  .standardize = true}},
};

static linear_fit fit_lasso(const lasso_design *design, const options *o,
                            const strads_engine_options *engine)
{
    return lasso_design_fit(design, &o->lasso, engine);
}

static linear_fit fit_logistic(const lasso_design *design, const options *o,
                               const strads_engine_options *engine)
{
    return logistic_design_fit(design, &o->logistic, engine);
}

static double lasso_misses(const lasso_design *design, const options *o,
                           const linear_fit *fit)
{
    return lasso_violation(design, &o->lasso, fit);
}

static double lasso_worth(const lasso_design *design, const options *o,
                          const linear_fit *fit)
{
    return lasso_value(design, &o->lasso, fit);
}

static const logistic_view plain = {.negative = -1, .positive = 1};

static double logistic_misses(const lasso_design *design, const options *o,
                              const linear_fit *fit)
{
    return logistic_violation(design, &plain, &o->logistic, fit);
}

static double logistic_worth(const lasso_design *design, const options *o,
                             const linear_fit *fit)
{
    return logistic_value(design, &plain, &o->logistic, fit);
}

typedef struct program {
    const char *name;
    const options *variants;
    size_t n_variants;
    double miss, noise; /* violations at a small gap; of designs */
    options usual;      /* a working set of some columns */
    lasso_design (*design)(const lasso_recipe *recipe);
    linear_fit (*fit)(const lasso_design *design, const options *o,
                      const strads_engine_options *engine);
    double (*violation)(const lasso_design *design, const options *o,
                        const linear_fit *fit);
    double (*value)(const lasso_design *design, const options *o,
                    const linear_fit *fit);
} program;

static const program programs[] = {
    {.name = "lasso",
     .variants = of_lasso,
     .n_variants = sizeof of_lasso / sizeof of_lasso[0],
     .miss = 1e-4,
     .noise = .5,
     .usual = {.lasso = {.lambda_ratio = .03, .intercept = true}},
     .design = lasso_design_random,
     .fit = fit_lasso,
     .violation = lasso_misses,
     .value = lasso_worth},
    {.name = "logistic",
     .variants = of_logistic,
     .n_variants = sizeof of_logistic / sizeof of_logistic[0],
     .miss = 1e-3,
     .noise = 2,
     .usual = {.logistic = {.lambda_ratio = .03,
                            .l1_ratio = 1,
                            .intercept = true}},
     .design = logistic_design_random,
     .fit = fit_logistic,
     .violation = logistic_misses,
     .value = logistic_worth},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };
static const program *const lasso = &programs[0];

typedef struct size_case {
    uint64_t rows, cols;
    double density, correlation;
} size_case;

static const size_case sizes[] = {
    {60, 20, 1, 0},     {40, 150, 1, .9},   {200, 500, .1, .5},
    {500, 80, .05, .7}, {30, 600, .3, .8},  {60, 200, 1, .97},
    {100, 300, 1, .98}, {2000, 12, .5, .8},
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static lasso_design design_of(const program *p, const size_case *size,
                              double offset)
{
    return p->design(&(lasso_recipe){.rows = size->rows,
                                     .cols = size->cols,
                                     .seed = size->rows + size->cols,
                                     .density = size->density,
                                     .correlation = size->correlation,
                                     .noise = p->noise,
                                     .offset = offset});
}

static linear_fit fit_or_fail(const program *p, const lasso_design *design,
                              const options *o,
                              const strads_engine_options *engine)
{
    linear_fit fit = p->fit(design, o, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", p->name, strads_error_text());
    return fit;
}

static void expect_optimal(const program *p, const lasso_design *design,
                           const options *o,
                           const strads_engine_options *engine,
                           const char *what)
{
    linear_fit fit = fit_or_fail(p, design, o, engine);

    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s, %s: ended by %d, gap %g",
                 p->name, what, (int)fit.end, fit.gap);
    const double violation = p->violation(design, o, &fit);
    cr_expect_lt(violation, p->miss, "%s, %s: violated by %g lambda", p->name,
                 what, violation);
    const double value = p->value(design, o, &fit);
    cr_expect_lt(fabs(value - fit.objective), 1e-9 * value,
                 "%s, %s: reports %.15g at %.15g", p->name, what, fit.objective,
                 value);
    uint64_t nonzeros = 0;
    for (uint64_t j = 0; j < design->cols; j++)
        nonzeros += fit.w[j] != 0;
    cr_expect_eq(fit.nonzeros, nonzeros, "%s, %s: %llu of %llu nonzeros",
                 p->name, what, (unsigned long long)fit.nonzeros,
                 (unsigned long long)nonzeros);
    linear_fit_free(&fit);
}

/* ---- both of them ------------------------------------------------------ */

Test(linear_optimum, kkt_conditions_hold_under_every_option)
{
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-10};

    for (const program *p = programs; p < programs + PROGRAMS; p++)
        for (size_t i = 0; i < SIZES; i++) {
            lasso_design design = design_of(p, &sizes[i], i % 2 ? 3 : 0);
            for (size_t k = 0; k < p->n_variants; k++) {
                char what[64];
                snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
                expect_optimal(p, &design, &p->variants[k], &engine, what);
            }
            lasso_design_free(&design);
        }
}

static void expect_same_objective(const program *p, const lasso_design *design,
                                  const strads_engine_options *engine,
                                  double objective)
{
    linear_fit fit = fit_or_fail(p, design, &p->usual, engine);

    cr_expect_lt(fabs(fit.objective - objective), 1e-8 * objective,
                 "%s, %s, depth %u, %u workers: %.12g, not %.12g", p->name,
                 engine->policy, engine->depth, engine->workers, fit.objective,
                 objective);
    cr_expect_gt(fit.updates_policy, 10 * fit.updates_other,
                 "%s, %s: %llu updates by the policy, %llu others", p->name,
                 engine->policy, (unsigned long long)fit.updates_policy,
                 (unsigned long long)fit.updates_other);
    linear_fit_free(&fit);
}

Test(linear_optimum, workers_partitions_depth_and_policies_reach_the_same)
{
    static const char *const policies[] = {"priority", "uniform", "cyclic"};

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design design = design_of(p, &sizes[2], 1);
        linear_fit first = fit_or_fail(p, &design, &p->usual, NULL);
        for (size_t k = 0; k < 3; k++)
            for (uint32_t depth = 0; depth <= 4; depth += 2)
                for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                    const strads_engine_options engine = {.workers = workers,
                                                          .partitions = 4,
                                                          .policy = policies[k],
                                                          .depth = depth,
                                                          .blocks =
                                                              1 + depth / 2,
                                                          .tolerance = 1e-9};
                    expect_same_objective(p, &design, &engine, first.objective);
                }
        linear_fit_free(&first);
        lasso_design_free(&design);
    }
}

Test(linear_optimum, deterministic_runs_repeat_bit_for_bit_on_any_workers)
{
    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design design = design_of(p, &sizes[4], 0);
        linear_fit fit[2];
        for (uint32_t k = 0; k < 2; k++) {
            const strads_engine_options engine = {.workers = 1 + 2 * k,
                                                  .partitions = 3,
                                                  .depth = 2,
                                                  .deterministic = true,
                                                  .tolerance = 1e-8};
            fit[k] = fit_or_fail(p, &design, &p->usual, &engine);
        }
        cr_expect_arr_eq(fit[0].w, fit[1].w, design.cols * sizeof(double));
        cr_expect_eq(fit[0].intercept, fit[1].intercept);
        cr_expect_eq(fit[0].updates_policy, fit[1].updates_policy);
        linear_fit_free(&fit[0]);
        linear_fit_free(&fit[1]);
        lasso_design_free(&design);
    }
}

Test(linear_optimum, the_gap_bounds_what_a_rough_fit_has_left_to_gain)
{
    const strads_engine_options tight = {.workers = 1, .tolerance = 1e-12};

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design design = design_of(p, &sizes[3], 2);
        for (size_t k = 0; k < p->n_variants; k++) {
            const options *o = &p->variants[k];
            linear_fit best = fit_or_fail(p, &design, o, &tight);
            for (double tolerance = .3; tolerance > 1e-7; tolerance /= 10) {
                const strads_engine_options engine = {.workers = 1,
                                                      .tolerance = tolerance};
                linear_fit fit = fit_or_fail(p, &design, o, &engine);
                cr_expect_leq(fit.objective - best.objective,
                              fit.gap * fit.objective + 1e-12,
                              "%s, variant %zu: %.12g above %.12g, gap %g",
                              p->name, k, fit.objective, best.objective,
                              fit.gap);
                cr_expect_leq(fit.gap, tolerance);
                linear_fit_free(&fit);
            }
            linear_fit_free(&best);
        }
        lasso_design_free(&design);
    }
}

Test(linear_optimum, a_start_near_the_optimum_ends_there)
{
    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design design = design_of(p, &sizes[0], 2);
        linear_fit cold = fit_or_fail(p, &design, &p->usual, NULL);
        uint32_t param[20];
        for (uint32_t j = 0; j < 20; j++)
            param[j] = j;
        cold.w[3] += .5;
        const strads_engine_options engine = {.workers = 2,
                                              .n_start = 20,
                                              .start_param = param,
                                              .start_value = cold.w};
        expect_optimal(p, &design, &p->usual, &engine, "warm start");
        linear_fit_free(&cold);
        lasso_design_free(&design);
    }
}

/* ---- the Lasso --------------------------------------------------------- */

/* More columns with few entries than a set has pairs kept of: their columns are
 * brought together instead. More than 400 must be in the set, so that is what
 * has to come out of it. */
Test(linear_optimum, large_sets_of_short_columns_are_solved_too)
{
    const size_case sizes_short[] = {{1200, 1500, .002, .5},
                                     {500, 4000, .008, .95}};
    static const options variants[] = {
        {.lasso = {.lambda_ratio = .003}},
        {.lasso = {.lambda_ratio = .003,
                   .intercept = true,
                   .standardize = true}},
        {.lasso = {.lambda_ratio = .002, .l1_ratio = .6, .positive = true}},
    };

    for (size_t i = 0; i < 2 * sizeof(variants) / sizeof(variants[0]); i++) {
        lasso_design design =
            design_of(lasso, &sizes_short[i % 2], i % 2 ? 1 : 0);
        const size_t k = i / 2;
        char what[64];
        snprintf(what, sizeof(what), "design %zu, variant %zu", i % 2, k);
        const strads_engine_options engine = {.workers = 1 + (uint32_t)k % 2,
                                              .partitions = 3,
                                              .depth = (uint32_t)k % 2,
                                              .deterministic = true,
                                              .tolerance = 1e-11};
        linear_fit fit = fit_or_fail(lasso, &design, &variants[k], &engine);
        cr_expect_gt(fit.nonzeros, 400, "%s: %llu nonzeros", what,
                     (unsigned long long)fit.nonzeros);
        linear_fit_free(&fit);
        expect_optimal(lasso, &design, &variants[k], &engine, what);
        lasso_design_free(&design);
    }
}
