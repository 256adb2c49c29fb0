/* Random programs: rounds of every kind in random order, with random blocks
 * that overlap those of other rounds. Without pipelining the model must equal
 * that of a serial loop. With it, the bits must equal those of one thread, on
 * threads and on simulated nodes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { PARAMETERS = 30, K = 5, ROUNDS = 40, BLOCKS_MAX = 4, SEEDS = 12 };
enum { SUM, OWN, WALK, ALONE, DRAIN, N_PHASES };

typedef struct mixed_config {
    uint64_t seed;
} mixed_config;

/* ---- random choices ------------------------------------------------------ */

static uint64_t draw(uint64_t seed, uint64_t round, uint64_t k)
{
    return strads_random_bits(seed, 9, round, k);
}

static uint32_t phase_of(uint64_t seed, uint64_t round)
{
    return (uint32_t)(draw(seed, round, 0) % N_PHASES);
}

/* Blocks of one round are disjoint; a range's position and size are its id. */
static uint32_t draw_blocks(uint64_t seed, uint64_t round, strads_block *blocks)
{
    uint32_t n = 1 + (uint32_t)(draw(seed, round, 1) % BLOCKS_MAX);
    for (uint32_t b = 0; b < n; b++) {
        uint32_t size = 1 + (uint32_t)(draw(seed, round, 2 + b) % 6);
        uint32_t first = b * 7 + (uint32_t)(draw(seed, round, 20 + b) % 2);
        blocks[b] = (strads_block){.id = first * 10 + size,
                                   .n = size,
                                   .first = first,
                                   .owner = (first + size) % K};
    }
    return n;
}

/* ---- effect of each kind of round ---------------------------------------- */

static double part(double value, uint32_t partition)
{
    return 0.5 * value / (partition + 2) - 0.01 * partition;
}

static double owned(double value, uint32_t partition)
{
    return 0.9 * value + 0.1 * partition;
}

static double walked(double value, uint32_t partition)
{
    return 0.99 * value + 0.01 * (partition + 1);
}

static double alone(double value)
{
    return 0.05 - 0.2 * value;
}

static double serial_sum(double value)
{
    double p[K];
    for (uint32_t k = 0; k < K; k++)
        p[k] = part(value, k);
    return ((p[0] + p[1]) + (p[2] + p[3])) + p[4];
}

static double serial_change(uint32_t phase, double value, uint32_t owner)
{
    double moved = value;
    if (phase == OWN)
        return owned(value, owner) - value;
    if (phase == ALONE)
        return alone(value);
    if (phase != WALK)
        return -serial_sum(value);
    for (uint32_t hop = 0; hop < K; hop++)
        moved = walked(moved, (owner + hop) % K);
    return moved - value;
}

static void run_serially(uint64_t seed, double *value)
{
    for (uint32_t j = 0; j < PARAMETERS; j++)
        value[j] = j;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        strads_block blocks[BLOCKS_MAX];
        uint32_t n = draw_blocks(seed, round, blocks);
        for (uint32_t b = 0; b < n; b++)
            for (uint32_t k = 0; k < blocks[b].n; k++)
                value[blocks[b].first + k] +=
                    serial_change(phase_of(seed, round),
                                  value[blocks[b].first + k], blocks[b].owner);
    }
}

/* ---- the program ------------------------------------------------------- */

TOY_SHAPE(mixed_shape, shape->parameters = PARAMETERS)

TOY_OPEN(mixed_open, PARAMETERS * sizeof(double))

static strads_err mixed_schedule(strads_turn *turn)
{
    const mixed_config *config = turn->config;
    strads_block blocks[BLOCKS_MAX];
    if (turn->round > ROUNDS)
        return strads_turn_stop(turn);
    uint32_t n = draw_blocks(config->seed, turn->round, blocks);
    return strads_turn_dispatch(turn, phase_of(config->seed, turn->round), n,
                                blocks);
}

static strads_err mixed_sum(strads_task *task)
{
    const double *replica = task->local;
    for (uint32_t k = 0; k < task->block.n; k++) {
        TOY_CHECK(task->value[k] == replica[task->block.first + k]);
        task->partial[k] = part(task->value[k], task->share->partition);
    }
    return STRADS_OK;
}

