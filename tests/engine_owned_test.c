/* Owned parameters: the policy is opened for each partition, on its parameters
 * alone, and all of their blocks leave together. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/toy_data.h"

/* Parameters: 3 that nobody owns, then one a row. Each visit adds 1 to a row's
 * parameter, and a row rests after VISITS of them. */
enum { FREE = 3, VISITS = 4 };

typedef struct owned_state {
    uint64_t blocks;
    uint64_t round;  /* of the last block */
    uint32_t owners; /* blocks of that round so far */
    uint64_t asked;  /* in `schedule` */
} owned_state;

static strads_err owned_shape(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config;
    shape->parameters = FREE + strads_data_rows(data);
    shape->coefficients = FREE;
    shape->block_max = 2;
    return STRADS_OK;
}

static strads_range owned_range(const void *config, const strads_data *data,
                                const strads_shape *shape, uint32_t partition)
{
    const strads_range rows = strads_data_part(data, partition);
    (void)config;
    (void)shape;
    return (strads_range){FREE + rows.begin, FREE + rows.end};
}

static strads_err owned_begin(const void *config, const strads_data *data,
                              const strads_shape *shape, void **state)
{
    (void)config, (void)data, (void)shape;
    *state = calloc(1, sizeof(owned_state));
    return *state ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory");
}

static size_t owned_partial(const strads_task *task)
{
    return task->block.n;
}

static strads_err owned_update(strads_task *task)
{
    const strads_range rows = task->share->rows;
    TOY_CHECK(task->block.owner == task->share->partition);
    TOY_CHECK(task->block.id >= STRADS_POLICY_BLOCK_IDS);
    TOY_CHECK(task->block.n >= 1 && task->block.n <= 2);
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t j = strads_block_param(&task->block, k);
        TOY_CHECK(j >= FREE + rows.begin && j < FREE + rows.end);
        task->value[k]++;
        task->partial[k] = VISITS - task->value[k];
    }
    return STRADS_OK;
}

static strads_err owned_aggregate(strads_commit *commit)
{
    owned_state *state = commit->state;
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] = commit->partial[k] > 0 ? commit->partial[k] : 0;
    state->blocks++;
    state->owners = commit->round == state->round ? state->owners + 1 : 1;
    state->round = commit->round;
    return STRADS_OK;
}

/* All parameters that nobody owns move with each round. */
static strads_err follow(strads_commit *commit)
{
    for (uint32_t k = 0; k < FREE; k++)
        commit->change[k] = 1;
    return STRADS_OK;
}

static strads_err nothing(strads_task *task)
{
    (void)task;
    return STRADS_OK;
}

static strads_err owned_schedule(strads_turn *turn)
{
    owned_state *state = turn->state;
    const strads_block coefficients = {.id = 7, .n = FREE};
    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->at_rest)
        return strads_turn_stop(turn);
    return ++state->asked % 2 ? strads_turn_policy(turn, 0)
                              : strads_turn_dispatch(turn, 1, 1, &coefficients);
}

static const strads_phase phases[] = {{.name = "visit",
                                       .to = STRADS_TO_OWNER,
                                       .partial = owned_partial,
                                       .update = owned_update,
                                       .aggregate = owned_aggregate},
                                      {.name = "follow",
                                       .when = STRADS_WHEN_CALLED,
                                       .blind = true,
                                       .update = nothing,
                                       .aggregate = follow}};

static const strads_program owned = {.size = sizeof(strads_program),
                                     .name = "owned",
                                     .layout = STRADS_LAYOUT_ROWS,
                                     .shape = owned_shape,
                                     .begin = owned_begin,
                                     .end = free,
                                     .schedule = owned_schedule,
                                     .phases = phases,
                                     .n_phases = 2,
                                     .owned = owned_range};

static void check_run(uint32_t K, uint32_t workers, const char *policy)
{
    strads_result *result = NULL;
    const toy_run run = {.program = &owned,
                         .options = {.workers = workers,
                                     .partitions = K,
                                     .policy = policy,
                                     .max_rounds = 400,
                                     .deterministic = true}};
    cr_assert_eq(toy_run_it(&run, &result), STRADS_OK, "%s",
                 strads_error_text());
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    const owned_state *state = strads_result_state(result);
    const strads_progress *progress = strads_result_progress(result);
    double visits = 0;
    cr_assert_eq(strads_result_coefficients(result), FREE);
    for (uint64_t i = FREE; i < n; i++) {
        cr_expect_geq(value[i], VISITS, "%s, K %u: row %llu has %g visits",
                      policy, K, (unsigned long long)(i - FREE), value[i]);
        visits += value[i];
    }
    cr_expect_eq(progress->blocks, state->blocks);
    cr_expect_eq((double)progress->updates_policy, visits);
    cr_expect_eq(progress->updates_other, 0, "what follows counts as updates");
    strads_result_free(result);
}

Test(engine_owned, each_partition_has_blocks_of_its_own_parameters)
{
    for (uint32_t K = 1; K <= 9; K += 4)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            check_run(K, workers, "priority");
    check_run(30, 2, "priority"); /* some own nothing */
}

Test(engine_owned, blocks_of_all_partitions_leave_in_one_round)
{
    strads_result *result = NULL;
    const toy_run run = {.program = &owned,
                         .options = {.workers = 1,
                                     .partitions = 5,
                                     .max_rounds = 1,
                                     .deterministic = true}};
    cr_assert_eq(toy_run_it(&run, &result), STRADS_OK, "%s",
                 strads_error_text());
    const owned_state *state = strads_result_state(result);
    cr_expect_eq(state->blocks, 5);
    cr_expect_eq(state->owners, 5);
    strads_result_free(result);
}

Test(engine_owned, a_model_holds_the_coefficients_alone)
{
    strads_result *result = NULL;
    strads_model *model = NULL;
    const toy_run run = {.program = &owned,
                         .options = {.workers = 1, .partitions = 2}};
    cr_assert_eq(toy_run_it(&run, &result), STRADS_OK, "%s",
                 strads_error_text());
    cr_assert_eq(strads_model_from_result(result, "owned", NULL, 0, &model),
                 STRADS_OK);
    cr_expect_eq(model->columns, FREE);
    cr_expect_eq(model->n, FREE);
    strads_model_free(model);
    strads_result_free(result);
}

static strads_range backwards(const void *config, const strads_data *data,
                              const strads_shape *shape, uint32_t partition)
{
    strads_range r = owned_range(config, data, shape, partition);
    r.begin -= partition; /* also what the one before owns */
    return r;
}

Test(engine_owned, ranges_that_overlap_are_refused)
{
    strads_program wrong = owned;
    wrong.owned = backwards;
    const toy_run run = {.program = &wrong,
                         .options = {.workers = 1, .partitions = 3}};
    cr_assert_eq(toy_run_it(&run, NULL), STRADS_EPROGRAM);
}
