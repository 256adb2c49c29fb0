/* Arrays in memory of a family of shapes, orders, types and densities, around
 * the blocks that the engine copies by: they become the same data set as their
 * entries, without an index if each line is full; and wrong ones are refused
 * with the same sentence wherever the error is. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "strads/engine.h"
#include "strads/glm.h"
#include "strads/pack.h"
#include "tests/expect.h"

TestSuite(data_handover, .init = oracle_enter, .fini = oracle_leave);

/* A dense matrix in memory; zeros where the oracle has no entry. */
static void *dense_of(const oracle *m, bool by_row, strads_scalar values)
{
    double *f64 = calloc(m->rows * m->cols + 1, sizeof *f64);
    float *f32 = (float *)f64;
    for (uint64_t e = 0; e < m->nnz; e++) {
        const oracle_entry *x = &m->entry[e];
        const uint64_t at =
            by_row ? x->row * m->cols + x->col : x->col * m->rows + x->row;
        if (values == STRADS_F32)
            f32[at] = (float)x->value;
        else
            f64[at] = x->value;
    }
    return f64;
}

static strads_arrays arrays_of(const oracle *m, bool by_row,
                               strads_scalar values, const void *value)
{
    return (strads_arrays){.size = sizeof(strads_arrays),
                           .rows = m->rows,
                           .cols = m->cols,
                           .by_row = by_row,
                           .value = value,
                           .values = values,
                           .label = m->label};
}

static strads_data *made(const strads_arrays *a, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    expect_ok(strads_data_from_arrays(a, &o, &data));
    return data;
}

static oracle drawn(uint64_t rows, uint64_t cols, double density, unsigned seed)
{
    oracle m = oracle_random((oracle_shape){.rows = rows,
                                            .cols = cols,
                                            .density = density,
                                            .spread = 1,
                                            .seed = seed});
    m.cols = cols;
    for (uint64_t e = 0; e < m.nnz; e++) { /* never 0 */
        const double value = m.entry[e].value + 1000;
        m.entry[e].value = value == 0 ? 1 : (double)(float)value;
    }
    return m;
}

static const struct {
    uint64_t rows, cols;
} shapes[] = {{1, 1},   {1, 130},  {7, 3},    {127, 9},
              {128, 8}, {129, 17}, {300, 40}, {257, 129}};
static const double densities[] = {.05, .5, .98, 2}; /* the last one: full */

Test(data_handover, gives_dense_arrays_as_their_entries)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t d = 0; d < 4; d++) {
            oracle m = drawn(shapes[s].rows, shapes[s].cols, densities[d],
                             (unsigned)(4 * s + d));
            for (uint32_t how = 0; how < 32; how++) {
                const bool by_row = how & 1;
                const strads_scalar type = how & 2 ? STRADS_F32 : STRADS_F64;
                void *value = dense_of(&m, by_row, type);
                strads_arrays a = arrays_of(&m, by_row, type, value);
                a.borrow = how & 4;
                const strads_data_options o = {
                    .values = how & 8 ? STRADS_F32 : STRADS_F64,
                    .layout =
                        how & 16 ? STRADS_LAYOUT_BOTH : STRADS_LAYOUT_COLS,
                    .split = (strads_split)(s % 3),
                    .min_cols = m.cols + (d == 1 ? 3 : 0),
                    .partitions = 1 + (uint32_t)(how / 4 % 2) * 2};
                strads_data *data = made(&a, o);
                oracle_expect_data(&m, data, o, true);
                strads_data_free(data);
                free(value);
            }
            oracle_free(&m);
        }
}

static bool is_full(const strads_data *data)
{
    return strads_data_nnz(data) ==
           strads_data_rows(data) * strads_data_cols(data);
}

