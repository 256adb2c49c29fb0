/* The inner loops for AVX-512. The build compiles this file for such
 * processors, and only they call it. Index values are below 2^31:
 * column_kernels_choose ensures it. */
#include "column_kernels.h"

#ifndef __AVX512F__

const column_kernels *column_kernels_avx512(void)
{
    return NULL;
}

#else

#include "vector_lanes.h"

enum { LANES = 8 };

/* Sums in arrays stay in registers only if the loops over them are unrolled
 * before register allocation. */
#define UNROLL _Pragma("GCC unroll 16")

/* Loads the lanes in `mask`; others are 0. */
static inline __m512d load_f64_avx512(__mmask8 mask, const void *from)
{
    return _mm512_maskz_loadu_pd(mask, from);
}

static inline __m512d load_f32_avx512(__mmask8 mask, const void *from)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, from));
}

static inline __m128d load_pair_avx512(const uint32_t *index, const double *v)
{
    return _mm_loadh_pd(_mm_load_sd(v + index[0]), v + index[1]);
}

/* v[index[0 .. 7]]: eight loads are faster than a gather. */
static inline __m512d gather_all(const uint32_t *index, const double *v)
{
    const __m256d low = _mm256_set_m128d(load_pair_avx512(index + 2, v),
                                         load_pair_avx512(index, v));
    const __m256d high = _mm256_set_m128d(load_pair_avx512(index + 6, v),
                                          load_pair_avx512(index + 4, v));

    return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
}

/* Without optimisation gcc's gather is a macro that contains a conversion. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/* v[index[0 .. left - 1]], at most eight; the other lanes are 0. */
static inline __m512d gather_avx512(uint64_t left, const uint32_t *index,
                                    const double *v)
{
    if (left >= LANES)
        return gather_all(index, v);
    const __mmask8 mask = lanes_first(left);
    const __m256i at = _mm256_maskz_loadu_epi32(mask, index);

    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, at, v, 8);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#define DEFINE_DOT(name, real, load)                                         \
    static double name(uint64_t n, const uint32_t *index, const real *value, \
                       const double *v)                                      \
    {                                                                        \
        __m512d s = _mm512_setzero_pd(), t = s;                              \
        uint64_t k = 0;                                                      \
        for (; k + 2 * LANES <= n; k += 2 * LANES) {                         \
            const uint64_t l = k + LANES;                                    \
            s = _mm512_fmadd_pd(load(0xff, value + k),                       \
                                gather_all(index + k, v), s);                \
            t = _mm512_fmadd_pd(load(0xff, value + l),                       \
                                gather_all(index + l, v), t);                \
        }                                                                    \
        for (; k < n; k += LANES) {                                          \
            const uint64_t left = n - k;                                     \
            const __mmask8 m = lanes_first(left);                            \
            s = _mm512_fmadd_pd(load(m, value + k),                          \
                                gather_avx512(left, index + k, v), s);       \
        }                                                                    \
        return _mm512_reduce_add_pd(_mm512_add_pd(s, t));                    \
    }
DEFINE_DOT(dot_f64, double, load_f64_avx512)
DEFINE_DOT(dot_f32, float, load_f32_avx512)

#define DEFINE_DOT_FULL(name, real, load)                                      \
    static double name(uint64_t n, const real *value, const double *v)         \
    {                                                                          \
        __m512d s = _mm512_setzero_pd(), t = s;                                \
        uint64_t k = 0;                                                        \
        for (; k + 2 * LANES <= n; k += 2 * LANES) {                           \
            const uint64_t l = k + LANES;                                      \
            s = _mm512_fmadd_pd(load(0xff, value + k), _mm512_loadu_pd(v + k), \
                                s);                                            \
            t = _mm512_fmadd_pd(load(0xff, value + l), _mm512_loadu_pd(v + l), \
                                t);                                            \
        }                                                                      \
        for (; k < n; k += LANES) {                                            \
            const uint64_t left = n - k;                                       \
            const __mmask8 m = lanes_first(left);                              \
            s = _mm512_fmadd_pd(load(m, value + k), load_f64_avx512(m, v + k), \
                                s);                                            \
        }                                                                      \
        return _mm512_reduce_add_pd(_mm512_add_pd(s, t));                      \
    }
DEFINE_DOT_FULL(dot_full_f64, double, load_f64_avx512)
DEFINE_DOT_FULL(dot_full_f32, float, load_f32_avx512)

