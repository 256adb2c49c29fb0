/* The options of a loop's tables on two nodes. The only shard is on node 0.
 * So node 0 receives the pushes and requests of node 1, and sends
 * acknowledgements and rows. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { ROWS = 64, COLS = 128, CLOCKS = 40, ROW_BYTES = 8 * COLS };
enum { WIDE = 2048 };

static uint32_t cols = COLS; /* or WIDE, for loops that do not read */

/* The actions of each loop in a clock. */
static struct {
    double add;       /* added to every number of the first `changes` rows, */
    uint32_t changes; /* times (r + 1) for row r with `graded` */
    bool graded;
    uint32_t reads; /* reads of all rows, after a barrier */
} plan;

TOY_SHAPE(knob_shape, shape->parameters = ROWS, shape->width = cols)

static strads_err add_rows(strads_session *session)
{
    double delta[WIDE];
    strads_err err = STRADS_OK;
    for (uint32_t r = 0; !err && r < plan.changes; r++) {
        for (uint32_t j = 0; j < cols; j++)
            delta[j] = plan.add * (plan.graded ? r + 1 : 1);
        err = strads_session_inc_row(session, 0, r, delta);
    }
    return err;
}

static strads_err read_rows(strads_session *session)
{
    static _Thread_local double values[ROWS * COLS];
    strads_err err = plan.reads ? strads_session_barrier(session) : STRADS_OK;
    for (uint32_t k = 0; !err && k < plan.reads; k++)
        for (uint32_t r = 0; !err && r < ROWS; r++)
            err = strads_session_read_row(session, 0, r, 0, values + r * COLS);
    return err;
}

static strads_err knob_run(strads_task *task, strads_session *session)
{
    strads_err err = STRADS_OK;
    for (uint32_t c = 0; !err && c < CLOCKS; c++) {
        (void)strads_loop_ends(task);
        err = add_rows(session);
        if (!err)
            err = strads_session_clock(session);
        if (!err)
            err = read_rows(session);
    }
    return err;
}

static const strads_program knob_program = {
    .size = sizeof(strads_program),
    .name = "knobs",
    .shape = knob_shape,
    .run = knob_run,
};

/* Runs it and checks every final sum, whatever was held back on the way. */
static strads_progress run_with(const strads_engine_options *options)
{
    const team t = {.program = &knob_program,
                    .nodes = 2,
                    .workers = {1, 1},
                    .options = *options};
    strads_result *result = expect_team(&t);
    const double *value = values_of(result);
    for (uint32_t r = 0; r < ROWS; r++) {
        const double each =
            r < plan.changes ? plan.add * (plan.graded ? r + 1 : 1) : 0;
        cr_assert_float_eq(value[r * cols + cols - 1], 2 * CLOCKS * each,
                           1e-9 * (1 + 2 * CLOCKS * each), "row %u", r);
    }
    const strads_progress progress = *strads_result_progress(result);
    strads_result_free(result);
    return progress;
}

static const strads_engine_options plain = {.shards = 1};

Test(loop_options, changes_below_the_filter_are_pushed_once_they_add_up)
{
    plan.add = 0.25;
    plan.changes = ROWS;
    const strads_progress all = run_with(&plain);
    strads_engine_options held = plain;
    held.hold_below = 1;
    const strads_progress some = run_with(&held);
    cr_expect_geq(all.bytes_received, CLOCKS * ROWS * ROW_BYTES);
    cr_expect_leq(some.bytes_received, all.bytes_received / 3,
                  "%llu of %llu bytes, where a quarter is due",
                  (unsigned long long)some.bytes_received,
                  (unsigned long long)all.bytes_received);
    cr_expect_geq(some.bytes_received, all.bytes_received / 5);
}

/* The last push sends all held rows, each once. */
Test(loop_options, a_clock_pushes_no_more_than_its_bound_until_the_end)
{
    plan.add = 1;
    plan.changes = ROWS;
    plan.graded = true;
    strads_engine_options bound = plain;
    bound.push_bytes = 2 * ROW_BYTES;
    const uint64_t got = run_with(&bound).bytes_received;
    const uint64_t overhead = 64 + 200;
    cr_expect_leq(got,
                  CLOCKS * (2 * ROW_BYTES + overhead) + ROWS * (ROW_BYTES + 4) +
                      4096,
                  "%llu bytes", (unsigned long long)got);
    cr_expect_geq(got, CLOCKS * 2 * ROW_BYTES + (ROWS - 2) * ROW_BYTES);
}

/* Node 0 gets its rows from the local shard; it sends rows only to node 1. */
Test(loop_options, a_small_cache_has_rows_sent_again)
{
    plan.add = 1;
    plan.changes = 1;
    plan.reads = 3;
    const strads_progress kept = run_with(&plain);
    strads_engine_options small = plain;
    small.cache_bytes = 4 * ROW_BYTES;
    const strads_progress again = run_with(&small);
    cr_expect_geq(again.bytes_sent, 2 * kept.bytes_sent,
                  "%llu bytes, and %llu with room for all rows",
                  (unsigned long long)again.bytes_sent,
                  (unsigned long long)kept.bytes_sent);
}

/* A loop that only pushes does not wait while the window has space. */
Test(loop_options, a_full_window_has_a_loop_wait_for_acknowledgements)
{
    plan.add = 1;
    plan.changes = ROWS;
    strads_engine_options wide = plain;
    wide.window = 64;
    cr_expect_eq(run_with(&wide).network_seconds, 0);
    strads_engine_options narrow = plain;
    narrow.window = 1;
    cr_expect_gt(run_with(&narrow).network_seconds, 0);
}

/* The rows of a clock are four pieces of a push; the window allows one in
 * flight. */
Test(loop_options, rows_that_leave_before_their_clock_ends_wait_for_room)
{
    plan.add = 1;
    plan.changes = ROWS;
    plan.graded = true;
    cols = WIDE;
    strads_engine_options narrow = plain;
    narrow.window = 1;
    const strads_progress progress = run_with(&narrow);
    cr_expect_gt(progress.network_seconds, 0);
    cr_expect_geq(progress.bytes_received,
                  (uint64_t)CLOCKS * ROWS * WIDE * sizeof(double));
}

static void refused(const strads_engine_options *options)
{
    strads_engine_options o = *options;
    strads_engine *engine = NULL;
    o.size = sizeof o;
    o.listen = "tcp://127.0.0.1:0";
    o.nodes = 2;
    cr_expect_eq(strads_engine_listen(&knob_program, NULL, &o, &engine),
                 STRADS_EINVAL);
    cr_expect_null(engine);
}

Test(loop_options, contradictory_options_are_refused_before_a_node_joins)
{
    refused(&(strads_engine_options){.window = 65});
    refused(&(strads_engine_options){.hold_below = -1});
    refused(&(strads_engine_options){.hold_below = (double)NAN});
}
