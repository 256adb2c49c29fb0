/* Columns of a share, and the inner loops over them that linear models
 * share. Sums are formed in a fixed order for each kind of processor. */
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

/* Columns in an order. */
typedef struct column_list {
    uint32_t n;
    uint32_t first;         /* with `column` NULL: first .. first + n - 1 */
    const uint32_t *column; /* [n], or NULL for adjacent ones */
} column_list;

static inline uint32_t column_list_at(const column_list *list, uint32_t k)
{
    return list->column ? list->column[k] : list->first + k;
}

/* A share's columns as a program computes with them. If moved[j] is not
 * NULL, it has the values of column j, which is then full. */
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

/* The inner loops, one table for each instruction set. */
struct column_kernels {
    const char *name;
    /* x'v, and v += a x. */
    double (*dot)(const data_column *x, const double *v);
    void (*add)(const data_column *x, double a, double *v);
    /* x'v of m full columns that are adjacent in memory, starting with x. */
    void (*dot_full)(const data_column *x, uint64_t m, const double *v,
                     double *products);
    /* x'v of columns `begin` to `end` - 1, all of them sparse. */
    void (*dot_sparse)(const strads_sparse *x, uint64_t begin, uint64_t end,
                       const double *v, double *products);
    /* Dense, n numbers: sum a_i b_i, and v += a u. */
    double (*dot_dense)(uint64_t n, const double *a, const double *b);
    void (*add_dense)(uint64_t n, double a, const double *u, double *v);
    /* All products of four with four: sum[k][l] = a_k'b_l, of n numbers. */
    void (*dot_tile)(uint64_t n, const double *const a[COLUMN_TILE_SIDE],
                     const double *const b[COLUMN_TILE_SIDE],
                     double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE]);
};

extern const column_kernels column_kernels_portable;
/* NULL if this build or processor does not support the instruction set. */
const column_kernels *column_kernels_avx2(void);
const column_kernels *column_kernels_avx512(void);
const column_kernels *column_kernels_neon(void);
/* sum c x^2, in a fixed order; for values that are computed once. */
double column_squares(const data_column *x, const double *c);
/* products[j - begin] = x_j'v for the columns j from `begin` to `end` - 1. */
void column_scan(const column_kernels *kernels, const column_view *view,
                 uint64_t begin, uint64_t end, const double *v,
                 double *products);
/* The fastest table on this processor, for partitions of `rows` rows. */
const column_kernels *column_kernels_choose(uint64_t rows);

#endif
