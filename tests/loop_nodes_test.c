/* Data-parallel loops on several nodes: sums, the staleness rule as each
 * reader sees it, reports, and every way in which such a run ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/round/loop_message.h"
#include "engine/round/message_codec.h"
#include "engine/net/mesh_state.h"
#include "engine/store/message.h"
#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"

static team_end end[TEAM_MAX];

static double value_at(const strads_result *result, uint32_t at)
{
    return values_of(result)[at];
}

/* Every cell of the model is `each`, and no read broke the rule. */
static void expect_tally(const strads_result *result, double each)
{
    uint64_t parameters;
    uint32_t width;
    const double *values = strads_result_values(result, &parameters, &width);
    cr_expect_eq(parameters, TALLY_ROWS);
    for (uint64_t k = 0; k < parameters * width; k++)
        cr_assert_eq(values[k], each, "cell %llu is %g, not %g",
                     (unsigned long long)k, values[k], each);
    cr_expect_eq(atomic_load(&tally.wrong), 0, "%u reads were wrong",
                 atomic_load(&tally.wrong));
}

static void run_well(const team *t, double each)
{
    strads_result *result = expect_team(t);
    expect_tally(result, each);
    strads_result_free(result);
}

/* ---- sums and staleness ------------------------------------------------ */

static void count(uint32_t nodes, uint32_t shards, uint32_t staleness,
                  const char *listen, const char *const *joins)
{
    team t = {.program = &tally_program,
              .nodes = nodes,
              .workers = {2, 1, 2},
              .listen = listen,
              .options = {.shards = shards}};
    for (uint32_t k = 1; joins && k < nodes; k++)
        t.joins[k] = joins[k];
    tally = (tally_plan){.clocks = 40,
                         .staleness = staleness,
                         .snapshots = 3,
                         .flushes = 3};
    run_well(&t, 40);
    cr_expect_eq(atomic_load(&tally.partitions_met), nodes == 2 ? 3 : 5);
}

static const uint32_t STALENESS[] = {0, 2, STRADS_STALENESS_INFINITE};

Test(loop_nodes, two_nodes_count_exactly_and_no_read_breaks_the_rule)
{
    for (uint32_t shards = 1; shards <= 3; shards++)
        for (int s = 0; s < 3; s++)
            count(2, shards, STALENESS[s], NULL, NULL);
}

Test(loop_nodes, three_nodes_count_exactly_and_no_read_breaks_the_rule)
{
    for (uint32_t shards = 1; shards <= 3; shards++)
        for (int s = 0; s < 3; s++)
            count(3, shards, STALENESS[s], NULL, NULL);
}

Test(loop_nodes, and_so_they_do_over_ipc)
{
    char folder[] = "/tmp/strads-loops-XXXXXX", url[3][64];
    const char *joins[3];
    cr_assert_not_null(mkdtemp(folder));
    for (int k = 0; k < 3; k++) {
        (void)snprintf(url[k], sizeof url[k], "ipc://%s/%d", folder, k);
        joins[k] = url[k];
    }
    for (int s = 0; s < 3; s++) {
        count(2, 2, STALENESS[s], url[0], joins);
        count(3, 3, STALENESS[s], url[0], joins);
    }
    for (int k = 0; k < 3; k++)
        (void)unlink(url[k] + strlen("ipc://"));
    (void)rmdir(folder);
}

Test(loop_nodes, one_node_that_listens_is_a_run_too)
{
    const team t = {.program = &tally_program,
                    .nodes = 1,
                    .workers = {3},
                    .options = {.shards = 2}};
    tally = (tally_plan){.clocks = 30, .staleness = 1};
    run_well(&t, 30);
}

Test(loop_nodes, start_values_are_there_before_anybody_begins)
{
    static const uint32_t param[2] = {1, 6};
    static const double value[2 * 3] = {4, 5, 6, 7, 8, 9};
    const team t = {.program = &tally_program,
                    .nodes = 2,
                    .workers = {2, 1},
                    .options = {.shards = 2,
                                .n_start = 2,
                                .start_param = param,
                                .start_value = value}};
    tally = (tally_plan){.clocks = 0};
    strads_result *result = expect_team(&t);
    cr_expect_eq(value_at(result, 0), 0);
    cr_expect_eq(value_at(result, 3), 4);
    cr_expect_eq(value_at(result, 5), 6);
    cr_expect_eq(value_at(result, 20), 9);
    strads_result_free(result);
}

/* ---- how it ends ------------------------------------------------------- */

enum { FOREVER = 1000000 };

