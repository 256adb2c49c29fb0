/* Several classes at once: the minimum of the softmax loss, by its
 * optimality conditions, computed independently from the objective, and by
 * known properties. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/toy_data.h"

enum { ROWS = 90, COLS = 24, CLASSES = LOGISTIC_DESIGN_CLASSES };

static const double *const label = logistic_design_label;

/* The first objective that a run reports; NAN before. */
static void note_first(void *first, const strads_progress *progress)
{
    if (isnan(*(double *)first))
        *(double *)first = progress->objective;
}

/* Trains from `start` [COLS x CLASSES], or from 0 (NULL), and returns the
 * coefficients [cols + intercept] x CLASSES. *first is the first objective. */
static strads_result *train_noting(const lasso_design *d,
                                   const strads_program *program,
                                   const void *options, uint32_t workers,
                                   double tolerance, const double *start,
                                   double *first)
{
    uint32_t param[COLS];
    const uint32_t cols = d->cols < COLS ? (uint32_t)d->cols : COLS;
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = workers,
                                          .partitions = 4,
                                          .deterministic = true,
                                          .tolerance = tolerance,
                                          .max_rounds = 400000,
                                          .progress = note_first,
                                          .progress_arg = first,
                                          .n_start = start ? cols : 0,
                                          .start_param = param,
                                          .start_value = start};
    strads_data *data = NULL;
    strads_result *result = NULL;

    *first = NAN;
    for (uint32_t j = 0; j < COLS; j++)
        param[j] = j;
    cr_assert_eq(lasso_design_data(d, 4, &data), STRADS_OK);
    expect_ok(strads_run(program, options, data, &engine, &result));
    strads_data_free(data);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED, "gap %g",
                 strads_result_progress(result)->gap);
    return result;
}

static strads_result *train_from(const lasso_design *d,
                                 const strads_logistic_options *options,
                                 uint32_t workers, double tolerance,
                                 const double *start)
{
    double first;

    return train_noting(d, &strads_program_logistic, options, workers,
                        tolerance, start, &first);
}

static strads_result *train(const lasso_design *d,
                            const strads_logistic_options *options,
                            uint32_t workers, double tolerance)
{
    return train_from(d, options, workers, tolerance, NULL);
}

/* ---- the objective, computed independently ------------------------------- */

typedef struct softmax_fit {
    const double *w; /* [(cols + intercept) x CLASSES] */
    double b[CLASSES], scale[64], lambda, sum; /* sum of weights */
    double weight[CLASSES];                    /* of the rows of each class */
} softmax_fit;

static uint32_t class_of(double y)
{
    uint32_t k = 0;

    while (label[k] != y)
        k++;
    return k;
}

static softmax_fit read_fit(const lasso_design *d, const strads_result *result,
                            const strads_logistic_options *o,
                            const double *weight)
{
    const void *state = strads_result_state(result);
    uint64_t parameters;
    uint32_t width;
    softmax_fit f = {.w = strads_result_values(result, &parameters, &width),
                     .lambda = strads_glm_resolved(state)->lambda};

    cr_assert_eq(width, CLASSES);
    memcpy(f.b, strads_glm_intercepts(state), sizeof(f.b));
    for (uint32_t k = 0; k < CLASSES; k++)
        f.weight[k] = weight ? weight[k] : 1;
    for (uint64_t i = 0; i < d->rows; i++)
        f.sum += f.weight[class_of(d->y[i])];
    for (uint64_t j = 0; j < d->cols; j++) {
        double mean = 0, squares = 0;
        for (uint64_t i = 0; i < d->rows; i++)
            mean += f.weight[class_of(d->y[i])] * lasso_design_col(d, j)[i];
        mean = o->intercept ? mean / f.sum : 0;
        for (uint64_t i = 0; i < d->rows; i++)
            squares += f.weight[class_of(d->y[i])] *
                       pow(lasso_design_col(d, j)[i] - mean, 2);
        f.scale[j] = o->standardize ? sqrt(squares / f.sum) : 1;
    }
    return f;
}

static void margins(const lasso_design *d, const softmax_fit *f, uint64_t i,
                    double *z)
{
    memcpy(z, f->b, sizeof(f->b));
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint32_t k = 0; k < CLASSES; k++)
            z[k] += lasso_design_col(d, j)[i] * f->w[j * CLASSES + k];
}

