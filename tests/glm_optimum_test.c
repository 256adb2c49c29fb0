/* Fits of random designs by glm must satisfy the optimality conditions of the
 * objective, under every option and on every kind of run. The reported values
 * must be those of the returned coefficients. This file covers two losses, one
 * of them with its own curvature; glm_fit_test.c covers other losses and
 * penalties. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/sample.h"

typedef struct loss_case {
    const char *loss;
    double miss, noise; /* violations at a small gap; of designs */
} loss_case;

static const loss_case losses[] = {{"squared", 1e-4, .5},
                                   {"logistic", 1e-3, 2}};
enum { LOSSES = sizeof losses / sizeof losses[0] };

static const strads_glm_options variants[] = {
    {.lambda_ratio = .1},
    {.lambda_ratio = .01},
    {.c = 1},
    {.lambda_ratio = .05, .intercept = true},
    {.lambda_ratio = .05, .standardize = true},
    {.lambda_ratio = .05, .intercept = true, .standardize = true},
    {.lambda_ratio = .05, .upper = INFINITY},
    {.penalty = "elastic-net", .lambda_ratio = .05},
    {.penalty = "elastic-net",
     .lambda_ratio = .02,
     .l1_ratio = .2,
     .intercept = true,
     .standardize = true},
    {.penalty = "elastic-net",
     .lambda_ratio = .02,
     .l1_ratio = .2,
     .intercept = true,
     .standardize = true,
     .upper = INFINITY},
    {.penalty = "ridge", .c = 1},
    {.penalty = "ridge", .c = .1, .intercept = true, .standardize = true},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

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

static lasso_design design_of(const loss_case *l, const size_case *size,
                              double offset)
{
    return glm_design_random(&(lasso_recipe){.rows = size->rows,
                                             .cols = size->cols,
                                             .seed = size->rows + size->cols,
                                             .density = size->density,
                                             .correlation = size->correlation,
                                             .noise = l->noise,
                                             .offset = offset},
                             l->loss);
}

/* The options of a loss. */
static strads_glm_options with(const loss_case *l, strads_glm_options o)
{
    o.loss = l->loss;
    return o;
}

/* A working set of some columns. */
static strads_glm_options usual(const loss_case *l)
{
    return with(l,
                (strads_glm_options){.lambda_ratio = .03, .intercept = true});
}

static linear_fit fit_or_fail(const lasso_design *design,
                              const strads_glm_options *o,
                              const strads_engine_options *engine)
{
    linear_fit fit = glm_design_fit(design, o, engine);

    cr_assert_eq(fit.err, STRADS_OK, "%s: %s", o->loss, strads_error_text());
    return fit;
}

/* The gap that rounding leaves to a least squares fit without an intercept.
 * Workers and the coordinator each add thousands of moves to margins that are
 * as large as the labels, and each addition rounds. The two copies then differ
 * by some 2^-46 |y|, the slopes of columns by |x_j| times this, and the gap is
 * this share of n lambda. With a design far from 0 and a small lambda this is
 * above 1e-10. 0: other fits, which have to converge. */
static double gap_of_rounding(const lasso_design *d,
                              const strads_glm_options *o,
                              const linear_fit *fit)
{
    double labels = 0, columns = 0;

    if (strcmp(o->loss, "squared") != 0 || o->intercept || o->standardize ||
        o->penalty)
        return 0;
    for (uint64_t i = 0; i < d->rows; i++)
        labels += d->y[i] * d->y[i];
    for (uint64_t j = 0; j < d->cols; j++) {
        const double *x = lasso_design_col(d, j);
        double square = 0;
        for (uint64_t i = 0; i < d->rows; i++)
            square += x[i] * x[i];
        columns = fmax(columns, square);
    }
    return 0x1p-46 * sqrt(labels * columns) / ((double)d->rows * fit->lambda);
}

/* How many coefficients are not 0. */
static uint64_t expect_optimal(const loss_case *l, const lasso_design *design,
                               const strads_glm_options *o,
                               const strads_engine_options *engine,
                               const char *what)
{
    linear_fit fit = fit_or_fail(design, o, engine);
    const double miss = glm_miss(design, o, &fit);
    const double value = glm_value(design, o, &fit);
    uint64_t nonzeros = 0;

    cr_expect(fit.end == STRADS_END_CONVERGED ||
                  (fit.end == STRADS_END_STOPPED &&
                   fit.gap < gap_of_rounding(design, o, &fit)),
              "%s, %s: ended by %d, gap %g", l->loss, what, (int)fit.end,
              fit.gap);
    cr_expect_lt(miss, l->miss, "%s, %s: violated by %g lambda", l->loss, what,
                 miss);
    cr_expect_lt(fabs(value - fit.objective), 1e-9 * value,
                 "%s, %s: reports %.15g at %.15g", l->loss, what, fit.objective,
                 value);
    for (uint64_t j = 0; j < design->cols; j++)
        nonzeros += fit.w[j] != 0;
    cr_expect_eq(fit.nonzeros, nonzeros, "%s, %s: %llu of %llu nonzeros",
                 l->loss, what, (unsigned long long)fit.nonzeros,
                 (unsigned long long)nonzeros);
    linear_fit_free(&fit);
    return nonzeros;
}

Test(glm_optimum, kkt_conditions_hold_under_every_option)
{
    const strads_engine_options engine = {.workers = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-10};

    for (const loss_case *l = losses; l < losses + LOSSES; l++)
        for (size_t i = 0; i < SIZES; i++) {
            lasso_design design = design_of(l, &sizes[i], i % 2 ? 3 : 0);
            for (size_t k = 0; k < VARIANTS; k++) {
                if (!sample_takes_next(1))
                    continue;
                const strads_glm_options o = with(l, variants[k]);
                char what[64];
                snprintf(what, sizeof(what), "design %zu, variant %zu", i, k);
                (void)expect_optimal(l, &design, &o, &engine, what);
            }
            lasso_design_free(&design);
        }
}

/* ---- kinds of runs ------------------------------------------------------ */

static void expect_same_objective(const lasso_design *design,
                                  const strads_glm_options *o,
                                  const strads_engine_options *engine,
                                  double objective)
{
    linear_fit fit = fit_or_fail(design, o, engine);

    cr_expect_lt(fabs(fit.objective - objective), 1e-8 * objective,
                 "%s, %u workers: %.12g, not %.12g", o->loss, engine->workers,
                 fit.objective, objective);
    linear_fit_free(&fit);
}

Test(glm_optimum, workers_and_partitions_reach_the_same)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        const strads_glm_options o = usual(l);
        lasso_design design = design_of(l, &sizes[2], 1);
        linear_fit first = fit_or_fail(&design, &o, NULL);
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t partitions = 4; partitions <= 7; partitions++) {
                const strads_engine_options engine = {.workers = workers,
                                                      .partitions = partitions,
                                                      .tolerance = 1e-9};
                expect_same_objective(&design, &o, &engine, first.objective);
            }
        linear_fit_free(&first);
        lasso_design_free(&design);
    }
}

