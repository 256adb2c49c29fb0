/* Paths and cross-validations by columns, against those by rows, which have
 * oracles of their own: families of shapes, losses, penalties, weights and
 * folds, in memory and packed, with 1 to 4 partitions and workers. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "strads/glm.h"
#include "strads/strads.h"
#include "tests/columns_cut.h"
#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/sample.h"

TestSuite(columns_path, .init = oracle_enter, .fini = oracle_leave);

static const lasso_recipe shapes[] = {
    {40, 200, 2, .3, 0, .1, 0}, {200, 40, 3, .2, 0, .1, 0},
    {90, 60, 5, 0, .5, .1, 50}, {150, 400, 4, .1, 0, .1, 0},
    {80, 30, 6, 0, 0, .3, 0},
};
static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                     "poisson", "huber",    "gamma",
                                     "tweedie"};
enum { LOSSES = sizeof losses / sizeof *losses };
static const columns_cut by_rows = {1, 1, 0, false};
static const columns_cut cuts[] = {{1, 1, 1, false},
                                   {2, 2, 1, true},
                                   {4, 4, 1, true},
                                   {2, 2, 2, true}};
enum {
    CUTS = sizeof cuts / sizeof *cuts,
    ROWS_MAX = 200,
    COLS_MAX = 400,
    POINTS_MAX = 16
};

/* A path that has to reach its last point. The caller frees the result. */
static strads_result *run_path(const lasso_design *d,
                               const strads_program *program,
                               const strads_glm_path_options *o,
                               const columns_cut *cut, double tolerance)
{
    strads_result *result = NULL;
    strads_data *data = columns_cut_data(d, program->split, cut);
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = cut->workers,
                                          .pools = cut->pools,
                                          .seed = 5,
                                          .tolerance = tolerance,
                                          .time_limit = 60};
    expect_ok(strads_run(program, o, data, &engine, &result));
    cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s, loss %s, %llu x %llu, weights %d: end %d after %llu "
                 "rounds at gap %g",
                 program->name, o->fit.loss, (unsigned long long)d->rows,
                 (unsigned long long)d->cols, o->fit.row_weight != NULL,
                 (int)strads_result_end(result),
                 (unsigned long long)strads_result_progress(result)->round,
                 strads_result_progress(result)->gap);
    strads_data_free(data);
    return result;
}

/* Some rows weigh 0, others more than 1. */
static const double *weights_of(uint64_t how, uint64_t rows)
{
    static double weight[ROWS_MAX];
    for (uint64_t i = 0; i < rows; i++)
        weight[i] = (double)((7 * i + how) % 5) / 2;
    return how % 2 ? weight : NULL;
}

/* Some columns have no penalty. A Poisson fit of a fold may then have no
 * minimum, if all labels beside a column's entries are 0. */
static const double *factors_of(uint64_t how)
{
    static double factor[COLS_MAX];
    for (uint64_t j = 0; j < COLS_MAX; j++)
        factor[j] =
            j % 37 == 5 && how % LOSSES != 3 ? 0 : (double)(1 + j % 4) / 2;
    return how % 5 == 2 ? factor : NULL;
}

/* Member `how` of the family: any loss, penalty, lambdas, weights, bounds and
 * scales. */
static strads_glm_path_options options_of(uint64_t how, const lasso_design *d)
{
    static const char *const lambdas[] = {NULL, ".3,.1,.004,.002", "1e9,.05"};
    const bool bounded = how % 9 == 4, classes = how % LOSSES == 1;
    return (strads_glm_path_options){
        .fit = {.loss = losses[how % LOSSES],
                .penalty = how % 3 ? "l1" : "elastic-net",
                .intercept = how % 4 != 1,
                .standardize = how % 5 > 2,
                .class_weight = classes && how % 3 > 0 ? "balanced" : NULL,
                .penalty_factor = factors_of(how),
                .lower = bounded ? -.05 : 0,
                .upper = bounded ? .1 : 0,
                .row_weight = weights_of(how, d->rows)},
        .points = 3 + (uint32_t)how % 10,
        .ratio = how % 2 ? .05 : .3,
        .lambdas = lambdas[how % 7 < 5 ? 0 : how % 7 - 4]};
}

