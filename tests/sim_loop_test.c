/* Data-parallel loops in virtual time: the promises of the store, the same
 * bits as a real run, times in closed form, and how such a run ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "strads/sgd_logistic.h"
#include "tests/expect.h"
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

/* ---- promises ------------------------------------------------------------ */

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
    expect_ok(strads_simulate(&tally_program, NULL, data, &options, &sim,
                              &result, NULL));
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

/* At staleness 0 sgd-logistic has the same bits everywhere. */
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
    cr_assert_eq(strads_data_read(party, &cut, &data), STRADS_OK);
    expect_ok(strads_run(program, &config, data, &options, &real));
    expect_ok(strads_simulate(program, &config, data, &options, &sim,
                              &simulated, NULL));
    cr_expect(toy_same_values(real, simulated));
    cr_expect_eq(strads_result_progress(real)->objective,
                 strads_result_progress(simulated)->objective);
    strads_result_free(real);
    strads_result_free(simulated);
    strads_data_free(data);
}

/* ---- times ------------------------------------------------------------- */

enum { CLOCKS = 50 };

/* Parameters of the loops of one_program. */
static struct {
    uint32_t staleness;
    bool ahead; /* request the row ahead of the clock */
} one;

static strads_err one_run(strads_task *task, strads_session *session)
{
    const uint32_t s = one.staleness, first = 0;
    strads_err err = STRADS_OK;
    double row;
    for (uint64_t c = 0; !err && c < CLOCKS && !strads_loop_ends(task); c++) {
        err = strads_session_read_row(session, 0, 0, s, &row);
        if (row < (double)task->shape->partitions * ((double)c - s))
            err = strads_fail(STRADS_EPROGRAM, "clock %g: %g", (double)c, row);
        if (!err && one.ahead)
            err = strads_session_prefetch(session, 0, 1, &first, s);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, 1);
        if (!err)
            err = strads_session_clock(session);
    }
    return err;
}

TOY_SHAPE(one_shape, shape->parameters = 1)

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
    expect_ok(strads_simulate(&one_program, NULL, data, &options, sim, &result,
                              &outcome));
    *progress = *strads_result_progress(result);
    strads_result_free(result);
    strads_data_free(data);
    return outcome;
}

/* The row is on node 0. At the end of a clock, other nodes request it right
 * after their push, so a clock takes its computing time and two latencies. At
 * the end, the acknowledgement of leaving takes two more. */
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
    /* Node 0 reads without latency, the others two latencies later. Its
     * first wait is for their requests and the one latency of their pushes,
     * later waits are for two latencies. */
    cr_expect_float_eq(p.waiting_seconds, (2 * (CLOCKS - 1) + 1) * l, 1e-9,
                       "%g", p.waiting_seconds);
    cr_expect_float_eq(p.network_seconds, 3 * CLOCKS * 2 * l, 1e-9, "%g",
                       p.network_seconds);
    cr_expect_eq(o.pushes.messages, 3 * (CLOCKS + 1));
    cr_expect_eq(o.asks.messages, 3 * CLOCKS);
    cr_expect_eq(o.rows.messages, 3 * CLOCKS);
}

/* A loop that may be one clock behind does not wait for the round trip: with
 * enough computing, the row has arrived when the clock begins. */
Test(sim_loop, rows_that_are_asked_for_ahead_cost_no_latency)
{
    const double l = 50e-6, u[] = {130e-6, 20e-6};
    for (int k = 0; k < 2; k++) {
        const strads_sim_options sim = {.size = sizeof sim,
                                        .nodes = 4,
                                        .latency = l,
                                        .update_cost = u[k]};
        strads_progress p;
        one.staleness = 1;
        one.ahead = false;
        const strads_sim_outcome without = time_of(&sim, 0, &p);
        one.ahead = true;
        const strads_sim_outcome with = time_of(&sim, 0, &p);
        const double before = (without.makespan / CLOCKS - u[k]) / l;
        const double after = (with.makespan / CLOCKS - u[k]) / l;
        cr_expect_gt(before, 1.9, "%g latencies a clock", before);
        cr_expect_leq(after, fmax(0, 2 - u[k] / l) + 0.15,
                      "%g latencies a clock, asked ahead", after);
        cr_expect_leq(with.asks.messages, without.asks.messages + 3 * 2);
    }
}

/* For any order of messages. The loop checks its reads. */
Test(sim_loop, asking_ahead_keeps_the_staleness_rule)
{
    for (uint32_t s = 0; s < 3; s++) {
        strads_sim_options sim = network(5);
        strads_progress p;
        sim.jitter = 3;
        one.staleness = s;
        one.ahead = true;
        (void)time_of(&sim, s, &p);
    }
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

/* Runs a tally on three nodes; returns its outcome. */
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

Test(sim_loop, reports_arrive_in_order_on_the_callers_thread)
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

Test(sim_loop, a_failure_is_reported_with_its_sentence)
{
    strads_end end;
    strads_progress p;
    tally = (tally_plan){.clocks = FOREVER, .fails = 5};
    cr_expect_eq(tally_with((strads_engine_options){0}, &end, &p),
                 STRADS_EPROGRAM);
    cr_expect_str_eq(strads_error_text(), "the last partition gave up");
}

Test(sim_loop, the_time_of_a_clock_can_be_measured)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 2);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = 2};
    strads_sim_options sim = network(1);
    strads_sim_phase phase = {0};
    tally = (tally_plan){.clocks = FOREVER};
    expect_ok(strads_sim_measure(&tally_program, NULL, data, &options, 0.02,
                                 &sim, &phase, 1));
    cr_expect_gt(phase.update_cost, 1e-8);
    cr_expect_lt(phase.update_cost, 0.1);
    strads_data_free(data);
}

