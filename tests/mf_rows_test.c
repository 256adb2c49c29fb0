/* Factorisation by whole rows: each user is the exact minimum given the
 * items, the objective falls, planted factors are found, and the bits are the
 * same. The last three also hold by ranks (see mf_ranks_test.c). */
#include <criterion/criterion.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/mf_planted.h"
#include "tests/mf_trial.h"

static char folder[] = "/tmp/strads-mf-rows-XXXXXX";
static char train_path[64], test_path[64], counts_path[64], wide_path[64];

/* The training ratings, with item numbers that need more than 16 bits. */
static void write_wide(void)
{
    FILE *in = fopen(train_path, "r"), *out = fopen(wide_path, "w");
    cr_assert(in && out);
    unsigned user, item;
    double rating;
    while (fscanf(in, "%u %u %lf", &user, &item, &rating) == 3)
        (void)fprintf(out, "%u %u %.4f\n", user, 250 * item, rating);
    cr_assert_eq(fclose(in) + fclose(out), 0);
}

static void make_files(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(train_path, sizeof train_path, "%s/train", folder);
    (void)snprintf(test_path, sizeof test_path, "%s/test", folder);
    (void)snprintf(counts_path, sizeof counts_path, "%s/counts", folder);
    cr_assert_eq(mf_planted_write(train_path, 0, .4), 0);
    cr_assert_eq(mf_planted_write(test_path, .4, .5), 0);
    cr_assert_eq(mf_planted_counts_write(counts_path), 0);
    (void)snprintf(wide_path, sizeof wide_path, "%s/wide", folder);
    write_wide();
}

