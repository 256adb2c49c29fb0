/* Random designs of every difficult kind, under every loss: the reported gap
 * matches P and D computed from the objective; on 1, 2 and 4 workers,
 * simulated, and over tcp. Also designs on which coordinate ascent alone is
 * slow must take few rounds. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <strads/policy.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/svm_expect.h"

enum { SHAPES = 60, TOO_MANY = 60000 };

typedef enum kind {
    ONE_ROW,
    ONE_COLUMN,
    CONSTANT,
    TWINS,
    EMPTY,
    CORRELATED,
    SCALES,
    SEPARABLE,
    FAR_OFF,
    WIDE,
    TALL,
    SPARSE,
    KINDS
} kind;

/* Rows and columns of each kind, if given: some have fewer columns than the
 * limit for Newton steps, some more. */
static const uint64_t rows_of[KINDS] = {1,  40, 50, 30, 40,  30,
                                        60, 40, 60, 20, 300, 200};
static const uint64_t cols_of[KINDS] = {7,  1,  20,   12,   30, 1300,
                                        17, 30, 1250, 1400, 9,  1500};

static double draw(uint64_t seed, uint64_t *k)
{
    return (double)(strads_random_bits(seed, 5, 6, (*k)++) >> 11) * 0x1p-53;
}

static lasso_design make(kind what, uint64_t seed, bool numbers)
{
    lasso_design d = lasso_design_random(
        &(lasso_recipe){.rows = rows_of[what],
                        .cols = cols_of[what],
                        .seed = 900 + seed,
                        .density = what == SPARSE  ? .03
                                   : what == EMPTY ? .2
                                                   : 1,
                        .noise = what == SEPARABLE ? 0 : 1});
    uint64_t k = 0;

    for (uint64_t j = 0; j < d.cols; j++) {
        double *x = lasso_design_col(&d, j);
        const bool odd = j % 2 == 1;
        for (uint64_t i = 0; i < d.rows; i++) {
            if (what == CONSTANT && odd)
                x[i] = 7;
            if (what == TWINS && odd)
                x[i] = lasso_design_col(&d, j - 1)[i];
            if (what == EMPTY && (odd || i % 3 == 0))
                x[i] = 0;
            if (what == CORRELATED)
                x[i] = .03 * x[i] + (double)(i % 7) / 4;
            if (what == SCALES)
                x[i] *= pow(10, (double)j - 8);
            if (what == FAR_OFF)
                x[i] += 3;
        }
    }
    for (uint64_t i = 0; i < d.rows && !numbers; i++) {
        const double side = what == SEPARABLE ? lasso_design_col(&d, 0)[i]
                                              : draw(seed, &k) - .5;
        d.y[i] = i == 0 ? 1 : i == 1 || side < 0 ? -1 : 1;
    }
    if (what == SEPARABLE && !numbers)
        for (uint64_t i = 0; i < 2; i++)
            lasso_design_col(&d, 0)[i] = d.y[i];
    return d;
}

static strads_svm_options options_of(int shape)
{
    static const char *const losses[] = {"squared-hinge", "hinge", "epsilon",
                                         "squared-epsilon"};
    static const double cs[] = {.01, 1, 100};
    const kind what = (kind)(shape % KINDS);
    const int turn = shape / KINDS + (int)what;

    return (strads_svm_options){
        .loss = losses[what == ONE_ROW ? 2 + turn % 2 : turn % 4],
        .c = cs[turn % 3],
        .epsilon = .1,
        .intercept = shape / KINDS % 2 == 0,
        .bias = shape / KINDS == 3 ? 1 : 0};
}

static void expect_bounds(const lasso_design *d,
                          const strads_svm_options *options, svm_fit *fit,
                          const char *what)
{
    const svm_worth worth = svm_fit_worth(d, options, NULL, fit);
    const double scale = fmax(worth.primal, 1e-300);
    /* The rounding error in the losses of rows at their margin. */
    const double slack = fmax(1e-9, 1e-13 * options->c);

    cr_expect_eq(fit->end, STRADS_END_CONVERGED, "%s: ended by %d, gap %g",
                 what, (int)fit->end, fit->gap);
    cr_expect_lt(fabs(worth.primal - fit->objective), slack * scale,
                 "%s: reports %.15g at %.15g", what, fit->objective,
                 worth.primal);
    cr_expect_leq((worth.primal - worth.dual) / scale,
                  1.01 * fmax(fit->gap, 1e-6) + slack, "%s: gap %g", what,
                  (worth.primal - worth.dual) / scale);
    cr_expect_geq(worth.primal - worth.dual, -slack * scale, "%s", what);
    svm_fit_free(fit);
}

static void each_shape(const strads_engine_options *engine, bool simulated)
{
    for (int s = 0; s < SHAPES; s++) {
        char what[80];
        const strads_svm_options options = options_of(s);
        lasso_design d = make((kind)(s % KINDS), (uint64_t)s,
                              strstr(options.loss, "epsilon") != NULL);
        (void)snprintf(what, sizeof what, "shape %d, %s, %u workers%s", s,
                       options.loss, engine->workers,
                       simulated ? ", simulated" : "");
        svm_fit fit = {.err = STRADS_EINVAL};
        if (simulated) {
            const strads_sim_options sim = {.size = sizeof sim,
                                            .nodes = engine->workers,
                                            .latency = 1e-5,
                                            .update_cost = 1e-5};
            strads_data *data = NULL;
            strads_result *result = NULL;
            cr_assert_eq(lasso_design_lay(&d, engine->partitions,
                                          STRADS_LAYOUT_ROWS, &data),
                         STRADS_OK);
            cr_assert_eq(strads_simulate(&strads_program_svm, &options, data,
                                         engine, &sim, &result, NULL),
                         STRADS_OK, "%s: %s", what, strads_error_text());
            fit = svm_fit_of(&d, result);
            strads_result_free(result);
            strads_data_free(data);
        } else {
            fit = svm_fit_run(&d, &options, engine);
        }
        cr_assert_eq(fit.err, STRADS_OK, "%s: %s", what, strads_error_text());
        expect_bounds(&d, &options, &fit, what);
        lasso_design_free(&d);
    }
}

