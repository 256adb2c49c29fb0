/* A set's pairs on a partition, in each way that they are computed, against a
 * loop over dense columns: few and many that join, or others altogether; more
 * rows than a stretch has; values of both types; rows with weights. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/linear_pairs.h"
#include "strads/policy.h"

enum { ROWS = 9000, COLUMNS = 90, SOME = 3 * ROWS / 2 };

typedef struct fixture {
    strads_share share;
    column_view view;
    linear_pairs pairs;
    linear_products of;
    uint64_t start[COLUMNS + 1];
    uint32_t index[COLUMNS * SOME];
    double f64[COLUMNS * SOME];
    float f32[COLUMNS * SOME];
    double dense[COLUMNS][ROWS];
    double weight[ROWS], root[ROWS];
    double partial[COLUMNS * COLUMNS];
} fixture;

/* Column j has an entry in about one row of 3, 30 or 300; one is full, one
 * empty. */
static double how_often(uint32_t j)
{
    if (j == 7 || j == 11)
        return j == 7;
    return j % 3 == 0 ? 1. / 3 : j % 3 == 1 ? .03 : .003;
}

/* Two of three columns are full, and the third all but full. */
static double mostly(uint32_t j)
{
    return j % 3 == 0 ? .999 : 1;
}

static void fill(fixture *f, bool single, bool weighs, double often(uint32_t j))
{
    uint64_t n = 0;

    memset(f, 0, sizeof(*f));
    for (uint32_t j = 0; j < COLUMNS; j++) {
        f->start[j] = n;
        for (uint32_t i = 0; i < ROWS; i++) {
            if (strads_random_unit(1, 1, j, i) >= often(j))
                continue;
            f->f32[n] = (float)(strads_random_unit(1, 2, j, i) - .4);
            f->f64[n] = single ? (double)f->f32[n]
                               : strads_random_unit(1, 3, j, i) - .4;
            f->dense[j][i] = f->f64[n];
            f->index[n++] = i;
        }
    }
    f->start[COLUMNS] = n;
    f->share = (strads_share){.partitions = 1,
                              .rows = {.end = ROWS},
                              .cols = {.end = COLUMNS},
                              .by_col = {.lines = COLUMNS,
                                         .nnz = n,
                                         .start = f->start,
                                         .index = f->index,
                                         .f64 = single ? NULL : f->f64,
                                         .f32 = single ? f->f32 : NULL}};
    for (uint32_t i = 0; i < ROWS; i++) {
        f->weight[i] = weighs ? i % 4 * strads_random_unit(1, 4, 0, i) : 1;
        f->root[i] = sqrt(f->weight[i]);
    }
    f->view = (column_view){.share = &f->share};
    f->of = (linear_products){.view = &f->view,
                              .root = weighs ? f->root : NULL,
                              .kernels = column_kernels_choose(ROWS),
                              .partial = f->partial};
}

static void expect_pairs(fixture *f, column_list lines, column_list against)
{
    f->of.lines = lines;
    f->of.against = against;
    memset(f->partial, 0, sizeof(f->partial));
    cr_assert_eq(linear_pairs_multiply(&f->pairs, &f->of), STRADS_OK);
    for (uint32_t k = 0; k < lines.n; k++)
        for (uint32_t l = 0; l < against.n; l++) {
            const double *a = f->dense[column_list_at(&lines, k)];
            const double *b = f->dense[column_list_at(&against, l)];
            double sum = 0;
            for (uint32_t i = 0; i < ROWS; i++)
                sum += f->weight[i] * a[i] * b[i];
            cr_assert_float_eq(f->partial[k * against.n + l], sum, 1e-9,
                               "%u of %u with %u of %u: %.17g, not %.17g", k,
                               lines.n, l, against.n,
                               f->partial[k * against.n + l], sum);
        }
}

/* The last n of m columns, in no order, with all of them; then with others. */
static void expect_sizes(fixture *f, uint32_t n, uint32_t m)
{
    uint32_t column[COLUMNS];

    for (uint32_t j = 0; j < COLUMNS; j++)
        column[j] = j * 37 % COLUMNS;
    expect_pairs(f, (column_list){.n = n, .column = column + m - n},
                 (column_list){.n = m, .column = column});
    expect_pairs(f, (column_list){.n = n, .column = column + m - n},
                 (column_list){.n = m - n, .column = column});
}

static void expect_all(bool single, bool weighs, double often(uint32_t j))
{
    static const uint32_t joining[] = {1, 2, 3, 8, 9, 24, 25, 60};
    fixture *f = malloc(sizeof(*f));

    cr_assert_not_null(f);
    fill(f, single, weighs, often);
    for (size_t k = 0; k < sizeof(joining) / sizeof(joining[0]); k++)
        expect_sizes(f, joining[k], 61 + (uint32_t)k);
    expect_sizes(f, 40, 40);
    expect_sizes(f, 3, 4);
    linear_pairs_free(&f->pairs);
    free(f);
}

Test(linear_pairs, are_products_of_columns_however_many_join)
{
    expect_all(false, false, how_often);
}

Test(linear_pairs, of_single_precision_are_too)
{
    expect_all(true, false, how_often);
}

Test(linear_pairs, of_columns_that_are_all_but_full_are_too)
{
    expect_all(false, false, mostly);
    expect_all(true, false, mostly);
}

Test(linear_pairs, of_rows_with_weights_are_too)
{
    expect_all(false, true, how_often);
    expect_all(true, true, mostly);
}