static void remove_files(void)
{
    (void)unlink(train_path);
    (void)unlink(test_path);
    (void)unlink(counts_path);
    (void)unlink(wide_path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(mf_rows, .init = make_files, .fini = remove_files);

/* Practically no rating is held out, because the oracles use all ratings. */
#define ALL_TRAINED .holdout = 1e-9, .lambda = .05

static const strads_mf_options trials[] = {
    {.method = "als", .rank = 20, .sweeps = 5, ALL_TRAINED},
    {.method = "cd", .rank = 24, .sweeps = 5, ALL_TRAINED},
    {.method = "cd", .rank = 5, .sweeps = 5, ALL_TRAINED},
    {.nonnegative = true,
     .no_biases = true,
     .rank = 6,
     .sweeps = 5,
     ALL_TRAINED},
    {.nonnegative = true,
     .no_biases = true,
     .method = "cd",
     .rank = 20,
     .sweeps = 5,
     ALL_TRAINED},
    {.implicit = true, .rank = 6, .sweeps = 5, .alpha = 3, .lambda = 2},
    {.implicit = true, .rank = 6, .nonnegative = true, .sweeps = 5},
    {.method = "als",
     .rank = 6,
     .sweeps = 5,
     .unweighted = true,
     .holdout = 1e-9,
     .lambda = 3},
    {.method = "ccd++", .rank = 5, .sweeps = 5, ALL_TRAINED},
    {.method = "ccd++", .rank = 1, .sweeps = 5, ALL_TRAINED},
    {.method = "ccd++",
     .rank = 18,
     .sweeps = 5,
     .unweighted = true,
     .holdout = 1e-9,
     .lambda = 3},
    {.method = "ccd++",
     .nonnegative = true,
     .no_biases = true,
     .rank = 6,
     .sweeps = 5,
     ALL_TRAINED},
    {.implicit = true, .rank = 40, .sweeps = 6, .alpha = 3, .lambda = 2},
    {.implicit = true, .rank = 6, .sweeps = 5, .cg_steps = 1},
    {.implicit = true, .rank = 34, .sweeps = 5, .cg_steps = 60},
};
enum { BY_STEPS = 12, ONE_STEP, MANY_STEPS };
enum { TRIALS = sizeof trials / sizeof *trials };

static bool wants_counts(const strads_mf_options *o)
{
    return o->implicit || o->nonnegative;
}

static const char *path_of(const strads_mf_options *o)
{
    return wants_counts(o) ? counts_path : train_path;
}

/* ---- the objective, computed from the factors ---------------------------- */

/* A run and its ratings, in f64. */
typedef struct view {
    strads_result *result;
    strads_data *data;
    const strads_mf_options *o;
    const strads_sparse *x;
    const float *p;
    const double *q;
    uint64_t users, items;
    uint32_t width;
    double sd, lambda;
} view;

static double scale_of(const view *v)
{
    double n = (double)v->x->nnz, sum = 0, squares = 0;
    for (uint64_t e = 0; e < v->x->nnz; e++) {
        sum += (double)v->x->f32[e];
        squares += (double)v->x->f32[e] * (double)v->x->f32[e];
    }
    if (v->o->implicit)
        return 1;
    return sqrt(squares / n - (v->o->nonnegative ? 0 : sum * sum / n / n));
}

static view open_view(const char *path, const strads_mf_options *o,
                      uint32_t partitions)
{
    view v = {.o = o};
    v.result = mf_trial_run(path, o, 2, partitions, false);
    v.data = mf_trial_read(path, 1);
    v.x = &strads_data_share(v.data, 0)->by_row;
    v.users = v.x->lines;
    v.p = strads_mf_users(strads_result_state(v.result));
    v.q = strads_result_values(v.result, &v.items, &v.width);
    v.sd = scale_of(&v);
    v.lambda = strads_mf_resolved(strads_result_state(v.result))->lambda;
    return v;
}

static void close_view(view *v)
{
    strads_data_free(v->data);
    strads_result_free(v->result);
}

static double product(const view *v, uint64_t u, uint64_t i)
{
    double sum = 0;
    for (uint32_t k = 1; k < v->width; k++)
        sum += (double)v->p[u * v->width + k] * v->q[i * v->width + k];
    return sum;
}

static double error(const view *v, uint64_t u, uint64_t e)
{
    const uint64_t i = v->x->index[e];
    return (double)v->x->f32[e] -
           strads_mf_mean(strads_result_state(v->result)) -
           (double)v->p[u * v->width] - v->q[i * v->width] - product(v, u, i);
}

static double confidence(const view *v, double r)
{
    return (v->o->alpha > 0 ? v->o->alpha : 1) * r;
}

static double loss(const view *v)
{
    double sum = 0;
    for (uint64_t u = 0; u < v->users; u++) {
        for (uint64_t i = 0; i < v->items && v->o->implicit; i++)
            sum += product(v, u, i) * product(v, u, i);
        for (uint64_t e = v->x->start[u]; e < v->x->start[u + 1]; e++) {
            const double s = product(v, u, v->x->index[e]);
            const double c = 1 + confidence(v, (double)v->x->f32[e]);
            sum += v->o->implicit ? c * (1 - s) * (1 - s) - s * s
                                  : error(v, u, e) * error(v, u, e);
        }
    }
    return sum;
}

/* The weight of a row of n ratings in the penalty. */
static double weight(const view *v, double n)
{
    return v->o->implicit || v->o->unweighted ? 1 : n;
}

static double penalty(const view *v)
{
    double sum = 0, *n = calloc(v->items, sizeof *n);
    const double lambda = v->lambda * v->sd;
    for (uint64_t e = 0; e < v->x->nnz; e++)
        n[v->x->index[e]]++;
    for (uint32_t k = 1; k < v->width; k++) {
        for (uint64_t u = 0; u < v->users; u++) {
            const double p = (double)v->p[u * v->width + k];
            const double m = (double)(v->x->start[u + 1] - v->x->start[u]);
            sum += lambda * weight(v, m) * p * p;
        }
        for (uint64_t i = 0; i < v->items; i++) {
            const double q = v->q[i * v->width + k];
            sum += lambda * weight(v, n[i]) * q * q;
        }
    }
    free(n);
    return sum;
}

Test(mf_rows, the_objective_falls_and_agrees_with_the_factors)
{
    for (size_t t = 0; t < TRIALS; t++) {
        double f[16];
        uint32_t n =
            mf_trial_objectives(path_of(&trials[t]), &trials[t], 3, 16, f);
        cr_assert_geq(n, 4);
        for (uint32_t k = 1; k < n; k++)
            cr_expect_leq(f[k], f[k - 1] * (1 + 1e-6), "trial %zu, sweep %u", t,
                          k + 1);
        view v = open_view(path_of(&trials[t]), &trials[t], 3);
        const double now = loss(&v) + penalty(&v);
        cr_expect_float_eq(f[n - 1], now, 1e-4 * now, "trial %zu: %.9g, %.9g",
                           t, f[n - 1], now);
        close_view(&v);
    }
}

/* ---- each user --------------------------------------------------------- */

/* A p = b of user u, from the paper's equation; a is [n x n], n the rank. */
static void equations(const view *v, uint64_t u, gsl_matrix *a, gsl_vector *b)
{
    const size_t n = v->width - 1;
    const uint64_t count = v->x->start[u + 1] - v->x->start[u];
    gsl_matrix_set_identity(a);
    gsl_matrix_scale(a, v->lambda * v->sd * weight(v, (double)count));
    gsl_vector_set_zero(b);
    for (uint64_t i = 0; i < v->items && v->o->implicit; i++) {
        gsl_vector_const_view q =
            gsl_vector_const_view_array(v->q + i * v->width + 1, n);
        gsl_blas_dsyr(CblasLower, 1, &q.vector, a);
    }
    for (uint64_t e = v->x->start[u]; e < v->x->start[u + 1]; e++) {
        const uint64_t i = v->x->index[e];
        const double w = confidence(v, (double)v->x->f32[e]);
        gsl_vector_const_view q =
            gsl_vector_const_view_array(v->q + i * v->width + 1, n);
        gsl_blas_dsyr(CblasLower, v->o->implicit ? w : 1, &q.vector, a);
        gsl_blas_daxpy(v->o->implicit ? 1 + w
                                      : error(v, u, e) + product(v, u, i),
                       &q.vector, b);
    }
}

/* slope = A p - b */
static void find_slope(const view *v, uint64_t u, const gsl_matrix *a,
                       gsl_vector *b)
{
    gsl_vector *p = gsl_vector_alloc(b->size);
    for (size_t k = 0; k < b->size; k++)
        gsl_vector_set(p, k, (double)v->p[u * v->width + 1 + k]);
    gsl_blas_dsymv(CblasLower, 1, a, p, -1, b);
    gsl_vector_free(p);
}

/* Returns the number of factors at the bound 0. */
static uint64_t check_users_of(const char *path, const strads_mf_options *o)
{
    view v = open_view(path, o, 2);
    const size_t n = v.width - 1;
    gsl_matrix *a = gsl_matrix_alloc(n, n);
    gsl_vector *b = gsl_vector_alloc(n);
    uint64_t zeros = 0;
    for (uint64_t u = 0; u < v.users; u += 3) {
        equations(&v, u, a, b);
        const double size = gsl_blas_dnrm2(b) + 1e-9;
        if (!o->nonnegative) {
            cr_assert_eq(gsl_linalg_cholesky_decomp1(a), 0);
            cr_assert_eq(gsl_linalg_cholesky_svx(a, b), 0);
            const double norm = gsl_blas_dnrm2(b);
            for (size_t k = 0; k < n; k++)
                cr_expect_float_eq((double)v.p[u * v.width + 1 + k],
                                   gsl_vector_get(b, k), 1e-4 * norm,
                                   "user %d, factor %zu", (int)u, k);
            continue;
        }
        find_slope(&v, u, a, b);
        for (size_t k = 0; k < n; k++) {
            const float p = v.p[u * v.width + 1 + k];
            const double slope = gsl_vector_get(b, k) / size;
            cr_expect_geq(p, 0);
            cr_expect_geq(slope, -1e-4);
            zeros += p <= 0;
            if (p > 0)
                cr_expect_float_eq(slope, 0, 1e-4);
        }
    }
    gsl_matrix_free(a);
    gsl_vector_free(b);
    close_view(&v);
    return zeros;
}

static uint64_t check_users(const strads_mf_options *o)
{
    return check_users_of(path_of(o), o);
}

Test(mf_rows, a_user_by_least_squares_is_the_closed_form_for_the_items)
{
    (void)check_users(&trials[0]);
    (void)check_users(&trials[2]);
    (void)check_users(&trials[7]);
}

Test(mf_rows, there_may_be_more_items_than_16_bits_count)
{
    (void)check_users_of(wide_path, &trials[2]);
}

Test(mf_rows, a_user_of_implicit_feedback_is_the_closed_form_over_all_pairs)
{
    (void)check_users(&trials[5]);
}

Test(mf_rows, many_steps_of_conjugate_gradients_reach_the_closed_form)
{
    (void)check_users(&trials[MANY_STEPS]);
}

/* Warm starts: after many sweeps, few steps end where exact solutions do. */
Test(mf_rows, few_steps_of_conjugate_gradients_reach_the_exact_objective)
{
    strads_mf_options config = trials[BY_STEPS];
    double f[2];
    config.sweeps = config.patience = 60;
    for (int exact = 0; exact < 2; exact++) {
        config.cg_steps = exact ? STRADS_MF_EXACT : 0;
        view v = open_view(path_of(&config), &config, 2);
        cr_assert_eq(
            strads_mf_resolved(strads_result_state(v.result))->cg_steps,
            exact ? STRADS_MF_EXACT : 3);
        f[exact] = loss(&v) + penalty(&v);
        close_view(&v);
    }
    cr_expect_float_eq(f[0], f[1], 2e-3 * f[1], "%g by steps, %g", f[0], f[1]);
}

Test(mf_rows, steps_are_refused_where_rows_are_solved_exactly)
{
    const strads_mf_options options[] = {{.method = "als", .cg_steps = 3},
                                         {.cg_steps = STRADS_MF_EXACT},
                                         {.implicit = true,
                                          .nonnegative = true,
                                          .cg_steps = 3}};
    for (int k = 0; k < 3; k++) {
        strads_data *data = mf_trial_read(counts_path, 1);
        strads_result *result = NULL;
        const strads_engine_options engine = {.size = sizeof engine,
                                              .workers = 1};
        expect_error(strads_run(&strads_program_mf, &options[k], data, &engine,
                                &result),
                     STRADS_EINVAL, "cg-steps is for implicit feedback");
        strads_data_free(data);
    }
}

Test(mf_rows, users_without_negative_factors_meet_the_conditions_of_an_optimum)
{
    cr_expect_gt(check_users(&trials[3]) + check_users(&trials[6]), 0,
                 "nothing was held at 0");
}

/* ---- whole runs ---------------------------------------------------------- */

Test(mf_rows, a_planted_matrix_is_found_to_its_noise)
{
    const char *const methods[] = {"als", "cd", "ccd++"};
    for (int m = 0; m < 3; m++) {
        const strads_mf_options config = {.method = methods[m],
                                          .rank = PLANTED_RANK + 2,
                                          .sweeps = 40,
                                          .test = test_path};
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            strads_result *result =
                mf_trial_run(train_path, &config, workers, workers, false);
            double fit, held, test;
            strads_mf_errors(strads_result_state(result), &fit, &held, &test);
            cr_expect_gt(test, .97 * PLANTED_NOISE, "%g", test);
            cr_expect_lt(test, 1.08 * PLANTED_NOISE, "%u workers: %g", workers,
                         test);
            strads_result_free(result);
        }
    }
}

Test(mf_rows, the_bits_are_the_same_on_any_workers_over_tcp_and_simulated)
{
    /* als, cd in several slabs, counts, ranks, conjugate gradients */
    const size_t chosen[] = {0, 1, 6, 8, BY_STEPS};
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        strads_mf_options config = trials[chosen[k]];
        config.sweeps = 1;
        mf_trial_expect_same_everywhere(path_of(&config), &config,
                                        wants_counts(&config) ? COUNTED_USERS
                                                              : PLANTED_USERS);
    }
}

