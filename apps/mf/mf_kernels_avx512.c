/* The inner loop for AVX-512: short rows, and the choice by length. The build
 * compiles this file for such processors; it is entered on them alone. */
#include "mf_kernels.h"

#ifndef __AVX512F__

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    (void)stride;
    return NULL;
}

#else

#include <stdbool.h>
#include <string.h>

#include "mf_kernels_vectors.h"

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

/* p_u q_i, lane by lane, of `each` ratings by one user; sums are products. */
INLINE void multiply(const mf_step *s, const mf_rating *x, const uint32_t each,
                     __m512 *out, const uint32_t vectors)
{
    const float *p = user_row(s, x, vectors), *q[PAIR];
    __m512 a = _mm512_load_ps(p);

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++)
        q[k] = item_row(s, x + k, vectors);
#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++)
        out[k] = _mm512_mul_ps(a, _mm512_load_ps(q[k]));
#pragma GCC unroll 8
    for (uint32_t v = 1; v < vectors; v++) {
        const size_t at = (size_t)v * MF_LANES;
        a = _mm512_load_ps(p + at);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++)
            out[k] = _mm512_fmadd_ps(a, _mm512_load_ps(q[k] + at), out[k]);
    }
}

/* The sixteen products of a batch, in which each user has `each` ratings in
 * turn. */
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

/* Updates of `each` ratings by one user; `decay_all` is decay^each. An item's
 * row is written before the next one's is read: fewer registers are taken. */
INLINE void move(const mf_step *s, const mf_rating *x, const float *g,
                 const uint32_t each, __m512 decay, __m512 decay_all,
                 const uint32_t vectors)
{
    float *p = user_row(s, x, vectors), *q[PAIR];
    __m512 f[PAIR];

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
        q[k] = item_row(s, x + k, vectors);
        f[k] = _mm512_set1_ps(g[k]);
    }
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++) {
        const size_t at = (size_t)v * MF_LANES;
        const __m512 a = _mm512_load_ps(p + at);
        __m512 to = _mm512_mul_ps(a, decay_all);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            const __m512 b = _mm512_load_ps(q[k] + at);
            to = _mm512_fmadd_ps(f[k], b, to);
            _mm512_store_ps(q[k] + at,
                            _mm512_fmadd_ps(f[k], a, _mm512_mul_ps(b, decay)));
        }
        _mm512_store_ps(p + at, to);
    }
}

/* A whole batch, of pairs if `each` is 2; `next` is the one after it. Items of
 * that one are asked for between this one's updates, which leave the memory's
 * paths free. */
INLINE __m512 batch(const mf_step *s, const mf_rating *x, const mf_rating *next,
                    const uint32_t each, const uint32_t vectors)
{
    const __m512 decay = _mm512_set1_ps(s->decay);
    const __m512 decay_all = each == 2 ? _mm512_mul_ps(decay, decay) : decay;
    const __m512 e = _mm512_sub_ps(values(x), products(s, x, each, vectors));
    _Alignas(MF_ALIGN) float g[MF_BATCH];

    _mm512_store_ps(g, _mm512_mul_ps(e, _mm512_set1_ps(s->size)));
#pragma GCC unroll 16
    for (uint32_t k = 0; k < MF_BATCH; k += each) {
        move(s, x + k, g + k, each, decay, decay_all, vectors);
#pragma GCC unroll 2
        for (uint32_t j = 0; j < each; j++)
            fetch_item(s, next + k + j, vectors);
    }
    return e;
}

/* The last few ratings of a cell; errors are 0 in the lanes after them. */
INLINE __m512 rest(const mf_step *s, const mf_rating *x, uint32_t n,
                   const uint32_t vectors)
{
    const __m512 decay = _mm512_set1_ps(s->decay);
    mf_rating last[MF_BATCH] = {{0, 0, 0}};
    _Alignas(MF_ALIGN) float g[MF_BATCH];

    memcpy(last, x, sizeof(*x) * n);
    const __m512 e =
        _mm512_maskz_sub_ps((__mmask16)((1U << n) - 1), values(last),
                            products(s, last, 1, vectors));
    _mm512_store_ps(g, _mm512_mul_ps(e, _mm512_set1_ps(s->size)));
    for (uint32_t k = 0; k < n; k++)
        move(s, last + k, g + k, 1, decay, decay, vectors);
    return e;
}

typedef __m512 squares;

INLINE squares no_squares(void)
{
    return _mm512_setzero_ps();
}

INLINE squares add_squares(squares sum, __m512 e)
{
    return _mm512_fmadd_ps(e, e, sum);
}

INLINE double sum_of(squares s)
{
    return (double)_mm512_reduce_add_ps(s);
}

#include "mf_short_pass.h"

mf_kernel mf_kernel_avx512(uint32_t stride)
{
    const uint32_t vectors = stride / MF_LANES;

    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bw"))
        return NULL;
    return stride <= MF_SHORT ? kernel_of_short[vectors - 1]
                              : mf_kernel_long_avx512(vectors);
}

#endif
