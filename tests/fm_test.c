/* Factorisation machines against an independent oracle: the model as a sum over
 * pairs of columns, its objective, and differences of that; planted factors;
 * and generalised linear models for rank 0. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/fm.h"
#include "strads/glm.h"
#include "strads/strads.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { ROWS_MAX = 1500, COLS_MAX = 48, WIDTH_MAX = 6, SEED = 9 };

/* A design: x[rows x cols], labels. */
typedef struct design {
    uint32_t rows, cols;
    double x[ROWS_MAX * COLS_MAX], label[ROWS_MAX];
} design;

static double draw(uint64_t seed, uint64_t what, uint64_t k)
{
    return strads_random_unit(seed, 77, what, k);
}

static double deviate(uint64_t seed, uint64_t what, uint64_t k)
{
    double sum = -6;
    for (uint64_t t = 0; t < 12; t++)
        sum += draw(seed, what, 12 * k + t);
    return sum;
}

/* Row i of a model [(cols + 1) x width], w_0 last: the sum over all pairs. */
static double margin(const design *d, uint32_t width, const double *model,
                     uint32_t i)
{
    const double *x = d->x + (size_t)i * d->cols;
    double sum = model[(size_t)d->cols * width];
    for (uint32_t j = 0; j < d->cols; j++) {
        sum += model[(size_t)j * width] * x[j];
        for (uint32_t l = j + 1; l < d->cols && x[j] != 0; l++)
            for (uint32_t f = 1; f < width && x[l] != 0; f++)
                sum += model[(size_t)j * width + f] *
                       model[(size_t)l * width + f] * x[j] * x[l];
    }
    return sum;
}

static double objective(const design *d, const strads_fm_options *o,
                        uint32_t width, const double *model)
{
    const bool logistic = o->loss && strcmp(o->loss, "logistic") == 0;
    double loss = 0, penalty = 0;
    for (uint32_t i = 0; i < d->rows; i++) {
        const double m = margin(d, width, model, i), y = d->label[i];
        loss += logistic ? log1p(exp(y > 0 ? -m : m)) : (m - y) * (m - y) / 2;
    }
    for (uint32_t j = 0; j < d->cols; j++)
        for (uint32_t f = 0; f < width; f++)
            penalty += (f == 0 ? o->lambda : o->lambda_factors) *
                       model[(size_t)j * width + f] *
                       model[(size_t)j * width + f];
    return loss / d->rows + penalty / 2;
}

/* ---- designs ----------------------------------------------------------- */

/* Dense and sparse numbers of any scale, labels from a planted model of two
 * factors with noise. */
static void make_design(design *d, uint64_t seed, uint32_t rows, uint32_t cols,
                        double density, double scale, bool classes)
{
    static double planted[(COLS_MAX + 1) * 3];
    d->rows = rows;
    d->cols = cols;
    for (uint32_t k = 0; k < rows * cols; k++)
        d->x[k] = draw(seed, 1, k) < density ? scale * deviate(seed, 2, k) : 0;
    for (uint32_t k = 0; k < (cols + 1) * 3; k++)
        planted[k] = deviate(seed, 3, k) / scale;
    for (uint32_t i = 0; i < rows; i++) {
        const double m = margin(d, 3, planted, i) + .5 * deviate(seed, 4, i);
        d->label[i] = !classes ? m : m > 0 ? 1 : -1;
    }
}

/* Users, items and a kind of each item, one-hot, and a planted model without
 * noise. */
static void make_ratings(design *d, uint32_t users, uint32_t items,
                         uint32_t kinds, uint32_t rows, uint64_t seed,
                         uint32_t width, double *planted)
{
    d->rows = rows;
    d->cols = users + items + kinds;
    memset(d->x, 0, sizeof d->x);
    for (uint32_t k = 0; k <= d->cols * width; k++)
        planted[k] = deviate(seed, 5, k) * (k % width ? .7 : .4);
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t u = (uint32_t)(draw(seed, 6, i) * users);
        const uint32_t v = (uint32_t)(draw(seed, 7, i) * items);
        double *x = d->x + (size_t)i * d->cols;
        x[u] = 1;
        x[users + v] = 1;
        if (kinds > 0)
            x[users + items + v % kinds] = 1;
        d->label[i] = margin(d, width, planted, i);
    }
}

