/* Extreme data, for every linear program: the result of a run is checked
 * against the objective. Data that cannot be trained on is rejected in one
 * sentence. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/linear_case.h"

#define TOLERANCE 1e-8

enum { ROWS = 60, COLS = 8 };

/* ---- designs ----------------------------------------------------------- */

/* Labels from the first columns and chance. */
static void set_labels(lasso_design *d, linear_target target)
{
    for (uint64_t i = 0; i < d->rows && target != LINEAR_NUMBERS; i++) {
        const double at = d->y[i];
        if (target == LINEAR_TWO)
            d->y[i] = i < 2 ? (i ? 1 : -1) : at > 0 ? 1 : -1;
        else
            d->y[i] = i < 3 ? (double)i : at < -.5 ? 0 : at < .5 ? 1 : 2;
    }
}

static lasso_design design_of(linear_target target, uint64_t rows,
                              uint64_t cols)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = rows, .cols = cols, .seed = rows + cols, .noise = 1});
    set_labels(&d, target);
    return d;
}

/* ---- runs -------------------------------------------------------------- */

static strads_err train(const linear_case *one, const lasso_design *d,
                        uint32_t workers, strads_result **out)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = workers,
                                          .deterministic = true,
                                          .tolerance = TOLERANCE};
    strads_data *data = NULL;
    strads_err err = lasso_design_lay(d, workers, one->program->layout, &data);

    if (!err)
        err = strads_run(one->program, one->options, data, &engine, out);
    strads_data_free(data);
    return err;
}

/* The run gets `seen`; `d` has the labels of the objective. */
static void expect_good(const linear_case *one, const lasso_design *seen,
                        const lasso_design *d, uint32_t workers,
                        const char *what)
{
    strads_result *result = NULL;

    cr_assert_eq(train(one, seen, workers, &result), STRADS_OK, "%s, %s: %s",
                 one->name, what, strads_error_text());
    linear_expect_good(one, d, result, TOLERANCE, what);
}

static void expect_good_everywhere(const linear_case *one,
                                   const lasso_design *d, const char *what)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        expect_good(one, d, d, workers, what);
}

static void expect_refused(const linear_case *one, const lasso_design *d,
                           const char *sentence)
{
    strads_result *result = NULL;

    cr_expect_eq(train(one, d, 2, &result), STRADS_EFORMAT, "%s", one->name);
    cr_expect_not_null(strstr(strads_error_text(), sentence), "%s: \"%s\"",
                       one->name, strads_error_text());
    cr_expect_null(result);
}

/* ---- tests ------------------------------------------------------------- */

Test(linear_edge, separable_classes_have_finite_coefficients)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        lasso_design d = design_of(one->target, ROWS, COLS);
        for (uint64_t i = 0; i < ROWS && one->target != LINEAR_NUMBERS; i++)
            for (uint64_t j = 0; j < 3; j++)
                lasso_design_col(&d, j)[i] = one->target == LINEAR_TWO
                                                 ? 3 * d.y[i]
                                                 : 4 * (d.y[i] == (double)j);
        expect_good_everywhere(one, &d, "separable");
        lasso_design_free(&d);
    }
}

Test(linear_edge, one_label_alone_is_no_classification)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        lasso_design d = design_of(one->target, ROWS, COLS);
        for (uint64_t i = 0; i < ROWS; i++)
            d.y[i] = 2;
        if (one->target == LINEAR_NUMBERS)
            expect_good_everywhere(one, &d, "a constant label");
        else
            expect_refused(one, &d, "all rows have the label 2");
        lasso_design_free(&d);
    }
}

static const double *coefficients(const strads_result *result, uint32_t *width)
{
    uint64_t parameters;

    return strads_result_values(result, &parameters, width);
}

Test(linear_edge, empty_columns_get_nothing_and_equal_ones_do_no_harm)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        lasso_design d = design_of(one->target, ROWS, COLS);
        strads_result *result = NULL;
        uint32_t width;
        for (uint64_t i = 0; i < ROWS; i++) {
            lasso_design_col(&d, 1)[i] = lasso_design_col(&d, 6)[i] = 0;
            lasso_design_col(&d, 4)[i] = lasso_design_col(&d, 3)[i] =
                lasso_design_col(&d, 0)[i];
        }
        expect_good_everywhere(one, &d, "empty and equal columns");
        cr_assert_eq(train(one, &d, 1, &result), STRADS_OK);
        const double *w = coefficients(result, &width);
        for (uint32_t c = 0; c < width; c++) {
            cr_expect_eq(w[width + c], 0, "%s", one->name);
            cr_expect_eq(w[6 * width + c], 0, "%s", one->name);
        }
        strads_result_free(result);
        lasso_design_free(&d);
    }
}

