/* Networks that delay and reorder, programs that fail, lost messages: a
 * simulated run ends with the right result, or with an error that gives the
 * reason. */
#include <criterion/criterion.h>

#include "engine/run/run_setup.h"
#include "engine/sim/sim.h"
#include "sim_toy.h"
#include "tests/expect.h"
#include "tests/nodes_toy.h"
#include "tests/toy_data.h"
#include "tests/toy_ridge.h"

static strads_sim_options jittery(uint32_t nodes, double jitter)
{
    strads_sim_options sim = sim_toy_nodes(nodes);
    sim.latency = 100e-6;
    sim.message_cost = 3e-6;
    sim.bandwidth = 1e8;
    sim.update_cost = 50e-6;
    sim.aggregate_cost = 10e-6;
    sim.jitter = jitter;
    return sim;
}

/* ---- reordering -------------------------------------------------------- */

static const toy_ridge_config ridge = {.lambda = 2};

Test(sim_rough, eight_nodes_five_rounds_deep_find_the_solution)
{
    enum { ROWS = 400, COLS = 16 };
    strads_data *data = toy_data(&toy_ridge, ROWS, COLS, 8);
    double w[COLS];
    cr_assert(toy_ridge_solve(ROWS, COLS, ridge.lambda, w));
    for (uint64_t seed = 0; seed < 12; seed++) {
        strads_engine_options options = sim_toy_options(8, 4);
        options.seed = seed;
        options.deterministic = seed % 2;
        options.tolerance = 1e-8;
        strads_sim_options sim = jittery(8, seed < 4 ? 1 : 10);
        strads_result *result =
            sim_toy_simulate(&toy_ridge, &ridge, data, &options, &sim, NULL);
        const double *values = values_of(result);
        cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED);
        for (uint32_t j = 0; j < COLS; j++)
            cr_assert_float_eq(values[j], w[j], 1e-8, "w[%u]: %.12g, not %.12g",
                               j, values[j], w[j]);
        strads_result_free(result);
    }
    strads_data_free(data);
}

/* The bits of a run on threads. */
static void expect_bits_of_threads(uint32_t nodes, uint32_t partitions,
                                   uint64_t seed)
{
    strads_data *data = toy_data(&sim_toy_rounds, partitions, 2, partitions);
    strads_engine_options options =
        sim_toy_options(partitions, (uint32_t)seed % 5);
    const strads_sim_options sim = jittery(nodes, 10);
    strads_result *threads = NULL;
    options.seed = seed;
    options.deterministic = true;
    strads_result *simulated =
        sim_toy_simulate(&nodes_toy, NULL, data, &options, &sim, NULL);
    expect_ok(strads_run(&nodes_toy, NULL, data, &options, &threads));
    cr_expect(toy_same_values(threads, simulated), "%u nodes, seed %d", nodes,
              (int)seed);
    strads_result_free(simulated);
    strads_result_free(threads);
    strads_data_free(data);
}

Test(sim_rough, every_kind_of_phase_survives_reordering)
{
    static const uint32_t nodes[] = {1, 2, 3, 8, 9, 20};
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
        for (uint64_t seed = 0; seed < 10; seed++)
            expect_bits_of_threads(nodes[k], nodes[k] + nodes[k] / 2, seed);
}

Test(sim_rough, nodes_without_a_partition_are_left_out)
{
    expect_bits_of_threads(64, 3, 1);
}

/* ---- failures ---------------------------------------------------------- */

Test(sim_rough, a_programs_error_comes_back_with_its_sentence)
{
    strads_data *data = toy_data(&sim_toy_rounds, 9, 2, 9);
    for (uint32_t lap = 1; lap <= 3; lap++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            const nodes_toy_config config = {.fails = 4 * lap};
            strads_engine_options options = sim_toy_options(9, 2);
            options.seed = seed;
            strads_sim_options sim = jittery(6, 10);
            strads_result *result = NULL;
            strads_sim_outcome outcome = {.events = 77};
            cr_assert_eq(strads_simulate(&nodes_toy, &config, data, &options,
                                         &sim, &result, &outcome),
                         STRADS_EPROGRAM);
            cr_assert_str_eq(strads_error_text(), "a ring that fails");
            cr_assert_null(result);
            cr_assert_eq(outcome.events, 77);
        }
    strads_data_free(data);
}

typedef struct loser {
    uint64_t number, at; /* messages so far; the number of the message to
                          * lose */
} loser;

static bool lose_one(void *arg, const sti_msg *msg)
{
    loser *l = arg;
    (void)msg;
    return l->number++ == l->at;
}

/* Runs all kinds of phases on 4 nodes and loses message `at`. Returns true
 * if there was such a message. */
