/* The portable inner loops, and the choice of kernels. A dot product has
 * eight partial sums in a fixed order, so that a compiler may use vectors
 * without changing a bit. */
#include "column_kernels.h"

#include <strads/version.h>

enum { LANES = 8 };

static double sum_lanes(const double s[LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* For values of either type: a sparse column, or a full one without an
 * index. */
#define DEFINE_DOT(name, real)                                               \
    static double name(uint64_t n, const uint32_t *index, const real *value, \
                       const double *v)                                      \
    {                                                                        \
        double s[LANES] = {0};                                               \
        uint64_t k = 0;                                                      \
        if (index) {                                                         \
            for (; k + LANES <= n; k += LANES)                               \
                for (uint64_t i = 0; i < LANES; i++)                         \
                    s[i] += (double)value[k + i] * v[index[k + i]];          \
            for (; k < n; k++)                                               \
                s[k % LANES] += (double)value[k] * v[index[k]];              \
        } else {                                                             \
            for (; k + LANES <= n; k += LANES)                               \
                for (uint64_t i = 0; i < LANES; i++)                         \
                    s[i] += (double)value[k + i] * v[k + i];                 \
            for (; k < n; k++)                                               \
                s[k % LANES] += (double)value[k] * v[k];                     \
        }                                                                    \
        return sum_lanes(s);                                                 \
    }
DEFINE_DOT(dot_f64, double)
DEFINE_DOT(dot_f32, float)

#define DEFINE_ADD(name, real)                                             \
    static void name(uint64_t n, const uint32_t *index, const real *value, \
                     double a, double *v)                                  \
    {                                                                      \
        if (index)                                                         \
            for (uint64_t k = 0; k < n; k++)                               \
                v[index[k]] += a * (double)value[k];                       \
        else                                                               \
            for (uint64_t k = 0; k < n; k++)                               \
                v[k] += a * (double)value[k];                              \
    }
DEFINE_ADD(add_f64, double)
DEFINE_ADD(add_f32, float)

static double dot_portable(const data_column *x, const double *v)
{
    return x->f64 ? dot_f64(x->n, x->index, x->f64, v)
                  : dot_f32(x->n, x->index, x->f32, v);
}

static void add_portable(const data_column *x, double a, double *v)
{
    if (x->f64)
        add_f64(x->n, x->index, x->f64, a, v);
    else
        add_f32(x->n, x->index, x->f32, a, v);
}

static void dot_full_portable(const data_column *x, uint64_t m, const double *v,
                              double *products)
{
    data_column at = *x;

    for (uint64_t j = 0; j < m; j++) {
        products[j] = dot_portable(&at, v);
        at.f64 = at.f64 ? at.f64 + at.n : NULL;
        at.f32 = at.f32 ? at.f32 + at.n : NULL;
    }
}

static void dot_sparse_portable(const strads_sparse *x, uint64_t begin,
                                uint64_t end, const double *v, double *products)
{
    for (uint64_t j = begin; j < end; j++) {
        const uint64_t at = x->start[j], n = x->start[j + 1] - at;
        products[j - begin] = x->f64
                                  ? dot_f64(n, x->index + at, x->f64 + at, v)
                                  : dot_f32(n, x->index + at, x->f32 + at, v);
    }
}

static double dot_dense_portable(uint64_t n, const double *a, const double *b)
{
    return dot_f64(n, NULL, a, b);
}

static void add_dense_portable(uint64_t n, double a, const double *u, double *v)
{
    add_f64(n, NULL, u, a, v);
}

static void dot_tile_portable(uint64_t n,
                              const double *const a[COLUMN_TILE_SIDE],
                              const double *const b[COLUMN_TILE_SIDE],
                              double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE])
{
    for (int k = 0; k < COLUMN_TILE_SIDE; k++)
        for (int l = 0; l < COLUMN_TILE_SIDE; l++)
            sum[k][l] = dot_dense_portable(n, a[k], b[l]);
}

double column_squares(const data_column *x, const double *c)
{
    double s[LANES] = {0};

    for (uint64_t k = 0; k < x->n; k++) {
        const double value = x->f64 ? x->f64[k] : (double)x->f32[k];
        s[k % LANES] += value * value * c[x->index ? x->index[k] : k];
    }
    return sum_lanes(s);
}

const column_kernels column_kernels_portable = {.name = "portable",
                                                .dot = dot_portable,
                                                .add = add_portable,
                                                .dot_full = dot_full_portable,
                                                .dot_sparse =
                                                    dot_sparse_portable,
                                                .dot_dense = dot_dense_portable,
                                                .add_dense = add_dense_portable,
                                                .dot_tile = dot_tile_portable};

static const double *moved_of(const column_view *view, uint64_t j)
{
    return view->moved ? view->moved[j] : NULL;
}

/* The end of the run of columns from j on that are adjacent in memory and
 * all full, or all sparse. */
static uint64_t run_from(const column_view *view, uint64_t j, uint64_t end,
                         bool full)
{
    const strads_share *share = view->share;
    const uint64_t rows = share->rows.end - share->rows.begin;
    const uint64_t *start = share->by_col.start;
    const double *at = moved_of(view, j);

    while (j < end && (start[j + 1] - start[j] == rows) == full &&
           moved_of(view, j) == at) {
        at = at ? at + rows : NULL;
        j++;
    }
    return j;
}

void column_scan(const column_kernels *kernels, const column_view *view,
                 uint64_t begin, uint64_t end, const double *v,
                 double *products)
{
    for (uint64_t j = begin, to; j < end; j = to) {
        const data_column x = column_view_of(view, j);
        to = run_from(view, j, end, !x.index);
        if (!x.index)
            kernels->dot_full(&x, to - j, v, products + (j - begin));
        else
            kernels->dot_sparse(&view->share->by_col, j, to, v,
                                products + (j - begin));
    }
}

const column_kernels *column_kernels_choose(uint64_t rows)
{
    const strads_kernel_level level = strads_kernels();
    const column_kernels *fast =
        level == STRADS_KERNELS_AVX512 ? column_kernels_avx512()
        : level == STRADS_KERNELS_AVX2 ? column_kernels_avx2()
        : level == STRADS_KERNELS_NEON ? column_kernels_neon()
                                       : NULL;

    /* A vector kernel reads indices as signed numbers. */
    return fast && rows <= INT32_MAX ? fast : &column_kernels_portable;
}
