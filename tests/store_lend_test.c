/* Rows that their owner lends: in this process by sessions; over nodes by a
 * client whose shard the test plays. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/store/store_message.h"
#include "engine/store/store_client.h"
#include "strads/store.h"
#include "tests/client_sent.h"

enum { ROWS = 4, COLS = 3 };

/* ---- in this process --------------------------------------------------- */

typedef struct pair {
    strads_store *store;
    strads_session *a, *b;
} pair;

static void open_pair(pair *p, bool sparse)
{
    const strads_table_spec spec = {.name = "a",
                                    .type = STRADS_F64,
                                    .rows = ROWS,
                                    .cols = COLS,
                                    .sparse = sparse};
    uint32_t table;
    cr_assert_eq(strads_store_open(0, &p->store), 0);
    cr_assert_eq(strads_store_create(p->store, &spec, &table), 0);
    cr_assert_eq(strads_session_open(p->store, 0, 2, &p->a), 0);
    cr_assert_eq(strads_session_open(p->store, 1, 2, &p->b), 0);
}

static void close_pair(pair *p)
{
    strads_session_close(p->a);
    strads_session_close(p->b);
    strads_store_free(p->store);
}

static void expect_row(strads_session *s, uint32_t row, double a, double b,
                       double c)
{
    double got[COLS];
    cr_assert_eq(strads_session_read_row(s, 0, row, STRADS_STALENESS_INFINITE,
                                         got),
                 0);
    cr_expect(got[0] == a && got[1] == b && got[2] == c,
              "row %u is %g %g %g, not %g %g %g", row, got[0], got[1], got[2],
              a, b, c);
}

Test(store_lend, own_rows_are_seen_at_once_and_those_of_others_after_a_clock)
{
    pair p;
    const double rows[2][COLS] = {{1, 2, 3}, {4, 5, 6}};
    open_pair(&p, false);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 2, (uint32_t[]){3, 1}, rows),
                 0);
    expect_row(p.a, 3, 1, 2, 3);
    expect_row(p.a, 1, 4, 5, 6);
    expect_row(p.b, 3, 0, 0, 0);
    cr_assert_eq(strads_session_clock(p.a), 0);
    expect_row(p.b, 3, 1, 2, 3);
    expect_row(p.b, 1, 4, 5, 6);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 1, (uint32_t[]){3}, rows), 0);
    cr_assert_eq(strads_session_flush(p.a), 0);
    expect_row(p.b, 3, 2, 4, 6);
    close_pair(&p);
}

Test(store_lend, memory_that_was_reclaimed_may_change_before_its_clock_ends)
{
    pair p;
    double row[COLS] = {1, 2, 3};
    open_pair(&p, false);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 1, (uint32_t[]){2}, row), 0);
    cr_assert_eq(strads_session_reclaim(p.a), 0);
    memset(row, 0x5A, sizeof row);
    expect_row(p.a, 2, 1, 2, 3);
    cr_assert_eq(strads_session_clock(p.a), 0);
    expect_row(p.b, 2, 1, 2, 3);
    cr_assert_eq(strads_session_reclaim(p.a), 0);
    close_pair(&p);
}

Test(store_lend, what_else_is_added_does_not_change_what_is_lent)
{
    pair p;
    const double rows[2][COLS] = {{1, 2, 3}, {10, 20, 30}};
    double before[2][COLS];
    memcpy(before, rows, sizeof rows);
    open_pair(&p, false);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 1, (uint32_t[]){0}, rows), 0);
    cr_assert_eq(strads_session_inc(p.a, 0, 0, 1, 0.5), 0);
    expect_row(p.a, 0, 1, 2.5, 3);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 2, (uint32_t[]){0, 2}, rows),
                 0);
    expect_row(p.a, 0, 2, 4.5, 6);
    cr_assert_eq(strads_session_clock(p.a), 0);
    expect_row(p.b, 0, 2, 4.5, 6);
    expect_row(p.b, 2, 10, 20, 30);
    cr_assert_eq(memcmp(before, rows, sizeof rows), 0);
    close_pair(&p);
}

static void lend_one_twice(bool sparse)
{
    pair p;
    const double rows[3][COLS] = {{1, 0, 3}, {10, 0, 30}, {7, 8, 9}};
    open_pair(&p, sparse);
    cr_assert_eq(strads_session_lend_rows(p.a, 0, 3, (uint32_t[]){1, 1, 2},
                                          rows),
                 0);
    expect_row(p.a, 1, 11, 0, 33);
    cr_assert_eq(strads_session_clock(p.a), 0);
    expect_row(p.b, 1, 11, 0, 33);
    expect_row(p.b, 2, 7, 8, 9);
    close_pair(&p);
}

Test(store_lend, a_row_that_is_named_twice_and_sparse_rows_are_added_up)
{
    lend_one_twice(false);
    lend_one_twice(true);
}

Test(store_lend, rows_that_are_not_there_are_refused_and_none_is_added)
{
    pair p;
    const double rows[2][COLS] = {{1, 2, 3}, {4, 5, 6}};
    open_pair(&p, false);
    cr_expect_eq(strads_session_lend_rows(p.a, 0, 2, (uint32_t[]){1, ROWS},
                                          rows),
                 STRADS_EINVAL);
    cr_expect_eq(strads_session_lend_rows(p.a, 1, 1, (uint32_t[]){0}, rows),
                 STRADS_EINVAL);
    cr_expect_eq(strads_session_lend_rows(p.a, 0, 0, NULL, NULL), 0);
    expect_row(p.a, 1, 0, 0, 0);
    close_pair(&p);
}

/* ---- over nodes -------------------------------------------------------- */

