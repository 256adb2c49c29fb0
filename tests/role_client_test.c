/* A client of the store; the test acts as the shards. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "engine/store/client_state.h"

enum { SENT = 64, RESEND = 100, PIECE = 64 };

static const strads_table_spec tables[] = {
    {.name = "a", .type = STRADS_F64, .rows = 100, .cols = 2, .staleness = 0},
    {.name = "filtered",
     .type = STRADS_F64,
     .rows = 100,
     .cols = 1,
     .hold_below = 1,
     .push_bytes = 16}};

typedef struct hand {
    sti_client *client;
    sti_pending pending[2];
    strads_session session; /* uses `pending` */
    sti_effects effects;
    sti_msg sent[SENT];
    uint32_t n_sent, wakes, fails;
    uint64_t timer;
} hand;

static void open_hand(hand *h, uint64_t cache_bytes, uint32_t max_pushes)
{
    *h = (hand){.session = {.shards = 1, .n_tables = 2}};
    const sti_client_setup setup = {.client = 4,
                                    .shards = 1,
                                    .first_worker = 8,
                                    .workers = 1,
                                    .tables = tables,
                                    .n_tables = 2,
                                    .cache_bytes = cache_bytes,
                                    .max_pushes = max_pushes,
                                    .piece_bytes = PIECE,
                                    .resend_ns = RESEND};
    cr_assert_eq(sti_client_new(&setup, &h->client), STRADS_OK);
    for (uint32_t t = 0; t < 2; t++)
        sti_pending_init(&h->pending[t], &tables[t], t, 1);
    h->session.pending = h->pending;
}

static void forget_sent(hand *h)
{
    for (uint32_t k = 0; k < h->n_sent; k++)
        sti_object_drop(h->sent[k].object);
    h->n_sent = 0;
}

static void close_hand(hand *h)
{
    forget_sent(h);
    sti_effects_free(&h->effects);
    for (uint32_t t = 0; t < 2; t++)
        sti_pending_free(&h->pending[t]);
    sti_client_free(h->client);
}

static void take_effects(hand *h)
{
    for (size_t k = 0; k < h->effects.n; k++) {
        const sti_effect *e = &h->effects.at[k];
        if (e->kind == STI_EFFECT_SEND)
            h->sent[h->n_sent++] = e->msg;
        h->fails += e->kind == STI_EFFECT_SEND && e->msg.kind == STI_MSG_FAIL;
        h->wakes += e->kind == STI_EFFECT_WAKE;
        if (e->kind == STI_EFFECT_TIMER)
            h->timer = e->at;
    }
    h->effects.n = 0;
}

static void tell(hand *h, sti_msg msg)
{
    msg.from = STI_SHARD_0;
    const sti_event event = {.msg = msg, .now = 1};
    sti_client_step(h->client, &event, 1, &h->effects);
    take_effects(h);
}

static bool push(hand *h, sti_push_end end)
{
    bool wait;
    cr_assert_eq(sti_client_push(h->client, 8, end, h->pending, 1, &wait,
                                 &h->effects),
                 STRADS_OK);
    take_effects(h);
    return !wait;
}

static bool read_row(hand *h, uint32_t row, double *values)
{
    bool wait;
    const sti_client_read read = {
        .worker = 8, .n = 1, .rows = &row, .session = &h->session, .now = 1};
    cr_assert_eq(sti_client_read_rows(h->client, &read, values, &wait,
                                      &h->effects),
                 STRADS_OK);
    take_effects(h);
    return !wait;
}

static void add(hand *h, uint32_t table, uint32_t row, double by)
{
    cr_assert_eq(sti_pending_add(&h->pending[table],
                                 &(sti_row_delta){.row = row,
                                                  .n = 1,
                                                  .cols = &(uint32_t){0},
                                                  .cells = &by}),
                 STRADS_OK);
}

/* Answers the last ASK_ROWS: both columns of the row are `value`. */
static void answer(hand *h, double value, uint64_t as_of, uint64_t applied)
{
    const sti_row_ask *ask = (const sti_row_ask *)h->sent[h->n_sent - 1].object;
    sti_row_answer *rows;
    char *cells;
    cr_assert_eq(h->sent[h->n_sent - 1].kind, STI_MSG_ASK_ROWS);
    cr_assert_eq(sti_row_answer_new(&rows), STRADS_OK);
    rows->id = ask->id;
    rows->worker = ask->worker;
    rows->as_of = as_of;
    rows->applied = applied;
    cr_assert_eq(sti_buffer_new(0, &rows->parts), STRADS_OK);
    cr_assert_eq(sti_push_reserve(rows->parts, STI_PUSH_ROWS, 0, 1, ask->rows,
                                  16, &cells),
                 STRADS_OK);
    memcpy(cells, (double[]){value, value}, 16);
    tell(h, (sti_msg){.kind = STI_MSG_ROWS, .object = &rows->head});
}

