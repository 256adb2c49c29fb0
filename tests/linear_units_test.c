/* Weights, columns and labels in extreme units, so that squares underflow or
 * overflow: a fit is that of usual units, or is refused by a sentence that
 * names what to scale. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"

enum { ROWS = 60, COLS = 4, SAMPLE = 250, SOAK = 4000 };

typedef struct unit_case {
    const char *loss, *penalty;
    double lambda;
    int columns, labels; /* lambda is in these powers of their units */
} unit_case;

static const unit_case cases[] = {
    {"squared", "l1", .1, 1, 1},      {"squared", "ridge", .1, 2, 0},
    {"squared", "none", 0, 0, 0},     {"squared", "group", .1, 1, 1},
    {"logistic", "l1", .02, 1, 0},    {"logistic", "ridge", .02, 2, 0},
    {"multinomial", "l1", .02, 1, 0}, {"squared-hinge", "l1", .02, 1, 0},
    {"poisson", "l1", .02, 1, 0},     {"poisson", "none", 0, 0, 0},
    {"huber", "l1", .1, 1, 0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(*state >> 11) * 0x1p-53;
}

/* A power of ten from -most to most, and 0 half of the time. */
static int power(uint64_t *state, int most)
{
    const bool usual = uniform(state) < .5;
    const int exponent = (int)((2 * uniform(state) - 1) * most);

    return usual ? 0 : exponent;
}

/* The labels of a squared loss turned into those that the loss takes. */
static double label_of(const char *loss, double y)
{
    if (strcmp(loss, "squared") == 0 || strcmp(loss, "huber") == 0)
        return y;
    if (strcmp(loss, "poisson") == 0)
        return floor(exp(fmin(y / 2, 3)));
    if (strcmp(loss, "multinomial") == 0)
        return y < -.5 ? 0 : y < .5 ? 1 : 2;
    return y > 0 ? 1 : -1;
}

static linear_fit run(const unit_case *c, const lasso_design *d, double lambda,
                      bool intercept, const double *weight)
{
    static uint32_t groups[COLS] = {0, 0, 1, 1};
    const strads_engine_options engine = {.workers = 1,
                                          .partitions = 2,
                                          .deterministic = true,
                                          .time_limit = 20};
    const bool grouped = strcmp(c->penalty, "group") == 0;
    const strads_glm_options o = {.loss = c->loss,
                                  .penalty = c->penalty,
                                  .lambda = lambda,
                                  .intercept = intercept,
                                  .column_group = grouped ? groups : NULL,
                                  .row_weight = weight};

    return linear_fit_run(d, &strads_program_glm, &o, 1e-8, &engine);
}

/* The furthest that coefficients of usual units are from those of other
 * units. */
static double distance(const linear_fit *usual, const linear_fit *fit,
                       double unit)
{
    double most = 0, size = 1;

    for (uint64_t k = 0; k < COLS * usual->width; k++) {
        most = fmax(most, fabs(fit->w[k] * unit - usual->w[k]));
        size = fmax(size, fabs(usual->w[k]));
    }
    return most / size;
}

static void try_units(uint64_t seed)
{
    uint64_t state = seed * 7919 + 1;
    const unit_case *c = &cases[seed % CASES];
    const int weights = power(&state, 290), columns = power(&state, 160);
    const int labels = c->labels ? power(&state, 160) : 0;
    const bool intercept = uniform(&state) < .5;
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = ROWS, .cols = COLS, .seed = seed, .noise = .5});
    double weight[ROWS], scaled[ROWS];

    for (uint64_t i = 0; i < ROWS; i++) {
        d.y[i] = label_of(c->loss, d.y[i]);
        weight[i] = .5 + uniform(&state);
        scaled[i] = weight[i] * pow(10, weights);
    }
    linear_fit usual = run(c, &d, c->lambda, intercept, weight);
    const double x = pow(10, columns), y = pow(10, labels);
    for (uint64_t k = 0; k < ROWS * COLS; k++)
        d.x[k] *= x;
    for (uint64_t i = 0; i < ROWS && c->labels; i++)
        d.y[i] *= y;
    double lambda = c->lambda * pow(y, c->labels);
    for (int k = 0; k < c->columns; k++)
        lambda *= x;
    char what[160];
    (void)snprintf(what, sizeof what,
                   "seed %llu: %s, %s%s, weights 1e%d, columns 1e%d, labels "
                   "1e%d",
                   (unsigned long long)seed, c->loss, c->penalty,
                   intercept ? ", intercept" : "", weights, columns, labels);
    linear_fit fit = run(c, &d, lambda, intercept, scaled);
    cr_assert_eq(usual.err, STRADS_OK, "%s: %s", what, strads_error_text());
    const bool extreme =
        abs(columns) >= 135 || abs(labels) >= 135 || weights + labels >= 300;
    if (fit.err) {
        cr_expect(extreme, "%s: %s", what, strads_error_text());
        cr_expect(strstr(strads_error_text(), "scale") || !isnormal(lambda),
                  "%s: %s", what, strads_error_text());
    } else if (isnormal(lambda) || c->lambda == 0) {
        const double off = distance(&usual, &fit, x / y);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s: gap %g", what,
                     fit.gap);
        cr_expect(off <= 1e-3, "%s: gap %g, off by %g", what, fit.gap, off);
    }
    linear_fit_free(&usual);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(linear_units, fits_do_not_depend_on_them_or_are_refused)
{
    const uint64_t n = getenv("STRADS_SOAK") ? SOAK : SAMPLE;

    for (uint64_t seed = 1; seed <= n; seed++)
        try_units(seed);
}

