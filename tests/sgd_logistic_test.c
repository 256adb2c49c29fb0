/* sgd-logistic against independent oracles: Newton's method for a small
 * problem, and a duality gap on speeches. */
#include <criterion/criterion.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/sgd_logistic.h"
#include "strads/strads.h"
#include "strads/svm.h"
#include "tests/expect.h"

/* Six columns with entries, in six different rows of the table of weights. */
enum { ROWS = 240, USED = 6, APART = 1100, COLS = APART * USED, DRAW = 77 };

static const double LOW = 3, HIGH = 7;

typedef struct design {
    double x[ROWS][USED]; /* about a third are nonzero */
    double y[ROWS];       /* 1 or -1 */
} design;

static double draw(uint64_t what, uint64_t k)
{
    return strads_random_unit(1, DRAW, what, k);
}

static void make_design(design *d)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        double margin = 0.3;
        for (uint32_t j = 0; j < USED; j++) {
            const uint32_t k = i * USED + j;
            d->x[i][j] = draw(0, k) < 0.35 ? 4 * draw(1, k) - 2 : 0;
            margin += d->x[i][j] * (j % 2 ? -1.5 : 1);
        }
        d->y[i] = draw(2, i) < 1 / (1 + exp(-margin)) ? 1 : -1;
    }
}

static strads_data *data_of(const design *d, strads_data_options options)
{
    uint64_t *start = calloc(COLS + 1, sizeof *start), n = 0;
    uint32_t index[ROWS * USED];
    double value[ROWS * USED], label[ROWS];
    for (uint32_t c = 0; c < COLS; c++) {
        start[c] = n;
        for (uint32_t i = 0; c % APART == 0 && i < ROWS; i++)
            if (d->x[i][c / APART] != 0) {
                index[n] = i;
                value[n++] = d->x[i][c / APART];
            }
    }
    start[COLS] = n;
    for (uint32_t i = 0; i < ROWS; i++)
        label[i] = d->y[i] > 0 ? HIGH : LOW;
    const strads_columns columns = {ROWS, COLS, start, index, value, label};
    strads_data *data;
    options.size = sizeof options;
    options.layout = STRADS_LAYOUT_ROWS;
    expect_ok(strads_data_from_columns(&columns, &options, &data));
    free(start);
    return data;
}

/* ---- the oracle -------------------------------------------------------- */

static double loss(double margin)
{
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

static double objective(const design *d, const double *w, double b,
                        double lambda)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        double z = b;
        for (uint32_t j = 0; j < USED; j++)
            z += d->x[i][j] * w[j];
        sum += loss(d->y[i] * z);
    }
    for (uint32_t j = 0; j < USED; j++)
        squares += w[j] * w[j];
    return sum / ROWS + lambda / 2 * squares;
}

/* Newton's method; the intercept is the last of the unknowns. */
static double minimum(const design *d, double lambda, bool intercept)
{
    const size_t n = USED + intercept;
    double v[USED + 1] = {0};
    gsl_matrix *h = gsl_matrix_calloc(n, n);
    gsl_vector *g = gsl_vector_calloc(n);
    for (int turn = 0; turn < 50; turn++) {
        gsl_matrix_set_zero(h);
        for (size_t j = 0; j < n; j++) {
            gsl_vector_set(g, j, j < USED ? lambda * v[j] : 0);
            gsl_matrix_set(h, j, j, j < USED ? lambda : 0);
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            double x[USED + 1], z = 0;
            memcpy(x, d->x[i], sizeof d->x[i]);
            x[USED] = 1;
            for (size_t j = 0; j < n; j++)
                z += x[j] * v[j];
            const double p = 1 / (1 + exp(d->y[i] * z));
            for (size_t j = 0; j < n; j++) {
                *gsl_vector_ptr(g, j) -= p * d->y[i] * x[j] / ROWS;
                for (size_t k = 0; k < n; k++)
                    *gsl_matrix_ptr(h, j, k) +=
                        p * (1 - p) * x[j] * x[k] / ROWS;
            }
        }
        gsl_linalg_cholesky_decomp1(h);
        gsl_linalg_cholesky_svx(h, g);
        for (size_t j = 0; j < n; j++)
            v[j] -= gsl_vector_get(g, j);
    }
    gsl_matrix_free(h);
    gsl_vector_free(g);
    return objective(d, v, v[USED], lambda);
}

/* ---- runs -------------------------------------------------------------- */

