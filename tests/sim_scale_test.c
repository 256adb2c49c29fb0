/* The duration of a round on many nodes, from its dispatch to its commit,
 * without computing, on a network with latency, bandwidth and a cost per
 * message at sender and receiver. */
#include <criterion/criterion.h>

#include "sim_toy.h"
#include "tests/toy_data.h"

enum { ROUNDS = 10 };
static const double latency = 50e-6;

/* Seconds per round of a program on this many workers, with as many
 * partitions. */
static double round_of(const strads_program *program, uint32_t workers,
                       double message_cost)
{
    strads_data *data = toy_data(&sim_toy_rounds, workers, 1, workers);
    strads_engine_options options = sim_toy_options(workers, 0);
    options.max_rounds = ROUNDS;
    strads_sim_options sim = sim_toy_nodes(workers);
    sim.latency = latency;
    sim.bandwidth = 1.25e9;
    sim.message_cost = message_cost;
    strads_sim_outcome outcome;
    strads_result *result =
        sim_toy_simulate(program, NULL, data, &options, &sim, &outcome);
    cr_assert_eq(strads_result_progress(result)->round, ROUNDS);
    strads_result_free(result);
    strads_data_free(data);
    /* OPEN and CLOSE take the same time. */
    return outcome.makespan / (ROUNDS + 2);
}

Test(sim_scale, a_round_of_1024_workers_stays_under_twelve_latencies)
{
    for (uint32_t workers = 1; workers <= 1024; workers *= 2) {
        const double one = round_of(&sim_toy_rounds, workers, 1e-6);
        const double two = round_of(&sim_toy_rounds, workers, 2e-6);
        cr_log_info("%4u workers: %.2f and %.2f latencies", workers,
                    one / latency, two / latency);
        cr_assert(one > 2 * latency && two > one);
        cr_assert(two < 12 * latency, "%u workers: %.2f latencies", workers,
                  two / latency);
    }
}

/* ---- with numbers ------------------------------------------------------ */

enum { NUMBERS = 2000, ENTRIES = 49 };

TOY_SHAPE(numbers, shape->parameters = NUMBERS)

static strads_err ones(strads_task *task)
{
    for (size_t k = 0; k < task->partial_bytes / sizeof(double); k++)
        task->partial[k] = 1;
    return STRADS_OK;
}

static strads_err expect_all(strads_commit *commit)
{
    for (uint32_t k = 0; k < NUMBERS; k++)
        if (commit->partial[k] != 1024)
            return strads_fail(STRADS_EPROGRAM, "%g of 1024 partitions came",
                               commit->partial[k]);
    return STRADS_OK;
}

static strads_err change_all(strads_commit *commit)
{
    for (uint32_t k = 0; k < NUMBERS; k++)
        commit->change[k] = 1;
    return expect_all(commit);
}

static size_t entries(const strads_task *task)
{
    (void)task;
    return ENTRIES * sizeof(double);
}

static strads_err expect_pieces(strads_commit *commit)
{
    const size_t bytes = 1024 * ENTRIES * sizeof(double);
    return commit->partial_bytes == bytes
               ? STRADS_OK
               : strads_fail(STRADS_EPROGRAM, "%zu bytes came, not %zu",
                             commit->partial_bytes, bytes);
}

static strads_err again(strads_turn *turn)
{
    return turn->in_flight ? strads_turn_wait(turn) : strads_turn_all(turn, 0);
}

/* Duration of a round of one phase on 1,024 workers, in latencies. */
static double latencies_of(strads_phase phase)
{
    phase.when = STRADS_WHEN_CALLED;
    phase.ignores_values = true;
    phase.update = ones;
    const strads_program program = {.size = sizeof program,
                                    .name = "numbers",
                                    .shape = numbers,
                                    .schedule = again,
                                    .phases = &phase,
                                    .n_phases = 1};
    return round_of(&program, 1024, 2e-6) / latency;
}