static strads_err mixed_own(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->value[k] = owned(task->value[k], task->share->partition);
    return STRADS_OK;
}

static strads_err mixed_walk(strads_task *task)
{
    uint64_t *visits = task->object;
    TOY_CHECK(*visits % K == task->step);
    ++*visits;
    for (uint32_t k = 0; k < task->block.n; k++)
        task->value[k] = walked(task->value[k], task->share->partition);
    return STRADS_OK;
}

static strads_err mixed_commit(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = commit->phase == ALONE ? alone(commit->value[k])
                                                   : -commit->partial[k];
    return STRADS_OK;
}

static const strads_phase mixed_phases[N_PHASES] = {
    [SUM] = {.name = "sum",
             .when = STRADS_WHEN_CALLED,
             .result = STRADS_RESULT_WORKERS,
             .update = mixed_sum,
             .aggregate = mixed_commit},
    [OWN] = {.name = "own",
             .to = STRADS_TO_OWNER,
             .when = STRADS_WHEN_CALLED,
             .update = mixed_own},
    [WALK] = {.name = "walk",
              .to = STRADS_TO_RING,
              .when = STRADS_WHEN_CALLED,
              .update = mixed_walk},
    [ALONE] = {.name = "alone",
               .to = STRADS_TO_NOBODY,
               .when = STRADS_WHEN_CALLED,
               .aggregate = mixed_commit},
    [DRAIN] = {.name = "drain",
               .when = STRADS_WHEN_CALLED,
               .exclusive = true,
               .update = mixed_sum,
               .aggregate = mixed_commit},
};

static const strads_program mixed = {.size = sizeof(strads_program),
                                     .name = "mixed",
                                     .shape = mixed_shape,
                                     .open = mixed_open,
                                     .close = free,
                                     .refresh = toy_replica_refresh,
                                     .schedule = mixed_schedule,
                                     .phases = mixed_phases,
                                     .n_phases = N_PHASES,
                                     .payload = &toy_counter};

static void run(uint64_t seed, uint32_t workers, uint32_t depth, double *value)
{
    const mixed_config config = {.seed = seed};
    uint32_t param[PARAMETERS];
    double start[PARAMETERS];
    for (uint32_t j = 0; j < PARAMETERS; j++) {
        param[j] = j;
        start[j] = j;
    }
    strads_result *result = NULL;
    strads_err err = toy_run_it(&(toy_run){.program = &mixed,
                                           .config = &config,
                                           .options = {.workers = workers,
                                                       .partitions = K,
                                                       .depth = depth,
                                                       .deterministic = true,
                                                       .n_start = PARAMETERS,
                                                       .start_param = param,
                                                       .start_value = start}},
                                &result);
    cr_assert_eq(err, STRADS_OK, "seed %d, W %u, depth %u: %s", (int)seed,
                 workers, depth, strads_error_text());
    memcpy(value, values_of(result), sizeof *value * PARAMETERS);
    strads_result_free(result);
}

Test(engine_mixed, without_pipelining_it_is_a_serial_loop)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            double got[PARAMETERS], want[PARAMETERS];
            run(seed, workers, 0, got);
            run_serially(seed, want);
            for (uint32_t j = 0; j < PARAMETERS; j++)
                cr_assert_float_eq(got[j], want[j], 1e-9,
                                   "seed %d, parameter %u", (int)seed, j);
        }
}

Test(engine_mixed, with_it_threads_and_nodes_give_the_same_bits)
{
    enum { DEPTHS = 5 };
    static double first[SEEDS][DEPTHS][PARAMETERS];
    double again[PARAMETERS];
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t depth = 0; depth < DEPTHS; depth++) {
            run(seed, 1, depth, first[seed][depth]);
            for (uint32_t workers = 2; workers <= 5; workers++) {
                run(seed, workers, depth, again);
                cr_assert_arr_eq(again, first[seed][depth], sizeof again,
                                 "seed %d, depth %u, W %u", (int)seed, depth,
                                 workers);
            }
        }
    toy_simulate_from_now_on();
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t depth = 0; depth < DEPTHS; depth++) {
            run(seed, 1 + (uint32_t)seed % K, depth, again);
            cr_assert_arr_eq(again, first[seed][depth], sizeof again,
                             "seed %d, depth %u, simulated", (int)seed, depth);
        }
}
