/* L2-logistic regression in the dual. The gradient of the objective,
 * computed here independently, bounds the distance to the minimum (P is
 * 1-strongly convex, so P - P* is at most half the gradient's square). Few
 * columns, where Newton steps finish the solve, and many columns; and unusual
 * data. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/linear_case.h"

static const strads_logistic_options at_one = {.c = 1};

static linear_fit fit_dual(const lasso_design *design,
                           const strads_logistic_options *options,
                           const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_logistic_dual, options, 1e-12,
                          engine);
}

/* Row i has weight c[i] (NULL: 1). */
static void expect_minimum(const lasso_design *d, const double *c,
                           const strads_logistic_options *options,
                           const strads_engine_options *engine)
{
    strads_glm_options o = glm_of_logistic(options, "logistic");
    linear_fit fit = fit_dual(d, options, engine);

    o.row_weight = c;
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_float_eq(fit.objective, glm_value(d, &o, &fit),
                       1e-10 * fit.objective);
    /* The gradient at w bounds the distance above the minimum. */
    const double steep = glm_miss(d, &o, &fit);
    const double above =
        (double)d->cols * steep * steep / 2 * fit.lambda / fit.objective;
    cr_expect_lt(above, 1e-6, "%g above the minimum, gap %g", above, fit.gap);
    linear_fit_free(&fit);
}

static lasso_design design(uint64_t rows, uint64_t cols, double density,
                           uint64_t seed)
{
    return glm_design_random(&(lasso_recipe){.rows = rows,
                                             .cols = cols,
                                             .seed = seed,
                                             .density = density,
                                             .correlation = .5,
                                             .noise = 1},
                             "logistic");
}

static void each_partitions(const lasso_design *d,
                            const strads_logistic_options *options)
{
    const uint32_t partitions[] = {1, 2, 4};

    for (int k = 0; k < 3; k++)
        expect_minimum(d, NULL, options,
                       &(strads_engine_options){.workers = 1 + (k == 1),
                                                .partitions = partitions[k]});
}

Test(logistic_dual, few_columns_end_at_the_minimum)
{
    lasso_design d = design(150, 8, 1, 3);

    each_partitions(&d, &at_one);
    each_partitions(&d, &(strads_logistic_options){.c = 1e4});
    each_partitions(&d, &(strads_logistic_options){.lambda = .1});
    lasso_design_free(&d);
}

Test(logistic_dual, many_columns_end_at_the_minimum)
{
    lasso_design d = design(80, 1400, .03, 4);

    each_partitions(&d, &at_one);
    each_partitions(&d, &(strads_logistic_options){.c = 100});
    each_partitions(&d, &(strads_logistic_options){.lambda = 1e-2});
    lasso_design_free(&d);
}

/* By rows and by columns; both give the same result. */
static void fit_both_ways(const lasso_design *d,
                          const strads_logistic_options *options,
                          linear_fit *rows, linear_fit *columns)
{
    *rows = fit_dual(d, options, NULL);
    *columns = logistic_design_fit(d, options, NULL);
    expect_ok(rows->err);
    expect_ok(columns->err);
    cr_expect_eq(rows->end, STRADS_END_CONVERGED, "gap %g", rows->gap);
    cr_expect_float_eq(rows->objective, columns->objective,
                       1e-9 * rows->objective);
}

/* By columns and by rows; many columns, and few. */
Test(logistic_dual, an_intercept_is_the_one_that_columns_find)
{
    const uint64_t cols[] = {120, 1300, 7};

    for (int k = 0; k < 3; k++) {
        lasso_design d = design(90, cols[k], .3, 25 + (uint64_t)k);
        for (int s = 0; s < 2; s++) {
            const strads_logistic_options o = {.c = k == 2 ? 5 : 1,
                                               .intercept = true,
                                               .standardize = s > 0};
            linear_fit rows, columns;
            fit_both_ways(&d, &o, &rows, &columns);
            cr_expect_float_eq(rows.intercept, columns.intercept, 1e-4);
            cr_expect_lt(lasso_distance(&d, rows.w, columns.w), 1e-4);
            linear_fit_free(&rows);
            linear_fit_free(&columns);
        }
        expect_minimum(&d, NULL,
                       &(strads_logistic_options){.c = 3, .intercept = true},
                       NULL);
        lasso_design_free(&d);
    }
}

/* Columns of very unequal scales; their squares vary too much for an
 * unscaled fit. */
Test(logistic_dual, standardised_columns_end_where_columns_find_them)
{
    lasso_design d = design(90, 120, .3, 16);

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] *= pow(10, (double)(j % 9) - 4);
    const strads_logistic_options o = {.c = 1, .standardize = true};
    linear_fit rows, columns;
    fit_both_ways(&d, &o, &rows, &columns);
    for (uint64_t j = 0; j < d.cols; j++)
        cr_expect_float_eq(rows.w[j], columns.w[j],
                           1e-3 * fabs(columns.w[j]) +
                               1e-6 * pow(10, 4 - (double)(j % 9)));
    linear_fit_free(&rows);
    linear_fit_free(&columns);
    lasso_design_free(&d);
}

