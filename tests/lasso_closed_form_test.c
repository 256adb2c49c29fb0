/* Problems whose solution can be written down, and pairs of problems that must
 * have the same one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/expect.h"
#include "tests/lasso_design.h"

static linear_fit fit_well(const lasso_design *design,
                           const strads_lasso_options *options)
{
    linear_fit fit = lasso_design_fit(design, options, NULL);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    return fit;
}

static double soft(double z, double by)
{
    return z > by ? z - by : z < -by ? z + by : 0;
}

/* Columns of a Hadamard matrix: +-1, any two orthogonal. */
static lasso_design orthogonal(void)
{
    lasso_design d = lasso_design_zero(64, 40);

    for (uint64_t i = 0; i < d.rows; i++) {
        d.y[i] = sin(3. * (double)i) * 4 + (i % 5 == 0);
        for (uint64_t j = 0; j < d.cols; j++)
            lasso_design_col(&d, j)[i] =
                __builtin_popcountll(i & (j + 1)) % 2 ? -1 : 1;
    }
    return d;
}

Test(lasso_closed_form, an_orthogonal_design_gives_soft_thresholds)
{
    const strads_lasso_options cases[] = {{.lambda = .2},
                                          {.lambda = .2, .positive = true},
                                          {.lambda = .3, .l1_ratio = .6},
                                          {.lambda = .2,
                                           .standardize = true,
                                           .intercept = true}};
    lasso_design d = orthogonal();

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const strads_lasso_options *o = &cases[c];
        const double ratio = o->l1_ratio > 0 ? o->l1_ratio : 1;
        const double l1 = o->lambda * ratio, l2 = o->lambda - l1;
        linear_fit fit = fit_well(&d, o);
        for (uint64_t j = 0; j < d.cols; j++) {
            double z = 0;
            for (uint64_t i = 0; i < d.rows; i++)
                z += lasso_design_col(&d, j)[i] * d.y[i] / (double)d.rows;
            double w = soft(z, l1) / (1 + l2);
            if (o->positive && w < 0)
                w = 0;
            cr_expect_float_eq(fit.w[j], w, 1e-6, "case %zu, column %llu", c,
                               (unsigned long long)j);
        }
        linear_fit_free(&fit);
    }
    lasso_design_free(&d);
}

Test(lasso_closed_form, one_column_has_one_threshold)
{
    lasso_design d = lasso_design_zero(5, 1);
    const double x[] = {1, -2, 0, 4, .5}, y[] = {2, -1, 3, 5, -4};
    double xy = 0, xx = 0;

    for (int i = 0; i < 5; i++) {
        d.x[i] = x[i];
        d.y[i] = y[i];
        xy += x[i] * y[i];
        xx += x[i] * x[i];
    }
    linear_fit fit = fit_well(&d, &(strads_lasso_options){.lambda = .7});
    cr_expect_float_eq(fit.w[0], soft(xy, 5 * .7) / xx, 1e-9);
    cr_expect_float_eq(fit.lambda_max, fabs(xy) / 5, 1e-12);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(lasso_closed_form, from_lambda_max_on_nothing_enters)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 50, .cols = 70, .seed = 5, .density = .5, .noise = 1});
    const double above[] = {1, 1.0001, 7};

    for (size_t k = 0; k < 3; k++) {
        const strads_lasso_options o = {.lambda_ratio = above[k]};
        linear_fit fit = fit_well(&d, &o);
        cr_expect_eq(fit.nonzeros, 0, "at %g lambda_max: %llu nonzeros",
                     above[k], (unsigned long long)fit.nonzeros);
        linear_fit_free(&fit);
    }
    linear_fit below =
        fit_well(&d, &(strads_lasso_options){.lambda_ratio = .99});
    cr_expect_gt(below.nonzeros, 0);
    linear_fit_free(&below);
    lasso_design_free(&d);
}

/* [X; sqrt(n l2) I], [y; 0]: the elastic net as a Lasso. Its n differs, so
 * lambda does too. */
static lasso_design augmented(const lasso_design *d, double l2)
{
    lasso_design a = lasso_design_zero(d->rows + d->cols, d->cols);

    for (uint64_t i = 0; i < d->rows; i++)
        a.y[i] = d->y[i];
    for (uint64_t j = 0; j < d->cols; j++) {
        for (uint64_t i = 0; i < d->rows; i++)
            lasso_design_col(&a, j)[i] = lasso_design_col(d, j)[i];
        lasso_design_col(&a, j)[d->rows + j] = sqrt((double)d->rows * l2);
    }
    return a;
}

