/* Selects the loop for a column, and defines the loop without vectors, for
 * any register width. The files with the vector loops include it after them. */
#ifndef COLUMN_KERNELS_CALLS_H
#define COLUMN_KERNELS_CALLS_H

#include "column_kernels.h"

static double dot_column(const data_column *x, const double *v)
{
    if (x->f64)
        return x->index ? dot_f64(x->n, x->index, x->f64, v)
                        : dot_full_f64(x->n, x->f64, v);
    return x->index ? dot_f32(x->n, x->index, x->f32, v)
                    : dot_full_f32(x->n, x->f32, v);
}

static void dot_full_columns(const data_column *x, uint64_t m, const double *v,
                             double *products)
{
    if (x->f64)
        dot_columns_f64(x->n, m, x->f64, v, products);
    else
        dot_columns_f32(x->n, m, x->f32, v, products);
}

/* The rows of a column are distinct, so eight sums need not wait for each
 * other's stores; and eight stores are faster than a scatter. */
enum { APART = 8 };

#define DEFINE_ADD_SPARSE(name, real)                                        \
    static void name(uint64_t n, const uint32_t *index, const real *value,   \
                     double a, double *v)                                    \
    {                                                                        \
        uint64_t k = 0;                                                      \
        for (; k + APART <= n; k += APART) {                                 \
            double sum[APART];                                               \
            for (uint64_t i = 0; i < APART; i++)                             \
                sum[i] =                                                     \
                    __builtin_fma(a, (double)value[k + i], v[index[k + i]]); \
            for (uint64_t i = 0; i < APART; i++)                             \
                v[index[k + i]] = sum[i];                                    \
        }                                                                    \
        for (; k < n; k++)                                                   \
            v[index[k]] = __builtin_fma(a, (double)value[k], v[index[k]]);   \
    }
DEFINE_ADD_SPARSE(add_sparse_f64, double)
DEFINE_ADD_SPARSE(add_sparse_f32, float)

static void add_column(const data_column *x, double a, double *v)
{
    if (x->f64 && x->index)
        add_sparse_f64(x->n, x->index, x->f64, a, v);
    else if (x->f64)
        add_full_f64(x->n, x->f64, a, v);
    else if (x->index)
        add_sparse_f32(x->n, x->index, x->f32, a, v);
    else
        add_full_f32(x->n, x->f32, a, v);
}

static void add_dense(uint64_t n, double a, const double *u, double *v)
{
    add_full_f64(n, u, a, v);
}

#endif
