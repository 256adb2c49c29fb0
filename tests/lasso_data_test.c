/* Sets that are too large to be kept a second time are solved through the data,
 * block by block. That takes millions of entries, so here the Lasso's memory
 * may keep none: a program whose `begin` says so, and which counts the blocks.
 * The optimality conditions are the oracle, as everywhere. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "apps/lasso/lasso_columns.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"

static uint64_t blocks_through_data;

static strads_err begin_without_room(const void *config,
                                     const strads_data *data,
                                     const strads_shape *shape, void **out)
{
    const strads_err err = strads_program_lasso.begin(config, data, shape, out);

    if (!err) {
        lasso_state *state = *out;
        state->by_columns->always = state->by_columns->share = 0;
    }
    return err;
}

static strads_err count_block(strads_commit *commit)
{
    blocks_through_data++;
    return lasso_solve_block(commit);
}

static linear_fit fit_through_data(const lasso_design *design,
                                   const strads_lasso_options *options,
                                   const strads_engine_options *engine)
{
    strads_phase phases[LASSO_RECKON + 1];
    strads_program program = strads_program_lasso;

    cr_assert_eq(program.n_phases, sizeof(phases) / sizeof(phases[0]));
    memcpy(phases, program.phases, sizeof(phases));
    phases[LASSO_BLOCK].aggregate = count_block;
    program.phases = phases;
    program.begin = begin_without_room;
    blocks_through_data = 0;
    return linear_fit_run(design, &program, options, 1e-12, engine,
                          lasso_design_take);
}

/* More than 400 columns of few entries, which are solved through neither their
 * pairs nor, here, a copy of their own. */
static lasso_design large_set(void)
{
    return lasso_design_random(&(lasso_recipe){.rows = 3000,
                                               .cols = 900,
                                               .seed = 5,
                                               .density = .003,
                                               .correlation = .2,
                                               .noise = .5,
                                               .offset = .5});
}

static void expect_optimal(const lasso_design *design,
                           const strads_lasso_options *options,
                           const strads_engine_options *engine)
{
    linear_fit fit = fit_through_data(design, options, engine);

    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "gap %g", fit.gap);
    cr_expect_gt(blocks_through_data, 10);
    cr_expect_lt(lasso_violation(design, options, &fit), 1e-4);
    const double value = lasso_value(design, options, &fit);
    cr_expect_float_eq(value, fit.objective, 1e-9 * value);
    linear_fit_free(&fit);
}

Test(lasso_data, sets_without_room_for_a_copy_reach_the_optimum)
{
    const strads_lasso_options options[] = {
        {.lambda_ratio = .02},
        {.lambda_ratio = .02, .intercept = true, .standardize = true},
        {.lambda_ratio = .02, .l1_ratio = .7, .positive = true},
    };
    lasso_design design = large_set();

    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            const strads_engine_options engine = {.workers = workers,
                                                  .partitions = 4,
                                                  .depth = workers / 2,
                                                  .tolerance = 1e-11};
            expect_optimal(&design, &options[k], &engine);
        }
    lasso_design_free(&design);
}

Test(lasso_data, a_row_of_weight_c_is_c_rows)
{
    strads_lasso_options options = {.lambda_ratio = .02, .intercept = true};
    const strads_engine_options engine = {.workers = 2, .tolerance = 1e-10};
    lasso_design design = large_set();
    double *weight = calloc(design.rows, sizeof(double));

    for (uint64_t i = 0; i < design.rows; i++)
        weight[i] = (double)(i % 3);
    lasso_design many = lasso_design_repeated(&design, weight);
    linear_fit right = lasso_design_fit(&many, &options, &engine);
    options.row_weight = weight;
    linear_fit fit = fit_through_data(&design, &options, &engine);
    expect_ok(right.err);
    expect_ok(fit.err);
    cr_expect_gt(blocks_through_data, 10);
    cr_expect_float_eq(fit.objective, right.objective, 1e-9 * right.objective);
    cr_expect_float_eq(fit.intercept, right.intercept, 1e-6);
    cr_expect_lt(lasso_distance(&design, fit.w, right.w), 1e-4);
    linear_fit_free(&fit);
    linear_fit_free(&right);
    free(weight);
    lasso_design_free(&many);
    lasso_design_free(&design);
}

Test(lasso_data, they_end_where_sets_with_room_do)
{
    const strads_lasso_options options = {.lambda_ratio = .02};
    const strads_engine_options engine = {.workers = 2, .tolerance = 1e-10};
    lasso_design design = large_set();
    linear_fit with = lasso_design_fit(&design, &options, &engine);
    linear_fit without = fit_through_data(&design, &options, &engine);

    expect_ok(with.err);
    expect_ok(without.err);
    cr_expect_float_eq(with.objective, without.objective,
                       1e-8 * with.objective);
    linear_fit_free(&with);
    linear_fit_free(&without);
    lasso_design_free(&design);
}