Test(role_client, an_answer_gets_the_own_pushes_that_it_does_not_hold)
{
    hand h;
    double got[2];
    open_hand(&h, 0, 0);
    add(&h, 0, 7, 1);
    cr_assert(push(&h, STI_PUSH_FLUSH));
    add(&h, 0, 7, 2);
    cr_assert(push(&h, STI_PUSH_FLUSH));
    add(&h, 0, 7, 4);
    cr_assert_not(read_row(&h, 7, got));
    answer(&h, 10, 0, 1);
    cr_assert_eq(h.wakes, 1);
    cr_assert(read_row(&h, 7, got));
    cr_assert_float_eq(got[0], 16, 0); /* the answer includes push 1 */
    cr_assert_float_eq(got[1], 10, 0);
    close_hand(&h);
}

Test(role_client, an_answer_older_than_an_acknowledgement_is_requested_again)
{
    hand h;
    double got[2];
    open_hand(&h, 0, 0);
    add(&h, 0, 7, 1);
    cr_assert(push(&h, STI_PUSH_FLUSH));
    cr_assert_not(read_row(&h, 7, got));
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 1});
    uint32_t sent = h.n_sent;
    answer(&h, 0, 0, 0); /* lacks push 1, which was freed */
    cr_assert_eq(h.wakes, 0);
    cr_assert_eq(h.n_sent, sent + 1);
    answer(&h, 1, 0, 1);
    cr_assert_eq(h.wakes, 1);
    cr_assert(read_row(&h, 7, got));
    cr_assert_float_eq(got[0], 1, 0);
    close_hand(&h);
}

Test(role_client, a_full_window_waits_and_an_acknowledgement_wakes)
{
    hand h;
    open_hand(&h, 0, 2);
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_not(push(&h, STI_PUSH_CLOCK));
    cr_assert_eq(sti_client_clock(h.client, 8), 2, "it went on without room");
    cr_assert_eq(h.n_sent, 2);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 1});
    cr_assert_eq(h.wakes, 1);
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_not(sti_client_settled(h.client));
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 3});
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 2}); /* out of order */
    cr_assert(sti_client_settled(h.client));
    close_hand(&h);
}

Test(role_client, unacknowledged_messages_are_sent_again_in_order)
{
    hand h;
    open_hand(&h, 0, 0);
    for (uint32_t k = 0; k < 3; k++)
        cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_eq(h.timer, 1 + RESEND);
    forget_sent(&h);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 1});
    cr_assert_eq(h.n_sent, 0);
    const sti_event timer = {.kind = STI_EVENT_TIMER, .now = 2 * RESEND};
    sti_client_step(h.client, &timer, 1, &h.effects);
    take_effects(&h);
    cr_assert_eq(h.n_sent, 2);
    cr_assert_eq(h.sent[0].round, 2);
    cr_assert_eq(h.timer, 3 * RESEND);
    close_hand(&h);
}

/* Returns the number of rows in a push; *ends: it ends a clock. */
static uint32_t rows_of(const sti_msg *msg, bool *ends)
{
    sti_push_part part;
    strads_err err;
    uint32_t n = 0;
    cr_assert_eq(msg->kind, STI_MSG_PUSH);
    for (size_t at = 0;
         sti_push_next((const sti_buffer *)msg->object, &at, &part, &err);)
        if (part.kind == STI_PUSH_MARK)
            *ends = part.end == STI_PUSH_CLOCK;
        else
            n += part.n;
    return n;
}

Test(role_client, large_pushes_leave_in_pieces_that_end_together)
{
    enum { ROWS = 11, EACH = PIECE / 16 };
    hand h;
    open_hand(&h, 0, 0);
    for (uint32_t row = 0; row < ROWS; row++)
        add(&h, 0, row, 1);
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_eq(h.n_sent, 3);
    for (uint32_t k = 0; k < 3; k++) {
        bool ends = false;
        cr_assert_eq(rows_of(&h.sent[k], &ends), k < 2 ? EACH : ROWS % EACH);
        cr_assert_eq(ends, k == 2);
    }
    cr_assert_eq(h.pending[0].n, 0);
    close_hand(&h);
}

Test(role_client, pushes_beyond_the_window_stay_pending)
{
    enum { ROWS = 12, EACH = PIECE / 16 };
    hand h;
    bool ends;
    open_hand(&h, 0, 2);
    for (uint32_t row = 0; row < ROWS; row++)
        add(&h, 0, row, 1);
    cr_assert_not(push(&h, STI_PUSH_CLOCK));
    cr_assert_eq(h.n_sent, 2);
    cr_assert_eq(h.pending[0].n, EACH);
    cr_assert_eq(sti_client_clock(h.client, 8), 0);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 2});
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_eq(h.n_sent, 3);
    cr_assert_eq(rows_of(&h.sent[2], &ends), EACH);
    cr_assert_eq(sti_client_clock(h.client, 8), 1);
    close_hand(&h);
}

