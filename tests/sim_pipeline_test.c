/* Times of simulated runs, against formulas: rounds in flight overlap up to
 * the depth, trees keep rounds short, links serve one message at a time.
 *
 * With computing time c, link time l and D = depth + 1 rounds in flight, one
 * worker: M rounds are dispatched in batches of D. A batch's first commit comes
 * c + 2 l after its dispatch, each further one c later. If D c >= c + 2 l the
 * worker never waits, and the total is M c + 2 l. Otherwise every batch takes c
 * + 2 l, and the last one, of r rounds, (r - 1) c more. OPEN and CLOSE compute
 * nothing and take 2 l each. */
#include <criterion/criterion.h>
#include <math.h>

#include "sim_toy.h"
#include "tests/toy_data.h"

enum { ROUNDS = 200 };
static const double tick = 2e-9; /* times are rounded to 1 ns */

static double pipeline(uint64_t m, double c, double l, uint32_t depth)
{
    uint64_t window = depth + (uint64_t)1;
    double around = c + 2 * l;
    if ((double)window * c >= around)
        return (double)m * c + 6 * l;
    uint64_t batches = (m + window - 1) / window;
    uint64_t last = m - (batches - 1) * window;
    return (double)batches * around + (double)(last - 1) * c + 4 * l;
}

/* Runs ROUNDS rounds; returns the makespan and the number of commits. */
static double makespan(const strads_sim_options *sim, uint32_t depth,
                       uint32_t partitions, uint64_t *rounds,
                       strads_sim_outcome *outcome)
{
    strads_data *data = toy_data(&sim_toy_rounds, partitions, 1, partitions);
    strads_engine_options options = sim_toy_options(partitions, depth);
    options.policy = "cyclic";
    options.max_rounds = ROUNDS;
    strads_result *result =
        sim_toy_simulate(&sim_toy_rounds, NULL, data, &options, sim, outcome);
    cr_assert_eq(strads_result_end(result), STRADS_END_ROUNDS);
    *rounds = strads_result_progress(result)->round;
    strads_result_free(result);
    strads_data_free(data);
    return outcome->makespan;
}

Test(sim_pipeline, makespan_follows_the_formula_at_every_depth_and_ratio)
{
    static const double links[] = {0.1e-3, 0.5e-3, 1e-3, 4e-3};
    const double c = 1e-3;
    for (size_t k = 0; k < sizeof links / sizeof *links; k++)
        for (uint32_t depth = 0; depth <= 4; depth++) {
            strads_sim_options sim = sim_toy_nodes(1);
            sim.update_cost = c;
            sim.latency = links[k];
            uint64_t rounds;
            strads_sim_outcome outcome;
            double took = makespan(&sim, depth, 1, &rounds, &outcome);
            /* Rounds in flight at the end are also committed. */
            cr_assert(rounds >= ROUNDS && rounds <= ROUNDS + depth);
            double exact = pipeline(rounds, c, links[k], depth);
            cr_assert_float_eq(took, exact, tick,
                               "depth %u, l %g: %.9f s, expected %.9f s", depth,
                               links[k], took, exact);
            double steady =
                (double)rounds * fmax(c, (c + 2 * links[k]) / (depth + 1.0)) +
                6 * links[k]; /* to fill, drain, open and close */
            cr_assert_float_eq(took, steady, 0.05 * steady,
                               "depth %u, l %g: %.9f s, steady %.9f s", depth,
                               links[k], took, steady);
        }
}

/* The number of nodes that one message at a time reaches in this many turns
 * and levels. */
static uint32_t reached(uint32_t turns, uint32_t levels)
{
    return turns == 0 || levels == 0
               ? 1
               : reached(turns - 1, levels) + reached(turns - 1, levels - 1);
}

/* Hops from the root, 0, to `index`. In every turn the root passes the nodes
 * that the earlier turns reach to a child. */
static uint32_t hops(uint32_t index, uint32_t levels)
{
    uint32_t turn = 0;
    if (index == 0)
        return 0;
    while (reached(turn + 1, levels) <= index)
        turn++;
    return 1 + hops(index - reached(turn, levels), levels - 1);
}

