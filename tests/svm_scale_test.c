/* Standardised SVMs: the oracle is the same design with its columns divided
 * explicitly; its coefficients are those of scaled columns. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/svm_fit.h"

enum { ROWS = 90, COLS = 14 };

/* Column 3 is constant, column 5 is 0, and scales differ. */
static lasso_design design_of(uint64_t seed)
{
    lasso_design d = svm_design_random(ROWS, COLS, .7, seed);

    for (uint64_t j = 0; j < COLS; j++)
        for (uint64_t i = 0; i < ROWS; i++) {
            double *x = &lasso_design_col(&d, j)[i];
            *x = j == 3 ? 2 : j == 5 ? 0 : (*x + .5) * pow(3, (double)j - 6);
        }
    return d;
}

/* The columns divided by their standard deviations, or root mean squares,
 * over rows with weights c (NULL: 1). scale[] are the divisors, 0 for a column
 * that is left out. */
static lasso_design divided(const lasso_design *d, const double *c, bool bias,
                            double *scale)
{
    lasso_design out = lasso_design_zero(d->rows, d->cols);

    memcpy(out.y, d->y, d->rows * sizeof(double));
    for (uint64_t j = 0; j < d->cols; j++) {
        const double *x = lasso_design_col(d, j);
        double all = 0, sum = 0, squares = 0;
        for (uint64_t i = 0; i < d->rows; i++) {
            const double own = c ? c[i] : 1;
            all += own;
            sum += own * x[i];
            squares += own * x[i] * x[i];
        }
        const double mean = bias ? sum / all : 0;
        const double square = squares / all - mean * mean;
        scale[j] = square > 1e-12 ? sqrt(square) : 0;
        for (uint64_t i = 0; i < d->rows && scale[j] > 0; i++)
            lasso_design_col(&out, j)[i] = x[i] / scale[j];
    }
    return out;
}

static void expect_same(const lasso_design *d, strads_svm_options options,
                        const double *c, const strads_engine_options *engine)
{
    double scale[COLS];
    lasso_design other = divided(d, c, options.bias > 0, scale);
    svm_fit right = svm_fit_run(&other, &options, engine);

    options.standardize = true;
    svm_fit fit = svm_fit_run(d, &options, engine);
    expect_ok(right.err);
    expect_ok(fit.err);
    cr_assert_eq(fit.width, right.width);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: gap %g", options.loss,
                 fit.gap);
    cr_expect_float_eq(fit.objective, right.objective, 3e-9 * right.objective);
    cr_expect_float_eq(fit.intercept, right.intercept, 1e-3);
    for (uint64_t j = 0; j < COLS; j++)
        for (uint64_t k = j * fit.width; k < (j + 1) * fit.width; k++) {
            if (scale[j] == 0)
                cr_expect_eq(fit.w[k], 0);
            else
                cr_expect_float_eq(fit.w[k] * scale[j], right.w[k], 1e-3,
                                   "%s: column %d: %g for %g", options.loss,
                                   (int)j, fit.w[k] * scale[j], right.w[k]);
        }
    svm_fit_free(&fit);
    svm_fit_free(&right);
    lasso_design_free(&other);
}

static const strads_svm_options variants[] = {
    {.loss = "hinge"},
    {.loss = "squared-hinge", .bias = 1},
    {.loss = "epsilon", .c = .5, .epsilon = .2, .bias = 2},
    {.loss = "squared-epsilon", .epsilon = .1}};

Test(svm_scale, columns_count_as_if_they_had_been_divided)
{
    lasso_design d = design_of(1);

    for (size_t k = 0; k < 4; k++)
        for (uint32_t parts = 1; parts <= 4; parts *= 2) {
            const strads_engine_options engine = {.workers = parts,
                                                  .partitions = parts,
                                                  .tolerance = 1e-9};
            expect_same(&d, variants[k], NULL, &engine);
        }
    lasso_design_free(&d);
}

Test(svm_scale, rows_count_by_their_weights)
{
    lasso_design d = design_of(2);
    char path[] = "/tmp/strads_weights_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    double c[ROWS];

    for (uint64_t i = 0; i < ROWS; i++) {
        (void)fprintf(file, "%d\n", (int)(i % 3));
        c[i] = (double)(i % 3) * (d.y[i] > 0 ? 2 : 1);
    }
    (void)fclose(file);
    for (size_t k = 0; k < 2; k++) {
        strads_svm_options o = variants[k];
        o.weights = path;
        o.class_weight = "1=2";
        expect_same(&d, o, c, NULL);
    }
    (void)unlink(path);
    lasso_design_free(&d);
}

Test(svm_scale, several_classes_have_one_scale)
{
    lasso_design d = design_of(3);

    for (uint64_t i = 0; i < ROWS; i++)
        d.y[i] = (double)(i % 3);
    expect_same(&d, variants[0], NULL, NULL);
    expect_same(&d, variants[1], NULL, NULL);
    lasso_design_free(&d);
}

/* A start and the result of a limited run are in units of the unscaled
 * columns. */
Test(svm_scale, a_run_continues_where_another_ended)
{
    lasso_design d = design_of(4);
    strads_svm_options o = variants[1];
    uint32_t param[COLS + 1];

    o.standardize = true;
    for (uint32_t j = 0; j <= COLS; j++)
        param[j] = j;
    svm_fit whole = svm_fit_run(&d, &o, NULL);
    const strads_engine_options engine = {.workers = 1,
                                          .max_rounds = 4,
                                          .tolerance = 1e-9,
                                          .n_start = COLS + 1,
                                          .start_param = param,
                                          .start_value = whole.w};
    svm_fit cut = svm_fit_run(&d, &o, &engine);
    expect_ok(cut.err);
    for (uint64_t j = 0; j <= COLS; j++)
        cr_expect_float_eq(cut.w[j], whole.w[j], 1e-2 * fabs(whole.w[j]) + 1e-9,
                           "column %d: %g, %g", (int)j, cut.w[j], whole.w[j]);
    svm_fit_free(&whole);
    svm_fit_free(&cut);
    lasso_design_free(&d);
}
