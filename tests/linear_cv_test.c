/* Cross-validation of paths of glm, of numbers and of classes, held against a
 * loop that leaves rows out one by one and fits by single runs. That of the
 * Lasso and of logistic regression is the same one (linear_faces_test.c). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/glm_design.h"

enum { POINTS = 5 };

static const lasso_recipe recipe = {
    .rows = 14, .cols = 6, .seed = 8, .density = .8, .noise = 1, .offset = 1};

/* What is asked of a cross-validation, beside its loss. */
typedef struct question {
    uint32_t folds; /* 0: one a row */
    uint32_t threads;
    uint64_t seed;
    double tolerance, ratio, time_limit;
    bool nowhere; /* without the first lambda */
    const char *fold_file, *classes, *weights;
    const double *row_weight;
    const char *class_weight;
} question;

static const question leave_one_out = {.threads = 2,
                                       .tolerance = 1e-11,
                                       .ratio = .1};

typedef struct answer {
    strads_cv_point points[POINTS];
    uint32_t best, simplest;
} answer;

typedef struct loss_case {
    const char *loss;
    bool of_classes;
    double first; /* lambda */
} loss_case;

static const loss_case losses[] = {{"squared", false, .8},
                                   {"logistic", true, .2}};
enum { LOSSES = sizeof losses / sizeof losses[0] };
static const loss_case *const logistic = &losses[1];

static strads_err judge(const loss_case *l, const strads_data *data,
                        const question *q, answer *a)
{
    const strads_glm_cv_options options = {
        .path = {.fit = {.loss = l->loss,
                         .intercept = true,
                         .row_weight = q->row_weight,
                         .weights = q->weights,
                         .classes = q->classes,
                         .class_weight =
                             l->of_classes ? q->class_weight : NULL},
                 .points = POINTS,
                 .ratio = q->ratio,
                 .first = q->nowhere ? 0 : l->first},
        .folds = q->folds ? q->folds : (uint32_t)strads_data_rows(data),
        .fold_file = q->fold_file,
        .threads = q->threads,
        .seed = q->seed,
        .tolerance = q->tolerance,
        .time_limit = q->time_limit};

    return strads_glm_cv(data, &options, a->points, &a->best, &a->simplest);
}

/* Twice the loss. */
static double error_of(const loss_case *l, double y, double sum)
{
    return l->of_classes ? 2 * log1p(exp(y > 0 ? -sum : sum))
                         : (y - sum) * (y - sum);
}

static void must_judge(const loss_case *l, const lasso_design *d,
                       const question *q, answer *a)
{
    strads_data *data = NULL;

    cr_assert_eq(lasso_design_data(d, 3, &data), STRADS_OK);
    cr_assert_eq(judge(l, data, q, a), STRADS_OK, "%s: %s", l->loss,
                 strads_error_text());
    const double most = q->tolerance > 0 ? q->tolerance : 1e-6;
    for (uint32_t k = 0; k < POINTS; k++)
        cr_expect(a->points[k].gap >= 0 && a->points[k].gap <= most,
                  "%s: gap %g", l->loss, a->points[k].gap);
    strads_data_free(data);
}

/* ---- the loop over single fits ----------------------------------------- */

/* x'w + b at row `row` of a fit to the others, each of which is there `times`
 * times (NULL: once). */
static double sum_at(const loss_case *l, const lasso_design *d, uint64_t row,
                     const double *times, double lambda)
{
    double left[32];

    for (uint64_t i = 0; i < d->rows; i++)
        left[i] = i == row ? 0 : times ? times[i] : 1;
    lasso_design rest = lasso_design_repeated(d, left);
    linear_fit fit = glm_design_fit(&rest,
                                    &(strads_glm_options){.loss = l->loss,
                                                          .lambda = lambda,
                                                          .intercept = true},
                                    NULL);
    const double sum = linear_fit_value_at(&fit, d, row);

    expect_ok(fit.err);
    linear_fit_free(&fit);
    lasso_design_free(&rest);
    return sum;
}

/* Point k of leaving out each row, which counts times[i] (NULL: once). */
static void check_point(const loss_case *l, const lasso_design *d,
                        const double *times, uint32_t k,
                        const strads_cv_point *point)
{
    const double lambda = l->first * pow(.1, k / 4.);
    double error[32], mean = 0, spread = 0, right = 0, all = 0, folds = 0;

    for (uint64_t i = 0; i < d->rows; i++) {
        const double weight = times ? times[i] : 1;
        const double sum = sum_at(l, d, i, times, lambda);
        all += weight;
        folds += weight > 0;
        error[i] = error_of(l, d->y[i], sum);
        mean += weight * error[i];
        right += (sum > 0) == (d->y[i] > 0) ? weight : 0;
    }
    mean /= all;
    for (uint64_t i = 0; i < d->rows; i++)
        spread += (times ? times[i] : 1) / all * pow(error[i] - mean, 2);
    cr_expect_float_eq(point->lambda, lambda, 1e-12);
    cr_expect_float_eq(point->error, mean, 1e-4 * mean, "%s", l->loss);
    cr_expect_float_eq(point->deviation, sqrt(spread / (folds - 1)),
                       1e-4 * mean, "%s", l->loss);
    if (l->of_classes)
        cr_expect_float_eq(point->accuracy, right / all, 1e-12);
    else
        cr_expect(isnan(point->accuracy));
}

