/* The loops over rows for AVX2. The build compiles this file for such
 * processors; it is entered on them alone. */
#include "logistic_loops.h"

#ifndef __AVX2__

const logistic_loops *logistic_loops_avx2(void)
{
    return NULL;
}

#else

#include "vector_lanes.h"

#define LEAST_CURVATURE 1e-12

typedef wide wide;

static inline wide all(double x)
{
    return _mm256_set1_pd(x);
}

static inline wide mul(wide a, wide b)
{
    return _mm256_mul_pd(a, b);
}

/* What both loops need of four rows; lanes outside of `mask` have weight 0. */
typedef struct four {
    wide y, c, m, e, one_e, u, f;
    wide right; /* all bits where m > 0 */
} four;

static inline four read_four(const logistic_rows *rows, uint64_t i,
                             __m256i mask)
{
    four v;
    v.y = _mm256_blendv_pd(all(1), _mm256_maskload_pd(rows->y + i, mask),
                           _mm256_castsi256_pd(mask));
    v.c = _mm256_maskload_pd(rows->c + i, mask);
    v.m = mul(v.y, _mm256_maskload_pd(rows->z + i, mask));
    v.e = wide_exp_minus(wide_abs(v.m));
    v.one_e = _mm256_add_pd(v.e, all(1));
    v.right = _mm256_cmp_pd(v.m, all(0), _CMP_GT_OQ);
    v.u = _mm256_div_pd(_mm256_blendv_pd(all(1), v.e, v.right), v.one_e);
    v.f = _mm256_add_pd(wide_log_1p(v.e),
                        _mm256_max_pd(_mm256_sub_pd(all(0), v.m), all(0)));
    return v;
}

static void look(const logistic_rows *rows, double *r, logistic_sides *sums)
{
    wide sum[2][LOGISTIC_SUMS];

    for (int k = 0; k < LOGISTIC_SUMS; k++)
        sum[0][k] = sum[1][k] = all(0);
    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const __m256i mask = lanes_first(rows->n - i);
        const four v = read_four(rows, i, mask);
        const wide cu = mul(v.c, v.u);
        const wide used = _mm256_cmp_pd(v.c, all(0), _CMP_NEQ_OQ);
        const wide positive = _mm256_cmp_pd(v.y, all(0), _CMP_GT_OQ);
        const wide odds =
            _mm256_blendv_pd(_mm256_div_pd(all(1), v.e), v.e, v.right);
        _mm256_maskstore_pd(r + i, mask, mul(cu, v.y));
        const wide term[LOGISTIC_SUMS] = {mul(v.c, v.f),
                                          cu,
                                          mul(cu, v.f),
                                          mul(cu, v.m),
                                          _mm256_and_pd(used, mul(cu, odds)),
                                          mul(cu, v.u)};
        for (int k = 0; k < LOGISTIC_SUMS; k++) {
            sum[1][k] =
                _mm256_add_pd(sum[1][k], _mm256_and_pd(positive, term[k]));
            sum[0][k] =
                _mm256_add_pd(sum[0][k], _mm256_andnot_pd(positive, term[k]));
        }
    }
    for (int s = 0; s < 2; s++) {
        double total[LOGISTIC_SUMS];
        for (int k = 0; k < LOGISTIC_SUMS; k++)
            total[k] = wide_sum(sum[s][k]);
        logistic_side_add(&sums->of[s], total);
    }
}

static double freeze(const logistic_rows *rows, double *root, double *rest)
{
    wide loss = all(0);

    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const __m256i mask = lanes_first(rows->n - i);
        const four v = read_four(rows, i, mask);
        const wide h = _mm256_max_pd(_mm256_div_pd(v.e, mul(v.one_e, v.one_e)),
                                     all(LEAST_CURVATURE));
        const wide s = _mm256_sqrt_pd(mul(v.c, h));
        const wide used = _mm256_cmp_pd(v.c, all(0), _CMP_GT_OQ);
        _mm256_maskstore_pd(root + i, mask, s);
        _mm256_maskstore_pd(
            rest + i, mask,
            _mm256_and_pd(used, _mm256_div_pd(mul(mul(v.c, v.y), v.u), s)));
        loss = _mm256_fmadd_pd(v.c, v.f, loss);
    }
    return wide_sum(loss);
}

static const logistic_loops avx2 = {.name = "avx2",
                                    .loss = &logistic_loss_itself,
                                    .look = look,
                                    .freeze = freeze};

const logistic_loops *logistic_loops_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? &avx2
               : NULL;
}

#endif
