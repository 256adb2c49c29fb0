/* Sessions: own increments, buffering, clocks, the staleness rule, closing.
 * Threads wait for events; no result depends on timing. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "engine/store/local_store.h"
#include "strads/policy.h"
#include "strads/store.h"
#include "tests/expect.h"

enum { MOST_WORKERS = 4 };

static strads_store *open_store(uint64_t limit, strads_table_spec spec)
{
    strads_store *store = NULL;
    uint32_t table = 0;
    cr_assert_eq(strads_store_open(limit, &store), STRADS_OK);
    cr_assert_eq(strads_store_create(store, &spec, &table), STRADS_OK);
    return store;
}

static strads_session *open_session(strads_store *store, uint32_t worker,
                                    uint32_t workers)
{
    strads_session *session = NULL;
    expect_ok(strads_session_open(store, worker, workers, &session));
    return session;
}

/* Reads column col of a row of table 0 at infinite staleness, which never
 * waits. */
static double seen_by(strads_session *session, uint32_t row, uint32_t col)
{
    double cells[8];
    cr_assert_eq(strads_session_read_row(session, 0, row,
                                         STRADS_STALENESS_INFINITE, cells),
                 STRADS_OK);
    return cells[col];
}

Test(store_sessions, own_increments_are_seen_at_once_by_others_after_the_clock)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        strads_store *store =
            open_store(0, (strads_table_spec){.name = "w",
                                              .rows = 9,
                                              .cols = 3,
                                              .sparse = sparse});
        strads_session *a = open_session(store, 0, 2);
        strads_session *b = open_session(store, 1, 2);
        cr_assert_eq(strads_session_inc(a, 0, 4, 2, 1.5), STRADS_OK);
        cr_assert_eq(strads_session_inc_row(a, 0, 4, (double[]){1, 0, 1}),
                     STRADS_OK);
        cr_assert_eq(seen_by(a, 4, 0), 1);
        cr_assert_eq(seen_by(a, 4, 2), 2.5);
        cr_assert_eq(seen_by(b, 4, 2), 0);
        cr_assert_eq(strads_session_clock(a), STRADS_OK);
        cr_assert_eq(seen_by(a, 4, 2), 2.5);
        cr_assert_eq(seen_by(b, 4, 2), 2.5);
        cr_assert_eq(strads_session_inc(b, 0, 4, 1, 1), STRADS_OK);
        cr_assert_eq(strads_session_flush(b), STRADS_OK);
        cr_assert_eq(seen_by(a, 4, 1), 1);
        cr_assert_eq(strads_session_now(a), 1);
        cr_assert_eq(strads_session_now(b), 0);
        strads_session_close(a);
        strads_session_close(b);
        strads_store_free(store);
    }
}

Test(store_sessions, several_rows_are_added_to_at_once_or_none_of_them)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        strads_store *store =
            open_store(0, (strads_table_spec){.name = "w",
                                              .rows = 9,
                                              .cols = 2,
                                              .sparse = sparse});
        strads_session *a = open_session(store, 0, 1);
        double delta[3 * 2] = {1, 2, 0, 4, 8, 16};
        cr_assert_eq(strads_session_inc_rows(a, 0, 3, (uint32_t[]){4, 7, 4},
                                             delta),
                     STRADS_OK);
        delta[0] = 100; /* the caller may reuse it */
        expect_error(strads_session_inc_rows(a, 0, 3, (uint32_t[]){4, 7, 9},
                                             delta),
                     STRADS_EINVAL, "there is no row 9");
        expect_error(strads_session_inc_rows(a, 1, 0, NULL, NULL),
                     STRADS_EINVAL, "there is no table 1");
        cr_assert_eq(strads_session_inc_rows(a, 0, 0, NULL, NULL), STRADS_OK);
        for (int pushed = 0; pushed < 2; pushed++) {
            cr_assert_eq(seen_by(a, 4, 0), 9);
            cr_assert_eq(seen_by(a, 4, 1), 18);
            cr_assert_eq(seen_by(a, 7, 1), 4);
            cr_assert_eq(strads_session_clock(a), STRADS_OK);
        }
        strads_session_close(a);
        strads_store_free(store);
    }
}