/* A fit on the design, deterministic, and the same on more workers. */
static linear_fit expect_same_bits(const lasso_design *design,
                                   const strads_glm_options *o)
{
    linear_fit fit[2];

    for (uint32_t k = 0; k < 2; k++) {
        const strads_engine_options engine = {.workers = 1 + 2 * k,
                                              .partitions = 3,
                                              .deterministic = true,
                                              .tolerance = 1e-8};
        fit[k] = fit_or_fail(design, o, &engine);
    }
    cr_expect_arr_eq(fit[0].w, fit[1].w, design->cols * sizeof(double));
    cr_expect_eq(fit[0].intercept, fit[1].intercept);
    cr_expect_eq(fit[0].updates_other, fit[1].updates_other);
    linear_fit_free(&fit[1]);
    return fit[0];
}

Test(glm_optimum, deterministic_runs_repeat_bit_for_bit_on_any_workers)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        const strads_glm_options o = usual(l);
        lasso_design design = design_of(l, &sizes[4], 0);
        linear_fit fit = expect_same_bits(&design, &o);
        linear_fit_free(&fit);
        lasso_design_free(&design);
    }
}

/* One near the optimum, and one far from it. */
Test(glm_optimum, a_start_leads_to_the_same_lambda_and_minimum)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        const strads_glm_options o = usual(l);
        lasso_design design = design_of(l, &sizes[0], 2);
        linear_fit cold = fit_or_fail(&design, &o, NULL);
        uint32_t param[20];
        for (uint32_t j = 0; j < 20; j++)
            param[j] = j;
        cold.w[3] += .5;
        for (int far = 0; far < 2; far++) {
            const strads_engine_options engine = {.workers = 2,
                                                  .n_start = far ? 4 : 20,
                                                  .start_param = param,
                                                  .start_value = cold.w};
            (void)expect_optimal(l, &design, &o, &engine, "warm start");
            linear_fit warm = fit_or_fail(&design, &o, &engine);
            cr_expect_float_eq(warm.lambda, cold.lambda, 1e-9 * cold.lambda);
            linear_fit_free(&warm);
            cold.w[0] = 1, cold.w[1] = -2, cold.w[2] = 30;
        }
        linear_fit_free(&cold);
        lasso_design_free(&design);
    }
}

