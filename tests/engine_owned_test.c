/* Owned parameters: the policy is opened for each partition, on its
 * parameters only, and the blocks of all partitions are dispatched together. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

/* Parameters: 3 without an owner, then one per row. Each visit adds 1 to a
 * row's parameter; after VISITS visits the row becomes inactive. */
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

TOY_BEGIN(owned_begin, sizeof(owned_state))

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

/* All parameters without an owner change in each round. */
static strads_err follow(strads_commit *commit)
{
    for (uint32_t k = 0; k < FREE; k++)
        commit->change[k] = 1;
    return STRADS_OK;
}

static strads_err owned_schedule(strads_turn *turn)
{
    owned_state *state = turn->state;
    const strads_block coefficients = {.id = 7, .n = FREE};
    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->idle)
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
                                       .ignores_values = true,
                                       .update = toy_does_nothing,
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
    strads_result *result =
        expect_run(&owned, NULL,
                   (strads_engine_options){.workers = workers,
                                           .partitions = K,
                                           .policy = policy,
                                           .max_rounds = 400,
                                           .deterministic = true});
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
    check_run(30, 2, "priority"); /* some partitions own no parameter */
}

Test(engine_owned, blocks_of_all_partitions_leave_in_one_round)
{
    strads_result *result =
        expect_run(&owned, NULL,
                   (strads_engine_options){.workers = 1,
                                           .partitions = 5,
                                           .max_rounds = 1,
                                           .deterministic = true});
    const owned_state *state = strads_result_state(result);
    cr_expect_eq(state->blocks, 5);
    cr_expect_eq(state->owners, 5);
    strads_result_free(result);
}

Test(engine_owned, a_model_holds_the_coefficients_alone)
{
    strads_model *model = NULL;
    strads_result *result =
        expect_run(&owned, NULL,
                   (strads_engine_options){.workers = 1, .partitions = 2});
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
    r.begin -= partition; /* overlaps the previous partition's range */
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

/* ---- pools ------------------------------------------------------------- */

enum { OWN, OTHERS, N_TOLD };

/* Updates any row of the pool, but no row of other pools, and reports which
 * kind it was. */
static strads_err pooled_update(strads_task *task)
{
    const uint32_t pool = strads_pool_of(task->shape, task->share->partition);
    TOY_CHECK(task->block.owner == task->share->partition);
    TOY_CHECK(task->first_peer == strads_pool_first(task->shape, pool));
    TOY_CHECK(task->first_peer + task->n_peers ==
              strads_pool_first(task->shape, pool + 1));
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint64_t i = strads_block_param(&task->block, k) - FREE;
        uint32_t p = 0;
        while (p < task->n_peers && i >= task->peer[p].share->rows.end)
            p++;
        TOY_CHECK(p < task->n_peers);
        TOY_CHECK(i >= task->peer[p].share->rows.begin);
        TOY_CHECK(task->peer[p].local == task->peer[p].share);
        task->value[k]++;
        task->partial[k] = VISITS - task->value[k];
        task->partial[task->block.n + (task->first_peer + p == task->block.owner
                                           ? OWN
                                           : OTHERS)]++;
    }
    return STRADS_OK;
}

static size_t pooled_partial(const strads_task *task)
{
    return task->block.n + N_TOLD;
}

static uint64_t visits_of[N_TOLD];

static strads_err pooled_aggregate(strads_commit *commit)
{
    for (uint32_t k = 0; k < N_TOLD; k++)
        visits_of[k] += (uint64_t)commit->partial[commit->block.n + k];
    return owned_aggregate(commit);
}

static strads_err pooled_open(const strads_task *task, void **local)
{
    *local = (void *)(uintptr_t)task->share;
    return STRADS_OK;
}

static void pooled_close(void *local)
{
    (void)local;
}

