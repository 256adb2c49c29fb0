/* The inner loops over columns, for the vector registers of the including file.
 * AVX-512 has loops of its own, because it can mask lanes. Eight sums hide the
 * latency of additions, and leave registers of sixteen for loads. */
#ifndef COLUMN_KERNELS_WIDE_H
#define COLUMN_KERNELS_WIDE_H

#include "column_kernels.h"
#include "vector_lanes.h"

enum { LANES = WIDE_LANES, SUMS = 8, CHAINS = 4 };

/* Sums in arrays stay in registers only if the loops over them are unrolled
 * before register allocation. */
#define UNROLL _Pragma("GCC unroll 16")

#define DEFINE_DOT(name, real, load)                                     \
    static inline double name(uint64_t n, const uint32_t *index,         \
                              const real *value, const double *v)        \
    {                                                                    \
        wide s = wide_all(0), t = s;                                     \
        double rest = 0;                                                 \
        uint64_t k = 0;                                                  \
        for (; k + 2 * LANES <= n; k += 2 * LANES) {                     \
            const uint64_t l = k + LANES;                                \
            s = wide_fma(load(value + k), wide_gather(index + k, v), s); \
            t = wide_fma(load(value + l), wide_gather(index + l, v), t); \
        }                                                                \
        if (k + LANES <= n) {                                            \
            s = wide_fma(load(value + k), wide_gather(index + k, v), s); \
            k += LANES;                                                  \
        }                                                                \
        for (; k < n; k++)                                               \
            rest = __builtin_fma((double)value[k], v[index[k]], rest);   \
        return wide_sum(s + t) + rest;                                   \
    }
DEFINE_DOT(dot_f64, double, wide_load_all)
DEFINE_DOT(dot_f32, float, wide_load_floats)

#define DEFINE_DOT_FULL(name, real, load)                                     \
    static inline double name(uint64_t n, const real *value, const double *v) \
    {                                                                         \
        wide s[CHAINS];                                                       \
        double rest = 0;                                                      \
        uint64_t k = 0;                                                       \
        UNROLL                                                                \
        for (int i = 0; i < CHAINS; i++)                                      \
            s[i] = wide_all(0);                                               \
        for (; k + CHAINS * LANES <= n; k += CHAINS * LANES)                  \
            UNROLL                                                            \
        for (uint64_t i = 0; i < CHAINS; i++)                                 \
            s[i] = wide_fma(load(value + k + LANES * i),                      \
                            wide_load_all(v + k + LANES * i), s[i]);          \
        for (; k + LANES <= n; k += LANES)                                    \
            s[0] = wide_fma(load(value + k), wide_load_all(v + k), s[0]);     \
        for (; k < n; k++)                                                    \
            rest = __builtin_fma((double)value[k], v[k], rest);               \
        return wide_sum((s[0] + s[1]) + (s[2] + s[3])) + rest;                \
    }
DEFINE_DOT_FULL(dot_full_f64, double, wide_load_all)
DEFINE_DOT_FULL(dot_full_f32, float, wide_load_floats)

/* The columns x, x + n, ... of n numbers each: v is loaded once for eight
 * columns. */
#define DEFINE_DOT_EIGHT(name, real, load)                                  \
    static inline void name(uint64_t n, const real *x, const double *v,     \
                            double *products)                               \
    {                                                                       \
        wide s[SUMS];                                                       \
        uint64_t k = 0;                                                     \
        UNROLL                                                              \
        for (int i = 0; i < SUMS; i++)                                      \
            s[i] = wide_all(0);                                             \
        for (; k + LANES <= n; k += LANES) {                                \
            const wide at = wide_load_all(v + k);                           \
            UNROLL                                                          \
            for (uint64_t i = 0; i < SUMS; i++)                             \
                s[i] = wide_fma(load(x + i * n + k), at, s[i]);             \
        }                                                                   \
        UNROLL                                                              \
        for (int i = 0; i < SUMS; i += LANES)                               \
            wide_store_all(products + i, wide_sums(s + i));                 \
        for (; k < n; k++)                                                  \
            for (uint64_t i = 0; i < SUMS; i++)                             \
                products[i] =                                               \
                    __builtin_fma((double)x[i * n + k], v[k], products[i]); \
    }
DEFINE_DOT_EIGHT(dot_eight_f64, double, wide_load_all)
DEFINE_DOT_EIGHT(dot_eight_f32, float, wide_load_floats)