static strads_err train(const strads_data *data, uint32_t partitions,
                        const strads_sgd_logistic_options *given,
                        strads_result **out)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = partitions,
                                           .seed = 4};
    return strads_run(&strads_program_sgd_logistic, given, data, &options, out);
}

/* Computes the model's objective, which must match the reported one. */
static double weigh(const design *d, const strads_result *result, double lambda)
{
    uint64_t parameters;
    uint32_t width;
    const double *all = strads_result_values(result, &parameters, &width);
    double w[USED];
    cr_assert_eq(parameters, COLS);
    cr_assert_eq(width, 1);
    for (uint32_t c = 0; c < COLS; c++)
        if (c % APART == 0)
            w[c / APART] = all[c];
        else
            cr_assert_eq(all[c], 0, "column %u has no entries", c);
    const double b = strads_sgd_logistic_intercept(strads_result_state(result));
    const double weighed = objective(d, w, b, lambda);
    cr_expect_float_eq(weighed, strads_result_progress(result)->objective,
                       1e-12);
    return weighed;
}

static double trained(const design *d, uint32_t partitions,
                      const strads_sgd_logistic_options *options,
                      strads_scalar values)
{
    strads_data *data =
        data_of(d, (strads_data_options){.partitions = partitions,
                                         .values = values});
    strads_result *result = NULL;
    expect_ok(train(data, partitions, options, &result));
    const double found = values == STRADS_F64
                             ? weigh(d, result, options->lambda)
                             : strads_result_progress(result)->objective;
    strads_result_free(result);
    strads_data_free(data);
    return found;
}

static void expect_refused(const strads_data *data,
                           const strads_sgd_logistic_options *options,
                           strads_err err, const char *words)
{
    strads_result *result = NULL;
    expect_error(train(data, 2, options, &result), err, words);
    cr_expect_null(result);
}

/* ---- tests ------------------------------------------------------------- */

Test(sgd_logistic, it_comes_to_newtons_minimum_at_any_finite_staleness)
{
    static const struct {
        uint32_t partitions;
        const char *staleness;
    } way[] = {{1, "1"}, {3, "0"}, {3, "1"}, {3, "5"}};
    design d;
    make_design(&d);
    for (int intercept = 0; intercept < 2; intercept++) {
        const double best = minimum(&d, 0.05, intercept);
        for (uint32_t k = 0; k < sizeof way / sizeof way[0]; k++) {
            const strads_sgd_logistic_options options = {
                .lambda = 0.05,
                .intercept = intercept,
                .epochs = 100,
                .batch = 8,
                .staleness = way[k].staleness,
                .step = "decay",
                .rate = 0.2,
            };
            const double found =
                trained(&d, way[k].partitions, &options, STRADS_F64);
            cr_expect_geq(found, best - 1e-12);
            cr_expect_leq(found, best + 4e-3 * best,
                          "staleness %s, %u partitions: %.6f, best is %.6f",
                          way[k].staleness, way[k].partitions, found, best);
        }
    }
}

/* Workers do not wait for each other: one may finish before another starts. */
Test(sgd_logistic, at_infinite_staleness_it_learns_but_promises_nothing)
{
    design d;
    make_design(&d);
    const strads_sgd_logistic_options options = {.lambda = 0.05,
                                                 .staleness = "infinite",
                                                 .step = "decay",
                                                 .rate = 0.2};
    const double found = trained(&d, 3, &options, STRADS_F64);
    cr_expect_geq(found, minimum(&d, 0.05, false) - 1e-12);
    cr_expect_lt(found, log(2));
}

Test(sgd_logistic, without_any_order_it_comes_to_newtons_minimum_too)
{
    design d;
    make_design(&d);
    for (int intercept = 0; intercept < 2; intercept++) {
        const double best = minimum(&d, 0.05, intercept);
        for (uint32_t partitions = 1; partitions < 4; partitions++) {
            const strads_sgd_logistic_options options = {
                .lambda = 0.05,
                .intercept = intercept,
                .epochs = 300,
                .batch = 4,
                .staleness = "hogwild",
                .step = "decay",
                .rate = 0.2,
            };
            const double found = trained(&d, partitions, &options, STRADS_F64);
            cr_expect_geq(found, best - 1e-12);
            cr_expect_leq(found, best + 4e-3 * best,
                          "%u partitions: %.6f, best is %.6f", partitions,
                          found, best);
        }
    }
}

