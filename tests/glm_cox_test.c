/* Cox's partial likelihood against its definition, pair by pair, and against an
 * accelerated proximal gradient method on it: the reported gap bounds the
 * distance from the minimum. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/glm/glm_parts.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { ROWS_MAX = 64, COLS_MAX = 16 };

/* Rows with times; a negative one has no event. */
typedef struct times {
    uint64_t n;
    double t[ROWS_MAX], c[ROWS_MAX];
    uint32_t s[ROWS_MAX]; /* strata */
    bool efron;
} times;

static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

/* ---- the definition ------------------------------------------------------ */

/* The terms of the events at the time of row `of`, in its stratum: their value,
 * and r -= their slopes. *hazard is their share of the baseline hazard. */
static double value_of_time(const times *d, uint64_t of, const double *z,
                            double *r, double *hazard)
{
    const double t = d->t[of];
    double own = 0, all = 0, n = 0, weight = 0, sum = 0;

    for (uint64_t i = 0; i < d->n; i++) {
        const double e = d->c[i] * exp(z[i]);
        const bool event = d->t[i] == t && d->c[i] > 0;
        if (d->s[i] != d->s[of])
            continue;
        all += fabs(d->t[i]) >= t ? e : 0;
        own += event ? e : 0;
        n += event;
        weight += event ? d->c[i] : 0;
        sum -= event ? d->c[i] * z[i] : 0;
        r[i] += event ? d->c[i] : 0;
    }
    sum -= weight * log(weight);
    *hazard = 0;
    for (double l = 0; l < n; l++) {
        const double part = d->efron ? l / n : 0, left = all - part * own;
        sum += weight / n * (log(left) - log(1 - part));
        *hazard += weight / n / left;
        for (uint64_t i = 0; i < d->n; i++) {
            const double e = d->c[i] * exp(z[i]);
            const bool event = d->t[i] == t;
            if (d->s[i] == d->s[of] && fabs(d->t[i]) >= t)
                r[i] -= weight / n * e * (event ? 1 - part : 1) / left;
        }
    }
    return sum;
}

/* True for the first row with an event at its time, in its stratum. */
static bool is_first(const times *d, uint64_t i)
{
    bool first = d->t[i] > 0 && d->c[i] > 0;

    for (uint64_t j = 0; j < i; j++)
        first =
            first && !(d->t[j] == d->t[i] && d->c[j] > 0 && d->s[j] == d->s[i]);
    return first;
}

static double value_by_definition(const times *d, const double *z, double *r)
{
    double sum = 0, hazard;

    memset(r, 0, d->n * sizeof(*r));
    for (uint64_t i = 0; i < d->n; i++)
        sum += is_first(d, i) ? value_of_time(d, i, z, r, &hazard) : 0;
    return sum;
}

/* The cumulative baseline hazard of a stratum at time t. */
static double hazard_by_definition(const times *d, uint32_t s, double t,
                                   const double *z)
{
    double sum = 0, r[ROWS_MAX] = {0}, hazard;

    for (uint64_t i = 0; i < d->n; i++)
        if (is_first(d, i) && d->s[i] == s && d->t[i] <= t) {
            (void)value_of_time(d, i, z, r, &hazard);
            sum += hazard;
        }
    return sum;
}

/* ---- the loss ------------------------------------------------------------ */

static void draw_times(uint64_t seed, times *d)
{
    const double unit = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 20 : 1e6;
    const double strata = (double)(seed % 4);

    d->n = 1 + seed * 7 % 40;
    d->efron = seed % 2;
    for (uint64_t i = 0; i < d->n; i++) {
        d->t[i] = 1 + floor(unit * draw(&seed));
        d->t[i] = draw(&seed) < .3 && i > 0 ? -d->t[i] : d->t[i];
        d->c[i] = seed % 5 < 2 ? 1 : i % 4 == 3 ? 0 : .2 + draw(&seed);
        d->s[i] = strata > 1 ? (uint32_t)(strata * draw(&seed)) * 7 : 0;
    }
}