static const strads_phase pooled_phases[] = {{.name = "visit",
                                              .to = STRADS_TO_OWNER,
                                              .partial = pooled_partial,
                                              .update = pooled_update,
                                              .aggregate = pooled_aggregate},
                                             {.name = "follow",
                                              .when = STRADS_WHEN_CALLED,
                                              .ignores_values = true,
                                              .update = toy_does_nothing,
                                              .aggregate = follow}};

static strads_program pooled_program(void)
{
    strads_program p = owned;

    p.phases = pooled_phases;
    p.open = pooled_open;
    p.close = pooled_close;
    p.pooled = true;
    return p;
}

Test(engine_owned, rows_of_a_pool_are_dealt_out_among_its_partitions)
{
    const strads_program pooled = pooled_program();

    for (uint32_t pools = 0; pools <= 5; pools++) {
        memset(visits_of, 0, sizeof(visits_of));
        strads_result *result =
            expect_run(&pooled, NULL,
                       (strads_engine_options){.workers = 2,
                                               .partitions = 5,
                                               .pools = pools,
                                               .max_rounds = 400,
                                               .deterministic = true});
        uint64_t n;
        uint32_t width;
        const double *value = strads_result_values(result, &n, &width);
        for (uint64_t i = FREE; i < n; i++)
            cr_expect_geq(value[i], VISITS, "%u pools: row %llu has %g visits",
                          pools, (unsigned long long)(i - FREE), value[i]);
        cr_expect_gt(visits_of[OWN], 0);
        if (pools == 5)
            cr_expect_eq(visits_of[OTHERS], 0, "rows left their partition");
        else
            cr_expect_gt(visits_of[OTHERS], 0, "%u pools: no row was dealt",
                         pools);
        strads_result_free(result);
    }
}

/* From the second round on, the first partition updates all rows. */
static strads_err to_one_hand(strads_commit *commit)
{
    TOY_CHECK(commit->round < 3 || commit->block.owner == 0);
    strads_commit_max_partitions(commit, 1);
    return pooled_aggregate(commit);
}

Test(engine_owned, a_pool_splits_its_rows_among_the_given_number_of_partitions)
{
    strads_program pooled = pooled_program();
    strads_phase few[2];

    memcpy(few, pooled_phases, sizeof(few));
    few[0].aggregate = to_one_hand;
    pooled.phases = few;
    strads_result *result =
        expect_run(&pooled, NULL,
                   (strads_engine_options){.workers = 2,
                                           .partitions = 5,
                                           .pools = 1,
                                           .max_rounds = 400,
                                           .deterministic = true});
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    for (uint64_t i = FREE; i < n; i++)
        cr_expect_geq(value[i], VISITS, "row %llu has %g visits",
                      (unsigned long long)(i - FREE), value[i]);
    strads_result_free(result);
}

Test(engine_owned, the_same_pools_give_the_same_bits_on_any_workers)
{
    const strads_program pooled = pooled_program();
    uint64_t seen[2][N_TOLD];

    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        memset(visits_of, 0, sizeof(visits_of));
        strads_result *result =
            expect_run(&pooled, NULL,
                       (strads_engine_options){.workers = workers,
                                               .partitions = 6,
                                               .pools = 2,
                                               .max_rounds = 400,
                                               .deterministic = true});
        memcpy(seen[workers / 4], visits_of, sizeof(visits_of));
        strads_result_free(result);
    }
    cr_expect_arr_eq(seen[0], seen[1], sizeof(seen[0]));
}

Test(engine_owned, pools_are_refused_where_they_make_no_sense)
{
    const strads_program pooled = pooled_program();
    const struct {
        const strads_program *program;
        uint32_t pools;
        const char *says;
    } cases[] = {{&owned, 1, "leave pools out"},
                 {&pooled, 6, "6 pools for 5 partitions"}};

    for (size_t k = 0; k < 2; k++) {
        strads_result *result = NULL;
        const toy_run run = {.program = cases[k].program,
                             .options = {.workers = 1,
                                         .partitions = 5,
                                         .pools = cases[k].pools}};
        expect_error(toy_run_it(&run, &result), STRADS_EINVAL, cases[k].says);
    }
}