Test(linear_edge, one_row_is_enough_for_numbers_and_one_of_each_for_classes)
{
    static const uint64_t few[] = {1, 2, 3};

    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        lasso_design d = design_of(one->target, few[one->target], COLS);
        expect_good_everywhere(one, &d, "as few rows as can be");
        lasso_design_free(&d);
        d = design_of(one->target, 1, COLS);
        if (one->target != LINEAR_NUMBERS)
            expect_refused(one, &d, "all rows have the label");
        lasso_design_free(&d);
    }
}

Test(linear_edge, one_column_is_enough)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        lasso_design d = design_of(one->target, ROWS, 1);
        expect_good_everywhere(one, &d, "one column");
        lasso_design_free(&d);
    }
}

/* Logistic regression in the dual refuses such rows, and the command takes the
 * one by columns. */
static void expect_unsuited(const linear_case *one, const lasso_design *d)
{
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_lay(d, 1, STRADS_LAYOUT_ROWS, &data), STRADS_OK);
    cr_expect_not(strads_logistic_suits_dual(one->options, data));
    strads_data_free(data);
}

/* Of logistic regression in the dual, which finds w as a sum over rows, one
 * column is large; the losses with kinks have tests of their own, as rounding
 * keeps their last digits. */
Test(linear_edge, columns_of_any_scale_live_side_by_side)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        const bool dual = one->family == LINEAR_DUAL;
        lasso_design d = design_of(one->target, ROWS, COLS);
        for (uint64_t j = 0; j < (dual ? 2 : COLS); j++)
            for (uint64_t i = 0; i < ROWS; i++)
                lasso_design_col(&d, j)[i] *= j % 2 ? 1e8 : 1e-8;
        if (one->family == LINEAR_DUAL)
            expect_unsuited(one, &d);
        else if (one->loss != LINEAR_KINK)
            expect_good_everywhere(one, &d, "columns of 1e-8 beside 1e8");
        lasso_design_free(&d);
    }
}

Test(linear_edge, labels_need_not_be_plus_and_minus_one)
{
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        if (one->target != LINEAR_TWO)
            continue;
        lasso_design d = design_of(one->target, ROWS, COLS);
        lasso_design seen = design_of(one->target, ROWS, COLS);
        for (uint64_t i = 0; i < ROWS; i++)
            seen.y[i] = d.y[i] > 0 ? 1e6 : 1e-3;
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            expect_good(one, &seen, &d, workers, "other labels");
        lasso_design_free(&d);
        lasso_design_free(&seen);
    }
}

Test(linear_edge, labels_with_names_equal_their_numbers)
{
    strads_names *names = NULL;
    uint32_t number;

    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    for (int k = 0; k < 3; k++)
        cr_assert_eq(strads_names_add(names, &"012"[k], 1, &number), STRADS_OK);
    for (size_t k = 0; k < linear_cases_count; k++) {
        const linear_case *one = &linear_cases[k];
        strads_result *plain = NULL, *named = NULL;
        lasso_design d = design_of(LINEAR_THREE, ROWS, COLS);
        for (uint64_t i = 0; i < ROWS && one->target != LINEAR_THREE; i++)
            d.y[i] = fmin(d.y[i], 1);
        cr_assert_eq(train(one, &d, 2, &plain), STRADS_OK);
        d.names = names;
        if (one->target == LINEAR_NUMBERS) {
            expect_error(train(one, &d, 2, &named), STRADS_EINVAL,
                         "expects numbers");
        } else {
            uint32_t width;
            expect_ok(train(one, &d, 2, &named));
            const double *w = coefficients(plain, &width);
            cr_expect_eq(memcmp(w, coefficients(named, &width),
                                COLS * width * sizeof(double)),
                         0, "%s", one->name);
        }
        strads_result_free(plain);
        strads_result_free(named);
        lasso_design_free(&d);
    }
    strads_names_free(names);
}
