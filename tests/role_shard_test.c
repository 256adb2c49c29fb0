/* A shard; the test sends messages in any order, and decides when the shard
 * works. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/store/message.h"
#include "engine/store/shard_state.h"
#include "tests/expect.h"

enum { CLIENTS = 2, SENT = 64, ROW = 5, COLUMNS = 3 };

/* Shard 1 of 2; client c has worker c. */
static const strads_table_spec tables[] = {{.name = "rows",
                                            .type = STRADS_F64,
                                            .rows = 1001,
                                            .cols = 1,
                                            .snapshot_every = 2},
                                           {.name = "sparse",
                                            .type = STRADS_I32,
                                            .rows = 1000,
                                            .cols = COLUMNS,
                                            .sparse = true}};

typedef struct hand {
    sti_shard *shard;
    sti_msg sent[SENT];
    uint32_t n;
    uint64_t number[CLIENTS], clock[CLIENTS];
} hand;

static strads_err open_shard(hand *h)
{
    const sti_shard_setup setup = {.shard = 1,
                                   .shards = 2,
                                   .clients = CLIENTS,
                                   .workers = CLIENTS,
                                   .tables = tables,
                                   .n_tables = 2};
    return sti_shard_new(&setup, &h->shard);
}

static void open_hand(hand *h)
{
    *h = (hand){0};
    cr_assert_eq(open_shard(h), STRADS_OK);
}

static void forget_sent(hand *h)
{
    for (uint32_t k = 0; k < h->n; k++)
        sti_object_drop(h->sent[k].object);
    h->n = 0;
}

static void close_hand(hand *h)
{
    forget_sent(h);
    sti_shard_free(h->shard);
}

static void take_effects(hand *h, sti_effects *effects)
{
    for (size_t k = 0; k < effects->n; k++) {
        const sti_effect *e = &effects->at[k];
        if (e->kind == STI_EFFECT_SEND)
            h->sent[h->n++] = e->msg;
    }
    effects->n = 0;
    sti_effects_free(effects);
}

static void tell(hand *h, sti_event event)
{
    sti_effects effects = {0};
    sti_shard_step(h->shard, &event, 1, &effects);
    take_effects(h, &effects);
}

/* Performs all work; returns the number of steps. */
static uint32_t work(hand *h)
{
    uint32_t n = 0;
    uint64_t bytes;
    for (; sti_shard_has_work(h->shard, &bytes); n++) {
        sti_effects effects = {0};
        sti_shard_work(h->shard, 0, &effects);
        take_effects(h, &effects);
    }
    return n;
}

/* Makes a push of client c: its worker adds `value` to a row; `end`: its
 * mark. */
static sti_buffer *make_push(hand *h, uint32_t c, sti_push_end end,
                             uint32_t row, double value)
{
    sti_buffer *push;
    cr_assert_eq(sti_buffer_new(0, &push), STRADS_OK);
    cr_assert_eq(sti_push_append(push, &(sti_push_part){.kind = STI_PUSH_MARK,
                                                        .worker = c,
                                                        .end = end,
                                                        .clock = h->clock[c]}),
                 STRADS_OK);
    cr_assert_eq(sti_push_append(push,
                                 &(sti_push_part){.kind = STI_PUSH_ROWS,
                                                  .n = 1,
                                                  .places = &row,
                                                  .cells = &value,
                                                  .cell_bytes = sizeof value}),
                 STRADS_OK);
    return push;
}

static void send(hand *h, uint32_t c, uint64_t number, sti_buffer *push)
{
    tell(h, (sti_event){.msg = {.kind = STI_MSG_PUSH,
                                .from = STI_CLIENT_0 + c,
                                .round = number,
                                .object = &push->head}});
}

/* Sends the next push of a client, which ends its worker's clock. */
static void end_clock(hand *h, uint32_t c, uint32_t row)
{
    send(h, c, ++h->number[c], make_push(h, c, STI_PUSH_CLOCK, row, 1));
    h->clock[c]++;
}

static void leave(hand *h, uint32_t c)
{
    send(h, c, ++h->number[c], make_push(h, c, STI_PUSH_LEAVE, ROW, 1));
}

