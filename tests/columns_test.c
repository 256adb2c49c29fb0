/* Fits by columns, against a certificate that the test computes from the
 * coefficients alone and against fits by rows: families of shapes, penalties,
 * losses, origins and units of columns, in memory and packed, with 1 to 4
 * partitions and workers. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "strads/lasso.h"
#include "strads/pack.h"
#include "strads/strads.h"
#include "tests/columns_cut.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"
#include "tests/sample.h"

TestSuite(columns, .init = oracle_enter, .fini = oracle_leave);

static const lasso_recipe shapes[] = {
    {30, 8, 1, 0, 0, .1, 0},      {40, 200, 2, .3, 0, .1, 0},
    {200, 40, 3, .2, 0, .1, 0},   {150, 600, 4, .1, 0, .1, 0},
    {100, 100, 5, 0, .9, .1, 0},  {60, 90, 6, 0, .5, .1, 1e4},
    {500, 300, 7, .02, 0, .1, 0},
};

/* The relative duality gap of w and b, by the definitions. */
static double gap_of(const lasso_design *d, const double *w, double b,
                     const strads_lasso_options *o)
{
    const double n = (double)d->rows;
    const double l1 = n * o->lambda * o->l1_ratio;
    const double l2 = n * o->lambda * (1 - o->l1_ratio);
    double *r = calloc(d->rows, sizeof *r), mean = 0, primal = 0;
    for (uint64_t i = 0; i < d->rows; i++)
        r[i] = d->y[i] - b;
    for (uint64_t j = 0; j < d->cols; j++) {
        for (uint64_t i = 0; i < d->rows; i++)
            r[i] -= lasso_design_col(d, j)[i] * w[j];
        primal += l1 * fabs(w[j]) + l2 / 2 * w[j] * w[j];
    }
    for (uint64_t i = 0; i < d->rows; i++) {
        primal += r[i] * r[i] / 2;
        mean += r[i] / n;
    }
    double largest = l1, beyond = 0, dual = 0;
    for (uint64_t i = 0; i < d->rows && o->intercept; i++)
        r[i] -= mean; /* a dual point */
    for (uint64_t j = 0; j < d->cols; j++) {
        double slope = 0;
        for (uint64_t i = 0; i < d->rows; i++)
            slope += lasso_design_col(d, j)[i] * r[i];
        largest = fmax(largest, fabs(slope));
        beyond += pow(fmax(fabs(slope) - l1, 0), 2);
    }
    const double s = l2 > 0 ? 1 : l1 / largest;
    for (uint64_t i = 0; i < d->rows; i++)
        dual += s * r[i] * d->y[i] - s * s * r[i] * r[i] / 2;
    if (l2 > 0)
        dual -= beyond / (2 * l2);
    free(r);
    return (primal - dual) / primal;
}

/* A run that has to converge. The caller frees the result. */
static strads_result *run_program(const lasso_design *d,
                                  const strads_program *program,
                                  const strads_glm_options *o,
                                  const columns_cut *f, double tolerance)
{
    strads_result *result = NULL;
    strads_data *data = columns_cut_data(d, program->split, f);
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = f->workers,
                                          .pools = f->pools,
                                          .tolerance = tolerance,
                                          .time_limit = 60};
    expect_ok(strads_run(program, o, data, &engine, &result));
    const strads_progress *end = strads_result_progress(result);
    cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s, loss %s, %llu x %llu, lambda ratio %g, l1 ratio %g, "
                 "intercept %d, pools %u: %d after %llu rounds at gap %g",
                 program->name, o->loss ? o->loss : "squared",
                 (unsigned long long)d->rows, (unsigned long long)d->cols,
                 o->lambda_ratio, o->l1_ratio, o->intercept, f->pools,
                 (int)strads_result_end(result), (unsigned long long)end->round,
                 end->gap);
    strads_data_free(data);
    return result;
}

