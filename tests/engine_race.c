/* Runs on 1, 2 and 4 threads at depth 0 to 4, for a race detector to watch: a
 * ridge regression with probes, pipelined rounds and up to three schedulers,
 * blocks that travel with an object, results that every worker receives,
 * failures and stops in the middle. Exits with 1 when a result is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/toy_data.h"
#include "tests/toy_policy.h"
#include "tests/toy_ridge.h"

enum { ROWS = 60, COLS = 40, PARTITIONS = 5, LAPS = 12 };
static const double LAMBDA = 3;

static int wrong;

static void expect(bool right, const char *what, uint32_t workers,
                   uint32_t depth)
{
    if (right)
        return;
    wrong = 1;
    fprintf(stderr, "%s: wrong with %u workers at depth %u: %s\n", what,
            workers, depth, strads_error_text());
}

/* ---- ridge ------------------------------------------------------------- */

static void train(const double *solution, uint32_t workers, uint32_t depth,
                  bool deterministic)
{
    const toy_ridge_config config = {.lambda = LAMBDA};
    strads_result *result = NULL;
    strads_err err =
        toy_run_it(&(toy_run){.program = &toy_ridge,
                              .config = &config,
                              .rows = ROWS,
                              .cols = COLS,
                              .options = {.workers = workers,
                                          .partitions = PARTITIONS,
                                          .blocks = 2,
                                          .schedulers = 1 + depth % 3,
                                          .depth = depth,
                                          .tolerance = 1e-8,
                                          .max_rounds = 100000,
                                          .deterministic = deterministic}},
                   &result);
    bool right = err == STRADS_OK;
    if (right) {
        uint64_t n;
        uint32_t width;
        const double *w = strads_result_values(result, &n, &width);
        for (uint64_t j = 0; j < n; j++)
            right = right && fabs(w[j] - solution[j]) < 1e-7;
    }
    strads_result_free(result);
    expect(right, "ridge", workers, depth);
}

/* ---- a ring and its objects -------------------------------------------- */

/* The stop flag is the user's: another thread, or a signal, sets it. */
typedef struct walk_config {
    uint64_t fail_round, stop_round;
    volatile bool stop;
} walk_config;

TOY_OPEN_OBJECT(open_object, sizeof(uint64_t))

static const strads_payload object_payload = {.open = open_object,
                                              .close = free};

static strads_err walk_schedule(strads_turn *turn)
{
    walk_config *config = (walk_config *)(uintptr_t)turn->config;
    if (turn->round > LAPS)
        return strads_turn_stop(turn);
    if (turn->round == config->stop_round)
        config->stop = true;
    strads_block blocks[7];
    for (uint32_t b = 0; b < 7; b++)
        blocks[b] =
            (strads_block){.id = (turn->round % 2) * 7 + b,
                           .n = 2,
                           .first = (uint32_t)(turn->round % 2) * 14 + 2 * b,
                           .owner = b % PARTITIONS};
    return strads_turn_dispatch(turn, 0, 7, blocks);
}

static strads_err walk_update(strads_task *task)
{
    const walk_config *config = task->config;
    uint64_t *visits = task->object;
    ++*visits;
    task->value[0] += 1;
    task->value[1] += (double)*visits;
    task->partial[0] = 1;
    return task->round == config->fail_round && task->step == 2
               ? strads_fail(STRADS_EPROGRAM, "the ring broke")
               : STRADS_OK;
}

static strads_err walk_receive(strads_task *task)
{
    return task->partial[0] == PARTITIONS
               ? STRADS_OK
               : strads_fail(STRADS_EPROGRAM, "a lap of %g", task->partial[0]);
}

static const strads_phase walk_phase = {.name = "walk",
                                        .to = STRADS_TO_RING,
                                        .result = STRADS_RESULT_WORKERS,
                                        .when = STRADS_WHEN_CALLED,
                                        .update = walk_update,
                                        .receive = walk_receive};

static const strads_program walk = {.size = sizeof(strads_program),
                                    .name = "walk",
                                    .schedule = walk_schedule,
                                    .phases = &walk_phase,
                                    .n_phases = 1,
                                    .payload = &object_payload};

static strads_err walk_it(walk_config *config, uint32_t workers, uint32_t depth,
                          strads_result **result)
{
    return toy_run_it(&(toy_run){.program = &walk,
                                 .config = config,
                                 .cols = 28,
                                 .options = {.workers = workers,
                                             .partitions = PARTITIONS,
                                             .depth = depth,
                                             .stop = &config->stop}},
                      result);
}

static void check_walks(uint32_t workers, uint32_t depth)
{
    strads_result *result = NULL;
    walk_config config = {0};
    strads_err err = walk_it(&config, workers, depth, &result);
    bool right = err == STRADS_OK;
    const double steps = PARTITIONS * LAPS / 2;
    if (right) {
        uint64_t n;
        uint32_t width;
        const double *value = strads_result_values(result, &n, &width);
        for (uint64_t j = 0; j < n; j++)
            right =
                right && value[j] == (j % 2 ? steps * (steps + 1) / 2 : steps);
    }
    strads_result_free(result);
    expect(right, "ring", workers, depth);
    config = (walk_config){.fail_round = 4};
    err = walk_it(&config, workers, depth, NULL);
    expect(err == STRADS_EPROGRAM, "failing ring", workers, depth);
    config = (walk_config){.stop_round = 5};
    err = walk_it(&config, workers, depth, NULL);
    expect(err == STRADS_OK, "stopped ring", workers, depth);
}

int main(void)
{
    double solution[COLS];
    if (!toy_ridge_solve(ROWS, COLS, LAMBDA, solution))
        return 1;
    for (uint32_t workers = 1; workers <= 4; workers *= 2)
        for (uint32_t depth = 0; depth <= 4; depth++) {
            train(solution, workers, depth, true);
            train(solution, workers, depth, false);
            check_walks(workers, depth);
        }
    return wrong;
}
