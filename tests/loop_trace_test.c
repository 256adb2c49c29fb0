/* A loop's trace, read with jansson. The spans of each partition's clocks
 * (computing, waiting and the network) add up to the run's reported times, and
 * shards have tracks for their jobs. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { CLOCKS = 30, SLOW_US = 2000 };

static char folder[64];
static char path[3][96];

static void make_folder(void)
{
    strcpy(folder, "/tmp/strads-loop-trace-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (int k = 0; k < 3; k++)
        (void)snprintf(path[k], sizeof path[k], "%s/%d.json", folder, k);
    tally = (tally_plan){.clocks = CLOCKS, .slow_us = SLOW_US};
}

static void remove_folder(void)
{
    for (int k = 0; k < 3; k++)
        (void)remove(path[k]);
    (void)rmdir(folder);
}

/* Sums of spans in seconds, over all traces read. */
typedef struct sums {
    double compute, wait, network, clock;
    uint32_t clocks, commits, serves, transfers;
    uint32_t partitions; /* tracks */
    double last;         /* the end of the last span */
} sums;

static void take_span(const json_t *event, sums *s)
{
    const char *name = trace_text(event, "name");
    double seconds = 1e-6 * json_real_value(json_object_get(event, "dur"));
    if (strcmp(name, "clock") == 0) {
        json_t *args = json_object_get(event, "args");
        cr_expect_leq(json_integer_value(json_object_get(args, "round")),
                      CLOCKS + 1);
        s->clock += seconds;
        s->clocks++;
    }
    s->compute += strcmp(name, "compute") == 0 ? seconds : 0;
    s->wait += strcmp(name, "wait") == 0 ? seconds : 0;
    s->network += strcmp(name, "network") == 0 ? seconds : 0;
    s->commits += strcmp(name, "commit") == 0;
    s->serves += strcmp(name, "serve") == 0;
    s->transfers += strncmp(name, "transfer", 8) == 0;
    double end = 1e-6 * json_real_value(json_object_get(event, "ts")) + seconds;
    s->last = end > s->last ? end : s->last;
}

static void read_trace(const char *from, sums *s)
{
    json_t *root = expect_trace(from);
    json_t *events = json_object_get(root, "traceEvents");
    for (size_t k = 0; k < json_array_size(events); k++) {
        const json_t *event = json_array_get(events, k);
        const char *name = trace_text(json_object_get(event, "args"), "name");
        if (strcmp(trace_text(event, "ph"), "X") == 0)
            take_span(event, s);
        else if (name)
            s->partitions += strncmp(name, "partition ", 10) == 0;
    }
    json_decref(root);
}

static void check(const sums *s, const strads_progress *p, uint32_t partitions)
{
    const double all = s->compute + s->wait + s->network;
    cr_expect_eq(s->partitions, partitions);
    cr_expect_geq(s->clocks, partitions * CLOCKS);
    cr_expect_leq(s->clocks, partitions * (CLOCKS + 2));
    cr_expect_float_eq(s->wait, p->waiting_seconds, 1e-4);
    cr_expect_float_eq(s->network, p->network_seconds, 1e-4);
    cr_expect_float_eq(all, s->clock, 1e-3 + 0.01 * s->clock);
    cr_expect_float_eq(s->compute, p->callback_seconds,
                       0.03 + 0.1 * p->callback_seconds);
}

Test(loop_trace, in_one_process_spans_add_up_to_the_reported_times,
     .init = make_folder, .fini = remove_folder)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 3);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 3,
                                           .trace = path[0]};
    strads_result *result;
    sums s = {0};
    expect_ok(strads_run(&tally_program, NULL, data, &options, &result));
    read_trace(path[0], &s);
    check(&s, strads_result_progress(result), 3);
    strads_result_free(result);
    strads_data_free(data);
}

Test(loop_trace, over_nodes_too_and_shards_commit_and_serve,
     .init = make_folder, .fini = remove_folder)
{
    const team t = {.program = &tally_program,
                    .nodes = 3,
                    .workers = {1, 1, 2},
                    .trace = {path[0], path[1], path[2]},
                    .options = {.shards = 2}};
    strads_result *result;
    team_end end[TEAM_MAX];
    uint32_t shards = 0; /* nodes with a shard track, in any order */
    sums s = {0};
    team_run(&t, &result, end);
    cr_assert_eq(end[0].err, STRADS_OK, "%s", end[0].text);
    for (uint32_t k = 0; k < 3; k++) {
        cr_expect_eq(end[k].err, STRADS_OK, "%s", end[k].text);
        sums here = {0};
        read_trace(path[k], &here);
        shards += here.commits > 0 && here.serves > 0;
        cr_expect_gt(here.transfers, 0);
        read_trace(path[k], &s);
    }
    cr_expect_eq(shards, 2);
    check(&s, strads_result_progress(result), 4);
    cr_expect_geq(s.commits, CLOCKS);
    strads_result_free(result);
}

/* In virtual time there is no noise: a clock costs exactly its declared
 * cost, and the remainder is waiting and the network. */
Test(loop_trace, simulated_spans_are_the_reported_times_and_the_given_costs,
     .init = make_folder, .fini = remove_folder)
{
    enum { NODES = 3, PARTITIONS = 4 };
    const double cost = 20e-6;
    strads_data *data = toy_data(&tally_program, 23, 17, PARTITIONS);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = PARTITIONS,
                                           .shards = 2,
                                           .trace = path[0]};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = NODES,
                                    .latency = 50e-6,
                                    .bandwidth = 1e9,
                                    .message_cost = 2e-6,
                                    .merge_cost = 1e-9,
                                    .update_cost = cost};
    strads_sim_outcome outcome;
    strads_result *result;
    sums s = {0};
    expect_ok(strads_simulate(&tally_program, NULL, data, &options, &sim,
                              &result, &outcome));
    read_trace(path[0], &s);
    check(&s, strads_result_progress(result), PARTITIONS);
    cr_expect_float_eq(s.compute, outcome.workers_busy, 1e-7 * s.clocks);
    cr_expect_geq(s.compute, PARTITIONS * CLOCKS * cost * (1 - 1e-9));
    cr_expect_float_eq(s.compute + s.wait + s.network, s.clock,
                       1e-8 * s.clocks);
    cr_expect_gt(s.commits, CLOCKS);
    cr_expect_gt(s.serves, CLOCKS);
    cr_expect_eq(s.transfers, outcome.messages);
    cr_expect_leq(s.last, outcome.makespan + 1e-9);
    cr_expect_gt(s.last, 0.9 * outcome.makespan);
    strads_result_free(result);
    strads_data_free(data);
}

Test(loop_trace, one_that_cannot_be_written_fails_the_run)
{
    strads_data *data = toy_data(&tally_program, 23, 17, 1);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .trace = "/nonexistent/t.json"};
    strads_result *result = NULL;
    tally = (tally_plan){.clocks = 1};
    cr_expect_eq(strads_run(&tally_program, NULL, data, &options, &result),
                 STRADS_EIO);
    cr_expect_null(result);
    strads_data_free(data);
}