static strads_data *data_of(const design *d, const strads_program *program,
                            const void *config, uint32_t partitions)
{
    uint64_t *start = calloc(d->rows + 1, sizeof *start), n = 0;
    uint32_t *index = calloc((size_t)d->rows * d->cols, sizeof *index);
    double *value = calloc((size_t)d->rows * d->cols, sizeof *value);
    cr_assert(start && index && value);
    for (uint32_t i = 0; i < d->rows; i++) {
        for (uint32_t j = 0; j < d->cols; j++)
            if (d->x[(size_t)i * d->cols + j] != 0) {
                index[n] = j;
                value[n++] = d->x[(size_t)i * d->cols + j];
            }
        start[i + 1] = n;
    }
    const strads_rows rows = {d->rows, d->cols, start, index, value, d->label};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .partitions = partitions};
    strads_data_options options = {.size = sizeof options};
    strads_data *data;
    expect_ok(strads_run_cut(program, config, &engine, &options));
    expect_ok(strads_data_from_rows(&rows, &options, &data));
    free(start);
    free(index);
    free(value);
    return data;
}

/* ---- runs -------------------------------------------------------------- */

typedef struct course {
    uint32_t n;
    double objective[600];
} course;

static void note(void *arg, const strads_progress *progress)
{
    course *c = arg;
    if (c->n < sizeof c->objective / sizeof *c->objective)
        c->objective[c->n++] = progress->objective;
}

