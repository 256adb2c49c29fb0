/* Pushes and answers in pieces: a client with pieces of one row and windows of
 * two, the test plays its shard; and a shard with such pieces. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/base/object.h"
#include "engine/round/job.h"
#include "engine/store/shard.h"
#include "engine/store/store_client.h"
#include "engine/store/store_message.h"
#include "tests/client_sent.h"

enum { ROWS = 5, FIRST = 8, WORKERS = 2 };

static const strads_table_spec table = {.name = "a",
                                        .type = STRADS_F64,
                                        .rows = ROWS,
                                        .cols = 1};

typedef struct hand {
    sti_client *client;
    sti_pending pending[WORKERS];
    client_sent sent;
} hand;

static void open_window(hand *h, uint32_t max_pushes, uint64_t max_bytes)
{
    *h = (hand){0};
    const sti_client_setup setup = {.shards = 1,
                                    .first_worker = FIRST,
                                    .workers = WORKERS,
                                    .tables = &table,
                                    .n_tables = 1,
                                    .max_pushes = max_pushes,
                                    .max_bytes = max_bytes,
                                    .piece_bytes = sizeof(double),
                                    .window_bytes = 2 * sizeof(double)};
    cr_assert_eq(sti_client_new(&setup, &h->client), STRADS_OK);
    for (uint32_t w = 0; w < WORKERS; w++)
        sti_pending_init(&h->pending[w], &table);
}

static void open_hand(hand *h, uint32_t max_pushes)
{
    open_window(h, max_pushes, 0);
}

static void close_hand(hand *h)
{
    client_sent_free(&h->sent);
    for (uint32_t w = 0; w < WORKERS; w++)
        sti_pending_free(&h->pending[w]);
    sti_client_free(h->client);
}

static void add(hand *h, uint32_t worker, uint32_t row, double by)
{
    cr_assert_eq(
        sti_pending_add(&h->pending[worker],
                        &(sti_row_delta){.row = row, .n = 1, .cells = &by}),
        STRADS_OK);
}

static bool push(hand *h, uint32_t worker, sti_push_end end)
{
    bool wait;
    cr_assert_eq(sti_client_push(h->client, FIRST + worker, end,
                                 &h->pending[worker], 1, &wait,
                                 &h->sent.effects),
                 STRADS_OK);
    client_sent_take(&h->sent);
    return !wait;
}

static void tell(hand *h, sti_msg msg)
{
    msg.from = STI_SHARD_0;
    sti_client_step(h->client, &(sti_event){.msg = msg, .now = 1}, 1,
                    &h->sent.effects);
    client_sent_take(&h->sent);
}

/* What push k says: its end, and the one row that it adds to. */
static sti_push_end said(const hand *h, uint32_t k, double *sum)
{
    const sti_buffer *bytes = (const sti_buffer *)h->sent.msg[k].object;
    sti_push_end end = STI_PUSH_LEAVE;
    sti_push_part part;
    strads_err err;
    cr_assert_eq(h->sent.msg[k].kind, STI_MSG_PUSH);
    cr_assert_eq(h->sent.msg[k].round, k + 1);
    for (size_t at = 0; sti_push_next(bytes, &at, &part, &err);) {
        if (part.kind == STI_PUSH_MARK)
            end = part.end;
        else
            sum[part.places[0]] += *(const double *)part.cells;
        cr_assert_leq(part.n, 1);
    }
    return end;
}

static void check_pushes(const hand *h)
{
    double sum[ROWS] = {0};
    cr_assert_eq(h->sent.n, ROWS);
    for (uint32_t k = 0; k < ROWS; k++)
        cr_assert_eq(said(h, k, sum),
                     k + 1 < ROWS ? STI_PUSH_FLUSH : STI_PUSH_CLOCK);
    for (uint32_t row = 0; row < ROWS; row++)
        cr_assert_float_eq(sum[row], row + 1, 0);
}

Test(store_pieces, the_last_of_many_pushes_ends_the_clock)
{
    hand h;
    open_hand(&h, 0);
    for (uint32_t row = 0; row < ROWS; row++)
        add(&h, 0, row, row + 1);
    cr_assert(push(&h, 0, STI_PUSH_CLOCK));
    cr_assert_eq(h.pending[0].n, 0);
    check_pushes(&h);
    close_hand(&h);
}

/* False: it has to wait. */
static bool push_early(hand *h, uint32_t worker)
{
    bool wait;
    cr_assert_eq(sti_client_push_early(h->client, FIRST + worker,
                                       &h->pending[worker], 1, &wait,
                                       &h->sent.effects),
                 STRADS_OK);
    client_sent_take(&h->sent);
    return !wait;
}

Test(store_pieces, pieces_that_leave_early_do_not_end_the_clock)
{
    hand h;
    open_hand(&h, 0);
    for (uint32_t row = 0; row < ROWS; row++) {
        add(&h, 0, row, row + 1);
        if (row > 0 && row < ROWS - 1)
            push_early(&h, 0);
    }
    cr_assert_eq(h.sent.n, ROWS - 2);
    cr_assert_eq(h.pending[0].n, 2);
    cr_assert_eq(sti_client_clock(h.client, FIRST), 0);
    cr_assert(push(&h, 0, STI_PUSH_CLOCK));
    check_pushes(&h);
    close_hand(&h);
}