static bool lose_message(const strads_data *data, uint64_t at)
{
    uint32_t node_of[] = {0, 1, 2, 3};
    const sti_layout layout = {.workers = 4, .node_of = node_of, .count = 4};
    strads_engine_options options = sim_toy_options(6, 2);
    const strads_sim_options costs = jittery(4, 3);
    loser l = {.at = at};
    sti_setup setup = {0};
    options.max_rounds = 5; /* one round of each kind */
    cr_assert_eq(sti_setup_make(&setup, &nodes_toy, NULL, data, &options,
                                &layout),
                 STRADS_OK);
    const sti_sim_options o = {.run = &setup.run,
                               .costs = &costs,
                               .loses = lose_one,
                               .arg = &l};
    sti_sim *sim;
    cr_assert_eq(sti_sim_new(&o, &sim), STRADS_OK);
    strads_err err = sti_sim_run(sim);
    bool lost = l.number > at;
    cr_assert_eq(err, lost ? STRADS_ESTATE : STRADS_OK, "message %llu: %s",
                 (unsigned long long)at, strads_error_text());
    if (lost)
        expect_says("stuck");
    sti_sim_free(sim);
    sti_setup_free(&setup, false);
    return lost;
}

Test(sim_rough, a_lost_message_is_reported_and_never_waited_for)
{
    strads_data *data = toy_data(&sim_toy_rounds, 6, 2, 6);
    uint64_t at = 0;
    while (lose_message(data, at))
        at++;
    cr_assert_gt(at, 50);
    strads_data_free(data);
}

Test(sim_rough, options_out_of_range_are_named)
{
    strads_data *data = toy_data(&sim_toy_rounds, 2, 2, 2);
    const strads_engine_options options = sim_toy_options(2, 0);
    const struct {
        strads_sim_options sim;
        const char *word;
    } wrong[] = {
        {{.size = 3, .nodes = 1}, "size"},
        {{.size = sizeof(strads_sim_options)}, "0 nodes"},
        {{.size = sizeof(strads_sim_options), .nodes = 5000}, "4096"},
        {{.size = sizeof(strads_sim_options), .nodes = 1, .latency = -1},
         "latency"},
        {{.size = sizeof(strads_sim_options), .nodes = 1, .jitter = NAN},
         "jitter"},
        {{.size = sizeof(strads_sim_options), .nodes = 1, .bandwidth = -2},
         "bandwidth"},
        {{.size = sizeof(strads_sim_options), .nodes = 1, .update_cost = 1e9},
         "update_cost"},
    };
    strads_result *result = NULL;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        expect_error(strads_simulate(&sim_toy_rounds, NULL, data, &options,
                                     &wrong[k].sim, &result, NULL),
                     STRADS_EINVAL, wrong[k].word);
    }
    cr_assert_eq(strads_simulate(&sim_toy_rounds, NULL, data, &options, NULL,
                                 &result, NULL),
                 STRADS_EINVAL);
    strads_data_free(data);
}

Test(sim_rough, virtual_time_that_runs_over_is_an_error)
{
    strads_data *data = toy_data(&sim_toy_rounds, 2, 2, 2);
    const strads_engine_options options = sim_toy_options(2, 0);
    strads_sim_options sim = sim_toy_nodes(2);
    sim.bandwidth = 1e-12;
    strads_result *result = NULL;
    cr_assert_eq(strads_simulate(&sim_toy_rounds, NULL, data, &options, &sim,
                                 &result, NULL),
                 STRADS_ELIMIT);
    strads_data_free(data);
}

/* ---- ends -------------------------------------------------------------- */

Test(sim_rough, the_time_limit_counts_virtual_seconds)
{
    strads_data *data = toy_data(&sim_toy_rounds, 2, 2, 2);
    strads_engine_options options = sim_toy_options(2, 1);
    options.time_limit = 3600;
    strads_sim_options sim = jittery(2, 0);
    sim.update_cost = 10;
    strads_sim_outcome outcome;
    strads_result *result =
        sim_toy_simulate(&sim_toy_rounds, NULL, data, &options, &sim, &outcome);
    cr_assert_eq(strads_result_end(result), STRADS_END_TIME);
    cr_assert(outcome.makespan >= 3600 && outcome.makespan < 3650, "%g s",
              outcome.makespan);
    strads_result_free(result);
    strads_data_free(data);
}

typedef struct watcher {
    uint32_t calls;
    double seconds;
    bool stop;
} watcher;

static void watch(void *arg, const strads_progress *progress)
{
    watcher *w = arg;
    cr_assert_geq(progress->seconds, w->seconds);
    cr_assert_geq(progress->cpu_seconds, progress->callback_seconds);
    w->seconds = progress->seconds;
    w->stop = ++w->calls == 2;
}

Test(sim_rough, progress_has_virtual_seconds_and_stop_ends_the_run)
{
    strads_data *data = toy_data(&toy_ridge, 60, 6, 3);
    watcher w = {0};
    strads_engine_options options = sim_toy_options(3, 1);
    options.tolerance = 1e-300;
    options.progress = watch;
    options.progress_arg = &w;
    options.stop = &w.stop;
    strads_sim_options sim = jittery(3, 0);
    sim.update_cost = 1000;
    strads_result *result =
        sim_toy_simulate(&toy_ridge, &ridge, data, &options, &sim, NULL);
    cr_assert_eq(strads_result_end(result), STRADS_END_CANCELED);
    cr_assert_geq(w.calls, 2);
    cr_assert_gt(w.seconds, 1000);
    const strads_progress *last = strads_result_progress(result);
    cr_assert_gt(last->bytes_sent, 0);
    cr_assert_gt(last->callback_seconds, 0);
    strads_result_free(result);
    strads_data_free(data);
}
