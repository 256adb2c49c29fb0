/* The store against a plain array: long random sequences of commits, of
 * every type, dense and sparse, directly and through a session. All numbers are
 * small integers, so that every type must agree exactly. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "strads/policy.h"
#include "strads/store.h"

enum { ROWS = 40, COLS = 37, STEPS = 4000, BATCH = 12 };

struct model {
    strads_store *store;
    strads_session *session;
    uint32_t table;
    strads_scalar type;
    uint64_t seed, draws;
    uint64_t version;
    double cells[ROWS][COLS]; /* the session's view */
    double other[ROWS][COLS]; /* unflushed changes */
};

static uint32_t draw(struct model *m, uint32_t below)
{
    return (uint32_t)(strads_random_bits(m->seed, 0, 0, m->draws++) % below);
}

static void put(const struct model *m, void *array, size_t i, int number)
{
    switch (m->type) {
    case STRADS_F64:
        ((double *)array)[i] = number;
        break;
    case STRADS_F32:
        ((float *)array)[i] = (float)number;
        break;
    case STRADS_I32:
        ((int32_t *)array)[i] = number;
        break;
    case STRADS_I64:
        ((int64_t *)array)[i] = number;
        break;
    }
}

static double get(const struct model *m, const void *array, size_t i)
{
    switch (m->type) {
    case STRADS_F64:
        return ((const double *)array)[i];
    case STRADS_F32:
        return (double)((const float *)array)[i];
    case STRADS_I32:
        return ((const int32_t *)array)[i];
    case STRADS_I64:
        return (double)((const int64_t *)array)[i];
    }
    return 0;
}

/* Mostly 0, like the deltas of sparse rows. */
static int draw_delta(struct model *m)
{
    return draw(m, 3) ? 0 : (int)draw(m, 9) - 4;
}

static void inc_rows(struct model *m)
{
    int64_t delta[BATCH * COLS];
    uint32_t rows[BATCH], n = draw(m, BATCH + 1);
    for (uint32_t k = 0; k < n; k++) {
        rows[k] = draw(m, ROWS);
        for (uint32_t j = 0; j < COLS; j++) {
            int d = draw_delta(m);
            put(m, delta, k * COLS + j, d);
            m->cells[rows[k]][j] += d;
        }
    }
    uint64_t version = 0;
    cr_assert_eq(strads_store_inc(m->store, m->table, n, rows, delta, &version),
                 0);
    cr_assert_eq(version, ++m->version);
}

static void inc_columns(struct model *m)
{
    int64_t delta[BATCH];
    uint32_t cols[BATCH], n = draw(m, BATCH + 1), row = draw(m, ROWS);
    for (uint32_t k = 0; k < n; k++) {
        int d = (int)draw(m, 9) - 4;
        cols[k] = draw(m, COLS);
        put(m, delta, k, d);
        m->cells[row][cols[k]] += d;
    }
    cr_assert_eq(strads_store_inc_sparse(m->store, m->table, row, n, cols,
                                         delta, NULL),
                 0);
    m->version++;
}

static void inc_session(struct model *m)
{
    int64_t delta[COLS];
    uint32_t row = draw(m, ROWS), col = draw(m, COLS);
    if (draw(m, 2)) {
        cr_assert_eq(strads_session_inc(m->session, m->table, row, col, 3), 0);
        m->cells[row][col] += 3;
        m->other[row][col] += 3;
        return;
    }
    for (uint32_t j = 0; j < COLS; j++) {
        int d = draw_delta(m);
        put(m, delta, j, d);
        m->cells[row][j] += d;
        m->other[row][j] += d;
    }
    cr_assert_eq(strads_session_inc_row(m->session, m->table, row, delta), 0);
}

static void clock_session(struct model *m)
{
    cr_assert_eq(strads_session_clock(m->session), 0);
    memset(m->other, 0, sizeof m->other);
    m->version = strads_store_version(m->store, m->table);
}

static void compare_rows(struct model *m)
{
    int64_t seen[BATCH * COLS], stored[BATCH * COLS];
    uint32_t rows[BATCH], n = draw(m, BATCH + 1);
    for (uint32_t k = 0; k < n; k++)
        rows[k] = draw(m, ROWS);
    cr_assert_eq(strads_session_read_rows(m->session, m->table, n, rows, 0,
                                          seen),
                 0);
    cr_assert_eq(strads_store_read(m->store, m->table, n, rows, stored), 0);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < COLS; j++) {
            double here = m->cells[rows[k]][j];
            cr_assert_eq(get(m, seen, k * COLS + j), here);
            cr_assert_eq(get(m, stored, k * COLS + j),
                         here - m->other[rows[k]][j]);
        }
}

static void compare_snapshot(struct model *m)
{
    strads_snapshot *snapshot = NULL;
    cr_assert_eq(strads_store_snapshot(m->store, m->table, &snapshot), 0);
    cr_assert_eq(strads_snapshot_version(snapshot), m->version);
    for (uint32_t r = 0; r < ROWS; r++) {
        double row[COLS] = {0};
        uint32_t n = 0;
        const uint32_t *cols = NULL;
        const void *values = NULL;
        cr_assert_eq(strads_snapshot_row(snapshot, r, &n, &cols, &values), 0);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert(!cols || k == 0 || cols[k - 1] < cols[k]);
            row[cols ? cols[k] : k] = get(m, values, k);
        }
        for (uint32_t j = 0; j < COLS; j++)
            cr_assert_eq(row[j], m->cells[r][j] - m->other[r][j]);
    }
    strads_snapshot_free(snapshot);
}

static void run_model(strads_scalar type, bool sparse)
{
    struct model *m = calloc(1, sizeof *m);
    cr_assert_not_null(m);
    m->type = type;
    m->seed = (uint64_t)type * 2 + sparse;
    cr_assert_eq(strads_store_open(0, &m->store), 0);
    strads_table_spec spec = {.name = "model",
                              .type = type,
                              .rows = ROWS,
                              .cols = COLS,
                              .sparse = sparse};
    cr_assert_eq(strads_store_create(m->store, &spec, &m->table), 0);
    cr_assert_eq(strads_session_open(m->store, 0, 1, &m->session), 0);
    void (*const act[])(
        struct model *) = {inc_rows,      inc_columns,  inc_session,
                           inc_session,   inc_session,  compare_rows,
                           clock_session, compare_rows, compare_rows};
    for (int step = 0; step < STEPS; step++) {
        act[draw(m, sizeof act / sizeof *act)](m);
        if (step % 500 == 499)
            compare_snapshot(m);
    }
    strads_session_close(m->session);
    memset(m->other, 0, sizeof m->other);
    m->version = strads_store_version(m->store, m->table);
    compare_snapshot(m);
    strads_store_free(m->store);
    free(m);
}

Test(store, dense_tables_equal_a_naive_array)
{
    for (int type = STRADS_F64; type <= STRADS_I64; type++)
        run_model((strads_scalar)type, false);
}

Test(store, sparse_tables_equal_a_naive_array)
{
    for (int type = STRADS_F64; type <= STRADS_I64; type++)
        run_model((strads_scalar)type, true);
}