/* The coordinator is 0. Dispatches use the fewest levels, at most three,
 * that at most eight children each allow. */
static uint32_t dispatch_hops(uint32_t w, uint32_t workers)
{
    uint32_t levels = workers <= 8 ? 1 : workers <= 36 ? 2 : 3;
    return hops(w + 1, levels);
}

/* Partition 0 is the root, one hop from the coordinator. */
static uint32_t merge_hops(uint32_t p)
{
    return 1 + hops(p, 3);
}

Test(sim_pipeline, a_round_takes_as_many_hops_as_its_trees_are_deep)
{
    const double c = 1e-3, l = 2e-3;
    for (uint32_t workers = 1; workers <= 64; workers *= 2) {
        strads_sim_options sim = sim_toy_nodes(workers);
        sim.update_cost = c;
        sim.latency = l;
        uint64_t rounds;
        strads_sim_outcome outcome;
        double took = makespan(&sim, 0, workers, &rounds, &outcome);
        uint32_t longest = 0;
        for (uint32_t w = 0; w < workers; w++) {
            uint32_t path = dispatch_hops(w, workers) + merge_hops(w);
            longest = path > longest ? path : longest;
        }
        cr_assert(longest <= 7, "%u hops with %u workers", longest, workers);
        double exact = (ROUNDS + 2) * longest * l + ROUNDS * c;
        cr_assert_float_eq(took, exact, tick,
                           "%u workers: %.9f s, expected %.9f s", workers, took,
                           exact);
        /* One dispatch and one partial per worker and round. */
        cr_assert_eq(outcome.messages, (ROUNDS + 2) * 2ull * workers);
    }
}

Test(sim_pipeline, many_partitions_of_a_worker_take_turns_on_its_core)
{
    const double c = 1e-3, l = 2e-3;
    strads_sim_options sim = sim_toy_nodes(2);
    sim.update_cost = c;
    sim.latency = l;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 6, &rounds, &outcome);
    /* Worker 1 computes partitions 3, 4 and 5. It merges 5 into 4 locally; 4
     * takes one hop to 0, and so does 3 by way of 2. */
    double exact = ROUNDS * (l + 3 * c + 2 * l) + 2 * 3 * l;
    cr_assert_float_eq(took, exact, tick, "%.9f s, expected %.9f s", took,
                       exact);
}

Test(sim_pipeline, entries_aggregate_choice_and_updates_have_their_price)
{
    strads_sim_options sim = sim_toy_nodes(1);
    sim.update_cost = 1e-3;
    sim.entry_cost = 1e-5;
    sim.aggregate_cost = 2e-3;
    sim.choose_cost = 3e-3;
    sim.refresh_cost = 4e-3;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 1, &rounds, &outcome);
    double entries = 0;
    for (uint32_t j = 0; j < ROUNDS; j++)
        entries += 2 + j % 3;
    /* The first round has no updates. */
    double exact = ROUNDS * 6e-3 + (ROUNDS - 1) * 4e-3 + 1e-5 * entries;
    cr_assert_float_eq(took, exact, tick, "%.9f s, expected %.9f s", took,
                       exact);
}

Test(sim_pipeline, a_round_waits_for_the_slowest_worker)
{
    const double slow[] = {1, 3, 1, 2};
    strads_sim_options sim = sim_toy_nodes(4);
    sim.update_cost = 1e-3;
    sim.slow = slow;
    sim.n_slow = 4;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 4, &rounds, &outcome);
    cr_assert_float_eq(took, ROUNDS * 3e-3, ROUNDS * tick);
    cr_assert_float_eq(outcome.workers_busy, ROUNDS * 7e-3, ROUNDS * 4 * tick);
    cr_assert_eq(outcome.workers, 4);
}

