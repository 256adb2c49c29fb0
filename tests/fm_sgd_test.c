/* Factorisation machines by stochastic gradients: steps against differences of
 * the loss, planted factors, pairs of items, bits, refusals. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/fm/fm_parts.h"
#include "strads/policy.h"
#include "strads/strads.h"
#include "tests/expect.h"
#include "tests/toy_data.h"

enum { RANK = 3, WIDTH = RANK + 1, COLS = 9, SPLIT = 4, SEED = 5 };

static double draw(uint64_t what, uint64_t k)
{
    return strads_random_unit(SEED, 78, what, k);
}

static double deviate(uint64_t what, uint64_t k)
{
    double sum = -6;
    for (uint64_t t = 0; t < 12; t++)
        sum += draw(what, 12 * k + t);
    return sum;
}

/* ---- a step -------------------------------------------------------------- */

/* y(x) as the sum over pairs of columns. */
static double predict(const double *model, const double *x)
{
    double sum = model[COLS * WIDTH];
    for (int j = 0; j < COLS; j++) {
        sum += model[j * WIDTH] * x[j];
        for (int l = j + 1; l < COLS; l++)
            for (int f = 1; f < WIDTH; f++)
                sum +=
                    model[j * WIDTH + f] * model[l * WIDTH + f] * x[j] * x[l];
    }
    return sum;
}

/* The loss of row 0 or, for bpr, of its item and that of row 1, and penalties
 * of the columns that it moves. */
static double loss_of(const double *model, double x[2][COLS], const char *loss,
                      double y, const double decay[2])
{
    double other[COLS], sum = 0;
    const bool bpr = strcmp(loss, "bpr") == 0;
    for (int j = 0; j < COLS; j++)
        other[j] = x[j < SPLIT ? 0 : 1][j];
    const double m = predict(model, x[0]);
    sum = bpr ? log1p(exp(predict(model, other) - m))
          : strcmp(loss, "logistic") == 0 ? log1p(exp(-y * m))
                                          : (m - y) * (m - y) / 2;
    for (int j = 0; j < COLS; j++)
        for (int f = 0; f < WIDTH; f++)
            sum += ((x[0][j] != 0) + (bpr && j >= SPLIT && x[1][j] != 0)) *
                   decay[f > 0] / 2 * model[j * WIDTH + f] *
                   model[j * WIDTH + f];
    return sum;
}

static void check_step(const char *loss, uint64_t trial)
{
    static const double decay[2] = {.3, .2}, size = 1e-7, h = 1e-5;
    const strads_fm_options o = {.loss = loss, .context = SPLIT};
    double x[2][COLS], model[(COLS + 1) * WIDTH], y[2] = {1, -1};
    uint64_t start[COLS + 1] = {0};
    uint32_t index[2 * COLS];
    double value[2 * COLS];
    uint64_t n = 0;
    for (uint64_t j = 0; j < COLS; j++) {
        for (uint32_t i = 0; i < 2; i++) {
            x[i][j] = draw(100 + trial, 2 * j + i) < .7
                          ? deviate(200 + trial, 2 * j + i)
                          : 0;
            index[n] = i;
            value[n] = x[i][j];
            n += x[i][j] != 0;
        }
        start[j + 1] = n;
    }
    const strads_share share = {.rows = {0, 2},
                                .by_col = {.lines = COLS,
                                           .nnz = n,
                                           .start = start,
                                           .index = index,
                                           .f64 = value}};
    fm_sgd s;
    expect_ok(fm_sgd_open(&s, &share, RANK, &o));
    for (uint64_t k = 0; k < (COLS + 1) * WIDTH; k++)
        model[k] = k > COLS * WIDTH ? 0 : .5 * deviate(300 + trial, k);
    for (uint64_t j = 0; j <= COLS; j++)
        fm_sgd_commit(&s, j, model + j * WIDTH);
    for (int j = 0; j < COLS; j++) {
        s.rate[j] = 1;
        s.decay[0][j] = decay[0];
        s.decay[1][j] = decay[1];
    }
    if (strcmp(loss, "bpr") == 0)
        fm_pairs_step(&s, 0, 1, size);
    else
        fm_sgd_step(&s, 0, y[0], size);
    for (int k = 0; k < COLS * WIDTH; k++) {
        const double was = model[k];
        model[k] = was + h;
        const double above = loss_of(model, x, loss, y[0], decay);
        model[k] = was - h;
        const double below = loss_of(model, x, loss, y[0], decay);
        model[k] = was;
        const double slope = (above - below) / (2 * h);
        cr_expect_float_eq((was - s.value[k]) / size, slope,
                           1e-4 * (1 + fabs(slope)), "%s, number %d", loss, k);
    }
    cr_expect_eq(s.value[COLS * WIDTH], model[COLS * WIDTH]);
    fm_sgd_free(&s);
}