/* As many numbers as in a Lasso's scan of 2,000 columns, 16 KB. */
Test(sim_scale, a_round_of_2000_numbers_takes_few_latencies_more)
{
    const double round =
        latencies_of((strads_phase){.name = "scan", .aggregate = expect_all});
    cr_log_info("2,000 numbers: %.2f latencies", round);
    cr_assert_lt(round, 12);
}

/* The same with updates of as many changes, 24 KB. Sent whole, to up to 19
 * children, they take 5.9 latencies more, in pieces 3.1. */
Test(sim_scale, updates_of_2000_changes_take_few_latencies_more)
{
    const double round =
        latencies_of((strads_phase){.name = "scan", .aggregate = change_all});
    cr_log_info("2,000 numbers and changes: %.2f latencies", round);
    cr_assert_lt(round, 15);
}

/* Records of 400 KB that are concatenated, like columns' entries. The ports
 * of the root and of the coordinator need 6.4 latencies each to receive them.
 */
Test(sim_scale, records_of_all_pass_the_root_and_the_coordinator)
{
    const double round =
        latencies_of((strads_phase){.name = "columns",
                                    .partial = entries,
                                    .merge = STRADS_MERGE_CONCAT,
                                    .aggregate = expect_pieces});
    cr_log_info("400 KB of records: %.2f latencies", round);
    cr_assert_lt(round, 22);
}

/* ---- with choosing ----------------------------------------------------- */

enum { COLS = 16, CHOSEN = 40 };

TOY_SHAPE(four_a_block, shape->parameters = COLS, shape->block_max = 4)

/* Each parameter depends only on itself. */
static strads_err apart(strads_task *task)
{
    uint32_t m = task->against.n;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < m; l++)
            task->partial[k * m + l] = strads_block_param(&task->block, k) ==
                                       strads_block_param(&task->against, l);
    return STRADS_OK;
}

static strads_err go_on(strads_commit *commit)
{
    if (!strads_commit_pairs(commit))
        return strads_fail(STRADS_EPROGRAM, "a block left unprobed");
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = 1;
    return STRADS_OK;
}

/* Duration of a round of 1,024 workers, including probes, in latencies, if a
 * choice of the priority policy costs this much. */
static double latencies_with(uint32_t schedulers, double choose_cost)
{
    static const strads_phase phases[] = {
        {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = apart},
        {.name = "step", .update = toy_does_nothing, .aggregate = go_on}};
    static const strads_program program = {.size = sizeof program,
                                           .name = "chosen",
                                           .shape = four_a_block,
                                           .phases = phases,
                                           .n_phases = 2};
    strads_data *data = toy_data(&sim_toy_rounds, 1024, 1, 1024);
    strads_engine_options options = sim_toy_options(1024, 0);
    options.policy = "priority";
    options.schedulers = schedulers;
    options.max_rounds = CHOSEN;
    strads_sim_options sim = sim_toy_nodes(1024);
    sim.latency = latency;
    sim.bandwidth = 1.25e9;
    sim.message_cost = 1e-6;
    sim.choose_cost = choose_cost;
    strads_sim_outcome outcome;
    strads_result *result =
        sim_toy_simulate(&program, NULL, data, &options, &sim, &outcome);
    cr_assert_eq(outcome.schedulers, schedulers);
    cr_assert_gt(strads_result_progress(result)->probes, 0);
    cr_assert_geq(outcome.schedulers_busy, CHOSEN / 2 * choose_cost);
    strads_result_free(result);
    strads_data_free(data);
    return outcome.makespan / (CHOSEN + 2) / latency;
}

/* The cost of choosing one block of 2,000 columns beside another in flight, as
 * measured on a policy that compares a pool of columns pair by pair. */
Test(sim_scale, schedulers_that_take_turns_hide_the_cost_of_choosing)
{
    const double measured = 830e-6;
    double one = latencies_with(1, measured);
    double four = latencies_with(4, measured);
    double free = latencies_with(4, 0);
    cr_log_info("1,024 workers: %.2f latencies with one scheduler, %.2f with "
                "four, %.2f when choosing is free",
                one, four, free);
    cr_expect_gt(one, 20);
    cr_expect_lt(four, 10);
    cr_expect_lt(four, free + 1, "only the first choices are waited for");
}
