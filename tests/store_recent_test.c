/* Rows that a session keeps: a kept row may only be returned if a new
 * request would give the same answer. Behind the session is either a table with
 * one number for all rows, which counts requests, or a store. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/store/session.h"

enum { COLS = 4, WIDE = 1 + STI_RECENT_BYTES / 8 };

typedef struct source {
    strads_table_spec tables[2];
    sti_change_count changes;
    uint32_t asked;
    double value;       /* of all cells */
    bool moves;         /* changes during a request, after the answer */
    strads_err refuses; /* error to return */
} source;

static uint32_t count_tables(const void *behind)
{
    (void)behind;
    return 2;
}

static const strads_table_spec *spec_of(const void *behind, uint32_t table)
{
    return table < 2 ? &((const source *)behind)->tables[table] : NULL;
}

static strads_err nothing(strads_session *session)
{
    (void)session;
    return STRADS_OK;
}

static strads_err answer(strads_session *session, const sti_session_read *read)
{
    source *s = session->behind;
    double *out = read->out;
    s->asked++;
    for (uint32_t k = 0; k < read->n * s->tables[read->table].cols; k++)
        out[k] = s->value;
    for (uint32_t k = 0; k < read->n; k++)
        sti_pending_apply(&session->pending[read->table], read->rows[k],
                          out + k * s->tables[read->table].cols);
    if (s->moves) {
        s->value++;
        s->changes++;
    }
    return s->refuses ? strads_fail(s->refuses, "refused") : STRADS_OK;
}

static const sti_change_count *changes_of(const void *behind, uint32_t table)
{
    (void)table;
    return &((const source *)behind)->changes;
}

static strads_err push(strads_session *session, sti_push_end end,
                       uint64_t clock, bool more)
{
    (void)session, (void)end, (void)clock, (void)more;
    return STRADS_OK;
}

static uint64_t now_of(const void *behind)
{
    (void)behind;
    return 0;
}

static const sti_session_ops counted = {
    .tables = count_tables,
    .spec = spec_of,
    .join = nothing,
    .read = answer,
    .changes = changes_of,
    .push = push,
    .barrier = nothing,
    .now = now_of,
};

static strads_session *open_session(source *s)
{
    strads_session *session;
    *s = (source){.tables = {{.name = "narrow", .rows = 1000, .cols = COLS},
                             {.name = "wide", .rows = 4, .cols = WIDE}}};
    cr_assert(!sti_session_open(&counted, s, 0, 1, &session));
    return session;
}

/* The value of a row, the same in all columns except perhaps the first. */
static double read_last(strads_session *session, uint64_t row,
                        uint32_t staleness)
{
    double out[COLS];
    cr_assert(!strads_session_read_row(session, 0, row, staleness, out), "%s",
              strads_error_text());
    return out[COLS - 1];
}

Test(store_recent, a_row_read_twice_in_a_clock_is_requested_once)
{
    source s;
    strads_session *session = open_session(&s);
    s.value = 7;
    for (int k = 0; k < 10; k++)
        for (uint64_t row = 1; row <= STI_RECENT_ROWS; row++)
            cr_assert_eq(read_last(session, row, 1), 7);
    cr_assert_eq(s.asked, 2 * STI_RECENT_ROWS); /* the second answer is kept */
    strads_session_close(session);
}

Test(store_recent, a_changed_row_is_requested_again)
{
    source s;
    strads_session *session = open_session(&s);
    for (int k = 0; k < 5; k++) {
        s.value = k;
        s.changes++;
        for (int again = 0; again < 3; again++)
            cr_assert_eq(read_last(session, 5, STRADS_STALENESS_INFINITE), k);
    }
    strads_session_close(session);
}

/* An answer may be older than a change that is reported together with it. */
Test(store_recent, a_row_that_changes_while_it_is_read_is_requested_again)
{
    source s;
    strads_session *session = open_session(&s);
    s.moves = true;
    for (int k = 0; k < 6; k++)
        cr_assert_eq(read_last(session, 5, 0), k);
    strads_session_close(session);
}