Test(store_sessions, a_clock_advances_for_all_and_never_decreases)
{
    double row[2];
    strads_store *store =
        open_store(0, (strads_table_spec){.name = "w", .rows = 1, .cols = 2});
    strads_session *a = open_session(store, 0, 2);
    strads_session *b = open_session(store, 1, 2);
    cr_assert_eq(strads_session_inc(a, 0, 0, 1, 5), STRADS_OK);
    cr_assert_eq(strads_session_advance(a, 40), STRADS_OK);
    cr_assert_eq(strads_session_now(a), 40);
    while (strads_session_now(b) < 40)
        cr_assert_eq(strads_session_clock(b), STRADS_OK);
    /* Waits for no session: `a` runs on this thread. */
    cr_assert_eq(strads_session_read_row(b, 0, 0, 0, row), STRADS_OK);
    cr_assert_eq(row[1], 5);
    cr_assert_eq(strads_session_inc(a, 0, 0, 1, 1), STRADS_OK);
    cr_assert_eq(strads_session_advance(a, 39), STRADS_OK);
    cr_assert_eq(strads_session_now(a), 40);
    cr_assert_eq(seen_by(b, 0, 1), 6);
    strads_session_close(a);
    strads_session_close(b);
    strads_store_free(store);
}

Test(store_sessions, increments_of_a_clock_leave_as_one_commit_of_each_table)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        strads_store *store =
            open_store(0, (strads_table_spec){.name = "w",
                                              .rows = 1000,
                                              .cols = 2,
                                              .sparse = sparse});
        strads_session *session = open_session(store, 0, 1);
        for (uint32_t i = 0; i < 3000; i++)
            cr_assert_eq(strads_session_inc(session, 0, i % 1000, 1, 1), 0);
        cr_assert_eq(strads_store_version(store, 0), 0);
        cr_assert_eq(strads_session_clock(session), STRADS_OK);
        cr_assert_eq(strads_store_version(store, 0), 1);
        cr_assert_eq(strads_session_clock(session), STRADS_OK);
        cr_assert_eq(strads_store_version(store, 0), 1);
        cr_assert_eq(seen_by(session, 999, 1), 3);
        strads_session_close(session);
        strads_store_free(store);
    }
}

Test(store_sessions, closing_pushes_the_remaining_changes)
{
    strads_store *store =
        open_store(0, (strads_table_spec){.name = "w", .rows = 1, .cols = 1});
    strads_session *session = open_session(store, 0, 1);
    cr_assert_eq(strads_session_inc(session, 0, 0, 0, 7), STRADS_OK);
    strads_session_close(session);
    strads_session_close(NULL);
    double cell = 0;
    cr_assert_eq(strads_store_read(store, 0, 1, (uint32_t[]){0}, &cell), 0);
    cr_assert_eq(cell, 7);
    strads_store_free(store);
}

Test(store_sessions, a_table_made_later_is_there_too)
{
    strads_store *store =
        open_store(0, (strads_table_spec){.name = "w", .rows = 1, .cols = 1});
    strads_session *session = open_session(store, 0, 1);
    cr_assert_eq(strads_session_inc(session, 0, 0, 0, 1), STRADS_OK);
    uint32_t late = 0;
    strads_table_spec spec = {.name = "late",
                              .type = STRADS_I64,
                              .rows = 2,
                              .cols = 1};
    cr_assert_eq(strads_store_create(store, &spec, &late), STRADS_OK);
    cr_assert_eq(strads_session_inc(session, late, 1, 0, 2), STRADS_OK);
    int64_t cells[2];
    cr_assert_eq(strads_session_read_rows(session, late, 2, (uint32_t[]){0, 1},
                                          0, cells),
                 STRADS_OK);
    cr_assert_eq(cells[0], 0);
    cr_assert_eq(cells[1], 2);
    strads_session_close(session);
    strads_store_free(store);
}

