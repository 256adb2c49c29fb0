/* The inner loops for AVX-512. The build compiles this file for such
 * processors; it is entered on them alone. */
#include "mf_kernels.h"

#ifndef __AVX512F__

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    (void)stride;
    return NULL;
}

mf_rank_swap mf_rank_swap_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

typedef __m512 vec;
enum { LANES = 16 };

static inline vec zero(void)
{
    return _mm512_setzero_ps();
}

static inline vec load(const float *x)
{
    return _mm512_load_ps(x);
}

static inline void store(float *x, vec v)
{
    _mm512_store_ps(x, v);
}

static inline vec spread(float x)
{
    return _mm512_set1_ps(x);
}

static inline vec mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec fmadd(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline float add_up(vec s)
{
    return _mm512_reduce_add_ps(s);
}

#include "mf_kernels_loops.h"

/* Sums over halves of every four lanes: two of a's, then two of b's. */
INLINE __m512 add_2(__m512 a, __m512 b)
{
    const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);

    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

/* ---- SGD, rows longer than MF_SHORT -------------------------------------- */

enum { KEPT = 8 }; /* vectors of three rows that fit into registers */

/* The rows of a rating or a pair. Up to KEPT vectors of each stay in registers
 * from the product to the update. */
typedef struct rows {
    float *p, *q[PAIR];
    __m512 a[KEPT], b[PAIR][KEPT];
} rows;

/* All lanes added up; x's sum is in lanes 0 and 1 of every four, y's in lanes 2
 * and 3. */
INLINE __m512 sum_two(__m512 x, __m512 y)
{
    __m512 t = add_2(x, y);

    t = _mm512_add_ps(t, _mm512_permute_ps(t, 0xB1));
    t = _mm512_add_ps(t, _mm512_shuffle_f32x4(t, t, 0x4E));
    return _mm512_add_ps(t, _mm512_shuffle_f32x4(t, t, 0xB1));
}

INLINE __m512 part(const float *row, const __m512 *kept, uint32_t v,
                   const bool keeps)
{
    return keeps ? kept[v] : _mm512_load_ps(row + (size_t)v * MF_LANES);
}

/* Reads the rows of `each` ratings; returns their products as sum_two does. */
INLINE __m512 read_rows(rows *r, const uint32_t each, const uint32_t vectors,
                        const bool keeps)
{
    __m512 sum[PAIR] = {_mm512_setzero_ps(), _mm512_setzero_ps()};

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const __m512 a = _mm512_load_ps(r->p + (size_t)v * MF_LANES);
        if (keeps)
            r->a[v] = a;
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            const __m512 b = _mm512_load_ps(r->q[k] + (size_t)v * MF_LANES);
            if (keeps)
                r->b[k][v] = b;
            sum[k] = _mm512_fmadd_ps(a, b, sum[k]);
        }
    }
    return sum_two(sum[0], sum[each - 1]);
}

/* f[k]: the step's size times the error of rating k, in all lanes. */
INLINE void move_rows(const rows *r, const __m512 f[PAIR], __m512 decay,
                      const uint32_t each, const uint32_t vectors,
                      const bool keeps)
{
    const __m512 decay_all = each == 2 ? _mm512_mul_ps(decay, decay) : decay;

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const size_t at = (size_t)v * MF_LANES;
        const __m512 a = part(r->p, r->a, v, keeps);
        __m512 to = _mm512_mul_ps(a, decay_all);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            const __m512 b = part(r->q[k], r->b[k], v, keeps);
            to = _mm512_fmadd_ps(f[k], b, to);
            _mm512_store_ps(r->q[k] + at,
                            _mm512_fmadd_ps(f[k], a, _mm512_mul_ps(b, decay)));
        }
        _mm512_store_ps(r->p + at, to);
    }
}

/* The values of x[0] and x[each - 1] beside their sums, in every other lane, 0
 * in the others. */
INLINE __m512 values_of(const mf_rating *x, const uint32_t each)
{
    return each == 2
               ? _mm512_maskz_broadcast_f32x4(0xAAAA,
                                              _mm_loadu_ps((const float *)x))
               : _mm512_maskz_mov_ps(0xAAAA, _mm512_set1_ps(x->value));
}

/* Ratings from x on; those at `soon` are asked for. Returns the errors, each of
 * a pair four times, that of a single rating eight times. */
INLINE __m512 visit(const mf_step *s, const mf_rating *x, const mf_rating *soon,
                    const uint32_t each, const uint32_t vectors,
                    const bool keeps)
{
    rows r = {.p = user_row(s, x, vectors)};
    __m512 f[PAIR];

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
        r.q[k] = item_row(s, x + k, vectors);
        fetch_item(s, soon + k, vectors);
    }
    const __m512 e = _mm512_maskz_sub_ps(0xAAAA, values_of(x, each),
                                         read_rows(&r, each, vectors, keeps));
    const __m512 g = _mm512_mul_ps(e, _mm512_set1_ps(s->size));
    f[0] = _mm512_permute_ps(g, 0x55);
    f[1] = _mm512_permute_ps(g, 0xFF);
    move_rows(&r, f, _mm512_set1_ps(s->decay), each, vectors, keeps);
    return e;
}

