/* Paths of lambdas of the Lasso, of logistic regression and of a loss with a
 * penalty: every point is held
 * against the optimality conditions, against closed forms, against its deviance
 * added up once more, and against the fit at its lambda alone. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/glm/glm_parts.h"
#include "tests/glm_design.h"
#include "tests/logistic_design.h"

/* ---- the programs ------------------------------------------------------ */

/* What is asked of a path, beside its program. */
typedef struct question {
    size_t kind; /* of `kinds` */
    uint32_t points;
    double ratio, first; /* 0: the program's own */
    const char *lambdas;
    const double *lambda;
} question;

static const struct {
    double l1_ratio;
    bool intercept, standardize, positive; /* the last not of logistic */
} kinds[] = {
    {1, false, false, false},
    {1, true, true, false},
    {.5, true, false, false},
    {1, false, false, true},
};

typedef union options {
    strads_lasso_path_options lasso;
    strads_logistic_path_options logistic;
    strads_glm_path_options glm;
} options;

typedef struct program {
    const char *name;
    const strads_program *path;
    size_t n_kinds;
    double tolerance, miss; /* what violations there are at a small gap */
    double first;           /* a lambda with some coefficients */
    lasso_design (*design)(const lasso_recipe *recipe);
    void (*fill)(const question *q, options *o);
    const strads_path_point *(*points)(const void *state, uint32_t *n);
    linear_fit (*fit)(const lasso_design *design, double lambda);
    double (*violation)(const lasso_design *d, const options *o,
                        const linear_fit *fit);
    double (*value)(const lasso_design *d, const options *o,
                    const linear_fit *fit);
} program;

static void fill_lasso(const question *q, options *o)
{
    o->lasso = (strads_lasso_path_options){
        .fit = {.l1_ratio = kinds[q->kind].l1_ratio,
                .intercept = kinds[q->kind].intercept,
                .standardize = kinds[q->kind].standardize,
                .positive = kinds[q->kind].positive},
        .points = q->points,
        .ratio = q->ratio,
        .first = q->first,
        .lambdas = q->lambdas,
        .lambda = q->lambda};
}

static linear_fit fit_lasso(const lasso_design *design, double lambda)
{
    return lasso_design_fit(design, &(strads_lasso_options){.lambda = lambda},
                            NULL);
}

static double lasso_misses(const lasso_design *d, const options *o,
                           const linear_fit *fit)
{
    return lasso_violation(d, &o->lasso.fit, fit);
}

static double lasso_worth(const lasso_design *d, const options *o,
                          const linear_fit *fit)
{
    return lasso_value(d, &o->lasso.fit, fit);
}

static const logistic_view plain = {.negative = -1, .positive = 1};

static void fill_logistic(const question *q, options *o)
{
    o->logistic = (strads_logistic_path_options){
        .fit = {.l1_ratio = kinds[q->kind].l1_ratio,
                .intercept = kinds[q->kind].intercept,
                .standardize = kinds[q->kind].standardize},
        .points = q->points,
        .ratio = q->ratio,
        .first = q->first,
        .lambdas = q->lambdas,
        .lambda = q->lambda};
}

static linear_fit fit_logistic(const lasso_design *design, double lambda)
{
    return logistic_design_fit(design,
                               &(strads_logistic_options){.lambda = lambda,
                                                          .l1_ratio = 1},
                               NULL);
}

static double logistic_misses(const lasso_design *d, const options *o,
                              const linear_fit *fit)
{
    return logistic_violation(d, &plain, &o->logistic.fit, fit);
}

static double logistic_worth(const lasso_design *d, const options *o,
                             const linear_fit *fit)
{
    return logistic_value(d, &plain, &o->logistic.fit, fit);
}

static void fill_glm(const question *q, options *o)
{
    o->glm = (strads_glm_path_options){
        .fit = {.penalty = kinds[q->kind].l1_ratio < 1 ? "elastic-net" : "l1",
                .intercept = kinds[q->kind].intercept,
                .standardize = kinds[q->kind].standardize,
                .upper = kinds[q->kind].positive ? INFINITY : 0},
        .points = q->points,
        .ratio = q->ratio,
        .first = q->first,
        .lambdas = q->lambdas,
        .lambda = q->lambda};
}

static void fill_poisson(const question *q, options *o)
{
    fill_glm(q, o);
    o->glm.fit.loss = "poisson";
}

static lasso_design poisson_design(const lasso_recipe *recipe)
{
    return glm_design_random(recipe, "poisson");
}

static linear_fit fit_glm(const lasso_design *design, double lambda)
{
    return glm_design_fit(design, &(strads_glm_options){.lambda = lambda},
                          NULL);
}