static void ask_for(hand *h, uint32_t c, uint64_t id, uint64_t needs,
                    bool exact)
{
    sti_row_ask *ask;
    cr_assert_eq(sti_row_ask_new(1, &ask), STRADS_OK);
    ask->id = id;
    ask->needs = needs;
    ask->worker = c;
    ask->exact = exact;
    ask->rows[0] = ROW;
    tell(h, (sti_event){.msg = {.kind = STI_MSG_ASK_ROWS,
                                .from = STI_CLIENT_0 + c,
                                .object = &ask->head}});
    (void)work(h);
}

static const sti_msg *last(const hand *h)
{
    cr_assert_gt(h->n, 0);
    return &h->sent[h->n - 1];
}

/* Returns the last answer. */
static const sti_row_answer *answered(const hand *h, double *value)
{
    cr_assert_eq(last(h)->kind, STI_MSG_ROWS);
    const sti_row_answer *answer = (const sti_row_answer *)last(h)->object;
    sti_push_part part;
    strads_err err;
    size_t at = 0;
    if (sti_push_next(answer->parts, &at, &part, &err)) {
        cr_assert_eq(part.places[0], ROW);
        memcpy(value, part.cells, sizeof *value);
    }
    return answer;
}

static double held(const hand *h)
{
    return ((const double *)strads_store_dense(h->shard->store, 0))[ROW / 2];
}

static void expect_ack(const hand *h, uint64_t number)
{
    cr_assert_eq(last(h)->kind, STI_MSG_ACK);
    cr_assert_eq(last(h)->round, number);
}

/* ---- pushes ------------------------------------------------------------ */

Test(role_shard, pushes_that_come_while_it_is_busy_are_answered_together)
{
    hand h;
    open_hand(&h);
    for (uint64_t k = 1; k <= 5; k++)
        send(&h, 0, k, make_push(&h, 0, STI_PUSH_FLUSH, ROW, (double)k));
    cr_assert_eq(h.n, 0);
    cr_assert_eq(work(&h), 1);
    cr_assert_eq(h.n, 1);
    expect_ack(&h, 5);
    cr_assert_float_eq(held(&h), 15, 0);
    close_hand(&h);
}

Test(role_shard, a_push_that_comes_again_is_acknowledged_and_not_applied)
{
    hand h;
    open_hand(&h);
    for (int k = 0; k < 3; k++) {
        send(&h, 0, 1, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 1));
        cr_assert_eq(work(&h), k == 0);
    }
    expect_ack(&h, 1);
    cr_assert_float_eq(held(&h), 1, 0);
    close_hand(&h);
}

Test(role_shard, early_pushes_wait_for_the_missing_ones)
{
    hand h;
    open_hand(&h);
    send(&h, 0, 2, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 2));
    cr_assert_eq(work(&h), 0);
    expect_ack(&h, 0); /* the client resends from push 1 on */
    send(&h, 0, 1, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 1));
    send(&h, 0, 2, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 2));
    (void)work(&h);
    expect_ack(&h, 2);
    cr_assert_float_eq(held(&h), 3, 0);
    close_hand(&h);
}

Test(role_shard, a_push_that_does_not_fit_fails_the_run_once)
{
    hand h;
    open_hand(&h);
    send(&h, 0, 1, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 1));
    send(&h, 0, 2, make_push(&h, 0, STI_PUSH_FLUSH, ROW - 1, 1)); /* a row of
                                                                shard 0 */
    send(&h, 0, 3, make_push(&h, 0, STI_PUSH_FLUSH, ROW, 1));
    (void)work(&h);
    cr_assert_eq(h.n, 2);
    cr_assert_eq(h.sent[0].kind, STI_MSG_ACK);
    cr_assert_eq(h.sent[0].round, 1);
    cr_assert_eq(h.sent[1].kind, STI_MSG_FAIL);
    cr_assert_float_eq(held(&h), 1, 0);
    close_hand(&h);
}

/* Every changed byte and every truncation is accepted or refused, without an
 * access beyond the end, which a sanitizer would detect. */