Test(fm_sgd, a_step_is_down_the_gradient_by_differences)
{
    for (uint64_t trial = 0; trial < 10; trial++) {
        check_step("squared", trial);
        check_step("logistic", trial);
        check_step("bpr", trial);
    }
}

/* ---- planted models ------------------------------------------------------ */

/* One-hot users and items, and a kind of each item in the last columns. */
enum { USERS = 60, ITEMS = 40, KINDS = 4, ALL = USERS + ITEMS + KINDS };
enum { ROWS_MAX = 4800, PLANTED = 3 };

typedef struct ratings {
    uint64_t n;
    uint64_t start[ROWS_MAX + 1];
    uint32_t index[3 * ROWS_MAX];
    double value[3 * ROWS_MAX], label[ROWS_MAX];
} ratings;

static double planted[ALL][PLANTED];

static void plant(void)
{
    for (uint64_t j = 0; j < ALL; j++)
        for (uint64_t f = 0; f < PLANTED; f++)
            planted[j][f] = deviate(1, j * PLANTED + f) * (f ? .7 : .4);
}

/* Item v's number scaled by `scale` in its column. */
static void add_row(ratings *r, uint32_t u, uint32_t v, double scale)
{
    const uint32_t column[3] = {u, USERS + v, USERS + ITEMS + v % KINDS};
    double sum = 1;
    for (uint32_t a = 0; a < 3; a++) {
        r->index[3 * r->n + a] = column[a];
        r->value[3 * r->n + a] = a == 1 ? scale : 1;
        sum += planted[column[a]][0];
        for (uint32_t b = 0; b < a; b++)
            for (uint32_t f = 1; f < PLANTED; f++)
                sum += planted[column[a]][f] * planted[column[b]][f];
    }
    r->label[r->n++] = sum;
    r->start[r->n] = 3 * r->n;
}

static strads_data *data_of(const ratings *r, const strads_fm_options *o,
                            uint32_t partitions)
{
    const strads_rows rows = {r->n,     ALL,      r->start,
                              r->index, r->value, r->label};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .partitions = partitions};
    strads_data_options options = {.size = sizeof options};
    strads_data *data;
    expect_ok(strads_run_cut(&strads_program_fm, o, &engine, &options));
    expect_ok(strads_data_from_rows(&rows, &options, &data));
    return data;
}