/* A partial is one number: worker 0 merges 1, then the sum of 2 and 3. */
Test(sim_pipeline, merges_and_phases_have_their_price)
{
    const strads_sim_phase phase = {.update_cost = 1e-3,
                                    .aggregate_cost = 2e-3};
    strads_sim_options sim = sim_toy_nodes(4);
    sim.update_cost = sim.aggregate_cost = 1; /* ignored: costs of other
                                               * phases */
    sim.merge_cost = 1e-4;
    sim.phases = &phase;
    sim.n_phases = 1;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 4, &rounds, &outcome);
    double exact = ROUNDS * (1e-3 + 2 * 8e-4 + 2e-3);
    cr_assert_float_eq(took, exact, ROUNDS * tick, "%.9f s, expected %.9f s",
                       took, exact);
    cr_assert_float_eq(outcome.coordinator_busy, ROUNDS * 2e-3, ROUNDS * tick);
    cr_assert_eq(outcome.dispatches.messages, (ROUNDS + 2) * 4);
    cr_assert_eq(outcome.partials.messages, (ROUNDS + 2) * 4);
    cr_assert_eq(outcome.dispatches.bytes + outcome.partials.bytes,
                 outcome.bytes);
}

Test(sim_pipeline, receiving_may_cost_less_than_sending)
{
    strads_sim_options sim = sim_toy_nodes(1);
    sim.message_cost = 1e-4;
    sim.receive_cost = 1e-5;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 1, &rounds, &outcome);
    cr_assert_float_eq(took, (ROUNDS + 2) * 2 * 1.1e-4, tick);
}

Test(sim_pipeline, a_partition_reads_its_share_of_a_blocks_entries)
{
    strads_sim_options sim = sim_toy_nodes(4);
    sim.entry_cost = 1e-3;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 4, &rounds, &outcome), exact = 0;
    for (uint32_t j = 0; j < ROUNDS; j++)
        exact += 1e-3 * (2 + j % 3) / 4;
    cr_assert_float_eq(took, exact, ROUNDS * tick);
}

Test(sim_pipeline, sending_and_receiving_cost_time_on_both_sides)
{
    strads_sim_options sim = sim_toy_nodes(1);
    sim.latency = 1e-3;
    sim.message_cost = 1e-4;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 1, &rounds, &outcome);
    double exact = (ROUNDS + 2) * 2 * (1e-3 + 2e-4);
    cr_assert_float_eq(took, exact, tick);
}

Test(sim_pipeline, bytes_take_their_time_at_the_links_bandwidth)
{
    strads_sim_options sim = sim_toy_nodes(1);
    uint64_t rounds;
    strads_sim_outcome outcome;
    sim.bandwidth = 1e6;
    double took = makespan(&sim, 0, 1, &rounds, &outcome);
    cr_assert_float_eq(took, 1e-6 * (double)outcome.bytes,
                       1e-9 * (double)outcome.messages);
    cr_assert_gt(outcome.bytes, 64 * outcome.messages); /* headers are
                                                         * included */
}

Test(sim_pipeline, a_port_serves_one_message_at_a_time)
{
    /* The coordinator sends each dispatch to 8 workers, one after the other,
     * the last one first: w has it after 8 - w costs of sending and one of
     * receiving. 7 reaches 6 after 4 costs, both reach 4 after 7, and so does 5
     * after 6; so 4 reaches worker 0 after 8. 3 reaches 2 after 8, and 2
     * reaches worker 0 after 9, as does 1. Worker 0 receives one after the
     * other until 11, and then sends, which costs two. In OPEN and CLOSE
     * nothing is computed; 4 reaches worker 0 together with the dispatch, and
     * everything is one cost later. */
    const double m = 1e-3, c = 0.1;
    strads_sim_options sim = sim_toy_nodes(8);
    sim.message_cost = m;
    sim.update_cost = c;
    uint64_t rounds;
    strads_sim_outcome outcome;
    double took = makespan(&sim, 0, 8, &rounds, &outcome);
    const uint32_t costs = 11 + 2;
    double exact = ((ROUNDS + 2) * costs + 2) * m + ROUNDS * c;
    cr_assert_float_eq(took, exact, tick, "%.9f s, expected %.9f s", took,
                       exact);
}
