/* Exact snapshots that sessions read in one process: all updates of earlier
 * clocks and none of later clocks, by hand and on threads. */
#include <criterion/criterion.h>
#include <string.h>

#include "strads/store.h"
#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/toy_data.h"

enum { EVERY = 2, ROWS = 3, COLS = 2, ROW = 1, COL = 1 };

static strads_store *open_store(strads_scalar type, bool sparse, uint32_t every)
{
    const strads_table_spec spec = {.name = "t",
                                    .type = type,
                                    .rows = ROWS,
                                    .cols = COLS,
                                    .sparse = sparse,
                                    .staleness = STRADS_STALENESS_INFINITE,
                                    .snapshot_every = every};
    strads_store *store;
    uint32_t table;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    expect_ok(strads_store_create(store, &spec, &table));
    return store;
}

static strads_session *open_session(strads_store *store, uint32_t worker,
                                    uint32_t workers)
{
    strads_session *session;
    expect_ok(strads_session_open(store, worker, workers, &session));
    return session;
}

/* One clock that adds `delta`. */
static void add(strads_session *session, double delta)
{
    cr_assert_eq(strads_session_inc(session, 0, ROW, COL, delta), STRADS_OK);
    expect_ok(strads_session_clock(session));
}

static strads_err read_one(strads_session *session, int64_t *value,
                           uint64_t *clock)
{
    const uint32_t rows[] = {ROW, 0};
    int64_t cells[2 * COLS] = {-1, -1, -1, -1};
    strads_err err =
        strads_session_read_snapshot(session, 0, 2, rows, cells, clock);
    *value = cells[COL];
    for (int k = 0; !err && k < 2 * COLS; k++)
        cr_expect_eq(cells[k], k == COL ? *value : 0);
    return err;
}

static void expect_snapshot(strads_session *session, uint64_t clock,
                            int64_t value)
{
    uint64_t found;
    int64_t cell;
    expect_ok(read_one(session, &cell, &found));
    cr_expect_eq(found, clock);
    cr_expect_eq(cell, value, "%lld", (long long)cell);
}

static void expect_refused(strads_session *session, strads_err err,
                           const char *words)
{
    uint64_t clock;
    int64_t cell;
    expect_error(read_one(session, &cell, &clock), err, words);
}

Test(store_snapshot, it_has_all_clocks_before_and_none_later)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        strads_store *store = open_store(STRADS_I64, sparse, EVERY);
        strads_session *a = open_session(store, 0, 2);
        strads_session *b = open_session(store, 1, 2);
        add(a, 1);
        add(a, 10);
        add(a, 100); /* clock 2: not in the snapshot of 2 */
        add(b, 1000);
        add(b, 10000);
        expect_snapshot(a, 2, 11011);
        expect_snapshot(b, 2, 11011);
        cr_assert_eq(strads_session_inc(b, 0, ROW, COL, 5), STRADS_OK);
        expect_snapshot(b, 2, 11011); /* pending, of clock 2 */
        cr_assert_eq(strads_session_flush(b), STRADS_OK);
        expect_snapshot(b, 2, 11011); /* and pushed */
        expect_snapshot(a, 2, 11011);
        add(b, 0);
        add(b, 0);
        add(a, 0); /* both at 4 */
        expect_snapshot(a, 4, 11116);
        strads_session_close(a);
        expect_snapshot(b, 4, 11116);
        add(b, 7);
        expect_snapshot(b, 4, 11116);
        add(b, 7);
        expect_snapshot(b, 6, 11130);
        strads_session_close(b);
        strads_store_free(store);
    }
}

Test(store_snapshot, a_worker_that_nothing_was_added_before_reads_the_rows)
{
    strads_store *store = open_store(STRADS_I64, false, 3);
    strads_session *a = open_session(store, 0, 1);
    cr_assert_eq(strads_session_advance(a, 4), STRADS_OK);
    expect_snapshot(a, 3, 0);
    cr_assert_eq(strads_session_advance(a, 9), STRADS_OK);
    expect_snapshot(a, 9, 0);
    strads_session_close(a);
    strads_store_free(store);
}

Test(store_snapshot, a_snapshot_that_does_not_exist_is_refused)
{
    strads_store *none = open_store(STRADS_I64, false, 0);
    strads_store *store = open_store(STRADS_I64, false, EVERY);
    strads_session *a = open_session(none, 0, 1);
    strads_session *b = open_session(store, 0, 1);
    uint64_t clock;
    cr_assert_eq(strads_session_clock(a), STRADS_OK);
    expect_refused(a, STRADS_EINVAL, "keeps no snapshots");
    cr_assert_eq(strads_session_clock(b), STRADS_OK);
    expect_refused(b, STRADS_EINVAL, "no snapshot before clock 2");
    cr_assert_eq(strads_session_clock(b), STRADS_OK);
    cr_expect_eq(strads_session_read_snapshot(b, 0, 1, &(uint32_t){ROWS},
                                              &(int64_t[COLS]){0}, &clock),
                 STRADS_EINVAL);
    cr_expect_eq(strads_session_read_snapshot(b, 1, 1, &(uint32_t){0},
                                              &(int64_t[COLS]){0}, &clock),
                 STRADS_EINVAL);
    strads_session_close(a);
    strads_session_close(b);
    strads_store_free(none);
    strads_store_free(store);
}

