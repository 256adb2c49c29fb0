/* Rows that are read once a clock go past the cache, to a worker that is alone
 * on its node. The test plays the shard: it holds 10 x the row's number plus
 * the clock. */
#include <criterion/criterion.h>

#include "engine/store/store_message.h"
#include "engine/store/store_client.h"

enum { ROWS = 5 };

static const strads_table_spec table = {.name = "a",
                                        .type = STRADS_F64,
                                        .rows = ROWS,
                                        .cols = 1};

typedef struct hand {
    sti_client *client;
    sti_pending pending;
    sti_effects effects;
    uint64_t clock, pushed, applied;
    sti_row_ask *ask; /* the last one; NULL: it is answered */
    uint32_t n_asks;
} hand;

static void open_hand(hand *h)
{
    const sti_client_setup setup = {.shards = 1,
                                    .workers = 1,
                                    .tables = &table,
                                    .n_tables = 1,
                                    .piece_bytes = ROWS * sizeof(double)};
    *h = (hand){0};
    cr_assert_eq(sti_client_new(&setup, &h->client), STRADS_OK);
    sti_pending_init(&h->pending, &table);
}

static void close_hand(hand *h)
{
    sti_object_drop(h->ask);
    sti_effects_free(&h->effects);
    sti_pending_free(&h->pending);
    sti_client_free(h->client);
}

static void take_effects(hand *h)
{
    for (size_t k = 0; k < h->effects.n; k++) {
        const sti_effect *e = &h->effects.at[k];
        if (e->kind != STI_EFFECT_SEND)
            continue;
        h->pushed += e->msg.kind == STI_MSG_PUSH;
        if (e->msg.kind == STI_MSG_ASK_ROWS) {
            sti_object_drop(h->ask);
            h->ask = (sti_row_ask *)e->msg.object;
            h->n_asks++;
        } else {
            sti_object_drop(e->msg.object);
        }
    }
    h->effects.n = 0;
}

/* Adds to row 0 and ends the clock, of which the shard is told when it is. */
static void next_clock(hand *h, double by, bool is_in)
{
    bool wait;
    cr_assert_eq(sti_pending_add(&h->pending,
                                 &(sti_row_delta){.n = 1, .cells = &by}),
                 STRADS_OK);
    cr_assert_eq(sti_client_push(h->client, 0, STI_PUSH_CLOCK, &h->pending, 1,
                                 &wait, &h->effects),
                 STRADS_OK);
    take_effects(h);
    h->clock++;
    if (!is_in)
        return;
    h->applied = h->pushed;
    sti_client_step(h->client,
                    &(sti_event){.msg = {.kind = STI_MSG_ACK,
                                         .from = STI_SHARD_0,
                                         .round = h->applied}},
                    1, &h->effects);
    take_effects(h);
}

static void answer(hand *h)
{
    sti_row_answer *rows;
    sti_push_room room;
    cr_assert(h->ask);
    cr_assert_eq(sti_row_answer_new(&rows), STRADS_OK);
    rows->id = h->ask->id;
    rows->as_of = h->clock;
    rows->applied = h->applied;
    cr_assert_eq(sti_buffer_new(0, &rows->parts), STRADS_OK);
    cr_assert_eq(sti_push_reserve(rows->parts, 0, h->ask->n, sizeof(double),
                                  &room),
                 STRADS_OK);
    for (uint32_t k = 0; k < h->ask->n; k++) {
        room.rows[k] = h->ask->rows[k];
        ((double *)(void *)room.cells)[k] =
            10.0 * h->ask->rows[k] + (double)h->clock;
    }
    sti_object_drop(h->ask);
    h->ask = NULL;
    sti_client_step(h->client,
                    &(sti_event){.msg = {.kind = STI_MSG_ROWS,
                                         .from = STI_SHARD_0,
                                         .object = &rows->head}},
                    1, &h->effects);
    take_effects(h);
}

static bool try_to_read(hand *h, uint32_t n, double *values)
{
    static const uint32_t rows[ROWS] = {0, 1, 2, 3, 4};
    uint64_t as_of = 0;
    bool wait;
    const sti_client_read read = {.n = n,
                                  .rows = rows,
                                  .pending = &h->pending,
                                  .now = 1};
    cr_assert_eq(sti_client_read_rows(h->client, &read, values, &as_of, &wait,
                                      &h->effects),
                 STRADS_OK);
    take_effects(h);
    cr_assert(wait || as_of == h->clock);
    return !wait;
}

/* How often the shard had to be asked for it. `more`: of row 0. */
static uint32_t read_rows(hand *h, uint32_t n, double more)
{
    double values[ROWS] = {0};
    uint32_t before = h->n_asks;
    while (!try_to_read(h, n, values))
        answer(h);
    for (uint32_t row = 0; row < n; row++)
        cr_assert_float_eq(values[row],
                           10.0 * row + (double)h->clock + (row ? 0 : more), 0);
    return h->n_asks - before;
}

static void read_once_a_clock(hand *h)
{
    for (uint32_t k = 0; k < 6; k++) {
        next_clock(h, 1, true);
        cr_assert_eq(read_rows(h, ROWS, 0), 1);
    }
}

Test(store_read_once, rows_that_are_read_again_are_cached)
{
    hand h;
    open_hand(&h);
    for (uint32_t k = 0; k < 12; k++) {
        next_clock(&h, 1, true);
        cr_assert_eq(read_rows(&h, ROWS, 0), 1);
        cr_assert_eq(read_rows(&h, ROWS, 0), 0);
    }
    close_hand(&h);
}

Test(store_read_once, rows_go_past_the_cache_until_one_is_read_again)
{
    hand h;
    open_hand(&h);
    read_once_a_clock(&h);
    cr_assert_eq(read_rows(&h, 1, 0), 1, "it was not cached");
    cr_assert_eq(read_rows(&h, 1, 0), 0, "it is now");
    next_clock(&h, 1, true);
    cr_assert_eq(read_rows(&h, ROWS, 0), 1);
    cr_assert_eq(read_rows(&h, ROWS, 0), 0, "and so are all");
    close_hand(&h);
}

Test(store_read_once, few_rows_are_cached_always)
{
    hand h;
    open_hand(&h);
    for (uint32_t k = 0; k < 6; k++) {
        next_clock(&h, 1, true);
        cr_assert_eq(read_rows(&h, 1, 0), 1);
    }
    cr_assert_eq(read_rows(&h, 1, 0), 0);
    close_hand(&h);
}

Test(store_read_once, own_increments_are_in_rows_that_lack_them)
{
    hand h;
    open_hand(&h);
    read_once_a_clock(&h);
    next_clock(&h, 0.25, false); /* it is on its way */
    cr_assert_eq(read_rows(&h, ROWS, 0.25), 1);
    close_hand(&h);
}
