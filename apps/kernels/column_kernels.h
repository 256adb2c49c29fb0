/* Columns of a share, and the inner loops over them that linear models have in
 * common. Sums are formed in a fixed order for each kind of processor. */
#ifndef COLUMN_KERNELS_H
#define COLUMN_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/data.h>

typedef struct column_kernels column_kernels;

/* Column j of a share. */
typedef struct data_column {
    uint64_t n;
    const uint32_t *index; /* [n], NULL: 0 .. n - 1, a full column */
    const double *f64;     /* [n] or NULL */
    const float *f32;      /* [n] or NULL */
} data_column;

static inline data_column data_column_of(const strads_share *share, uint64_t j)
{
    const strads_sparse *x = &share->by_col;
    const uint64_t at = x->start[j], n = x->start[j + 1] - at;
    const bool full = n == share->rows.end - share->rows.begin;
    return (data_column){.n = n,
                         .index = full ? NULL : x->index + at,
                         .f64 = x->f64 ? x->f64 + at : NULL,
                         .f32 = x->f32 ? x->f32 + at : NULL};
}

/* A share's columns as a program computes with them: where moved[j] is not NULL,
 * these are the values of column j, which is full. */
typedef struct column_view {
    const strads_share *share;
    const double *const *moved; /* [columns], NULL: all are the share's */
} column_view;

static inline data_column column_view_of(const column_view *view, uint64_t j)
{
    const data_column x = data_column_of(view->share, j);
    const bool moves = view->moved && view->moved[j];

    return moves ? (data_column){.n = x.n, .f64 = view->moved[j]} : x;
}

enum { COLUMN_TILE_SIDE = 4 };

/* The inner loops, one table for each kind of processor. */
struct column_kernels {
    const char *name;
    /* x'v, and v += a x. */
    double (*dot)(const data_column *x, const double *v);
    void (*add)(const data_column *x, double a, double *v);
    /* The same x'v of m full columns, x and those that follow it in memory. */
    void (*dot_full)(const data_column *x, uint64_t m, const double *v,
                     double *products);
    /* The same of columns `begin` to before `end`, none of them full. */
    void (*dot_sparse)(const strads_sparse *x, uint64_t begin, uint64_t end,
                       const double *v, double *products);
    /* Dense: sum a_i b_i, and v += a u, of n numbers. */
    double (*dot_dense)(uint64_t n, const double *a, const double *b);
    void (*add_dense)(uint64_t n, double a, const double *u, double *v);
    /* All products of four with four: sum[k][l] = a_k'b_l, of n numbers. */
    void (*dot_tile)(uint64_t n, const double *const a[COLUMN_TILE_SIDE],
                     const double *const b[COLUMN_TILE_SIDE],
                     double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE]);
};

extern const column_kernels column_kernels_portable;
/* NULL where this build or processor has not got what they are named for. */
const column_kernels *column_kernels_avx2(void);
const column_kernels *column_kernels_avx512(void);
/* sum c x^2, in a fixed order; for what is computed once. */
double column_squares(const data_column *x, const double *c);
/* products[j - begin] = x_j'v of the columns j, from `begin` to before `end`. */
void column_scan(const column_kernels *kernels, const column_view *view,
                 uint64_t begin, uint64_t end, const double *v,
                 double *products);
/* The fastest that runs here on partitions of `rows` rows. */
const column_kernels *column_kernels_choose(uint64_t rows);

#endif