static double objective(const lasso_design *d, const softmax_fit *f,
                        const strads_logistic_options *o)
{
    const double l1 = f->lambda * o->l1_ratio, l2 = f->lambda - l1;
    double value = 0, z[CLASSES];

    for (uint64_t i = 0; i < d->rows; i++) {
        const uint32_t own = class_of(d->y[i]);
        double sum = 0;
        margins(d, f, i, z);
        for (uint32_t k = 0; k < CLASSES; k++)
            sum += exp(z[k]);
        value += f->weight[own] * (log(sum) - z[own]) / f->sum;
    }
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint32_t k = 0; k < CLASSES; k++) {
            const double w = f->scale[j] * f->w[j * CLASSES + k];
            value += l1 * fabs(w) + l2 / 2 * w * w;
        }
    return value;
}

/* X'(Y - P) / W [cols] and its sums, which are the gradient in b. */
typedef struct slopes_of {
    double column[64][CLASSES], level[CLASSES];
} slopes_of;

static slopes_of slopes(const lasso_design *d, const softmax_fit *f)
{
    slopes_of s = {0};

    for (uint64_t i = 0; i < d->rows; i++) {
        const uint32_t own = class_of(d->y[i]);
        double z[CLASSES], sum = 0;
        margins(d, f, i, z);
        for (uint32_t k = 0; k < CLASSES; k++)
            sum += exp(z[k]);
        for (uint32_t k = 0; k < CLASSES; k++) {
            const double g =
                f->weight[own] * ((k == own) - exp(z[k]) / sum) / f->sum;
            s.level[k] += g;
            for (uint64_t j = 0; j < d->cols; j++)
                s.column[j][k] += g * lasso_design_col(d, j)[i];
        }
    }
    return s;
}

/* The violation of the optimality conditions, in units of lambda. */
static double violation(const lasso_design *d, const softmax_fit *f,
                        const strads_logistic_options *o)
{
    const double l1 = f->lambda * o->l1_ratio, l2 = f->lambda - l1;
    const slopes_of s = slopes(d, f);
    double worst = 0;

    for (uint32_t k = 0; k < CLASSES; k++) {
        worst = fmax(worst, o->intercept ? fabs(s.level[k]) : 0);
        for (uint64_t j = 0; j < d->cols; j++) {
            const double w = f->scale[j] * f->w[j * CLASSES + k];
            const double g = s.column[j][k] / f->scale[j] - l2 * w;
            worst = fmax(worst, w != 0 ? fabs(g - copysign(l1, w))
                                       : fmax(fabs(g) - l1, 0));
        }
    }
    return worst / f->lambda;
}

/* ---- tests ------------------------------------------------------------- */

static const strads_logistic_options cases[] = {
    {.lambda = .01, .l1_ratio = 1, .multiclass = "softmax"},
    {.lambda_ratio = .1,
     .l1_ratio = 1,
     .intercept = true,
     .multiclass = "softmax"},
    {.lambda_ratio = .1,
     .l1_ratio = .5,
     .intercept = true,
     .standardize = true,
     .multiclass = "softmax"},
    {.c = 1, .l1_ratio = 0, .multiclass = "softmax"},
    {.c = 1, .l1_ratio = 0, .intercept = true, .multiclass = "softmax"}};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

Test(logistic_softmax, the_optimality_conditions_hold)
{
    lasso_design d = logistic_design_classes(COLS, .7);

    for (int o = 0; o < CASES; o++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            strads_result *result = train(&d, &cases[o], workers, 1e-8);
            const softmax_fit f = read_fit(&d, result, &cases[o], NULL);
            cr_expect_lt(violation(&d, &f, &cases[o]), 5e-3, "case %d: %g", o,
                         violation(&d, &f, &cases[o]));
            cr_expect_float_eq(objective(&d, &f, &cases[o]),
                               strads_result_progress(result)->objective, 1e-9);
            strads_result_free(result);
        }
    lasso_design_free(&d);
}

Test(logistic_softmax, it_ends_there_from_any_start)
{
    lasso_design d = logistic_design_classes(COLS, .7);
    double far[COLS * CLASSES];

    for (int k = 0; k < COLS * CLASSES; k++)
        far[k] = (double)(k % 7) / 3 - 1;
    for (int o = 0; o < CASES; o += 2) {
        strads_result *result = train_from(&d, &cases[o], 2, 1e-8, far);
        const softmax_fit f = read_fit(&d, result, &cases[o], NULL);
        cr_expect_lt(violation(&d, &f, &cases[o]), 5e-3, "case %d", o);
        cr_expect_float_eq(objective(&d, &f, &cases[o]),
                           strads_result_progress(result)->objective, 1e-9);
        strads_result_free(result);
    }
    lasso_design_free(&d);
}

