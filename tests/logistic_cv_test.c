/* Cross-validation of a path of logistic regressions, held against a loop that
 * leaves rows out one by one and fits by single runs. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/logistic_design.h"

enum { POINTS = 5 };

static const lasso_recipe recipe = {
    .rows = 14, .cols = 6, .seed = 8, .density = .8, .noise = 1, .offset = 1};

/* What one row has: its deviance, and whether its label was found, by a fit to
 * the others, each of which is there `times` times (NULL: once). */
typedef struct verdict {
    double deviance;
    bool right;
} verdict;

static verdict judge(const lasso_design *d, uint64_t row, const double *times,
                     const strads_logistic_options *options)
{
    double left[32];

    for (uint64_t i = 0; i < d->rows; i++)
        left[i] = i == row ? 0 : times ? times[i] : 1;
    lasso_design rest = lasso_design_repeated(d, left);
    linear_fit fit = logistic_design_fit(&rest, options, NULL);
    const double sum = linear_fit_value_at(&fit, d, row);

    cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
    linear_fit_free(&fit);
    lasso_design_free(&rest);
    return (verdict){.deviance = 2 * log1p(exp(-d->y[row] * sum)),
                     .right = (sum > 0) == (d->y[row] > 0)};
}

static strads_logistic_cv_options leave_one_out(void)
{
    return (strads_logistic_cv_options){.path = {.fit = {.l1_ratio = 1,
                                                         .intercept = true},
                                                 .points = POINTS,
                                                 .ratio = .1,
                                                 .first = .2},
                                        .folds = (uint32_t)recipe.rows,
                                        .threads = 2,
                                        .tolerance = 1e-11};
}

/* Point k of leaving out each row, which counts times[i] (NULL: once), is the
 * loop over single fits. */
static void check_point(const lasso_design *d, const double *times, uint32_t k,
                        const strads_cv_point *point)
{
    const strads_logistic_options alone = {.lambda = .2 * pow(.1, k / 4.),
                                           .l1_ratio = 1,
                                           .intercept = true};
    const double n = (double)d->rows;
    double deviance[32], mean = 0, spread = 0, right = 0, all = 0;

    for (uint64_t i = 0; i < d->rows; i++) {
        const double weight = times ? times[i] : 1;
        const verdict v = judge(d, i, times, &alone);
        all += weight;
        deviance[i] = v.deviance;
        mean += weight * v.deviance;
        right += v.right ? weight : 0;
    }
    mean /= all;
    for (uint64_t i = 0; i < d->rows; i++)
        spread += (times ? times[i] : 1) / all * pow(deviance[i] - mean, 2);
    cr_expect_float_eq(point->lambda, alone.lambda, 1e-12);
    cr_expect_float_eq(point->error, mean, 1e-4 * mean);
    cr_expect_float_eq(point->deviation, sqrt(spread / (n - 1)), 1e-4 * mean);
    cr_expect_float_eq(point->accuracy, right / all, 1e-12);
}