static linear_fit fit_alone(const lasso_design *design, double lambda)
{
    return glm_design_fit(design,
                          &(strads_glm_options){.loss = "poisson",
                                                .lambda = lambda},
                          NULL);
}

static double glm_misses(const lasso_design *d, const options *o,
                         const linear_fit *fit)
{
    return glm_violation(d, &o->glm.fit, fit);
}

static double glm_worth(const lasso_design *d, const options *o,
                        const linear_fit *fit)
{
    return glm_value(d, &o->glm.fit, fit);
}

static const program programs[] = {
    {.name = "lasso",
     .path = &strads_program_lasso_path,
     .n_kinds = 4,
     .tolerance = 1e-11,
     .miss = 2e-4,
     .first = .25,
     .design = lasso_design_random,
     .fill = fill_lasso,
     .points = strads_lasso_path,
     .fit = fit_lasso,
     .violation = lasso_misses,
     .value = lasso_worth},
    {.name = "logistic",
     .path = &strads_program_logistic_path,
     .n_kinds = 3,
     .tolerance = 1e-10,
     .miss = 1e-3,
     .first = .02,
     .design = logistic_design_random,
     .fill = fill_logistic,
     .points = strads_logistic_path,
     .fit = fit_logistic,
     .violation = logistic_misses,
     .value = logistic_worth},
    {.name = "glm, squared",
     .path = &strads_program_glm_path,
     .n_kinds = 4,
     .tolerance = 1e-10,
     .miss = 2e-4,
     .first = .25,
     .design = lasso_design_random,
     .fill = fill_glm,
     .points = strads_glm_path,
     .fit = fit_glm,
     .violation = glm_misses,
     .value = glm_worth},
    {.name = "glm, poisson",
     .path = &strads_program_glm_path,
     .n_kinds = 4,
     .tolerance = 1e-10,
     .miss = 2e-4,
     .first = .02,
     .design = poisson_design,
     .fill = fill_poisson,
     .points = strads_glm_path,
     .fit = fit_alone,
     .violation = glm_misses,
     .value = glm_worth},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };
static const program *const lasso = &programs[0];

/* Runs `path`, which may be the program's with something beside it. */
static strads_result *run_as(const program *p, const strads_program *path,
                             const lasso_design *d, const question *q,
                             uint32_t workers, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = partitions,
                                          .deterministic = true,
                                          .tolerance = p->tolerance,
                                          .max_rounds = 200000};
    options o;
    strads_data *data = NULL;
    strads_result *result = NULL;

    p->fill(q, &o);
    cr_assert_eq(lasso_design_data(d, partitions, &data), STRADS_OK);
    cr_assert_eq(strads_run(path, &o, data, &engine, &result), STRADS_OK,
                 "%s: %s", p->name, strads_error_text());
    strads_data_free(data);
    return result;
}

static strads_result *run(const program *p, const lasso_design *d,
                          const question *q)
{
    return run_as(p, p->path, d, q, 1, 2);
}

static const strads_path_point *
points_of(const program *p, const strads_result *result, uint32_t expected)
{
    uint32_t n;
    const strads_path_point *point = p->points(strads_result_state(result), &n);

    cr_assert_eq(n, expected, "%s", p->name);
    return point;
}

/* ---- points against the objective -------------------------------------- */

static void check_points(const program *p, const lasso_design *d,
                         const question *q, const strads_result *result)
{
    const strads_path_point *point = points_of(p, result, q->points);
    options o;

    p->fill(q, &o);
    for (uint32_t k = 0; k < q->points; k++) {
        linear_fit fit = linear_fit_at(&point[k], d->cols);
        cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
        const double share = pow(q->ratio, k / fmax(q->points - 1., 1));
        cr_expect_float_eq(point[k].lambda, point[0].lambda * share,
                           1e-12 * point[k].lambda);
        cr_expect_leq(point[k].gap, p->tolerance, "%s, point %u: gap %g",
                      p->name, k, point[k].gap);
        cr_expect_lt(p->violation(d, &o, &fit), p->miss, "%s, point %u: %g",
                     p->name, k, p->violation(d, &o, &fit));
        cr_expect_float_eq(p->value(d, &o, &fit), fit.objective,
                           1e-9 * fit.objective);
        fit.lambda = 0; /* what is left is the loss */
        cr_expect_float_eq(2 * (double)d->rows * p->value(d, &o, &fit),
                           point[k].deviance, 1e-9 * point[k].deviance,
                           "%s, point %u: deviance %g", p->name, k,
                           point[k].deviance);
        linear_fit_free(&fit);
    }
}