Test(glm_cox, the_loss_its_slopes_and_its_conjugate_are_those_of_its_definition)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        double z[ROWS_MAX], r[ROWS_MAX], h[ROWS_MAX], y[ROWS_MAX],
            right[ROWS_MAX], other[ROWS_MAX], size = 0;
        const double spread = seed % 4 == 0 ? 200 : 2;
        uint64_t at = seed;
        times d;
        draw_times(seed, &d);
        const glm_loss *loss = glm_loss_find(d.efron ? "cox-efron" : "cox");
        for (uint64_t i = 0; i < d.n; i++) {
            y[i] = d.t[i];
            z[i] = spread * (draw(&at) - .5);
            size += d.c[i];
        }
        expect_ok(glm_rank_times(d.n, d.s, y));
        const glm_rows rows = {d.n, y, d.c, z};
        const double value = loss->evaluate(&rows, 0, r, h);
        const double wanted = value_by_definition(&d, z, right);
        cr_expect_float_eq(value, wanted, 1e-10 * (spread * size + 1),
                           "%d: %g, %g", (int)seed, value, wanted);
        cr_expect_geq(value, -1e-12 * size * spread);
        for (uint64_t i = 0; i < d.n; i++) {
            cr_expect_float_eq(r[i], right[i], 1e-9 * size, "%d: %g, %g",
                               (int)seed, r[i], right[i]);
            cr_expect(h[i] >= 0);
        }
        /* Fenchel's inequality at other margins. */
        for (int k = 0; k < 20; k++) {
            const double s = k % 4 / 3., way = k < 10 ? 3 : 100;
            double dual = -loss->conjugates(&rows, s, r);
            for (uint64_t i = 0; i < d.n; i++) {
                other[i] = z[i] * (k % 3) / 2. + way * (draw(&at) - .5);
                dual -= s * r[i] * other[i];
            }
            const double there = value_by_definition(&d, other, right);
            cr_expect_geq(there, dual - 1e-9 * size * (spread + way),
                          "%d: %g below the dual's %g at %g", (int)seed, there,
                          dual, s);
        }
    }
}

Test(glm_cox, margins_too_far_apart_have_no_value_and_no_dual)
{
    const double y[] = {1, -2, 2}, c[] = {1, 1, 1}, z[] = {0, -700, 700};
    const glm_rows rows = {3, y, c, z};
    const glm_loss *loss = glm_loss_find("cox");
    double r[3], h[3];

    cr_expect(isinf(loss->evaluate(&rows, 0, r, h)));
    cr_expect_eq(loss->conjugates(&rows, 1, r), INFINITY);
}

/* ---- fits ---------------------------------------------------------------- */

typedef struct problem {
    lasso_design d;
    strads_glm_options o;
    times t;
    double offset[ROWS_MAX], x[COLS_MAX][ROWS_MAX], weight;
} problem;

static double margin_of(const problem *p, const double *v, uint64_t i)
{
    double z = p->o.row_offset ? p->offset[i] : 0;

    for (uint64_t j = 0; j < p->d.cols; j++)
        z += p->x[j][i] * v[j];
    return z;
}

/* P at scaled coefficients; fills in slopes of columns. */
static double objective_of(const problem *p, double lambda, const double *v,
                           double *slope)
{
    const bool ridge = strcmp(p->o.penalty, "ridge") == 0;
    double z[ROWS_MAX], r[ROWS_MAX];

    for (uint64_t i = 0; i < p->d.rows; i++)
        z[i] = margin_of(p, v, i);
    double sum = value_by_definition(&p->t, z, r) / p->weight;
    for (uint64_t j = 0; j < p->d.cols; j++) {
        slope[j] = 0;
        for (uint64_t i = 0; i < p->d.rows; i++)
            slope[j] += p->x[j][i] * r[i] / p->weight;
        sum += lambda * (ridge ? v[j] * v[j] / 2 : fabs(v[j]));
    }
    return sum;
}