static strads_result *train(const design *d, const strads_fm_options *o,
                            uint32_t partitions, double tolerance, course *c)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .partitions = partitions,
                                          .seed = SEED,
                                          .tolerance = tolerance,
                                          .progress = c ? note : NULL,
                                          .progress_arg = c};
    strads_data *data = data_of(d, &strads_program_fm, o, partitions);
    strads_result *result;
    expect_ok(strads_run(&strads_program_fm, o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

static uint32_t model_of(const design *d, const strads_result *result,
                         double *out)
{
    uint64_t parameters;
    uint32_t width;
    const double *value = strads_result_values(result, &parameters, &width);
    cr_assert_geq(parameters, d->cols);
    memcpy(out, value, sizeof *out * d->cols * width);
    out[(size_t)d->cols * width] =
        strads_fm_intercepts(strads_result_state(result))[0];
    return width;
}

static design shared;
static double model[(COLS_MAX + 1) * WIDTH_MAX];

/* ---- the minimum ------------------------------------------------------- */

static void expect_stationary(uint64_t seed, uint32_t rows, uint32_t cols,
                              double density, double scale, bool logistic,
                              uint32_t rank)
{
    design *d = &shared;
    const double lambda = .02 * (logistic ? 1 : scale);
    const strads_fm_options o = {.loss = logistic ? "logistic" : "squared",
                                 .rank = rank,
                                 .sweeps = 20000,
                                 .lambda = lambda,
                                 .lambda_factors = 3 * lambda};
    make_design(d, seed, rows, cols, density, scale, logistic);
    strads_result *r = train(d, &o, 1 + (uint32_t)(seed % 3), 1e-15, NULL);
    const uint32_t width = model_of(d, r, model);
    const double at = objective(d, &o, width, model);
    cr_expect_eq(width, rank + 1);
    cr_expect_float_eq(strads_result_progress(r)->objective, at, 1e-9 * at);
    double largest = 0;
    for (uint32_t k = 0; k <= d->cols * width; k++) {
        const double h = 1e-5 * (1 + fabs(model[k])), from = model[k];
        model[k] = from + h;
        const double up = objective(d, &o, width, model);
        model[k] = from - h;
        const double down = objective(d, &o, width, model);
        model[k] = from;
        cr_expect_float_eq((up - down) / (2 * h), 0, 2e-5 * (1 + at) * scale,
                           "number %u, %s, %u rows, %u columns, density %g, "
                           "scale %g",
                           k, o.loss, rows, cols, density, scale);
        largest = fmax(largest, fabs(from));
    }
    cr_expect_gt(largest, .01, "nothing was learnt");
    strads_result_free(r);
}

Test(fm, the_slope_of_the_objective_is_0_at_its_end)
{
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int logistic = 0; logistic < 2; logistic++) {
            expect_stationary(seed, 60, 7, 1, 1, logistic, 2);
            expect_stationary(seed, 90, 12, .2, 1, logistic, 3);
            expect_stationary(seed, 20, 15, .5, .3, logistic, 1);
            expect_stationary(seed, 80, 6, .6, 3, logistic, 5);
        }
}

Test(fm, no_sweep_raises_the_objective)
{
    static course c;
    for (uint64_t seed = 10; seed < 16; seed++) {
        const bool logistic = seed % 2;
        const strads_fm_options o = {.loss = logistic ? "logistic" : NULL,
                                     .rank = 4,
                                     .lambda = 1e-4,
                                     .sweeps = 60};
        make_design(&shared, seed, 70, 20, .3, 1, logistic);
        c.n = 0;
        strads_result_free(train(&shared, &o, 3, 1e-15, &c));
        cr_expect_gt(c.n, 20);
        cr_expect_lt(c.objective[c.n - 1], .5 * c.objective[0]);
        for (uint32_t k = 1; k < c.n; k++)
            cr_expect_leq(c.objective[k], c.objective[k - 1] * (1 + 1e-12),
                          "sweep %u", k);
    }
}

Test(fm, planted_factors_are_recovered_from_ratings)
{
    static double planted[(COLS_MAX + 1) * 3 + 1];
    static design fresh;
    for (uint64_t seed = 0; seed < 3; seed++) {
        const strads_fm_options o = {.rank = 2, .lambda = 1e-7, .sweeps = 2000};
        double errors = 0, squares = 0, mean = 0;
        make_ratings(&shared, 20, 16, 4, 320, seed, 3, planted);
        strads_result *r = train(&shared, &o, 2, 1e-9, NULL);
        cr_assert_eq(model_of(&shared, r, model), 3);
        strads_result_free(r);
        /* Other pairs of the same planted model. */
        make_ratings(&fresh, 20, 16, 4, 1500, seed, 3, planted);
        for (uint32_t i = 0; i < fresh.rows; i++)
            mean += fresh.label[i] / fresh.rows;
        for (uint32_t i = 320; i < fresh.rows; i++) {
            const double error = margin(&fresh, 3, model, i) - fresh.label[i];
            errors += error * error;
            squares += (fresh.label[i] - mean) * (fresh.label[i] - mean);
        }
        cr_expect_lt(errors, .01 * squares, "seed %u: %g of %g", (unsigned)seed,
                     errors, squares);
    }
}

/* ---- rank 0 ------------------------------------------------------------ */

static void expect_glm(uint64_t seed, double lambda, bool logistic)
{
    design *d = &shared;
    const strads_fm_options o = {.loss = logistic ? "logistic" : "squared",
                                 .rank = STRADS_FM_LINEAR,
                                 .sweeps = 100000,
                                 .lambda = lambda};
    const strads_glm_options g = {.loss = o.loss,
                                  .penalty = "ridge",
                                  .lambda = lambda,
                                  .intercept = true};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .partitions = 2,
                                          .tolerance = 1e-12};
    strads_result *linear;
    uint64_t n;
    uint32_t width;
    make_design(d, seed, 120, 10, .7, 1, logistic);
    strads_result *r = train(d, &o, 3, 1e-16, NULL);
    cr_assert_eq(model_of(d, r, model), 1);
    strads_data *data = data_of(d, &strads_program_glm, &g, 2);
    expect_ok(strads_run(&strads_program_glm, &g, data, &engine, &linear));
    const double *w = strads_result_values(linear, &n, &width);
    for (uint32_t j = 0; j < d->cols; j++)
        cr_expect_float_eq(model[j], w[j], 1e-6, "column %u, %s", j, o.loss);
    cr_expect_float_eq(strads_result_progress(r)->objective,
                       strads_result_progress(linear)->objective, 1e-8);
    strads_data_free(data);
    strads_result_free(linear);
    strads_result_free(r);
}