Test(linear_path, every_point_meets_the_optimality_conditions)
{
    const lasso_recipe recipes[] = {
        {.rows = 60, .cols = 30, .seed = 1, .density = 1, .noise = 1},
        {.rows = 40,
         .cols = 150,
         .seed = 2,
         .density = .3,
         .noise = .5,
         .correlation = .9,
         .offset = 3}};

    for (const program *p = programs; p < programs + PROGRAMS; p++)
        for (size_t r = 0; r < 2; r++) {
            lasso_design d = p->design(&recipes[r]);
            for (size_t kind = 0; kind < p->n_kinds; kind++)
                for (uint32_t workers = 1; workers <= 4; workers *= 2) {
                    const question q = {.kind = kind,
                                        .points = 25,
                                        .ratio = .02};
                    strads_result *result =
                        run_as(p, p->path, &d, &q, workers, 4);
                    check_points(p, &d, &q, result);
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

/* The Lasso's path, whose scans are counted in phases[]. */
static strads_program counting(strads_phase phases[GLM_PHASES])
{
    strads_program path = strads_program_lasso_path;

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
                                 .density = 1,
                                 .noise = .3,
                                 .correlation = .7,
                                 .offset = 1};
    lasso_design d = lasso_design_random(&recipe);
    strads_phase phases[GLM_PHASES];
    const strads_program path = counting(phases);

    for (size_t kind = 0; kind < lasso->n_kinds; kind++) {
        const question q = {.kind = kind, .points = 40, .ratio = .1};
        scans = partly = 0;
        strads_result *result = run_as(lasso, &path, &d, &q, 2, 2);
        check_points(lasso, &d, &q, result);
        cr_expect_gt(partly, 10, "%llu of %llu scans",
                     (unsigned long long)partly, (unsigned long long)scans);
        strads_result_free(result);
    }
    lasso_design_free(&d);
}

/* Few full columns: all points but the last are certified by pairs, and what
 * they say is what the data say, centred, scaled and far from 0 as well. */
Test(linear_path, points_that_pairs_certify_meet_the_conditions_too)
{
    const lasso_recipe recipe = {.rows = 300,
                                 .cols = 30,
                                 .seed = 8,
                                 .density = 1,
                                 .noise = .5,
                                 .correlation = .8,
                                 .offset = 2};
    lasso_design d = lasso_design_random(&recipe);
    strads_phase phases[GLM_PHASES];
    const strads_program path = counting(phases);

    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        for (size_t kind = 0; kind < lasso->n_kinds; kind++) {
            const question q = {.kind = kind, .points = 40, .ratio = .01};
            pair_scans = scans = 0;
            strads_result *result = run_as(lasso, &path, &d, &q, workers, 4);
            check_points(lasso, &d, &q, result);
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
    strads_result *result = run(lasso, &d, &q);
    const strads_path_point *point = points_of(lasso, result, q.points);
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

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design d = p->design(&recipe);
        strads_result *result = run(p, &d, &q);
        const strads_path_point *point = points_of(p, result, q.points);
        for (uint32_t k = 1; k < q.points; k++) {
            linear_fit one = p->fit(&d, point[k].lambda);
            linear_fit fit = linear_fit_at(&point[k], d.cols);
            cr_assert_eq(fit.err, STRADS_OK, "coefficients out of order");
            cr_expect_float_eq(one.objective, fit.objective,
                               10 * p->tolerance * one.objective);
            cr_expect_lt(lasso_distance(&d, one.w, fit.w), 1e-3);
            linear_fit_free(&fit);
            linear_fit_free(&one);
        }
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

/* ---- where it begins, and what it refuses ------------------------------ */

Test(linear_path, it_starts_where_it_is_told_and_a_path_of_one_point_is_a_fit)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 10, .seed = 6, .density = 1, .noise = 1};

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        const question q = {.points = 1, .ratio = .5, .first = p->first};
        lasso_design d = p->design(&recipe);
        strads_result *result = run(p, &d, &q);
        cr_expect_eq(points_of(p, result, 1)->lambda, p->first);
        cr_expect_gt(points_of(p, result, 1)->nonzeros, 0);
        cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
        check_points(p, &d, &q, result);
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

Test(linear_path, labels_that_no_column_explains_give_points_of_zeros)
{
    const question q = {.points = 5, .ratio = .1};

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design d = lasso_design_zero(6, 3);
        if (p->design == lasso_design_random)
            lasso_design_col(&d, 0)[0] = 1;
        else if (p->design == poisson_design)
            d.y[0] = d.y[1] = d.y[2] = d.y[3] = d.y[4] = d.y[5] = 1;
        else
            d.y[1] = d.y[2] = 1;
        strads_result *result = run(p, &d, &q);
        const strads_path_point *point = points_of(p, result, q.points);
        for (uint32_t k = 0; k < q.points; k++)
            cr_expect(point[k].nonzeros == 0 && point[k].gap == 0, "%s",
                      p->name);
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

static void expect_refused(const program *p, const void *wrong, size_t number)
{
    lasso_design d = lasso_design_zero(4, 2);
    strads_data *data = NULL;
    strads_result *result = NULL;

    cr_assert_eq(lasso_design_data(&d, 1, &data), STRADS_OK);
    const strads_err err = strads_run(p->path, wrong, data, NULL, &result);
    cr_expect(err == STRADS_EINVAL || err == STRADS_EFORMAT, "%s, %zu", p->name,
              number);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(linear_path, questions_that_no_path_answers_are_refused)
{
    static const question wrong[] = {{.points = 10001}, {.ratio = 1.5},
                                     {.ratio = -1},     {.ratio = NAN},
                                     {.first = -1},     {.first = INFINITY},
                                     {.lambdas = ","},  {.lambdas = "none.txt"},
                                     {.lambdas = "-1"}, {.lambdas = "1,inf"}};

    for (const program *p = programs; p < programs + PROGRAMS; p++)
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            options o;
            p->fill(&wrong[k], &o);
            expect_refused(p, &o, k);
        }
}

/* The lambdas of a list, from strong to weak, each as the fit at it alone; in
 * memory, as text, and in a file. */
Test(linear_path, lambdas_of_a_list_are_taken)
{
    const lasso_recipe recipe = {
        .rows = 30, .cols = 10, .seed = 6, .density = 1, .noise = 1};
    char list[] = "/tmp/strads_lambdas_XXXXXX";
    const int file = mkstemp(list);

    for (const program *p = programs; p < programs + PROGRAMS; p++) {
        lasso_design d = p->design(&recipe);
        const double lambda[] = {.1 * p->first, p->first, .3 * p->first};
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
            strads_result *result = run(p, &d, &q);
            const strads_path_point *point = points_of(p, result, 3);
            cr_expect_eq(point[0].lambda, lambda[1]);
            cr_expect_eq(point[1].lambda, lambda[2]);
            cr_expect_eq(point[2].lambda, lambda[0]);
            linear_fit one = p->fit(&d, lambda[0]);
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

/* At 0 the fit is that of least squares: with as many rows as columns, and these
 * independent, P falls to 0. */
Test(linear_path, a_glm_goes_to_lambda_0)
{
    const lasso_recipe recipe = {
        .rows = 60, .cols = 8, .seed = 3, .density = 1, .noise = 1};
    lasso_design d = lasso_design_random(&recipe);
    const question q = {.lambdas = "0,.1,1", .ratio = .5};
    const program *p = &programs[2];
    strads_result *result = run(p, &d, &q);
    const strads_path_point *point = points_of(p, result, 3);
    const strads_glm_options none = {.penalty = "none"};
    linear_fit one = glm_design_fit(&d, &none, NULL);

    cr_expect_eq(point[2].lambda, 0);
    cr_expect_float_eq(point[2].objective, one.objective, 1e-9 * one.objective);
    linear_fit at = linear_fit_at(&point[2], d.cols);
    cr_expect_lt(glm_violation(&d, &none, &at), 1e-4);
    linear_fit_free(&at);
    linear_fit_free(&one);
    strads_result_free(result);
    lasso_design_free(&d);
}

Test(linear_path, options_of_a_fit_that_contradict_a_path_are_refused)
{
    static const strads_lasso_path_options of_lasso[] = {
        {.fit = {.lambda = 1}},
        {.fit = {.lambda_ratio = .1}},
        {.fit = {.l1_ratio = 1e-5}}};
    static const strads_logistic_path_options of_logistic[] = {
        {.fit = {.l1_ratio = 1, .lambda = 1}},
        {.fit = {.l1_ratio = 1, .lambda_ratio = .1}},
        {.fit = {.l1_ratio = 1, .c = 1}},
        {.fit = {.l1_ratio = 0}},
        {.fit = {.l1_ratio = 1, .classes = "1,2,3"}},
        {.fit = {.l1_ratio = 1e-5}}};

    static const strads_glm_path_options of_glm[] = {
        {.fit = {.lambda = 1}},
        {.fit = {.lambda_ratio = .1}},
        {.fit = {.penalty = "none"}},
        {.fit = {.loss = "cubic"}}};

    for (size_t k = 0; k < sizeof(of_glm) / sizeof(of_glm[0]); k++)
        expect_refused(&programs[2], &of_glm[k], k);
    for (size_t k = 0; k < sizeof(of_lasso) / sizeof(of_lasso[0]); k++)
        expect_refused(&programs[0], &of_lasso[k], k);
    for (size_t k = 0; k < sizeof(of_logistic) / sizeof(of_logistic[0]); k++)
        expect_refused(&programs[1], &of_logistic[k], k);
}
