/* SVMs of several classes, one against the rest: each problem's reported
 * value must match its own P and D, computed independently from the objective,
 * in every kind of run and with every weight. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/svm_fit.h"

enum { CLASSES = 4 };

/* Rows are shifted slightly towards the class of their label. */
static lasso_design design_of(uint64_t rows, uint64_t cols, double density,
                              uint64_t seed)
{
    lasso_design d = svm_design_random(rows, cols, density, seed);

    for (uint64_t i = 0; i < rows; i++) {
        d.y[i] = 3 + (double)(i % CLASSES);
        lasso_design_col(&d, i % CLASSES)[i] += .8;
    }
    return d;
}

/* P - D of each problem at the fit's w and b, relative to P. `c`: weights of
 * rows, or NULL. */
static void expect_worth(const lasso_design *d,
                         const strads_svm_options *options, const double *c,
                         const svm_fit *fit, double tolerance, const char *what)
{
    lasso_design one = *d;
    double primal = 0, gap = 0;

    cr_assert_eq(fit->err, STRADS_OK, "%s: %s", what, strads_error_text());
    cr_assert_eq(fit->width, CLASSES, "%s", what);
    cr_expect_eq(fit->end, STRADS_END_CONVERGED, "%s: gap %g", what, fit->gap);
    one.y = calloc(d->rows, sizeof(double));
    for (uint32_t k = 0; k < CLASSES; k++) {
        svm_fit of = svm_fit_class(d, fit, k);
        for (uint64_t i = 0; i < d->rows; i++)
            one.y[i] = d->y[i] == 3 + k ? 1 : -1;
        const svm_worth worth = svm_fit_worth(&one, options, c, &of);
        cr_expect_leq(worth.broken, 1e-12, "%s", what);
        primal += worth.primal;
        gap += worth.primal - worth.dual;
        svm_fit_free(&of);
    }
    cr_expect_leq(gap, 1.01 * tolerance * primal, "%s: %g off", what, gap);
    cr_expect_float_eq(primal, fit->objective, 1e-10 * primal, "%s", what);
    cr_expect_lt(fabs(gap / primal - fit->gap), .01 * tolerance + 1e-13, "%s",
                 what);
    free(one.y);
}

static const strads_svm_options variants[] = {
    {.loss = "hinge"},
    {.loss = "squared-hinge", .bias = 1},
    {.loss = "hinge", .c = .1, .bias = 2},
    {.loss = "squared-hinge", .c = 10}};

Test(svm_classes, each_class_is_at_its_minimum_in_every_kind_of_run)
{
    lasso_design designs[] = {design_of(60, 10, 1, 1),
                              design_of(60, 120, .2, 2)};

    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++)
            for (uint32_t parts = 1; parts <= 4; parts *= 2) {
                char what[64];
                const strads_engine_options engine = {.workers = parts,
                                                      .partitions = parts,
                                                      .pools = 1u + (k == 1 &&
                                                                     parts > 1),
                                                      .tolerance = 1e-9};
                svm_fit fit = svm_fit_run(&designs[i], &variants[k], &engine);
                (void)snprintf(what, sizeof what, "design %zu, %s, %u", i,
                               variants[k].loss, parts);
                expect_worth(&designs[i], &variants[k], NULL, &fit, 1e-9, what);
                svm_fit_free(&fit);
            }
    lasso_design_free(&designs[0]);
    lasso_design_free(&designs[1]);
}

Test(svm_classes, runs_repeat_bit_for_bit_on_any_workers)
{
    lasso_design d = design_of(80, 30, .5, 3);
    svm_fit fit[2];

    for (uint32_t k = 0; k < 2; k++)
        fit[k] = svm_fit_run(&d, &variants[0],
                             &(strads_engine_options){.workers = 1 + 2 * k,
                                                      .partitions = 3,
                                                      .deterministic = true});
    cr_expect_arr_eq(fit[0].w, fit[1].w, d.cols * CLASSES * sizeof(double));
    svm_fit_free(&fit[0]);
    svm_fit_free(&fit[1]);
    lasso_design_free(&d);
}

Test(svm_classes, weights_of_classes_and_rows_multiply)
{
    lasso_design d = design_of(80, 12, 1, 4);
    char path[] = "/tmp/strads_weights_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    double c[80];

    for (uint64_t i = 0; i < 80; i++) {
        const double own = (double)(i % 3);
        (void)fprintf(file, "%g\n", own);
        c[i] = own * (d.y[i] == 4 ? 2 : d.y[i] == 6 ? .5 : 1);
    }
    (void)fclose(file);
    for (size_t k = 0; k < 2; k++) {
        strads_svm_options o = variants[k];
        o.weights = path;
        o.class_weight = "4=2,6=0.5";
        svm_fit fit = svm_fit_run(&d, &o, NULL);
        expect_worth(&d, &o, c, &fit, 1e-10, o.loss);
        svm_fit_free(&fit);
    }
    (void)unlink(path);
    lasso_design_free(&d);
}

/* The order of labels is that of the names; a start has all of them. */
Test(svm_classes, the_order_is_that_of_the_names)
{
    lasso_design d = design_of(60, 20, 1, 5);
    strads_svm_options o = variants[1];
    svm_fit first = svm_fit_run(&d, &o, NULL);

    o.classes = "6,5,4,3";
    svm_fit turned = svm_fit_run(&d, &o, NULL);
    cr_expect_str_eq(first.classes, "3,4,5,6");
    cr_expect_str_eq(turned.classes, "6,5,4,3");
    for (uint64_t j = 0; j <= d.cols; j++)
        for (uint64_t k = 0; k < CLASSES; k++)
            cr_expect_float_eq(first.w[j * CLASSES + k],
                               turned.w[j * CLASSES + CLASSES - 1 - k], 1e-5);
    svm_fit_free(&first);
    svm_fit_free(&turned);
    lasso_design_free(&d);
}

Test(svm_classes, a_start_from_the_solution_is_near_for_each_class)
{
    lasso_design d = design_of(200, 60, .5, 6);
    const strads_svm_options o = variants[3];
    uint32_t param[61];

    for (uint32_t j = 0; j <= 60; j++)
        param[j] = j;
    svm_fit cold = svm_fit_run(&d, &o, NULL);
    const strads_engine_options engine = {.workers = 1,
                                          .tolerance = 1e-10,
                                          .n_start = 61,
                                          .start_param = param,
                                          .start_value = cold.w};
    svm_fit warm = svm_fit_run(&d, &o, &engine);
    expect_worth(&d, &o, NULL, &warm, 1e-10, "warm");
    cr_expect_lt(warm.updates_policy, cold.updates_policy / 2,
                 "%llu updates, cold %llu",
                 (unsigned long long)warm.updates_policy,
                 (unsigned long long)cold.updates_policy);
    svm_fit_free(&cold);
    svm_fit_free(&warm);
    lasso_design_free(&d);
}

Test(svm_classes, labels_that_are_numbers_are_refused)
{
    lasso_design d = svm_design_random(80, 4, 1, 7);

    for (uint64_t i = 0; i < 80; i++)
        d.y[i] = (double)i / 7;
    svm_fit fit = svm_fit_run(&d, &variants[0], NULL);
    cr_expect_eq(fit.err, STRADS_EFORMAT);
    expect_says("more than 64 different labels");
    svm_fit_free(&fit);
    lasso_design_free(&d);
}