/* The lines of x are those of `with`; its indices are left out if `full`. */
static void expect_lines(const strads_sparse *x, const strads_sparse *with,
                         bool full)
{
    cr_assert_eq(x->lines, with->lines);
    cr_assert_eq(x->nnz, with->nnz);
    cr_assert_eq(!x->start, !with->start);
    if (!x->start)
        return;
    cr_assert_eq(x->index == NULL, full);
    for (uint64_t k = 0; k < x->lines; k++) {
        cr_assert_eq(x->start[k + 1], with->start[k + 1]);
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++) {
            cr_assert_eq(strads_sparse_value(x, e),
                         strads_sparse_value(with, e));
            cr_assert_eq(x->index ? x->index[e] : e - x->start[k],
                         with->index[e]);
        }
    }
}

Test(data_handover, leaves_out_the_indices_of_full_matrices_where_allowed)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t how = 0; how < 64; how++) {
            oracle m = drawn(shapes[s].rows, shapes[s].cols,
                             densities[2 + how % 2], (unsigned)s);
            const bool by_row = how & 2;
            void *value = dense_of(&m, by_row, STRADS_F64);
            strads_arrays a = arrays_of(&m, by_row, STRADS_F64, value);
            strads_data_options o = {.layout = how & 4 ? STRADS_LAYOUT_ROWS
                                                       : STRADS_LAYOUT_COLS,
                                     .split = (strads_split)(how / 16 % 3),
                                     .partitions = how & 8 ? 3 : 1};
            strads_data *with = made(&a, o);
            o.unindexed = true;
            a.borrow = true;
            strads_data *data = made(&a, o);
            for (uint32_t p = 0; p < o.partitions; p++) {
                const strads_share *x = strads_data_share(data, p);
                const strads_share *w = strads_data_share(with, p);
                expect_lines(&x->by_col, &w->by_col, is_full(data));
                expect_lines(&x->by_row, &w->by_row, is_full(data));
            }
            const uint64_t sum = strads_data_checksum(with);
            cr_assert_eq(strads_data_checksum(data), sum);
            strads_data_spend(with);
            for (uint32_t p = 0; p < o.partitions; p++) {
                const strads_share *w = strads_data_share(with, p);
                strads_share_spend_cols(w, 0, w->by_col.lines);
            }
            cr_assert_eq(strads_data_checksum(with), sum);
            strads_data_free(data);
            strads_data_free(with);
            free(value);
            oracle_free(&m);
        }
}

Test(data_handover, uses_a_borrowed_full_matrix_in_place)
{
    oracle m = drawn(3000, 50, 2, 1);
    for (int by_row = 0; by_row < 2; by_row++) {
        double *value = aligned_alloc(4096, 294 * 4096); /* with a spare page */
        void *values = dense_of(&m, by_row, STRADS_F64);
        memcpy(value, values, m.nnz * sizeof *value);
        strads_arrays a = arrays_of(&m, by_row, STRADS_F64, value);
        a.borrow = true;
        const strads_data_options o = {.unindexed = true,
                                       .layout = by_row ? STRADS_LAYOUT_ROWS
                                                        : STRADS_LAYOUT_COLS};
        strads_data *data = made(&a, o);
        const strads_share *share = strads_data_share(data, 0);
        cr_assert_eq(by_row ? share->by_row.f64 : share->by_col.f64, value);
        cr_assert_lt(strads_data_bytes(data), 20 * (3000 + 50) + 1000);
        strads_data_free(data);
        free(values);
        free(value);
    }
    oracle_free(&m);
}

/* ---- errors -------------------------------------------------------------- */