/* Ratings `at` to `end`; returns the squares of what visit returned. */
INLINE __m512 visit_all(const mf_step *s, const mf_rating *rating, size_t at,
                        size_t end, size_t n, ahead *a, const uint32_t each,
                        const uint32_t vectors, const bool keeps)
{
    __m512 squares = _mm512_setzero_ps();

    for (; at < end; at += each) {
        const mf_rating *x = rating + at;
        const mf_rating *soon = n - at >= SOON + PAIR ? x + SOON : x;
        if (at % MF_BATCH == 0)
            fetch_ahead(a);
        const __m512 e = visit(s, x, soon, each, vectors, keeps);
        squares = _mm512_fmadd_ps(e, e, squares);
    }
    return squares;
}

INLINE double pass_long(const mf_rating *rating, size_t n, const mf_step *given,
                        const uint32_t vectors, const bool keeps)
{
    const mf_step step = *given;
    ahead a = ahead_of(&step, n);
    const __m512 pairs =
        visit_all(&step, rating, 0, step.paired, n, &a, 2, vectors, keeps);
    const __m512 singles =
        visit_all(&step, rating, step.paired, n, n, &a, 1, vectors, keeps);

    return (double)_mm512_reduce_add_ps(pairs) / 4 +
           (double)_mm512_reduce_add_ps(singles) / 8;
}

#define LONG(vectors)                                            \
    static double kernel_##vectors(const mf_rating *x, size_t n, \
                                   const mf_step *s)             \
    {                                                            \
        return pass_long(x, n, s, vectors, true);                \
    }
LONG(5)
LONG(6)
LONG(7)
LONG(8)

static double kernel_any(const mf_rating *x, size_t n, const mf_step *s)
{
    return pass_long(x, n, s, s->stride / MF_LANES, false);
}

static mf_kernel kernel_of_long(uint32_t vectors)
{
    switch (vectors) {
    case 5:
        return kernel_5;
    case 6:
        return kernel_6;
    case 7:
        return kernel_7;
    case 8:
        return kernel_8;
    default:
        return kernel_any;
    }
}

/* ---- SGD, short rows ----------------------------------------------------- */

/* With add_2 the levels of a tree that adds up the lanes of sixteen vectors at
 * once and leaves sum j in lane j. */
INLINE __m512 add_1(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

INLINE __m512 add_4(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88),
                         _mm512_shuffle_f32x4(a, b, 0xdd));
}

INLINE __m512 products(const mf_step *s, const mf_rating *x,
                       const uint32_t each, const uint32_t vectors)
{
    __m512 w[4];

#pragma GCC unroll 4
    for (uint32_t g = 0; g < 4; g++) {
        __m512 a[4];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < 4; j += each)
            multiply(s, x + 4 * g + j, each, a + j, vectors);
        w[g] = add_2(add_1(a[0], a[1]), add_1(a[2], a[3]));
    }
    return add_4(add_4(w[0], w[1]), add_4(w[2], w[3]));
}

INLINE __m512 values(const mf_rating *x)
{
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13,
                                         11, 9, 7, 5, 3, 1);

    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi32(_mm512_loadu_si512(x), odd,
                                  _mm512_loadu_si512(x + 8)));
}

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    const uint32_t vectors = stride / MF_LANES;

    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bw"))
        return NULL;
    return stride <= MF_SHORT ? kernel_of_short[vectors - 1]
                              : kernel_of_long(vectors);
}

/* ---- CCD++ --------------------------------------------------------------- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* in the macro, at -O0 */
/* Pairs of eight items, as they stand in memory. */
static inline __m512 pairs(__m256i item, __mmask8 mask, const float *factor)
{
    const double *pair = (const double *)(const void *)factor;

    return _mm512_castpd_ps(
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, item, pair, 8));
}
#pragma GCC diagnostic pop

static mf_rank_sums swap(const mf_rank_line *line, const float *factor,
                         float was, float now)
{
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14,
                                          12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13,
                                         11, 9, 7, 5, 3, 1);
    const __m512 out = _mm512_set1_ps(-was), in = _mm512_set1_ps(now);
    __m512 side = _mm512_setzero_ps(), square = side, left = side;

    for (uint32_t k = 0; k < line->n; k += LANES) {
        const uint32_t m = line->n - k;
        const __mmask16 mask = (__mmask16)(m < LANES ? (1U << m) - 1 : 0xFFFFU);
        const __m512i item = _mm512_maskz_loadu_epi32(mask, line->item + k);
        const __m512 a =
            pairs(_mm512_castsi512_si256(item), (__mmask8)mask, factor);
        const __m512 b = pairs(_mm512_extracti64x4_epi64(item, 1),
                               (__mmask8)(mask >> 8), factor);
        const __m512 q = _mm512_permutex2var_ps(a, odd, b);
        const __m512 gone = _mm512_permutex2var_ps(a, even, b);
        const __m512 old = _mm512_maskz_loadu_ps(mask, line->left + k);
        const __m512 x =
            _mm512_fmadd_ps(in, q, _mm512_fmadd_ps(out, gone, old));
        _mm512_mask_storeu_ps(line->left + k, mask, x);
        side = _mm512_fmadd_ps(x, q, side);
        square = _mm512_fmadd_ps(q, q, square);
        left = _mm512_fmadd_ps(x, x, left);
    }
    return (mf_rank_sums){.side = _mm512_reduce_add_ps(side),
                          .square = _mm512_reduce_add_ps(square),
                          .left = _mm512_reduce_add_ps(left)};
}

mf_rank_swap mf_rank_swap_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? swap
               : NULL;
}

#endif