Test(logistic_softmax, a_start_brings_its_intercepts)
{
    lasso_design d = logistic_design_classes(COLS, .7);

    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        strads_logistic_options o = cases[1];
        double first, without;
        strads_result *cold = train(&d, &o, workers, 1e-8);
        const double least = strads_result_progress(cold)->objective;
        const softmax_fit f = read_fit(&d, cold, &o, NULL);
        strads_result_free(train_noting(&d, &strads_program_logistic, &o,
                                        workers, 1e-7, f.w, &without));
        o.start_intercept = f.b;
        strads_result_free(train_noting(&d, &strads_program_logistic, &o,
                                        workers, 1e-7, f.w, &first));
        cr_expect_float_eq(first, least, 1e-12, "%g above", first - least);
        cr_expect_gt(without, least + 1e-6, "no intercept is missed");
        strads_result_free(cold);
    }
    lasso_design_free(&d);
}

Test(logistic_softmax, class_weights_count_rows_so_many_times)
{
    const double weight[CLASSES] = {2, 1, .5, 3};
    const strads_logistic_options o = {.lambda = .01,
                                       .l1_ratio = 1,
                                       .intercept = true,
                                       .class_weight = "-2=2,3=0.5,10=3",
                                       .multiclass = "softmax"};
    lasso_design d = logistic_design_classes(COLS, .7);
    strads_result *result = train(&d, &o, 1, 1e-8);
    const softmax_fit f = read_fit(&d, result, &o, weight);

    cr_expect_lt(violation(&d, &f, &o), 5e-3);
    cr_expect_float_eq(objective(&d, &f, &o),
                       strads_result_progress(result)->objective, 1e-9);
    strads_result_free(result);
    lasso_design_free(&d);
}

Test(logistic_softmax, every_certificate_bounds_the_possible_gain)
{
    lasso_design d = logistic_design_classes(COLS, .7);

    for (int o = 0; o < CASES; o++) {
        strads_result *best = train(&d, &cases[o], 1, 1e-9);
        const double least = strads_result_progress(best)->objective;
        for (double tolerance = .1; tolerance > 1e-5; tolerance /= 10) {
            strads_result *result = train(&d, &cases[o], 1, tolerance);
            const strads_progress *p = strads_result_progress(result);
            cr_expect_leq(p->gap, tolerance);
            cr_expect_geq(p->gap * p->objective * (1 + 1e-9) + 1e-9 * least,
                          p->objective - least, "case %d", o);
            strads_result_free(result);
        }
        strads_result_free(best);
    }
    lasso_design_free(&d);
}

/* Competing classes: coordinate sweeps alone take hundreds. */
Test(logistic_softmax, wide_data_take_some_tens_of_laps)
{
    const strads_logistic_options o = {.lambda_ratio = .02,
                                       .l1_ratio = 1,
                                       .multiclass = "softmax"};
    lasso_design d = logistic_design_classes(3 * ROWS, .7);
    strads_result *result = train(&d, &o, 2, 1e-7);

    cr_expect_lt(strads_result_progress(result)->round, 3500, "%llu rounds",
                 (unsigned long long)strads_result_progress(result)->round);
    strads_result_free(result);
    lasso_design_free(&d);
}

/* No column is worth its penalty: only the shares of the labels remain. */
Test(logistic_softmax, above_lambda_max_the_shares_are_the_probabilities)
{
    const strads_logistic_options o = {.lambda_ratio = 1.01,
                                       .l1_ratio = 1,
                                       .intercept = true,
                                       .multiclass = "softmax"};
    lasso_design d = logistic_design_classes(COLS, .7);
    strads_result *result = train(&d, &o, 1, 1e-8);
    const softmax_fit f = read_fit(&d, result, &o, NULL);
    double sum = 0, rows[CLASSES] = {0};

    for (uint64_t i = 0; i < ROWS; i++)
        rows[class_of(d.y[i])]++;
    for (uint32_t k = 0; k < CLASSES; k++)
        sum += exp(f.b[k]);
    for (uint32_t k = 0; k < CLASSES; k++)
        cr_expect_float_eq(exp(f.b[k]) / sum, rows[k] / ROWS, 1e-12);
    cr_expect_eq(strads_result_progress(result)->nonzeros, 0);
    strads_result_free(result);
    strads_logistic_options below = o;
    below.lambda_ratio = .98;
    result = train(&d, &below, 1, 1e-8);
    cr_expect_gt(strads_result_progress(result)->nonzeros, 0);
    strads_result_free(result);
    lasso_design_free(&d);
}

