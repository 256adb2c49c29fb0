/* Tables without sessions: commits, versions, types, limits, snapshots. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "strads/store.h"
#include "tests/expect.h"

#define MIB (UINT64_C(1) << 20)

static strads_store *open_store(uint64_t limit)
{
    strads_store *store = NULL;
    cr_assert_eq(strads_store_open(limit, &store), STRADS_OK);
    return store;
}

static uint32_t add_table(strads_store *store, strads_table_spec spec)
{
    uint32_t table = UINT32_MAX;
    expect_ok(strads_store_create(store, &spec, &table));
    return table;
}

/* A number of an f64 table. */
static double value_at(const strads_store *store, uint32_t table, uint32_t row,
                       uint32_t col)
{
    double cells[64];
    cr_assert_lt(col, 64);
    cr_assert_eq(strads_store_read(store, table, 1, &row, cells), STRADS_OK);
    return cells[col];
}

Test(store, all_values_start_at_zero)
{
    strads_store *store = open_store(0);
    for (int sparse = 0; sparse < 2; sparse++) {
        uint32_t t =
            add_table(store, (strads_table_spec){.name = sparse ? "s" : "d",
                                                 .rows = 3,
                                                 .cols = 2,
                                                 .sparse = sparse});
        double out[6] = {1, 1, 1, 1, 1, 1};
        cr_assert_eq(strads_store_read(store, t, 3, (uint32_t[]){0, 1, 2}, out),
                     0);
        for (int i = 0; i < 6; i++)
            cr_assert_eq(out[i], 0);
        cr_assert_eq(strads_store_version(store, t), 0);
    }
    strads_store_free(store);
}

Test(store, each_inc_is_one_commit_of_the_table)
{
    strads_store *store = open_store(0);
    uint32_t a =
        add_table(store,
                  (strads_table_spec){.name = "a", .rows = 9, .cols = 2});
    uint32_t b =
        add_table(store,
                  (strads_table_spec){.name = "b", .rows = 9, .cols = 1});
    double delta[] = {1, 2, 3, 4};
    uint64_t version = 0;
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert_eq(strads_store_inc(store, a, 2, (uint32_t[]){7, 2}, delta,
                                      &version),
                     STRADS_OK);
        cr_assert_eq(version, i);
    }
    cr_assert_eq(strads_store_version(store, a), 3);
    cr_assert_eq(strads_store_version(store, b), 0);
    cr_assert_eq(value_at(store, a, 7, 0), 3);
    cr_assert_eq(value_at(store, a, 7, 1), 6);
    cr_assert_eq(value_at(store, a, 2, 0), 9);
    cr_assert_eq(value_at(store, a, 2, 1), 12);
    cr_assert_eq(value_at(store, a, 3, 0), 0);
    strads_store_free(store);
}

Test(store, a_row_or_column_named_twice_gets_both)
{
    strads_store *store = open_store(0);
    for (int sparse = 0; sparse < 2; sparse++) {
        uint32_t t =
            add_table(store, (strads_table_spec){.name = sparse ? "s" : "d",
                                                 .rows = 4,
                                                 .cols = 3,
                                                 .sparse = sparse});
        double delta[] = {1, 0, 2, 10, 0, 20};
        cr_assert_eq(strads_store_inc(store, t, 2, (uint32_t[]){1, 1}, delta,
                                      NULL),
                     0);
        cr_assert_eq(strads_store_inc_sparse(store, t, 1, 3,
                                             (uint32_t[]){2, 1, 2},
                                             (double[]){100, 5, 200}, NULL),
                     0);
        cr_assert_eq(value_at(store, t, 1, 0), 11);
        cr_assert_eq(value_at(store, t, 1, 1), 5);
        cr_assert_eq(value_at(store, t, 1, 2), 322);
        cr_assert_eq(strads_store_version(store, t), 2);
    }
    strads_store_free(store);
}

