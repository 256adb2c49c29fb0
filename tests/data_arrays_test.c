/* Arrays in memory, of every order and type, copied and borrowed, give the
 * same data set as a file with the same matrix. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_arrays, .init = oracle_enter, .fini = oracle_leave);

enum { SPARE = 64 };

/* One matrix in arrays of the requested types. */
typedef struct held {
    strads_arrays a;
    void *start, *index, *value;
} held;

static void put(void *array, bool wide, uint64_t at, uint64_t number)
{
    if (wide)
        ((int64_t *)array)[at] = (int64_t)number;
    else
        ((int32_t *)array)[at] = (int32_t)number;
}

static void put_value(const held *h, uint64_t at, double value)
{
    if (h->a.values == STRADS_F32)
        ((float *)h->value)[at] = (float)value;
    else
        ((double *)h->value)[at] = value;
}

static held hold(const oracle *m, strads_arrays how, bool dense)
{
    held h = {.a = how};
    const uint64_t lines = how.by_row ? m->rows : m->cols;
    const bool wide_start = how.starts == STRADS_I64;
    const bool wide_index = how.indices == STRADS_I64;
    uint64_t at = 0;
    h.a.rows = m->rows;
    h.a.cols = m->cols;
    h.a.label = m->label;
    h.start = calloc(lines + 1, 8);
    h.index = aligned_alloc(4096, (m->nnz * 8 / 4096 + 2) * 4096);
    h.value = calloc(dense ? m->rows * m->cols : m->nnz + SPARE, 8);
    for (uint64_t k = 0; !dense && k < lines; k++) {
        for (uint64_t e = 0; e < m->nnz; e++) {
            const oracle_entry *x = &m->entry[e];
            if ((how.by_row ? x->row : x->col) != k)
                continue;
            put(h.index, wide_index, at, how.by_row ? x->col : x->row);
            put_value(&h, at++, x->value);
        }
        put(h.start, wide_start, k + 1, at);
    }
    for (uint64_t e = 0; dense && e < m->nnz; e++) {
        const oracle_entry *x = &m->entry[e];
        put_value(&h,
                  how.by_row ? x->row * m->cols + x->col
                             : x->col * m->rows + x->row,
                  x->value);
    }
    h.a.start = dense ? NULL : h.start;
    h.a.index = h.index;
    h.a.value = h.value;
    return h;
}

static void let_go(held *h)
{
    free(h->start);
    free(h->index);
    free(h->value);
}

static oracle small(unsigned seed)
{
    return oracle_random((oracle_shape){
        .rows = 60, .cols = 40, .density = .15, .spread = 2, .seed = seed});
}

Test(data_arrays, of_every_type_give_the_same_as_their_file)
{
    oracle m = small(3);
    /* Dense arrays store no explicit zeros. */
    for (uint64_t e = 0; e < m.nnz; e++)
        m.entry[e].value = (double)(float)(m.entry[e].value + 1000);
    const char *path = oracle_write_libsvm(&m, "random.svm");
    for (uint32_t kind = 0; kind < 32; kind++) {
        const bool dense = kind & 16;
        held h =
            hold(&m,
                 (strads_arrays){.size = sizeof(strads_arrays),
                                 .by_row = kind & 1,
                                 .starts = kind & 2 ? STRADS_I32 : STRADS_I64,
                                 .indices = kind & 4 ? STRADS_I32 : STRADS_I64,
                                 .values = kind & 8 ? STRADS_F32 : STRADS_F64},
                 dense);
        for (uint32_t k = 0; k < 12; k++) {
            strads_data_options o = {.size = sizeof o,
                                     .partitions = 1 + k / 3 * 2,
                                     .split = (strads_split)(k % 3),
                                     .layout = STRADS_LAYOUT_BOTH};
            strads_data *data = NULL, *file = NULL;
            for (int borrow = 0; borrow < 2; borrow++) {
                h.a.borrow = borrow;
                expect_ok(strads_data_from_arrays(&h.a, &o, &data));
                oracle_expect_data(&m, data, o, true);
                cr_assert_eq(strads_data_read(path, &o, &file), STRADS_OK);
                cr_assert_eq(strads_data_checksum(data),
                             strads_data_checksum(file));
                cr_assert_eq(strads_data_index_base(data), 0);
                strads_data_free(file);
                strads_data_free(data);
            }
        }
        let_go(&h);
    }
    oracle_free(&m);
}

static strads_data *borrow(held *h, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    h->a.borrow = true;
    expect_ok(strads_data_from_arrays(&h->a, &o, &data));
    return data;
}

/* Arrays in the right layout are used in place: same addresses, hardly any
 * memory. The owner's arrays are neither modified nor freed. */
