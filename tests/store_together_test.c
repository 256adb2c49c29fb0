/* A clock that ends together with a read: in one process, and what a node sends
 * for it, by a store whose transport is the test. */
#include <criterion/criterion.h>

#include "engine/net/node_store.h"
#include "strads/strads.h"
#include "tests/expect_failure.h"

enum { ROWS = 4, SENT = 8 };

static const strads_table_spec spec = {.name = "w", .rows = ROWS, .cols = 1};

TestSuite(store_together, .timeout = 60);

Test(store_together, a_read_is_as_of_the_clock_that_begins)
{
    const uint32_t rows[] = {2, 1};
    strads_store *store;
    strads_session *s;
    uint32_t table;
    double seen[2] = {0};
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    cr_assert_eq(strads_store_create(store, &spec, &table), STRADS_OK);
    cr_assert_eq(strads_session_open(store, 0, 1, &s), STRADS_OK);
    cr_assert_eq(strads_session_inc(s, table, 2, 0, 1.5), STRADS_OK);
    cr_assert_eq(strads_session_clock_and_read(s, table, 2, rows, 0, seen),
                 STRADS_OK);
    cr_expect_eq(strads_session_now(s), 1);
    cr_expect_eq(seen[0], 1.5);
    cr_expect_eq(seen[1], 0);
    expect_failure(strads_session_clock_and_read(s, table, 1, &(uint32_t){ROWS},
                                                 0, seen),
                   STRADS_EINVAL, "there is no row 4");
    cr_expect_eq(strads_session_now(s), 1, "a clock ended for nothing");
    strads_session_close(s);
    strads_store_free(store);
}

/* ---- over nodes -------------------------------------------------------- */

typedef struct wire {
    sti_node_store *store;
    sti_msg sent[SENT];
    uint32_t n;
    bool answers; /* an ask is answered: with the end of the run */
} wire;

static strads_err take(void *arg, const sti_msg *msg)
{
    wire *w = arg;
    cr_assert_lt(w->n, SENT);
    w->sent[w->n] = *msg;
    w->sent[w->n++].object = NULL;
    sti_object_drop(msg->object);
    if (w->answers && msg->kind == STI_MSG_ASK_ROWS)
        sti_node_store_abort(w->store, STRADS_ECANCELED, "enough was seen");
    return STRADS_OK;
}

static bool always(void *arg, sti_address to, uint64_t bytes)
{
    (void)arg, (void)to, (void)bytes;
    return true;
}

static void note(void *arg, strads_err err, const char *text)
{
    (void)arg, (void)err;
    cr_expect_fail("%s", text);
}

static strads_err run_loop(strads_task *task, strads_session *s)
{
    (void)task, (void)s;
    return STRADS_OK;
}

/* Node 1 of two; the only shard is on node 0. */
static strads_session *open_node(wire *w)
{
    static const strads_program program = {.run = run_loop};
    static const sti_run run = {.program = &program,
                                .nodes = 2,
                                .shards = 1,
                                .partitions = 2,
                                .workers = 2};
    const sti_node_store_setup setup = {.run = &run,
                                        .node = 1,
                                        .first_worker = 1,
                                        .workers = 1,
                                        .tables = &spec,
                                        .n_tables = 1,
                                        .send = take,
                                        .has_room = always,
                                        .failed = note,
                                        .arg = w};
    strads_session *s = NULL;
    cr_assert_eq(sti_node_store_open(&setup, &w->store), STRADS_OK);
    cr_assert_eq(sti_node_store_session(w->store, 1, &s), STRADS_OK);
    return s;
}

static void close_node(wire *w, strads_session *s)
{
    strads_session_close(s);
    sti_node_store_close(w->store);
}

Test(store_together, a_clock_leaves_with_the_ask_behind_it)
{
    wire w = {.answers = true};
    strads_session *s = open_node(&w);
    double seen;
    expect_failure(strads_session_clock_and_read(s, 0, 1, &(uint32_t){3}, 0,
                                                 &seen),
                   STRADS_ECANCELED, "enough was seen");
    cr_expect_eq(strads_session_now(s), 1);
    cr_assert_eq(w.n, 2);
    cr_expect_eq(w.sent[0].kind, STI_MSG_PUSH);
    cr_expect_eq(w.sent[1].kind, STI_MSG_ASK_ROWS);
    close_node(&w, s);
}

Test(store_together, and_alone_where_nothing_is_asked)
{
    wire w = {0};
    strads_session *s = open_node(&w);
    expect_failure(strads_session_clock_and_read(s, 0, 1, &(uint32_t){ROWS}, 0,
                                                 &(double){0}),
                   STRADS_EINVAL, "there is no row 4");
    cr_expect_eq(w.n, 0);
    cr_expect_eq(strads_session_now(s), 0);
    cr_assert_eq(strads_session_clock(s), STRADS_OK);
    cr_assert_eq(strads_session_clock_and_read(s, 0, 0, NULL, 0, NULL),
                 STRADS_OK);
    cr_expect_eq(strads_session_now(s), 2);
    cr_assert_eq(w.n, 2);
    for (uint32_t k = 0; k < w.n; k++) {
        cr_expect_eq(w.sent[k].kind, STI_MSG_PUSH);
    }
    close_node(&w, s);
}
