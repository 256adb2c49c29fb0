/* Time spent in a loop: computing, waiting for clocks and the network are
 * reported separately and add up to the whole, in one process and over nodes.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { CLOCKS = 40, SLOW_US = 10000 };

/* Partition 0 sleeps in each clock and the others, at staleness 0, wait for
 * it. The bounds are lower bounds, which a loaded machine cannot break. If all
 * cores are busy, much of a wait over nodes counts as network. The time to
 * start and end threads is not included. */
static void check(const strads_progress *p, uint32_t partitions)
{
    const double slept = 1e-6 * SLOW_US * CLOCKS;
    const double all =
        p->callback_seconds + p->waiting_seconds + p->network_seconds;
    const double wall = p->seconds * partitions;
    cr_expect_eq(atomic_load(&tally.wrong), 0);
    cr_expect_geq(p->callback_seconds, slept);
    const double idle = p->waiting_seconds + p->network_seconds;
    cr_expect_geq(idle, 0.5 * slept * (partitions - 1), "%g s", idle);
    cr_expect_gt(p->waiting_seconds, 0);
    cr_expect_leq(all, wall * 1.001);
    cr_expect_geq(all, 0.5 * wall, "%g s of %g s are told", all, wall);
}

static void plan_slow(void)
{
    tally = (tally_plan){.clocks = CLOCKS, .slow_us = SLOW_US};
}

Test(loop_times, in_one_process_they_are_all_of_it_and_none_is_the_networks)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 3);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 3};
    strads_result *result;
    plan_slow();
    expect_ok(strads_run(&tally_program, NULL, data, &options, &result));
    check(strads_result_progress(result), 3);
    cr_expect_eq(strads_result_progress(result)->network_seconds, 0);
    strads_result_free(result);
    strads_data_free(data);
}

static void check_nodes(uint32_t nodes, uint32_t shards)
{
    const team t = {.program = &tally_program,
                    .nodes = nodes,
                    .workers = {2, 1, 1},
                    .options = {.shards = shards}};
    plan_slow();
    strads_result *result = expect_team(&t);
    check(strads_result_progress(result), nodes + 1);
    cr_expect_gt(strads_result_progress(result)->network_seconds, 0);
    strads_result_free(result);
}

Test(loop_times, over_nodes_they_are_all_of_it_and_some_is_the_networks)
{
    check_nodes(2, 1);
    check_nodes(3, 2);
}