Test(logistic_cv, leaving_out_each_row_is_the_loop_over_single_fits)
{
    const strads_logistic_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest, least = 0;
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 3, &data), STRADS_OK);
    cr_assert_eq(strads_logistic_cv(data, &options, points, &best, &simplest),
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

/* Columns that are empty, or there twice, or of 1e-8 beside 1e8, or tell all;
 * one alone. */
static lasso_design odd_design(int kind)
{
    lasso_recipe odd = recipe;

    odd.cols = kind == 3 ? 1 : recipe.cols;
    lasso_design d = logistic_design_random(&odd);
    for (uint64_t i = 0; i < d.rows && kind < 3; i++)
        for (uint64_t j = 0; j < d.cols; j++) {
            double *x = &lasso_design_col(&d, j)[i];
            if (kind == 0)
                *x = j % 3 ? lasso_design_col(&d, 0)[i] : j ? 0 : *x;
            else if (kind == 1)
                *x *= j % 2 ? 1e8 : 1e-8;
            else if (j == 0)
                *x = 3 * d.y[i];
        }
    return d;
}

Test(logistic_cv, odd_columns_and_separable_rows_are_no_trouble)
{
    for (int kind = 0; kind < 4; kind++) {
        const strads_logistic_cv_options options = leave_one_out();
        strads_cv_point points[POINTS];
        uint32_t best, simplest;
        lasso_design d = odd_design(kind);
        strads_data *data = NULL;
        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        cr_assert_eq(strads_logistic_cv(data, &options, points, &best,
                                        &simplest),
                     STRADS_OK, "kind %d: %s", kind, strads_error_text());
        for (uint32_t k = 0; k < POINTS; k++)
            check_point(&d, NULL, k, &points[k]);
        strads_data_free(data);
        lasso_design_free(&d);
    }
}

/* Numbers, and names: folds have them, too. */
Test(logistic_cv, labels_may_be_any_two)
{
    static const double low[] = {-1, 0, 0}, high[] = {1, 7, 1};
    static const char *const heavy[] = {"1=2", "7=2", "yes=2"};
    strads_logistic_cv_options options = leave_one_out();
    strads_cv_point points[3][POINTS];
    uint32_t best, simplest, number;
    lasso_design first = logistic_design_random(&recipe);
    lasso_design d = logistic_design_random(&recipe);
    strads_names *names = NULL;

    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "no", 2, &number), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "yes", 3, &number), STRADS_OK);
    options.folds = 4;
    for (uint32_t k = 0; k < 3; k++) {
        strads_data *data = NULL;
        for (uint64_t i = 0; i < d.rows; i++)
            d.y[i] = first.y[i] > 0 ? high[k] : low[k];
        d.names = k == 2 ? names : NULL;
        options.path.fit.class_weight = heavy[k];
        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        cr_assert_eq(strads_logistic_cv(data, &options, points[k], &best,
                                        &simplest),
                     STRADS_OK, "%s", strads_error_text());
        strads_data_free(data);
    }
    cr_expect_arr_eq(points[0], points[1], sizeof(points[0]));
    cr_expect_arr_eq(points[0], points[2], sizeof(points[0]));
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 1;
    strads_data *one = NULL;
    cr_assert_eq(lasso_design_data(&d, 2, &one), STRADS_OK);
    cr_expect_eq(strads_logistic_cv(one, &options, points[0], &best, &simplest),
                 STRADS_EFORMAT);
    cr_expect_str_eq(strads_error_text(), "all rows have the label yes; "
                                          "expected labels of two values");
    strads_data_free(one);
    strads_names_free(names);
    lasso_design_free(&first);
    lasso_design_free(&d);
}

/* A row counts by its own weight times its class's, in fits and in errors. */
Test(logistic_cv, rows_and_classes_of_weight_c_count_c_times)
{
    strads_logistic_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;
    double weight[32], times[32];

    for (uint64_t i = 0; i < d.rows; i++) {
        weight[i] = (double)(1 + i % 3);
        times[i] = weight[i] * (d.y[i] > 0 ? 2 : 1);
    }
    options.path.fit.row_weight = weight;
    options.path.fit.class_weight = "1=2";
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    cr_assert_eq(strads_logistic_cv(data, &options, points, &best, &simplest),
                 STRADS_OK, "%s", strads_error_text());
    for (uint32_t k = 0; k < POINTS; k++)
        check_point(&d, times, k, &points[k]);
    strads_data_free(data);
    lasso_design_free(&d);
}

/* Two positive rows and two folds: dealt without a look at labels, every other
 * time one fold would have both. */
Test(logistic_cv, folds_have_their_share_of_each_label)
{
    strads_logistic_cv_options options = leave_one_out();
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = i == 3 || i == 9 ? 4 : 2;
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    options.folds = 2;
    options.tolerance = 1e-6;
    for (options.seed = 0; options.seed < 20; options.seed++)
        cr_expect_eq(strads_logistic_cv(data, &options, points, &best,
                                        &simplest),
                     STRADS_OK, "%s", strads_error_text());
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(logistic_cv, the_same_seed_gives_the_same_bits_on_any_number_of_threads)
{
    strads_logistic_cv_options options = leave_one_out();
    strads_cv_point points[2][POINTS];
    uint32_t best, simplest;
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    options.folds = 4;
    for (uint32_t k = 0; k < 2; k++) {
        options.threads = 3 * k + 1;
        cr_assert_eq(strads_logistic_cv(data, &options, points[k], &best,
                                        &simplest),
                     STRADS_OK);
    }
    cr_expect_arr_eq(points[0], points[1], sizeof(points[0]));
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(logistic_cv, what_cannot_be_done_is_refused)
{
    strads_logistic_cv_options wrong[6];
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
    lasso_design d = logistic_design_random(&recipe);
    strads_data *data = NULL;

    for (size_t k = 0; k < 6; k++)
        wrong[k] = leave_one_out();
    wrong[0].folds = 1;
    wrong[1].folds = (uint32_t)recipe.rows + 1;
    wrong[2].path.first = 0;
    wrong[3].path.ratio = 2;
    wrong[4].path.fit.weights = "some";
    wrong[5].path.fit.classes = "1,2";
    cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
    for (size_t k = 0; k < 6; k++)
        cr_expect_eq(strads_logistic_cv(data, &wrong[k], points, &best,
                                        &simplest),
                     STRADS_EINVAL, "%zu", k);
    strads_data_free(data);
    lasso_design_free(&d);
}
