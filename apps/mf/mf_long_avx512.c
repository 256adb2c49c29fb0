/* The inner loop for AVX-512: rows longer than MF_SHORT. The build compiles
 * this file for such processors; it is entered on them alone. */
#include "mf_kernels.h"

#ifdef __AVX512F__

#include <stdbool.h>

#include "mf_kernels_vectors.h"

enum {
    KEPT = 8, /* vectors of three rows that fit into registers */
    SOON = 8  /* ratings that an item is asked for before */
};

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

mf_kernel mf_kernel_long_avx512(uint32_t vectors)
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

#endif
