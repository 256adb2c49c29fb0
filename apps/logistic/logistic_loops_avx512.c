/* The loops over rows for AVX-512. The build compiles this file for such
 * processors; it is entered on them alone.
 *
 * exp(-t), t >= 0, by exp(-t) = 2^k exp(g), |g| <= log(2)/2, and a polynomial;
 * log(1 + e), 0 <= e <= 1, by 2 atanh(e / (2 + e)) and its series, where the
 * argument is halved first when it is above sqrt(2). Both are within some units
 * of the last place of libm's. */
#include "logistic_loops.h"

#ifndef __AVX512F__

const logistic_loops *logistic_loops_avx512(void)
{
    return NULL;
}

#else

#include <immintrin.h>

enum { LANES = 8 };
#define LEAST_CURVATURE 1e-12

typedef __m512d wide;

static inline wide all(double x)
{
    return _mm512_set1_pd(x);
}

static inline wide mul_add(wide a, wide b, wide c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline wide mul(wide a, wide b)
{
    return _mm512_mul_pd(a, b);
}

/* 1 / k! from k = 13 down to 0. */
static const double exp_series[] = {1.6059043836821613e-10,
                                    2.08767569878681e-09,
                                    2.505210838544172e-08,
                                    2.755731922398589e-07,
                                    2.7557319223985893e-06,
                                    2.48015873015873e-05,
                                    1.984126984126984e-04,
                                    1.388888888888889e-03,
                                    8.333333333333333e-03,
                                    4.1666666666666664e-02,
                                    1.6666666666666666e-01,
                                    .5,
                                    1,
                                    1};

/* exp(-t) for t >= 0; 0 from some 708 on. */
static inline wide exp_minus(wide t)
{
    const wide x = _mm512_max_pd(_mm512_sub_pd(all(0), t), all(-708));
    /* Added to 1.5 x 2^52 a number loses what is behind its point. */
    const wide big = all(0x1.8p52);
    const wide k = _mm512_sub_pd(mul_add(x, all(1.4426950408889634), big), big);
    wide g = mul_add(k, all(-0x1.62e42fefa0000p-1), x);
    g = mul_add(k, all(-0x1.cf79abc9e3b39p-40), g);
    wide p = all(exp_series[0]);
    for (int i = 1; i < 14; i++)
        p = mul_add(p, g, all(exp_series[i]));
    p = _mm512_scalef_pd(p, k);
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(t, all(708), _CMP_LE_OQ), p);
}

/* log(1 + e) for 0 <= e <= 1. */
static inline wide log_1p(wide e)
{
    const __mmask8 high =
        _mm512_cmp_pd_mask(e, all(0.41421356237309503), _CMP_GT_OQ);
    /* High: log 2 + log(1 + d), d = (e - 1) / 2 in (-.3, 0]. */
    const wide d =
        _mm512_mask_mov_pd(e, high, mul(_mm512_sub_pd(e, all(1)), all(.5)));
    const wide a = _mm512_div_pd(d, _mm512_add_pd(d, all(2)));
    const wide a2 = mul(a, a);
    wide p = all(2. / 23);
    for (int k = 21; k >= 1; k -= 2)
        p = mul_add(p, a2, all(2. / k));
    return mul_add(p, a, _mm512_maskz_mov_pd(high, all(0.6931471805599453)));
}

/* What both loops need of eight rows; lanes outside of `mask` have weight 0. */
typedef struct eight {
    wide y, c, m, e, one_e, u, f;
} eight;