enum { WORKER = 5 };

static const strads_table_spec table = {.name = "a",
                                        .type = STRADS_F64,
                                        .rows = ROWS,
                                        .cols = COLS};

typedef struct hand {
    sti_client *client;
    sti_pending pending;
    client_sent sent;
} hand;

static void open_hand(hand *h)
{
    const sti_client_setup setup = {.shards = 1,
                                    .first_worker = WORKER,
                                    .workers = 1,
                                    .tables = &table,
                                    .n_tables = 1};
    *h = (hand){0};
    cr_assert_eq(sti_client_new(&setup, &h->client), STRADS_OK);
    sti_pending_init(&h->pending, &table);
    h->pending.lend_bytes = 1;
}

static void close_hand(hand *h)
{
    client_sent_free(&h->sent);
    sti_pending_free(&h->pending);
    sti_client_free(h->client);
}

static void tell(hand *h, sti_msg_kind kind, uint64_t round)
{
    const sti_event event = {
        .msg = {.kind = kind, .from = STI_SHARD_0, .round = round}, .now = 1};
    sti_client_step(h->client, &event, 1, &h->sent.effects);
    client_sent_take(&h->sent);
}

static bool waits_for_rows(hand *h)
{
    bool wait;
    sti_client_reclaim(h->client, WORKER, &wait);
    return wait;
}

static const double lent_rows[2][COLS] = {{1, 2, 3}, {4, 5, 6}};

/* Rows 3 and 0, and the clock's end. */
static void lend_and_push(hand *h)
{
    bool lent, wait;
    cr_assert_eq(sti_pending_lend(&h->pending, 2, (uint32_t[]){3, 0}, lent_rows,
                                  &lent),
                 STRADS_OK);
    cr_assert(lent);
    cr_assert_eq(sti_client_push(h->client, WORKER, STI_PUSH_CLOCK, &h->pending,
                                 1, &wait, &h->sent.effects),
                 STRADS_OK);
    cr_assert(!wait);
    client_sent_take(&h->sent);
}

static const sti_buffer *push_at(const hand *h, uint32_t k)
{
    cr_assert_lt(k, h->sent.n);
    cr_assert_eq(h->sent.msg[k].kind, STI_MSG_PUSH);
    return (const sti_buffer *)h->sent.msg[k].object;
}

/* The mark, and both rows with their cells. */
static void check_push(const sti_buffer *push)
{
    sti_push_part part;
    strads_err err;
    size_t at = 0;
    cr_assert(sti_push_next(push, &at, &part, &err));
    cr_expect_eq(part.kind, STI_PUSH_MARK);
    cr_expect_eq(part.end, STI_PUSH_CLOCK);
    cr_assert(sti_push_next(push, &at, &part, &err));
    cr_expect_eq(part.kind, STI_PUSH_ROWS);
    cr_assert_eq(part.n, 2);
    cr_expect(part.places[0] == 3 && part.places[1] == 0);
    cr_expect_eq(memcmp(part.cells, lent_rows, sizeof lent_rows), 0);
    cr_assert(!sti_push_next(push, &at, &part, &err));
    cr_assert_eq(err, STRADS_OK);
}

Test(store_lend, a_push_refers_to_its_rows_until_it_is_acknowledged)
{
    hand h;
    open_hand(&h);
    lend_and_push(&h);
    cr_expect_eq(push_at(&h, 0)->rest, lent_rows);
    check_push(push_at(&h, 0));
    cr_expect_eq(h.pending.n, 0);
    cr_expect_eq(sti_client_unacknowledged(h.client),
                 sti_buffer_whole(push_at(&h, 0)));
    cr_expect(waits_for_rows(&h));
    tell(&h, STI_MSG_ACK, 1);
    cr_expect_eq(h.sent.wakes, 1);
    cr_expect(!waits_for_rows(&h));
    cr_expect_eq(sti_client_unacknowledged(h.client), 0);
    close_hand(&h);
}

Test(store_lend, what_was_lost_is_sent_again_from_where_it_lies)
{
    hand h;
    open_hand(&h);
    lend_and_push(&h);
    tell(&h, STI_MSG_ATTACHED, 0);
    cr_assert_eq(h.sent.n, 3);
    cr_expect_eq(h.sent.msg[1].kind, STI_MSG_SETTLED);
    cr_expect_eq(push_at(&h, 2)->rest, lent_rows);
    cr_expect_eq(h.sent.msg[2].round, 1);
    cr_expect(waits_for_rows(&h));
    close_hand(&h);
}

Test(store_lend, over_the_next_link_a_question_goes_instead_of_a_push)
{
    hand h;
    sti_msg instead;
    sti_row_answer again;
    open_hand(&h);
    lend_and_push(&h);
    cr_assert(sti_store_instead(&h.sent.msg[0], &again, &instead));
    cr_expect_eq(instead.kind, STI_MSG_ATTACH);
    cr_expect_eq(instead.to, STI_SHARD_0);
    cr_expect_eq(instead.from, h.sent.msg[0].from);
    cr_expect_null(instead.object);
    close_hand(&h);
}

Test(store_lend, who_cannot_wait_leaves_a_copy_to_the_push)
{
    hand h;
    open_hand(&h);
    lend_and_push(&h);
    sti_client_own(h.client, WORKER);
    cr_expect_eq(push_at(&h, 0)->rest_bytes, 0);
    check_push(push_at(&h, 0));
    cr_expect(!waits_for_rows(&h));
    tell(&h, STI_MSG_ACK, 1);
    cr_expect_eq(sti_client_unacknowledged(h.client), 0);
    close_hand(&h);
}