Test(store_sessions, invalid_requests_are_refused_without_a_change)
{
    strads_store *store = open_store(0, (strads_table_spec){.name = "n",
                                                            .type = STRADS_I32,
                                                            .rows = 4,
                                                            .cols = 2});
    strads_session *session = open_session(store, 0, 1);
    int32_t cells[2];
    expect_error(strads_session_inc(session, 0, 0, 0, 0.5), STRADS_EINVAL,
                 "0.5");
    expect_error(strads_session_inc(session, 0, 0, 0, 0x1p31), STRADS_EINVAL,
                 "2147483648");
    expect_error(strads_session_inc(session, 0, 4, 0, 1), STRADS_EINVAL,
                 "no row 4");
    expect_error(strads_session_inc(session, 0, 0, 2, 1), STRADS_EINVAL,
                 "no column 2");
    expect_error(strads_session_inc(session, 3, 0, 0, 1), STRADS_EINVAL,
                 "no table 3");
    expect_error(strads_session_read_row(session, 0, UINT64_C(1) << 32, 0,
                                         cells),
                 STRADS_EINVAL, "no row 4294967296");
    cr_assert_eq(strads_session_inc(session, 0, 0, 0, -0x1p31), STRADS_OK);
    cr_assert_eq(strads_session_read_row(session, 0, 0, 0, cells), STRADS_OK);
    cr_assert_eq(cells[0], INT32_MIN);
    strads_session_close(session);
    strads_store_free(store);
}

Test(store_sessions, a_flush_without_room_keeps_everything_for_the_next)
{
    strads_store *store = open_store(4096, (strads_table_spec){.name = "s",
                                                               .rows = 2,
                                                               .cols = 500,
                                                               .sparse = 1});
    strads_session *session = open_session(store, 0, 1);
    static double ones[500], seen[500];
    for (int j = 0; j < 500; j++)
        ones[j] = 1;
    cr_assert_eq(strads_session_inc_row(session, 0, 0, ones), STRADS_OK);
    cr_assert_eq(strads_session_inc(session, 0, 1, 3, 1), STRADS_OK);
    for (int again = 0; again < 2; again++)
        expect_error(strads_session_clock(session), STRADS_ENOMEM, "4096");
    cr_assert_eq(strads_session_now(session), 0);
    cr_assert_eq(strads_store_version(store, 0), 0);
    cr_assert_eq(strads_session_read_row(session, 0, 0, 0, seen), STRADS_OK);
    cr_assert_arr_eq(seen, ones, sizeof ones);
    strads_session_close(session);
    strads_store_free(store);
}

/* ---- groups ------------------------------------------------------------ */

Test(store_sessions, a_worker_opens_one_session_in_a_group)
{
    strads_store *store =
        open_store(0, (strads_table_spec){.name = "w", .rows = 1, .cols = 1});
    strads_session *other = NULL;
    expect_error(strads_session_open(store, 2, 2, &other), STRADS_EINVAL,
                 "no worker 2");
    strads_session *a = open_session(store, 0, 2);
    expect_error(strads_session_open(store, 0, 2, &other), STRADS_ESTATE,
                 "is open");
    expect_error(strads_session_open(store, 1, 3, &other), STRADS_EINVAL,
                 "agree");
    strads_session_close(a);
    expect_error(strads_session_open(store, 0, 2, &other), STRADS_ESTATE,
                 "closed before");
    cr_assert_null(other);
    strads_session_close(open_session(store, 1, 2));
    strads_session *next = open_session(store, 2, 3);
    cr_assert_eq(strads_session_worker(next), 2);
    cr_assert_eq(strads_session_workers(next), 3);
    cr_assert_eq(strads_session_now(next), 0);
    strads_session_close(next);
    strads_store_free(store);
}

/* ---- waiting: one thread that should block, and the events that wake it -- */

struct blocked {
    strads_session *session;
    uint32_t staleness;
    bool barrier;
    atomic_bool released; /* the waiting thread sets it before the event that
                           * should end the wait */
    atomic_bool done;
    atomic_bool too_early;
    strads_err err;
};

