/* Proportional odds against their definition: the loss's value and slopes by
 * brute force over thresholds, the reported gap against the value of other
 * coefficients, and equal results of processes and folds. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/glm/glm_parts.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { ROWS_MAX = 200, LEVELS_MAX = 6 };

typedef struct levels {
    uint64_t n;
    uint32_t k; /* levels */
    double y[ROWS_MAX], c[ROWS_MAX], z[ROWS_MAX];
} levels;

static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

static levels random_levels(uint64_t n, uint32_t k, uint64_t seed)
{
    levels d = {.n = n, .k = k};

    for (uint64_t i = 0; i < n; i++) {
        d.y[i] = i < k ? (double)i + 1 : 1 + floor(draw(&seed) * k);
        d.c[i] = i % 7 == 6 && i >= k ? 0 : .5 + draw(&seed);
        d.z[i] = 4 * draw(&seed) - 2 + .5 * d.y[i];
    }
    return d;
}

static double cumulative_at(const double *t, uint32_t k, uint32_t all, double z)
{
    return k == 0 ? 0 : k == all ? 1 : 1 / (1 + exp(z - t[k - 1]));
}

static double value_at(const levels *d, const double *t)
{
    double sum = 0;

    for (uint64_t i = 0; i < d->n; i++) {
        const uint32_t k = (uint32_t)d->y[i];
        const double p = cumulative_at(t, k, d->k, d->z[i]) -
                         cumulative_at(t, k - 1, d->k, d->z[i]);
        if (d->c[i] > 0)
            sum -= d->c[i] * log(fmax(p, 1e-300));
    }
    return sum;
}

/* The least value over thresholds: from any ones, each in turn by bisections of
 * its slope, until none moves. */
static double brute_value(const levels *d, double *t)
{
    for (uint32_t k = 0; k + 1 < d->k; k++)
        t[k] = -2 + 4. * k / d->k;
    for (int round = 0; round < 400; round++)
        for (uint32_t k = 0; k + 1 < d->k; k++) {
            double low = k > 0 ? t[k - 1] : -30;
            double high = k + 2 < d->k ? t[k + 1] : 30;
            for (int step = 0; step < 50; step++) {
                const double a = low + .382 * (high - low);
                const double b = low + .618 * (high - low);
                t[k] = a;
                const double at_a = value_at(d, t);
                t[k] = b;
                if (at_a < value_at(d, t))
                    high = b;
                else
                    low = a;
            }
            t[k] = (low + high) / 2;
        }
    return value_at(d, t);
}

Test(glm_ordinal, the_loss_is_the_least_over_thresholds)
{
    for (uint32_t k = 2; k <= 5; k++) {
        levels d = random_levels(10 + 15 * k, k, k);
        const glm_rows rows = {d.n, d.y, d.c, d.z};
        double r[ROWS_MAX], h[ROWS_MAX], t[LEVELS_MAX], own[LEVELS_MAX];
        const double value = glm_loss_ordinal.evaluate(&rows, 0, r, h);
        const double expected = brute_value(&d, t);
        cr_assert_float_eq(value, expected, 1e-7 * expected, "%u: %.12g, %.12g",
                           k, value, expected);
        glm_loss_ordinal.thresholds(&rows, k, own);
        for (uint32_t j = 0; j + 1 < k; j++)
            cr_assert_float_eq(own[j], t[j], 1e-3);
        for (uint64_t i = 0; i < d.n; i += 3) {
            const double z = d.z[i], step = 1e-4;
            d.z[i] = z + step;
            const double up = glm_loss_ordinal.evaluate(&rows, 0, NULL, NULL);
            d.z[i] = z - step;
            const double down = glm_loss_ordinal.evaluate(&rows, 0, NULL, NULL);
            d.z[i] = z;
            cr_assert_float_eq(-r[i], (up - down) / (2 * step), 1e-6);
            /* h bounds the curvature. */
            cr_assert_leq((up + down - 2 * value) / (step * step), h[i] + 1e-5);
        }
    }
}

/* Fenchel's inequality f(v) >= u'v - f*(u) at slopes u = -s r, for any v, with
 * equality at the margins of r if s is 1. */
Test(glm_ordinal, conjugates_bound_the_loss)
{
    for (uint32_t k = 2; k <= 5; k++) {
        levels d = random_levels(60, k, 10 + k), other = d;
        const glm_rows rows = {d.n, d.y, d.c, d.z};
        const glm_rows others = {d.n, d.y, d.c, other.z};
        double r[ROWS_MAX];
        const double value = glm_loss_ordinal.evaluate(&rows, 0, r, NULL);
        uint64_t seed = k;
        for (int trial = 0; trial < 40; trial++) {
            const double s = trial == 0 ? 1 : draw(&seed);
            const double conjugate = glm_loss_ordinal.conjugates(&rows, s, r);
            double product = 0;
            for (uint64_t i = 0; i < d.n; i++) {
                other.z[i] = trial == 0 ? d.z[i]
                                        : 2 * draw(&seed) * d.z[i] +
                                              draw(&seed) * trial / 10;
                product -= s * r[i] * other.z[i];
            }
            const double at = glm_loss_ordinal.evaluate(&others, 0, NULL, NULL);
            cr_assert_geq(at, product - conjugate - 1e-9 * value);
            if (trial == 0)
                cr_assert_float_eq(at, product - conjugate, 1e-9 * value);
        }
        cr_assert_float_eq(glm_loss_ordinal.conjugates(&rows, 0, r), 0, 1e-12);
    }
}