Test(store_pieces, nothing_leaves_early_when_a_window_is_full)
{
    hand h;
    open_hand(&h, 1);
    add(&h, 0, 0, 1);
    add(&h, 0, 1, 1);
    cr_assert(push_early(&h, 0));
    cr_assert_not(push_early(&h, 0));
    cr_assert_eq(h.sent.n, 1);
    cr_assert_eq(h.pending[0].n, 1);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 1});
    cr_assert_eq(h.sent.wakes, 1,
                 "what was to leave early was not told of room");
    cr_assert(push_early(&h, 0));
    cr_assert_eq(h.sent.n, 2);
    close_hand(&h);
}

Test(store_pieces, who_waits_is_woken_when_a_quarter_of_a_windows_bytes_is_free)
{
    hand h;
    open_hand(&h, 0);
    add(&h, 0, 0, 1);
    cr_assert(push(&h, 0, STI_PUSH_FLUSH));
    const uint64_t size = ((const sti_buffer *)h.sent.msg[0].object)->size;
    close_hand(&h);
    open_window(&h, 0, 8 * size);
    for (int full = 0; full < 2; full++) {
        for (uint32_t row = 0; row < ROWS; row++)
            add(&h, 0, row, 1);
        cr_assert_eq(push(&h, 0, STI_PUSH_FLUSH), !full);
    }
    cr_assert_eq(h.sent.n, 8);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 1});
    cr_assert_eq(h.sent.wakes, 0, "it was woken for each acknowledgement");
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 2});
    cr_assert_eq(h.sent.wakes, 1);
    cr_assert(push(&h, 0, STI_PUSH_FLUSH));
    close_hand(&h);
}

Test(store_pieces, a_piece_may_leave_early_unless_rows_come_again)
{
    hand h;
    open_hand(&h, 0);
    sti_pending *pending = &h.pending[0];
    pending->piece = 2 * sizeof(double);
    sti_pending_tried(pending);
    add(&h, 0, 0, 1);
    cr_assert_not(sti_pending_is_due(pending));
    add(&h, 0, 1, 1);
    cr_assert(sti_pending_is_due(pending));
    cr_assert(sti_pending_may_leave(pending, 2));
    cr_assert_not(sti_pending_may_leave(pending, 1)); /* it comes again */
    pending->was_early = true;
    pending->early_row = 0;
    push_early(&h, 0); /* row 1, the last one */
    add(&h, 0, 2, 1);
    add(&h, 0, 3, 1);
    cr_assert(sti_pending_is_due(pending));
    add(&h, 0, 0, 1); /* has not left: only once it has, it comes again */
    cr_assert(sti_pending_is_due(pending));
    push_early(&h, 0);
    push_early(&h, 0);
    push_early(&h, 0);
    cr_assert_eq(pending->n, 0);
    add(&h, 0, 0, 1); /* again, in the same clock */
    cr_assert_not(sti_pending_is_due(pending));
    close_hand(&h);
}

Test(store_pieces, a_full_window_keeps_pending_what_has_not_left)
{
    hand h;
    open_hand(&h, 2);
    for (uint32_t row = 0; row < ROWS; row++)
        add(&h, 0, row, row + 1);
    cr_assert_not(push(&h, 0, STI_PUSH_CLOCK));
    cr_assert_eq(h.sent.n, 2);
    cr_assert_eq(h.pending[0].n, ROWS - 2);
    cr_assert_eq(sti_client_clock(h.client, FIRST), 0);
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 2});
    cr_assert_eq(h.sent.wakes, 1);
    cr_assert_not(push(&h, 0, STI_PUSH_CLOCK));
    tell(&h, (sti_msg){.kind = STI_MSG_ACK, .round = 4});
    cr_assert(push(&h, 0, STI_PUSH_CLOCK));
    cr_assert_eq(sti_client_clock(h.client, FIRST), 1);
    check_pushes(&h);
    close_hand(&h);
}

/* ---- reading ----------------------------------------------------------- */

static bool read_all(hand *h, double *values)
{
    static const uint32_t rows[ROWS] = {0, 1, 2, 3, 4};
    bool wait;
    const sti_client_read read = {.worker = FIRST,
                                  .n = ROWS,
                                  .rows = rows,
                                  .pending = &h->pending[0],
                                  .now = 1};
    cr_assert_eq(sti_client_read_rows(h->client, &read, values, NULL, &wait,
                                      &h->sent.effects),
                 STRADS_OK);
    client_sent_take(&h->sent);
    return !wait;
}

