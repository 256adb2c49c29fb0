/* Quantile regression against the exact minimum of its linear program: some
 * vertex is a minimum, and vertices are enumerated. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { COLS = 3, PLANES_MAX = 32 };

typedef struct quantile {
    lasso_design d;
    strads_glm_options o;
    double c[PLANES_MAX], offset[PLANES_MAX], weight;
    double share; /* the quantile */
} quantile;

static void quantile_of(uint64_t seed, quantile *q)
{
    const lasso_recipe recipe = {.rows = 6 + seed * 5 % 12,
                                 .cols = 1 + seed % 2,
                                 .seed = seed,
                                 .density = seed % 3 ? 0 : .6,
                                 .noise = 1,
                                 .offset = seed % 4 == 1 ? 30 : 0};
    static const double shares[] = {.5, .9, .25};

    memset(q, 0, sizeof(*q));
    q->d = lasso_design_random(&recipe);
    q->share = shares[seed / 2 % 3];
    q->o = (strads_glm_options){.loss = "quantile",
                                .penalty = seed % 6 == 5 ? "none" : "l1",
                                .loss_parameter = q->share,
                                .lambda = seed % 6 == 5   ? 0
                                          : seed % 2 == 0 ? .05
                                                          : .3,
                                .intercept = seed % 3 < 2,
                                .row_weight = seed % 5 < 2 ? q->c : NULL,
                                .row_offset = seed % 7 < 2 ? q->offset : NULL};
    for (uint64_t i = 0; i < q->d.rows; i++) {
        q->c[i] = seed % 5 < 2 ? .5 + (double)(i * 7 % 5) : 1;
        q->offset[i] = seed % 7 < 2 ? (double)(i * 3 % 4) / 3 : 0;
        q->weight += q->c[i];
    }
}

/* The objective at w[cols] and b = w[cols]. */
static double objective_at(const quantile *q, const double *w)
{
    double sum = 0, penalty = 0;

    for (uint64_t i = 0; i < q->d.rows; i++) {
        double t = q->d.y[i] - q->offset[i] - w[q->d.cols];
        for (uint64_t j = 0; j < q->d.cols; j++)
            t -= lasso_design_col(&q->d, j)[i] * w[j];
        sum += q->c[i] * fmax(q->share * t, (q->share - 1) * t);
    }
    for (uint64_t j = 0; j < q->d.cols; j++)
        penalty += fabs(w[j]);
    return sum / q->weight + q->o.lambda * penalty;
}