Test(logistic_dual, nearly_all_updates_are_the_policys)
{
    lasso_design d = design(200, 1300, .02, 6);
    linear_fit fit = fit_dual(&d, &at_one, NULL);

    cr_expect_gt(fit.updates_policy, 20 * fit.updates_other);
    cr_expect_eq(fit.nonzeros > 1000, true, "%llu",
                 (unsigned long long)fit.nonzeros);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_dual, policies_and_workers_reach_the_same)
{
    lasso_design d = design(120, 1300, .05, 7);
    const char *const policies[] = {"priority", "uniform", "cyclic"};
    linear_fit one = fit_dual(&d, &at_one, NULL);

    for (int k = 0; k < 3; k++)
        expect_minimum(&d, NULL, &at_one,
                       &(strads_engine_options){.workers = 2,
                                                .partitions = 2,
                                                .policy = policies[k]});
    linear_fit two =
        fit_dual(&d, &at_one,
                 &(strads_engine_options){.workers = 2, .deterministic = true});
    cr_expect_eq(memcmp(one.w, two.w, d.cols * sizeof(double)), 0);
    linear_fit_free(&one);
    linear_fit_free(&two);
    lasso_design_free(&d);
}

Test(logistic_dual, the_gap_bounds_the_possible_gain)
{
    lasso_design d = design(100, 1300, .05, 8);
    linear_fit best = fit_dual(&d, &at_one, NULL);

    for (double tolerance = 1e-1; tolerance > 1e-7; tolerance /= 10) {
        linear_fit fit =
            fit_dual(&d, &at_one,
                     &(strads_engine_options){.workers = 1,
                                              .tolerance = tolerance});
        cr_expect_leq(fit.gap, tolerance);
        cr_expect_geq(best.objective * (1 + 1e-11),
                      fit.objective * (1 - fit.gap));
        linear_fit_free(&fit);
    }
    linear_fit_free(&best);
    lasso_design_free(&d);
}

/* ---- weights ----------------------------------------------------------- */

Test(logistic_dual, classes_and_rows_have_the_given_weights)
{
    lasso_design d = design(60, 20, 1, 9);
    char path[] = "/tmp/strads_weights_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    double c[60];

    for (int i = 0; i < 60; i++) {
        (void)fprintf(file, "%d\n", i % 4);
        c[i] = (i % 4) * (d.y[i] > 0 ? 3 : .5);
    }
    (void)fclose(file);
    const strads_logistic_options o = {.lambda = .05,
                                       .class_weight = "1=3,0=0.5",
                                       .weights = path};
    expect_minimum(&d, c, &o, NULL);
    (void)unlink(path);
    lasso_design_free(&d);
}

/* ---- edges ------------------------------------------------------------- */

Test(logistic_dual, empty_rows_and_columns_and_doubled_ones_do_no_harm)
{
    lasso_design d = design(40, 12, 1, 10);

    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 3)[i] = 0;
        lasso_design_col(&d, 5)[i] = lasso_design_col(&d, 4)[i];
    }
    for (uint64_t j = 0; j < d.cols; j++)
        lasso_design_col(&d, j)[7] = 0;
    each_partitions(&d, &at_one);
    linear_fit fit = fit_dual(&d, &at_one, NULL);
    cr_expect_eq(fit.w[3], 0);
    cr_expect_float_eq(fit.w[4], fit.w[5], 1e-9);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(logistic_dual, columns_of_any_scale_live_side_by_side)
{
    lasso_design d = design(50, 6, 1, 11);

    for (uint64_t i = 0; i < d.rows; i++) {
        lasso_design_col(&d, 0)[i] *= 1e-8;
        lasso_design_col(&d, 1)[i] *= 1e3;
    }
    linear_fit rows = fit_dual(&d, &at_one, NULL);
    linear_fit columns = logistic_design_fit(&d, &at_one, NULL);
    cr_expect_eq(rows.end, STRADS_END_CONVERGED, "gap %g", rows.gap);
    cr_expect_float_eq(rows.objective, columns.objective,
                       1e-9 * rows.objective);
    linear_fit_free(&rows);
    linear_fit_free(&columns);
    lasso_design_free(&d);
}

Test(logistic_dual, options_without_effect_are_refused)
{
    lasso_design d = design(50, 60, 1, 14), narrow = design(50, 6, 1, 14);
    strads_logistic_options o = {.c = 1};
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_lay(&d, 2, STRADS_LAYOUT_ROWS, &data), STRADS_OK);
    cr_expect(strads_logistic_suits_dual(&o, NULL));
    cr_expect(strads_logistic_suits_dual(&o, data));
    cr_expect(
        strads_logistic_suits_dual(&(strads_logistic_options){.lambda = 1e-3},
                                   data));
    o.c = 1e10;
    cr_expect_not(strads_logistic_suits_dual(&o, data), "far too steep");
    cr_expect_not(
        strads_logistic_suits_dual(&(strads_logistic_options){.lambda = 1e-13},
                                   data));
    o = (strads_logistic_options){.lambda_ratio = .1};
    cr_expect_not(strads_logistic_suits_dual(&o, NULL));
    strads_data_free(data);
    cr_assert_eq(lasso_design_lay(&narrow, 2, STRADS_LAYOUT_ROWS, &data),
                 STRADS_OK);
    cr_expect_not(strads_logistic_suits_dual(&at_one, data), "few columns");
    strads_data_free(data);
    d.y[40] = 3;
    cr_assert_eq(lasso_design_lay(&d, 2, STRADS_LAYOUT_ROWS, &data), STRADS_OK);
    cr_expect(strads_logistic_suits_dual(&at_one, data), "a third label");
    o = (strads_logistic_options){.c = 1, .multiclass = "softmax"};
    cr_expect_not(strads_logistic_suits_dual(&o, data), "all three at once");
    strads_data_free(data);
    lasso_design_free(&d);
    lasso_design_free(&narrow);
}

