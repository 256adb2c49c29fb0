/* Paths of lambdas of glm, under losses of each kind: every point is held
 * against the optimality conditions, against closed forms, against its deviance
 * added up once more, and against the fit at its lambda alone. The paths of the
 * Lasso and of logistic regression are the same ones (linear_faces_test.c). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/glm/glm_parts.h"
#include "tests/glm_design.h"

/* ---- losses, kinds of penalties ---------------------------------------- */

typedef struct loss_case {
    const char *loss;
    double tolerance, miss; /* what violations there are at a small gap */
    double first;           /* a lambda with some coefficients */
} loss_case;

static const loss_case losses[] = {{"squared", 1e-11, 2e-4, .25},
                                   {"logistic", 1e-10, 1e-3, .02},
                                   {"poisson", 1e-10, 1e-3, .02}};
enum { LOSSES = sizeof losses / sizeof losses[0] };
static const loss_case *const squared = &losses[0];

static const strads_glm_options kinds[] = {
    {.penalty = "l1"},
    {.penalty = "l1", .intercept = true, .standardize = true},
    {.penalty = "elastic-net", .intercept = true},
    {.penalty = "l1", .upper = INFINITY}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* What is asked of a path, beside its loss. */
typedef struct question {
    size_t kind; /* of `kinds` */
    uint32_t points;
    double ratio, first; /* 0: the program's own */
    const char *lambdas;
    const double *lambda;
    double most_explained, least_gain;
    bool of_null;
} question;

static strads_glm_path_options options_of(const loss_case *l, const question *q)
{
    strads_glm_path_options o = {.fit = kinds[q->kind],
                                 .points = q->points,
                                 .ratio = q->ratio,
                                 .first = q->first,
                                 .lambdas = q->lambdas,
                                 .lambda = q->lambda,
                                 .most_explained = q->most_explained,
                                 .least_gain = q->least_gain,
                                 .gaps_of_null = q->of_null};

    o.fit.loss = l->loss;
    return o;
}

static linear_fit fit_alone(const loss_case *l, const lasso_design *design,
                            double lambda)
{
    return glm_design_fit(
        design, &(strads_glm_options){.loss = l->loss, .lambda = lambda}, NULL);
}

/* Runs `path`, which may be the program with something beside it. */
static strads_result *run_as(const loss_case *l, const strads_program *path,
                             const lasso_design *d, const question *q,
                             uint32_t workers, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = l->tolerance,
                                          .max_rounds = 200000};
    const strads_glm_path_options o = options_of(l, q);
    strads_data *data = NULL;
    strads_result *result = NULL;

    cr_assert_eq(lasso_design_data(d, partitions, &data), STRADS_OK);
    cr_assert_eq(strads_run(path, &o, data, &engine, &result), STRADS_OK,
                 "%s: %s", l->loss, strads_error_text());
    strads_data_free(data);
    return result;
}

static strads_result *run(const loss_case *l, const lasso_design *d,
                          const question *q)
{
    return run_as(l, &strads_program_glm_path, d, q, 1, 2);
}

static const strads_path_point *points_of(const strads_result *result,
                                          uint32_t expected)
{
    uint32_t n;
    const strads_path_point *point =
        strads_glm_path(strads_result_state(result), &n);

    cr_assert_eq(n, expected);
    return point;
}

/* ---- points against the objective -------------------------------------- */