/* The sum of the lanes of each of eight vectors. */
static inline __m512d add_lanes(const __m512d s[LANES])
{
    __m512d two[LANES / 2], four[LANES / 4];

    UNROLL
    for (int k = 0; k < LANES / 2; k++)
        two[k] = _mm512_add_pd(_mm512_unpacklo_pd(s[2 * k], s[2 * k + 1]),
                               _mm512_unpackhi_pd(s[2 * k], s[2 * k + 1]));
    UNROLL
    for (int k = 0; k < LANES / 4; k++)
        four[k] = _mm512_add_pd(_mm512_shuffle_f64x2(two[2 * k], two[2 * k + 1],
                                                     0x88),
                                _mm512_shuffle_f64x2(two[2 * k], two[2 * k + 1],
                                                     0xdd));
    return _mm512_add_pd(_mm512_shuffle_f64x2(four[0], four[1], 0x88),
                         _mm512_shuffle_f64x2(four[0], four[1], 0xdd));
}

/* The columns x, x + n, ... of n numbers each: v is loaded once for `side`
 * columns, and their lanes are added up together. */
#define DEFINE_DOT_SIDE(name, side, real, load)                              \
    static inline void name(uint64_t n, const real *x, const double *v,      \
                            double *products)                                \
    {                                                                        \
        __m512d s[LANES];                                                    \
        UNROLL                                                               \
        for (uint64_t i = 0; i < LANES; i++)                                 \
            s[i] = _mm512_setzero_pd();                                      \
        for (uint64_t k = 0; k < n; k += LANES) {                            \
            const uint64_t left = n - k;                                     \
            const __mmask8 mask = lanes_first(left);                         \
            const __m512d at = load_f64_avx512(mask, v + k);                 \
            UNROLL                                                           \
            for (uint64_t i = 0; i < (side); i++)                            \
                s[i] = _mm512_fmadd_pd(load(mask, x + i * n + k), at, s[i]); \
        }                                                                    \
        _mm512_mask_storeu_pd(products, (__mmask8)((1u << (side)) - 1),      \
                              add_lanes(s));                                 \
    }
DEFINE_DOT_SIDE(dot_eight_f64, 8, double, load_f64_avx512)
DEFINE_DOT_SIDE(dot_four_f64, 4, double, load_f64_avx512)
DEFINE_DOT_SIDE(dot_eight_f32, 8, float, load_f32_avx512)
DEFINE_DOT_SIDE(dot_four_f32, 4, float, load_f32_avx512)

/* Likewise for eight columns one after the other. Eight short streams end
 * before the processor's prefetcher detects them; this is a single stream,
 * which it prefetches. */
enum { SHORT = 512 };

#define DEFINE_DOT_SHORT(name, real, load)                              \
    static inline void name(uint64_t n, const real *x, const double *v, \
                            double *products)                           \
    {                                                                   \
        __m512d s[LANES];                                               \
        UNROLL                                                          \
        for (uint64_t i = 0; i < LANES; i++, x += n) {                  \
            __m512d t = _mm512_setzero_pd();                            \
            uint64_t k = 0;                                             \
            for (; k + LANES <= n; k += LANES)                          \
                t = _mm512_fmadd_pd(load(0xff, x + k),                  \
                                    load_f64_avx512(0xff, v + k), t);   \
            const __mmask8 rest = (__mmask8)((1u << (n - k)) - 1);      \
            s[i] = _mm512_fmadd_pd(load(rest, x + k),                   \
                                   load_f64_avx512(rest, v + k), t);    \
        }                                                               \
        _mm512_storeu_pd(products, add_lanes(s));                       \
    }
DEFINE_DOT_SHORT(dot_short_f64, double, load_f64_avx512)
DEFINE_DOT_SHORT(dot_short_f32, float, load_f32_avx512)

#define DEFINE_DOT_COLUMNS(name, brief, eight, four, one, real)              \
    static void name(uint64_t n, uint64_t m, const real *x, const double *v, \
                     double *products)                                       \
    {                                                                        \
        uint64_t j = 0;                                                      \
        for (; j + 8 <= m && n <= SHORT; j += 8)                             \
            brief(n, x + j * n, v, products + j);                            \
        for (; j + 8 <= m; j += 8)                                           \
            eight(n, x + j * n, v, products + j);                            \
        for (; j + 4 <= m; j += 4)                                           \
            four(n, x + j * n, v, products + j);                             \
        for (; j < m; j++)                                                   \
            products[j] = one(n, x + j * n, v);                              \
    }
DEFINE_DOT_COLUMNS(dot_columns_f64, dot_short_f64, dot_eight_f64, dot_four_f64,
                   dot_full_f64, double)
DEFINE_DOT_COLUMNS(dot_columns_f32, dot_short_f32, dot_eight_f32, dot_four_f32,
                   dot_full_f32, float)

