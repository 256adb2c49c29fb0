/* Relaxed and adaptive fits against their definitions: the conditions of a fit
 * without a penalty on the selected columns, mixtures, and penalty factors that
 * are computed here from a first fit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { POINTS = 8 };

/* A path of a design; the caller frees result and data. */
static const strads_path_point *run_path(const strads_data *data,
                                         const strads_glm_options *fit,
                                         strads_result **result, uint32_t *n)
{
    const strads_glm_path_options o = {.fit = *fit, .points = POINTS};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = 1,
                                          .partitions =
                                              strads_data_partitions(data),
                                          .deterministic = true,
                                          .tolerance = 1e-9};

    expect_ok(strads_run(&strads_program_glm_path, &o, data, &engine, result));
    return strads_glm_path(strads_result_state(*result), n);
}

static double margin_at(const lasso_design *d, const strads_path_point *point,
                        uint64_t i)
{
    double z = point->intercept;

    for (uint64_t k = 0; k < point->nonzeros; k++)
        z += point->value[k] * lasso_design_col(d, point->index[k])[i];
    return z;
}

/* - f' of a row of weight 1; logistic labels are 0 and 1. */
static double slope_at(const char *loss, double y, double z)
{
    if (strcmp(loss, "poisson") == 0)
        return y - exp(z);
    return strcmp(loss, "logistic") == 0 ? y - 1 / (1 + exp(-z)) : y - z;
}

/* Twice the loss of a row, up to the constant of poisson. */
static double deviance_at(const char *loss, double y, double z)
{
    if (strcmp(loss, "poisson") == 0)
        return 2 * (exp(z) - y * z - (y > 0 ? y - y * log(y) : 0));
    return strcmp(loss, "logistic") == 0 ? 2 * log1p(exp(y > 0 ? -z : z))
                                         : (y - z) * (y - z);
}

static void expect_relaxed(const char *loss, uint64_t rows, uint64_t seed,
                           uint32_t partitions)
{
    const lasso_recipe recipe = {
        .rows = rows, .cols = 20, .seed = seed, .density = .7, .noise = 3};
    lasso_design d = glm_design_random(&recipe, loss);
    double weight[400];
    for (uint64_t i = 0; i < rows; i++)
        weight[i] = 1 + (double)(i % 3);
    const strads_glm_relax_options o = {
        .fit = {.loss = loss, .intercept = true, .row_weight = weight}};
    strads_glm_relax_options half = o;
    strads_data *data;
    strads_result *result;
    strads_path_point free_of[POINTS], mixed[POINTS];
    uint32_t n;

    half.share = .25;
    expect_ok(lasso_design_data(&d, partitions, &data));
    const strads_path_point *point = run_path(data, &o.fit, &result, &n);
    cr_assert_eq(n, POINTS);
    expect_ok(strads_glm_relax(data, &o, point, n, free_of));
    expect_ok(strads_glm_relax(data, &half, point, n, mixed));
    for (uint32_t k = 0; k < n; k++) {
        double deviance = 0, worst = 0, all = 0;
        cr_assert_eq(free_of[k].index, point[k].index);
        for (uint64_t e = 0; e <= point[k].nonzeros && point[k].nonzeros; e++) {
            double slope = 0, size = 0;
            for (uint64_t i = 0; i < rows; i++) {
                const double x =
                    e < point[k].nonzeros
                        ? lasso_design_col(&d, point[k].index[e])[i]
                        : 1;
                const double z = margin_at(&d, &free_of[k], i);
                slope += weight[i] * x * slope_at(loss, d.y[i], z);
                size += weight[i] * fabs(x) * (1 + fabs(d.y[i]));
            }
            worst = fmax(worst, fabs(slope) / size);
        }
        cr_assert_lt(worst, 1e-5, "%s, point %u: slope %g", loss, k, worst);
        for (uint64_t e = 0; e < point[k].nonzeros; e++)
            cr_assert_float_eq(mixed[k].value[e],
                               .25 * point[k].value[e] +
                                   .75 * free_of[k].value[e],
                               1e-12);
        for (uint64_t i = 0; i < rows; i++) {
            const double z = margin_at(&d, &mixed[k], i);
            deviance += weight[i] * deviance_at(loss, d.y[i], z);
            all += weight[i];
        }
        cr_assert_float_eq(mixed[k].deviance, deviance, 1e-9 * (all + deviance),
                           "%s, point %u: deviance %g, expected %g", loss, k,
                           mixed[k].deviance, deviance);
        if (point[k].nonzeros > 0)
            cr_assert_lt(free_of[k].deviance, point[k].deviance * (1 + 1e-12));
    }
    strads_glm_relaxed_free(free_of, n);
    strads_glm_relaxed_free(mixed, n);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(glm_refit, relaxed_fits_have_no_slope_on_the_selected_columns)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        expect_relaxed("squared", 60 * seed, seed, (uint32_t)seed);
        expect_relaxed("logistic", 100 * seed, seed, 2);
        expect_relaxed("poisson", 80, seed, 1);
    }
}