Test(store, integers_wrap_around)
{
    strads_store *store = open_store(0);
    uint32_t narrow = add_table(store, (strads_table_spec){.name = "i32",
                                                           .type = STRADS_I32,
                                                           .rows = 1,
                                                           .cols = 2});
    uint32_t wide = add_table(store, (strads_table_spec){.name = "i64",
                                                         .type = STRADS_I64,
                                                         .rows = 1,
                                                         .cols = 2});
    int32_t i32[] = {INT32_MAX, -1};
    int64_t i64[] = {INT64_MAX, INT64_MIN};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(strads_store_inc(store, narrow, 1, (uint32_t[]){0}, i32,
                                      NULL),
                     0);
        cr_assert_eq(strads_store_inc(store, wide, 1, (uint32_t[]){0}, i64,
                                      NULL),
                     0);
    }
    cr_assert_eq(strads_store_read(store, narrow, 1, (uint32_t[]){0}, i32), 0);
    cr_assert_eq(strads_store_read(store, wide, 1, (uint32_t[]){0}, i64), 0);
    cr_assert_eq(i32[0], -2);
    cr_assert_eq(i32[1], -2);
    cr_assert_eq(i64[0], -2);
    cr_assert_eq(i64[1], 0);
    strads_store_free(store);
}

Test(store, floats_add_by_ieee_754)
{
    strads_store *store = open_store(0);
    uint32_t t = add_table(store, (strads_table_spec){.name = "f32",
                                                      .type = STRADS_F32,
                                                      .rows = 1,
                                                      .cols = 4});
    float first[] = {1, INFINITY, NAN, 3e38f};
    float second[] = {0x1p-24f, -INFINITY, 1, 3e38f};
    float sum[4];
    cr_assert_eq(strads_store_inc(store, t, 1, (uint32_t[]){0}, first, NULL),
                 0);
    cr_assert_eq(strads_store_inc(store, t, 1, (uint32_t[]){0}, second, NULL),
                 0);
    cr_assert_eq(strads_store_read(store, t, 1, (uint32_t[]){0}, sum), 0);
    cr_assert_eq(sum[0], 1);
    cr_assert(isnan(sum[1]) && isnan(sum[2]));
    cr_assert(isinf(sum[3]));
    strads_store_free(store);
}

Test(store, a_dense_table_lies_in_place_and_a_sparse_one_does_not)
{
    strads_store *store = open_store(0);
    uint32_t d =
        add_table(store,
                  (strads_table_spec){.name = "d", .rows = 5, .cols = 3});
    uint32_t s = add_table(store, (strads_table_spec){.name = "s",
                                                      .rows = 5,
                                                      .cols = 3,
                                                      .sparse = true});
    cr_assert_eq(strads_store_inc(store, d, 1, (uint32_t[]){4},
                                  (double[]){1, 2, 3}, NULL),
                 0);
    const double *cells = strads_store_dense(store, d);
    cr_assert_eq(cells[4 * 3 + 2], 3);
    cr_assert_eq((uintptr_t)cells % 64, 0);
    cr_assert_null(strads_store_dense(store, s));
    cr_assert_null(strads_store_dense(store, 99));
    strads_store_free(store);
}

Test(store, tables_are_found_by_name_and_keep_their_spec)
{
    strads_store *store = open_store(0);
    char name[] = "weights";
    uint32_t t = add_table(store, (strads_table_spec){.name = name,
                                                      .rows = 5,
                                                      .cols = 3,
                                                      .staleness = 7});
    name[0] = 'x';
    add_table(store, (strads_table_spec){.name = "bias", .rows = 1, .cols = 1});
    uint32_t found = 99;
    cr_assert_eq(strads_store_find(store, "weights", &found), STRADS_OK);
    cr_assert_eq(found, t);
    cr_assert_str_eq(strads_store_spec(store, t)->name, "weights");
    cr_assert_eq(strads_store_spec(store, t)->staleness, 7);
    cr_assert_null(strads_store_spec(store, 2));
    expect_error(strads_store_find(store, "wights", &found), STRADS_EINVAL,
                 "\"weights\", \"bias\"");
    strads_store_free(store);
}