static double least_of(const problem *p, double lambda)
{
    enum { STEPS = 4000 };
    const bool ridge = strcmp(p->o.penalty, "ridge") == 0;
    double v[COLS_MAX] = {0}, from[COLS_MAX] = {0}, slope[COLS_MAX];
    double most = 0, t = 1, least = INFINITY;

    for (uint64_t i = 0; i < p->d.rows; i++) {
        double square = 0;
        for (uint64_t j = 0; j < p->d.cols; j++)
            square += p->x[j][i] * p->x[j][i];
        most = fmax(most, square);
    }
    for (int k = 0; k < STEPS; k++) {
        double turned = 0;
        (void)objective_of(p, lambda, from, slope);
        const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
        double beyond = (t - 1) / next, to[COLS_MAX];
        for (uint64_t j = 0; j < p->d.cols; j++) {
            const double u = from[j] + slope[j] / most, cut = lambda / most;
            to[j] = ridge           ? u / (1 + cut)
                    : fabs(u) > cut ? u - copysign(cut, u)
                                    : 0;
            turned += (from[j] - to[j]) * (to[j] - v[j]);
        }
        beyond = turned > 0 ? 0 : beyond;
        t = turned > 0 ? 1 : next;
        for (uint64_t j = 0; j < p->d.cols; j++) {
            from[j] = to[j] + beyond * (to[j] - v[j]);
            v[j] = to[j];
        }
        if (k % 100 == 99)
            least = fmin(least, objective_of(p, lambda, v, slope));
    }
    return least;
}

static void problem_of(uint64_t seed, problem *p)
{
    static const char *const names[] = {"l1", "ridge", "l1"};
    const lasso_recipe recipe = {.rows = 10 + seed * 7 % 40,
                                 .cols = 1 + seed * 5 % 12,
                                 .seed = seed,
                                 .density = seed % 3 ? 0 : .4,
                                 .correlation = .3,
                                 .noise = 1,
                                 .offset = seed % 4 == 1 ? 50 : 0};
    uint64_t at = seed;

    memset(p, 0, sizeof(*p));
    p->d = lasso_design_random(&recipe);
    draw_times(seed, &p->t);
    p->t.n = p->d.rows;
    memset(p->t.s, 0, sizeof(p->t.s));
    p->o = (strads_glm_options){.loss = seed % 2 ? "cox-efron" : "cox",
                                .penalty = names[seed % 3],
                                .lambda = seed % 3 == 1 ? .1 : 0,
                                .lambda_ratio = seed % 3 == 1 ? 0 : .15,
                                .intercept = seed / 2 % 2,
                                .standardize = seed / 3 % 2,
                                .row_weight = p->t.c,
                                .row_stratum = seed % 4 > 1 ? p->t.s : NULL,
                                .row_offset = seed % 5 < 2 ? p->offset : NULL};
    for (uint64_t i = 0; i < p->d.rows; i++) {
        p->t.t[i] = 1 + floor((seed % 2 ? 8 : 1e4) * draw(&at));
        p->t.t[i] = draw(&at) < .3 && i > 0 ? -p->t.t[i] : p->t.t[i];
        p->t.c[i] = seed % 4 < 2 ? 1 : i % 5 == 4 ? 0 : 10 * (.2 + draw(&at));
        p->d.y[i] = p->t.t[i];
        p->t.s[i] = seed % 4 > 1 ? 3 - (uint32_t)(2 * draw(&at)) : 0;
        p->offset[i] = draw(&at) - .5;
        p->weight += p->t.c[i];
    }
    for (uint64_t j = 0; j < p->d.cols; j++) {
        const double *x = lasso_design_col(&p->d, j);
        double mean = 0, square = 0;
        for (uint64_t i = 0; i < p->d.rows; i++)
            mean += p->t.c[i] * x[i] / p->weight;
        for (uint64_t i = 0; i < p->d.rows; i++)
            square += p->t.c[i] * (x[i] - mean) * (x[i] - mean) / p->weight;
        for (uint64_t i = 0; i < p->d.rows; i++)
            p->x[j][i] = (x[i] - mean) / (p->o.standardize ? sqrt(square) : 1);
        if (p->o.standardize)
            p->x[j][ROWS_MAX - 1] = sqrt(square);
    }
}