Test(glm_refit, points_without_a_unique_refit_stay_as_they_are)
{
    const lasso_recipe recipe = {.rows = 12, .cols = 30, .seed = 4, .noise = 1};
    lasso_design d = glm_design_random(&recipe, "squared");
    const strads_glm_relax_options o = {.fit = {.intercept = true}};
    strads_path_point out[POINTS];
    strads_data *data;
    strads_result *result;
    uint32_t n, kept = 0;

    expect_ok(lasso_design_data(&d, 1, &data));
    const strads_path_point *point = run_path(data, &o.fit, &result, &n);
    expect_ok(strads_glm_relax(data, &o, point, n, out));
    for (uint32_t k = 0; k < n; k++) {
        if (point[k].nonzeros + 1 + 3 <= 12)
            continue;
        kept++;
        for (uint64_t e = 0; e < point[k].nonzeros; e++)
            cr_assert_eq(out[k].value[e], point[k].value[e]);
    }
    cr_assert_gt(kept, 0);
    strads_glm_relaxed_free(out, n);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(glm_refit, cross_validation_judges_each_share)
{
    const lasso_recipe recipe = {.rows = 60, .cols = 10, .seed = 6, .noise = 4};
    const double relax[] = {1, .5, 0}, one[] = {0};
    lasso_design d = glm_design_random(&recipe, "squared");
    strads_glm_cv_options o = {.path = {.fit = {.intercept = true},
                                        .points = POINTS,
                                        .first = 2},
                               .folds = 5};
    strads_cv_point plain[POINTS], all[3 * POINTS], last[POINTS];
    uint32_t best, simplest;
    strads_data *data;

    expect_ok(lasso_design_data(&d, 2, &data));
    expect_ok(strads_glm_cv(data, &o, plain, &best, &simplest));
    o.relax = relax;
    o.relaxes = 3;
    expect_ok(strads_glm_cv(data, &o, all, &best, &simplest));
    o.relax = one;
    o.relaxes = 1;
    o.threads = 2;
    uint32_t own_best, own_simplest;
    expect_ok(strads_glm_cv(data, &o, last, &own_best, &own_simplest));
    for (uint32_t k = 0; k < POINTS; k++) {
        const strads_cv_point *at = &all[3 * k];
        cr_assert_float_eq(at[0].error, plain[k].error, 1e-12);
        cr_assert_eq(at[2].error, last[k].error);
        cr_assert_eq(at[1].lambda, plain[k].lambda);
        /* Squared errors are convex in the share. */
        cr_assert_leq(at[1].error,
                      .5 * (at[0].error + at[2].error) * (1 + 1e-12));
        for (uint32_t r = 0; r < 3; r++)
            cr_assert_geq(at[r].error, all[best].error);
    }
    for (uint32_t k = 0; k < simplest; k++)
        cr_assert_gt(all[k].error, all[best].error + all[best].deviation);
    cr_assert_leq(all[simplest].error, all[best].error + all[best].deviation);
    strads_data_free(data);
    lasso_design_free(&d);
}

/* ---- adaptive ------------------------------------------------------------ */

Test(glm_refit, adaptive_factors_are_powers_of_the_first_coefficients)
{
    enum { ROWS = 50, COLS = 6 };
    const double first[COLS] = {.5, -2, 0, 1e-40, 3, .1};
    const double given[COLS] = {1, 2, 1, 1, 0, 1};
    for (int standardize = 0; standardize <= 1; standardize++)
        for (uint32_t partitions = 1; partitions <= 3; partitions++) {
            const lasso_recipe recipe = {.rows = ROWS,
                                         .cols = COLS,
                                         .seed = 3,
                                         .density = .8,
                                         .noise = 1,
                                         .offset = 5};
            lasso_design d = glm_design_random(&recipe, "squared");
            const strads_glm_adaptive_options o = {.fit = {.intercept = true,
                                                           .standardize =
                                                               standardize != 0,
                                                           .penalty_factor =
                                                               given},
                                                   .gamma = 1.5,
                                                   .first = first};
            double factor[COLS];
            strads_data *data;
            expect_ok(lasso_design_data(&d, partitions, &data));
            expect_ok(strads_glm_adaptive(data, &o, factor));
            for (uint64_t j = 0; j < COLS; j++) {
                const double *x = lasso_design_col(&d, j);
                double mean = 0, square = 0;
                for (uint64_t i = 0; i < ROWS; i++)
                    mean += x[i] / ROWS;
                for (uint64_t i = 0; i < ROWS; i++)
                    square += (x[i] - mean) * (x[i] - mean) / ROWS;
                const double s = standardize ? sqrt(square) : 1;
                const double expected =
                    given[j] == 0
                        ? 0
                        : fmin(given[j] / pow(s * fabs(first[j]), 1.5), 1e30);
                cr_assert_float_eq(factor[j], expected, 1e-9 * expected);
            }
            strads_data_free(data);
            lasso_design_free(&d);
        }
}

/* The oracle property at work: with strong signals the adaptive path has a
 * point with just the true columns, whose first fit is the default ridge. */
Test(glm_refit, the_default_first_fit_finds_strong_columns)
{
    enum { ROWS = 200, COLS = 12 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const lasso_recipe recipe = {.rows = ROWS, .cols = COLS, .seed = seed};
        lasso_design d = glm_design_random(&recipe, "squared");
        for (uint64_t i = 0; i < ROWS; i++)
            d.y[i] = 3 * lasso_design_col(&d, 1)[i] -
                     2 * lasso_design_col(&d, 7)[i] +
                     .5 * lasso_design_col(&d, 3)[(i * 31 + 7) % ROWS];
        const strads_glm_adaptive_options o = {.fit = {.intercept = true},
                                               .threads = 2};
        double factor[COLS];
        strads_data *data;
        expect_ok(lasso_design_data(&d, 2, &data));
        expect_ok(strads_glm_adaptive(data, &o, factor));
        for (uint64_t j = 0; j < COLS; j++) {
            cr_assert_gt(factor[j], 0);
            if (j != 1 && j != 7)
                cr_assert_gt(factor[j], 3 * fmax(factor[1], factor[7]));
        }
        cr_assert_float_eq(factor[1], 1. / 3, .1);
        cr_assert_float_eq(factor[7], 1. / 2, .1);
        strads_data_free(data);
        lasso_design_free(&d);
    }
}

Test(glm_refit, options_that_do_not_fit_are_refused)
{
    const lasso_recipe recipe = {.rows = 20, .cols = 3, .seed = 1, .noise = 1};
    lasso_design d = glm_design_random(&recipe, "squared");
    const double zero[3] = {0};
    double factor[3];
    strads_path_point none;
    strads_data *data;

    expect_ok(lasso_design_data(&d, 1, &data));
    expect_error(strads_glm_adaptive(data,
                                     &(strads_glm_adaptive_options){
                                         .fit = {.penalty = "ridge"}},
                                     factor),
                 STRADS_EINVAL, "l1 and elastic-net, and the penalty is ridge");
    expect_error(
        strads_glm_adaptive(data, &(strads_glm_adaptive_options){.first = zero},
                            factor),
        STRADS_EINVAL, "all coefficients of the first fit are 0");
    expect_error(strads_glm_adaptive(
                     data, &(strads_glm_adaptive_options){.gamma = -1}, factor),
                 STRADS_EINVAL, "adaptive is -1");
    expect_error(strads_glm_relax(data,
                                  &(strads_glm_relax_options){.share = 1.5},
                                  NULL, 0, &none),
                 STRADS_EINVAL, "relax is 1.5");
    expect_error(strads_glm_relax(data,
                                  &(strads_glm_relax_options){
                                      .fit = {.penalty = "none"}},
                                  NULL, 0, &none),
                 STRADS_EINVAL, "the penalty none selects none");
    strads_data_free(data);
    lasso_design_free(&d);
}
