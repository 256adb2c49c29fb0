/* What a shard keeps of exact snapshots across a checkpoint and a restart, and
 * which rows it lends. */
#include <criterion/criterion.h>

#include "tests/swarm/journal_memory.h"
#include "engine/store/kept_rows.h"

enum { FAST, SLOW, WORKERS, FURTHEST = 5, SNAPSHOT = 4 };

static const strads_table_spec table = {
    .name = "t", .type = STRADS_I64, .rows = 1, .cols = 1, .snapshot_every = 2};

static const sti_kept_setup setup = {.shards = 1,
                                     .streams = WORKERS,
                                     .workers = WORKERS,
                                     .tables = &table,
                                     .n_tables = 1,
                                     .memory_limit = 1 << 20};

/* The next push of a worker: 1 is added in this clock. */
static void push(sti_kept *kept, uint32_t worker, uint64_t clock,
                 sti_push_end end)
{
    static const uint32_t row = 0;
    static const int64_t one = 1;
    sti_buffer *bytes;
    bool ignored;
    cr_assert_eq(sti_buffer_new(0, &bytes), 0);
    cr_assert_eq(sti_push_append(bytes, &(sti_push_part){.kind = STI_PUSH_MARK,
                                                         .worker = worker,
                                                         .end = end,
                                                         .clock = clock}),
                 0);
    cr_assert_eq(sti_push_append(bytes,
                                 &(sti_push_part){.kind = STI_PUSH_ROWS,
                                                  .n = 1,
                                                  .places = &row,
                                                  .cells = &one,
                                                  .cell_bytes = sizeof one}),
                 0);
    cr_assert_eq(sti_kept_check(kept, bytes, &ignored), 0);
    cr_assert_eq(sti_kept_apply(kept, worker,
                                sti_kept_applied(kept, worker) + 1, bytes,
                                &ignored),
                 0);
    sti_object_drop(bytes);
}

/* A worker runs ahead beyond a snapshot, and leaves. */
static void run_ahead(sti_kept *kept)
{
    for (uint64_t clock = 0; clock < FURTHEST; clock++)
        push(kept, FAST, clock, STI_PUSH_CLOCK);
    push(kept, FAST, FURTHEST, STI_PUSH_LEAVE);
}

/* The snapshot, when the other one has come to it: false when it is gone. */
static bool read_snapshot(sti_kept *kept, int64_t *value)
{
    sti_buffer *parts;
    sti_push_part part;
    strads_err err;
    bool gone;
    size_t at = 0;
    const uint32_t row = 0;
    for (uint64_t clock = 0; clock < SNAPSHOT; clock++)
        push(kept, SLOW, clock, STI_PUSH_CLOCK);
    cr_assert_eq(sti_kept_clock(kept), SNAPSHOT);
    cr_assert_eq(sti_buffer_new(0, &parts), 0);
    cr_assert_eq(sti_kept_read_image(kept, SNAPSHOT, 0, 1, &row, parts, &gone),
                 0);
    if (!gone && sti_push_next(parts, &at, &part, &err))
        *value = *(const int64_t *)part.cells;
    sti_object_drop(parts);
    return !gone;
}

Test(store_kept, a_snapshot_lacks_what_one_who_ran_ahead_and_left_added_later)
{
    sti_kept *kept;
    int64_t value = 0;
    cr_assert_eq(sti_kept_open(&setup, &kept), 0);
    run_ahead(kept);
    cr_assert(read_snapshot(kept, &value));
    cr_assert_eq(value, 2 * SNAPSHOT);
    sti_kept_free(kept);
}