Test(data_handover, refuses_a_wrong_dense_value_wherever_it_is)
{
    static const double wrong[] = {(double)NAN, (double)INFINITY,
                                   -(double)INFINITY};
    char text[80];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t draw = 0; draw < 24; draw++) {
            oracle m = drawn(shapes[s].rows, shapes[s].cols, .9, draw);
            const bool by_row = draw & 1;
            const strads_scalar type = draw & 2 ? STRADS_F32 : STRADS_F64;
            void *value = dense_of(&m, by_row, type);
            const uint64_t row = draw * 7919U % m.rows;
            const uint64_t col = draw * 104729U % m.cols;
            const uint64_t at =
                by_row ? row * m.cols + col : col * m.rows + row;
            const double put = wrong[draw % 3];
            if (type == STRADS_F32)
                ((float *)value)[at] = (float)put;
            else
                ((double *)value)[at] = put;
            const strads_arrays a = arrays_of(&m, by_row, type, value);
            strads_data *data = NULL;
            (void)
                snprintf(text, sizeof text,
                         "%s %llu, %s %llu: found %g, expected a finite value",
                         by_row ? "row" : "column",
                         (unsigned long long)(by_row ? row : col),
                         by_row ? "column" : "row",
                         (unsigned long long)(by_row ? col : row), put);
            expect_error(strads_data_from_arrays(&a, NULL, &data),
                         STRADS_EINVAL, text);
            if (type == STRADS_F64) {
                const strads_data_options f32 = {.size = sizeof f32,
                                                 .values = STRADS_F32};
                ((double *)value)[at] = -1e39;
                expect_error(strads_data_from_arrays(&a, &f32, &data),
                             STRADS_ELIMIT,
                             "value -1e+39 does not fit in 32 bits; use f64");
            }
            cr_assert_null(data);
            free(value);
            oracle_free(&m);
        }
}

enum { LINES = 40, LONG = 29, MINORS = 1000 };

/* LINES lines, of 0 to LONG entries; returns their number. */
static uint64_t fill_lines(uint64_t *start, uint64_t *index, double *value)
{
    uint64_t n = 0;
    for (uint64_t k = 0; k < LINES; k++) {
        for (uint64_t e = 0; e < k * 7 % (LONG + 1); e++) {
            index[n] = k % 3 + e * 31;
            value[n++] = (double)(e + 1);
        }
        start[k + 1] = n;
    }
    return n;
}

static uint64_t line_at(const uint64_t *start, uint64_t at)
{
    uint64_t k = 0;
    while (start[k + 1] <= at)
        k++;
    return k;
}

/* Both widths of indices: 32 bits read a negative one as a large one. */
static strads_err hand_over(const uint64_t *start, const uint64_t *index,
                            const double *value, uint64_t n, bool narrow)
{
    uint32_t short_index[LINES * LONG];
    for (uint64_t e = 0; e < n; e++)
        short_index[e] = (uint32_t)index[e];
    const strads_arrays a = {.size = sizeof a,
                             .rows = LINES,
                             .cols = MINORS,
                             .by_row = true,
                             .borrow = true,
                             .start = start,
                             .starts = STRADS_I64,
                             .index = narrow ? (const void *)short_index
                                             : (const void *)index,
                             .indices = narrow ? STRADS_I32 : STRADS_I64,
                             .value = value};
    const strads_data_options o = {.size = sizeof o,
                                   .layout = STRADS_LAYOUT_ROWS};
    strads_data *data = NULL;
    const strads_err err = strads_data_from_arrays(&a, &o, &data);
    strads_data_free(data);
    return err;
}

Test(data_handover, refuses_a_wrong_index_wherever_it_is)
{
    uint64_t start[LINES + 1] = {0}, index[LINES * LONG];
    double value[LINES * LONG];
    char text[100];
    const uint64_t n = fill_lines(start, index, value);
    for (int narrow = 0; narrow < 2; narrow++) {
        expect_ok(hand_over(start, index, value, n, narrow));
        for (uint64_t at = 0; at < n; at += 1 + at % 5) {
            const uint64_t kept = index[at], k = line_at(start, at);
            const uint64_t large[] = {MINORS, UINT64_MAX,
                                      (uint64_t)UINT32_MAX + 1 + kept};
            for (int w = 0; w < 3 - narrow; w++) {
                index[at] = large[w];
                (void)snprintf(text, sizeof text,
                               "row %llu: found column %llu, expected below %d",
                               (unsigned long long)k,
                               (unsigned long long)(narrow ? (uint32_t)large[w]
                                                           : large[w]),
                               MINORS);
                expect_error(hand_over(start, index, value, n, narrow),
                             STRADS_EINVAL, text);
            }
            index[at] = kept;
            if (at == start[k])
                continue;
            for (uint64_t less = 0; less < 2; less++) {
                index[at] = index[at - 1] - (index[at - 1] > 0 ? less : 0);
                (void)snprintf(text, sizeof text,
                               "row %llu: found column %llu after column %llu, "
                               "expected ascending columns, none twice",
                               (unsigned long long)k,
                               (unsigned long long)index[at],
                               (unsigned long long)index[at - 1]);
                expect_error(hand_over(start, index, value, n, narrow),
                             STRADS_EINVAL, text);
            }
            index[at] = kept;
            value[at] = (double)NAN;
            (void)snprintf(text, sizeof text, "row %llu, column %llu: found ",
                           (unsigned long long)k, (unsigned long long)kept);
            expect_error(hand_over(start, index, value, n, narrow),
                         STRADS_EINVAL, text);
            value[at] = 1;
        }
    }
}