Test(role_client, a_piece_that_leaves_early_leaves_the_clock_as_it_was)
{
    hand h;
    bool wait, ends = true;
    open_hand(&h, 0, 0);
    for (uint32_t row = 0; row < 6; row++)
        add(&h, 0, row, 1);
    cr_assert_eq(sti_client_push_early(h.client, 8, &h.pending[0], 1, &wait,
                                       &h.effects),
                 STRADS_OK);
    take_effects(&h);
    cr_assert_not(wait);
    cr_assert_eq(h.n_sent, 1);
    cr_assert_eq(rows_of(&h.sent[0], &ends), PIECE / 16);
    cr_assert_not(ends);
    cr_assert_eq(h.pending[0].n, 2);
    cr_assert_eq(sti_client_clock(h.client, 8), 0);
    close_hand(&h);
}

Test(role_client, the_cache_stays_within_its_bound)
{
    hand h;
    double got[2];
    open_hand(&h, 1000, 0);
    for (uint32_t row = 0; row < 50; row++) {
        cr_assert_not(read_row(&h, row, got), "row %u", row);
        answer(&h, row, 0, 0);
        cr_assert(read_row(&h, row, got));
        cr_assert_float_eq(got[0], row, 0);
        cr_assert_leq(h.client->cache.bytes, 1000);
        forget_sent(&h);
    }
    cr_assert(read_row(&h, 49, got));
    cr_assert_not(read_row(&h, 0, got), "it was to be evicted");
    close_hand(&h);
}

/* Returns the sum of the cells of a table in the first push sent; *rows: the
 * number of its rows. */
static double sum_pushed(const hand *h, uint32_t table, uint32_t *rows)
{
    const sti_buffer *bytes = (const sti_buffer *)h->sent[0].object;
    sti_push_part part;
    strads_err err;
    double sum = 0;
    *rows = 0;
    for (size_t at = 0; sti_push_next(bytes, &at, &part, &err);)
        for (uint32_t k = 0;
             part.kind == STI_PUSH_ROWS && part.table == table && k < part.n;
             k++) {
            sum += ((const double *)part.cells)[k];
            ++*rows;
        }
    return sum;
}

Test(role_client, filters_hold_back_small_or_excess_changes_until_the_end)
{
    hand h;
    uint32_t rows;
    open_hand(&h, 0, 0);
    add(&h, 1, 0, 0.25);
    for (uint32_t row = 1; row <= 4; row++)
        add(&h, 1, row, row);
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_float_eq(sum_pushed(&h, 1, &rows), 7, 0); /* rows 3 and 4 */
    forget_sent(&h);
    add(&h, 1, 0, 4);
    cr_assert(push(&h, STI_PUSH_CLOCK));
    cr_assert_float_eq(sum_pushed(&h, 1, &rows), 6.25, 0); /* rows 0 and 2 */
    forget_sent(&h);
    add(&h, 1, 9, 0.5);
    cr_assert(push(&h, STI_PUSH_LEAVE));
    cr_assert_float_eq(sum_pushed(&h, 1, &rows), 1.5, 0);
    cr_assert_eq(rows, 2);
    close_hand(&h);
}

Test(role_client, rows_of_a_broken_shard_fail_the_run_and_no_more)
{
    hand h;
    double got[2];
    open_hand(&h, 0, 0);
    cr_assert_not(read_row(&h, 7, got));
    sti_row_answer *rows;
    cr_assert_eq(sti_row_answer_new(&rows), STRADS_OK);
    rows->table = 99;
    rows->id = 1;
    rows->worker = 8;
    tell(&h, (sti_msg){.kind = STI_MSG_ROWS, .object = &rows->head});
    cr_assert_eq(h.fails, 1);
    close_hand(&h);
}

/* Every truncation and every changed byte gives an error or another message,
 * and no access outside the payload. */
Test(role_client, bytes_of_a_message_never_lead_out_of_it)
{
    sti_row_answer *rows;
    char *cells;
    sti_writer w = {0};
    cr_assert_eq(sti_row_answer_new(&rows), STRADS_OK);
    cr_assert_eq(sti_buffer_new(0, &rows->parts), STRADS_OK);
    cr_assert_eq(sti_push_reserve(rows->parts, STI_PUSH_ROWS, 0, 3,
                                  (uint32_t[3]){0}, 16, &cells),
                 STRADS_OK);
    memset(cells, 0, 48);
    const sti_msg msg = {.kind = STI_MSG_ROWS,
                         .from = STI_SHARD_0,
                         .object = &rows->head};
    cr_assert_eq(sti_msg_encode(&msg, &w, NULL), STRADS_OK);
    for (uint64_t k = 0; k < 2 * w.size; k++) {
        sti_buffer *copy; /* of exact size, for the sanitizer */
        uint64_t size = k < w.size ? k : w.size;
        cr_assert_eq(sti_buffer_new(size, &copy), STRADS_OK);
        memcpy(copy->bytes, w.bytes, size);
        if (k >= w.size)
            copy->bytes[k - w.size] ^= 0xff;
        for (sti_msg_kind kind = STI_MSG_PUSH; kind <= STI_MSG_ROWS; kind++) {
            sti_msg got = {.kind = kind};
            if (!sti_msg_decode(NULL, copy->bytes, size, &copy->head, &got))
                sti_object_drop(got.object);
        }
        sti_object_drop(copy);
    }
    sti_object_drop(rows);
    sti_writer_free(&w);
}