static void check_points(const loss_case *l, const lasso_design *d,
                         const question *q, const strads_result *result)
{
    const strads_path_point *point = points_of(result, q->points);
    const strads_glm_options o = options_of(l, q).fit;

    for (uint32_t k = 0; k < q->points; k++) {
        linear_fit fit = linear_fit_at(&point[k], d->cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        const double share = pow(q->ratio, k / fmax(q->points - 1., 1));
        const double miss = glm_miss(d, &o, &fit);
        cr_expect_float_eq(point[k].lambda, point[0].lambda * share,
                           1e-12 * point[k].lambda);
        cr_expect_leq(point[k].gap, l->tolerance, "%s, point %u: gap %g",
                      l->loss, k, point[k].gap);
        cr_expect_lt(miss, l->miss, "%s, point %u: %g", l->loss, k, miss);
        cr_expect_float_eq(glm_value(d, &o, &fit), fit.objective,
                           1e-9 * fit.objective);
        fit.lambda = 0; /* only the loss remains */
        cr_expect_float_eq(2 * (double)d->rows * glm_value(d, &o, &fit),
                           point[k].deviance, 1e-9 * point[k].deviance,
                           "%s, point %u: deviance %g", l->loss, k,
                           point[k].deviance);
        linear_fit_free(&fit);
    }
}

Test(linear_path, every_point_meets_the_optimality_conditions)
{
    const lasso_recipe recipes[] = {
        {.rows = 60, .cols = 30, .seed = 1, .noise = 1},
        {.rows = 40,
         .cols = 150,
         .seed = 2,
         .density = .3,
         .noise = .5,
         .correlation = .9,
         .offset = 3}};

    for (const loss_case *l = losses; l < losses + LOSSES; l++)
        for (size_t r = 0; r < 2; r++) {
            lasso_design d = glm_design_random(&recipes[r], l->loss);
            for (size_t kind = 0; kind < KINDS; kind++)
                for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                    const question q = {.kind = kind,
                                        .points = 25,
                                        .ratio = .02};
                    strads_result *result =
                        run_as(l, &strads_program_glm_path, &d, &q, workers, 4);
                    check_points(l, &d, &q, result);
                    strads_result_free(result);
                }
            lasso_design_free(&d);
        }
}

static uint64_t pair_scans, scans, partly;
static strads_err (*take_pair_scan)(strads_commit *commit);
static strads_err (*take_scan)(strads_commit *commit);

static strads_err count_pair_scan(strads_commit *commit)
{
    pair_scans++;
    return take_pair_scan(commit);
}

static strads_err count_scan(strads_commit *commit)
{
    scans++;
    partly += commit->block.param != NULL;
    return take_scan(commit);
}

/* The path with its scans counted in phases[]. */
static strads_program counting(strads_phase phases[GLM_PHASES])
{
    strads_program path = strads_program_glm_path;

    cr_assert_eq(path.n_phases, GLM_PHASES);
    memcpy(phases, path.phases, GLM_PHASES * sizeof(*phases));
    take_pair_scan = phases[GLM_PAIR_SCAN].aggregate;
    phases[GLM_PAIR_SCAN].aggregate = count_pair_scan;
    take_scan = phases[GLM_SCAN].aggregate;
    phases[GLM_SCAN].aggregate = count_scan;
    path.phases = phases;
    return path;
}

Test(linear_path, columns_that_scans_leave_out_meet_the_conditions_too)
{
    const lasso_recipe recipe = {.rows = 60,
                                 .cols = 400,
                                 .seed = 6,
                                 .noise = .3,
                                 .correlation = .7,
                                 .offset = 1};
    lasso_design d = lasso_design_random(&recipe);
    strads_phase phases[GLM_PHASES];
    const strads_program path = counting(phases);

    for (size_t kind = 0; kind < KINDS; kind++) {
        const question q = {.kind = kind, .points = 40, .ratio = .1};
        scans = partly = 0;
        strads_result *result = run_as(squared, &path, &d, &q, 2, 2);
        check_points(squared, &d, &q, result);
        cr_expect_gt(partly, 10, "%llu of %llu scans",
                     (unsigned long long)partly, (unsigned long long)scans);
        strads_result_free(result);
    }
    lasso_design_free(&d);
}

/* Few full columns: all points but the last are certified by pairs, and
 * they agree with the data, centred, scaled and far from 0 as well. */
Test(linear_path, points_that_pairs_certify_meet_the_conditions_too)
{
    const lasso_recipe recipe = {.rows = 300,
                                 .cols = 30,
                                 .seed = 8,
                                 .noise = .5,
                                 .correlation = .8,
                                 .offset = 2};
    lasso_design d = lasso_design_random(&recipe);
    strads_phase phases[GLM_PHASES];
    const strads_program path = counting(phases);

    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        for (size_t kind = 0; kind < KINDS; kind++) {
            const question q = {.kind = kind, .points = 40, .ratio = .01};
            pair_scans = scans = 0;
            strads_result *result = run_as(squared, &path, &d, &q, workers, 4);
            check_points(squared, &d, &q, result);
            cr_expect_geq(pair_scans, 38, "kind %zu: %llu pair_scans", kind,
                          (unsigned long long)pair_scans);
            cr_expect_leq(scans, 4, "%llu scans", (unsigned long long)scans);
            strads_result_free(result);
        }
    lasso_design_free(&d);
}

