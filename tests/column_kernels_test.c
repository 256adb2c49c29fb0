/* Compares the vector kernels with the portable ones, and both with a loop
 * that adds in long double: every length around a vector's, sparse and full
 * columns, values of both types. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "numeric/column_kernels.h"
#include "strads/policy.h"

/* Kernels may handle long columns differently from short ones. */
enum { LONG = 1027, ROWS = 9 * LONG, LENGTHS = 70 };

static double unit(uint64_t purpose, uint64_t k)
{
    return strads_random_unit(7, purpose, k, 0) * 2 - 1;
}

/* A column of n entries on rows 0, 3, 6, ..., or on 0 .. n - 1. */
typedef struct fixture {
    uint32_t index[ROWS];
    double f64[ROWS + 16], v[ROWS];
    float f32[ROWS + 16];
} fixture;

static void fill(fixture *f)
{
    for (uint32_t k = 0; k < ROWS; k++) {
        f->index[k] = 3 * k;
        f->f32[k] = (float)unit(1, k);
        f->f64[k] = unit(2, k);
        f->v[k] = unit(3, k);
    }
}

static data_column column(const fixture *f, uint64_t n, bool full, bool single)
{
    return (data_column){.n = n,
                         .index = full ? NULL : f->index,
                         .f64 = single ? NULL : f->f64,
                         .f32 = single ? f->f32 : NULL};
}

static double entry(const data_column *x, uint64_t k)
{
    return x->f64 ? x->f64[k] : (double)x->f32[k];
}

static void expect_right(const column_kernels *kernels, const data_column *x,
                         const fixture *f)
{
    long double sum = 0;
    double v[ROWS];

    for (uint32_t i = 0; i < ROWS; i++)
        v[i] = f->v[i];
    for (uint64_t k = 0; k < x->n; k++)
        sum += (long double)entry(x, k) * v[x->index ? x->index[k] : k];
    cr_expect_float_eq(kernels->dot(x, v), (double)sum, 1e-13, "%s: n = %llu",
                       kernels->name, (unsigned long long)x->n);
    kernels->add(x, -1.5, v);
    for (uint64_t k = 0; k < x->n; k++) {
        const uint64_t i = x->index ? x->index[k] : k;
        cr_expect_float_eq(v[i], f->v[i] - 1.5 * entry(x, k), 1e-15);
        v[i] = f->v[i];
    }
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_eq(v[i], f->v[i], "%s wrote to row %u", kernels->name, i);
}

static void expect_dense(const column_kernels *kernels, uint64_t n,
                         const fixture *f)
{
    const data_column x = column(f, n, true, false);
    double sum[ROWS], want[ROWS];

    for (uint32_t i = 0; i < ROWS; i++)
        sum[i] = want[i] = f->v[i];
    cr_expect_float_eq(kernels->dot_dense(n, f->f64, f->v),
                       column_kernels_portable.dot(&x, f->v), 1e-13);
    kernels->add_dense(n, .25, f->f64, sum);
    column_kernels_portable.add(&x, .25, want);
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_float_eq(sum[i], want[i], 1e-15);
}

static void expect_tile(const column_kernels *kernels, uint64_t n,
                        const fixture *f)
{
    const double *a[COLUMN_TILE_SIDE], *b[COLUMN_TILE_SIDE];
    double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE];

    for (int k = 0; k < COLUMN_TILE_SIDE; k++) {
        a[k] = f->f64 + 7 * k;
        b[k] = f->v + 11 * k;
    }
    kernels->dot_tile(n, a, b, sum);
    for (int k = 0; k < COLUMN_TILE_SIDE; k++)
        for (int l = 0; l < COLUMN_TILE_SIDE; l++)
            cr_expect_float_eq(sum[k][l],
                               column_kernels_portable.dot_dense(n, a[k], b[l]),
                               1e-13, "%s: n = %llu, %d with %d", kernels->name,
                               (unsigned long long)n, k, l);
}

