/* Fits by the glm program under every loss and penalty: the certificate is the
 * objective's, and the optimality conditions hold. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

/* Of a design with several. */
enum { CLASSES = 4 };

static const lasso_recipe shapes[] = {
    {.rows = 60, .cols = 25, .seed = 1, .noise = 1},
    {.rows = 40, .cols = 150, .seed = 2, .density = .3, .noise = .5},
    {.rows = 80,
     .cols = 40,
     .seed = 3,
     .correlation = .95,
     .noise = 1,
     .offset = 3}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                     "poisson", "gamma",    "tweedie",
                                     "huber"};
enum { LOSSES = sizeof(losses) / sizeof(losses[0]) };

/* Groups of 1 to 5 columns, none of neighbours. */
static const uint32_t *groups_of(const lasso_design *d)
{
    static uint32_t group[512];

    for (uint64_t j = 0; j < d->cols; j++)
        group[j] = (uint32_t)(j * j % (d->cols / 3));
    return group;
}

static const strads_glm_options penalties[] = {
    {.penalty = "l1", .lambda_ratio = .1},
    {.penalty = "l1", .lambda_ratio = .02, .intercept = true},
    {.penalty = "elastic-net",
     .lambda_ratio = .05,
     .intercept = true,
     .standardize = true},
    {.penalty = "elastic-net", .l1_ratio = .01, .lambda = .02},
    {.penalty = "ridge", .lambda = .1, .intercept = true},
    {.penalty = "ridge", .lambda = .01, .standardize = true},
    {.lambda_ratio = .05, .lower = 0, .upper = INFINITY, .intercept = true},
    {.penalty = "elastic-net", .lambda_ratio = .01, .lower = -.1, .upper = .2},
    {.penalty = "group", .lambda_ratio = .1},
    {.penalty = "group",
     .lambda_ratio = .03,
     .intercept = true,
     .standardize = true},
    {.penalty = "sparse-group", .lambda_ratio = .1},
    {.penalty = "sparse-group",
     .l1_ratio = .8,
     .lambda_ratio = .03,
     .intercept = true,
     .standardize = true},
    {.penalty = "mcp", .lambda_ratio = .1, .intercept = true},
    {.penalty = "mcp", .gamma = 1.5, .lambda_ratio = .2, .standardize = true},
    {.penalty = "scad", .lambda_ratio = .1, .intercept = true},
    {.penalty = "scad", .lambda_ratio = .05, .lower = 0, .upper = INFINITY}};
enum { PENALTIES = sizeof(penalties) / sizeof(penalties[0]) };

/* Of penalties that are not convex: 1e-8 of their violations is arithmetic. */
static bool is_concave(const strads_glm_options *o)
{
    return o->penalty &&
           (strcmp(o->penalty, "mcp") == 0 || strcmp(o->penalty, "scad") == 0);
}

static linear_fit fit_well(const lasso_design *d, const strads_glm_options *o,
                           const strads_engine_options *engine)
{
    const strads_engine_options fair = {.tolerance = 1e-8,
                                        .deterministic = true};
    linear_fit fit =
        glm_design_fit(d, o, !engine && is_concave(o) ? &fair : engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "%s, %s: gap %g", o->loss,
                 o->penalty, fit.gap);
    return fit;
}

static void expect_optimal(const lasso_design *d, const strads_glm_options *o,
                           const linear_fit *fit)
{
    const double value = glm_value(d, o, fit), off = glm_violation(d, o, fit);

    cr_expect_float_eq(fit->objective, value, 1e-9 * value, "%s, %s: %g, %g",
                       o->loss, o->penalty, fit->objective, value);
    cr_expect_lt(off, 2e-4, "%s, %s: violated by %g", o->loss, o->penalty, off);
}

Test(glm_fit, optimality_conditions_hold)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t l = 0; l < LOSSES; l++) {
            lasso_design d = glm_design_random(&shapes[s], losses[l]);
            for (size_t k = 0; k < PENALTIES; k++) {
                strads_glm_options o = penalties[k];
                o.loss = losses[l];
                if (o.penalty && strstr(o.penalty, "group"))
                    o.column_group = groups_of(&d);
                /* Separable classes have no minimum where the penalty is
                 * flat. */
                if (is_concave(&o) && strads_glm_classifies(o.loss))
                    o.lambda_ratio = .5;
                linear_fit fit = fit_well(&d, &o, NULL);
                expect_optimal(&d, &o, &fit);
                linear_fit_free(&fit);
            }
            lasso_design_free(&d);
        }
}

