/* How long a round is on many nodes: from its dispatch to its commit, with
 * nothing to compute, on a network with latency, bandwidth and a price for each
 * message at sender and receiver. */
#include <criterion/criterion.h>

#include "sim_toy.h"

enum { ROUNDS = 10 };
static const double latency = 50e-6;

/* Seconds of an empty round on so many workers, with as many partitions. */
static double round_of(uint32_t workers, double message_cost)
{
    strads_data *data = sim_toy_data(workers, 1, workers);
    strads_engine_options options = sim_toy_options(workers, 0);
    options.max_rounds = ROUNDS;
    strads_sim_options sim = sim_toy_nodes(workers);
    sim.latency = latency;
    sim.bandwidth = 1.25e9;
    sim.message_cost = message_cost;
    strads_sim_outcome outcome;
    strads_result *result =
        sim_toy_simulate(&sim_toy_rounds, NULL, data, &options, &sim, &outcome);
    cr_assert_eq(strads_result_progress(result)->round, ROUNDS);
    strads_result_free(result);
    strads_data_free(data);
    /* OPEN and CLOSE go the same way. */
    return outcome.makespan / (ROUNDS + 2);
}

Test(sim_scale, a_round_of_1024_workers_stays_under_ten_latencies)
{
    for (uint32_t workers = 1; workers <= 1024; workers *= 2) {
        double one = round_of(workers, 1e-6), two = round_of(workers, 2e-6);
        cr_log_info("%4u workers: %.2f and %.2f latencies", workers,
                    one / latency, two / latency);
        cr_assert(one > 2 * latency && two > one);
        cr_assert(two < 10 * latency, "%u workers: %.2f latencies", workers,
                  two / latency);
    }
}