Test(columns_path, every_point_is_that_by_rows)
{
    for (uint64_t how = 0; how < 28; how++) {
        if (!sample_takes_next(1))
            continue;
        lasso_recipe recipe = shapes[(how / 5 + how) % 5];
        recipe.seed += 100 * how;
        lasso_design d = glm_design_random(&recipe, losses[how % LOSSES]);
        const strads_glm_path_options o = options_of(how, &d);
        strads_result *best =
            run_path(&d, &strads_program_glm_path, &o, &by_rows, 1e-7);
        uint32_t n, m;
        const strads_path_point *a =
            strads_glm_path(strads_result_state(best), &n);
        const columns_cut *cut = &cuts[how % CUTS];
        strads_result *result =
            run_path(&d, &strads_program_glm_path_columns, &o, cut, 1e-7);
        const strads_path_point *b =
            strads_columns_path(strads_result_state(result), &m);
        cr_assert_eq(n, m, "member %d", (int)how);
        for (uint32_t k = 0; k < n; k++) {
            cr_expect_leq(b[k].gap, 1e-7);
            cr_expect_float_eq(a[k].lambda, b[k].lambda, 1e-9 * a[k].lambda,
                               "member %d, point %u", (int)how, k);
            cr_expect_float_eq(a[k].objective, b[k].objective,
                               2e-7 * a[k].objective + 1e-12,
                               "member %d, point %u: %.12g, not %.12g",
                               (int)how, k, b[k].objective, a[k].objective);
        }
        /* The coefficients of the run are the last point's. */
        uint64_t parameters, found = 0;
        uint32_t width;
        const double *w = strads_result_values(result, &parameters, &width);
        for (uint64_t j = 0; j < d.cols; j++) {
            const bool has =
                found < b[m - 1].nonzeros && b[m - 1].index[found] == j;
            cr_expect_float_eq(w[j], has ? b[m - 1].value[found] : 0,
                               1e-15 * fabs(w[j]), "member %d", (int)how);
            found += has;
        }
        cr_expect_float_eq(strads_columns_intercept(
                               strads_result_state(result)),
                           b[m - 1].intercept, 1e-15);
        strads_result_free(result);
        strads_result_free(best);
        lasso_design_free(&d);
    }
}

Test(columns_path, bits_do_not_depend_on_partitions_workers_or_packing)
{
    static const columns_cut same[] = {{1, 1, 1, false},
                                       {2, 1, 1, true},
                                       {2, 2, 1, false},
                                       {4, 4, 1, true}};
    lasso_design d = glm_design_random(&shapes[3], "logistic");
    const strads_glm_path_options o = {.fit = {.loss = "logistic",
                                               .penalty = "l1",
                                               .intercept = true},
                                       .points = 12,
                                       .ratio = .02,
                                       .folds = 3};
    strads_result *first = NULL;
    for (size_t c = 0; c < sizeof same / sizeof *same; c++) {
        uint32_t n, m;
        strads_result *other =
            run_path(&d, &strads_program_glm_path_columns, &o, &same[c], 1e-6);
        first = first ? first : other;
        const strads_path_point *a =
            strads_columns_path(strads_result_state(first), &n);
        const strads_path_point *b =
            strads_columns_path(strads_result_state(other), &m);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert_eq(a[k].nonzeros, b[k].nonzeros);
            cr_expect_eq(memcmp(a[k].value, b[k].value,
                                a[k].nonzeros * sizeof *a[k].value),
                         0, "cut %zu, point %u", c, k);
        }
        strads_cv_point p[12], q[12];
        uint32_t best, simplest;
        expect_ok(
            strads_columns_cv(strads_result_state(first), p, &best, &simplest));
        expect_ok(
            strads_columns_cv(strads_result_state(other), q, &best, &simplest));
        for (uint32_t k = 0; k < n; k++)
            cr_expect_eq(p[k].error, q[k].error, "cut %zu, point %u", c, k);
        if (other != first)
            strads_result_free(other);
    }
    strads_result_free(first);
    lasso_design_free(&d);
}

