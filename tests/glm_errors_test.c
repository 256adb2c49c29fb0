/* Standard errors of the glm program against the inverse of the information in
 * long double, for each family, with weights, offsets, columns far from 0 and
 * columns that depend on each other. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"

enum { ROWS = 80, MOST = 12 };

static const char *const losses[] = {"squared", "logistic", "poisson", "gamma",
                                     "tweedie"};
enum { LOSSES = sizeof losses / sizeof *losses };

typedef struct fit {
    lasso_design design;
    strads_glm_options options;
    double weight[ROWS], offset[ROWS], w[MOST], b;
} fit;

static fit make_fit(uint64_t cols, size_t loss, uint64_t seed, bool intercept)
{
    fit f = {.design = lasso_design_random(&(lasso_recipe){.rows = ROWS,
                                                           .cols = cols,
                                                           .seed = seed,
                                                           .density = .7,
                                                           .noise = 1}),
             .options = {.loss = losses[loss],
                         .penalty = "none",
                         .intercept = intercept}};
    for (uint64_t i = 0; i < ROWS; i++) {
        double *y = &f.design.y[i];
        f.weight[i] = (double)(1 + (i * seed) % 5) / 2;
        f.offset[i] = .1 * (double)(i % 3);
        *y = loss == 0   ? *y
             : loss == 1 ? (i + seed) % 3 == 0
             : loss == 2 ? (double)((i * 7 + seed) % 4)
             : loss == 3 ? exp(*y / 4)
                         : fmax(*y, 0);
    }
    for (uint64_t j = 0; j < cols; j++)
        f.w[j] = .3 * cos((double)(j + seed));
    f.b = intercept ? .2 : 0;
    if (seed % 2) {
        f.options.row_weight = f.weight;
        f.options.row_offset = f.offset;
    }
    return f;
}

static void free_fit(fit *f)
{
    lasso_design_free(&f->design);
}

static strads_err find_errors(const fit *f, double *se,
                              strads_glm_dispersion *dispersion)
{
    fit copy = *f; /* the options point to this fit's rows */
    strads_data *data = NULL;
    strads_err err = lasso_design_lay(&f->design, 1, STRADS_LAYOUT_ROWS, &data);
    if (f->options.row_weight) {
        copy.options.row_weight = f->weight;
        copy.options.row_offset = f->offset;
    }
    if (!err)
        err =
            strads_glm_errors(data, &copy.options, f->w, f->b, se, dispersion);
    strads_data_free(data);
    return err;
}

/* ---- the oracle ---------------------------------------------------------- */

/* The inverse of a [n x n] by elimination. */
static void invert(int n, long double a[MOST + 1][MOST + 1],
                   long double out[MOST + 1][MOST + 1])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i][j] = i == j;
    for (int k = 0; k < n; k++) {
        const long double pivot = a[k][k];
        for (int j = 0; j < n; j++) {
            a[k][j] /= pivot;
            out[k][j] /= pivot;
        }
        for (int i = 0; i < n; i++) {
            const long double times = a[i][k];
            for (int j = 0; j < n && i != k; j++) {
                a[i][j] -= times * a[k][j];
                out[i][j] -= times * out[k][j];
            }
        }
    }
}

static long double weight_at(size_t loss, long double mean)
{
    return loss == 0   ? 1
           : loss == 1 ? mean * (1 - mean)
           : loss == 2 ? mean
           : loss == 3 ? 1
                       : sqrtl(mean); /* of power 1.5 */
}

static long double variance_at(size_t loss, long double mean)
{
    return loss == 3   ? mean * mean
           : loss == 4 ? mean * sqrtl(mean)
                       : weight_at(loss, mean);
}