/* Below this length, eight streams end before the processor's prefetcher
 * detects them. So short columns are read one after the other. */
enum { SHORT = 512 };

#define DEFINE_DOT_COLUMNS(name, eight, one, real)                           \
    static void name(uint64_t n, uint64_t m, const real *x, const double *v, \
                     double *products)                                       \
    {                                                                        \
        uint64_t j = 0;                                                      \
        for (; j + SUMS <= m && n > SHORT; j += SUMS)                        \
            eight(n, x + j * n, v, products + j);                            \
        for (; j < m; j++)                                                   \
            products[j] = one(n, x + j * n, v);                              \
    }
DEFINE_DOT_COLUMNS(dot_columns_f64, dot_eight_f64, dot_full_f64, double)
DEFINE_DOT_COLUMNS(dot_columns_f32, dot_eight_f32, dot_full_f32, float)

/* Prefetches a few columns ahead. */
static void dot_sparse_columns(const strads_sparse *x, uint64_t begin,
                               uint64_t end, const double *v, double *products)
{
    enum { AHEAD = 256 };

    for (uint64_t j = begin; j < end; j++) {
        const uint64_t at = x->start[j], n = x->start[j + 1] - at;
        __builtin_prefetch(x->index + at + AHEAD);
        if (x->f64) {
            __builtin_prefetch(x->f64 + at + AHEAD);
            products[j - begin] = dot_f64(n, x->index + at, x->f64 + at, v);
        } else {
            __builtin_prefetch(x->f32 + at + AHEAD);
            products[j - begin] = dot_f32(n, x->index + at, x->f32 + at, v);
        }
    }
}

#define DEFINE_ADD_FULL(name, real, load)                                \
    static void name(uint64_t n, const real *value, double a, double *v) \
    {                                                                    \
        const wide factor = wide_all(a);                                 \
        uint64_t k = 0;                                                  \
        for (; k + LANES <= n; k += LANES)                               \
            wide_store_all(v + k, wide_fma(factor, load(value + k),      \
                                           wide_load_all(v + k)));       \
        for (; k < n; k++)                                               \
            v[k] = __builtin_fma(a, (double)value[k], v[k]);             \
    }
DEFINE_ADD_FULL(add_full_f64, double, wide_load_all)
DEFINE_ADD_FULL(add_full_f32, float, wide_load_floats)

/* Two rows of a tile: each loaded number is used in two or four products. */
static inline void dot_half_tile(uint64_t n, const double *const a[2],
                                 const double *const b[COLUMN_TILE_SIDE],
                                 double sum[2][COLUMN_TILE_SIDE])
{
    wide s[2][COLUMN_TILE_SIDE];
    uint64_t i = 0;

    UNROLL
    for (int l = 0; l < COLUMN_TILE_SIDE; l++)
        s[0][l] = s[1][l] = wide_all(0);
    for (; i + LANES <= n; i += LANES) {
        const wide upper = wide_load_all(a[0] + i),
                   lower = wide_load_all(a[1] + i);
        UNROLL
        for (int l = 0; l < COLUMN_TILE_SIDE; l++) {
            const wide across = wide_load_all(b[l] + i);
            s[0][l] = wide_fma(upper, across, s[0][l]);
            s[1][l] = wide_fma(lower, across, s[1][l]);
        }
    }
    UNROLL
    for (int l = 0; l < COLUMN_TILE_SIDE; l += LANES) {
        wide_store_all(sum[0] + l, wide_sums(s[0] + l));
        wide_store_all(sum[1] + l, wide_sums(s[1] + l));
    }
    for (; i < n; i++)
        for (int k = 0; k < 2; k++)
            for (int l = 0; l < COLUMN_TILE_SIDE; l++)
                sum[k][l] = __builtin_fma(a[k][i], b[l][i], sum[k][l]);
}

static void dot_tile(uint64_t n, const double *const a[COLUMN_TILE_SIDE],
                     const double *const b[COLUMN_TILE_SIDE],
                     double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE])
{
    dot_half_tile(n, a, b, sum);
    dot_half_tile(n, a + 2, b, sum + 2);
}

#include "column_kernels_calls.h"

static double dot_dense(uint64_t n, const double *a, const double *b)
{
    return dot_full_f64(n, a, b);
}

#endif
