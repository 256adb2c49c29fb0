/* Cross-validation of a path, held against a loop that leaves rows out one by
 * one and fits by single runs. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/lasso_design.h"

enum { POINTS = 5 };

static const lasso_recipe recipe = {
    .rows = 14, .cols = 6, .seed = 8, .density = .8, .noise = 1, .offset = 1};

/* The squared error at row `row` of a fit to the others, each of which is there
 * `times` times (NULL: once). */
static double error_at(const lasso_design *d, uint64_t row, const double *times,
                       const strads_lasso_options *options)
{
    double left[32];

    for (uint64_t i = 0; i < d->rows; i++)
        left[i] = i == row ? 0 : times ? times[i] : 1;
    lasso_design rest = lasso_design_repeated(d, left);
    linear_fit fit = lasso_design_fit(&rest, options, NULL);
    const double sum = linear_fit_value_at(&fit, d, row);

    cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
    linear_fit_free(&fit);
    lasso_design_free(&rest);
    return (d->y[row] - sum) * (d->y[row] - sum);
}

static strads_lasso_cv_options leave_one_out(void)
{
    return (strads_lasso_cv_options){.path = {.fit = {.l1_ratio = 1,
                                                      .intercept = true},
                                              .points = POINTS,
                                              .ratio = .1,
                                              .first = .8},
                                     .folds = (uint32_t)recipe.rows,
                                     .threads = 2,
                                     .tolerance = 1e-11};
}

/* Point k of leaving out each row, which counts times[i] (NULL: once), is the
 * loop over single fits. */
static void check_point(const lasso_design *d, const double *times, uint32_t k,
                        const strads_cv_point *point)
{
    const strads_lasso_options alone = {.lambda = .8 * pow(.1, k / 4.),
                                        .intercept = true};
    double error[32], mean = 0, spread = 0, all = 0, folds = 0;

    for (uint64_t i = 0; i < d->rows; i++) {
        const double weight = times ? times[i] : 1;
        all += weight;
        folds += weight > 0;
        error[i] = error_at(d, i, times, &alone);
        mean += weight * error[i];
    }
    mean /= all;
    for (uint64_t i = 0; i < d->rows; i++)
        spread += (times ? times[i] : 1) / all * pow(error[i] - mean, 2);
    cr_expect_float_eq(point->lambda, alone.lambda, 1e-12);
    cr_expect_float_eq(point->error, mean, 1e-4 * mean);
    cr_expect_float_eq(point->deviation, sqrt(spread / (folds - 1)),
                       1e-4 * mean);
}

Test(lasso_cv, leaving_out_each_row_is_the_loop_over_single_fits)
{
    const strads_lasso_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest, least = 0;
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 3, &data), STRADS_OK);
    cr_assert_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                 STRADS_OK, "%s", strads_error_text());
    for (uint32_t k = 0; k < POINTS; k++) {
        check_point(&d, NULL, k, &points[k]);
        least = points[k].error < points[least].error ? k : least;
    }
    cr_expect_eq(best, least);
    for (uint32_t k = 0; k <= simplest; k++)
        cr_expect_eq(points[k].error <=
                         points[best].error + points[best].deviation,
                     k == simplest, "point %u", k);
    strads_data_free(data);
    lasso_design_free(&d);
}

/* Columns that are empty, or there twice, or of 1e-8 beside 1e8; one alone; as
 * few rows as leave one to fit. */
static lasso_design odd_design(int kind)
{
    lasso_recipe odd = recipe;

    odd.cols = kind == 2 ? 1 : recipe.cols;
    odd.rows = kind == 3 ? 2 : recipe.rows;
    lasso_design d = lasso_design_random(&odd);
    for (uint64_t i = 0; i < d.rows && kind < 2; i++)
        for (uint64_t j = 0; j < d.cols; j++) {
            double *x = &lasso_design_col(&d, j)[i];
            if (kind == 0)
                *x = j % 3 ? lasso_design_col(&d, 0)[i] : j ? 0 : *x;
            else
                *x *= j % 2 ? 1e8 : 1e-8;
        }
    return d;
}

Test(lasso_cv, odd_columns_and_few_rows_are_no_trouble)
{
    for (int kind = 0; kind < 4; kind++) {
        strads_lasso_cv_options options = leave_one_out();
        strads_cv_point points[POINTS];
        uint32_t best, simplest;
        lasso_design d = odd_design(kind);
        strads_data *data = NULL;
        options.folds = (uint32_t)d.rows;
        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        cr_assert_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                     STRADS_OK, "kind %d: %s", kind, strads_error_text());
        for (uint32_t k = 0; k < POINTS; k++)
            check_point(&d, NULL, k, &points[k]);
        strads_data_free(data);
        lasso_design_free(&d);
    }
    lasso_design one = lasso_design_zero(1, 2);
    const strads_lasso_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    strads_data *data = NULL;
    cr_assert_eq(lasso_design_data(&one, 1, &data), STRADS_OK);
    cr_expect_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                 STRADS_EINVAL);
    cr_expect_not_null(strstr(strads_error_text(), "folds of 1 rows"));
    strads_data_free(data);
    lasso_design_free(&one);
}

/* A fold is a row here, and counts as its row does. */
Test(lasso_cv, rows_of_weight_c_count_c_times_in_fits_and_errors)
{
    strads_lasso_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;
    double times[32];

    for (uint64_t i = 0; i < d.rows; i++)
        times[i] = (double)(i % 4);
    options.path.fit.row_weight = times;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    cr_assert_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                 STRADS_OK, "%s", strads_error_text());
    for (uint32_t k = 0; k < POINTS; k++)
        check_point(&d, times, k, &points[k]);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_cv, the_same_seed_gives_the_same_bits_on_any_number_of_threads)
{
    strads_lasso_cv_options options = leave_one_out();
    strads_cv_point points[3][POINTS];
    uint32_t best[3], simplest[3];
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    options.folds = 4;
    for (uint32_t k = 0; k < 3; k++) {
        options.threads = k < 2 ? 3 * k + 1 : 1;
        options.seed = k / 2;
        cr_assert_eq(strads_lasso_cv(data, &options, points[k], &best[k],
                                     &simplest[k]),
                     STRADS_OK);
    }
    cr_expect_arr_eq(points[0], points[1], sizeof(points[0]));
    cr_expect_arr_neq(points[0], points[2], sizeof(points[0]),
                      "another seed deals rows to other folds");
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_cv, what_cannot_be_done_is_refused)
{
    strads_lasso_cv_options wrong[4];
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;

    for (size_t k = 0; k < 4; k++)
        wrong[k] = leave_one_out();
    wrong[0].folds = 1;
    wrong[1].folds = (uint32_t)recipe.rows + 1;
    wrong[2].path.first = 0;
    wrong[3].path.ratio = 2;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(strads_lasso_cv(data, &wrong[k], points, &best, &simplest),
                     STRADS_EINVAL, "%zu", k);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(lasso_cv, a_bound_on_time_ends_it_in_a_fold)
{
    strads_lasso_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = lasso_design_random(&recipe);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    options.time_limit = 1e-9;
    cr_expect_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                 STRADS_ECANCELED);
    cr_expect(strstr(strads_error_text(), "in fold"));
    options.time_limit = 1e6;
    cr_expect_eq(strads_lasso_cv(data, &options, points, &best, &simplest),
                 STRADS_OK, "%s", strads_error_text());
    strads_data_free(data);
    lasso_design_free(&d);
}