static strads_result *train(const ratings *r, const strads_fm_options *o,
                            uint32_t partitions, uint32_t workers)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = workers,
                                          .partitions = partitions,
                                          .seed = SEED};
    strads_data *data = data_of(r, o, partitions);
    strads_result *result;
    expect_ok(strads_run(&strads_program_fm, o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

/* Scores of the rows by the public prediction. */
static void score_rows(const strads_result *result, const ratings *r,
                       double *out)
{
    const strads_sparse rows = {.lines = r->n,
                                .nnz = r->start[r->n],
                                .start = r->start,
                                .index = r->index,
                                .f64 = r->value};
    strads_model *model;
    expect_ok(strads_model_from_result(result, "fm", NULL, 0, &model));
    strads_model whole = *model;
    whole.intercepts = strads_fm_intercepts(strads_result_state(result));
    expect_ok(strads_fm_predict(&whole, &rows, out));
    strads_model_free(model);
}

static ratings train_rows, test_rows;
static double scores[ROWS_MAX];

static void fill_rows(double scale)
{
    plant();
    train_rows.n = test_rows.n = 0;
    for (uint32_t k = 0; k < USERS * ITEMS; k++)
        add_row(draw(2, k) < .6 ? &train_rows : &test_rows, k / ITEMS,
                k % ITEMS, scale);
}

/* The squared error of unseen rows, as a share of their variance. */
static double unseen_error(const strads_fm_options *o, uint32_t partitions)
{
    double errors = 0, squares = 0, mean = 0;
    strads_result *r = train(&train_rows, o, partitions, 2);
    score_rows(r, &test_rows, scores);
    strads_result_free(r);
    for (uint64_t i = 0; i < test_rows.n; i++)
        mean += test_rows.label[i] / (double)test_rows.n;
    for (uint64_t i = 0; i < test_rows.n; i++) {
        const double error = scores[i] - test_rows.label[i];
        errors += error * error;
        squares += (test_rows.label[i] - mean) * (test_rows.label[i] - mean);
    }
    return errors / squares;
}

Test(fm_sgd, planted_factors_are_recovered_at_any_scale_of_a_column)
{
    for (int k = 0; k < 3; k++) {
        const strads_fm_options o = {.method = "sgd",
                                     .rank = 2,
                                     .lambda = 1e-5,
                                     .step = .3,
                                     .sweeps = 200};
        fill_rows(k == 2 ? 3 : 1);
        const double share = unseen_error(&o, 1 + (uint32_t)k % 2);
        cr_expect_lt(share, .02, "trial %d: %g", k, share);
    }
}

/* Both end near a minimum; these are not the same. */
Test(fm_sgd, the_objective_is_near_that_of_least_squares)
{
    for (int logistic = 0; logistic < 2; logistic++) {
        strads_fm_options o = {.loss = logistic ? "logistic" : "squared",
                               .rank = 2,
                               .lambda = .003,
                               .sweeps = 200};
        fill_rows(1);
        for (uint64_t i = 0; logistic && i < train_rows.n; i++)
            train_rows.label[i] = train_rows.label[i] > 1 ? 1 : -1;
        strads_result *exact = train(&train_rows, &o, 2, 2);
        o.method = "sgd";
        o.step = .3;
        strads_result *r = train(&train_rows, &o, 2, 2);
        const double best = strads_result_progress(exact)->objective;
        const double found = strads_result_progress(r)->objective;
        cr_expect_lt(found, 1.03 * best, "%s: %g, als %g", o.loss, found, best);
        cr_expect_gt(found, .97 * best, "%s: %g, als %g", o.loss, found, best);
        strads_result_free(exact);
        strads_result_free(r);
    }
}

/* ---- pairs --------------------------------------------------------------- */

/* Users had the better half of the items that they saw in training; in the test
 * the other items are to be ordered. The AUC, computed pair by pair. */
Test(fm_sgd, bpr_orders_unseen_items_by_planted_tastes)
{
    const strads_fm_options o = {.loss = "bpr",
                                 .rank = 4,
                                 .context = USERS,
                                 .lambda = .002,
                                 .sweeps = 60};
    double right = 0, pairs = 0, found, all;
    static ratings had;
    fill_rows(1);
    had.n = 0;
    for (uint64_t i = 0; i < train_rows.n; i++)
        if (train_rows.label[i] > 1)
            add_row(&had, train_rows.index[3 * i],
                    train_rows.index[3 * i + 1] - USERS, 1);
    for (uint64_t i = 0; i < had.n; i++)
        had.label[i] = 1;
    for (uint64_t i = 0; i < test_rows.n; i++)
        test_rows.label[i] = test_rows.label[i] > 1;
    strads_result *r = train(&had, &o, 2, 2);
    score_rows(r, &test_rows, scores);
    strads_result_free(r);
    for (uint64_t i = 0; i < test_rows.n; i++)
        for (uint64_t k = 0; k < test_rows.n; k++)
            if (test_rows.index[3 * i] == test_rows.index[3 * k] &&
                test_rows.label[i] > test_rows.label[k]) {
                pairs++;
                right += scores[i] > scores[k]    ? 1
                         : scores[i] == scores[k] ? .5
                                                  : 0;
            }
    const strads_sparse rows = {.lines = test_rows.n,
                                .start = test_rows.start,
                                .index = test_rows.index,
                                .f64 = test_rows.value};
    expect_ok(
        strads_fm_order(&rows, USERS, test_rows.label, scores, &all, &found));
    cr_expect_eq(all, pairs);
    cr_expect_eq(found, right);
    cr_expect_gt(right / pairs, .85, "AUC %g", right / pairs);
}

/* ---- bits, refusals ------------------------------------------------------ */

Test(fm_sgd, any_workers_and_nodes_give_the_same_bits)
{
    static const char *const losses[] = {"squared", "logistic", "bpr"};
    for (int k = 0; k < 3; k++) {
        const strads_fm_options o = {.loss = losses[k],
                                     .method = "sgd",
                                     .rank = 5,
                                     .context = k == 2 ? USERS : 0,
                                     .sweeps = 4};
        fill_rows(1);
        for (uint64_t i = 0; i < train_rows.n; i++)
            train_rows.label[i] = train_rows.label[i] > 1 ? 1 : -1;
        strads_result *alone = train(&train_rows, &o, 4, 1);
        for (uint32_t workers = 2; workers <= 4; workers += 2) {
            strads_result *other = train(&train_rows, &o, 4, workers);
            cr_expect(toy_same_values(alone, other), "%s: other bits", o.loss);
            strads_result_free(other);
        }
        const strads_engine_options engine = {.size = sizeof engine,
                                              .workers = 3,
                                              .partitions = 4,
                                              .seed = SEED};
        const strads_sim_options sim = {.size = sizeof sim,
                                        .nodes = 3,
                                        .latency = 1e-5,
                                        .bandwidth = 1e9,
                                        .update_cost = 1e-5,
                                        .jitter = 2};
        strads_data *data = data_of(&train_rows, &o, 4);
        strads_result *other;
        expect_ok(strads_simulate(&strads_program_fm, &o, data, &engine, &sim,
                                  &other, NULL));
        cr_expect(toy_same_values(alone, other), "%s: other bits", o.loss);
        strads_result_free(other);
        strads_data_free(data);
        strads_result_free(alone);
    }
}

static void expect_refused(const strads_fm_options *o, const char *text)
{
    const strads_engine_options engine = {.size = sizeof engine};
    strads_result *r;
    strads_data *data = data_of(&train_rows, &fm_defaults, 1);
    cr_expect_eq(strads_run(&strads_program_fm, o, data, &engine, &r),
                 STRADS_EINVAL);
    cr_expect_not_null(strstr(strads_error_text(), text), "%s",
                       strads_error_text());
    strads_data_free(data);
}

Test(fm_sgd, options_without_effect_are_refused)
{
    fill_rows(1);
    expect_refused(&(strads_fm_options){.step = .1}, "--step is for");
    expect_refused(&(strads_fm_options){.method = "ccd"}, "als or sgd");
    expect_refused(&(strads_fm_options){.context = 3}, "--context 3");
    expect_refused(&(strads_fm_options){.loss = "bpr"}, "--context N");
    expect_refused(&(strads_fm_options){.loss = "bpr", .context = ALL},
                   "from 1 to 103");
    expect_refused(&(strads_fm_options){.loss = "bpr",
                                        .method = "als",
                                        .context = USERS},
                   "--method sgd");
    for (uint64_t i = 0; i < train_rows.n; i++)
        train_rows.label[i] = 0;
    expect_refused(&(strads_fm_options){.loss = "bpr", .context = USERS},
                   "above 0");
}