/* Solves a[n][n + 1] by elimination; false: it has no single solution. */
static bool solve(uint64_t n, double a[COLS][COLS + 1], double *w)
{
    for (uint64_t k = 0; k < n; k++) {
        uint64_t best = k;
        for (uint64_t i = k; i < n; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        if (fabs(a[best][k]) < 1e-9)
            return false;
        for (uint64_t j = 0; j <= n; j++) {
            const double held = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = held;
        }
        for (uint64_t i = 0; i < n; i++) {
            const double share = i == k ? 0 : a[i][k] / a[k][k];
            for (uint64_t j = k; j <= n; j++)
                a[i][j] -= share * a[k][j];
        }
    }
    for (uint64_t k = 0; k < n; k++)
        w[k] = a[k][n] / a[k][k];
    return true;
}

/* The plane in which row i is fitted, or a coefficient is 0. */
static void plane_of(const quantile *q, uint64_t i, double *a)
{
    const uint64_t rows = q->d.rows, cols = q->d.cols;
    const uint64_t n = cols + q->o.intercept;

    for (uint64_t j = 0; j < cols; j++)
        a[j] = i < rows ? lasso_design_col(&q->d, j)[i] : i - rows == j;
    if (q->o.intercept)
        a[cols] = i < rows;
    a[n] = i < rows ? q->d.y[i] - q->offset[i] : 0;
}

static double least_of(const quantile *q)
{
    const uint64_t planes = q->d.rows + q->d.cols;
    const uint64_t n = q->d.cols + q->o.intercept;
    uint64_t at[COLS] = {0};
    double least = INFINITY;

    for (;;) {
        double a[COLS][COLS + 1], w[COLS + 1] = {0};
        bool rises = true;
        for (uint64_t k = 0; k < n; k++) {
            rises = rises && (k == 0 || at[k] > at[k - 1]);
            plane_of(q, at[k], a[k]);
        }
        if (rises && solve(n, a, w))
            least = fmin(least, objective_at(q, w));
        uint64_t k = 0;
        while (k < n && ++at[k] == planes)
            at[k++] = 0;
        if (k == n)
            return least;
    }
}

static void check_quantile(uint64_t seed, double tolerance, uint32_t workers)
{
    const strads_engine_options engine = {.tolerance = tolerance,
                                          .partitions = workers,
                                          .workers = workers,
                                          .deterministic = true};
    double w[COLS + 1] = {0};
    quantile q;

    quantile_of(seed, &q);
    linear_fit fit = glm_design_fit(&q.d, &q.o, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "problem %d: gap %g", (int)seed,
                 fit.gap);
    for (uint64_t j = 0; j < q.d.cols; j++)
        w[j] = fit.w[j];
    w[q.d.cols] = fit.intercept;
    const double value = objective_at(&q, w), least = least_of(&q);
    cr_expect_float_eq(fit.objective, value, 1e-9 * (1 + value),
                       "problem %d: %g, %g", (int)seed, fit.objective, value);
    cr_expect_geq(value, least * (1 - 1e-9));
    cr_expect_leq(value - least, (fit.gap + 1e-10) * value,
                  "problem %d: %g above the minimum of %g, a gap of %g",
                  (int)seed, value - least, least, fit.gap);
    linear_fit_free(&fit);
    lasso_design_free(&q.d);
}

Test(glm_quantile, the_gap_bounds_the_distance_from_the_exact_minimum)
{
    static const double tolerances[] = {1e-8, 1e-2, 1e-6};

    for (uint64_t seed = 0; seed < 24; seed++)
        check_quantile(seed, tolerances[seed % 3], 1u << seed % 3);
}

Test(glm_quantile, a_path_ends_at_the_fit_of_its_last_lambda)
{
    const double lambdas[] = {.3, .1, .05};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .tolerance = 1e-7,
                                          .partitions = 2,
                                          .workers = 2,
                                          .deterministic = true};
    strads_result *result = NULL;
    strads_data *data = NULL;
    uint32_t n = 0;
    quantile q;

    quantile_of(4, &q);
    q.o.lambda = 0;
    const strads_glm_path_options o = {.fit = q.o,
                                       .points = 3,
                                       .lambda = lambdas};
    expect_ok(lasso_design_data(&q.d, 2, &data));
    expect_ok(strads_run(&strads_program_glm_path, &o, data, &engine, &result));
    const strads_path_point *point =
        strads_glm_path(strads_result_state(result), &n);
    cr_assert_eq(n, 3);
    for (uint32_t k = 0; k < n; k++) {
        q.o.lambda = lambdas[k];
        const double least = least_of(&q);
        cr_expect_leq(point[k].gap, 1e-7);
        cr_expect_leq(fabs(point[k].objective - least), 2e-7 * least,
                      "%g: %g, %g", lambdas[k], point[k].objective, least);
    }
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&q.d);
}

Test(glm_quantile, a_share_outside_of_0_and_1_is_refused)
{
    quantile q;

    quantile_of(0, &q);
    q.o.loss_parameter = 1;
    linear_fit fit = glm_design_fit(&q.d, &q.o, NULL);
    cr_expect_eq(fit.err, STRADS_EINVAL);
    cr_expect(strstr(strads_error_text(), "above 0 and below 1"), "%s",
              strads_error_text());
    linear_fit_free(&fit);
    lasso_design_free(&q.d);
}