/* Columns e_j: n w_j = soft(y_j, n lambda) for each by itself. */
Test(linear_path, on_unit_columns_every_point_is_a_threshold)
{
    enum { N = 12 };
    const question q = {.points = 40, .ratio = .01};
    lasso_design d = lasso_design_zero(N, N);

    for (uint64_t j = 0; j < N; j++) {
        lasso_design_col(&d, j)[j] = 1;
        d.y[j] = (j % 2 ? -1. : 1.) * (double)(j + 1);
    }
    strads_result *result = run(squared, &d, &q);
    const strads_path_point *point = points_of(result, q.points);
    cr_expect_float_eq(point[0].lambda, 1, 1e-12, "lambda_max is 12 / n");
    for (uint32_t k = 0; k < q.points; k++) {
        linear_fit fit = linear_fit_at(&point[k], N);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        for (uint64_t j = 0; j < N; j++) {
            const double rest = fabs(d.y[j]) - N * point[k].lambda;
            cr_expect_float_eq(fit.w[j], copysign(fmax(rest, 0), d.y[j]), 1e-4);
        }
        linear_fit_free(&fit);
    }
    strads_result_free(result);
    lasso_design_free(&d);
}

Test(linear_path, a_point_is_the_fit_at_its_lambda_alone)
{
    const lasso_recipe recipe = {
        .rows = 80, .cols = 60, .seed = 5, .density = .5, .noise = 1};
    const question q = {.points = 10, .ratio = .05};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        strads_result *result = run(l, &d, &q);
        const strads_path_point *point = points_of(result, q.points);
        for (uint32_t k = 1; k < q.points; k++) {
            linear_fit one = fit_alone(l, &d, point[k].lambda);
            linear_fit fit = linear_fit_at(&point[k], d.cols);
            cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
            cr_expect_float_eq(one.objective, fit.objective,
                               10 * l->tolerance * one.objective);
            cr_expect_lt(lasso_distance(&d, one.w, fit.w), 1e-3);
            linear_fit_free(&fit);
            linear_fit_free(&one);
        }
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

/* ---- starts and refusals ------------------------------ */

Test(linear_path,
     it_starts_at_the_given_lambda_and_a_path_of_one_point_is_a_fit)
{
    const lasso_recipe recipe = {.rows = 30, .cols = 10, .seed = 6, .noise = 1};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        const question q = {.points = 1, .ratio = .5, .first = l->first};
        lasso_design d = glm_design_random(&recipe, l->loss);
        strads_result *result = run(l, &d, &q);
        cr_expect_eq(points_of(result, 1)->lambda, l->first);
        cr_expect_gt(points_of(result, 1)->nonzeros, 0);
        cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
        check_points(l, &d, &q, result);
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

Test(linear_path, labels_that_no_column_explains_give_points_of_zeros)
{
    const question q = {.points = 5, .ratio = .1};

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = lasso_design_zero(6, 3);
        lasso_design_col(&d, 0)[0] = l == squared;
        for (int i = 0; i < 6 && l != squared; i++)
            d.y[i] = !strads_glm_classifies(l->loss) || i == 1 || i == 2;
        strads_result *result = run(l, &d, &q);
        const strads_path_point *point = points_of(result, q.points);
        for (uint32_t k = 0; k < q.points; k++)
            cr_expect(point[k].nonzeros == 0 && point[k].gap == 0, "%s",
                      l->loss);
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

/* The share of the first point's deviance that point k explains: at the first
 * point all coefficients are 0. */
static double explained_at(const strads_path_point *point, uint32_t k)
{
    return 1 - point[k].deviance / point[0].deviance;
}

/* A path that ends early has the first points of the whole one, bit for bit,
 * and ends at the first one, from the fifth on, that a rule is true of. */
Test(linear_path, a_path_ends_where_it_explains_enough_or_gains_little)
{
    for (size_t i = 0; i < LOSSES; i++)
        for (unsigned seed = 1; seed < 4; seed++) {
            const lasso_recipe recipe = {.rows = 150,
                                         .cols = 20,
                                         .density = 1,
                                         .noise = .5,
                                         .seed = seed};
            lasso_design d = glm_design_random(&recipe, losses[i].loss);
            question q = {.kind = 1, .points = 40, .ratio = .001};
            strads_result *whole = run(&losses[i], &d, &q);
            const strads_path_point *all = points_of(whole, q.points);
            const double most = explained_at(all, 20);
            for (int rule = 0; rule < 2; rule++) {
                uint32_t n = 0, end = 4;
                q.most_explained = rule == 0 ? most : 0;
                q.least_gain = rule == 1 ? .01 : 0;
                while (rule == 0 ? explained_at(all, end) <= most
                                 : explained_at(all, end) -
                                           explained_at(all, end - 1) >=
                                       .01 * explained_at(all, end))
                    end++;
                cr_assert_lt(end + 1, q.points);
                strads_result *early = run(&losses[i], &d, &q);
                const strads_path_point *point =
                    strads_glm_path(strads_result_state(early), &n);
                cr_expect_eq(n, end + 1, "%s, rule %d: %u, not %u",
                             losses[i].loss, rule, n, end + 1);
                for (uint32_t k = 0; k < n; k++)
                    cr_expect_eq(point[k].deviance, all[k].deviance);
                cr_expect_eq(strads_result_end(early), STRADS_END_CONVERGED);
                strads_result_free(early);
            }
            const double list[] = {.1, .09, .08, .07, .06, .05, .04, .03};
            q = (question){.kind = 1,
                           .points = 8,
                           .lambda = list,
                           .most_explained = .001,
                           .least_gain = 1};
            strads_result *given = run(&losses[i], &d, &q);
            (void)points_of(given, 8);
            strads_result_free(given);
            strads_result_free(whole);
            lasso_design_free(&d);
        }
}

/* What a tolerance promises of a point may be relative to the null model. */
Test(linear_path, gaps_may_be_relative_to_the_null_model)
{
    const lasso_recipe recipe = {
        .rows = 80, .cols = 200, .density = 1, .noise = .1, .seed = 7};
    const loss_case loose = {"squared", 1e-3, 0, 0};
    const question q = {.kind = 1,
                        .points = 30,
                        .ratio = .001,
                        .of_null = true};
    lasso_design d = glm_design_random(&recipe, "squared");
    strads_result *rough = run(&loose, &d, &q), *fine = run(squared, &d, &q);
    const strads_path_point *a = points_of(rough, 30), *b = points_of(fine, 30);
    const double null = a[0].deviance / (2 * (double)d.rows);
    bool looser = false;
    for (uint32_t k = 0; k < 30; k++) {
        const double above = a[k].objective - b[k].objective;
        cr_expect_leq(above, a[k].gap * null * (1 + 1e-9));
        looser = looser || above > 1e-3 * b[k].objective;
    }
    cr_expect(looser, "a point may be further off than its own objective says");
    strads_result_free(rough);
    strads_result_free(fine);
    lasso_design_free(&d);
}

Test(linear_path, questions_that_no_path_answers_are_refused)
{
    static const strads_glm_path_options wrong[] = {
        {.points = 10001},
        {.most_explained = 1.5},
        {.most_explained = NAN},
        {.least_gain = -.1},
        {.ratio = 1.5},
        {.ratio = -1},
        {.ratio = NAN},
        {.first = -1},
        {.first = INFINITY},
        {.lambdas = ","},
        {.lambdas = "none.txt"},
        {.lambdas = "-1"},
        {.lambdas = "1,inf"},
        {.fit = {.lambda = 1}},
        {.fit = {.lambda_ratio = .1}},
        {.fit = {.c = 1}},
        {.fit = {.penalty = "none"}},
        {.fit = {.penalty = "elastic-net", .l1_ratio = 1e-5}},
        {.fit = {.loss = "cubic"}},
        {.fit = {.loss = "logistic", .classes = "0,1,2"}}};
    lasso_design d = lasso_design_zero(4, 2);
    strads_data *data = NULL;

    for (int i = 0; i < 2; i++)
        d.y[i] = lasso_design_col(&d, 0)[i] = 1;
    cr_assert_eq(lasso_design_data(&d, 1, &data), STRADS_OK);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        strads_result *result = NULL;
        const strads_err err = strads_run(&strads_program_glm_path, &wrong[k],
                                          data, NULL, &result);
        cr_expect(err == STRADS_EINVAL || err == STRADS_EFORMAT, "%zu", k);
    }
    strads_data_free(data);
    lasso_design_free(&d);
}

/* The lambdas of a list, from strong to weak, each as the fit at it alone; in
 * memory, as text, and in a file. */
Test(linear_path, lambdas_of_a_list_are_taken)
{
    const lasso_recipe recipe = {.rows = 30, .cols = 10, .seed = 6, .noise = 1};
    char list[] = "/tmp/strads_lambdas_XXXXXX";
    const int file = mkstemp(list);

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        const double lambda[] = {.1 * l->first, l->first, .3 * l->first};
        char text[3 * 32];
        (void)snprintf(text, sizeof(text), "%.17g,%.17g, %.17g", lambda[0],
                       lambda[1], lambda[2]);
        cr_assert_eq(ftruncate(file, 0), 0);
        cr_assert_eq(pwrite(file, text, strlen(text), 0),
                     (ssize_t)strlen(text));
        for (int from = 0; from < 3; from++) {
            question q = {.points = from == 0 ? 3 : 0, .ratio = .5};
            q.lambda = from == 0 ? lambda : NULL;
            q.lambdas = from == 1 ? text : from == 2 ? list : NULL;
            strads_result *result = run(l, &d, &q);
            const strads_path_point *point = points_of(result, 3);
            cr_expect_eq(point[0].lambda, lambda[1]);
            cr_expect_eq(point[1].lambda, lambda[2]);
            cr_expect_eq(point[2].lambda, lambda[0]);
            linear_fit one = fit_alone(l, &d, lambda[0]);
            cr_expect_float_eq(point[2].objective, one.objective,
                               1e-9 * one.objective);
            linear_fit_free(&one);
            strads_result_free(result);
        }
        lasso_design_free(&d);
    }
    (void)close(file);
    (void)unlink(list);
}

/* At 0 the fit is that without a penalty, also if no coefficient has moved
 * before: for every loss, with and without an intercept, for several shapes and
 * origins of columns. */
Test(linear_path, a_glm_goes_to_lambda_0)
{
    static const char *const lists[] = {"0", "1e6,0", "0,.01,1"};
    static const lasso_recipe recipes[] = {
        {.rows = 60, .cols = 8, .seed = 3, .noise = 1},
        {.rows = 200, .cols = 3, .seed = 4, .noise = .5, .offset = 100},
        {.rows = 120, .cols = 20, .seed = 5, .noise = 2, .correlation = .7}};

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++)
            for (size_t i = 0; i < LOSSES * 3; i++) {
                const loss_case *l = &losses[i % LOSSES];
                const question q = {.kind = i / LOSSES,
                                    .lambdas = lists[k],
                                    .ratio = .5};
                strads_glm_options none = kinds[q.kind];
                lasso_design d = glm_design_random(&recipes[r], l->loss);
                strads_result *result = run(l, &d, &q);
                const uint32_t n = k == 2 ? 3 : (uint32_t)k + 1;
                const strads_path_point *point = points_of(result, n);
                none.loss = l->loss;
                none.penalty = "none";
                linear_fit one = glm_design_fit(&d, &none, NULL);
                cr_expect_eq(point[n - 1].lambda, 0);
                cr_expect_float_eq(point[n - 1].objective, one.objective,
                                   1e-7 * one.objective,
                                   "%s, kind %zu, \"%s\", design %zu: "
                                   "%g, not %g, at gap %g",
                                   l->loss, q.kind, lists[k], r,
                                   point[n - 1].objective, one.objective,
                                   point[n - 1].gap);
                linear_fit_free(&one);
                strads_result_free(result);
                lasso_design_free(&d);
            }
}