/* ---- lambdas of almost 0 ------------------------------------------------- */

/* With more columns than rows P goes to 0 with lambda. */
Test(linear_units, a_tiny_lambda_of_many_columns_ends)
{
    const uint64_t rows[] = {5, 10, 20, 30}, cols[] = {30, 20, 40, 31};

    for (uint64_t k = 0; k < 4; k++) {
        lasso_design d = lasso_design_random(&(lasso_recipe){
            .rows = rows[k], .cols = cols[k], .seed = k, .noise = 1});
        const strads_engine_options engine = {.workers = 1,
                                              .deterministic = true,
                                              .max_rounds = 40000};
        const strads_glm_options o = {.lambda = 1e-9, .intercept = true};
        linear_fit fit =
            linear_fit_run(&d, &strads_program_glm, &o, 1e-5, &engine);
        expect_ok(fit.err);
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%llu x %llu: gap %g",
                     (unsigned long long)rows[k], (unsigned long long)cols[k],
                     fit.gap);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

/* ---- SVMs ---------------------------------------------------------------- */

typedef struct svm_case {
    const char *loss;
    double epsilon; /* 0: of classes */
} svm_case;

static const svm_case svm_cases[] = {{"hinge", 0},
                                     {"squared-hinge", 0},
                                     {"epsilon", .1},
                                     {"squared-epsilon", .1}};
enum { SVM_CASES = sizeof svm_cases / sizeof svm_cases[0] };

static linear_fit run_svm(const svm_case *c, const lasso_design *d, double cost,
                          const double *weight)
{
    const strads_engine_options engine = {.workers = 1,
                                          .partitions = 2,
                                          .deterministic = true,
                                          .time_limit = 20};
    const strads_svm_options o = {.loss = c->loss,
                                  .c = cost,
                                  .epsilon = c->epsilon,
                                  .intercept = true,
                                  .row_weight = weight};

    return linear_fit_run(d, &strads_program_svm, &o, 1e-8, &engine);
}

static lasso_design svm_design(const svm_case *c, uint64_t seed)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = ROWS, .cols = COLS, .seed = seed, .noise = .5});

    for (uint64_t i = 0; i < ROWS && c->epsilon == 0; i++)
        d.y[i] = d.y[i] > 0 ? 1 : -1;
    return d;
}

Test(linear_units, an_svm_depends_on_c_times_the_weights_alone)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        const svm_case *c = &svm_cases[seed % SVM_CASES];
        uint64_t state = seed;
        const double unit = pow(10, power(&state, 200) + power(&state, 80));
        lasso_design d = svm_design(c, seed);
        double weight[ROWS], scaled[ROWS];
        for (uint64_t i = 0; i < ROWS; i++) {
            weight[i] = .5 + uniform(&state);
            scaled[i] = weight[i] * unit;
        }
        linear_fit usual = run_svm(c, &d, 1, weight);
        linear_fit fit = run_svm(c, &d, 1 / unit, scaled);
        cr_assert_eq(fit.err, STRADS_OK, "%s", strads_error_text());
        cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s, %g: gap %g", c->loss,
                     unit, fit.gap);
        cr_expect(distance(&usual, &fit, 1) <= 1e-3, "%s, %g", c->loss, unit);
        linear_fit_free(&usual);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

Test(linear_units, labels_of_svms_that_overflow_are_refused)
{
    for (uint32_t k = 0; k < SVM_CASES; k++) {
        const svm_case *c = &svm_cases[k];
        if (c->epsilon == 0)
            continue;
        lasso_design d = svm_design(c, k);
        d.y[3] = 1e200;
        linear_fit fit = run_svm(c, &d, 1, NULL);
        cr_expect_eq(fit.err, STRADS_EINVAL);
        expect_says("scale the labels down");
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}
