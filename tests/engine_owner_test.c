/* OWNER phases: each block goes to one partition, and its writes are the
 * commit. The oracle is the same loop over plain arrays. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { PARAMETERS = 40, WIDTH = 3, ROUNDS = 6, K_MAX = 13 };

/* The last holder of a block, as its partial reports it. */
typedef struct owner_config {
    bool halves; /* an aggregate commits half of the holder's change */
    bool ignores_values;
    uint64_t *records;
} owner_config;

TOY_SHAPE(owner_shape, shape->parameters = PARAMETERS, shape->width = WIDTH)

/* Block k of a round has the parameters that are k modulo the number of
 * blocks. Blocks are assigned to partitions in turn, so some partitions have
 * two and some none. */
static uint32_t blocks_of(uint32_t partitions)
{
    return partitions + partitions / 2;
}

static uint32_t owner_of(uint64_t round, uint32_t k, uint32_t partitions)
{
    return (uint32_t)((k * 2 + round) % partitions);
}

static strads_err owner_schedule(strads_turn *turn)
{
    if (turn->round > ROUNDS)
        return strads_turn_stop(turn);
    uint32_t K = *(uint32_t *)turn->state;
    uint32_t n = blocks_of(K);
    strads_block blocks[2 * K_MAX];
    uint32_t params[2 * K_MAX][PARAMETERS];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t size = 0;
        for (uint32_t j = k; j < PARAMETERS; j += n)
            params[k][size++] = j;
        blocks[k] = (strads_block){.id = k,
                                   .n = size,
                                   .param = params[k],
                                   .owner = owner_of(turn->round, k, K)};
    }
    return strads_turn_dispatch(turn, 0, n, blocks);
}

static double moved(double value, uint32_t partition, uint32_t param,
                    uint32_t column)
{
    return 0.5 * value + partition + 0.25 * param + column;
}

static strads_err owner_update(strads_task *task)
{
    const owner_config *config = task->config;
    TOY_CHECK(task->share->partition == task->block.owner);
    TOY_CHECK((task->value == NULL) == config->ignores_values);
    task->partial[0] = task->share->partition;
    task->partial[1] = (double)task->block.id;
    if (!task->value)
        return STRADS_OK;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t c = 0; c < WIDTH; c++) {
            double *value = &task->value[k * WIDTH + c];
            *value = moved(*value, task->share->partition,
                           strads_block_param(&task->block, k), c);
        }
    return STRADS_OK;
}

static strads_err owner_aggregate(strads_commit *commit)
{
    const owner_config *config = commit->config;
    TOY_CHECK(commit->partial_bytes == 2 * sizeof(double));
    TOY_CHECK(commit->partial[0] == commit->block.owner);
    TOY_CHECK(commit->partial[1] == (double)commit->block.id);
    ++*config->records;
    for (uint32_t k = 0; k < commit->block.n * WIDTH; k++) {
        TOY_CHECK(!config->ignores_values || commit->change[k] == 0);
        commit->change[k] = config->ignores_values ? 1
                            : config->halves       ? commit->change[k] / 2
                                                   : commit->change[k];
    }
    return STRADS_OK;
}

static void expected_values(uint32_t K, const owner_config *config,
                            double *value)
{
    memset(value, 0, sizeof *value * PARAMETERS * WIDTH);
    for (uint64_t round = 1; round <= ROUNDS; round++)
        for (uint32_t j = 0; j < PARAMETERS; j++)
            for (uint32_t c = 0; c < WIDTH; c++) {
                uint32_t owner = owner_of(round, j % blocks_of(K), K);
                double *at = &value[j * WIDTH + c];
                double change = moved(*at, owner, j, c) - *at;
                if (config->ignores_values)
                    change = 1;
                *at += config->halves ? change / 2 : change;
            }
}

static void check_run(uint32_t K, uint32_t workers, uint32_t depth,
                      bool aggregates, owner_config config)
{
    uint64_t records = 0;
    config.records = &records;
    const strads_phase phase = {.name = "own",
                                .to = STRADS_TO_OWNER,
                                .when = STRADS_WHEN_CALLED,
                                .ignores_values = config.ignores_values,
                                .partial = toy_two_numbers,
                                .update = owner_update,
                                .aggregate =
                                    aggregates ? owner_aggregate : NULL};
    const strads_program program = {.size = sizeof program,
                                    .name = "owner",
                                    .shape = owner_shape,
                                    .begin = toy_begin_partitions,
                                    .end = free,
                                    .schedule = owner_schedule,
                                    .phases = &phase,
                                    .n_phases = 1};
    strads_result *result =
        expect_run(&program, &config,
                   (strads_engine_options){.workers = workers,
                                           .partitions = K,
                                           .depth = depth,
                                           .deterministic = true});
    double want[PARAMETERS * WIDTH];
    expected_values(K, &config, want);
    uint64_t n;
    uint32_t width;
    const double *got = strads_result_values(result, &n, &width);
    cr_assert_eq(n, PARAMETERS);
    cr_assert_eq(width, WIDTH);
    for (uint32_t k = 0; k < PARAMETERS * WIDTH; k++)
        cr_assert_float_eq(got[k], want[k], 1e-12, "K %u, W %u, number %u", K,
                           workers, k);
    if (aggregates)
        cr_assert_eq(records, ROUNDS * blocks_of(K));
    strads_result_free(result);
}

static void check_all(bool aggregates, owner_config config)
{
    const uint32_t partitions[] = {1, 2, 3, 5, 8, 13};
    for (uint32_t k = 0; k < 6; k++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t depth = 0; depth <= 2; depth += 2)
                check_run(partitions[k], workers, depth, aggregates, config);
}

Test(engine_owner, values_that_the_holders_wrote_are_committed)
{
    check_all(false, (owner_config){0});
}

Test(engine_owner, an_aggregate_may_commit_half_of_it)
{
    check_all(true, (owner_config){.halves = true});
}

Test(engine_owner,
     a_phase_that_ignores_values_is_sent_none_and_commits_the_aggregates)
{
    check_all(true, (owner_config){.ignores_values = true});
}

Test(engine_owner, between_nodes_it_is_the_same)
{
    toy_simulate_from_now_on();
    check_all(false, (owner_config){0});
    check_all(true, (owner_config){.halves = true});
    check_all(true, (owner_config){.ignores_values = true});
}