Test(store, a_spec_that_makes_no_sense_is_refused)
{
    strads_store *store = open_store(0);
    uint32_t t = 77;
    char longest[65] = "";
    memset(longest, 'n', 64);
    struct {
        strads_table_spec spec;
        strads_err err;
        const char *words;
    } bad[] = {
        {{.rows = 1, .cols = 1}, STRADS_EINVAL, "name"},
        {{.name = "", .rows = 1, .cols = 1}, STRADS_EINVAL, "name"},
        {{.name = longest, .rows = 1, .cols = 1}, STRADS_EINVAL, "63"},
        {{.name = "a", .rows = 1}, STRADS_EINVAL, "columns"},
        {{.name = "a", .rows = 1, .cols = 1, .push_bits = 4},
         STRADS_EINVAL,
         "expected 8"},
        {{.name = "a",
          .type = STRADS_I32,
          .rows = 1,
          .cols = 1,
          .push_bits = 8},
         STRADS_EINVAL,
         "of integers"},
        {{.name = "a", .rows = 1, .cols = 1, .sparse = true, .push_bits = 8},
         STRADS_EINVAL,
         "sparse"},
        {{.name = "a", .type = (strads_scalar)9, .rows = 1, .cols = 1},
         STRADS_EINVAL,
         "type 9"},
        {{.name = "a", .rows = UINT64_C(1) << 32, .cols = 1},
         STRADS_ELIMIT,
         "4294967295"},
        {{.name = "a", .rows = UINT32_MAX, .cols = UINT32_MAX},
         STRADS_ELIMIT,
         "sparse"},
        {{.name = "taken", .rows = 1, .cols = 1}, STRADS_EINVAL, "number 0"},
    };
    add_table(store, (strads_table_spec){.name = "taken", .cols = 1});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_error(strads_store_create(store, &bad[i].spec, &t), bad[i].err,
                     bad[i].words);
    cr_assert_eq(t, 77);
    strads_store_free(store);
}

Test(store, missing_rows_are_named_and_nothing_changes)
{
    strads_store *store = open_store(0);
    uint32_t t =
        add_table(store,
                  (strads_table_spec){.name = "w", .rows = 5, .cols = 1});
    double delta[] = {1, 1};
    uint64_t version = 42;
    expect_error(strads_store_inc(store, t, 2, (uint32_t[]){0, 5}, delta,
                                  &version),
                 STRADS_EINVAL, "no row 5");
    expect_error(strads_store_inc_sparse(store, t, 0, 2, (uint32_t[]){0, 1},
                                         delta, &version),
                 STRADS_EINVAL, "no column 1");
    expect_error(strads_store_inc_sparse(store, t, UINT64_C(1) << 32, 1,
                                         (uint32_t[]){0}, delta, &version),
                 STRADS_EINVAL, "no row 4294967296");
    expect_error(strads_store_inc(store, 1, 1, (uint32_t[]){0}, delta, NULL),
                 STRADS_EINVAL, "no table 1");
    expect_error(strads_store_read(store, t, 1, (uint32_t[]){9}, delta),
                 STRADS_EINVAL, "no row 9");
    cr_assert_eq(version, 42);
    cr_assert_eq(strads_store_version(store, t), 0);
    cr_assert_eq(value_at(store, t, 0, 0), 0);
    strads_store_free(store);
}

Test(store, the_limit_is_checked_before_memory_is_taken)
{
    strads_store *store = open_store(MIB);
    uint32_t t = 77;
    strads_table_spec large = {.name = "large",
                               .rows = UINT32_MAX,
                               .cols = 1000};
    expect_error(strads_store_create(store, &large, &t), STRADS_ENOMEM,
                 "34359738360064 bytes");
    cr_assert_eq(strads_store_bytes(store), 0);
    add_table(store,
              (strads_table_spec){.name = "small", .rows = 1000, .cols = 100});
    cr_assert_geq(strads_store_bytes(store), 800000);
    large = (strads_table_spec){.name = "large", .rows = 1000, .cols = 100};
    expect_error(strads_store_create(store, &large, &t), STRADS_ENOMEM,
                 "in use");
    cr_assert_eq(t, 77);
    strads_store_free(store);
}

