/* How dispatches go down: everybody hears everything once, a few hops from the
 * coordinator, and what is large is nobody's to send many times over. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/round/tree.h"

enum { HOPS = 4, WORKERS_MAX = 1111 };
static const uint32_t sizes[] = {1,   2,    7,    8,    9,          13,  16,
                                 17,  31,   37,   100,  255,        256, 257,
                                 999, 1000, 1023, 1024, WORKERS_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* A dispatch whose news are this number of changed parameters, on as many nodes
 * as workers. */
typedef struct descent_test {
    strads_program program;
    sti_run run;
    uint32_t node_of[WORKERS_MAX];
    sti_dispatch *dispatch;
    sti_buffer *packed;
} descent_test;

static void open_descent(descent_test *t, uint32_t workers, uint32_t changed)
{
    *t = (descent_test){.run = {.program = &t->program,
                                .shape = {.width = 1},
                                .workers = workers,
                                .node_of = t->node_of}};
    for (uint32_t w = 0; w < workers; w++)
        t->node_of[w] = w;
    sti_news *news;
    cr_assert_eq(sti_news_change(1, changed, 1, &news), STRADS_OK);
    const sti_dispatch_parts parts = {.phase = STI_PHASE_OPEN,
                                      .width = 1,
                                      .n_news = 1,
                                      .news = &news};
    memset((void *)(uintptr_t)news->change.param, 0, 4 * (size_t)changed);
    memset((void *)(uintptr_t)news->change.change, 0, 8 * (size_t)changed);
    cr_assert_eq(sti_dispatch_new(&parts, &t->dispatch), STRADS_OK);
    cr_assert_eq(sti_descent_pack(&t->run, t->dispatch, &t->packed), STRADS_OK);
    sti_object_drop(news);
}

static void close_descent(descent_test *t)
{
    sti_object_drop(t->dispatch);
    sti_object_drop(t->packed);
}

/* What came of a descent. */
typedef struct spread {
    uint32_t pieces;    /* in which it went down */
    uint32_t most_sent; /* by one worker */
    uint32_t hops;      /* of the longest way */
} spread;

static void pass_on(const descent_test *t, uint32_t worker, const sti_msg *msg,
                    sti_effects *out)
{
    const sti_place place = sti_descent_place(&t->run, STI_WORKER_0 + worker);
    if (msg->kind == STI_MSG_DISPATCH)
        sti_descent_pass_on(worker, &place, msg, out);
    else
        sti_descent_pass_piece_on(&t->run, worker, msg, out);
}

/* Has every message passed on, and checks who gets what. */
static spread let_down(descent_test *t)
{
    static bool heard[WORKERS_MAX][STI_PIECES_MAX];
    static uint32_t depth[WORKERS_MAX][STI_PIECES_MAX];
    uint32_t sent[WORKERS_MAX] = {0};
    memset(heard, 0, sizeof heard);
    sti_effects out = {0};
    spread s = {.pieces = 1};
    const sti_place root = sti_descent_place(&t->run, STI_COORDINATOR);
    cr_assert_eq(sti_descent_begin(&t->run, &root, t->dispatch, t->packed,
                                   &out),
                 STRADS_OK);
    for (size_t k = 0; k < out.n; k++) {
        const sti_msg msg = out.at[k].msg;
        const uint32_t to = msg.to - STI_WORKER_0;
        const bool whole = msg.kind == STI_MSG_DISPATCH;
        cr_assert(whole == !t->packed && to < t->run.workers);
        cr_assert_not(heard[to][msg.slice], "%u hears twice", to);
        heard[to][msg.slice] = true;
        depth[to][msg.slice] = 1;
        if (msg.from >= STI_WORKER_0) {
            sent[msg.from - STI_WORKER_0]++;
            depth[to][msg.slice] += depth[msg.from - STI_WORKER_0][msg.slice];
        }
        s.pieces = whole ? 1 : msg.partition;
        if (depth[to][msg.slice] > s.hops)
            s.hops = depth[to][msg.slice];
        pass_on(t, to, &msg, &out);
        sti_object_drop(msg.object);
    }
    for (uint32_t w = 0; w < t->run.workers; w++) {
        for (uint32_t i = 0; i < s.pieces; i++)
            cr_assert(heard[w][i], "%u of %u misses %u", w, t->run.workers, i);
        s.most_sent = sent[w] > s.most_sent ? sent[w] : s.most_sent;
    }
    out.n = 0; /* what they sent has been dropped */
    sti_effects_free(&out);
    return s;
}

Test(role_descent, a_small_dispatch_reaches_everybody_once_in_three_hops)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        descent_test t;
        open_descent(&t, sizes[k], 100);
        const spread s = let_down(&t);
        cr_assert_eq(s.pieces, 1);
        cr_assert_leq(s.hops, 3);
        cr_assert_leq(s.most_sent, 18);
        close_descent(&t);
    }
}

/* Beside the rows' others a worker may send a piece down its group's tree, and
 * to one guest or a few where there are hardly more workers than pieces. */
Test(role_descent, pieces_reach_everybody_once_and_nobody_sends_many)
{
    for (uint32_t k = 0; k < SIZES; k++)
        for (uint32_t changed = 200; changed < 10000; changed *= 2) {
            descent_test t;
            open_descent(&t, sizes[k], changed);
            const spread s = let_down(&t);
            const uint32_t rows = sizes[k] / s.pieces;
            cr_assert_eq(s.pieces > 1, sizes[k] >= STI_PIECES_FROM);
            cr_assert_leq(s.hops, HOPS);
            if (s.pieces > 1)
                cr_assert_leq((double)s.most_sent / s.pieces,
                              1 + ((rows < 8 ? s.pieces : 0) + 2 +
                                   sqrt(2.0 * rows)) /
                                      s.pieces);
            close_descent(&t);
        }
}

Test(role_descent, workers_of_few_nodes_are_sent_it_whole)
{
    descent_test t;
    open_descent(&t, 64, 5000);
    cr_assert_not_null(t.packed);
    sti_object_drop(t.packed);
    for (uint32_t w = 0; w < 64; w++)
        t.node_of[w] = w * (STI_PIECES_FROM - 1) / 64;
    cr_assert_eq(sti_descent_pack(&t.run, t.dispatch, &t.packed), STRADS_OK);
    cr_assert_null(t.packed);
    close_descent(&t);
}