Test(sgd_logistic, steps_of_the_theorem_come_near_it_too)
{
    design d;
    make_design(&d);
    const double best = minimum(&d, 0.05, true);
    const strads_sgd_logistic_options options = {.lambda = 0.05,
                                                 .intercept = true,
                                                 .epochs = 400,
                                                 .batch = 8};
    const double found = trained(&d, 2, &options, STRADS_F64);
    cr_expect_leq(found, best * 1.05, "%.6f, best is %.6f", found, best);
}

Test(sgd_logistic, values_of_four_bytes_give_nearly_the_same)
{
    design d;
    make_design(&d);
    const strads_sgd_logistic_options options = {.lambda = 0.01,
                                                 .staleness = "0",
                                                 .intercept = true};
    cr_expect_float_eq(trained(&d, 2, &options, STRADS_F32),
                       trained(&d, 2, &options, STRADS_F64), 1e-5);
}

Test(sgd_logistic, at_staleness_0_the_same_seed_gives_the_same_bits)
{
    design d;
    make_design(&d);
    const strads_sgd_logistic_options options = {.lambda = 0.01,
                                                 .epochs = 30,
                                                 .batch = 5,
                                                 .intercept = true,
                                                 .staleness = "0"};
    strads_data *data = data_of(&d, (strads_data_options){.partitions = 4});
    double first[COLS], b = 0;
    for (int turn = 0; turn < 6; turn++) {
        strads_result *result = NULL;
        cr_assert_eq(train(data, 4, &options, &result), STRADS_OK);
        const double *w = values_of(result);
        const double now =
            strads_sgd_logistic_intercept(strads_result_state(result));
        if (turn == 0)
            memcpy(first, w, sizeof first);
        b = turn == 0 ? now : b;
        cr_expect_eq(memcmp(first, w, sizeof first), 0);
        cr_expect_eq(now, b);
        strads_result_free(result);
    }
    strads_data_free(data);
}

Test(sgd_logistic, a_start_is_where_it_starts)
{
    design d;
    make_design(&d);
    strads_data *data = data_of(&d, (strads_data_options){.partitions = 3});
    const uint32_t at[] = {0, 1, APART};
    const double value[] = {0.5, 9, -0.25};
    const double b = 0.75;
    const strads_sgd_logistic_options options = {.epochs = 1,
                                                 .intercept = true,
                                                 .start_intercept = &b,
                                                 .step = "constant",
                                                 .rate = 1e-9};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .partitions = 3,
                                          .n_start = 3,
                                          .start_param = at,
                                          .start_value = value};
    strads_result *result = NULL;
    expect_ok(strads_run(&strads_program_sgd_logistic, &options, data, &engine,
                         &result));
    const double *w = values_of(result);
    cr_expect_float_eq(w[0], 0.5, 1e-6);
    cr_expect_float_eq(w[APART], -0.25, 1e-6);
    cr_expect_float_eq(strads_sgd_logistic_intercept(
                           strads_result_state(result)),
                       b, 1e-6);
    strads_result_free(result);
    strads_data_free(data);
}

Test(sgd_logistic, the_result_has_the_labels_and_the_theorems_constants)
{
    design d;
    make_design(&d);
    strads_data *data = data_of(&d, (strads_data_options){.partitions = 2});
    const strads_sgd_logistic_options options = {.lambda = 0.02, .epochs = 1};
    strads_result *result = NULL;
    cr_assert_eq(train(data, 2, &options, &result), STRADS_OK);
    const strads_sgd_logistic_options *o =
        strads_sgd_logistic_resolved(strads_result_state(result));
    cr_expect_str_eq(o->classes, "3,7");
    cr_expect_float_eq(o->diameter, sqrt(log(2) / 0.02), 1e-12);
    cr_expect_gt(o->lipschitz, 0);
    strads_result_free(result);
    strads_data_free(data);
}