/* Fits a Lasso; returns its coefficients, and the gap that the test finds. */
static double *fit_lasso(const lasso_design *d, const strads_lasso_options *o,
                         const columns_cut *f, double *gap)
{
    uint64_t parameters;
    uint32_t width;
    strads_result *result =
        run_program(d, &strads_program_lasso_columns, o, f, 1e-8);
    const void *state = strads_result_state(result);
    const strads_lasso_options resolved = strads_columns_resolved(state);
    const strads_columns_work work = strads_columns_worked(state);
    double *w = calloc(d->cols, sizeof *w);
    memcpy(w, strads_result_values(result, &parameters, &width),
           d->cols * sizeof *w);
    cr_assert(work.updates > 0 && work.scans > 1);
    cr_assert_leq(strads_result_progress(result)->gap, 1e-8);
    *gap = gap_of(d, w, strads_columns_intercept(state), &resolved);
    strads_result_free(result);
    return w;
}

static double objective_of(const lasso_design *d, const strads_program *program,
                           const strads_glm_options *o, const columns_cut *f)
{
    strads_result *result = run_program(d, program, o, f, 1e-7);
    const double objective = strads_result_progress(result)->objective;
    strads_result_free(result);
    return objective;
}

Test(columns, every_fit_has_the_gap_that_it_reports)
{
    static const columns_cut fits[] = {
        {1, 1, 1, false}, {1, 1, 1, true}, {2, 2, 1, false},
        {2, 2, 2, true},  {4, 2, 1, true}, {4, 4, 2, false},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (uint64_t how = 0; how < 8; how++) {
            lasso_recipe recipe = shapes[k];
            recipe.seed += 100 * how;
            lasso_design d = lasso_design_random(&recipe);
            const strads_lasso_options o = {.lambda_ratio = how < 4 ? .2 : .02,
                                            .l1_ratio = how % 4 < 2 ? 1 : .5,
                                            .intercept = how % 2 == 0 ||
                                                         recipe.offset != 0};
            for (size_t f = 0; f < sizeof fits / sizeof *fits; f++) {
                double gap;
                if (!sample_takes_next(1))
                    continue;
                if (fits[f].pools > 1 && (how >= 4 || recipe.correlation > .5))
                    continue; /* dependent columns of several pools: slow */
                free(fit_lasso(&d, &o, &fits[f], &gap));
                cr_expect_leq(gap, 2e-8, "shape %zu, options %d, fit %zu: %g",
                              k, (int)how, f, gap);
            }
            lasso_design_free(&d);
        }
}

Test(columns, bits_do_not_depend_on_partitions_workers_or_packing)
{
    lasso_design d = lasso_design_random(&shapes[3]);
    const strads_lasso_options o = {.lambda_ratio = .05, .intercept = true};
    const columns_cut fits[] = {{1, 1, 1, false},
                                {2, 1, 1, true},
                                {2, 2, 1, true},
                                {4, 2, 1, false},
                                {4, 4, 1, true}};
    double gap, *first = fit_lasso(&d, &o, &fits[0], &gap);
    for (size_t f = 1; f < sizeof fits / sizeof *fits; f++) {
        double *w = fit_lasso(&d, &o, &fits[f], &gap);
        cr_expect_eq(memcmp(first, w, d.cols * sizeof *w), 0, "fit %zu", f);
        free(w);
    }
    free(first);
    lasso_design_free(&d);
}

/* With an intercept the origin of columns does not matter: columns of
 * timestamps end where the centred ones do. */
Test(columns, origins_of_columns_do_not_matter)
{
    const columns_cut fits[] = {{1, 1, 1, false},
                                {1, 1, 1, true},
                                {2, 2, 1, true}};
    const lasso_recipe near = {60, 90, 8, 0, .5, .1, 0};
    const strads_glm_options o = {.lambda_ratio = .1, .intercept = true};
    for (size_t f = 0; f < 3; f++)
        for (double origin = 1e2; origin <= 1e8; origin *= 100) {
            lasso_design d = lasso_design_random(&near);
            const double best =
                objective_of(&d, &strads_program_glm_columns, &o, &fits[f]);
            for (uint64_t j = 0; j < d.cols; j += 1 + j % 3)
                for (uint64_t i = 0; i < d.rows; i++)
                    lasso_design_col(&d, j)[i] += origin * (double)(1 + j % 5);
            const double far =
                objective_of(&d, &strads_program_glm_columns, &o, &fits[f]);
            cr_expect_float_eq(far, best, (2e-7 + 1e-15 * origin) * best,
                               "origin %g, fit %zu: %.12g, not %.12g", origin,
                               f, far, best);
            lasso_design_free(&d);
        }
}

/* Nor do units: in f32 most of these products would be 0 or infinite. */
Test(columns, units_of_columns_and_labels_do_not_matter)
{
    static const double units[] = {1e-70, 1e-45, 1e-30, 1, 1e30, 1e45, 1e70};
    const lasso_recipe plain = {80, 120, 9, .3, 0, .1, 0};
    const columns_cut f = {2, 2, 1, true};
    const strads_glm_options o = {.lambda_ratio = .1, .intercept = true};
    lasso_design d = lasso_design_random(&plain);
    const double best = objective_of(&d, &strads_program_glm_columns, &o, &f);
    lasso_design_free(&d);
    for (int x = 0; x < 7; x++)
        for (int y = 0; y < 7; y++) {
            if (!sample_takes_next(1))
                continue;
            d = lasso_design_random(&plain);
            for (uint64_t e = 0; e < d.rows * d.cols; e++)
                d.x[e] *= units[x];
            for (uint64_t i = 0; i < d.rows; i++)
                d.y[i] *= units[y];
            const double value =
                objective_of(&d, &strads_program_glm_columns, &o, &f) /
                units[y] / units[y];
            cr_expect_float_eq(value, best, 1e-6 * best, "units %g, %g: %g",
                               units[x], units[y], value);
            lasso_design_free(&d);
        }
}

/* Columns beyond the range of f32 among others. */
Test(columns, columns_of_mixed_units_are_found)
{
    lasso_design d = lasso_design_random(&shapes[2]);
    const columns_cut how = {1, 1, 1, true};
    for (uint64_t j = 0; j < d.cols; j += 3)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] *= 1e60;
    const strads_lasso_options o = {.lambda = 1e57, .intercept = true};
    double gap, *w = fit_lasso(&d, &o, &how, &gap);
    uint64_t found = 0;
    for (uint64_t j = 0; j < d.cols; j++)
        found += w[j] != 0;
    cr_expect_gt(found, 0);
    free(w);
    lasso_design_free(&d);
}

