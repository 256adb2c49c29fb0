/* Data-parallel loops in virtual time: the promises of the store, the bits of a
 * real run, times in closed form, and how such a run ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "strads/sgd_logistic.h"
#include "tests/loop_tally.h"
#include "tests/toy_data.h"

static const char *const party =
    STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm";

static strads_sim_options network(uint32_t nodes)
{
    return (strads_sim_options){.size = sizeof(strads_sim_options),
                                .nodes = nodes,
                                .latency = 50e-6,
                                .bandwidth = 1e9,
                                .message_cost = 2e-6,
                                .update_cost = 20e-6};
}

/* ---- what is promised -------------------------------------------------- */

static void count(uint32_t nodes, uint32_t shards, uint32_t staleness,
                  double jitter)
{
    enum { PARTITIONS = 5, CLOCKS = 30 };
    strads_data *data = toy_data(&tally_program, 23, 17, PARTITIONS);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = PARTITIONS,
                                           .shards = shards};
    strads_sim_options sim = network(nodes);
    strads_result *result;
    uint64_t parameters;
    uint32_t width;
    sim.jitter = jitter;
    tally = (tally_plan){.clocks = CLOCKS,
                         .staleness = staleness,
                         .snapshots = 4,
                         .flushes = 3};
    cr_assert_eq(strads_simulate(&tally_program, NULL, data, &options, &sim,
                                 &result, NULL),
                 STRADS_OK, "%s", strads_error_text());
    const double *values = strads_result_values(result, &parameters, &width);
    for (uint64_t k = 0; k < parameters * width; k++)
        cr_assert_eq(values[k], CLOCKS);
    cr_expect_eq(atomic_load(&tally.wrong), 0);
    cr_expect_eq(atomic_load(&tally.partitions_met), PARTITIONS);
    strads_result_free(result);
    strads_data_free(data);
}

Test(sim_loop, counts_are_exact_and_no_read_breaks_the_rule)
{
    static const uint32_t staleness[] = {0, 2, STRADS_STALENESS_INFINITE};
    for (int s = 0; s < 3; s++)
        for (uint32_t nodes = 1; nodes <= 5; nodes += 2)
            for (uint32_t shards = 1; shards <= 3; shards++)
                count(nodes, shards, staleness[s], nodes - 1);
}

/* At staleness 0 sgd-logistic has the same bits wherever it runs. */
Test(sim_loop, the_model_is_that_of_a_real_run_bit_by_bit)
{
    const strads_sgd_logistic_options config = {.epochs = 4, .staleness = "0"};
    const strads_program *program = &strads_program_sgd_logistic;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 4,
                                     .split = program->split,
                                     .layout = program->layout};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 2,
                                           .partitions = 4,
                                           .shards = 3,
                                           .seed = 5};
    const strads_sim_options sim = network(4);
    strads_data *data;
    strads_result *real, *simulated;
    uint64_t n;
    uint32_t width;
    cr_assert_eq(strads_data_read(party, &cut, &data), STRADS_OK);
    cr_assert_eq(strads_run(program, &config, data, &options, &real), STRADS_OK,
                 "%s", strads_error_text());
    cr_assert_eq(strads_simulate(program, &config, data, &options, &sim,
                                 &simulated, NULL),
                 STRADS_OK, "%s", strads_error_text());
    const double *a = strads_result_values(real, &n, &width);
    const double *b = strads_result_values(simulated, &n, &width);
    cr_expect_eq(memcmp(a, b, n * width * sizeof *a), 0);
    cr_expect_eq(strads_result_progress(real)->objective,
                 strads_result_progress(simulated)->objective);
    strads_result_free(real);
    strads_result_free(simulated);
    strads_data_free(data);
}

/* ---- times ------------------------------------------------------------- */

enum { CLOCKS = 50 };

static strads_err one_run(strads_task *task, strads_session *session)
{
    strads_err err = STRADS_OK;
    double row;
    for (uint64_t c = 0; !err && c < CLOCKS && !strads_loop_ends(task); c++) {
        err = strads_session_read_row(session, 0, 0, 0, &row);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, 1);
        if (!err)
            err = strads_session_clock(session);
    }
    return err;
}

static strads_err one_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)config, (void)data;
    shape->parameters = 1;
    return STRADS_OK;
}

static const strads_program one_program = {
    .size = sizeof(strads_program),
    .name = "one",
    .shape = one_shape,
    .run = one_run,
};

static strads_sim_outcome time_of(const strads_sim_options *sim, uint64_t seed,
                                  strads_progress *progress)
{
    strads_data *data = toy_data(&one_program, 23, 17, sim->nodes);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = sim->nodes,
                                           .seed = seed};
    strads_result *result;
    strads_sim_outcome outcome;
    cr_assert_eq(strads_simulate(&one_program, NULL, data, &options, sim,
                                 &result, &outcome),
                 STRADS_OK, "%s", strads_error_text());
    *progress = *strads_result_progress(result);
    strads_result_free(result);
    strads_data_free(data);
    return outcome;
}

/* The row is on node 0. Who is elsewhere asks for it when its clock has ended,
 * right behind its push: a clock is its computing and two latencies. At the end
 * its leaving is acknowledged, two latencies later. */