Test(logistic_softmax, the_bits_are_the_same_on_any_workers)
{
    lasso_design d = logistic_design_classes(COLS, .7);
    strads_result *one = train(&d, &cases[1], 1, 1e-6);
    strads_result *four = train(&d, &cases[1], 4, 1e-6);
    cr_expect(toy_same_values(one, four));
    strads_result_free(one);
    strads_result_free(four);
    lasso_design_free(&d);
}

Test(logistic_softmax, separable_labels_and_empty_columns_do_no_harm)
{
    lasso_design d = logistic_design_classes(5, .7);

    for (uint64_t i = 0; i < ROWS; i++) {
        lasso_design_col(&d, 0)[i] = d.y[i] < 0 ? 1 : 0;
        lasso_design_col(&d, 1)[i] = d.y[i] > 5 ? 1 : 0;
        lasso_design_col(&d, 2)[i] = d.y[i] == 3 ? 1 : 0;
        lasso_design_col(&d, 3)[i] = 0;
        lasso_design_col(&d, 4)[i] = lasso_design_col(&d, 1)[i];
    }
    const strads_logistic_options o = {.lambda = 1e-3,
                                       .l1_ratio = .5,
                                       .intercept = true,
                                       .multiclass = "softmax"};
    strads_result *result = train(&d, &o, 2, 1e-8);
    const softmax_fit f = read_fit(&d, result, &o, NULL);
    cr_expect_lt(violation(&d, &f, &o), 2e-2);
    for (uint32_t k = 0; k < CLASSES; k++)
        cr_expect_eq(f.w[3 * CLASSES + k], 0);
    strads_result_free(result);
    lasso_design_free(&d);
}

/* ---- other penalties ----------------------------------------------------- */

/* Adjacent columns form a group. */
static double group_violation(const softmax_fit *f, const slopes_of *s,
                              uint64_t j, uint32_t k)
{
    const double l = f->lambda * sqrt(2);
    const double w[2] = {f->w[j * CLASSES + k], f->w[(j + 1) * CLASSES + k]};
    const double g[2] = {s->column[j][k], s->column[j + 1][k]};
    const double size = hypot(w[0], w[1]);

    return size > 0 ? hypot(g[0] - l * w[0] / size, g[1] - l * w[1] / size)
                    : fmax(hypot(g[0], g[1]) - l, 0);
}

static double mcp_violation(const softmax_fit *f, const slopes_of *s,
                            uint64_t j, uint32_t k, double gamma)
{
    const double w = f->w[j * CLASSES + k], g = s->column[j][k];
    const double slope = fmax(f->lambda - fabs(w) / gamma, 0);

    return w != 0 ? fabs(g - copysign(slope, w)) : fmax(fabs(g) - f->lambda, 0);
}

static softmax_fit fit_of_glm(const lasso_design *d,
                              const strads_glm_options *o,
                              strads_result **result)
{
    const strads_logistic_options plain = {.intercept = o->intercept};
    double first;

    *result = train_noting(d, &strads_program_glm, o, 2, 1e-9, NULL, &first);
    return read_fit(d, *result, &plain, NULL);
}

Test(logistic_softmax, groups_and_concave_penalties_are_of_each_class)
{
    uint32_t group[COLS];
    const strads_glm_options of[] = {{.loss = "multinomial",
                                      .penalty = "group",
                                      .lambda_ratio = .2,
                                      .intercept = true,
                                      .column_group = group},
                                     {.loss = "multinomial",
                                      .penalty = "mcp",
                                      .lambda_ratio = .3,
                                      .gamma = 8,
                                      .intercept = true}};
    lasso_design d = logistic_design_classes(COLS, .7);

    for (uint32_t j = 0; j < COLS; j++)
        group[j] = j / 2;
    for (int o = 0; o < 2; o++) {
        strads_result *result;
        const softmax_fit f = fit_of_glm(&d, &of[o], &result);
        const slopes_of s = slopes(&d, &f);
        const uint64_t nonzeros = strads_result_progress(result)->nonzeros;
        cr_expect(nonzeros > 4 && nonzeros < COLS * CLASSES - 4);
        for (uint32_t k = 0; k < CLASSES; k++) {
            cr_expect_lt(fabs(s.level[k]), 1e-4 * f.lambda);
            for (uint64_t j = 0; j < COLS; j += o == 0 ? 2 : 1) {
                const double off = o == 0 ? group_violation(&f, &s, j, k)
                                          : mcp_violation(&f, &s, j, k, 8);
                cr_expect_lt(off, 5e-3 * f.lambda, "%d: column %d", o, (int)j);
            }
        }
        strads_result_free(result);
    }
    lasso_design_free(&d);
}