static strads_engine_options workers(uint32_t n)
{
    return (strads_engine_options){.size = sizeof(strads_engine_options),
                                   .workers = n,
                                   .partitions = n,
                                   .deterministic = true,
                                   .max_rounds = TOO_MANY,
                                   .tolerance = 1e-6};
}

static void shapes_on(uint32_t n, bool simulated)
{
    const strads_engine_options engine = workers(n);

    each_shape(&engine, simulated);
}

Test(svm_shapes, one_worker_reports_the_objective_of_its_fit)
{
    shapes_on(1, false);
}

Test(svm_shapes, two_workers_do)
{
    shapes_on(2, false);
}

Test(svm_shapes, four_workers_do)
{
    shapes_on(4, false);
}

Test(svm_shapes, two_simulated_nodes_do)
{
    shapes_on(2, true);
}

/* As LIBSVM text, which the nodes of a team read. */
static void write_design(const lasso_design *d, const char *path)
{
    FILE *f = fopen(path, "w");

    cr_assert_not_null(f);
    for (uint64_t i = 0; i < d->rows; i++) {
        (void)fprintf(f, "%.17g", d->y[i]);
        for (uint64_t j = 0; j < d->cols; j++)
            if (lasso_design_col(d, j)[i] != 0)
                (void)fprintf(f, " %d:%.17g", (int)j + 1,
                              lasso_design_col(d, j)[i]);
        (void)fputc('\n', f);
    }
    cr_assert_eq(fclose(f), 0);
}

Test(svm_shapes, nodes_over_tcp_do)
{
    char path[] = "/tmp/strads-shapes-XXXXXX";
    const int file = mkstemp(path);

    cr_assert_geq(file, 0);
    (void)close(file);
    for (int s = TALL; s < SHAPES; s += KINDS) {
        char what[32];
        const strads_svm_options options = options_of(s);
        lasso_design d =
            make(TALL, (uint64_t)s, strstr(options.loss, "epsilon") != NULL);
        team_end end[TEAM_MAX];
        strads_result *result = NULL;
        write_design(&d, path);
        const team t = {.program = &strads_program_svm,
                        .config = &options,
                        .options = {.partitions = 2,
                                    .deterministic = true,
                                    .tolerance = 1e-6},
                        .nodes = 2,
                        .path = path};
        team_run(&t, &result, end);
        (void)snprintf(what, sizeof what, "shape %d over tcp", s);
        cr_assert_not_null(result, "%s: %s", what, end[0].text);
        svm_fit fit = svm_fit_of(&d, result);
        expect_bounds(&d, &options, &fit, what);
        strads_result_free(result);
        lasso_design_free(&d);
    }
    (void)unlink(path);
}

/* ---- where coordinate ascent alone is slow ------------------------------- */

static void expect_soon(const lasso_design *d,
                        const strads_svm_options *options, uint64_t rounds)
{
    for (uint32_t n = 1; n <= 2; n++) {
        strads_engine_options engine = workers(n);
        engine.max_rounds = rounds;
        svm_fit fit = svm_fit_run(d, options, &engine);
        expect_ok(fit.err);
        expect_bounds(d, options, &fit, options->loss);
    }
}

/* An intercept replaces constant columns without a penalty; at a large C
 * this also avoids cancellation in X'b. */
Test(svm_shapes, an_intercept_leaves_constant_columns_out_at_a_large_c)
{
    lasso_design d = svm_design_random(200, 120, 1, 31);
    const strads_svm_options options[] = {
        {.loss = "hinge", .c = 1e6, .intercept = true},
        {.loss = "squared-hinge", .c = 1e6, .intercept = true}};

    for (uint64_t j = 0; j < 20; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] = 7;
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = lasso_design_col(&d, 40)[i] + lasso_design_col(&d, 41)[i] > 0
                     ? 1
                     : -1;
    for (int k = 0; k < 2; k++)
        expect_soon(&d, &options[k], 4000);
    lasso_design_free(&d);
}

/* Almost equal rows with labels that are independent of them. */
Test(svm_shapes, rows_that_are_nearly_one_take_few_rounds_under_every_loss)
{
    lasso_design d = svm_design_random(100, 1300, 1, 32);
    uint64_t k = 0;

    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t i = 0; i < d.rows; i++)
            lasso_design_col(&d, j)[i] =
                .03 * lasso_design_col(&d, j)[i] + (double)i / 60 - .8;
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = draw(33, &k) < .5 ? 1 : -1;
    for (int s = 0; s < 8; s++) {
        static const char *const losses[] = {"squared-hinge", "hinge",
                                             "squared-epsilon", "epsilon"};
        const strads_svm_options options = {.loss = losses[s / 2],
                                            .epsilon = .1,
                                            .intercept = s % 2 == 1};
        expect_soon(&d, &options, 600);
    }
    lasso_design_free(&d);
}