static void check_problem(uint64_t seed, double tolerance, uint32_t partitions)
{
    const strads_engine_options engine = {.tolerance = tolerance,
                                          .partitions = partitions,
                                          .workers = partitions > 2 ? 2 : 1,
                                          .deterministic = true};
    double v[COLS_MAX], slope[COLS_MAX], critical = 0;
    const double zero[COLS_MAX] = {0};
    problem p;

    problem_of(seed, &p);
    linear_fit fit = glm_design_fit(&p.d, &p.o, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "problem %d: gap %g", (int)seed,
                 fit.gap);
    for (uint64_t j = 0; j < p.d.cols; j++)
        v[j] = fit.w[j] * (p.o.standardize ? p.x[j][ROWS_MAX - 1] : 1);
    const double value = objective_of(&p, fit.lambda, v, slope);
    const double least = least_of(&p, fit.lambda);
    cr_expect_eq(fit.intercept, 0);
    cr_expect_float_eq(fit.objective, value, 1e-9 * value, "problem %d: %g, %g",
                       (int)seed, fit.objective, value);
    cr_expect_geq(value, least * (1 - 1e-7), "problem %d: %.12g, %.12g",
                  (int)seed, value, least);
    cr_expect_leq(value - least, (fit.gap + 1e-10) * value,
                  "problem %d: %g above the minimum of %g, a gap of %g",
                  (int)seed, value - least, least, fit.gap);
    (void)objective_of(&p, 0, zero, slope);
    for (uint64_t j = 0; j < p.d.cols; j++)
        critical = fmax(critical, fabs(slope[j]));
    if (strcmp(p.o.penalty, "l1") == 0)
        cr_expect_float_eq(fit.lambda_max, critical, 1e-8 * critical);
    linear_fit_free(&fit);
    lasso_design_free(&p.d);
}

Test(glm_cox, the_gap_bounds_the_distance_from_the_minimum)
{
    static const double tolerances[] = {1e-9, 1e-1, 1e-4};

    for (uint64_t seed = 0; seed < 24; seed++)
        check_problem(seed, tolerances[seed % 3], 1 + (uint32_t)seed % 4);
}

/* ---- the baseline hazard ------------------------------------------------- */

static void check_baseline(uint64_t seed, uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .tolerance = 1e-6,
                                          .partitions = partitions,
                                          .workers = partitions,
                                          .deterministic = true};
    double z[ROWS_MAX], w[COLS_MAX] = {0};
    uint64_t steps = 0;
    strads_result *result = NULL;
    strads_model *model = NULL;
    strads_data *data = NULL;
    problem p;

    problem_of(seed, &p);
    expect_ok(lasso_design_data(&p.d, partitions, &data));
    expect_ok(strads_run(&strads_program_glm, &p.o, data, &engine, &result));
    const strads_baseline *b = strads_glm_baseline(strads_result_state(result));
    expect_ok(strads_model_from_result(result, "glm", NULL, 0, &model));
    for (uint64_t e = 0; e < model->n; e++)
        w[model->index[e]] = model->value[e];
    for (uint64_t i = 0; i < p.d.rows; i++) {
        z[i] = p.o.row_offset ? p.offset[i] : 0;
        for (uint64_t j = 0; j < p.d.cols; j++)
            z[i] += lasso_design_col(&p.d, j)[i] * w[j];
    }
    for (uint64_t i = 0; i < p.d.rows; i++) {
        const double t = fabs(p.t.t[i]), margin = .3 - z[i];
        const double hazard = hazard_by_definition(&p.t, p.t.s[i], t, z);
        const double ours = strads_glm_survival(b, p.t.s[i], t, -z[i]);
        const double wanted = exp(-hazard * exp(-z[i]));
        cr_expect_float_eq(ours, wanted, 1e-8, "problem %d, row %d: %g, %g",
                           (int)seed, (int)i, ours, wanted);
        cr_expect_leq(strads_glm_survival(b, p.t.s[i], t + .5, margin),
                      strads_glm_survival(b, p.t.s[i], t, margin));
        cr_expect_eq(strads_glm_survival(b, p.t.s[i], 0, margin), 1);
        steps += is_first(&p.t, i);
    }
    cr_expect_eq(b->n, steps);
    cr_expect(isnan(strads_glm_survival(b, 77, 1, 0)));
    strads_model_free(model);
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&p.d);
}