/* ---- values in fewer bits ------------------------------------------------ */

enum { WIDE = 4096, WIDE_CLOCKS = 30 };

static struct {
    strads_scalar type;
    uint32_t bits;
} wide;

static double wide_change(uint32_t partition, uint64_t clock, uint32_t col)
{
    const uint64_t k = partition * WIDE_CLOCKS + clock;
    return (strads_random_unit(5, 1, k, col) - 0.5) * (col % 7 == 0 ? 1e-3 : 1);
}

static void put_wide(void *cells, uint32_t col, double value)
{
    if (wide.type == STRADS_F32)
        ((float *)cells)[col] = (float)value;
    else
        ((double *)cells)[col] = value;
}

static double get_wide(const void *cells, uint32_t col)
{
    return wide.type == STRADS_F32 ? (double)((const float *)cells)[col]
                                   : ((const double *)cells)[col];
}

/* After each clock a cell lacks at most half a step per worker; after a
 * flush it lacks nothing. */
static strads_err wide_run(strads_task *task, strads_session *session)
{
    const double workers = task->shape->partitions;
    double cells[WIDE], change[WIDE], sum[WIDE] = {0}, most = 0;
    strads_err err = STRADS_OK;
    for (uint64_t c = 0; !err && c < WIDE_CLOCKS; c++) {
        for (uint32_t j = 0; j < WIDE; j++)
            put_wide(change, j, wide_change(task->share->partition, c, j));
        err = strads_session_inc_row(session, 1, 0, change);
        if (!err && c + 1 == WIDE_CLOCKS)
            err = strads_session_flush(session);
        if (!err)
            err = strads_session_clock(session);
        if (!err)
            err = strads_session_barrier(session);
        if (!err)
            err = strads_session_read_row(session, 1, 0, 0, cells);
        for (uint32_t j = 0; !err && j < WIDE; j++) {
            for (uint32_t p = 0; p < task->shape->partitions; p++)
                sum[j] += wide_change(p, c, j);
            most = fmax(most, fabs(get_wide(cells, j) - sum[j]));
        }
        const double step = 0.51 / 127, late = (workers - 1) * step / 2;
        const double bound = c + 1 == WIDE_CLOCKS ? 0 : late;
        if (!err && most > bound + 1e-4)
            err =
                strads_fail(STRADS_EPROGRAM, "clock %d: off by %g, at most %g",
                            (int)c, most, bound);
        if (!err && wide.bits && bound > 0 && most < 1e-4)
            err = strads_fail(STRADS_EPROGRAM, "nothing was rounded");
        most = 0;
        if (!err) /* waits until all have read, before the next addition */
            err = strads_session_clock(session);
        if (!err)
            err = strads_session_barrier(session);
    }
    return err;
}

static strads_err wide_tables(const void *config, const strads_shape *shape,
                              strads_store *store)
{
    (void)config, (void)shape;
    const strads_table_spec spec = {.name = "wide",
                                    .type = wide.type,
                                    .rows = 1,
                                    .cols = WIDE,
                                    .push_bits = wide.bits};
    return strads_store_create(store, &spec, &(uint32_t){0});
}

static const strads_program wide_program = {
    .size = sizeof(strads_program),
    .name = "wide",
    .shape = one_shape,
    .tables = wide_tables,
    .run = wide_run,
};

static uint64_t wide_bytes(strads_scalar type, uint32_t bits)
{
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = 3,
                                    .latency = 50e-6,
                                    .update_cost = 20e-6};
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = 3};
    strads_data *data = toy_data(&wide_program, 23, 17, 3);
    strads_result *result;
    strads_sim_outcome outcome;
    wide.type = type;
    wide.bits = bits;
    expect_ok(strads_simulate(&wide_program, NULL, data, &options, &sim,
                              &result, &outcome));
    strads_result_free(result);
    strads_data_free(data);
    return outcome.pushes.bytes;
}

Test(sim_loop, changes_in_8_bits_lose_nothing_and_are_a_quarter_or_an_eighth)
{
    const double f64 = (double)wide_bytes(STRADS_F64, 0);
    const double f32 = (double)wide_bytes(STRADS_F32, 0);
    /* The last clock's flush sends full values, including the accumulated
     * errors. */
    const double clocks = WIDE_CLOCKS - 1;
    cr_expect_lt(((double)wide_bytes(STRADS_F64, 8) - f64 / WIDE_CLOCKS) /
                     (f64 / WIDE_CLOCKS * clocks),
                 1.15 / 8);
    cr_expect_lt(((double)wide_bytes(STRADS_F32, 8) - f32 / WIDE_CLOCKS) /
                     (f32 / WIDE_CLOCKS * clocks),
                 1.1 / 4);
}