Test(loop_nodes, max_rounds_is_the_same_clock_on_all_nodes)
{
    const team t = {.program = &tally_program,
                    .nodes = 3,
                    .options = {.max_rounds = 17}};
    tally =
        (tally_plan){.clocks = FOREVER, .staleness = STRADS_STALENESS_INFINITE};
    strads_result *result = expect_team(&t);
    expect_tally(result, 17);
    cr_expect_eq(strads_result_end(result), STRADS_END_ROUNDS);
    cr_expect_eq(strads_result_progress(result)->round, 17);
    for (uint32_t p = 0; p < 3; p++)
        cr_expect_eq(atomic_load(&tally.ended[p]), 18);
    strads_result_free(result);
}

static strads_end end_of(const team *t)
{
    strads_result *result = expect_team(t);
    strads_end why = strads_result_end(result);
    cr_expect_eq(atomic_load(&tally.wrong), 0);
    cr_expect_lt(atomic_load(&tally.ended[0]), FOREVER);
    strads_result_free(result);
    return why;
}

Test(loop_nodes, a_time_limit_ends_loops_on_all_nodes)
{
    const team t = {.program = &tally_program,
                    .nodes = 2,
                    .options = {.time_limit = 0.1, .shards = 2}};
    for (int s = 0; s < 3; s++) {
        tally = (tally_plan){.clocks = FOREVER, .staleness = STALENESS[s]};
        cr_expect_eq(end_of(&t), STRADS_END_TIME);
    }
}

Test(loop_nodes, loops_that_never_ask_are_cut_off_on_all_nodes)
{
    team t = {.program = &tally_program,
              .nodes = 2,
              .options = {.time_limit = 0.1, .shards = 2}};
    tally = (tally_plan){.clocks = FOREVER, .staleness = 2, .careless = true};
    cr_expect_eq(end_of(&t), STRADS_END_TIME);
    t.options = (strads_engine_options){.max_rounds = 20};
    tally = (tally_plan){.clocks = FOREVER, .staleness = 2, .careless = true};
    cr_expect_eq(end_of(&t), STRADS_END_ROUNDS);
    for (uint32_t p = 0; p < 2; p++)
        cr_expect_eq(atomic_load(&tally.ended[p]), 22 + STRADS_LOOP_GRACE);
}

Test(loop_nodes, a_stop_on_node_0_ends_them_with_the_model_so_far)
{
    for (int s = 0; s < 3; s++) {
        volatile bool stop = false;
        const team t = {.program = &tally_program,
                        .nodes = 3,
                        .options = {.stop = &stop}};
        tally = (tally_plan){.clocks = FOREVER,
                             .staleness = STALENESS[s],
                             .stops = 5,
                             .stop = &stop};
        cr_expect_eq(end_of(&t), STRADS_END_CANCELED);
    }
}

Test(loop_nodes, a_stop_on_other_nodes_ends_them_with_the_model_so_far)
{
    for (int s = 0; s < 3; s++) {
        volatile bool stop = false;
        const team t = {.program = &tally_program, .nodes = 3, .stop = &stop};
        tally = (tally_plan){.clocks = FOREVER,
                             .staleness = STALENESS[s],
                             .stops = 5,
                             .stop = &stop};
        cr_expect_eq(end_of(&t), STRADS_END_CANCELED);
    }
}

Test(loop_nodes, a_failure_ends_all_nodes_with_its_sentence)
{
    for (int s = 0; s < 3; s++) {
        const team t = {.program = &tally_program,
                        .nodes = 3,
                        .workers = {1, 2, 1},
                        .options = {.shards = 3}};
        strads_result *result;
        tally = (tally_plan){.clocks = FOREVER,
                             .staleness = STALENESS[s],
                             .fails = 9};
        team_run(&t, &result, end);
        cr_expect_null(result);
        uint32_t own = 0; /* the number that it got depends on timing */
        for (int k = 0; k < 3; k++)
            own += end[k].err == STRADS_EPROGRAM;
        cr_expect_eq(own, 1);
        for (int k = 0; k < 3; k++)
            cr_expect(end[k].err &&
                          strstr(end[k].text, "the last partition gave up"),
                      "node %d: %s", k, end[k].text);
    }
}

/* ---- peers that are wrong ---------------------------------------------- */

/* The forged message of node 1 after the start. */
typedef struct forgery {
    char url[300];
    sti_msg msg;
    const char *text; /* part of node 0's error message */
} forgery;