Test(store, a_sparse_inc_without_room_changes_no_value)
{
    strads_store *store = open_store(8192);
    strads_table_spec spec = {.name = "s",
                              .rows = 8,
                              .cols = 1000,
                              .sparse = true};
    uint32_t t = add_table(store, spec);
    static double ones[1000], before[1000], after[1000];
    uint32_t cols[1000];
    for (uint32_t j = 0; j < 1000; j++) {
        ones[j] = 1;
        cols[j] = j;
    }
    cr_assert_eq(strads_store_inc_sparse(store, t, 3, 20, cols, ones, NULL), 0);
    expect_error(strads_store_inc(store, t, 1, (uint32_t[]){3}, ones, NULL),
                 STRADS_ENOMEM, "8192");
    expect_error(strads_store_inc_sparse(store, t, 3, 1000, cols, ones, NULL),
                 STRADS_ENOMEM, "sparse row");
    cr_assert_eq(strads_store_version(store, t), 1);
    for (uint32_t j = 0; j < 20; j++)
        before[j] = 1;
    cr_assert_eq(strads_store_read(store, t, 1, (uint32_t[]){3}, after), 0);
    cr_assert_arr_eq(before, after, sizeof before);
    strads_store_free(store);
}

Test(store, a_snapshot_stays_as_it_was)
{
    strads_store *store = open_store(0);
    uint32_t t =
        add_table(store,
                  (strads_table_spec){.name = "w", .rows = 3, .cols = 2});
    uint64_t bytes = strads_store_bytes(store);
    double delta[] = {1, 2};
    strads_snapshot *snapshot = NULL;
    cr_assert_eq(strads_store_inc(store, t, 1, (uint32_t[]){1}, delta, NULL),
                 0);
    cr_assert_eq(strads_store_snapshot(store, t, &snapshot), STRADS_OK);
    cr_assert_gt(strads_store_bytes(store), bytes);
    cr_assert_eq(strads_store_inc(store, t, 1, (uint32_t[]){1}, delta, NULL),
                 0);
    uint32_t n = 0;
    const uint32_t *cols = &n;
    const void *values = NULL;
    cr_assert_eq(strads_snapshot_version(snapshot), 1);
    cr_assert_eq(strads_snapshot_row(snapshot, 1, &n, &cols, &values), 0);
    cr_assert_eq(n, 2);
    cr_assert_null(cols);
    cr_assert_arr_eq(values, delta, sizeof delta);
    expect_error(strads_snapshot_row(snapshot, 3, &n, &cols, &values),
                 STRADS_EINVAL, "no row 3");
    strads_snapshot_free(snapshot);
    cr_assert_eq(strads_store_bytes(store), bytes);
    strads_store_free(store);
}

Test(store, a_sparse_snapshot_has_its_columns_ascending)
{
    strads_store *store = open_store(0);
    strads_table_spec spec = {.name = "s",
                              .type = STRADS_I32,
                              .rows = 2,
                              .cols = 1000000,
                              .sparse = true};
    uint32_t t = add_table(store, spec);
    for (uint32_t k = 0; k < 1000; k++) {
        uint32_t col = k * 7919 % 1000 * 1000;
        int32_t value = (int32_t)col + 1;
        cr_assert_eq(strads_store_inc_sparse(store, t, 1, 1, &col, &value,
                                             NULL),
                     0);
    }
    strads_snapshot *snapshot = NULL;
    uint32_t n = 0;
    const uint32_t *cols = NULL;
    const void *values = NULL;
    cr_assert_eq(strads_store_snapshot(store, t, &snapshot), STRADS_OK);
    cr_assert_eq(strads_snapshot_row(snapshot, 0, &n, &cols, &values), 0);
    cr_assert_eq(n, 0);
    cr_assert_eq(strads_snapshot_row(snapshot, 1, &n, &cols, &values), 0);
    cr_assert_eq(n, 1000);
    for (uint32_t k = 0; k < n; k++) {
        cr_assert_eq(cols[k], k * 1000);
        cr_assert_eq(((const int32_t *)values)[k], (int32_t)cols[k] + 1);
    }
    strads_snapshot_free(snapshot);
    strads_store_free(store);
}

Test(store, a_table_without_rows_is_a_table)
{
    strads_store *store = open_store(0);
    uint32_t t = add_table(store, (strads_table_spec){.name = "e", .cols = 4});
    strads_snapshot *snapshot = NULL;
    uint64_t version = 0;
    cr_assert_eq(strads_store_inc(store, t, 0, NULL, NULL, &version), 0);
    cr_assert_eq(version, 1);
    cr_assert_eq(strads_store_snapshot(store, t, &snapshot), STRADS_OK);
    strads_snapshot_free(snapshot);
    strads_snapshot_free(NULL);
    strads_store_free(store);
    strads_store_free(NULL);
}