Test(sim_loop, a_bulk_synchronous_clock_is_computing_and_two_latencies)
{
    const double u = 20e-6, l = 50e-6;
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = 4,
                                    .latency = l,
                                    .update_cost = u};
    strads_progress p;
    const strads_sim_outcome o = time_of(&sim, 0, &p);
    cr_expect_float_eq(o.makespan, CLOCKS * (u + 2 * l) + 2 * l, 1e-9, "%g",
                       o.makespan);
    cr_expect_float_eq(o.workers_busy, 4 * CLOCKS * u, 1e-9);
    cr_expect_float_eq(p.callback_seconds, 4 * CLOCKS * u, 1e-9);
    /* Node 0 reads at once, the others two latencies later; its first wait is
     * for these and their pushes' one, its others for two. */
    cr_expect_float_eq(p.waiting_seconds, (2 * (CLOCKS - 1) + 1) * l, 1e-9,
                       "%g", p.waiting_seconds);
    cr_expect_float_eq(p.network_seconds, 3 * CLOCKS * 2 * l, 1e-9, "%g",
                       p.network_seconds);
    cr_expect_eq(o.pushes.messages, 3 * (CLOCKS + 1));
    cr_expect_eq(o.asks.messages, 3 * CLOCKS);
    cr_expect_eq(o.rows.messages, 3 * CLOCKS);
}

Test(sim_loop, all_wait_for_a_straggler)
{
    const double u = 20e-6, l = 50e-6, slow[] = {1, 1, 5};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = 3,
                                    .latency = l,
                                    .update_cost = u,
                                    .slow = slow,
                                    .n_slow = 3};
    strads_progress p;
    const strads_sim_outcome o = time_of(&sim, 0, &p);
    cr_expect_float_eq(o.makespan, CLOCKS * (5 * u + 2 * l) + 2 * l, 1e-9);
    cr_expect_float_eq(o.workers_busy, 7 * CLOCKS * u, 1e-9);
    cr_expect_gt(p.waiting_seconds, 2 * (CLOCKS - 1) * 4 * u - 1e-9);
}

Test(sim_loop, the_same_seed_gives_the_same_run_event_for_event)
{
    strads_sim_options sim = network(8);
    strads_progress p;
    sim.jitter = 2;
    const strads_sim_outcome a = time_of(&sim, 7, &p), b = time_of(&sim, 7, &p),
                             c = time_of(&sim, 8, &p);
    cr_expect_eq(a.digest, b.digest);
    cr_expect_eq(a.events, b.events);
    cr_expect_neq(a.digest, c.digest);
}

/* ---- ends -------------------------------------------------------------- */

typedef struct lines {
    pthread_t caller;
    uint32_t n;
    bool ordered;
} lines;

static void note_line(void *arg, const strads_progress *progress)
{
    lines *l = arg;
    l->ordered = l->ordered && progress->objective == l->n &&
                 pthread_equal(l->caller, pthread_self());
    l->n++;
}

/* A tally on three nodes; what it comes to. */
static strads_err tally_with(strads_engine_options options, strads_end *end,
                             strads_progress *progress)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 3);
    const strads_sim_options sim = network(3);
    strads_result *result = NULL;
    options.size = sizeof options;
    options.partitions = 3;
    strads_err err = strads_simulate(&tally_program, NULL, data, &options, &sim,
                                     &result, NULL);
    if (!err) {
        *end = strads_result_end(result);
        *progress = *strads_result_progress(result);
    }
    strads_result_free(result);
    strads_data_free(data);
    return err;
}

enum { FOREVER = 1000000 };

Test(sim_loop, reports_are_told_in_order_on_the_callers_thread)
{
    lines l = {.caller = pthread_self(), .ordered = true};
    strads_end end;
    strads_progress p;
    tally = (tally_plan){.clocks = 30, .reporter = 2, .reports = 20};
    cr_assert_eq(tally_with((strads_engine_options){.progress = note_line,
                                                    .progress_arg = &l},
                            &end, &p),
                 STRADS_OK);
    cr_expect(l.ordered);
    cr_expect_eq(l.n, 20);
    cr_expect_eq(end, STRADS_END_STOPPED);
}

Test(sim_loop, bounds_and_gaps_end_it)
{
    strads_end end;
    strads_progress p;
    tally = (tally_plan){.clocks = FOREVER};
    cr_assert_eq(tally_with((strads_engine_options){.max_rounds = 12}, &end,
                            &p),
                 STRADS_OK);
    cr_expect_eq(end, STRADS_END_ROUNDS);
    cr_expect_eq(p.round, 12);
    tally = (tally_plan){.clocks = FOREVER};
    cr_assert_eq(tally_with((strads_engine_options){.time_limit = 5e-3}, &end,
                            &p),
                 STRADS_OK);
    cr_expect_eq(end, STRADS_END_TIME);
    cr_expect_geq(p.seconds, 5e-3);
    cr_expect_leq(p.seconds, 10e-3, "%g virtual s", p.seconds);
    tally = (tally_plan){.clocks = FOREVER, .reports = 90, .converges = 9};
    cr_assert_eq(tally_with((strads_engine_options){0}, &end, &p), STRADS_OK);
    cr_expect_eq(end, STRADS_END_CONVERGED);
}

Test(sim_loop, a_failure_is_told_with_its_sentence)
{
    strads_end end;
    strads_progress p;
    tally = (tally_plan){.clocks = FOREVER, .fails = 5};
    cr_expect_eq(tally_with((strads_engine_options){0}, &end, &p),
                 STRADS_EPROGRAM);
    cr_expect_str_eq(strads_error_text(), "the last partition gave up");
}

Test(sim_loop, what_a_clock_takes_can_be_measured)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 2);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = 2};
    strads_sim_options sim = network(1);
    strads_sim_phase phase = {0};
    tally = (tally_plan){.clocks = FOREVER};
    cr_assert_eq(strads_sim_measure(&tally_program, NULL, data, &options, 0.02,
                                    &sim, &phase, 1),
                 STRADS_OK, "%s", strads_error_text());
    cr_expect_gt(phase.update_cost, 1e-8);
    cr_expect_lt(phase.update_cost, 1e-3);
    strads_data_free(data);
}