Test(linear_cv, leaving_out_each_row_is_the_loop_over_single_fits)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        answer a;
        uint32_t least = 0;

        must_judge(l, &d, &leave_one_out, &a);
        for (uint32_t k = 0; k < POINTS; k++) {
            check_point(l, &d, NULL, k, &a.points[k]);
            least = a.points[k].error < a.points[least].error ? k : least;
        }
        cr_expect_eq(a.best, least);
        for (uint32_t k = 0; k <= a.simplest; k++)
            cr_expect_eq(a.points[k].error <= a.points[a.best].error +
                                                  a.points[a.best].deviation,
                         k == a.simplest, "%s, point %u", l->loss, k);
        lasso_design_free(&d);
    }
}

/* Odd designs: an empty column and one that occurs twice; scales of 1e-8 and
 * 1e8; a column that separates the classes; a single column; so few rows that
 * a fold leaves one. */
enum odd { TWICE, SCALED, TELLING, ALONE, FEW_ROWS, ODDITIES };

static lasso_design odd_design(const loss_case *l, enum odd odd)
{
    lasso_recipe r = recipe;

    r.cols = odd == ALONE ? 1 : recipe.cols;
    r.rows = odd == FEW_ROWS ? 2 : recipe.rows;
    lasso_design d = glm_design_random(&r, l->loss);
    for (uint64_t i = 0; i < d.rows; i++)
        for (uint64_t j = 0; j < d.cols; j++) {
            double *x = &lasso_design_col(&d, j)[i];
            if (odd == TWICE)
                *x = j % 3 ? lasso_design_col(&d, 0)[i] : j ? 0 : *x;
            else if (odd == SCALED)
                *x *= j % 2 ? 1e8 : 1e-8;
            else if (odd == TELLING && j == 0)
                *x = 3 * d.y[i];
        }
    return d;
}

Test(linear_cv, odd_columns_and_few_rows_are_no_trouble)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++)
        for (enum odd odd = 0; odd < ODDITIES; odd++) {
            if (l->of_classes && odd == FEW_ROWS)
                continue; /* a row has one label alone */
            lasso_design d = odd_design(l, odd);
            answer a;
            must_judge(l, &d, &leave_one_out, &a);
            for (uint32_t k = 0; k < POINTS; k++)
                check_point(l, &d, NULL, k, &a.points[k]);
            lasso_design_free(&d);
        }
}

/* A fold is a row here, and counts as its row does: by its own weight, times
 * its class's. */
Test(linear_cv, rows_and_classes_of_weight_c_count_c_times)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        double weight[32], times[32];
        question q = leave_one_out;
        answer a;

        for (uint64_t i = 0; i < d.rows; i++) {
            weight[i] = (double)(l->of_classes ? 1 + i % 3 : i % 4);
            times[i] = weight[i] * (l->of_classes && d.y[i] > 0 ? 2 : 1);
        }
        q.row_weight = weight;
        q.class_weight = "1=2";
        must_judge(l, &d, &q, &a);
        for (uint32_t k = 0; k < POINTS; k++)
            check_point(l, &d, times, k, &a.points[k]);
        lasso_design_free(&d);
    }
}

/* ---- folds ------------------------------------------------------------- */

Test(linear_cv, the_same_seed_gives_the_same_bits_on_any_number_of_threads)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        question q = leave_one_out;
        answer a[3];

        q.folds = 4;
        for (uint32_t k = 0; k < 3; k++) {
            q.threads = k < 2 ? 3 * k + 1 : 1;
            q.seed = k / 2;
            must_judge(l, &d, &q, &a[k]);
        }
        cr_expect_arr_eq(a[0].points, a[1].points, sizeof a[0].points);
        cr_expect_arr_neq(a[0].points, a[2].points, sizeof a[0].points,
                          "another seed deals rows to other folds");
        lasso_design_free(&d);
    }
}

/* A row a fold, by a file, is leaving out each row, whatever the order. */
Test(linear_cv, a_file_assigns_rows_to_folds)
{
    char path[] = "/tmp/strads_folds_XXXXXX";
    const int file = mkstemp(path);

    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        question q = leave_one_out;
        strads_data *data = NULL;
        answer drawn, told;
        must_judge(l, &d, &q, &drawn);
        cr_assert_eq(ftruncate(file, 0), 0);
        for (uint64_t i = d.rows; i > 0; i--)
            cr_assert_eq(dprintf(file, "%2u\n", (unsigned)i), 3);
        q.fold_file = path;
        q.folds = 2; /* not asked for */
        must_judge(l, &d, &q, &told);
        for (uint32_t k = 0; k < POINTS; k++)
            cr_expect_float_eq(told.points[k].error, drawn.points[k].error,
                               1e-9 * drawn.points[k].error);
        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        cr_assert_eq(ftruncate(file, 0), 0);
        cr_assert_eq(lseek(file, 0, SEEK_SET), 0);
        for (uint64_t i = 0; i < d.rows; i++)
            cr_assert_eq(dprintf(file, "%d\n", i == 3 ? 0 : 1), 2);
        expect_error(judge(l, data, &q, &told), STRADS_EFORMAT,
                     ":4: the fold is 0");
        cr_assert_eq(lseek(file, 0, SEEK_SET), 0);
        strads_data_free(data);
        lasso_design_free(&d);
    }
    (void)close(file);
    (void)unlink(path);
}