static void *read_or_wait(void *arg)
{
    struct blocked *b = arg;
    double cells[8];
    b->err = b->barrier ? strads_session_barrier(b->session)
                        : strads_session_read_row(b->session, 0, 0,
                                                  b->staleness, cells);
    atomic_store(&b->too_early, !atomic_load(&b->released));
    atomic_store(&b->done, true);
    return NULL;
}

/* Waits until the thread blocks in the clocks; false if it did not block. */
static bool is_waiting(strads_store *store, struct blocked *b)
{
    for (;;) {
        pthread_mutex_lock(&store->clocks.lock);
        bool waits = store->clocks.waiting == 1;
        pthread_mutex_unlock(&store->clocks.lock);
        if (waits || atomic_load(&b->done))
            return waits;
        sched_yield();
    }
}

enum event { OTHER_TICKS, OTHER_CLOSES, OTHER_OPENS_AND_TICKS };

/* Worker 0 is at clock `clock`, worker 1 one clock short of what worker 0
 * waits for. */
static void expect_blocked_until(enum event event, uint32_t clock,
                                 uint32_t staleness, bool barrier)
{
    strads_store *store =
        open_store(0, (strads_table_spec){.name = "w", .rows = 1, .cols = 1});
    struct blocked b = {.session = open_session(store, 0, 2),
                        .staleness = staleness,
                        .barrier = barrier};
    strads_session *other = NULL;
    if (event != OTHER_OPENS_AND_TICKS)
        other = open_session(store, 1, 2);
    for (uint32_t c = 0; c < clock; c++)
        cr_assert_eq(strads_session_clock(b.session), STRADS_OK);
    for (uint32_t c = 0; other && c + 1 < clock - staleness; c++)
        cr_assert_eq(strads_session_clock(other), STRADS_OK);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, read_or_wait, &b), 0);
    bool waited = is_waiting(store, &b);
    atomic_store(&b.released, true);
    if (event == OTHER_OPENS_AND_TICKS)
        other = open_session(store, 1, 2);
    if (event != OTHER_CLOSES)
        cr_assert_eq(strads_session_clock(other), STRADS_OK);
    else
        strads_session_close(other);
    pthread_join(thread, NULL);
    cr_assert(waited);
    cr_assert_not(b.too_early);
    cr_assert_eq(b.err, STRADS_OK);
    if (event != OTHER_CLOSES)
        strads_session_close(other);
    strads_session_close(b.session);
    strads_store_free(store);
}

Test(store_sessions, a_read_waits_for_the_clock_that_it_must_see, .timeout = 30)
{
    expect_blocked_until(OTHER_TICKS, 1, 0, false);
    expect_blocked_until(OTHER_TICKS, 5, 0, false);
    expect_blocked_until(OTHER_TICKS, 5, 3, false);
}

Test(store_sessions, a_read_no_longer_waits_for_a_closed_session, .timeout = 30)
{
    expect_blocked_until(OTHER_CLOSES, 3, 1, false);
}

Test(store_sessions, a_worker_that_has_yet_to_open_is_waited_for, .timeout = 30)
{
    expect_blocked_until(OTHER_OPENS_AND_TICKS, 3, 2, false);
}

Test(store_sessions, a_barrier_waits_for_the_slowest, .timeout = 30)
{
    expect_blocked_until(OTHER_TICKS, 4, 0, true);
    expect_blocked_until(OTHER_CLOSES, 4, 0, true);
}

Test(store_sessions, a_read_within_its_staleness_does_not_wait, .timeout = 30)
{
    strads_store *store = open_store(0, (strads_table_spec){.name = "w",
                                                            .rows = 1,
                                                            .cols = 1,
                                                            .staleness = 3});
    strads_session *a = open_session(store, 0, 2);
    double cell;
    for (uint32_t clock = 0; clock <= 10; clock++) {
        uint32_t least = clock; /* worker 1 is at clock 0 */
        cr_assert_eq(strads_session_read_row(a, 0, 0, least, &cell), 0);
        cr_assert_eq(strads_session_read_row(a, 0, 0, STRADS_STALENESS_INFINITE,
                                             &cell),
                     0);
        if (clock <= 3)
            cr_assert_eq(strads_session_read_row(a, 0, 0,
                                                 STRADS_STALENESS_DEFAULT,
                                                 &cell),
                         0);
        cr_assert_eq(strads_session_clock(a), 0);
    }
    strads_session_close(a);
    strads_store_free(store);
}

