/* The same seed gives the same run, and the same partitions give the same
 * bits, simulated or on threads. */
#include <criterion/criterion.h>
#include <time.h>

#include "sim_toy.h"
#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_ridge.h"

/* A network on which everything takes time, and the times vary. */
static strads_sim_options rough(uint32_t nodes)
{
    strads_sim_options sim = sim_toy_nodes(nodes);
    sim.latency = 50e-6;
    sim.bandwidth = 1e8;
    sim.message_cost = 5e-6;
    sim.update_cost = 20e-6;
    sim.entry_cost = 1e-9;
    sim.aggregate_cost = 2e-6;
    sim.choose_cost = 1e-6;
    sim.refresh_cost = 3e-6;
    sim.jitter = 2;
    return sim;
}

typedef struct simulated {
    strads_sim_outcome outcome;
    strads_result *result;
} simulated;

static const toy_ridge_config ridge = {.lambda = 2};

static simulated train(uint64_t seed, double jitter, bool deterministic)
{
    strads_data *data = toy_data(&toy_ridge, 120, 12, 5);
    strads_engine_options options = sim_toy_options(5, 2);
    options.seed = seed;
    options.deterministic = deterministic;
    options.tolerance = 1e-9;
    strads_sim_options sim = rough(5);
    sim.jitter = jitter;
    simulated s;
    s.result =
        sim_toy_simulate(&toy_ridge, &ridge, data, &options, &sim, &s.outcome);
    strads_data_free(data);
    return s;
}

static void free_both(simulated a, simulated b)
{
    strads_result_free(a.result);
    strads_result_free(b.result);
}

Test(sim_repeat, the_same_seed_gives_the_same_run_event_for_event)
{
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        simulated a = train(3, 2, deterministic);
        simulated b = train(3, 2, deterministic);
        cr_assert_eq(a.outcome.digest, b.outcome.digest);
        cr_assert_eq(a.outcome.events, b.outcome.events);
        cr_assert_eq(a.outcome.bytes, b.outcome.bytes);
        cr_assert_eq(a.outcome.makespan, b.outcome.makespan);
        cr_assert(toy_same_values(a.result, b.result));
        cr_assert_gt(a.outcome.events, a.outcome.messages);
        free_both(a, b);
    }
}

Test(sim_repeat, another_seed_gives_another_run_when_there_is_jitter)
{
    simulated a = train(3, 2, true), b = train(4, 2, true);
    cr_assert_neq(a.outcome.digest, b.outcome.digest);
    cr_assert_neq(a.outcome.makespan, b.outcome.makespan);
    /* The order of commits is still fixed, and so are the bits. */
    cr_assert(toy_same_values(a.result, b.result));
    free_both(a, b);
    a = train(3, 0, true), b = train(4, 0, true);
    cr_assert_eq(a.outcome.digest, b.outcome.digest);
    free_both(a, b);
}

static strads_result *on_threads(const strads_program *program,
                                 const void *config, const strads_data *data,
                                 strads_engine_options options,
                                 uint32_t workers)
{
    strads_result *result = NULL;
    options.workers = workers;
    expect_ok(strads_run(program, config, data, &options, &result));
    return result;
}

/* On 1, 2 and 4 threads, and on 1, 2 and 4 nodes of a rough network. */
static void same_bits_everywhere(const strads_program *program,
                                 const void *config, const strads_data *data,
                                 const strads_engine_options *options)
{
    strads_result *first = on_threads(program, config, data, *options, 1);
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        strads_result *threads =
            on_threads(program, config, data, *options, workers);
        cr_assert(toy_same_values(first, threads), "%u threads", workers);
        strads_sim_options sim = rough(workers);
        strads_result *nodes =
            sim_toy_simulate(program, config, data, options, &sim, NULL);
        cr_assert(toy_same_values(first, nodes), "%u nodes", workers);
        cr_assert_eq(strads_result_progress(first)->round,
                     strads_result_progress(nodes)->round);
        strads_result_free(threads);
        strads_result_free(nodes);
    }
    strads_result_free(first);
}

Test(sim_repeat, least_squares_have_the_same_bits_on_threads_and_nodes)
{
    strads_data *data = toy_data(&toy_ridge, 120, 12, 4);
    for (uint32_t depth = 0; depth <= 3; depth++) {
        strads_engine_options options = sim_toy_options(4, depth);
        options.tolerance = 1e-8;
        same_bits_everywhere(&toy_ridge, &ridge, data, &options);
    }
    strads_data_free(data);
}

/* Each update takes at least 0.2 ms, on any machine and under any load. */
static strads_err slow_update(strads_task *task)
{
    const struct timespec pause = {.tv_nsec = 200000};
    while (nanosleep(&pause, NULL) != 0)
        ;
    return sim_toy_rounds.update(task);
}

Test(sim_repeat, costs_of_callbacks_are_measured)
{
    strads_program program = sim_toy_rounds;
    program.update = slow_update;
    strads_data *data = toy_data(&sim_toy_rounds, 8, 1, 2);
    strads_engine_options options = sim_toy_options(2, 0);
    options.max_rounds = 50;
    strads_sim_options sim = sim_toy_nodes(3);
    strads_sim_phase phase = {0};
    sim.latency = 1;
    cr_assert_eq(strads_sim_measure(&program, NULL, data, &options, 10, &sim,
                                    &phase, 1),
                 STRADS_OK);
    /* 2, 3 or 4 entries per block; a partition has half of them. */
    cr_assert(phase.update_cost + phase.entry_cost * 1.5 >= 2e-4);
    cr_assert(phase.aggregate_cost > 0 && phase.aggregate_cost < 0.1);
    cr_assert(sim.choose_cost > 0 && sim.merge_cost > 0);
    cr_assert_eq(sim.refresh_entry_cost, 0); /* the program has no `refresh` */
    cr_assert(sim.nodes == 3 && sim.latency == 1 && sim.phases == &phase);
    strads_data_free(data);
}

/* Takes at least 0.2 ms, on any machine and under any load. */
static unsigned objectives;

static strads_err slow_objective(void *state, strads_report *report)
{
    const struct timespec pause = {.tv_nsec = 200000};
    (void)state, (void)report;
    objectives++;
    while (nanosleep(&pause, NULL) != 0)
        ;
    return STRADS_OK;
}

Test(sim_repeat, a_commit_includes_the_coordinators_other_jobs)
{
    enum { ROUNDS = 60 };
    static const sim_toy_size size = {.parameters = 4};
    strads_program program = sim_toy_rounds;
    program.objective = slow_objective;
    strads_data *data = toy_data(&sim_toy_rounds, 8, 1, 2);
    strads_engine_options options = sim_toy_options(2, 0);
    options.max_rounds = ROUNDS;
    strads_sim_options sim = sim_toy_nodes(3);
    strads_sim_phase phase = {0};
    cr_assert_eq(strads_sim_measure(&program, &size, data, &options, 10, &sim,
                                    &phase, 1),
                 STRADS_OK);
    /* The first aggregate is not measured, and none follows the last report. */
    cr_assert_gt(objectives, 4);
    cr_assert_geq(ROUNDS * phase.aggregate_cost, (objectives - 2) * 2e-4);
    strads_data_free(data);
}