Test(glm_ordinal, a_level_without_weight_has_no_threshold)
{
    levels d = random_levels(50, 4, 3);
    double t[3], u[2];
    double held[ROWS_MAX] = {0};

    for (uint64_t i = 0; i < d.n; i++)
        d.c[i] = d.y[i] == 2 ? 0 : d.c[i];
    const glm_rows rows = {d.n, d.y, d.c, d.z};
    glm_loss_ordinal.thresholds(&rows, 4, t);
    cr_assert_eq(t[0], t[1]);
    cr_assert_lt(t[1], t[2]);
    for (uint64_t i = 0; i < d.n; i++)
        held[i] = d.y[i] == 2;
    cr_assert_eq(glm_loss_ordinal.apart(&rows, held), INFINITY);
    for (uint64_t i = 0; i < d.n; i++)
        d.y[i] = d.y[i] > 1 ? d.y[i] - 1 : 1;
    glm_loss_ordinal.thresholds(&rows, 3, u);
    cr_assert_eq(u[0], t[0]);
    cr_assert_eq(u[1], t[2]);
    const double all = glm_loss_ordinal.evaluate(&rows, 0, NULL, NULL);
    cr_assert_float_eq(glm_loss_ordinal.apart(&rows, d.c), all, 1e-9 * all);
}

/* ---- fits ---------------------------------------------------------------- */

static void expect_fit(const char *penalty, double lambda, uint64_t cols,
                       uint32_t workers)
{
    lasso_design d = logistic_design_classes(cols, .7);
    const strads_glm_options o = {.loss = "ordinal",
                                  .penalty = penalty,
                                  .lambda = lambda,
                                  .l1_ratio =
                                      strcmp(penalty, "elastic-net") == 0 ? .5
                                                                          : 0};
    const strads_engine_options engine = {.workers = workers,
                                          .partitions = workers,
                                          .deterministic = true,
                                          .tolerance = 1e-8};
    linear_fit fit = glm_design_fit(&d, &o, &engine);
    levels l = {.n = d.rows, .k = LOGISTIC_DESIGN_CLASSES};
    const double share = strcmp(penalty, "ridge") == 0 ? 0
                         : o.l1_ratio > 0              ? o.l1_ratio
                                                       : 1;
    double t[LEVELS_MAX];

    expect_ok(fit.err);
    cr_assert_leq(fit.gap, 1e-8);
    cr_assert_eq(fit.width, 1);
    for (uint64_t i = 0; i < d.rows; i++) {
        l.c[i] = 1;
        l.z[i] = linear_fit_value_at(&fit, &d, i);
        for (uint32_t k = 0; k < LOGISTIC_DESIGN_CLASSES; k++)
            if (d.y[i] == logistic_design_label[k])
                l.y[i] = k + 1;
    }
    const glm_rows rows = {l.n, l.y, l.c, l.z};
    double r[ROWS_MAX];
    const double loss =
        glm_loss_ordinal.evaluate(&rows, 0, r, NULL) / (double)d.rows;
    double penalties = 0;
    for (uint64_t j = 0; j < cols && lambda > 0; j++)
        penalties += lambda * (share * fabs(fit.w[j]) +
                               (1 - share) / 2 * fit.w[j] * fit.w[j]);
    cr_assert_float_eq(fit.objective, loss + penalties, 1e-9,
                       "%s: %.12g, expected %.12g", penalty, fit.objective,
                       loss + penalties);
    if (workers == 1)
        cr_assert_float_eq(brute_value(&l, t) / (double)d.rows, loss, 1e-7);
    /* Slopes are subgradients. */
    for (uint64_t j = 0; j < cols; j++) {
        double slope = 0;
        for (uint64_t i = 0; i < d.rows; i++)
            slope += r[i] * lasso_design_col(&d, j)[i] / (double)d.rows;
        slope -= lambda * (1 - share) * fit.w[j];
        const double off =
            fit.w[j] != 0 ? fabs(slope - copysign(lambda * share, fit.w[j]))
                          : fmax(fabs(slope) - lambda * share, 0);
        cr_assert_lt(off, 1e-4, "%s, column %llu: %g", penalty,
                     (unsigned long long)j, off);
    }
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(glm_ordinal, fits_meet_the_optimality_conditions)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        expect_fit("l1", .02, 8, workers);
        expect_fit("elastic-net", .03, 30, workers);
        expect_fit("ridge", .05, 12, workers);
        expect_fit("none", 0, 3, workers);
    }
}

/* Two levels are a logistic regression with an intercept. */
Test(glm_ordinal, two_levels_are_a_logistic_regression)
{
    const lasso_recipe recipe = {.rows = 80, .cols = 10, .seed = 5, .noise = 9};
    lasso_design d = glm_design_random(&recipe, "logistic");
    const strads_glm_options ordinal = {.loss = "ordinal", .lambda = .03};
    const strads_glm_options logistic = {.loss = "logistic",
                                         .lambda = .03,
                                         .intercept = true};
    linear_fit a = glm_design_fit(&d, &ordinal, NULL);
    linear_fit b = glm_design_fit(&d, &logistic, NULL);

    expect_ok(a.err);
    cr_assert_float_eq(a.objective, b.objective, 1e-9);
    for (uint64_t j = 0; j < d.cols; j++)
        cr_assert_float_eq(a.w[j], b.w[j], 1e-4);
    linear_fit_free(&a);
    linear_fit_free(&b);
    lasso_design_free(&d);
}

Test(glm_ordinal, options_of_other_losses_are_refused)
{
    lasso_design d = logistic_design_classes(4, 1);
    const uint32_t stratum[90] = {0};
    linear_fit fit =
        glm_design_fit(&d,
                       &(strads_glm_options){.loss = "ordinal",
                                             .row_stratum = stratum},
                       NULL);

    cr_assert_eq(fit.err, STRADS_EINVAL);
    expect_says("there are strata, and the loss ordinal has none");
    linear_fit_free(&fit);
    lasso_design_free(&d);
}
