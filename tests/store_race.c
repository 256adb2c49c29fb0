/* For ThreadSanitizer: threads that commit to, read and copy one store at
 * once. A torn row, a torn commit or a lost increment would break these
 * invariants: all numbers of a row are equal; each commit moves 1 from row to
 * row, so the sum of all rows stays 0; a snapshot at version v holds v commits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "strads/policy.h"
#include "strads/store.h"

enum { THREADS = 4, ROWS = 128, COLS = 5, COUNT = ROWS, ROUNDS = 20000 };
enum { DENSE, SPARSE, CLOCKED };

static strads_store *store;
static atomic_uint failures;

static void expect(bool holds, const char *what)
{
    if (!holds && atomic_fetch_add(&failures, 1) < 10)
        (void)fprintf(stderr, "store_race: %s (%s)\n", what,
                      strads_error_text());
}

static uint32_t draw(uint64_t thread, uint64_t round, uint64_t k)
{
    return (uint32_t)strads_random_bits(1, thread, round, k);
}

/* Moves 1 from one row to another, and counts the commit in row ROWS. */
static void move_one(uint32_t table, uint64_t thread, uint64_t round)
{
    int64_t delta[3 * COLS];
    uint32_t rows[3] = {draw(thread, round, 0) % ROWS,
                        draw(thread, round, 1) % ROWS, COUNT};
    for (int j = 0; j < COLS; j++) {
        delta[j] = 1;
        delta[COLS + j] = -1;
        delta[2 * COLS + j] = 1;
    }
    expect(!strads_store_inc(store, table, 3, rows, delta, NULL), "inc");
}

static int64_t row_number(const int64_t *row)
{
    for (int j = 1; j < COLS; j++)
        expect(row[j] == row[0], "a row is torn");
    return row[0];
}

static void read_all(uint32_t table)
{
    static const uint32_t last = COUNT;
    uint32_t rows[ROWS];
    int64_t cells[ROWS * COLS], sum = 0;
    for (uint32_t r = 0; r < ROWS; r++)
        rows[r] = r;
    uint64_t before = strads_store_version(store, table);
    expect(!strads_store_read(store, table, ROWS, rows, cells), "read");
    for (uint32_t r = 0; r < ROWS; r++)
        sum += row_number(cells + r * COLS);
    expect(sum == 0, "a read saw a part of a commit");
    expect(!strads_store_read(store, table, 1, &last, cells), "read");
    expect((uint64_t)row_number(cells) >= before, "a commit was not seen");
}

static void copy_all(uint32_t table)
{
    strads_snapshot *snapshot = NULL;
    int64_t sum = 0;
    uint32_t n;
    const uint32_t *cols;
    const void *values;
    if (strads_store_snapshot(store, table, &snapshot)) {
        expect(false, "snapshot");
        return;
    }
    for (uint32_t r = 0; r <= ROWS; r++) {
        expect(!strads_snapshot_row(snapshot, r, &n, &cols, &values), "row");
        int64_t number = n ? row_number(values) : 0;
        sum += r == COUNT ? 0 : number;
        if (r == COUNT)
            expect((uint64_t)number == strads_snapshot_version(snapshot),
                   "a snapshot does not hold its version");
    }
    expect(sum == 0, "a snapshot holds a part of a commit");
    strads_snapshot_free(snapshot);
}

/* Each worker counts its clocks in its own row and in a shared one. */
static void clock_once(strads_session *session, uint64_t round)
{
    static const uint32_t staleness = 2;
    uint32_t me = strads_session_worker(session);
    for (uint32_t v = 0; v < THREADS; v++) {
        int64_t clocks;
        expect(!strads_session_read_row(session, CLOCKED, v, staleness,
                                        &clocks),
               "read_row");
        expect(clocks + staleness >= (int64_t)round, "a read is too stale");
    }
    expect(!strads_session_inc(session, CLOCKED, me, 0, 1), "session inc");
    expect(!strads_session_inc(session, CLOCKED, THREADS, 0, 1), "inc");
    expect(!strads_session_clock(session), "clock");
}

static void *work(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    strads_session *session = NULL;
    if (strads_session_open(store, (uint32_t)me, THREADS, &session)) {
        expect(false, "open");
        return NULL;
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t table = round % 2 ? DENSE : SPARSE;
        move_one(table, me, round);
        if (round % 5 == me)
            read_all(table);
        if (round % 50 == me)
            copy_all(table);
        if (round % 10 == 0)
            clock_once(session, round / 10);
    }
    expect(!strads_session_barrier(session), "barrier");
    strads_session_close(session);
    return NULL;
}

static void make_tables(void)
{
    const strads_table_spec specs[] = {
        [DENSE] = {.name = "dense",
                   .type = STRADS_I64,
                   .rows = ROWS + 1,
                   .cols = COLS},
        [SPARSE] = {.name = "sparse",
                    .type = STRADS_I64,
                    .rows = ROWS + 1,
                    .cols = COLS,
                    .sparse = true},
        [CLOCKED] = {.name = "clocked",
                     .type = STRADS_I64,
                     .rows = THREADS + 1,
                     .cols = 1},
    };
    uint32_t table;
    expect(!strads_store_open(0, &store), "store");
    for (uint32_t t = 0; t <= CLOCKED; t++)
        expect(!strads_store_create(store, &specs[t], &table), "table");
}

int main(void)
{
    pthread_t thread[THREADS];
    make_tables();
    if (failures)
        return 1;
    for (uintptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, work, (void *)t)) {
            (void)fprintf(stderr, "store_race: no thread\n");
            return 1;
        }
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    for (uint32_t table = DENSE; table <= SPARSE; table++) {
        read_all(table);
        copy_all(table);
        expect(strads_store_version(store, table) == THREADS * ROUNDS / 2,
               "a commit is missing");
    }
    int64_t clocks = 0;
    const uint32_t all = THREADS;
    expect(!strads_store_read(store, CLOCKED, 1, &all, &clocks), "read");
    expect(clocks == THREADS * ROUNDS / 10, "a session's increment is missing");
    strads_store_free(store);
    return failures != 0;
}