/* Two positive rows and two folds: dealt without a look at labels, every other
 * time one fold would have both. */
Test(linear_cv, folds_have_their_share_of_each_label)
{
    lasso_design d = glm_design_random(&recipe, logistic->loss);
    question q = leave_one_out;
    answer a;

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = i == 3 || i == 9 ? 4 : 2;
    q.folds = 2;
    q.tolerance = 1e-6;
    for (q.seed = 0; q.seed < 20; q.seed++)
        must_judge(logistic, &d, &q, &a);
    lasso_design_free(&d);
}

/* Numbers, and names: folds have them, too. */
Test(linear_cv, labels_may_be_any_two)
{
    static const double low[] = {-1, 0, 0}, high[] = {1, 7, 1};
    static const char *const heavy[] = {"1=2", "7=2", "yes=2"};
    question q = leave_one_out;
    answer a[3];
    uint32_t number;
    lasso_design first = glm_design_random(&recipe, logistic->loss);
    lasso_design d = glm_design_random(&recipe, logistic->loss);
    strads_names *names = NULL;
    strads_data *one = NULL;

    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "no", 2, &number), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "yes", 3, &number), STRADS_OK);
    q.folds = 4;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint64_t i = 0; i < d.rows; i++)
            d.y[i] = first.y[i] > 0 ? high[k] : low[k];
        d.names = k == 2 ? names : NULL;
        q.class_weight = heavy[k];
        must_judge(logistic, &d, &q, &a[k]);
    }
    cr_expect_arr_eq(a[0].points, a[1].points, sizeof a[0].points);
    cr_expect_arr_eq(a[0].points, a[2].points, sizeof a[0].points);
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = 1;
    cr_assert_eq(lasso_design_data(&d, 2, &one), STRADS_OK);
    cr_expect_eq(judge(logistic, one, &q, &a[0]), STRADS_EFORMAT);
    cr_expect_str_eq(strads_error_text(), "all rows have the label yes; "
                                          "expected labels of two values");
    strads_data_free(one);
    strads_names_free(names);
    lasso_design_free(&first);
    lasso_design_free(&d);
}

/* ---- what ends it ------------------------------------------------------ */

Test(linear_cv, unsupported_options_are_refused)
{
    question wrong[6];

    for (size_t k = 0; k < 6; k++)
        wrong[k] = leave_one_out;
    wrong[0].folds = 1;
    wrong[1].folds = (uint32_t)recipe.rows + 1;
    wrong[2].nowhere = true;
    wrong[3].ratio = 2;
    wrong[4].weights = "some"; /* of a file, which has a line for each row */
    wrong[5].classes = "1,2";  /* a fold has none of its own */
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        strads_data *data = NULL;
        answer a;
        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
            cr_expect_eq(judge(l, data, &wrong[k], &a), STRADS_EINVAL,
                         "%s, %zu", l->loss, k);
        strads_data_free(data);
        lasso_design_free(&d);
    }
}

Test(linear_cv, one_row_is_too_few)
{
    lasso_design one = lasso_design_zero(1, 2);
    strads_data *data = NULL;
    answer a;

    cr_assert_eq(lasso_design_data(&one, 1, &data), STRADS_OK);
    expect_error(judge(&losses[0], data, &leave_one_out, &a), STRADS_EINVAL,
                 "folds of 1 rows");
    strads_data_free(data);
    lasso_design_free(&one);
}

Test(linear_cv, a_bound_on_time_ends_it_in_a_fold)
{
    for (const loss_case *l = losses; l < losses + LOSSES; l++) {
        lasso_design d = glm_design_random(&recipe, l->loss);
        question q = leave_one_out;
        strads_data *data = NULL;
        answer a;

        cr_assert_eq(lasso_design_data(&d, 2, &data), STRADS_OK);
        q.time_limit = 1e-9;
        cr_expect_eq(judge(l, data, &q, &a), STRADS_ECANCELED, "%s", l->loss);
        cr_expect(strstr(strads_error_text(), "in fold"), "%s", l->loss);
        q.time_limit = 1e6;
        cr_expect_eq(judge(l, data, &q, &a), STRADS_OK, "%s: %s", l->loss,
                     strads_error_text());
        strads_data_free(data);
        lasso_design_free(&d);
    }
}