Test(role_shard, bytes_of_a_push_never_lead_out_of_it)
{
    hand h;
    open_hand(&h);
    sti_buffer *good = make_push(&h, 0, STI_PUSH_CLOCK, ROW, 1);
    const size_t size = good->size;
    const sti_push_part cols = {.kind = STI_PUSH_COLS,
                                .table = 1,
                                .row = 2,
                                .n = 2,
                                .places = (uint32_t[]){0, 2},
                                .cells = (int32_t[]){1, 1},
                                .cell_bytes = 8};
    cr_assert_eq(sti_push_append(good, &cols), STRADS_OK);
    cr_assert_gt(good->size, size);
    uint32_t refused = 0;
    for (size_t k = 0; k < 2 * good->size; k++) {
        sti_buffer *bad;
        close_hand(&h);
        open_hand(&h);
        cr_assert_eq(sti_buffer_new(k < good->size ? k : good->size, &bad),
                     STRADS_OK);
        memcpy(bad->bytes, good->bytes, bad->size);
        if (k >= good->size)
            bad->bytes[k - good->size] ^= 0xff;
        send(&h, 0, 1, bad);
        (void)work(&h);
        refused += last(&h)->kind == STI_MSG_FAIL;
    }
    cr_assert_gt(refused, good->size);
    sti_object_drop(good);
    close_hand(&h);
}

Test(role_shard, it_keeps_and_counts_its_own_rows_only)
{
    hand h;
    open_hand(&h);
    cr_assert_eq(strads_store_spec(h.shard->store, 0)->rows, 500);
    close_hand(&h);
}

/* ---- requests ---------------------------------------------------------- */

Test(role_shard, an_ask_waits_for_its_clock_and_a_later_one_replaces_it)
{
    hand h;
    double value = 0;
    open_hand(&h);
    ask_for(&h, 0, 1, 1, false);
    ask_for(&h, 0, 2, 2, false);
    ask_for(&h, 0, 1, 0, false); /* an old request */
    end_clock(&h, 0, ROW);
    end_clock(&h, 0, ROW);
    end_clock(&h, 1, ROW);
    (void)work(&h);
    for (uint32_t k = 0; k < h.n; k++)
        cr_assert_eq(h.sent[k].kind, STI_MSG_ACK);
    end_clock(&h, 1, ROW);
    (void)work(&h);
    const sti_row_answer *answer = answered(&h, &value);
    cr_assert_eq(answer->id, 2);
    cr_assert_eq(answer->as_of, 2);
    cr_assert_eq(answer->applied, 2);
    cr_assert_float_eq(value, 4, 0);
    close_hand(&h);
}

Test(role_shard, an_ask_that_comes_again_is_answered_again)
{
    hand h;
    double value = 0;
    open_hand(&h);
    for (int k = 0; k < 2; k++) {
        forget_sent(&h);
        ask_for(&h, 0, 1, 0, false);
        cr_assert_eq(answered(&h, &value)->id, 1);
    }
    close_hand(&h);
}

Test(role_shard, a_snapshot_holds_its_clock_and_nothing_later)
{
    hand h;
    double value = 0;
    open_hand(&h);
    for (uint32_t k = 0; k < 5; k++)
        end_clock(&h, 0, ROW);
    end_clock(&h, 1, ROW);
    end_clock(&h, 1, ROW);
    (void)work(&h);
    ask_for(&h, 1, 1, 2, true);
    cr_assert_not(answered(&h, &value)->gone);
    cr_assert_float_eq(value, 4, 0);
    end_clock(&h, 1, ROW);
    end_clock(&h, 1, ROW);
    (void)work(&h);
    ask_for(&h, 1, 2, 2, true);
    cr_assert(answered(&h, &value)->gone);
    close_hand(&h);
}

/* One worker advances beyond a snapshot's clock and leaves; the other one then
 * reaches the snapshot. */
Test(role_shard, a_snapshot_lacks_later_changes_of_a_worker_that_left)
{
    hand h;
    double value = 0;
    open_hand(&h);
    for (uint32_t k = 0; k < 5; k++)
        end_clock(&h, 0, ROW);
    leave(&h, 0);
    (void)work(&h);
    for (uint32_t k = 0; k < 4; k++)
        end_clock(&h, 1, ROW);
    (void)work(&h);
    ask_for(&h, 1, 1, 4, true);
    cr_assert_not(answered(&h, &value)->gone);
    cr_assert_float_eq(value, 8, 0);
    close_hand(&h);
}