Test(fm, rank_0_is_the_ridge_regression_of_glm)
{
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int logistic = 0; logistic < 2; logistic++) {
            expect_glm(seed, .003, logistic);
            expect_glm(seed, .3, logistic);
        }
}

/* ---- the search --------------------------------------------------------- */

static strads_fm_tuning search_options(const strads_fm_options *o,
                                       uint32_t partitions)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .seed = SEED,
                                          .tolerance = 1e-5};
    strads_fm_tuning t;
    strads_data *data = data_of(&shared, &strads_program_fm, o, partitions);
    expect_ok(strads_fm_tune(o, data, &engine, &t));
    strads_data_free(data);
    return t;
}

/* Mean squared error of the rows from `first` on. */
static double error_of(const design *fresh, uint32_t first,
                       const strads_fm_options *o)
{
    double errors = 0;
    strads_result *r = train(&shared, o, 2, 1e-5, NULL);
    const uint32_t width = model_of(&shared, r, model);
    strads_result_free(r);
    for (uint32_t i = first; i < fresh->rows; i++) {
        const double error = margin(fresh, width, model, i) - fresh->label[i];
        errors += error * error / (fresh->rows - first);
    }
    return errors;
}

Test(fm, the_search_is_near_the_best_of_a_grid_on_unseen_rows)
{
    static design fresh;
    for (uint64_t seed = 0; seed < 4; seed++) {
        const bool pairs = seed % 2;
        const strads_fm_options none = {.sweeps = 60};
        double best = INFINITY;
        make_design(&fresh, seed, 1500, 10, .6, 1, false);
        for (uint32_t i = 0; i < fresh.rows; i++) {
            const double *x = fresh.x + (size_t)i * fresh.cols;
            fresh.label[i] = x[0] - x[1] + (pairs ? 2 * x[2] * x[3] : 0) +
                             deviate(seed, 8, i);
        }
        shared = fresh;
        shared.rows = 300;
        const strads_fm_tuning t = search_options(&none, 1);
        cr_assert_gt(t.trials, 4);
        cr_expect_eq(t.rows + t.held, 300);
        for (uint32_t rank = 0; rank <= 8; rank += 8)
            for (int k = 0; k < 7; k++) {
                const strads_fm_options o = {.rank =
                                                 rank ? rank : STRADS_FM_LINEAR,
                                             .sweeps = 60,
                                             .lambda = ldexp(1e-4, 2 * k)};
                best = fmin(best, error_of(&fresh, 300, &o));
            }
        const double chosen = error_of(&fresh, 300, &t.options);
        cr_expect_lt(chosen, 1.1 * best, "%g of %g", chosen, best);
        const strads_fm_tuning again = search_options(&none, 3);
        cr_expect_eq(again.options.lambda, t.options.lambda);
        cr_expect_eq(again.options.rank, t.options.rank);
    }
}