/* Columns of n entries from k on, one directly after the other. */
static void expect_columns(const column_kernels *kernels, uint64_t n,
                           bool single, const fixture *f)
{
    enum { MOST = 19 };
    const uint64_t m = n ? (ROWS / n < MOST ? ROWS / n : MOST) : MOST;
    data_column x = column(f, n, true, single);
    double products[MOST + 1] = {[0] = 7};

    products[m] = 7;
    kernels->dot_full(&x, m, f->v, products);
    for (uint64_t j = 0; j < m; j++) {
        cr_expect_float_eq(products[j], column_kernels_portable.dot(&x, f->v),
                           1e-13, "%s: n = %llu, column %llu of %llu",
                           kernels->name, (unsigned long long)n,
                           (unsigned long long)j, (unsigned long long)m);
        x.f64 = x.f64 ? x.f64 + n : NULL;
        x.f32 = x.f32 ? x.f32 + n : NULL;
    }
    cr_expect_eq(products[m], 7);
}

/* Sparse columns with 0, 1, 2, ... entries, in ranges from no column to all
 * columns. The kernels write only the products of the range. */
static void expect_sparse(const column_kernels *kernels, bool single,
                          const fixture *f)
{
    enum { MOST = 19 };
    uint64_t start[MOST + 1] = {0};
    double products[MOST + 1];

    for (uint64_t j = 0; j < MOST; j++)
        start[j + 1] = start[j] + j;
    for (uint64_t end = 0; end <= MOST; end++) {
        const uint64_t begin = end / 3;
        const strads_sparse x = {.lines = MOST,
                                 .nnz = start[MOST],
                                 .start = start,
                                 .index = f->index,
                                 .f64 = single ? NULL : f->f64,
                                 .f32 = single ? f->f32 : NULL};
        products[end - begin] = 7;
        kernels->dot_sparse(&x, begin, end, f->v, products);
        for (uint64_t j = begin; j < end; j++) {
            const data_column one = {.n = j,
                                     .index = f->index + start[j],
                                     .f64 = single ? NULL : f->f64 + start[j],
                                     .f32 = single ? f->f32 + start[j] : NULL};
            cr_expect_float_eq(products[j - begin],
                               column_kernels_portable.dot(&one, f->v), 1e-13,
                               "%s: column %llu", kernels->name,
                               (unsigned long long)j);
        }
        cr_expect_eq(products[end - begin], 7);
    }
}

static void expect_all(const column_kernels *kernels)
{
    static fixture f;

    fill(&f);
    for (uint64_t n = 0; n < LENGTHS; n++) {
        for (int kind = 0; kind < 4; kind++) {
            const data_column x = column(&f, n, kind & 1, kind & 2);
            expect_right(kernels, &x, &f);
        }
        expect_dense(kernels, n, &f);
        expect_tile(kernels, n, &f);
        expect_columns(kernels, n, false, &f);
        expect_columns(kernels, n, true, &f);
    }
    expect_columns(kernels, LONG, false, &f);
    expect_columns(kernels, LONG, true, &f);
    expect_sparse(kernels, false, &f);
    expect_sparse(kernels, true, &f);
}

Test(column_kernels, the_portable_ones_multiply_and_add)
{
    expect_all(&column_kernels_portable);
}

Test(column_kernels, the_vector_ones_agree_with_them)
{
    const column_kernels *fast[] = {column_kernels_avx2(),
                                    column_kernels_avx512(),
                                    column_kernels_neon()};

    if (!fast[0] && !fast[2])
        cr_skip_test("this processor has portable loops alone");
    for (int k = 0; k < 3; k++)
        if (fast[k])
            expect_all(fast[k]);
}

Test(column_kernels, rows_beyond_a_signed_index_get_the_portable_ones)
{
    cr_expect_eq(column_kernels_choose((uint64_t)INT32_MAX + 1),
                 &column_kernels_portable);
}