/* Row `first` of the ask that was sent last: it holds 10 x its number. */
static void answer(hand *h, uint32_t first)
{
    const sti_row_ask *ask = NULL;
    for (uint32_t k = 0; k < h->sent.n; k++)
        if (h->sent.msg[k].kind == STI_MSG_ASK_ROWS)
            ask = (const sti_row_ask *)h->sent.msg[k].object;
    sti_row_answer *rows;
    sti_push_room room;
    cr_assert(ask && first < ask->n);
    cr_assert_eq(sti_row_answer_new(&rows), STRADS_OK);
    rows->id = ask->id;
    rows->worker = ask->worker;
    rows->first = first;
    cr_assert_eq(sti_buffer_new(0, &rows->parts), STRADS_OK);
    cr_assert_eq(sti_push_reserve(rows->parts, 0, 1, sizeof(double), &room),
                 STRADS_OK);
    room.rows[0] = ask->rows[first];
    *(double *)(void *)room.cells = 10.0 * ask->rows[first];
    tell(h, (sti_msg){.kind = STI_MSG_ROWS, .object = &rows->head});
}

Test(store_pieces, a_read_asks_window_by_window_and_takes_pieces_in_order)
{
    hand h;
    double got[ROWS];
    open_hand(&h, 0);
    add(&h, 0, 4, 0.5);
    cr_assert_not(read_all(&h, got));
    cr_assert_eq(h.sent.n, 1);
    answer(&h, 1); /* the one before it was lost, or is late */
    answer(&h, 0);
    cr_assert_eq(h.sent.n, 1);
    answer(&h, 0); /* doubled */
    cr_assert_eq(h.sent.n, 1);
    answer(&h, 1);
    cr_assert_eq(h.sent.n, 2, "the next rows are asked for at once");
    cr_assert_eq(h.sent.wakes, 0);
    answer(&h, 0);
    answer(&h, 1);
    cr_assert_eq(h.sent.n, 3);
    answer(&h, 0);
    cr_assert_eq(h.sent.wakes, 1);
    cr_assert(read_all(&h, got));
    for (uint32_t row = 0; row < ROWS; row++)
        cr_assert_float_eq(got[row], 10 * row + (row == 4 ? 0.5 : 0), 0);
    close_hand(&h);
}

Test(store_pieces, what_changes_while_a_read_waits_is_seen_by_it)
{
    hand h;
    double got[ROWS];
    open_hand(&h, 0);
    cr_assert_not(read_all(&h, got));
    answer(&h, 0);
    add(&h, 1, 0, 0.25); /* another worker of the node */
    cr_assert(push(&h, 1, STI_PUSH_FLUSH));
    answer(&h, 1);
    answer(&h, 0);
    answer(&h, 1);
    answer(&h, 0);
    cr_assert(read_all(&h, got));
    cr_assert_float_eq(got[0], 0.25, 0);
    close_hand(&h);
}

/* ---- the shard --------------------------------------------------------- */

Test(store_pieces, a_shard_answers_piece_by_piece_as_of_one_clock)
{
    const sti_kept_setup setup = {.shards = 1,
                                  .streams = 1,
                                  .workers = 1,
                                  .tables = &table,
                                  .n_tables = 1};
    sti_kept *kept;
    sti_shard *shard;
    sti_row_ask *ask;
    sti_effects out = {0};
    cr_assert_eq(sti_kept_open(&setup, &kept), STRADS_OK);
    const sti_shard_setup role = {.kept = kept,
                                  .first_client = STI_CLIENT_0,
                                  .piece_bytes = 2 * sizeof(double)};
    cr_assert_eq(sti_shard_new(&role, &shard), STRADS_OK);
    cr_assert_eq(sti_row_ask_new(ROWS, &ask), STRADS_OK);
    ask->id = 1;
    for (uint32_t k = 0; k < ROWS; k++)
        ask->rows[k] = k;
    sti_event event = {.msg = {.kind = STI_MSG_ASK_ROWS,
                               .from = STI_CLIENT_0,
                               .object = &ask->head}};
    uint32_t pieces = 0;
    sti_shard_step(shard, &event, 1, &out);
    for (size_t k = 0; k < out.n; k++) {
        const sti_effect effect = out.at[k];
        if (effect.kind == STI_EFFECT_COMPUTE) {
            sti_job_run(NULL, effect.job);
            event = (sti_event){.kind = STI_EVENT_DONE, .job = effect.job};
            sti_shard_step(shard, &event, 1, &out);
            continue;
        }
        const sti_row_answer *rows = (const sti_row_answer *)effect.msg.object;
        cr_assert_eq(effect.msg.kind, STI_MSG_ROWS);
        cr_assert_eq(rows->first, 2 * pieces++);
        cr_assert_eq(rows->as_of, 0);
    }
    cr_assert_eq(pieces, 3);
    sti_effects_free(&out);
    sti_shard_free(shard);
    sti_kept_free(kept);
}

/* ---- memory ------------------------------------------------------------ */

Test(store_pieces, a_block_that_was_given_back_has_room_and_alignment_again)
{
    size_t room = 0;
    for (size_t size = 1; size < (8 << 20); size = 3 * size + 1) {
        void *block = sti_buffer_pool_take(size, &room);
        cr_assert(block != NULL);
        cr_assert_geq(room, size);
        cr_assert_eq((uintptr_t)block % 64, 0);
        memset(block, 1, room);
        sti_buffer_pool_give(block, room);
    }
    cr_assert_null(sti_buffer_pool_take(SIZE_MAX, &room));
}