static inline eight read_eight(const logistic_rows *rows, uint64_t i,
                               __mmask8 mask)
{
    eight v;
    v.y = _mm512_mask_loadu_pd(all(1), mask, rows->y + i);
    v.c = _mm512_maskz_loadu_pd(mask, rows->c + i);
    v.m = mul(v.y, _mm512_maskz_loadu_pd(mask, rows->z + i));
    v.e = exp_minus(_mm512_abs_pd(v.m));
    v.one_e = _mm512_add_pd(v.e, all(1));
    const __mmask8 right = _mm512_cmp_pd_mask(v.m, all(0), _CMP_GT_OQ);
    v.u = _mm512_div_pd(_mm512_mask_mov_pd(all(1), right, v.e), v.one_e);
    v.f = _mm512_add_pd(log_1p(v.e),
                        _mm512_max_pd(_mm512_sub_pd(all(0), v.m), all(0)));
    return v;
}

static inline __mmask8 mask_of(uint64_t left)
{
    return (__mmask8)(left < LANES ? (1u << left) - 1 : 0xff);
}

static void look(const logistic_rows *rows, double *r, logistic_sides *sums)
{
    enum { SUMS = 6 };
    wide sum[2][SUMS];

    for (int k = 0; k < SUMS; k++)
        sum[0][k] = sum[1][k] = all(0);
    for (uint64_t i = 0; i < rows->n; i += LANES) {
        const __mmask8 mask = mask_of(rows->n - i);
        const eight v = read_eight(rows, i, mask);
        const wide cu = mul(v.c, v.u);
        const __mmask8 right = _mm512_cmp_pd_mask(v.m, all(0), _CMP_GT_OQ);
        const __mmask8 used = _mm512_cmp_pd_mask(v.c, all(0), _CMP_NEQ_OQ);
        const __mmask8 positive = _mm512_cmp_pd_mask(v.y, all(0), _CMP_GT_OQ);
        const wide odds =
            _mm512_mask_div_pd(v.e, (__mmask8)~right, all(1), v.e);
        _mm512_mask_storeu_pd(r + i, mask, mul(cu, v.y));
        const wide term[SUMS] = {mul(v.c, v.f),
                                 cu,
                                 mul(cu, v.f),
                                 mul(cu, v.m),
                                 _mm512_maskz_mul_pd(used, cu, odds),
                                 mul(cu, v.u)};
        for (int k = 0; k < SUMS; k++) {
            sum[1][k] =
                _mm512_mask_add_pd(sum[1][k], positive, sum[1][k], term[k]);
            sum[0][k] = _mm512_mask_add_pd(sum[0][k], (__mmask8)~positive,
                                           sum[0][k], term[k]);
        }
    }
    for (int s = 0; s < 2; s++) {
        logistic_side *side = &sums->of[s];
        double *to[SUMS] = {&side->loss,   &side->sum,  &side->loss_sum,
                            &side->margin, &side->odds, &side->squares};
        for (int k = 0; k < SUMS; k++)
            *to[k] += _mm512_reduce_add_pd(sum[s][k]);
    }
}

static double freeze(const logistic_rows *rows, double *root, double *rest)
{
    wide loss = all(0);

    for (uint64_t i = 0; i < rows->n; i += LANES) {
        const __mmask8 mask = mask_of(rows->n - i);
        const eight v = read_eight(rows, i, mask);
        const wide h = _mm512_max_pd(_mm512_div_pd(v.e, mul(v.one_e, v.one_e)),
                                     all(LEAST_CURVATURE));
        const wide s = _mm512_sqrt_pd(mul(v.c, h));
        const __mmask8 used = _mm512_cmp_pd_mask(v.c, all(0), _CMP_GT_OQ);
        _mm512_mask_storeu_pd(root + i, mask, s);
        _mm512_mask_storeu_pd(rest + i, mask,
                              _mm512_maskz_div_pd(used, mul(mul(v.c, v.y), v.u),
                                                  s));
        loss = mul_add(v.c, v.f, loss);
    }
    return _mm512_reduce_add_pd(loss);
}

static const logistic_loops avx512 = {.name = "avx512",
                                      .loss = &logistic_loss_itself,
                                      .look = look,
                                      .freeze = freeze};

const logistic_loops *logistic_loops_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq")
               ? &avx512
               : NULL;
}

#endif