Test(data_arrays, that_are_borrowed_are_used_in_place)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 2000, .cols = 300, .density = .1, .spread = 1, .seed = 5});
    for (int by_row = 0; by_row < 2; by_row++) {
        held h = hold(&m,
                      (strads_arrays){.size = sizeof h.a,
                                      .by_row = by_row,
                                      .starts = STRADS_I32,
                                      .indices = STRADS_I32},
                      false);
        const strads_layout along =
            by_row ? STRADS_LAYOUT_ROWS : STRADS_LAYOUT_COLS;
        const strads_split split =
            by_row ? STRADS_SPLIT_ROWS : STRADS_SPLIT_COLS;
        for (uint32_t parts = 1; parts <= 3; parts++) {
            const strads_data_options o = {.layout = along,
                                           .split = split,
                                           .partitions = parts};
            strads_data *data = borrow(&h, o);
            oracle_expect_data(&m, data, o, true);
            for (uint32_t p = 0; p < parts; p++) {
                const strads_share *share = strads_data_share(data, p);
                const strads_sparse *x =
                    by_row ? &share->by_row : &share->by_col;
                const double *f64 = h.value;
                cr_assert(x->f64 >= f64 && x->f64 + x->nnz <= f64 + m.nnz,
                          "in place");
                strads_data_spend(data);
                strads_share_spend(share, 0, share->rows.end);
                strads_share_spend_cols(share, 0, share->cols.end);
            }
            cr_assert_lt(strads_data_bytes(data), 12 * (2000 + 300) + 16000);
            oracle_expect_data(&m, data, o, true);
            strads_data_free(data);
        }
        /* The other orientation, other widths and a cut across lines are
         * copied. */
        const strads_data_options across[] = {
            {.layout = by_row ? STRADS_LAYOUT_COLS : STRADS_LAYOUT_ROWS},
            {.layout = along, .values = STRADS_F32},
            {.layout = along,
             .split = by_row ? STRADS_SPLIT_COLS : STRADS_SPLIT_ROWS,
             .partitions = 2}};
        for (size_t k = 0; k < 3; k++) {
            strads_data *data = borrow(&h, across[k]);
            cr_assert_gt(strads_data_bytes(data), 8 * m.nnz);
            strads_data_free(data);
        }
        let_go(&h);
    }
    oracle_free(&m);
}

Test(data_arrays, that_contradict_each_other_are_refused)
{
    uint64_t start[] = {0, 2, 3};
    uint32_t index[] = {0, 2, 1};
    double value[] = {1, 2, 3};
    const strads_rows good = {
        .rows = 2, .cols = 3, .start = start, .index = index, .value = value};
    strads_data *data = NULL;
    expect_ok(strads_data_from_rows(&good, NULL, &data));
    cr_assert_eq(strads_data_rows(data), 2);
    strads_data_free(data);
    data = NULL;
    static const struct {
        int which;
        uint64_t at;
        double put;
        strads_err err;
        const char *part;
    } wrong[] = {
        {0, 0, 1, STRADS_EINVAL, "start[0] is 1"},
        {0, 2, 1, STRADS_EINVAL, "ascending starts"},
        {1, 1, 3, STRADS_EINVAL, "row 0: found column 3, expected below 3"},
        {1, 1, 0, STRADS_EINVAL, "found column 0 after column 0"},
        {2, 2, 1e300, STRADS_ELIMIT, "does not fit in 32 bits"},
        {2, 0, (double)INFINITY, STRADS_EINVAL, "row 0, column 0: found inf"},
    };
    const strads_data_options f32 = {.size = sizeof f32, .values = STRADS_F32};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const uint64_t s = start[wrong[k].at];
        const uint32_t i = index[wrong[k].at];
        const double v = value[wrong[k].at];
        if (wrong[k].which == 0)
            start[wrong[k].at] = (uint64_t)wrong[k].put;
        else if (wrong[k].which == 1)
            index[wrong[k].at] = (uint32_t)wrong[k].put;
        else
            value[wrong[k].at] = wrong[k].put;
        cr_assert_eq(strads_data_from_rows(&good, &f32, &data), wrong[k].err,
                     "%zu", k);
        expect_says(wrong[k].part);
        start[wrong[k].at] = s;
        index[wrong[k].at] = i;
        value[wrong[k].at] = v;
    }
    const strads_arrays typed = {.size = sizeof typed,
                                 .rows = 2,
                                 .cols = 3,
                                 .start = start,
                                 .index = index,
                                 .value = value};
    cr_assert_eq(strads_data_from_arrays(&typed, NULL, &data), STRADS_EINVAL);
    cr_assert_eq(strads_data_from_arrays(NULL, NULL, &data), STRADS_EINVAL);
    cr_assert_eq(strads_data_from_rows(NULL, NULL, &data), STRADS_EINVAL);
    cr_assert_null(data);
}