/* Writes folds of very unequal size. */
static const char *write_folds(uint64_t rows)
{
    const char *path = oracle_path("folds.txt");
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    for (uint64_t i = 0; i < rows; i++)
        (void)fprintf(file, "%d\n", i % 7 == 3 ? 1 : i % 2 ? 2 : 3);
    (void)fclose(file);
    return path;
}

Test(columns_path, errors_on_rows_left_out_are_those_by_rows)
{
    for (uint64_t how = 0; how < 28; how++) {
        lasso_recipe recipe = shapes[(how / 5 + how) % 5];
        recipe.seed += 100 * how;
        lasso_design d = glm_design_random(&recipe, losses[how % LOSSES]);
        strads_glm_path_options o = options_of(how, &d);
        o.lambdas = NULL;
        o.folds = 2 + (uint32_t)how % 4;
        o.fold_file = how % 6 == 5 ? write_folds(d.rows) : NULL;
        strads_result *result =
            run_path(&d, &strads_program_glm_path_columns, &o,
                     &cuts[(how + how / 4) % CUTS], 1e-9);
        strads_cv_point a[POINTS_MAX], b[POINTS_MAX];
        double lambda[POINTS_MAX];
        uint32_t n, best, simplest, other;
        const void *state = strads_result_state(result);
        const strads_path_point *point = strads_columns_path(state, &n);
        for (uint32_t k = 0; k < n; k++)
            lambda[k] = point[k].lambda;
        expect_ok(strads_columns_cv(state, b, &best, &simplest));
        strads_glm_cv_options by_row = {.path = o,
                                        .folds = o.folds,
                                        .fold_file = o.fold_file,
                                        .seed = 5,
                                        .tolerance = 1e-9};
        by_row.path.lambda = lambda;
        by_row.path.points = n;
        strads_data *data = columns_cut_data(&d, STRADS_SPLIT_ROWS, &by_rows);
        expect_ok(strads_glm_cv(data, &by_row, a, &other, &simplest));
        for (uint32_t k = 0; k < n; k++) {
            cr_expect_float_eq(a[k].error, b[k].error, 1e-4 * a[k].error,
                               "member %d, point %u of %u, %s: %.9g, not %.9g",
                               (int)how, k, n, o.fit.loss, b[k].error,
                               a[k].error);
            cr_expect_float_eq(a[k].deviation, b[k].deviation,
                               1e-4 * a[k].error, "member %d", (int)how);
            cr_expect(isnan(a[k].accuracy) == isnan(b[k].accuracy));
            /* Of classes of equal size the sign of b is rounding. */
            cr_expect(isnan(a[k].accuracy) || point[k].nonzeros == 0 ||
                          fabs(a[k].accuracy - b[k].accuracy) < .02,
                      "member %d, point %u of %u: %g, not %g", (int)how, k, n,
                      b[k].accuracy, a[k].accuracy);
            cr_expect_leq(b[k].gap, 1e-9);
        }
        strads_data_free(data);
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

/* With many rows, solutions do not wait for each other. */
Test(columns_path, many_rows_take_a_scan_for_each_point)
{
    const lasso_recipe tall = {1100000, 4, 7, .05, 0, .1, 0};
    lasso_design d = lasso_design_random(&tall);
    const strads_glm_path_options o = {
        .fit = {.penalty = "l1", .intercept = true}, .points = 5, .ratio = .5};
    const columns_cut cut = {1, 1, 1, false};
    uint32_t n, m;
    strads_result *best =
        run_path(&d, &strads_program_glm_path, &o, &by_rows, 1e-7);
    strads_result *result =
        run_path(&d, &strads_program_glm_path_columns, &o, &cut, 1e-7);
    const strads_path_point *a = strads_glm_path(strads_result_state(best), &n);
    const strads_path_point *b =
        strads_columns_path(strads_result_state(result), &m);
    for (uint32_t k = 0; k < n; k++)
        cr_expect_float_eq(a[k].objective, b[k].objective,
                           2e-7 * a[k].objective);
    cr_expect_geq(strads_columns_worked(strads_result_state(result)).scans, 5);
    strads_result_free(result);
    strads_result_free(best);
    lasso_design_free(&d);
}

/* Solutions of many lambdas, and of folds, share a scan. */
Test(columns_path, lambdas_and_folds_share_scans)
{
    lasso_design d = glm_design_random(&shapes[3], "squared");
    strads_glm_path_options o = {.fit = {.penalty = "l1", .intercept = true},
                                 .points = 50,
                                 .ratio = .1};
    strads_result *result =
        run_path(&d, &strads_program_glm_path_columns, &o, &cuts[0], 1e-6);
    cr_expect_leq(strads_columns_worked(strads_result_state(result)).scans, 12);
    strads_result_free(result);
    o.points = 6;
    result = run_path(&d, &strads_program_glm_path_columns, &o, &cuts[0], 1e-6);
    cr_expect_leq(strads_columns_worked(strads_result_state(result)).scans, 8);
    strads_result_free(result);
    o.folds = 5;
    result = run_path(&d, &strads_program_glm_path_columns, &o, &cuts[0], 1e-6);
    cr_expect_leq(strads_columns_worked(strads_result_state(result)).scans, 14);
    strads_result_free(result);
    lasso_design_free(&d);
}

/* Stopped before its first pass, a run reads no column, and ends as usual. */
Test(columns_path, a_stop_ends_a_pass)
{
    static const bool stop = true;
    lasso_design d = glm_design_random(&shapes[3], "squared");
    const strads_glm_path_options o = {.fit = {.penalty = "l1"}, .points = 5};
    for (size_t c = 0; c < CUTS; c++) {
        strads_result *result = NULL;
        uint32_t n;
        strads_data *data = columns_cut_data(&d, STRADS_SPLIT_COLS, &cuts[c]);
        const strads_engine_options engine = {.size = sizeof engine,
                                              .workers = cuts[c].workers,
                                              .stop = &stop};
        expect_ok(strads_run(&strads_program_glm_path_columns, &o, data,
                             &engine, &result));
        const void *state = strads_result_state(result);
        cr_expect_eq(strads_result_end(result), STRADS_END_CANCELED);
        cr_expect_eq(strads_columns_worked(state).scans, 0);
        (void)strads_columns_path(state, &n);
        cr_expect_eq(n, 0);
        strads_result_free(result);
        strads_data_free(data);
    }
    lasso_design_free(&d);
}

Test(columns_path, folds_and_lambdas_that_do_not_fit_are_refused)
{
    lasso_design d = glm_design_random(&shapes[0], "logistic");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = i == 3; /* the only row of its class */
    const struct {
        strads_glm_path_options options;
        const char *text;
    } refused[] = {
        {{.fit = {.loss = "logistic", .penalty = "l1"}, .folds = 4},
         "the same label"},
        {{.fit = {.penalty = "l1"}, .folds = 1}, "1 folds of 40 rows"},
        {{.fit = {.penalty = "l1"}, .folds = 41}, "41 folds of 40 rows"},
        {{.fit = {.penalty = "l1"}, .lambdas = ".1,0"}, "lambdas is 0"},
        {{.fit = {.penalty = "ridge"}}, "has no penalty but"},
    };
    strads_data *data = columns_cut_data(&d, STRADS_SPLIT_COLS, &cuts[0]);
    const strads_engine_options engine = {.size = sizeof engine};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        strads_result *result = NULL;
        expect_error(strads_run(&strads_program_glm_path_columns,
                                &refused[k].options, data, &engine, &result),
                     STRADS_EINVAL, refused[k].text);
    }
    strads_data_free(data);
    lasso_design_free(&d);
}