/* Under so weak a penalty the gap follows steps by their roots: it used to
 * hover at the tolerance for a thousand rounds and more. */
Test(glm_fit, a_weak_penalty_is_settled_in_few_rounds)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){
        .rows = 400, .cols = 300, .seed = 3, .density = .02, .noise = 1});
    const strads_glm_options o = {.loss = "logistic", .lambda = 1e-6};
    const strads_engine_options engine = {.workers = 1,
                                          .tolerance = 1e-6,
                                          .max_rounds = 600};

    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = (double)(strads_random_bits(3, 1, 4, i) & 1);
    linear_fit fit = fit_well(&d, &o, &engine);
    expect_optimal(&d, &o, &fit);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

Test(glm_fit, least_squares_without_a_penalty_are_the_normal_equations)
{
    lasso_design d = glm_design_random(&shapes[0], "squared");
    const strads_glm_options o = {.penalty = "none", .intercept = true};
    linear_fit fit = fit_well(&d, &o, NULL);

    expect_optimal(&d, &o, &fit);
    cr_expect_eq(fit.nonzeros, d.cols);
    cr_expect_eq(fit.lambda_max, 0);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* A coefficient at its bound may slope outwards. */
Test(glm_fit, bounds_without_a_penalty_are_certified)
{
    static const double bounds[][2] = {
        {0, INFINITY}, {-INFINITY, 0}, {0, .1}, {-.01, .02}, {-.3, .3}};
    enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };

    for (size_t k = 0; k < LOSSES * BOUNDS; k++) {
        strads_glm_options o = {.loss = losses[k / BOUNDS],
                                .penalty = "none",
                                .lower = bounds[k % BOUNDS][0],
                                .upper = bounds[k % BOUNDS][1],
                                .intercept = k % 3 > 0,
                                .standardize = k % 2};
        lasso_design d = glm_design_random(&shapes[k % 4 < 2 ? 0 : 2], o.loss);
        linear_fit fit = fit_well(&d, &o, NULL);
        expect_optimal(&d, &o, &fit);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

Test(glm_fit, offsets_are_part_of_the_margin)
{
    for (size_t l = 0; l < LOSSES; l++) {
        lasso_design d = glm_design_random(&shapes[0], losses[l]);
        double offset[64];
        for (uint64_t i = 0; i < d.rows; i++)
            offset[i] = .1 * (double)(i % 11) - .4;
        const strads_glm_options o = {.loss = losses[l],
                                      .lambda_ratio = .05,
                                      .intercept = l % 2 == 0,
                                      .row_offset = offset};
        linear_fit fit = fit_well(&d, &o, NULL);
        expect_optimal(&d, &o, &fit);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

Test(glm_fit, penalty_factors_weigh_columns_and_let_some_free)
{
    for (size_t l = 0; l < LOSSES; l++) {
        lasso_design d = glm_design_random(&shapes[0], losses[l]);
        double factor[25];
        for (uint64_t j = 0; j < d.cols; j++)
            factor[j] = (double)(j % 6) / 2;
        strads_glm_options o = {.loss = losses[l],
                                .lambda_ratio = .3,
                                .intercept = true,
                                .penalty_factor = factor};
        linear_fit fit = fit_well(&d, &o, NULL);
        expect_optimal(&d, &o, &fit);
        cr_expect_geq(fit.nonzeros, 5);
        linear_fit_free(&fit);
        o.lambda_ratio = 1 + 1e-4; /* the free ones alone */
        fit = fit_well(&d, &o, NULL);
        expect_optimal(&d, &o, &fit);
        cr_expect_eq(fit.nonzeros, 5, "%s", losses[l]);
        linear_fit_free(&fit);
        lasso_design_free(&d);
    }
}

/* Columns e_j: w is the penalty's own step at y, with curvature 1 / n. */
Test(glm_fit, on_unit_columns_the_fit_is_the_closed_form)
{
    enum { N = 12 };
    const double lambda = .25; /* n lambda = 3 */
    lasso_design d = lasso_design_zero(N, N);
    uint32_t group[N];

    for (uint64_t j = 0; j < N; j++) {
        lasso_design_col(&d, j)[j] = 1;
        d.y[j] = (j % 2 ? -1. : 1.) * (double)(j + 1);
        group[j] = (uint32_t)(j / 3);
    }
    const strads_glm_options firm = {.penalty = "mcp",
                                     .gamma = 2. * N, /* flat from 6 on */
                                     .lambda = lambda},
                             flat = {.penalty = "scad",
                                     .gamma = 3. * N,
                                     .lambda = lambda},
                             together = {.penalty = "group",
                                         .column_group = group,
                                         .lambda = lambda};
    linear_fit mcp = fit_well(&d, &firm, NULL);
    linear_fit scad = fit_well(&d, &flat, NULL);
    linear_fit grouped = fit_well(&d, &together, NULL);
    for (uint64_t j = 0; j < N; j++) {
        const double y = fabs(d.y[j]), soft = fmax(y - 3, 0);
        cr_expect_float_eq(fabs(mcp.w[j]), y <= 6 ? soft / (1 - 1 / 2.) : y,
                           1e-6, "mcp at %g: %g", y, mcp.w[j]);
        /* L = 3, unit = 1 / n: knots at .25 and 9. */
        const double knee = 3. / N, g = 3. * N;
        const double middle = ((g - 1) * y - g * 3) / (g - 1 - N);
        cr_expect_float_eq(fabs(scad.w[j]),
                           y <= knee + 3 ? soft
                           : y <= 9      ? middle
                                         : y,
                           1e-6, "scad at %g: %g", y, scad.w[j]);
        const double *y3 = d.y + j / 3 * 3;
        const double size = sqrt(y3[0] * y3[0] + y3[1] * y3[1] + y3[2] * y3[2]);
        cr_expect_float_eq(grouped.w[j],
                           fmax(1 - 3 * sqrt(3) / size, 0) * d.y[j], 1e-5,
                           "group at %g: %g", y, grouped.w[j]);
    }
    linear_fit_free(&mcp);
    linear_fit_free(&scad);
    linear_fit_free(&grouped);
    lasso_design_free(&d);
}

/* Groups of one column are the Lasso. */
Test(glm_fit, groups_of_one_are_the_lasso)
{
    lasso_design d = glm_design_random(&shapes[1], "logistic");
    uint32_t group[150];
    strads_glm_options o = {.loss = "logistic",
                            .lambda_ratio = .05,
                            .intercept = true,
                            .standardize = true};

    for (uint32_t j = 0; j < d.cols; j++)
        group[j] = 1000 - j;
    linear_fit right = fit_well(&d, &o, NULL);
    o.penalty = "group";
    o.column_group = group;
    linear_fit fit = fit_well(&d, &o, NULL);
    cr_expect_float_eq(fit.lambda_max, right.lambda_max,
                       1e-9 * right.lambda_max);
    cr_expect_float_eq(fit.objective, right.objective, 1e-9 * right.objective);
    linear_fit_free(&right);
    linear_fit_free(&fit);
    lasso_design_free(&d);
}

/* Labels 0 .. 3 by the quarter that y is in. */
static void draw_classes(lasso_design *d)
{
    for (uint64_t i = 0; i < d->rows; i++)
        d->y[i] = d->y[i] < -1 ? 0 : d->y[i] < 0 ? 1 : d->y[i] < 1 ? 2 : 3;
    for (uint64_t i = 0; i < CLASSES; i++)
        d->y[i] = (double)i;
}

/* Each problem's fit alone, of a class against the rest, is the oracle. */
static void expect_sum_of(lasso_design *d, const strads_glm_options *o,
                          const linear_fit *all)
{
    double objective = 0, most = 0, *label = d->y, alone[256];
    uint64_t nonzeros = 0;

    d->y = alone;
    for (uint32_t k = 0; k < CLASSES; k++) {
        strads_glm_options of_one = *o;
        for (uint64_t i = 0; i < d->rows; i++)
            alone[i] = label[i] == k;
        of_one.lambda_ratio = 0;
        of_one.lambda = all->lambda;
        linear_fit one = fit_well(d, &of_one, NULL);
        objective += one.objective;
        nonzeros += one.nonzeros;
        most = fmax(most, one.lambda_max);
        for (uint64_t j = 0; j < d->cols; j++)
            cr_expect_float_eq(all->w[j * CLASSES + k], one.w[j], 2e-4,
                               "%s, class %u, column %llu: %g, alone %g",
                               o->penalty, k, (unsigned long long)j,
                               all->w[j * CLASSES + k], one.w[j]);
        cr_expect_float_eq(all->w[d->cols * CLASSES + k], one.intercept, 2e-4);
        linear_fit_free(&one);
    }
    d->y = label;
    cr_expect_float_eq(all->objective, objective, 2e-9 * objective);
    cr_expect_float_eq(all->lambda_max, most, 1e-9 * most);
    cr_expect_eq(all->nonzeros, nonzeros);
}

Test(glm_fit, each_of_several_classes_is_fitted_against_the_rest)
{
    const strads_glm_options kinds[] = {
        {.penalty = "l1", .lambda_ratio = .1, .intercept = true},
        {.penalty = "elastic-net", .lambda = .05, .standardize = true},
        {.penalty = "ridge", .lambda_ratio = .1, .intercept = true}};

    for (size_t s = 0; s < 2; s++)
        for (size_t k = 0; k < 2 * sizeof(kinds) / sizeof(kinds[0]); k++) {
            lasso_design d = glm_design_random(&shapes[s], "squared");
            double offset[64];
            strads_glm_options o = kinds[k / 2];
            o.loss = k % 2 ? "squared-hinge" : "logistic";
            draw_classes(&d);
            for (uint64_t i = 0; i < d.rows; i++)
                offset[i] = (double)(i % 5) / 10;
            o.row_offset = k == 0 ? offset : NULL;
            for (uint32_t workers = 1; workers <= 2; workers++) {
                const strads_engine_options engine = {.workers = workers,
                                                      .partitions = 2 * workers,
                                                      .tolerance = 1e-10};
                linear_fit all =
                    linear_fit_run(&d, &strads_program_glm, &o, 1e-10, &engine);
                expect_ok(all.err);
                cr_assert_eq(all.width, CLASSES);
                cr_expect_eq(all.end, STRADS_END_CONVERGED, "gap %g", all.gap);
                expect_sum_of(&d, &o, &all);
                linear_fit_free(&all);
            }
            lasso_design_free(&d);
        }
}

/* From the solution, and from anywhere. */
Test(glm_fit, a_start_of_several_classes_is_of_each)
{
    const strads_glm_options o = {.loss = "logistic",
                                  .lambda_ratio = .1,
                                  .intercept = true};
    lasso_design d = glm_design_random(&shapes[0], "squared");
    uint32_t param[64];

    draw_classes(&d);
    linear_fit cold = fit_well(&d, &o, NULL);
    for (uint32_t j = 0; j <= d.cols; j++)
        param[j] = j;
    const strads_engine_options engine = {.n_start = d.cols + 1,
                                          .start_param = param,
                                          .start_value = cold.w};
    for (int far = 0; far < 2; far++) {
        linear_fit warm = fit_well(&d, &o, &engine);
        cr_expect_float_eq(warm.lambda, cold.lambda, 1e-9 * cold.lambda);
        cr_expect_float_eq(warm.objective, cold.objective,
                           1e-9 * cold.objective);
        linear_fit_free(&warm);
        for (uint64_t k = 0; k < d.cols * CLASSES; k++)
            cold.w[k] = (double)(k % 7) / 3 - 1;
    }
    linear_fit_free(&cold);
    lasso_design_free(&d);
}

/* A gap is relative to what the data are worth, and never to P at the start,
 * which may be as large as the start values are. */
Test(glm_fit, a_start_far_off_is_no_excuse_for_a_wide_gap)
{
    static const char *const names[] = {"multinomial", "logistic", "huber",
                                        "squared-hinge", "squared"};
    const lasso_recipe recipe = {.rows = 60, .cols = 12, .seed = 3, .noise = 1};
    const double sizes[] = {1e3, 1e6, 1e9, 1e12};
    uint32_t param[64];
    double start[64 * CLASSES];
    int converged = 0;

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        const bool classes = n == 0;
        const uint32_t width = classes ? CLASSES : 1;
        strads_glm_options o = {.loss = names[n],
                                .penalty = "l1",
                                .lambda = .01,
                                .intercept = true};
        lasso_design d =
            glm_design_random(&recipe, classes ? "squared" : names[n]);
        if (classes)
            draw_classes(&d);
        linear_fit cold =
            linear_fit_run(&d, &strads_program_glm, &o, 1e-10, NULL);
        expect_ok(cold.err);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            for (uint32_t j = 0; j <= d.cols; j++)
                param[j] = j;
            for (uint64_t k = 0; k < (d.cols + 1) * width; k++)
                start[k] = sizes[s] * ((double)(k * k % 7) / 3 - 1);
            const strads_engine_options engine = {.n_start = d.cols + 1,
                                                  .start_param = param,
                                                  .start_value = start,
                                                  .time_limit = 20,
                                                  .tolerance = 1e-6};
            linear_fit warm =
                linear_fit_run(&d, &strads_program_glm, &o, 1e-6, &engine);
            if (!warm.err && warm.end == STRADS_END_CONVERGED) {
                converged++;
                cr_expect_leq(warm.objective,
                              cold.objective * (1 + warm.gap + 1e-8),
                              "%s from %g: %.12g, not %.12g, gap %g", names[n],
                              sizes[s], warm.objective, cold.objective,
                              warm.gap);
            }
            if (!warm.err)
                linear_fit_free(&warm);
        }
        linear_fit_free(&cold);
        lasso_design_free(&d);
    }
    cr_expect_geq(converged, 7, "%d", converged);
}

/* Exposures in another unit move b and nothing else. */
Test(glm_fit, the_unit_of_exposures_is_no_excuse_for_a_wide_gap)
{
    const lasso_recipe recipe = {.rows = 60, .cols = 12, .seed = 3, .noise = 1};
    double offset[64];

    for (int far = 0; far <= 1; far++) {
        const strads_glm_options o = {.loss = "poisson",
                                      .penalty = far ? "ridge" : "l1",
                                      .lambda = .01,
                                      .intercept = true,
                                      .row_offset = offset};
        lasso_design d = glm_design_random(&recipe, "poisson");
        for (uint64_t i = 0; i < d.rows; i++)
            offset[i] = (double)(i % 5) / 10;
        linear_fit near =
            linear_fit_run(&d, &strads_program_glm, &o, 1e-10, NULL);
        expect_ok(near.err);
        for (int sign = -1; sign <= 1; sign += 2) {
            for (uint64_t i = 0; i < d.rows; i++)
                offset[i] = (double)(i % 5) / 10 + sign * 25;
            linear_fit moved =
                linear_fit_run(&d, &strads_program_glm, &o, 1e-3, NULL);
            expect_ok(moved.err);
            cr_expect_eq(moved.end, STRADS_END_CONVERGED);
            cr_expect_leq(moved.objective,
                          near.objective * (1 + moved.gap + 1e-8),
                          "offsets by %d: %.9g, not %.9g, gap %g", sign * 25,
                          moved.objective, near.objective, moved.gap);
            linear_fit_free(&moved);
        }
        linear_fit_free(&near);
        lasso_design_free(&d);
    }
}

/* Labels that are not 0, 1, ...; in other places they have the same numbers. */
Test(glm_fit, classes_are_in_the_order_that_was_asked_for)
{
    const strads_engine_options engine = {.workers = 2, .deterministic = true};
    strads_glm_options o = {.loss = "logistic",
                            .lambda = .02,
                            .intercept = true};
    lasso_design d = logistic_design_classes(30, 1);
    linear_fit plain = fit_well(&d, &o, NULL);
    linear_fit again = fit_well(&d, &o, &engine);

    cr_expect_arr_eq(plain.w, again.w, d.cols * CLASSES * sizeof(double));
    o.classes = "10,3,0,-2";
    linear_fit turned = fit_well(&d, &o, NULL);
    for (uint64_t j = 0; j <= d.cols; j++)
        for (uint64_t k = 0; k < CLASSES; k++)
            cr_expect_float_eq(plain.w[j * CLASSES + k],
                               turned.w[j * CLASSES + CLASSES - 1 - k], 1e-4);
    linear_fit_free(&plain);
    linear_fit_free(&again);
    linear_fit_free(&turned);
    lasso_design_free(&d);
}