/* ---- gaps --------------------------------------------------------------- */

/* Fits with smaller and smaller gaps: the rest of the way to the optimum is
 * within each gap, and within `definition` of the fit (NULL: no such bound). */
static void
expect_bounds(const lasso_design *design, const strads_glm_options *o,
              double definition(const lasso_design *d, const linear_fit *fit))
{
    const strads_engine_options tight = {.workers = 1, .tolerance = 1e-12};
    linear_fit best = fit_or_fail(design, o, &tight);

    for (double tolerance = .3; tolerance > 1e-8; tolerance /= 10) {
        const strads_engine_options engine = {.workers = 1,
                                              .tolerance = tolerance};
        linear_fit fit = fit_or_fail(design, o, &engine);
        cr_expect_leq(fit.objective - best.objective,
                      fit.gap * fit.objective + 1e-12,
                      "%s, %s: %.12g above %.12g, gap %g", o->loss, o->penalty,
                      fit.objective, best.objective, fit.gap);
        cr_expect_leq(fit.gap, tolerance);
        if (definition)
            cr_expect_leq(fit.gap, 1.1 * definition(design, &fit) + 1e-12);
        linear_fit_free(&fit);
    }
    linear_fit_free(&best);
}

Test(glm_optimum, the_gap_bounds_the_possible_gain_of_a_rough_fit)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design design = design_of(l, &sizes[3], 2);
        for (size_t k = 0; k < VARIANTS; k++) {
            const strads_glm_options o = with(l, variants[k]);
            expect_bounds(&design, &o, NULL);
        }
        lasso_design_free(&design);
    }
}

static double entropy(double a)
{
    return a > 0 && a < 1 ? -a * log(a) - (1 - a) * log1p(-a) : 0;
}

/* (P - D) / P of a logistic fit with an L1 penalty and no intercept, from the
 * definition: the losses' slopes scaled until all columns are feasible. */
static double gap_by_definition(const lasso_design *d, const linear_fit *fit)
{
    const strads_glm_options plain = {.loss = "logistic"};
    const double primal = glm_value(d, &plain, fit), n = (double)d->rows;
    double *u = calloc(d->rows, sizeof(*u)), steepest = 0, dual = 0;

    for (uint64_t i = 0; i < d->rows; i++) {
        const double z = linear_fit_value_at(fit, d, i);
        u[i] = d->y[i] > 0 ? 1 / (1 + exp(z)) : -1 / (1 + exp(-z));
    }
    for (uint64_t j = 0; j < d->cols; j++) {
        double slope = 0;
        for (uint64_t i = 0; i < d->rows; i++)
            slope += lasso_design_col(d, j)[i] * u[i] / n;
        steepest = fmax(steepest, fabs(slope));
    }
    const double share = fmin(1, fit->lambda / steepest);
    for (uint64_t i = 0; i < d->rows; i++)
        dual += entropy(share * fabs(u[i])) / n;
    free(u);
    return (primal - dual) / primal;
}

Test(glm_optimum, the_gap_is_no_looser_than_the_definition_has_it)
{
    const strads_glm_options o = {.loss = "logistic", .lambda_ratio = .02};

    for (size_t k = 0; k < 3; k++) {
        lasso_design design = design_of(&losses[1], &sizes[k], 0);
        expect_bounds(&design, &o, gap_by_definition);
        lasso_design_free(&design);
    }
}