static void expect_errors(const fit *f, size_t loss, double tolerance)
{
    const uint64_t cols = f->design.cols;
    const bool weighted = f->options.row_weight != NULL;
    const int n = (int)cols + f->options.intercept;
    long double a[MOST + 1][MOST + 1] = {{0}}, inverse[MOST + 1][MOST + 1];
    long double pearson = 0;
    double se[MOST + 1];
    strads_glm_dispersion dispersion;
    for (uint64_t i = 0; i < ROWS; i++) {
        long double x[MOST + 1], z = f->b + (weighted ? f->offset[i] : 0);
        for (uint64_t j = 0; j < cols; j++) {
            x[j] = lasso_design_col(&f->design, j)[i];
            z += x[j] * f->w[j];
        }
        x[cols] = 1;
        const long double c = weighted ? f->weight[i] : 1;
        const long double mean = loss == 0   ? z
                                 : loss == 1 ? 1 / (1 + expl(-z))
                                             : expl(z);
        const long double off = f->design.y[i] - mean;
        pearson += c * off * off / variance_at(loss, mean);
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                a[j][k] += c * weight_at(loss, mean) * x[j] * x[k];
    }
    invert(n, a, inverse);
    expect_ok(find_errors(f, se, &dispersion));
    const double value =
        loss == 1 || loss == 2 ? 1 : (double)(pearson / (ROWS - n));
    cr_expect_float_eq(dispersion.dof, ROWS - n, 1e-9);
    cr_expect_eq(dispersion.estimated, loss != 1 && loss != 2);
    cr_expect_float_eq(dispersion.value, value, 1e-9 * value, "%s",
                       losses[loss]);
    for (int j = 0; j < n; j++) {
        const double wanted = sqrt((double)inverse[j][j] * value);
        cr_expect_float_eq(se[j], wanted, tolerance * wanted,
                           "%s, coefficient %d of %d: %g, not %g", losses[loss],
                           j, n, se[j], wanted);
    }
    cr_expect(f->options.intercept || se[cols] == 0);
}

/* ---- the tests ----------------------------------------------------------- */

Test(glm_errors, are_those_of_the_inverse_information)
{
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            fit f = make_fit(1 + seed % MOST, loss, seed, seed % 3 != 0);
            expect_errors(&f, loss, 1e-9);
            free_fit(&f);
        }
}

/* The slope's error does not depend on a column's origin, and b's is that of
 * the sum at 0. */
Test(glm_errors, do_not_depend_on_the_origin_of_a_full_column)
{
    for (size_t loss = 0; loss < LOSSES; loss++) {
        double near[MOST + 1], far[MOST + 1];
        strads_glm_dispersion dispersion;
        fit f = make_fit(4, loss, 5, true);
        expect_ok(find_errors(&f, near, &dispersion));
        for (double origin = 1e2; origin < 1e9; origin *= 100) {
            fit moved = make_fit(4, loss, 5, true);
            for (uint64_t i = 0; i < ROWS; i++)
                lasso_design_col(&moved.design, 1)[i] += origin;
            moved.b -= origin * moved.w[1];
            expect_ok(find_errors(&moved, far, &dispersion));
            for (int j = 0; j < 4; j++)
                cr_expect_float_eq(far[j], near[j], 1e-15 * origin + 1e-6,
                                   "%s at %g: %g, not %g", losses[loss], origin,
                                   far[j], near[j]);
            cr_expect_float_eq(far[4] / (origin * near[1]), 1, 20 / origin);
            free_fit(&moved);
        }
        free_fit(&f);
    }
}

Test(glm_errors, are_refused_with_the_reason)
{
    double se[MOST + 1];
    strads_glm_dispersion dispersion;
    fit f = make_fit(5, 0, 2, true);
    for (uint64_t i = 0; i < ROWS; i++)
        lasso_design_col(&f.design, 3)[i] =
            lasso_design_col(&f.design, 0)[i] -
            2 * lasso_design_col(&f.design, 2)[i];
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "column 4 depends");
    for (uint64_t i = 0; i < ROWS; i++)
        lasso_design_col(&f.design, 1)[i] = 3;
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "column 2 is constant");
    for (int k = 1; k < 40; k++) { /* means of such numbers are rounded */
        for (uint64_t i = 0; i < ROWS; i++)
            lasso_design_col(&f.design, 1)[i] = pow(1.7, k) / 3;
        expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                     "column 2 is constant");
    }
    f.options.loss = "logistic";
    f.b = 1e5;
    for (uint64_t i = 0; i < ROWS; i++)
        f.design.y[i] = (double)(i % 2);
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "at a limit of the family");
    f.options.class_weight = "1=2";
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "without class-weight");
    f.options.class_weight = "none";
    f.options.positive = true;
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "without bounds");
    f.options.positive = false;
    f.options.loss = "squared";
    f.options.penalty = "l1";
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "without a penalty");
    f.options.penalty = "none";
    f.options.loss = "huber";
    expect_error(find_errors(&f, se, &dispersion), STRADS_EINVAL,
                 "this one is huber");
    free_fit(&f);
}
