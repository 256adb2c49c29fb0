/* Cox's partial likelihood against its definition, pair by pair, and against an
 * accelerated proximal gradient method on it: the reported gap bounds the
 * distance from the minimum. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/glm/glm_parts.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { ROWS_MAX = 64, COLS_MAX = 16 };

/* Rows with times; a negative one has no event. */
typedef struct times {
    uint64_t n;
    double t[ROWS_MAX], c[ROWS_MAX];
    bool efron;
} times;

static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

/* ---- the definition ------------------------------------------------------ */

/* The terms of the events at time t: their value, and r -= their slopes. */
static double value_of_time(const times *d, double t, const double *z,
                            double *r)
{
    double own = 0, all = 0, n = 0, weight = 0, sum = 0;

    for (uint64_t i = 0; i < d->n; i++) {
        const double e = d->c[i] * exp(z[i]);
        const bool event = d->t[i] == t && d->c[i] > 0;
        all += fabs(d->t[i]) >= t ? e : 0;
        own += event ? e : 0;
        n += event;
        weight += event ? d->c[i] : 0;
        sum -= event ? d->c[i] * z[i] : 0;
        r[i] += event ? d->c[i] : 0;
    }
    sum -= weight * log(weight);
    for (double l = 0; l < n; l++) {
        const double part = d->efron ? l / n : 0, left = all - part * own;
        sum += weight / n * (log(left) - log(1 - part));
        for (uint64_t i = 0; i < d->n; i++) {
            const double e = d->c[i] * exp(z[i]);
            const bool event = d->t[i] == t;
            if (fabs(d->t[i]) >= t)
                r[i] -= weight / n * e * (event ? 1 - part : 1) / left;
        }
    }
    return sum;
}

static double value_by_definition(const times *d, const double *z, double *r)
{
    double sum = 0;

    memset(r, 0, d->n * sizeof(*r));
    for (uint64_t i = 0; i < d->n; i++) {
        bool first = d->t[i] > 0 && d->c[i] > 0;
        for (uint64_t j = 0; j < i; j++)
            first = first && !(d->t[j] == d->t[i] && d->c[j] > 0);
        sum += first ? value_of_time(d, d->t[i], z, r) : 0;
    }
    return sum;
}

/* ---- the loss ------------------------------------------------------------ */

static void draw_times(uint64_t seed, times *d)
{
    const double unit = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 20 : 1e6;

    d->n = 1 + seed * 7 % 40;
    d->efron = seed % 2;
    for (uint64_t i = 0; i < d->n; i++) {
        d->t[i] = 1 + floor(unit * draw(&seed));
        d->t[i] = draw(&seed) < .3 && i > 0 ? -d->t[i] : d->t[i];
        d->c[i] = seed % 5 < 2 ? 1 : i % 4 == 3 ? 0 : .2 + draw(&seed);
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
        expect_ok(glm_rank_times(d.n, y));
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
    p->o = (strads_glm_options){.loss = seed % 2 ? "cox-efron" : "cox",
                                .penalty = names[seed % 3],
                                .lambda = seed % 3 == 1 ? .1 : 0,
                                .lambda_ratio = seed % 3 == 1 ? 0 : .15,
                                .intercept = seed / 2 % 2,
                                .standardize = seed / 3 % 2,
                                .row_weight = p->t.c,
                                .row_offset = seed % 5 < 2 ? p->offset : NULL};
    for (uint64_t i = 0; i < p->d.rows; i++) {
        p->t.t[i] = 1 + floor((seed % 2 ? 8 : 1e4) * draw(&at));
        p->t.t[i] = draw(&at) < .3 && i > 0 ? -p->t.t[i] : p->t.t[i];
        p->t.c[i] = seed % 4 < 2 ? 1 : i % 5 == 4 ? 0 : 10 * (.2 + draw(&at));
        p->d.y[i] = p->t.t[i];
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

Test(glm_cox, what_it_cannot_do_is_refused)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = 20, .cols = 3, .seed = 1, .noise = 1});
    strads_glm_options o = {.loss = "cox"};
    strads_glm_cv_options cv = {.path = {.fit = o}};
    strads_cv_point points[GLM_POINTS];
    strads_data *data = NULL;
    uint32_t best, simplest;

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = -1 - (double)i;
    linear_fit fit = glm_design_fit(&d, &o, NULL);
    cr_expect_eq(fit.err, STRADS_EINVAL);
    cr_expect(strstr(strads_error_text(), "no row has an event"), "%s",
              strads_error_text());
    linear_fit_free(&fit);
    expect_ok(lasso_design_data(&d, 1, &data));
    cr_expect_eq(strads_glm_cv(data, &cv, points, &best, &simplest),
                 STRADS_EINVAL);
    cr_expect(strstr(strads_error_text(), "no cross-validation"));
    strads_data_free(data);
    lasso_design_free(&d);
}