/* ---- many columns, and few ---------------------------------------------- */

/* More columns with few entries than a set has pairs kept of: their columns are
 * brought together instead; and more than a Newton step's matrix is for. More
 * than 400 must be in the set, so the optimum has more than 400. */
Test(glm_optimum, large_sets_are_solved_too)
{
    static const size_case large[] = {{1200, 1500, .002, .5},
                                      {500, 4000, .008, .95},
                                      {900, 640, .05, .6}};
    static const struct {
        int loss, first, last; /* designs */
        strads_glm_options options;
    } cases[] = {
        {0, 0, 1, {.lambda_ratio = .003}},
        {0,
         0,
         1,
         {.lambda_ratio = .003, .intercept = true, .standardize = true}},
        {0,
         0,
         1,
         {.penalty = "elastic-net",
          .lambda_ratio = .002,
          .l1_ratio = .6,
          .upper = INFINITY}},
        {1, 2, 2, {.lambda_ratio = .004}},
        {1,
         2,
         2,
         {.penalty = "elastic-net",
          .lambda_ratio = .004,
          .l1_ratio = .9,
          .intercept = true}}};

    for (uint32_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        for (int i = cases[k].first; i <= cases[k].last; i++) {
            if (!sample_takes_next(1))
                continue;
            const loss_case *l = &losses[cases[k].loss];
            const strads_glm_options o = with(l, cases[k].options);
            const strads_engine_options engine = {.workers = 1 + k % 2,
                                                  .partitions = 3,
                                                  .deterministic = true,
                                                  .tolerance =
                                                      i < 2 ? 1e-11 : 1e-10};
            lasso_design design = design_of(l, &large[i], i % 2);
            char what[64];
            snprintf(what, sizeof(what), "large design %d, case %u", i, k);
            cr_expect_gt(expect_optimal(l, &design, &o, &engine, what), 400,
                         "%s", what);
            lasso_design_free(&design);
        }
}

/* Many more columns than can matter: most scans leave most of them out, and
 * those that come to violate late must not be among them. */
Test(glm_optimum, no_column_of_many_is_overlooked)
{
    const strads_glm_options kinds[] = {{.lambda_ratio = .05},
                                        {.lambda_ratio = .02},
                                        {.lambda_ratio = .02,
                                         .intercept = true}};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = design_of(l, &(size_case){150, 3000, .3, .9}, 0);
        for (int k = 0; k < 3; k++) {
            if (!sample_takes_next(1))
                continue;
            const strads_glm_options o = with(l, kinds[k]);
            (void)expect_optimal(l, &d, &o, NULL, "3,000 columns");
        }
        lasso_design_free(&d);
    }
}

/* Correlated columns: hundreds slope at 0 for what some ten explain, and a
 * model of the first set has a visit to each of its members at least. */
Test(glm_optimum, of_many_that_violate_at_first_few_are_in_the_first_set)
{
    const strads_glm_options options = {.loss = "logistic", .lambda_ratio = .6};
    const strads_engine_options engine = {.workers = 1, .tolerance = .5};
    lasso_design d = design_of(&losses[1], &(size_case){300, 800, 1, .97}, 0);
    linear_fit fit = fit_or_fail(&d, &options, &engine);

    cr_expect_lt(fit.updates_other, 60, "%llu",
                 (unsigned long long)fit.updates_other);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* Newton's method, with a preconditioner from a part of the rows. */
Test(glm_optimum, an_l2_penalty_on_few_columns_needs_few_rounds)
{
    const strads_glm_options options = {.loss = "logistic",
                                        .penalty = "ridge",
                                        .c = 1,
                                        .intercept = true};
    const strads_engine_options engine = {.workers = 1,
                                          .partitions = 4,
                                          .deterministic = true,
                                          .max_rounds = 80};
    lasso_design design = design_of(&losses[1], &sizes[7], 2);
    linear_fit bits = expect_same_bits(&design, &options);

    (void)expect_optimal(&losses[1], &design, &options, &engine, "few rounds");
    linear_fit_free(&bits);
    lasso_design_free(&design);
}