Test(lasso_closed_form, the_elastic_net_is_a_lasso_on_augmented_rows)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 40,
                                                         .cols = 60,
                                                         .seed = 8,
                                                         .density = .6,
                                                         .correlation = .6,
                                                         .noise = .3});
    const double lambda = .3, ratio = .4;
    const double n = (double)d.rows, more = n + (double)d.cols;
    lasso_design a = augmented(&d, lambda * (1 - ratio));
    linear_fit net = fit_well(&d, &(strads_lasso_options){.lambda = lambda,
                                                          .l1_ratio = ratio});
    linear_fit lasso =
        fit_well(&a,
                 &(strads_lasso_options){.lambda = lambda * ratio * n / more});

    cr_expect_gt(net.nonzeros, 3);
    cr_expect_lt(lasso_distance(&d, net.w, lasso.w), 1e-5);
    linear_fit_free(&net);
    linear_fit_free(&lasso);
    lasso_design_free(&a);
    lasso_design_free(&d);
}

typedef struct moments {
    double mean, deviation;
} moments;

static moments moments_of(const double *x, uint64_t n)
{
    moments m = {0, 0};

    for (uint64_t i = 0; i < n; i++)
        m.mean += x[i] / (double)n;
    for (uint64_t i = 0; i < n; i++)
        m.deviation += (x[i] - m.mean) * (x[i] - m.mean) / (double)n;
    m.deviation = sqrt(m.deviation);
    return m;
}

static const lasso_recipe shifted = {.rows = 45,
                                     .cols = 30,
                                     .seed = 11,
                                     .density = .8,
                                     .correlation = .4,
                                     .noise = .5,
                                     .offset = 6};

Test(lasso_closed_form, an_intercept_is_the_same_as_centred_data)
{
    lasso_design d = lasso_design_random(&shifted);
    lasso_design c = lasso_design_random(&shifted);
    const moments y = moments_of(c.y, c.rows);
    double intercept = y.mean;

    for (uint64_t i = 0; i < c.rows; i++)
        c.y[i] -= y.mean;
    for (uint64_t j = 0; j < c.cols; j++) {
        double *x = lasso_design_col(&c, j);
        const moments m = moments_of(x, c.rows);
        for (uint64_t i = 0; i < c.rows; i++)
            x[i] -= m.mean;
    }
    linear_fit with =
        fit_well(&d, &(strads_lasso_options){.lambda = .2, .intercept = true});
    linear_fit without = fit_well(&c, &(strads_lasso_options){.lambda = .2});
    for (uint64_t j = 0; j < d.cols; j++)
        intercept -=
            with.w[j] * moments_of(lasso_design_col(&d, j), d.rows).mean;
    cr_expect_lt(lasso_distance(&d, with.w, without.w), 1e-6);
    cr_expect_float_eq(with.intercept, intercept, 1e-9);
    cr_expect_eq(without.intercept, 0);
    linear_fit_free(&with);
    linear_fit_free(&without);
    lasso_design_free(&c);
    lasso_design_free(&d);
}

Test(lasso_closed_form, standardize_is_the_same_as_scaled_columns)
{
    lasso_design d = lasso_design_random(&shifted);
    lasso_design c = lasso_design_random(&shifted);
    const strads_lasso_options plain = {.lambda = .3, .intercept = true};
    strads_lasso_options scaled = plain;

    scaled.standardize = true;
    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] *= 1 + 9. * (double)(j % 4);
    for (uint64_t j = 0; j < d.cols; j++) {
        const moments m = moments_of(lasso_design_col(&d, j), d.rows);
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&c, j)[i] =
                lasso_design_col(&d, j)[i] / m.deviation;
    }
    linear_fit with = fit_well(&d, &scaled), without = fit_well(&c, &plain);
    cr_expect_gt(with.nonzeros, 3);
    for (uint64_t j = 0; j < d.cols; j++) {
        const moments m = moments_of(lasso_design_col(&d, j), d.rows);
        cr_expect_float_eq(with.w[j] * m.deviation, without.w[j], 1e-6);
    }
    cr_expect_float_eq(with.intercept, without.intercept, 1e-6);
    linear_fit_free(&with);
    linear_fit_free(&without);
    lasso_design_free(&c);
    lasso_design_free(&d);
}