/* If all rows are far from the boundary, the objective has no curvature
 * along an unpenalised intercept. */
Test(logistic_dual, few_rows_at_a_large_c_do_not_send_an_intercept_away)
{
    static const char *const policies[] = {"uniform", "cyclic", "priority"};

    for (uint64_t n = 0; n < 36; n++) {
        const strads_engine_options engine = {.workers = 1,
                                              .partitions = 1 + (uint32_t)n % 3,
                                              .deterministic = true,
                                              .policy = policies[n % 3],
                                              .seed = n,
                                              .tolerance = 1e-8,
                                              .max_rounds = 3000};
        const strads_logistic_options o = {.c = n % 2 ? 10 : 100,
                                           .intercept = true,
                                           .standardize = n % 4 > 1};
        lasso_design d = design(2 + n / 6, n % 2 ? 16 : 200, 1, 200 + n);
        linear_fit fit = fit_dual(&d, &o, &engine);
        expect_ok(fit.err);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%d: objective %g, gap %g",
                     (int)n, fit.objective, fit.gap);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

Test(logistic_dual, each_of_several_labels_is_fitted_against_the_rest)
{
    lasso_design d = design(120, 1300, .03, 15),
                 one = design(120, 1300, .03, 15);

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = (double)(i % 3);
    linear_fit all = fit_dual(&d, &at_one, NULL);
    double objective = 0;
    expect_ok(all.err);
    cr_expect_eq(all.end, STRADS_END_CONVERGED);
    for (int k = 0; k < 3; k++) {
        for (uint64_t i = 0; i < d.rows; i++)
            one.y[i] = d.y[i] == k ? 1 : -1;
        linear_fit rows = fit_dual(&one, &at_one, NULL);
        objective += rows.objective;
        for (uint64_t j = 0; j < d.cols; j++)
            cr_expect_float_eq(all.w[j * 3 + (uint64_t)k], rows.w[j], 1e-5);
        linear_fit_free(&rows);
    }
    cr_expect_float_eq(all.objective, objective, 1e-11 * objective);
    linear_fit_free(&all);
    lasso_design_free(&d);
    lasso_design_free(&one);
}

/* ---- a free intercept, several pools ----------------------------------- */

/* With several pools, each moves the intercept, and would repeat the steps
 * of the others. On rows of text. */
Test(logistic_dual, pools_do_not_push_an_intercept_to_and_fro)
{
    const strads_logistic_options o = {.c = .01, .intercept = true};
    const strads_engine_options one = {.partitions = 1, .tolerance = 1e-9};
    lasso_design d =
        linear_case_read(STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm");
    linear_fit columns = logistic_design_fit(&d, &o, &one);

    expect_ok(columns.err);
    for (uint64_t seed = 1; seed <= 3; seed += 2) {
        const strads_engine_options engine = {.workers = 1,
                                              .partitions = 4,
                                              .pools = 4,
                                              .seed = seed,
                                              .deterministic = true,
                                              .tolerance = 1e-8};
        linear_fit fit = fit_dual(&d, &o, &engine);
        expect_ok(fit.err);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "seed %d: gap %g",
                     (int)seed, fit.gap);
        cr_expect_float_eq(fit.objective, columns.objective,
                           2e-8 * columns.objective);
        linear_fit_free(&fit);
    }
    linear_fit_free(&columns);
    lasso_design_free(&d);
}

static void expect_refused(const lasso_design *d,
                           const strads_logistic_options *options,
                           strads_err err, const char *sentence)
{
    linear_fit fit = fit_dual(d, options, NULL);

    cr_expect_eq(fit.err, err, "%s", sentence);
    cr_expect(strstr(strads_error_text(), sentence) != NULL,
              "\"%s\" does not say \"%s\"", strads_error_text(), sentence);
    linear_fit_free(&fit);
}

Test(logistic_dual, unsuited_data_are_refused)
{
    lasso_design d = design(30, 4, 1, 13);

    expect_refused(&d, &(strads_logistic_options){.l1_ratio = 1}, STRADS_EINVAL,
                   "use logistic");
    expect_refused(&d, &(strads_logistic_options){.c = 1, .lambda = 1},
                   STRADS_EINVAL, "set the same number");
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 4;
    expect_refused(&d, &at_one, STRADS_EFORMAT, "all rows have the label 4");
    lasso_design_free(&d);
}