/* ---- programs ------------------------------------------------------------ */

static strads_result *fit(const strads_data *data)
{
    const strads_glm_options lasso = {.lambda_ratio = .05, .intercept = true};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 1,
                                          .partitions = 1,
                                          .deterministic = true,
                                          .tolerance = 1e-8};
    strads_result *result = NULL;
    expect_ok(strads_run(&strads_program_glm, &lasso, data, &engine, &result));
    return result;
}

Test(data_handover, gives_the_same_bits_of_a_fit_without_indices)
{
    for (uint64_t rows = 20; rows < 400; rows = rows * 2 + 1) {
        oracle m = drawn(rows, 30, 2, (unsigned)rows);
        void *value = dense_of(&m, false, STRADS_F64);
        strads_arrays a = arrays_of(&m, false, STRADS_F64, value);
        strads_data *with = made(&a, (strads_data_options){0});
        a.borrow = true;
        strads_data *without =
            made(&a, (strads_data_options){.unindexed = true});
        cr_assert_null(strads_data_share(without, 0)->by_col.index);
        strads_result *one = fit(with), *two = fit(without);
        uint64_t n = 0, n_two = 0;
        uint32_t width;
        const double *w = strads_result_values(one, &n, &width);
        const double *w_two = strads_result_values(two, &n_two, &width);
        cr_assert_eq(n, n_two);
        cr_assert_eq(memcmp(w, w_two, n * sizeof *w), 0);
        strads_result_free(one);
        strads_result_free(two);
        strads_data_free(with);
        strads_data_free(without);
        free(value);
        oracle_free(&m);
    }
}

Test(data_handover, refuses_a_program_that_needs_indices)
{
    oracle m = drawn(20, 5, 2, 3);
    void *value = dense_of(&m, false, STRADS_F64);
    const strads_arrays a = arrays_of(&m, false, STRADS_F64, value);
    strads_data *data = made(&a, (strads_data_options){.unindexed = true});
    strads_program program = strads_program_glm;
    const strads_glm_options lasso = {.lambda_ratio = .1};
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 1,
                                          .partitions = 1};
    strads_result *result = NULL;
    program.unindexed = false;
    expect_error(strads_run(&program, &lasso, data, &engine, &result),
                 STRADS_EINVAL, "the data was read without indices");
    strads_data_free(data);
    free(value);
    oracle_free(&m);
}

Test(data_handover, packs_a_matrix_without_indices)
{
    oracle m = drawn(150, 12, 2, 4);
    void *value = dense_of(&m, true, STRADS_F64);
    const strads_arrays a = arrays_of(&m, true, STRADS_F64, value);
    strads_data *data = made(&a, (strads_data_options){.unindexed = true});
    const char *path = oracle_path("full.pack");
    strads_pack_result result = {.size = sizeof result};
    expect_ok(strads_pack_write(data, path, NULL, &result));
    oracle_expect(&m, path, (strads_data_options){0}, true);
    strads_data_free(data);
    free(value);
    oracle_free(&m);
}