/* An SGD sweep shrinks every row equally, whatever its number of ratings. */
Test(mf_rows, sgd_comes_to_the_minimum_of_an_unweighted_penalty)
{
    strads_mf_options config = {.method = "als",
                                .rank = PLANTED_RANK,
                                .sweeps = 60,
                                .patience = 60,
                                .unweighted = true,
                                .holdout = 1e-9,
                                .lambda = 5};
    double f[2];
    for (int sgd = 0; sgd < 2; sgd++) {
        config.method = sgd ? "sgd" : "als";
        view v = open_view(path_of(&config), &config, 2);
        f[sgd] = loss(&v) + penalty(&v);
        close_view(&v);
    }
    cr_expect_geq(f[1], (1 - 1e-4) * f[0]);
    cr_expect_leq(f[1], 1.02 * f[0], "%g by SGD, %g", f[1], f[0]);
}

Test(mf_rows, ratings_below_0_are_refused_where_they_have_no_meaning)
{
    const strads_mf_options options[] = {{.implicit = true},
                                         {.nonnegative = true,
                                          .no_biases = true}};
    FILE *file = fopen(test_path, "w");
    cr_assert(file);
    (void)fputs("0 0 1\n0 1 -2\n1 0 3\n", file);
    (void)fclose(file);
    for (int k = 0; k < 2; k++) {
        strads_data *data = mf_trial_read(test_path, 1);
        strads_result *result = NULL;
        const strads_engine_options engine = {.size = sizeof engine,
                                              .workers = 1};
        expect_error(strads_run(&strads_program_mf, &options[k], data, &engine,
                                &result),
                     STRADS_EFORMAT, "user 0 gives item 1 a rating of -2");
        strads_data_free(data);
    }
}