Test(sgd_logistic, labels_and_options_that_make_no_sense_are_refused)
{
    design d;
    make_design(&d);
    const strads_data_options cut = {.partitions = 2};
    strads_data *data = data_of(&d, cut);
    expect_refused(data, &(strads_sgd_logistic_options){.staleness = "two"},
                   STRADS_EINVAL, "--staleness two");
    expect_refused(data,
                   &(strads_sgd_logistic_options){.staleness = "infinite"},
                   STRADS_EINVAL, "theorem");
    expect_refused(data, &(strads_sgd_logistic_options){.step = "long"},
                   STRADS_EINVAL, "--step long");
    expect_refused(data, &(strads_sgd_logistic_options){.lambda = NAN},
                   STRADS_EINVAL, "lambda");
    expect_refused(data, &(strads_sgd_logistic_options){.classes = "3,5"},
                   STRADS_EFORMAT, "label 7");
    expect_refused(data, &(strads_sgd_logistic_options){.classes = "3,7,9"},
                   STRADS_EINVAL, "expected two labels");
    expect_refused(data,
                   &(strads_sgd_logistic_options){.step = "constant",
                                                  .rate = 1e300,
                                                  .epochs = 50},
                   STRADS_EPROGRAM, "overflow");
    strads_data_free(data);
    for (uint32_t i = 0; i < ROWS; i++)
        d.y[i] = 1;
    data = data_of(&d, cut);
    expect_refused(data, NULL, STRADS_EFORMAT, "all rows have the label 7");
    strads_data_free(data);
}

/* ---- speeches ---------------------------------------------------------- */

/* The dual objective at a_i = 1 / (1 + exp(m_i)): a lower bound. */
static double dual(const strads_share *share, const double *w, double lambda)
{
    const strads_sparse *x = &share->by_row;
    const double n = (double)x->lines;
    double *v = calloc(share->cols.end, sizeof *v), entropy = 0, squares = 0;
    for (uint64_t i = 0; i < x->lines; i++) {
        double z = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            z += x->f64[e] * w[x->index[e]];
        const double a = 1 / (1 + exp(share->label[i] * z));
        entropy -= a * log(a) + (1 - a) * log1p(-a);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            v[x->index[e]] += a * share->label[i] * x->f64[e] / (lambda * n);
    }
    for (uint64_t j = 0; j < share->cols.end; j++)
        squares += v[j] * v[j];
    free(v);
    return entropy / n - lambda / 2 * squares;
}

Test(sgd_logistic, on_speeches_the_duality_gap_is_small)
{
    const char *path = STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm";
    strads_data_options cut = {.size = sizeof cut,
                               .partitions = 3,
                               .layout = STRADS_LAYOUT_ROWS};
    const strads_sgd_logistic_options options = {.lambda = 1e-3,
                                                 .epochs = 200,
                                                 .step = "decay",
                                                 .rate = 5};
    strads_data *data, *whole;
    strads_result *result = NULL;
    cr_assert_eq(strads_data_read(path, &cut, &data), STRADS_OK);
    cut.partitions = 1;
    cr_assert_eq(strads_data_read(path, &cut, &whole), STRADS_OK);
    cr_assert_eq(train(data, 3, &options, &result), STRADS_OK);
    const double primal = strads_result_progress(result)->objective;
    const double below =
        dual(strads_data_share(whole, 0), values_of(result), 1e-3);
    cr_expect_geq(primal, below - 1e-12);
    cr_expect_leq(primal - below, 0.01 * primal, "%.6f and %.6f", primal,
                  below);
    strads_result_free(result);
    strads_data_free(whole);
    strads_data_free(data);
}

/* 1/2 |w|^2 + C sum hinge, certified by its duality gap, is n C times our
 * objective. */
Test(sgd_logistic, a_hinge_comes_near_the_certified_optimum_of_the_dual_svm)
{
    static const char *const staleness[] = {"1", "hogwild"};
    const char *path = STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm";
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 2,
                                     .layout = STRADS_LAYOUT_ROWS};
    const double lambda = 1e-3;
    strads_data *data;
    strads_result *result = NULL;
    cr_assert_eq(strads_data_read(path, &cut, &data), STRADS_OK);
    const double rows = (double)strads_data_rows(data);
    const strads_svm_options svm = {.loss = "hinge", .c = 1 / (lambda * rows)};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .partitions = 2,
                                          .tolerance = 1e-8};
    expect_ok(strads_run(&strads_program_svm, &svm, data, &engine, &result));
    const double best = strads_result_progress(result)->objective * lambda;
    strads_result_free(result);
    for (size_t k = 0; k < 2; k++) {
        const strads_sgd_logistic_options options = {.lambda = lambda,
                                                     .loss = "hinge",
                                                     .epochs = 200,
                                                     .staleness = staleness[k],
                                                     .step = "decay",
                                                     .rate = 5};
        expect_ok(train(data, 2, &options, &result));
        const double found = strads_result_progress(result)->objective;
        cr_expect_geq(found, best * (1 - 1e-6));
        cr_expect_leq(found, best * 1.03, "staleness %s: %.6f, best is %.6f",
                      staleness[k], found, best);
        strads_result_free(result);
    }
    strads_data_free(data);
}