static void say_message(forger *f, const sti_msg *msg)
{
    sti_writer w = {0};
    cr_assert_eq(sti_msg_encode(msg, &w, NULL), STRADS_OK);
    const sti_outgoing frame = {
        .header = {.kind = (uint16_t)(STI_KIND_ROLE + msg->kind),
                   .from = 1,
                   .index = msg->to,
                   .round = msg->round},
        .parts = {{w.bytes, w.size}},
        .part_count = 1,
    };
    (void)sti_net_send(f->net, f->link, &frame);
    sti_writer_free(&w);
}

static void *forge(void *arg)
{
    const forgery *what = arg;
    forger f;
    cr_assert(forger_open(&f, what->url));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    forger_wait_welcome(&f);
    forger_say_ready(&f, &tally_program, 2);
    forger_wait_dispatch(&f);
    say_message(&f, &what->msg);
    forger_wait_lost(&f);
    forger_close(&f);
    return NULL;
}

static void expect_found_out(sti_msg msg, const char *text)
{
    const team t = {.program = &tally_program, .nodes = 2};
    forgery what = {.msg = msg, .text = text};
    strads_engine *engine;
    pthread_t other;
    tally = (tally_plan){.clocks = FOREVER};
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    (void)snprintf(what.url, sizeof what.url, "%s", strads_engine_url(engine));
    cr_assert_eq(pthread_create(&other, NULL, forge, &what), 0);
    expect_error(team_work(&t, 0, engine, NULL), STRADS_EPEER, text);
    pthread_join(other, NULL);
    strads_engine_free(engine);
    sti_object_drop(msg.object);
}

Test(loop_nodes, a_node_that_speaks_for_another_is_found_out)
{
    const char *const text = "sent a message for another node";
    expect_found_out((sti_msg){.kind = STI_MSG_ACK,
                               .from = STI_SHARD_0, /* shard 0 is on node 0 */
                               .to = STI_CLIENT_0,
                               .round = 1},
                     text);
    expect_found_out((sti_msg){.kind = STI_MSG_PUSH,
                               .from = STI_CLIENT_0,
                               .to = STI_SHARD_0},
                     text);
    expect_found_out((sti_msg){.kind = STI_MSG_PUSH,
                               .from = STI_CLIENT_0 + 1,
                               .to = STI_SHARD_0 + 1}, /* there is only one
                                                        * shard */
                     text);
}

Test(loop_nodes, a_push_that_does_not_fit_the_tables_ends_the_run)
{
    sti_buffer *push;
    const sti_push_part part = {.kind = STI_PUSH_ROWS,
                                .n = 1,
                                .places = &(uint32_t){TALLY_ROWS},
                                .cells = (double[2]){1, 1},
                                .cell_bytes = 2 * sizeof(double)};
    cr_assert_eq(sti_buffer_new(0, &push), STRADS_OK);
    cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
    expect_found_out((sti_msg){.kind = STI_MSG_PUSH,
                               .from = STI_CLIENT_0 + 1,
                               .to = STI_SHARD_0,
                               .round = 1,
                               .object = &push->head},
                     "does not fit the store");
}

Test(loop_nodes, a_word_that_is_not_due_ends_the_run)
{
    sti_loop_note *note;
    cr_assert_eq(sti_loop_note_new(&(sti_loop_note){.word = STI_LOOP_CLOSE},
                                   &note),
                 STRADS_OK);
    expect_found_out((sti_msg){.kind = STI_MSG_LOOP,
                               .to = STI_COORDINATOR,
                               .object = &note->head},
                     "that was not requested");
}

/* ---- reports ----------------------------------------------------------- */

typedef struct lines {
    uint32_t n;
    bool ordered;
} lines;

static void note(void *arg, const strads_progress *progress)
{
    lines *l = arg;
    l->ordered = l->ordered && progress->objective == l->n;
    l->n++;
}

Test(loop_nodes, reports_of_any_partition_are_delivered_in_order_on_node_0)
{
    for (uint32_t reporter = 0; reporter < 3; reporter++) {
        lines l = {.ordered = true};
        const team t = {.program = &tally_program,
                        .nodes = 3,
                        .options = {.progress = note, .progress_arg = &l}};
        tally = (tally_plan){.clocks = 60,
                             .staleness = 1,
                             .reporter = reporter,
                             .reports = 50};
        run_well(&t, 60);
        cr_expect(l.ordered);
        cr_expect_eq(l.n, 50);
    }
}

Test(loop_nodes, a_small_gap_that_another_node_reports_ends_the_run)
{
    const team t = {.program = &tally_program, .nodes = 2};
    tally = (tally_plan){.clocks = FOREVER,
                         .reporter = 1,
                         .reports = FOREVER,
                         .converges = 12};
    cr_expect_eq(end_of(&t), STRADS_END_CONVERGED);
}
