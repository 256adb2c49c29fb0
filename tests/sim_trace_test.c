/* The trace of a simulated run: every kind of work on its track, and at
 * depth 1 all of them at once. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_toy.h"
#include "tests/expect.h"
#include "tests/nodes_toy.h"
#include "tests/toy_data.h"

/* Runs rounds on two nodes, or on the threads of this process; returns the
 * trace. */
static json_t *traced_on(bool threads, uint32_t depth, double jitter)
{
    char dir[] = "/tmp/strads-sim-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/trace.json", dir);
    strads_data *data = toy_data(&sim_toy_rounds, 2, 1, 2);
    strads_engine_options options = sim_toy_options(2, depth);
    options.max_rounds = 20;
    options.workers = 2;
    options.trace = path;
    strads_sim_options sim = sim_toy_nodes(2);
    sim.latency = 1e-3;
    sim.update_cost = 3e-3;
    /* Worker 0 has finished its next share when it has to merge. */
    sim.slow = (const double[]){0.5, 1};
    sim.n_slow = 2;
    sim.aggregate_cost = 0.5e-3;
    sim.choose_cost = 0.5e-3;
    sim.jitter = jitter;
    strads_result *result = NULL;
    expect_ok(threads
                  ? strads_run(&sim_toy_rounds, NULL, data, &options, &result)
                  : strads_simulate(&sim_toy_rounds, NULL, data, &options, &sim,
                                    &result, NULL));
    strads_result_free(result);
    strads_data_free(data);
    json_t *trace = expect_trace(path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(dir), 0);
    return trace;
}

static json_t *traced(uint32_t depth)
{
    return traced_on(false, depth, 0);
}

/* Counts pairs of spans of different rounds that overlap by more than a
 * microsecond. */
static size_t overlaps(const json_t *trace, const char *one, const char *other)
{
    enum { ROOM = 1000 };
    static trace_span a[ROOM], b[ROOM];
    size_t n = trace_spans(trace, one, 0, a, ROOM),
           m = trace_spans(trace, other, 0, b, ROOM);
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            pairs += a[i].round != b[j].round && a[i].begin + 1 < b[j].end &&
                     b[j].begin + 1 < a[i].end;
    return pairs;
}

Test(sim_trace, choosing_moving_computing_and_committing_overlap_at_depth_1)
{
    json_t *trace = traced(1);
    cr_assert_gt(overlaps(trace, "update", "transfer"), 10);
    cr_assert_gt(overlaps(trace, "update", "aggregate"), 5);
    cr_assert_gt(overlaps(trace, "schedule", "update"), 5);
    json_decref(trace);
}

Test(sim_trace, nothing_of_two_rounds_overlaps_at_depth_0)
{
    json_t *trace = traced(0);
    cr_assert_eq(overlaps(trace, "update", "transfer"), 0);
    cr_assert_eq(overlaps(trace, "update", "aggregate"), 0);
    json_decref(trace);
}

Test(sim_trace, a_transfer_lasts_from_the_senders_port_to_the_receivers)
{
    json_t *trace = traced(1);
    static trace_span moved[1000];
    size_t n = trace_spans(trace, "transfer", 0, moved, 1000);
    cr_assert_gt(n, 4 * 20);
    for (size_t k = 0; k < n; k++)
        cr_assert_float_eq(moved[k].end - moved[k].begin, 1000, 0.01);
    json_decref(trace);
}

Test(sim_trace, with_jitter_messages_of_one_pair_overtake_each_other)
{
    static trace_span sent[1000];
    json_t *trace = traced_on(false, 4, 10);
    size_t n = trace_spans(trace, "transfer dispatch", 0, sent, 1000),
           overtaken = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) /* the coordinator sends to worker 0 */
            overtaken += sent[i].node == 2 && sent[j].node == 2 &&
                         sent[i].begin < sent[j].begin &&
                         sent[i].end > sent[j].end;
    cr_assert_gt(overtaken, 0);
    json_decref(trace);
}

static bool has_track(const json_t *trace, const char *name, int node)
{
    size_t k;
    const json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), k, event)
    {
        const char *kind = json_string_value(json_object_get(event, "name"));
        const char *is = json_string_value(
            json_object_get(json_object_get(event, "args"), "name"));
        if (strcmp(kind, "thread_name") == 0 && strcmp(is, name) == 0 &&
            json_integer_value(json_object_get(event, "pid")) == node)
            return true;
    }
    return false;
}

Test(sim_trace, every_role_and_every_link_has_a_track_on_its_node)
{
    json_t *trace = traced(1);
    cr_assert(has_track(trace, "worker 0", 0));
    cr_assert(has_track(trace, "worker 1", 1));
    cr_assert(has_track(trace, "coordinator", 2));
    cr_assert(has_track(trace, "scheduler", 2));
    for (int node = 0; node < 3; node++)
        cr_assert(has_track(trace, "link", node));
    json_decref(trace);
}

Test(sim_trace, a_run_on_threads_names_its_spans_alike)
{
    static trace_span found[1000];
    for (int threads = 0; threads < 2; threads++) {
        json_t *trace = traced_on(threads, 0, 0);
        cr_assert_eq(trace_spans(trace, "update update", 0, found, 1000),
                     2 * 20);
        cr_assert_eq(trace_spans(trace, "aggregate update", 0, found, 1000),
                     20);
        cr_assert_eq(trace_spans(trace, "schedule", 0, found, 1000), 20);
        json_decref(trace);
    }
}

Test(sim_trace, a_failing_run_keeps_its_sentence_and_leaves_its_trace)
{
    char dir[] = "/tmp/strads-sim-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/trace.json", dir);
    strads_data *data = toy_data(&sim_toy_rounds, 2, 1, 2);
    const nodes_toy_config config = {.fails = 1};
    strads_engine_options options = sim_toy_options(2, 0);
    options.trace = path;
    strads_sim_options sim = sim_toy_nodes(2);
    strads_result *result = NULL;
    cr_assert_eq(strads_simulate(&nodes_toy, &config, data, &options, &sim,
                                 &result, NULL),
                 STRADS_EPROGRAM);
    cr_assert_str_eq(strads_error_text(), "a ring that fails");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(dir), 0);
    strads_data_free(data);
}