Test(fm, the_search_keeps_what_is_given)
{
    make_design(&shared, 51, 200, 8, .5, 1, true);
    const strads_fm_options rank = {.loss = "logistic",
                                    .rank = 3,
                                    .sweeps = 20,
                                    .tune = 4};
    strads_fm_tuning t = search_options(&rank, 2);
    cr_expect_eq(t.trials, 4);
    cr_expect_eq(t.options.rank, 3);
    cr_expect_gt(t.options.lambda, 0);
    const strads_fm_options lambda = {.loss = "logistic",
                                      .lambda = .01,
                                      .sweeps = 20};
    t = search_options(&lambda, 2);
    cr_expect_gt(t.trials, 1);
    cr_expect_eq(t.options.lambda, .01);
    const strads_fm_options none = {.loss = "logistic",
                                    .lambda = -0.,
                                    .sweeps = 20,
                                    .tune = 2};
    t = search_options(&none, 2);
    cr_expect(t.options.lambda == 0 && signbit(t.options.lambda));
    cr_expect_eq(t.trial[0].lambda, 0);
    const strads_fm_options both = {.rank = 2, .lambda = -0.};
    cr_expect_eq(search_options(&both, 2).trials, 0);
    const strads_fm_options off = {.tune = STRADS_FM_NO_SEARCH};
    cr_expect_eq(search_options(&off, 2).trials, 0);
    shared.rows = 99;
    cr_expect_eq(search_options(&rank, 2).trials, 0);
}

Test(fm, the_search_does_without_a_sample_that_lacks_a_class)
{
    const strads_fm_options o = {.loss = "logistic", .sweeps = 2, .tune = 1};
    uint32_t searched = 0;
    make_design(&shared, 52, 100, 4, .5, 1, true);
    for (uint32_t k = 0; k < shared.rows; k++) {
        for (uint32_t i = 0; i < shared.rows; i++)
            shared.label[i] = i == k ? 1 : -1;
        searched += search_options(&o, 1).trials;
    }
    cr_expect_gt(searched, 0);
    cr_expect_lt(searched, shared.rows);
}

/* ---- bits -------------------------------------------------------------- */

static void write_file(const design *d, const char *path)
{
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    for (uint32_t i = 0; i < d->rows; i++) {
        (void)fprintf(out, "%.17g", d->label[i]);
        for (uint32_t j = 0; j < d->cols; j++)
            if (d->x[(size_t)i * d->cols + j] != 0)
                (void)fprintf(out, " %u:%.17g", j + 1,
                              d->x[(size_t)i * d->cols + j]);
        (void)fputc('\n', out);
    }
    cr_assert_eq(fclose(out), 0);
}

static strads_result *train_file(const char *path, const strads_fm_options *o,
                                 uint32_t workers, bool simulated)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = workers,
                                          .partitions = 4,
                                          .seed = SEED};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = workers,
                                    .latency = 1e-5,
                                    .bandwidth = 1e9,
                                    .update_cost = 1e-5,
                                    .jitter = 2};
    strads_data_options options = {.size = sizeof options};
    strads_data *data;
    strads_result *result;
    expect_ok(strads_run_cut(&strads_program_fm, o, &engine, &options));
    expect_ok(strads_data_read(path, &options, &data));
    expect_ok(simulated
                  ? strads_simulate(&strads_program_fm, o, data, &engine, &sim,
                                    &result, NULL)
                  : strads_run(&strads_program_fm, o, data, &engine, &result));
    strads_data_free(data);
    return result;
}

static void expect_same(const strads_result *a, const strads_result *b)
{
    cr_expect(toy_same_values(a, b), "other bits");
    cr_expect_eq(strads_fm_intercepts(strads_result_state(a))[0],
                 strads_fm_intercepts(strads_result_state(b))[0]);
}

Test(fm, any_workers_and_nodes_give_the_same_bits)
{
    char path[] = "/tmp/strads-fm-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    for (int logistic = 0; logistic < 2; logistic++) {
        const strads_fm_options o = {.loss = logistic ? "logistic" : "squared",
                                     .rank = 3,
                                     .sweeps = 9};
        make_design(&shared, 21, 90, 14, .3, 1, logistic);
        write_file(&shared, path);
        strads_result *alone = train_file(path, &o, 1, false);
        for (uint32_t workers = 2; workers <= 4; workers += 2)
            for (int simulated = 0; simulated < 2; simulated++) {
                strads_result *other = train_file(path, &o, workers, simulated);
                expect_same(alone, other);
                strads_result_free(other);
            }
        team t = {.program = &strads_program_fm,
                  .config = &o,
                  .options = {.partitions = 4, .seed = SEED},
                  .nodes = 2,
                  .workers = {1, 2},
                  .path = path};
        strads_result *spread = expect_team(&t);
        expect_same(alone, spread);
        strads_result_free(spread);
        strads_result_free(alone);
    }
    cr_expect_eq(unlink(path), 0);
}

