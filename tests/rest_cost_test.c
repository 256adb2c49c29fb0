/* The cost of a round does not grow with inactive columns: the counted work
 * is the same with 10,000 columns, with 100,000, and with a million that are
 * mostly empty. Only a scan reads all columns. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/sim_toy.h"
#include "tests/toy_data.h"

enum { MILLION = 1000000 };

/* ---- whole runs ---------------------------------------------------------- */

/* The design with empty columns appended. */
static strads_data *widened(const lasso_design *design, uint64_t cols)
{
    uint64_t *start = malloc((cols + 1) * sizeof *start);
    uint32_t *index = malloc(design->rows * design->cols * sizeof *index);
    double *value = malloc(design->rows * design->cols * sizeof *value);
    cr_assert(start && index && value);
    uint64_t n = 0;
    for (uint64_t j = 0; j < design->cols; j++) {
        start[j] = n;
        for (uint64_t i = 0; i < design->rows; i++) {
            const double x = lasso_design_col(design, j)[i];
            index[n] = (uint32_t)i;
            value[n] = x;
            n += x != 0;
        }
    }
    for (uint64_t j = design->cols; j <= cols; j++)
        start[j] = n;
    const strads_columns columns = {.rows = design->rows,
                                    .cols = cols,
                                    .start = start,
                                    .index = index,
                                    .value = value,
                                    .label = design->y};
    const strads_data_options options = {.size = sizeof options,
                                         .split = STRADS_SPLIT_ROWS,
                                         .layout = STRADS_LAYOUT_COLS,
                                         .partitions = 2};
    strads_data *data = NULL;
    expect_ok(strads_data_from_columns(&columns, &options, &data));
    free(start);
    free(index);
    free(value);
    return data;
}

typedef struct cost {
    strads_progress progress;
    strads_sim_outcome outcome;
} cost;

static cost cost_of(const strads_program *program, const void *config,
                    const lasso_design *design, uint64_t cols,
                    strads_engine_options options)
{
    strads_data *data = widened(design, cols);
    strads_sim_options sim = sim_toy_nodes(2);
    cost c;
    options.size = sizeof options;
    options.partitions = options.workers = 2;
    options.deterministic = true;
    strads_result *result =
        sim_toy_simulate(program, config, data, &options, &sim, &c.outcome);
    c.progress = *strads_result_progress(result);
    strads_result_free(result);
    strads_data_free(data);
    return c;
}

static void expect_same_work(const cost *few, const cost *many)
{
    cr_expect_gt(few->progress.round, 5);
    cr_expect_eq(few->progress.round, many->progress.round);
    cr_expect_eq(few->progress.updates_policy, many->progress.updates_policy);
    cr_expect_eq(few->progress.updates_other, many->progress.updates_other);
    cr_expect_eq(few->progress.probes, many->progress.probes);
    cr_expect_eq(few->outcome.messages, many->outcome.messages);
    cr_expect_eq(few->outcome.dispatches.bytes, many->outcome.dispatches.bytes,
                 "%llu bytes of dispatches, %llu with empty columns",
                 (unsigned long long)few->outcome.dispatches.bytes,
                 (unsigned long long)many->outcome.dispatches.bytes);
}

Test(rest_cost, a_fit_does_the_same_with_a_million_empty_columns)
{
    const lasso_recipe recipe = {.rows = 80,
                                 .cols = 200,
                                 .seed = 5,
                                 .density = .5,
                                 .correlation = .5,
                                 .noise = .5};
    const strads_glm_options fits[] = {{.loss = "squared", .lambda_ratio = .02},
                                       {.loss = "logistic",
                                        .lambda_ratio = .05}};
    const strads_engine_options options = {.tolerance = 1e-8};
    for (int k = 0; k < 2; k++) {
        lasso_design design = glm_design_random(&recipe, fits[k].loss);
        const cost few =
            cost_of(&strads_program_glm, &fits[k], &design, 10000, options);
        const cost many =
            cost_of(&strads_program_glm, &fits[k], &design, MILLION, options);
        expect_same_work(&few, &many);
        lasso_design_free(&design);
    }
}

/* ---- rounds through the data --------------------------------------------- */

/* Steps on the first columns, in blocks of 8. A scan at the start sets the
 * active ones. Every message of every round is counted. */
enum { LOOK = 0, STEP = 1, BLOCK = 8 };

TOY_SHAPE(eight_a_block, shape->block_max = BLOCK)

static strads_err look(strads_commit *commit)
{
    const uint32_t moving = *(const uint32_t *)commit->config;
    uint32_t *all = malloc(commit->block.n * sizeof *all);
    double *priority = calloc(commit->block.n, sizeof *priority);
    if (!all || !priority) {
        free(all);
        free(priority);
        return strads_fail(STRADS_ENOMEM, "no memory");
    }
    for (uint32_t j = 0; j < commit->block.n; j++) {
        all[j] = j;
        priority[j] = j < moving;
    }
    strads_commit_prioritise(commit, commit->block.n, all, priority);
    free(all);
    free(priority);
    return STRADS_OK;
}

static strads_err step(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t j = strads_block_param(&task->block, k);
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            task->partial[k] += x->f64[e];
    }
    return STRADS_OK;
}

static strads_err take_step(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = 1 + fabs(commit->partial[k]);
    return STRADS_OK;
}

Test(rest_cost, rounds_through_the_data_send_the_same_bytes)
{
    static const strads_phase phases[] = {[LOOK] = {.name = "look",
                                                    .when = STRADS_WHEN_REST,
                                                    .to = STRADS_TO_NOBODY,
                                                    .aggregate = look},
                                          [STEP] = {.name = "step",
                                                    .update = step,
                                                    .aggregate = take_step}};
    static const strads_program program = {.size = sizeof program,
                                           .name = "resting",
                                           .shape = eight_a_block,
                                           .config_size = sizeof(uint32_t),
                                           .phases = phases,
                                           .n_phases = 2};
    const lasso_recipe recipe = {.rows = 30,
                                 .cols = 64,
                                 .seed = 7,
                                 .density = .5};
    const uint32_t moving = 64;
    lasso_design design = lasso_design_random(&recipe);
    for (uint32_t schedulers = 1; schedulers <= 4; schedulers += 3) {
        uint64_t bytes[2][2];
        for (uint32_t k = 0; k < 2; k++) {
            const strads_engine_options options = {.max_rounds = 25 * (k + 1),
                                                   .schedulers = schedulers};
            const cost few =
                cost_of(&program, &moving, &design, 10000, options);
            const cost many =
                cost_of(&program, &moving, &design, MILLION, options);
            expect_same_work(&few, &many);
            bytes[0][k] = few.outcome.bytes;
            bytes[1][k] = many.outcome.bytes;
        }
        /* The single scan sends schedulers on other nodes their priorities. */
        const uint64_t few = bytes[0][1] - bytes[0][0];
        const uint64_t many = bytes[1][1] - bytes[1][0];
        cr_expect_gt(few, 0);
        cr_expect_eq(few, many,
                     "%u schedulers: %llu bytes in 25 rounds, %llu with empty "
                     "columns",
                     schedulers, (unsigned long long)few,
                     (unsigned long long)many);
    }
    lasso_design_free(&design);
}