/* More columns pass the first screening than a scan keeps: the steepest stay,
 * later scans find the others that move. */
Test(columns, a_scan_keeps_the_steepest_of_too_many)
{
    const lasso_recipe wide = {20, 400000, 10, .3, 0, .1, 0};
    lasso_design d = lasso_design_random(&wide);
    for (int how = 0; how < 2; how++) {
        const columns_cut f = {1, 1, 1, how == 1};
        const strads_lasso_options o = {.lambda_ratio = .2,
                                        .l1_ratio = how == 0 ? 1 : .5,
                                        .intercept = true};
        double gap;
        free(fit_lasso(&d, &o, &f, &gap));
        cr_expect_leq(gap, 2e-8, "%d: %g", how, gap);
    }
    lasso_design_free(&d);
}

/* Labels that every loss of this list takes. */
static void fit_labels(lasso_design *d, size_t loss)
{
    for (uint64_t i = 0; i < d->rows; i++)
        d->y[i] = loss == 1 || loss == 2 ? d->y[i] > 0
                  : loss == 3            ? floor(fabs(d->y[i]))
                  : loss == 4            ? exp(d->y[i] / 4)
                  : loss == 5            ? fmax(d->y[i], 0)
                                         : d->y[i];
}

/* Of every loss, the optimum of the program by rows, which has oracles of its
 * own. */