/* Eight sparse columns, each with its own lanes, which are added up
 * together. Prefetches a few columns ahead. */
#define DEFINE_DOT_SPARSE(name, real, load)                            \
    static inline __m512d name(uint64_t n, const uint32_t *index,      \
                               const real *value, const double *v)     \
    {                                                                  \
        enum { AHEAD = 256 };                                          \
        __m512d s = _mm512_setzero_pd();                               \
        _mm_prefetch((const char *)(value + AHEAD), _MM_HINT_T0);      \
        _mm_prefetch((const char *)(index + AHEAD), _MM_HINT_T0);      \
        for (uint64_t k = 0; k < n; k += LANES) {                      \
            const uint64_t left = n - k;                               \
            const __mmask8 m = lanes_first(left);                      \
            s = _mm512_fmadd_pd(load(m, value + k),                    \
                                gather_avx512(left, index + k, v), s); \
        }                                                              \
        return s;                                                      \
    }
DEFINE_DOT_SPARSE(lanes_f64, double, load_f64_avx512)
DEFINE_DOT_SPARSE(lanes_f32, float, load_f32_avx512)

static void dot_sparse_avx512(const strads_sparse *x, uint64_t begin,
                              uint64_t end, const double *v, double *products)
{
    for (uint64_t j = begin; j < end; j += LANES) {
        const uint64_t left = end - j;
        __m512d s[LANES];
        for (uint64_t i = 0; i < LANES; i++) {
            const uint64_t at = x->start[i < left ? j + i : end];
            const uint64_t n = i < left ? x->start[j + i + 1] - at : 0;
            s[i] = x->f64 ? lanes_f64(n, x->index + at, x->f64 + at, v)
                          : lanes_f32(n, x->index + at, x->f32 + at, v);
        }
        _mm512_mask_storeu_pd(products + (j - begin), lanes_first(left),
                              add_lanes(s));
    }
}

#define DEFINE_ADD_FULL(name, real, load)                                   \
    static void name(uint64_t n, const real *value, double a, double *v)    \
    {                                                                       \
        const __m512d factor = _mm512_set1_pd(a);                           \
        for (uint64_t k = 0; k < n; k += LANES) {                           \
            const __mmask8 m = lanes_first(n - k);                          \
            const __m512d sum = _mm512_fmadd_pd(factor, load(m, value + k), \
                                                load_f64_avx512(m, v + k)); \
            _mm512_mask_storeu_pd(v + k, m, sum);                           \
        }                                                                   \
    }
DEFINE_ADD_FULL(add_full_f64, double, load_f64_avx512)
DEFINE_ADD_FULL(add_full_f32, float, load_f32_avx512)

/* Each loaded number is used in four products. */
static void dot_tile_avx512(uint64_t n, const double *const a[COLUMN_TILE_SIDE],
                            const double *const b[COLUMN_TILE_SIDE],
                            double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE])
{
    enum { SUMS = COLUMN_TILE_SIDE * COLUMN_TILE_SIDE };
    __m512d s[SUMS];

    UNROLL
    for (int k = 0; k < SUMS; k++)
        s[k] = _mm512_setzero_pd();
    for (uint64_t i = 0; i < n; i += LANES) {
        const uint64_t left = n - i;
        const __mmask8 m = lanes_first(left);
        __m512d across[COLUMN_TILE_SIDE];
        UNROLL
        for (int l = 0; l < COLUMN_TILE_SIDE; l++)
            across[l] = load_f64_avx512(m, b[l] + i);
        UNROLL
        for (int k = 0; k < COLUMN_TILE_SIDE; k++) {
            const __m512d down = load_f64_avx512(m, a[k] + i);
            UNROLL
            for (int l = 0; l < COLUMN_TILE_SIDE; l++)
                s[k * COLUMN_TILE_SIDE + l] =
                    _mm512_fmadd_pd(down, across[l],
                                    s[k * COLUMN_TILE_SIDE + l]);
        }
    }
    UNROLL
    for (int k = 0; k < SUMS; k += LANES)
        _mm512_storeu_pd(sum[k / COLUMN_TILE_SIDE], add_lanes(s + k));
}

#include "column_kernels_calls.h"

static const column_kernels avx512 = {.name = "avx512",
                                      .dot = dot_column,
                                      .add = add_column,
                                      .dot_full = dot_full_columns,
                                      .dot_sparse = dot_sparse_avx512,
                                      .dot_dense = dot_full_f64,
                                      .add_dense = add_dense,
                                      .dot_tile = dot_tile_avx512};

const column_kernels *column_kernels_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? &avx512
               : NULL;
}

#endif