Test(glm_cox, the_baseline_hazard_is_that_of_its_definition)
{
    for (uint64_t seed = 0; seed < 12; seed++)
        check_baseline(seed, 1u << seed % 3);
}

/* ---- cross-validation ---------------------------------------------------- */

enum { FOLDS = 3, POINTS = 3 };

/* The error of fold f: the loss of all rows minus that of the others. */
static double error_of(const problem *p, const uint32_t *fold, uint32_t f,
                       double lambda, double *events)
{
    double z[ROWS_MAX], r[ROWS_MAX], offset[ROWS_MAX], c[ROWS_MAX];
    uint32_t s[ROWS_MAX];
    problem rest = *p;
    times others = p->t;

    /* The fit's rows are those of the other folds. */
    rest.d = lasso_design_random(
        &(lasso_recipe){.rows = p->d.rows, .cols = p->d.cols, .seed = 1});
    uint64_t n = 0;
    for (uint64_t i = 0; i < p->d.rows; i++)
        n += fold[i] != f;
    rest.d.rows = n;
    for (uint64_t i = 0, k = 0; i < p->d.rows; i++) {
        if (fold[i] == f) {
            others.c[i] = 0;
            *events += p->t.t[i] > 0 ? p->t.c[i] : 0;
            continue;
        }
        for (uint64_t j = 0; j < p->d.cols; j++)
            rest.d.x[j * n + k] = lasso_design_col(&p->d, j)[i];
        rest.d.y[k] = p->d.y[i];
        c[k] = p->t.c[i];
        s[k] = p->t.s[i];
        offset[k++] = p->offset[i];
    }
    rest.o.lambda_ratio = 0;
    rest.o.lambda = lambda;
    rest.o.row_weight = c;
    rest.o.row_stratum = p->o.row_stratum ? s : NULL;
    rest.o.row_offset = p->o.row_offset ? offset : NULL;
    linear_fit fit = glm_design_fit(&rest.d, &rest.o, NULL);
    expect_ok(fit.err);
    for (uint64_t i = 0; i < p->d.rows; i++)
        z[i] = linear_fit_value_at(&fit, &p->d, i) +
               (p->o.row_offset ? p->offset[i] : 0);
    const double error = 2 * (value_by_definition(&p->t, z, r) -
                              value_by_definition(&others, z, r));
    linear_fit_free(&fit);
    lasso_design_free(&rest.d);
    return error;
}

