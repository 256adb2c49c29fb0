/* The loops over rows for AVX-512. The build compiles this file for such
 * processors; it is entered on them alone. */
#include "logistic_loops.h"

#ifndef __AVX512F__

const logistic_loops *logistic_loops_avx512(void)
{
    return NULL;
}

#else

#include "vector_lanes.h"

#define LEAST_CURVATURE 1e-12

typedef wide wide;

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
    v.e = wide_exp_minus(_mm512_abs_pd(v.m));
    v.one_e = _mm512_add_pd(v.e, all(1));
    const __mmask8 right = _mm512_cmp_pd_mask(v.m, all(0), _CMP_GT_OQ);
    v.u = _mm512_div_pd(_mm512_mask_mov_pd(all(1), right, v.e), v.one_e);
    v.f = _mm512_add_pd(wide_log_1p(v.e),
                        _mm512_max_pd(_mm512_sub_pd(all(0), v.m), all(0)));
    return v;
}

static void look(const logistic_rows *rows, double *r, logistic_sides *sums)
{
    wide sum[2][LOGISTIC_SUMS];

    for (int k = 0; k < LOGISTIC_SUMS; k++)
        sum[0][k] = sum[1][k] = all(0);
    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const __mmask8 mask = lanes_first(rows->n - i);
        const eight v = read_eight(rows, i, mask);
        const wide cu = mul(v.c, v.u);
        const __mmask8 right = _mm512_cmp_pd_mask(v.m, all(0), _CMP_GT_OQ);
        const __mmask8 used = _mm512_cmp_pd_mask(v.c, all(0), _CMP_NEQ_OQ);
        const __mmask8 positive = _mm512_cmp_pd_mask(v.y, all(0), _CMP_GT_OQ);
        const wide odds =
            _mm512_mask_div_pd(v.e, (__mmask8)~right, all(1), v.e);
        _mm512_mask_storeu_pd(r + i, mask, mul(cu, v.y));
        const wide term[LOGISTIC_SUMS] = {mul(v.c, v.f),
                                          cu,
                                          mul(cu, v.f),
                                          mul(cu, v.m),
                                          _mm512_maskz_mul_pd(used, cu, odds),
                                          mul(cu, v.u)};
        for (int k = 0; k < LOGISTIC_SUMS; k++) {
            sum[1][k] =
                _mm512_mask_add_pd(sum[1][k], positive, sum[1][k], term[k]);
            sum[0][k] = _mm512_mask_add_pd(sum[0][k], (__mmask8)~positive,
                                           sum[0][k], term[k]);
        }
    }
    for (int s = 0; s < 2; s++) {
        double total[LOGISTIC_SUMS];
        for (int k = 0; k < LOGISTIC_SUMS; k++)
            total[k] = _mm512_reduce_add_pd(sum[s][k]);
        logistic_side_add(&sums->of[s], total);
    }
}

static double freeze(const logistic_rows *rows, double *root, double *rest)
{
    wide loss = all(0);

    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const __mmask8 mask = lanes_first(rows->n - i);
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
