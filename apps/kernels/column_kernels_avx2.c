/* The inner loops for AVX2 and FMA. The build compiles this file for such
 * processors, and only they call it. There are sixteen registers of four
 * numbers: eight sums hide the latency of additions and leave registers for
 * loads. */
#include "column_kernels.h"

#ifndef __AVX2__

const column_kernels *column_kernels_avx2(void)
{
    return NULL;
}

#else

#include "vector_lanes.h"

enum { LANES = WIDE_LANES, SUMS = 8 };

/* Sums in arrays stay in registers only if the loops over them are unrolled
 * before register allocation. */
#define UNROLL _Pragma("GCC unroll 16")

static inline __m256d load_f64_avx2(const double *from)
{
    return _mm256_loadu_pd(from);
}

static inline __m256d load_f32_avx2(const float *from)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(from));
}

static inline __m128d load_pair_avx2(const uint32_t *index, const double *v)
{
    return _mm_loadh_pd(_mm_load_sd(v + index[0]), v + index[1]);
}

/* v[index[0 .. 3]]: four loads are faster than a gather. */
static inline __m256d gather_avx2(const uint32_t *index, const double *v)
{
    return _mm256_set_m128d(load_pair_avx2(index + 2, v),
                            load_pair_avx2(index, v));
}

/* The sum of the lanes of each of four vectors. */
static inline __m256d add_lanes_of_four(const __m256d s[LANES])
{
    const __m256d low = _mm256_hadd_pd(s[0], s[1]);
    const __m256d high = _mm256_hadd_pd(s[2], s[3]);

    return _mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20),
                         _mm256_permute2f128_pd(low, high, 0x31));
}

#define DEFINE_DOT(name, real, load)                                        \
    static inline double name(uint64_t n, const uint32_t *index,            \
                              const real *value, const double *v)           \
    {                                                                       \
        __m256d s = _mm256_setzero_pd(), t = s;                             \
        double rest = 0;                                                    \
        uint64_t k = 0;                                                     \
        for (; k + 2 * LANES <= n; k += 2 * LANES) {                        \
            const uint64_t l = k + LANES;                                   \
            s = _mm256_fmadd_pd(load(value + k), gather_avx2(index + k, v), \
                                s);                                         \
            t = _mm256_fmadd_pd(load(value + l), gather_avx2(index + l, v), \
                                t);                                         \
        }                                                                   \
        if (k + LANES <= n) {                                               \
            s = _mm256_fmadd_pd(load(value + k), gather_avx2(index + k, v), \
                                s);                                         \
            k += LANES;                                                     \
        }                                                                   \
        for (; k < n; k++)                                                  \
            rest = __builtin_fma((double)value[k], v[index[k]], rest);      \
        return wide_sum(_mm256_add_pd(s, t)) + rest;                        \
    }
DEFINE_DOT(dot_f64, double, load_f64_avx2)
DEFINE_DOT(dot_f32, float, load_f32_avx2)

#define DEFINE_DOT_FULL(name, real, load)                                     \
    static inline double name(uint64_t n, const real *value, const double *v) \
    {                                                                         \
        __m256d s[LANES];                                                     \
        double rest = 0;                                                      \
        uint64_t k = 0;                                                       \
        UNROLL                                                                \
        for (int i = 0; i < LANES; i++)                                       \
            s[i] = _mm256_setzero_pd();                                       \
        for (; k + LANES * LANES <= n; k += LANES * LANES)                    \
            UNROLL                                                            \
        for (uint64_t i = 0; i < LANES; i++)                                  \
            s[i] = _mm256_fmadd_pd(load(value + k + LANES * i),               \
                                   load_f64_avx2(v + k + LANES * i), s[i]);   \
        for (; k + LANES <= n; k += LANES)                                    \
            s[0] =                                                            \
                _mm256_fmadd_pd(load(value + k), load_f64_avx2(v + k), s[0]); \
        for (; k < n; k++)                                                    \
            rest = __builtin_fma((double)value[k], v[k], rest);               \
        return wide_sum(_mm256_add_pd(_mm256_add_pd(s[0], s[1]),              \
                                      _mm256_add_pd(s[2], s[3]))) +           \
               rest;                                                          \
    }
DEFINE_DOT_FULL(dot_full_f64, double, load_f64_avx2)
DEFINE_DOT_FULL(dot_full_f32, float, load_f32_avx2)

/* The columns x, x + n, ... of n numbers each: v is loaded once for eight
 * columns. */
