/* Commits that the engine reports to workers and aggregates. Every partition
 * keeps a replica of all parameters by `refresh` alone. The store adds the same
 * changes in the same order, so values at dispatch must be bit-identical. Block
 * ids increase through the run, so that blocks in flight can be identified. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { PARAMETERS = 24, WIDTH = 2, NUMBERS = PARAMETERS * WIDTH, ROUNDS = 40 };

enum { TELL, ALONE };

typedef struct refresh_config {
    uint32_t blocks, depth;
    bool starts, deterministic;
    bool alone; /* every third round goes to NOBODY, and is committed at once */
    uint64_t *commits;   /* blocks committed */
    uint32_t *since_max; /* largest number of commits that a partial had not
                          * seen */
} refresh_config;

static const uint32_t START_PARAM[] = {5, 0, 23};
static const double START_VALUE[] = {1, 2, 3, 4, 5, 6};

/* A replica of a partition or of the coordinator. */
typedef struct replica {
    uint64_t version;
    uint32_t calls;
    double value[NUMBERS];
} replica;

static strads_err apply(replica *r, const strads_change *change)
{
    TOY_CHECK(change->version == r->version + 1);
    TOY_CHECK(change->n > 0);
    r->version = change->version;
    for (uint32_t k = 0; k < change->n; k++) {
        TOY_CHECK(change->param[k] < PARAMETERS);
        for (uint32_t c = 0; c < WIDTH; c++)
            r->value[change->param[k] * WIDTH + c] +=
                change->change[k * WIDTH + c];
    }
    return STRADS_OK;
}

static strads_err check_start(const strads_change *first)
{
    TOY_CHECK(first->version == 1);
    TOY_CHECK(first->n == 3);
    TOY_CHECK(memcmp(first->param, START_PARAM, sizeof START_PARAM) == 0);
    TOY_CHECK(memcmp(first->change, START_VALUE, sizeof START_VALUE) == 0);
    return STRADS_OK;
}

/* ---- worker ------------------------------------------------------------ */

TOY_SHAPE(refresh_shape, shape->parameters = PARAMETERS, shape->width = WIDTH)

static strads_err open_replica(const strads_task *task, void **local)
{
    TOY_CHECK(task->width == WIDTH);
    *local = calloc(1, sizeof(replica));
    return *local ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory");
}

static strads_err refresh(strads_task *task, const strads_change *changes,
                          uint32_t n)
{
    const refresh_config *config = task->config;
    replica *r = task->local;
    TOY_CHECK(n > 0);
    strads_err err = STRADS_OK;
    if (config->starts && r->calls++ == 0)
        err = check_start(&changes[0]);
    for (uint32_t k = 0; k < n && !err; k++)
        err = apply(r, &changes[k]);
    return err;
}

static bool is_in_flight(const strads_task *task, uint64_t id)
{
    for (uint32_t k = 0; k < task->n_in_flight; k++)
        if (task->in_flight[k].id == id)
            return true;
    return false;
}

/* Every block changes some parameter, so the version is the number of
 * committed blocks. Of the blocks of earlier rounds exactly these are not in
 * flight. If commits are in order, they are the oldest blocks. */
static strads_err check_flying(const strads_task *task)
{
    const refresh_config *config = task->config;
    const replica *r = task->local;
    uint64_t committed = r->version - config->starts;
    uint64_t earlier = (task->round - 1) * config->blocks;
    TOY_CHECK(committed % config->blocks == 0);
    TOY_CHECK(committed + task->n_in_flight == earlier);
    TOY_CHECK(task->n_in_flight <= config->depth * config->blocks);
    TOY_CHECK(!is_in_flight(task, task->block.id));
    bool oldest = config->deterministic && !config->alone;
    for (uint64_t id = committed; oldest && id < earlier; id++)
        TOY_CHECK(is_in_flight(task, id));
    return STRADS_OK;
}

static size_t two(const strads_task *task)
{
    (void)task;
    return 2 * sizeof(double);
}

static strads_err tell_version(strads_task *task)
{
    const replica *r = task->local;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t c = 0; c < WIDTH; c++)
            TOY_CHECK(
                task->value[k * WIDTH + c] ==
                r->value[strads_block_param(&task->block, k) * WIDTH + c]);
    task->partial[0] = (double)r->version;
    task->partial[1] = -(double)r->version;
    return check_flying(task);
}

/* ---- coordinator ------------------------------------------------------- */

static strads_err begin(const void *config, const strads_data *data,
                        const strads_shape *shape, void **state)
{
    const refresh_config *c = config;
    (void)data, (void)shape;
    replica *r = calloc(1, sizeof *r);
    if (!r)
        return strads_fail(STRADS_ENOMEM, "no memory");
    r->version = c->starts;
    for (uint32_t k = 0; c->starts && k < 3; k++)
        memcpy(r->value + START_PARAM[k] * WIDTH, START_VALUE + k * WIDTH,
               sizeof(double) * WIDTH);
    *state = r;
    return STRADS_OK;
}