Test(fm, the_program_keeps_the_rules_of_programs)
{
    char path[] = "/tmp/strads-fm-XXXXXX";
    const strads_fm_options o = {.rank = 2, .sweeps = 3};
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    make_design(&shared, 22, 40, 9, .4, 1, false);
    write_file(&shared, path);
    expect_ok(strads_program_check(&strads_program_fm, &o, path, NULL));
    cr_expect_eq(unlink(path), 0);
}

/* ---- predictions and refusals ------------------------------------------ */

Test(fm, predictions_are_the_sums_over_all_pairs)
{
    const strads_fm_options o = {.rank = 4, .sweeps = 5};
    double *out = calloc(ROWS_MAX, sizeof *out);
    strads_model *m;
    make_design(&shared, 31, 50, 13, .4, 1, false);
    strads_result *r = train(&shared, &o, 2, 0, NULL);
    const uint32_t width = model_of(&shared, r, model);
    expect_ok(strads_model_from_result(r, "fm", NULL, SEED, &m));
    m->intercepts = strads_fm_intercepts(strads_result_state(r));
    cr_expect_eq(m->columns, shared.cols);
    strads_data_options options = {.size = sizeof options,
                                   .layout = STRADS_LAYOUT_ROWS};
    char path[] = "/tmp/strads-fm-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    write_file(&shared, path);
    strads_data *data;
    expect_ok(strads_data_read(path, &options, &data));
    expect_ok(strads_fm_predict(m, &strads_data_share(data, 0)->by_row, out));
    for (uint32_t i = 0; i < shared.rows; i++)
        cr_expect_float_eq(out[i], margin(&shared, width, model, i), 1e-10);
    strads_model other = *m;
    other.program = "lasso";
    expect_error(strads_fm_predict(&other, &strads_data_share(data, 0)->by_row,
                                   out),
                 STRADS_EFORMAT, "program lasso");
    m->intercepts = NULL;
    strads_data_free(data);
    strads_model_free(m);
    strads_result_free(r);
    free(out);
    cr_expect_eq(unlink(path), 0);
}

static void expect_refusal(const strads_fm_options *o, strads_err err,
                           const char *what)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .partitions = 2};
    const strads_fm_options fine = {.rank = 2};
    strads_result *result = NULL;
    strads_data *data = data_of(&shared, &strads_program_fm, &fine, 2);
    expect_error(strads_run(&strads_program_fm, o, data, &engine, &result), err,
                 what);
    strads_data_free(data);
}

Test(fm, wrong_options_and_labels_are_refused)
{
    make_design(&shared, 41, 30, 5, .5, 1, false);
    expect_refusal(&(strads_fm_options){.loss = "hinge"}, STRADS_EINVAL,
                   "--loss hinge");
    expect_refusal(&(strads_fm_options){.lambda = -1}, STRADS_EINVAL, "lambda");
    expect_refusal(&(strads_fm_options){.rank = 257}, STRADS_EINVAL, "--rank");
    expect_refusal(&(strads_fm_options){.classes = "1,2"}, STRADS_EINVAL,
                   "--classes 1,2");
    for (uint32_t i = 0; i < shared.rows; i++)
        shared.label[i] = i % 3;
    expect_refusal(&(strads_fm_options){.loss = "logistic"}, STRADS_EINVAL,
                   "3 classes");
    for (uint32_t i = 0; i < shared.rows; i++)
        shared.label[i] = 1;
    expect_refusal(&(strads_fm_options){.loss = "logistic"}, STRADS_EFORMAT,
                   "1");
}