/* `a` is so far ahead that 10 is not kept; 12 is kept again. */
Test(store_snapshot, only_a_snapshot_that_was_not_kept_is_reported_lost)
{
    strads_store *store = open_store(STRADS_I64, true, EVERY);
    strads_session *a = open_session(store, 0, 2);
    strads_session *b = open_session(store, 1, 2);
    for (int c = 0; c < 11; c++)
        add(a, 1);
    for (uint64_t clock = 2; clock <= 8; clock += EVERY) {
        cr_assert_eq(strads_session_advance(b, clock), STRADS_OK);
        expect_snapshot(b, clock, (int64_t)clock);
    }
    cr_assert_eq(strads_session_advance(b, 10), STRADS_OK);
    expect_refused(b, STRADS_ESTATE, "of clock 10");
    add(a, 1); /* clock 11 */
    add(a, 1); /* clock 12 */
    cr_assert_eq(strads_session_advance(b, 12), STRADS_OK);
    expect_snapshot(b, 12, 12);
    strads_session_close(a);
    strads_session_close(b);
    strads_store_free(store);
}

Test(store_snapshot, another_group_of_workers_has_clocks_of_its_own)
{
    strads_store *store = open_store(STRADS_I64, false, EVERY);
    for (int group = 0; group < 3; group++) {
        strads_session *a = open_session(store, 0, 1);
        for (int c = 0; c < 7; c++) {
            add(a, 1);
            if (c >= 1)
                expect_snapshot(a, (uint64_t)(c + 1) / EVERY * EVERY,
                                7 * group + (c + 1) / EVERY * EVERY);
        }
        strads_session_close(a);
    }
    strads_store_free(store);
}

/* A snapshot is as large as the table and does not fit in memory here. */
Test(store_snapshot, without_memory_only_the_snapshot_is_lost)
{
    enum { MANY = 100000 };
    const strads_table_spec spec = {.name = "t",
                                    .rows = MANY,
                                    .cols = 1,
                                    .snapshot_every = EVERY};
    strads_store *store;
    uint32_t table;
    uint64_t clock;
    double cell;
    cr_assert_eq(strads_store_open(MANY * sizeof(double) * 3 / 2, &store),
                 STRADS_OK);
    expect_ok(strads_store_create(store, &spec, &table));
    strads_session *a = open_session(store, 0, 1);
    for (int c = 0; c < 3; c++) {
        cr_assert_eq(strads_session_inc(a, 0, 5, 0, 1), STRADS_OK);
        cr_assert_eq(strads_session_clock(a), STRADS_OK);
    }
    cr_expect_eq(strads_session_read_snapshot(a, 0, 1, &(uint32_t){5}, &cell,
                                              &clock),
                 STRADS_ESTATE);
    cr_assert_eq(strads_session_read_row(a, 0, 5, 0, &cell), STRADS_OK);
    cr_expect_eq(cell, 3);
    strads_session_close(a);
    strads_store_free(store);
}

Test(store_snapshot, increments_of_some_columns_add_up)
{
    const uint32_t cols[] = {1, 0, 1};
    const int64_t delta[] = {1, 20, 300};
    int64_t cells[COLS];
    for (int sparse = 0; sparse < 2; sparse++) {
        strads_store *store = open_store(STRADS_I64, sparse, 0);
        strads_session *a = open_session(store, 0, 1);
        cr_assert_eq(strads_session_inc_sparse(a, 0, 2, 3, cols, delta),
                     STRADS_OK);
        cr_assert_eq(strads_session_read_row(a, 0, 2, 0, cells), STRADS_OK);
        cr_expect_eq(cells[0], 20);
        cr_expect_eq(cells[1], 301);
        cr_expect_eq(strads_session_inc_sparse(a, 0, 2, 1, &(uint32_t){COLS},
                                               delta),
                     STRADS_EINVAL);
        cr_expect_eq(strads_session_inc_sparse(a, 0, ROWS, 1, cols, delta),
                     STRADS_EINVAL);
        cr_expect_eq(strads_session_inc_sparse(a, 0, ROWS - 1, 0, cols, delta),
                     STRADS_OK);
        cr_assert_eq(strads_session_clock(a), STRADS_OK);
        cr_assert_eq(strads_session_read_row(a, 0, 2, 0, cells), STRADS_OK);
        cr_expect_eq(cells[1], 301);
        strads_session_close(a);
        strads_store_free(store);
    }
}

/* Partition p adds 1 to its column in each clock. The snapshot of clock T
 * has exactly T of each, however far ahead others are (loop_tally.c checks it).
 */
Test(store_snapshot, threads_that_run_ahead_leave_them_exact)
{
    enum { PARTITIONS = 4, CLOCKS = 60 };
    static const uint32_t staleness[] = {0, 3, STRADS_STALENESS_INFINITE};
    strads_data *data = toy_data(&tally_program, 23, 17, PARTITIONS);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = PARTITIONS,
                                           .partitions = PARTITIONS};
    for (int s = 0; s < 3; s++) {
        strads_result *result;
        tally = (tally_plan){.clocks = CLOCKS,
                             .staleness = staleness[s],
                             .snapshots = 3,
                             .flushes = 4};
        expect_ok(strads_run(&tally_program, NULL, data, &options, &result));
        cr_expect_eq(atomic_load(&tally.wrong), 0, "%u",
                     atomic_load(&tally.wrong));
        cr_expect_eq(atomic_load(&tally.partitions_met), PARTITIONS);
        strads_result_free(result);
    }
    strads_data_free(data);
}