static strads_err schedule(strads_turn *turn)
{
    const refresh_config *config = turn->config;
    if (turn->round > ROUNDS)
        return strads_turn_stop(turn);
    strads_block blocks[8];
    uint32_t params[8][3];
    for (uint32_t b = 0; b < config->blocks; b++) {
        uint64_t id = (turn->round - 1) * config->blocks + b;
        for (uint32_t k = 0; k < 3; k++)
            params[b][k] = (uint32_t)(id * 5 + k * 7) % PARAMETERS;
        blocks[b] = (strads_block){.id = id, .n = 3, .param = params[b]};
    }
    bool alone = config->alone && turn->round % 3 == 0;
    return strads_turn_dispatch(turn, alone ? ALONE : TELL, config->blocks,
                                blocks);
}

static double random_step(uint64_t id, uint32_t k)
{
    return strads_random_unit(5, id, k, 0) - 0.5;
}

static strads_err check_since(const strads_commit *commit, const replica *r,
                              uint64_t known)
{
    TOY_CHECK(commit->n_since == r->version - known);
    for (uint32_t k = 0; k < commit->n_since; k++)
        TOY_CHECK(commit->since[k].version == known + 1 + k);
    return STRADS_OK;
}

static strads_err aggregate(strads_commit *commit)
{
    const refresh_config *config = commit->config;
    replica *r = commit->state;
    uint64_t known = r->version - commit->n_since;
    TOY_CHECK((commit->partial_bytes == 0) == (commit->phase == ALONE));
    if (commit->partial_bytes) {
        TOY_CHECK(commit->partial[0] == -commit->partial[1]);
        known = (uint64_t)commit->partial[0];
    }
    strads_err err = check_since(commit, r, known);
    if (err)
        return err;
    if (commit->n_since > *config->since_max)
        *config->since_max = commit->n_since;
    ++*config->commits;
    r->version++;
    for (uint32_t k = 0; k < commit->block.n; k++)
        for (uint32_t c = 0; c < WIDTH; c++) {
            double step = random_step(commit->block.id, k * WIDTH + c);
            double *mine =
                &r->value[strads_block_param(&commit->block, k) * WIDTH + c];
            TOY_CHECK(commit->value[k * WIDTH + c] == *mine);
            commit->change[k * WIDTH + c] = step;
            *mine += step;
        }
    return STRADS_OK;
}

/* ---- runs -------------------------------------------------------------- */

static void run(refresh_config config, uint32_t workers, uint32_t partitions)
{
    uint64_t commits = 0;
    uint32_t since_max = 0;
    config.commits = &commits;
    config.since_max = &since_max;
    const strads_phase phases[] = {[TELL] = {.name = "tell",
                                             .merge = STRADS_MERGE_OWN,
                                             .merge_with = toy_keep_larger,
                                             .when = STRADS_WHEN_CALLED,
                                             .partial = two,
                                             .update = tell_version,
                                             .aggregate = aggregate},
                                   [ALONE] = {.name = "alone",
                                              .to = STRADS_TO_NOBODY,
                                              .when = STRADS_WHEN_CALLED,
                                              .aggregate = aggregate}};
    const strads_program program = {.size = sizeof program,
                                    .name = "refresh",
                                    .shape = refresh_shape,
                                    .begin = begin,
                                    .end = free,
                                    .open = open_replica,
                                    .close = free,
                                    .refresh = refresh,
                                    .schedule = schedule,
                                    .phases = phases,
                                    .n_phases = 2};
    strads_result *result = NULL;
    strads_err err =
        toy_run_it(&(toy_run){.program = &program,
                              .config = &config,
                              .options = {.workers = workers,
                                          .partitions = partitions,
                                          .depth = config.depth,
                                          .deterministic = config.deterministic,
                                          .n_start = config.starts ? 3 : 0,
                                          .start_param = START_PARAM,
                                          .start_value = START_VALUE}},
                   &result);
    cr_assert_eq(err, STRADS_OK, "depth %u, W %u, %u blocks: %s", config.depth,
                 workers, config.blocks, strads_error_text());
    cr_assert_eq(commits, ROUNDS * config.blocks);
    cr_assert(config.alone ||
              since_max <= (config.depth + 1) * config.blocks - 1);
    const double *got = values_of(result);
    const replica *r = strads_result_state(result);
    cr_assert_arr_eq(got, r->value, sizeof r->value);
    strads_result_free(result);
}

static void run_all(refresh_config config)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t blocks = 1; blocks <= 3; blocks++) {
                config.blocks = blocks;
                config.depth = depth;
                run(config, workers, workers + blocks);
            }
}

Test(engine_refresh, every_change_comes_once_in_order_before_later_updates)
{
    run_all((refresh_config){.deterministic = true});
}

Test(engine_refresh, so_it_does_as_deep_as_rounds_may_be)
{
    for (uint32_t blocks = 1; blocks <= 3; blocks++)
        run((refresh_config){.blocks = blocks,
                             .depth = 16,
                             .deterministic = true},
            2, 5);
}

Test(engine_refresh, so_it_does_when_commits_go_by_arrival)
{
    run_all((refresh_config){0});
}

Test(engine_refresh, start_values_are_the_first_change)
{
    run_all((refresh_config){.starts = true, .deterministic = true});
}

Test(engine_refresh, refresh_delivers_commits_of_phases_to_nobody_like_others)
{
    run_all((refresh_config){.alone = true, .deterministic = true});
    run_all((refresh_config){.alone = true, .starts = true});
}

Test(engine_refresh, between_nodes_changes_come_in_order_too)
{
    toy_simulate_from_now_on();
    run_all((refresh_config){.starts = true, .deterministic = true});
    run_all((refresh_config){.alone = true});
}