/* ---- the staleness rule, by threads that count ------------------------- */

enum { CLOCKS = 400 };

/* Each thread adds 1 to its own row in each clock. A reader at clock c with
 * staleness s must see at least c - s in all rows, and exactly c in its own. */
struct counter {
    strads_session *session;
    uint32_t staleness;
    unsigned breaches, failures;
    double newest; /* the largest lead of a read over the rule */
};

static void check_rows(struct counter *counter, const double *rows)
{
    uint32_t me = strads_session_worker(counter->session);
    double c = (double)strads_session_now(counter->session);
    for (uint32_t v = 0; v < strads_session_workers(counter->session); v++) {
        bool infinite = counter->staleness == STRADS_STALENESS_INFINITE;
        double least = infinite ? 0 : c - counter->staleness;
        counter->breaches += v == me ? rows[v] != c : rows[v] < least;
        if (rows[v] - least > counter->newest)
            counter->newest = rows[v] - least;
    }
}

static void *count_clocks(void *arg)
{
    struct counter *counter = arg;
    static const uint32_t all[MOST_WORKERS] = {0, 1, 2, 3};
    double rows[MOST_WORKERS];
    uint32_t me = strads_session_worker(counter->session);
    uint32_t n = strads_session_workers(counter->session);
    for (uint64_t c = 0; c < CLOCKS; c++) {
        counter->failures +=
            strads_session_read_rows(counter->session, 0, n, all,
                                     counter->staleness, rows) != STRADS_OK;
        check_rows(counter, rows);
        for (uint64_t y = strads_random_bits(me, 1, c, 0) % 8; y < 4; y++)
            sched_yield();
        counter->failures +=
            strads_session_inc(counter->session, 0, me, 0, 1) != STRADS_OK;
        counter->failures +=
            strads_session_clock(counter->session) != STRADS_OK;
    }
    strads_session_close(counter->session);
    return NULL;
}

static void count_with(uint32_t workers, uint32_t staleness, bool sparse)
{
    strads_store *store = open_store(0, (strads_table_spec){.name = "count",
                                                            .rows = workers,
                                                            .cols = 1,
                                                            .sparse = sparse});
    struct counter counter[MOST_WORKERS] = {0};
    pthread_t thread[MOST_WORKERS];
    for (uint32_t w = 0; w < workers; w++) {
        counter[w].session = open_session(store, w, workers);
        counter[w].staleness = staleness;
    }
    for (uint32_t w = 0; w < workers; w++)
        cr_assert_eq(pthread_create(&thread[w], NULL, count_clocks,
                                    &counter[w]),
                     0);
    for (uint32_t w = 0; w < workers; w++) {
        pthread_join(thread[w], NULL);
        cr_assert_eq(counter[w].breaches, 0, "%u workers, staleness %u",
                     workers, staleness);
        cr_assert_eq(counter[w].failures, 0);
        /* At clock c no other thread can be beyond c + s + 1. */
        if (staleness != STRADS_STALENESS_INFINITE)
            cr_assert_leq(counter[w].newest, 2 * staleness + 1);
        double sum = 0;
        cr_assert_eq(strads_store_read(store, 0, 1, &w, &sum), 0);
        cr_assert_eq(sum, CLOCKS);
    }
    strads_store_free(store);
}

Test(store_sessions, no_read_is_staler_than_the_rule_allows, .timeout = 120)
{
    const uint32_t staleness[] = {0, 1, 3, STRADS_STALENESS_INFINITE};
    for (uint32_t workers = 1; workers <= MOST_WORKERS; workers *= 2)
        for (size_t s = 0; s < sizeof staleness / sizeof *staleness; s++)
            for (int sparse = 0; sparse < 2; sparse++)
                count_with(workers, staleness[s], sparse);
}