/* Verweij and van Houwelingen's differences; folds weigh by their events. */
static void check_cv(uint64_t seed, const char *folder)
{
    static const double lambdas[POINTS] = {.2, .05, .02};
    uint32_t fold[ROWS_MAX], best, simplest;
    strads_cv_point points[POINTS];
    strads_data *data = NULL;
    char path[128];
    problem p;

    problem_of(seed, &p);
    (void)snprintf(path, sizeof(path), "%s/folds", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (uint64_t i = 0; i < p.d.rows; i++) {
        fold[i] = (uint32_t)(i * 7 % p.d.rows % FOLDS);
        (void)fprintf(file, "%u\n", fold[i] + 1);
    }
    (void)fclose(file);
    p.o.lambda = p.o.lambda_ratio = 0;
    const strads_glm_cv_options o = {.path = {.fit = p.o,
                                              .points = POINTS,
                                              .lambda = lambdas},
                                     .fold_file = path,
                                     .threads = 2,
                                     .tolerance = 1e-10};
    expect_ok(lasso_design_data(&p.d, 2, &data));
    expect_ok(strads_glm_cv(data, &o, points, &best, &simplest));
    for (uint32_t k = 0; k < POINTS; k++) {
        double sum = 0, events = 0;
        for (uint32_t f = 0; f < FOLDS; f++)
            sum += error_of(&p, fold, f, lambdas[k], &events);
        cr_expect_float_eq(points[k].error, sum / events,
                           1e-4 * (1 + sum / events), "problem %d: %g, %g",
                           (int)seed, points[k].error, sum / events);
        cr_expect(isnan(points[k].accuracy));
    }
    (void)unlink(path);
    strads_data_free(data);
    lasso_design_free(&p.d);
}

Test(glm_cox, errors_of_folds_are_differences_of_losses)
{
    static const uint64_t seeds[] = {2, 5, 6, 9};
    char folder[] = "/tmp/strads-cox-XXXXXX";

    cr_assert_not_null(mkdtemp(folder));
    for (size_t k = 0; k < sizeof(seeds) / sizeof(*seeds); k++)
        check_cv(seeds[k], folder);
    cr_expect_eq(rmdir(folder), 0);
}

Test(glm_cox, the_loss_of_given_margins_is_that_of_its_definition)
{
    for (uint64_t seed = 1; seed < 8; seed++) {
        double z[ROWS_MAX], r[ROWS_MAX], value = 0;
        uint64_t at = seed;
        times d;
        draw_times(seed, &d);
        for (uint64_t i = 0; i < d.n; i++)
            z[i] = draw(&at);
        const strads_glm_options o = {.loss = d.efron ? "cox-efron" : "cox",
                                      .row_weight = d.c,
                                      .row_stratum = d.s};
        expect_ok(strads_glm_loss(&o, d.n, d.t, z, &value));
        cr_expect_float_eq(value, value_by_definition(&d, z, r), 1e-9);
    }
    const double y[] = {1, 2}, z[] = {0, 4};
    double value = 0;
    expect_ok(strads_glm_loss(&(strads_glm_options){0}, 2, y, z, &value));
    cr_expect_float_eq(value, 2.5, 1e-12);
    cr_expect_eq(strads_glm_loss(&(strads_glm_options){.loss = "logistic"}, 2,
                                 y, z, &value),
                 STRADS_EINVAL);
}

Test(glm_cox, what_it_cannot_do_is_refused)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = 20, .cols = 3, .seed = 1, .noise = 1});
    strads_glm_options o = {.loss = "cox"};
    const uint32_t stratum[20] = {0};

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = -1 - (double)i;
    linear_fit fit = glm_design_fit(&d, &o, NULL);
    cr_expect_eq(fit.err, STRADS_EINVAL);
    cr_expect(strstr(strads_error_text(), "no row has an event"), "%s",
              strads_error_text());
    linear_fit_free(&fit);
    o = (strads_glm_options){.row_stratum = stratum};
    fit = glm_design_fit(&d, &o, NULL);
    cr_expect_eq(fit.err, STRADS_EINVAL);
    cr_expect(strstr(strads_error_text(), "the loss squared has none"), "%s",
              strads_error_text());
    linear_fit_free(&fit);
    lasso_design_free(&d);
}