Test(columns, every_loss_ends_at_the_optimum_by_rows)
{
    static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                         "poisson", "gamma",    "tweedie",
                                         "huber"};
    static const columns_cut by_rows = {1, 1, 0, false};
    static const columns_cut fits[] = {{1, 1, 1, true}, {3, 2, 1, true}};
    for (size_t l = 0; l < sizeof losses / sizeof *losses; l++)
        for (size_t how = 0; how < 12; how++) {
            if (!sample_takes_next(1))
                continue;
            lasso_recipe recipe = shapes[1 + how % 3];
            recipe.seed = 20 * l + how;
            lasso_design d = lasso_design_random(&recipe);
            fit_labels(&d, l);
            double *offset = calloc(d.rows, sizeof *offset);
            for (uint64_t i = 0; i < d.rows; i++)
                offset[i] = sin((double)(i * (l + 2)));
            const strads_glm_options o = {.loss = losses[l],
                                          .penalty =
                                              how < 6 ? "l1" : "elastic-net",
                                          .lambda_ratio = .1,
                                          .row_offset =
                                              how % 4 > 1 ? offset : NULL,
                                          .lower = how % 3 > 0 ? 0 : -INFINITY,
                                          .upper = INFINITY,
                                          .intercept = how % 2 == 0};
            const double best =
                objective_of(&d, &strads_program_glm, &o, &by_rows);
            for (size_t f = 0; f < sizeof fits / sizeof *fits; f++)
                cr_expect_float_eq(objective_of(&d, &strads_program_glm_columns,
                                                &o, &fits[f]),
                                   best, 1e-6 * best,
                                   "%s, options %zu, fit %zu", losses[l], how,
                                   f);
            free(offset);
            lasso_design_free(&d);
        }
}

/* Columns of units from .1 to 30, some of them constant. */
static void mix_units(lasso_design *d, size_t how)
{
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint64_t i = 0; i < d->rows; i++)
            if (j % 29 == 7 + how % 3)
                lasso_design_col(d, j)[i] = 3.3;
            else
                lasso_design_col(d, j)[i] *= pow(10, (double)(j % 6) / 2 - 1);
}

/* Deviations, bounds, penalty factors and class weights, alone and together, at
 * the optimum by rows. Every second member leaves some columns without a
 * penalty, so that lambda_max is that of the others. */
Test(columns, scales_bounds_factors_and_class_weights_are_those_by_rows)
{
    static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                         "poisson", "gamma",    "tweedie",
                                         "huber"};
    static const double lowers[] = {-DBL_MAX, -.02, 0, -DBL_MAX, -1e6};
    static const double uppers[] = {DBL_MAX, .03, .01, .02, 1e6};
    static const columns_cut by_rows = {1, 1, 0, false};
    static const columns_cut fits[] = {{1, 1, 1, true},
                                       {3, 2, 1, true},
                                       {2, 2, 2, false},
                                       {4, 4, 1, false}};
    enum { MEMBERS = 20, COLS_MAX = 200 };
    for (size_t l = 0; l < sizeof losses / sizeof *losses; l++)
        for (size_t how = 0; how < MEMBERS; how++) {
            if (!sample_takes_next(1))
                continue;
            lasso_recipe recipe = shapes[1 + how % 3];
            recipe.seed = 50 * l + how + 7;
            recipe.cols = recipe.cols > COLS_MAX ? COLS_MAX : recipe.cols;
            lasso_design d = lasso_design_random(&recipe);
            fit_labels(&d, l);
            mix_units(&d, how);
            double factor[COLS_MAX], weight[200];
            for (uint64_t j = 0; j < d.cols; j++)
                factor[j] =
                    j % 31 == 4 && how % 4 < 2 ? 0 : (double)(1 + j % 3);
            for (uint64_t i = 0; i < d.rows; i++)
                weight[i] = (double)(1 + i % 3) / 2;
            const bool classes = l == 1 || l == 2;
            const strads_glm_options o = {
                .loss = losses[l],
                .penalty = how % 5 < 3 ? "l1" : "elastic-net",
                .lambda_ratio = .1,
                .standardize = how % 2 == 0,
                .penalty_factor = how % 3 > 0 ? factor : NULL,
                .row_weight = how % 7 > 3 ? weight : NULL,
                .class_weight = !classes      ? NULL
                                : how % 4 < 2 ? "balanced"
                                              : "0=3,1=0.5",
                .lower = lowers[how % 5],
                .upper = uppers[how % 5],
                .intercept = how % 6 != 1};
            strads_result *result =
                run_program(&d, &strads_program_glm, &o, &by_rows, 1e-8);
            const double best = strads_result_progress(result)->objective;
            const double lambda_max =
                strads_glm_lambda_max(strads_result_state(result));
            strads_result_free(result);
            const columns_cut *f = &fits[(l + how) % 4];
            result = run_program(&d, &strads_program_glm_columns, &o, f, 1e-7);
            cr_expect_float_eq(strads_columns_lambda_max(
                                   strads_result_state(result)),
                               lambda_max, 1e-6 * lambda_max,
                               "%s, options %zu: lambda_max", losses[l], how);
            cr_expect_float_eq(strads_result_progress(result)->objective, best,
                               1e-6 * best, "%s, options %zu: %.9g, not %.9g",
                               losses[l], how,
                               strads_result_progress(result)->objective, best);
            strads_result_free(result);
            lasso_design_free(&d);
        }
}