Test(store_recent, another_clock_or_staleness_is_another_question)
{
    source s;
    strads_session *session = open_session(&s);
    for (int k = 0; k < 3; k++)
        (void)read_last(session, 5, 2);
    cr_assert_eq(s.asked, 2);
    (void)read_last(session, 5, 1);
    cr_assert_eq(s.asked, 3);
    (void)read_last(session, 5, 1);
    cr_assert_eq(s.asked, 3);
    cr_assert(!strads_session_clock(session));
    (void)read_last(session, 5, 1);
    cr_assert_eq(s.asked, 4);
    strads_session_close(session);
}

Test(store_recent, an_own_increment_is_seen_at_once)
{
    source s;
    strads_session *session = open_session(&s);
    const double ones[COLS] = {1, 1, 1, 1};
    for (int k = 0; k < 4; k++) {
        for (int again = 0; again < 3; again++)
            cr_assert_eq(read_last(session, 5, 0), 2 * k);
        cr_assert(!strads_session_inc(session, 0, 5, COLS - 1, 1));
        cr_assert_eq(read_last(session, 5, 0), 2 * k + 1);
        cr_assert_eq(read_last(session, 5, 0), 2 * k + 1);
        cr_assert_eq(read_last(session, 5, 0), 2 * k + 1);
        cr_assert(!strads_session_inc_row(session, 0, 5, ones));
    }
    strads_session_close(session);
}

Test(store_recent, rows_that_share_a_place_are_kept_apart)
{
    source s;
    strads_session *session = open_session(&s);
    const uint64_t far = 5 + STI_RECENT_ROWS;
    cr_assert(!strads_session_inc(session, 0, far, COLS - 1, 3));
    for (int k = 0; k < 4; k++) {
        for (int again = 0; again < 3; again++)
            cr_assert_eq(read_last(session, 5, 0), 0);
        for (int again = 0; again < 3; again++)
            cr_assert_eq(read_last(session, far, 0), 3);
    }
    strads_session_close(session);
}

Test(store_recent, wide_rows_are_asked_for_each_time)
{
    source s;
    double out[WIDE];
    strads_session *session = open_session(&s);
    for (uint32_t k = 1; k < 5; k++) {
        cr_assert(!strads_session_read_row(session, 1, 2, 0, out));
        cr_assert_eq(s.asked, k);
    }
    strads_session_close(session);
}

Test(store_recent, a_refused_row_is_not_kept)
{
    source s;
    double out[COLS];
    strads_session *session = open_session(&s);
    s.refuses = STRADS_EPEER;
    for (uint32_t k = 1; k < 5; k++) {
        cr_assert_eq(strads_session_read_row(session, 0, 5, 0, out),
                     STRADS_EPEER);
        cr_assert_eq(s.asked, k);
    }
    cr_assert_eq(strads_session_read_row(session, 0, 1000, 0, out),
                 STRADS_EINVAL);
    cr_assert_eq(strads_session_read_row(session, 2, 0, 0, out), STRADS_EINVAL);
    strads_session_close(session);
}

/* Other sessions commit to the table directly; a reader does not wait for a
 * clock. */
Test(store_recent, in_one_process_commits_of_others_are_seen_at_once)
{
    strads_store *store;
    strads_session *a, *b;
    uint32_t table;
    const double one[1] = {1};
    double sum = 0, out[1];
    const strads_table_spec spec = {.name = "t", .rows = 100, .cols = 1};
    cr_assert(!strads_store_open(0, &store));
    cr_assert(!strads_store_create(store, &spec, &table));
    cr_assert(!strads_session_open(store, 0, 2, &a));
    cr_assert(!strads_session_open(store, 1, 2, &b));
    for (int k = 0; k < 10; k++) {
        for (int again = 0; again < 3; again++) {
            cr_assert(!strads_session_read_row(a, table, 9, 3, out));
            cr_assert_eq(out[0], sum);
        }
        if (k % 2) {
            cr_assert(!strads_session_inc(b, table, 9, 0, 1));
            cr_assert(!strads_session_flush(b));
        } else {
            cr_assert(
                !strads_store_inc(store, table, 1, (uint32_t[]){9}, one, NULL));
        }
        sum++;
    }
    strads_session_close(a);
    strads_session_close(b);
    strads_store_free(store);
}