/* An unpenalised column is fitted; one with a large factor stays 0. */
Test(logistic_softmax, penalty_factors_are_of_all_classes)
{
    double factor[COLS];
    const strads_glm_options o = {.loss = "multinomial",
                                  .lambda = .02,
                                  .intercept = true,
                                  .penalty_factor = factor};
    lasso_design d = logistic_design_classes(COLS, .7);
    strads_result *result;

    for (uint32_t j = 0; j < COLS; j++)
        factor[j] = j == 3 ? 0 : j == 4 ? 100 : 1;
    const softmax_fit f = fit_of_glm(&d, &o, &result);
    const slopes_of s = slopes(&d, &f);
    for (uint32_t k = 0; k < CLASSES; k++) {
        cr_expect_lt(fabs(s.column[3][k]), 1e-5);
        cr_expect_eq(f.w[4 * CLASSES + k], 0);
    }
    strads_result_free(result);
    lasso_design_free(&d);
}

/* Without a penalty there is no lambda_max to find first, and the start is
 * used. */
Test(logistic_softmax, without_a_penalty_it_begins_at_the_start)
{
    strads_glm_options o = {.loss = "multinomial",
                            .penalty = "none",
                            .intercept = true};
    lasso_design d = logistic_design_classes(3, .7);
    strads_result *cold, *warm;
    double first;

    for (uint64_t i = 0; i < ROWS; i++) /* no column separates them */
        d.y[i] = label[i * 7 % CLASSES];
    const softmax_fit f = fit_of_glm(&d, &o, &cold);
    const slopes_of s = slopes(&d, &f);
    for (uint32_t k = 0; k < CLASSES; k++) {
        cr_expect_lt(fabs(s.level[k]), 1e-6);
        for (int j = 0; j < 3; j++)
            cr_expect_lt(fabs(s.column[j][k]), 1e-6);
    }
    o.start_intercept = f.b;
    warm = train_noting(&d, &strads_program_glm, &o, 2, 1e-7, f.w, &first);
    cr_expect_float_eq(first, strads_result_progress(cold)->objective, 1e-12);
    strads_result_free(warm);
    strads_result_free(cold);
    lasso_design_free(&d);
}

Test(logistic_softmax, unsupported_options_are_refused)
{
    const double offset[ROWS] = {1};
    const strads_glm_options of[] = {{.loss = "multinomial",
                                      .row_offset = offset},
                                     {.loss = "multinomial", .upper = DBL_MAX}};
    const char *const says[] = {"which changes nothing", "takes no bounds"};
    lasso_design d = logistic_design_classes(COLS, .7);

    for (int o = 0; o < 2; o++) {
        strads_data *data = NULL;
        strads_result *result = NULL;
        cr_assert_eq(lasso_design_data(&d, 1, &data), STRADS_OK);
        cr_expect_eq(strads_run(&strads_program_glm, &of[o], data, NULL,
                                &result),
                     STRADS_EINVAL);
        expect_says(says[o]);
        strads_data_free(data);
    }
    lasso_design_free(&d);
}

/* Two labels are one problem of two classes, with either option. */
Test(logistic_softmax, two_labels_are_one_problem)
{
    const strads_logistic_options softmax = {.lambda = .01,
                                             .l1_ratio = 1,
                                             .multiclass = "softmax"};
    const strads_logistic_options plain = {.lambda = .01, .l1_ratio = 1};
    lasso_design d = logistic_design_classes(COLS, .7);

    for (uint64_t i = 0; i < ROWS; i++)
        d.y[i] = d.y[i] > 1;
    linear_fit a = logistic_design_fit(&d, &softmax, NULL);
    linear_fit b = logistic_design_fit(&d, &plain, NULL);
    expect_ok(a.err);
    cr_expect_eq(lasso_distance(&d, a.w, b.w), 0);
    linear_fit_free(&a);
    linear_fit_free(&b);
    lasso_design_free(&d);
}

Test(logistic_softmax, another_word_for_it_is_refused)
{
    const strads_logistic_options o = {.lambda = .01,
                                       .l1_ratio = 1,
                                       .multiclass = "all"};
    lasso_design d = logistic_design_classes(COLS, .7);
    linear_fit fit = logistic_design_fit(&d, &o, NULL);

    cr_expect_eq(fit.err, STRADS_EINVAL);
    expect_says("expected ovr or softmax");
    linear_fit_free(&fit);
    lasso_design_free(&d);
}