/* Runs the Lasso by columns with any options. */
static strads_err try_lasso(const strads_lasso_options *o, double tolerance,
                            strads_result **out)
{
    const columns_cut f = {1, 1, 1, false};
    lasso_design d = lasso_design_random(&shapes[1]);
    strads_data *data = columns_cut_data(&d, STRADS_SPLIT_COLS, &f);
    const strads_engine_options engine = {.size = sizeof engine,
                                          .tolerance = tolerance,
                                          .time_limit = 60};
    const strads_err err =
        strads_run(&strads_program_lasso_columns, o, data, &engine, out);
    strads_data_free(data);
    lasso_design_free(&d);
    return err;
}

/* A tolerance below the rounding of the gap: the run ends, and tells how far it
 * came. */
Test(columns, a_tolerance_that_rounding_forbids_ends_the_run)
{
    strads_result *result = NULL;
    const strads_lasso_options o = {.lambda_ratio = .1, .intercept = true};
    expect_ok(try_lasso(&o, 1e-19, &result));
    cr_expect_eq(strads_result_end(result), STRADS_END_STOPPED);
    cr_expect_leq(strads_result_progress(result)->gap, 1e-10);
    strads_result_free(result);
}

/* Even lambda_max is 0 then. */
Test(columns, no_coefficient_is_positive_where_all_point_down)
{
    lasso_design d = lasso_design_random(&shapes[2]);
    const columns_cut f = {2, 2, 1, true};
    const strads_lasso_options o = {.lambda = .1, .positive = true};
    for (uint64_t j = 0; j < d.cols; j++) {
        double slope = 0;
        for (uint64_t i = 0; i < d.rows; i++)
            slope += lasso_design_col(&d, j)[i] * d.y[i];
        for (uint64_t i = 0; i < d.rows && slope > 0; i++)
            lasso_design_col(&d, j)[i] *= -1;
    }
    strads_result *result =
        run_program(&d, &strads_program_lasso_columns, &o, &f, 1e-8);
    uint64_t parameters;
    uint32_t width;
    const double *w = strads_result_values(result, &parameters, &width);
    for (uint64_t j = 0; j < d.cols; j++)
        cr_expect_eq(w[j], 0);
    strads_result_free(result);
    lasso_design_free(&d);
}

Test(columns, options_that_it_lacks_are_refused)
{
    const strads_lasso_options refused = {.lambda = -0.0};
    strads_result *result = NULL;
    expect_error(try_lasso(&refused, 0, &result), STRADS_EINVAL,
                 "a fit by columns");
}