Test(store_kept, such_a_snapshot_is_kept_across_a_checkpoint)
{
    sti_kept *kept;
    sti_memory_disk *disk;
    sti_journal *journal;
    int64_t value = 0;
    cr_assert_eq(sti_memory_disk_new(&disk), 0);
    for (int restarted = 0; restarted < 2; restarted++) {
        cr_assert_eq(sti_kept_open(&setup, &kept), 0);
        cr_assert_eq(sti_journal_open_memory(disk, "test",
                                             &(sti_journal_options){.run = 1},
                                             &journal),
                     0);
        cr_assert_eq(sti_kept_recover(kept, journal), 0);
        if (!restarted) {
            run_ahead(kept);
            cr_assert_eq(journal->ops->checkpoint(journal, sti_kept_state,
                                                  kept),
                         0);
        } else {
            cr_assert(read_snapshot(kept, &value));
            cr_assert_eq(value, 2 * SNAPSHOT);
        }
        sti_journal_close(journal);
        sti_kept_free(kept);
    }
    sti_memory_disk_free(disk);
}

/* ---- rows that are lent -------------------------------------------------- */

enum { LENT_ROWS = 6, LENT_COLS = 4, LENT_BYTES = LENT_COLS * 8 };

static sti_kept *open_filled(void)
{
    static const strads_table_spec wide = {.name = "wide",
                                           .type = STRADS_F64,
                                           .rows = LENT_ROWS,
                                           .cols = LENT_COLS};
    sti_kept_setup one = setup;
    sti_buffer *push;
    sti_push_room room;
    bool snapshot;
    sti_kept *kept;
    one.tables = &wide;
    cr_assert_eq(sti_kept_open(&one, &kept), 0);
    cr_assert_eq(sti_buffer_new(0, &push), 0);
    cr_assert_eq(sti_push_reserve(push, 0, LENT_ROWS, LENT_BYTES, &room), 0);
    for (uint32_t r = 0; r < LENT_ROWS; r++)
        room.rows[r] = r;
    for (uint32_t k = 0; k < LENT_ROWS * LENT_COLS; k++)
        ((double *)(void *)room.cells)[k] = k;
    cr_assert_eq(sti_kept_apply(kept, 0, 1, push, &snapshot), 0);
    sti_object_drop(push);
    return kept;
}

/* How many bytes are lent of n rows; what is sent of them is what a copy is. */
static size_t lend(sti_kept *kept, uint32_t n, const uint32_t *rows,
                   uint64_t least)
{
    sti_buffer *head, *copy;
    const void *cells;
    size_t bytes;
    cr_assert_eq(sti_buffer_new(0, &head), 0);
    cr_assert_eq(sti_buffer_new(0, &copy), 0);
    cr_assert_eq(sti_kept_lend(kept, 0, 0, n, rows, least, head, &cells,
                               &bytes),
                 0);
    cr_assert_eq(sti_kept_read(kept, 0, 0, n, rows, copy), 0);
    if (bytes) {
        cr_assert_eq(head->size + bytes, copy->size);
        cr_expect_arr_eq(head->bytes, copy->bytes, head->size);
        cr_expect_arr_eq((const char *)cells, copy->bytes + head->size, bytes);
    } else {
        cr_expect_eq(head->size, 0);
    }
    sti_object_drop(head);
    sti_object_drop(copy);
    return bytes;
}

Test(store_kept, rows_that_lie_one_behind_the_other_are_lent)
{
    sti_kept *kept = open_filled();
    const void *cells;
    size_t bytes;
    cr_expect_eq(lend(kept, 3, (uint32_t[]){2, 3, 4}, 1), 3 * LENT_BYTES);
    cr_expect_eq(lend(kept, 1, (uint32_t[]){5}, LENT_BYTES), LENT_BYTES);
    cr_expect_eq(lend(kept, 3, (uint32_t[]){2, 3, 5}, 1), 0);
    cr_expect_eq(lend(kept, 2, (uint32_t[]){3, 2}, 1), 0);
    cr_expect_eq(lend(kept, 2, (uint32_t[]){2, 3}, 2 * LENT_BYTES + 1), 0);
    cr_expect_eq(sti_kept_lend(kept, 0, 0, 1, (uint32_t[]){LENT_ROWS}, 1, NULL,
                               &cells, &bytes),
                 STRADS_EPEER);
    cr_expect_eq(bytes, 0);
    sti_kept_free(kept);
}