#define DEFINE_DOT_EIGHT(name, real, load)                                  \
    static inline void name(uint64_t n, const real *x, const double *v,     \
                            double *products)                               \
    {                                                                       \
        __m256d s[SUMS];                                                    \
        uint64_t k = 0;                                                     \
        UNROLL                                                              \
        for (int i = 0; i < SUMS; i++)                                      \
            s[i] = _mm256_setzero_pd();                                     \
        for (; k + LANES <= n; k += LANES) {                                \
            const __m256d at = load_f64_avx2(v + k);                        \
            UNROLL                                                          \
            for (uint64_t i = 0; i < SUMS; i++)                             \
                s[i] = _mm256_fmadd_pd(load(x + i * n + k), at, s[i]);      \
        }                                                                   \
        _mm256_storeu_pd(products, add_lanes_of_four(s));                   \
        _mm256_storeu_pd(products + LANES, add_lanes_of_four(s + LANES));   \
        for (; k < n; k++)                                                  \
            for (uint64_t i = 0; i < SUMS; i++)                             \
                products[i] =                                               \
                    __builtin_fma((double)x[i * n + k], v[k], products[i]); \
    }
DEFINE_DOT_EIGHT(dot_eight_f64, double, load_f64_avx2)
DEFINE_DOT_EIGHT(dot_eight_f32, float, load_f32_avx2)

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
static void dot_sparse_avx2(const strads_sparse *x, uint64_t begin,
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

#define DEFINE_ADD_FULL(name, real, load)                                    \
    static void name(uint64_t n, const real *value, double a, double *v)     \
    {                                                                        \
        const __m256d factor = _mm256_set1_pd(a);                            \
        uint64_t k = 0;                                                      \
        for (; k + LANES <= n; k += LANES)                                   \
            _mm256_storeu_pd(v + k, _mm256_fmadd_pd(factor, load(value + k), \
                                                    load_f64_avx2(v + k)));  \
        for (; k < n; k++)                                                   \
            v[k] = __builtin_fma(a, (double)value[k], v[k]);                 \
    }
DEFINE_ADD_FULL(add_full_f64, double, load_f64_avx2)
DEFINE_ADD_FULL(add_full_f32, float, load_f32_avx2)

/* Two rows of a tile: each loaded number is used in two or four products. */
static inline void dot_half_tile(uint64_t n, const double *const a[2],
                                 const double *const b[COLUMN_TILE_SIDE],
                                 double sum[2][COLUMN_TILE_SIDE])
{
    __m256d s[2][COLUMN_TILE_SIDE];
    uint64_t i = 0;

    UNROLL
    for (int l = 0; l < COLUMN_TILE_SIDE; l++)
        s[0][l] = s[1][l] = _mm256_setzero_pd();
    for (; i + LANES <= n; i += LANES) {
        const __m256d upper = load_f64_avx2(a[0] + i),
                      lower = load_f64_avx2(a[1] + i);
        UNROLL
        for (int l = 0; l < COLUMN_TILE_SIDE; l++) {
            const __m256d across = load_f64_avx2(b[l] + i);
            s[0][l] = _mm256_fmadd_pd(upper, across, s[0][l]);
            s[1][l] = _mm256_fmadd_pd(lower, across, s[1][l]);
        }
    }
    for (int k = 0; k < 2; k++)
        _mm256_storeu_pd(sum[k], add_lanes_of_four(s[k]));
    for (; i < n; i++)
        for (int k = 0; k < 2; k++)
            for (int l = 0; l < COLUMN_TILE_SIDE; l++)
                sum[k][l] = __builtin_fma(a[k][i], b[l][i], sum[k][l]);
}

static void dot_tile_avx2(uint64_t n, const double *const a[COLUMN_TILE_SIDE],
                          const double *const b[COLUMN_TILE_SIDE],
                          double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE])
{
    dot_half_tile(n, a, b, sum);
    dot_half_tile(n, a + 2, b, sum + 2);
}

#include "column_kernels_calls.h"

static double dot_dense_avx2(uint64_t n, const double *a, const double *b)
{
    return dot_full_f64(n, a, b);
}

static const column_kernels avx2 = {.name = "avx2",
                                    .dot = dot_column,
                                    .add = add_column,
                                    .dot_full = dot_full_columns,
                                    .dot_sparse = dot_sparse_avx2,
                                    .dot_dense = dot_dense_avx2,
                                    .add_dense = add_dense,
                                    .dot_tile = dot_tile_avx2};

const column_kernels *column_kernels_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? &avx2
               : NULL;
}

#endif
