/* The portable loops over rows, and the choice of loops. With m = y z and e
 * = exp(-|m|) nothing overflows:
 *
 *     u = 1 / (1 + exp(m)),   f = log(1 + e) + max(-m, 0),
 *     u (1 - u) = e / (1 + e)^2,   u / (1 - u) = exp(-m). */
#include <math.h>

#include <strads/version.h>

#include "logistic_loops.h"

static void look_portable(const logistic_rows *rows, double *r,
                          logistic_sides *sums)
{
    for (uint64_t i = 0; i < rows->n; i++) {
        const double y = rows->y[i], c = rows->c[i], m = y * rows->z[i];
        const double e = exp(-fabs(m)), u = (m > 0 ? e : 1) / (1 + e);
        const double f = log1p(e) + fmax(-m, 0);
        logistic_side *side = &sums->of[y > 0];
        r[i] = c * y * u;
        if (c == 0)
            continue;
        side->loss += c * f;
        side->sum += c * u;
        side->loss_sum += c * u * f;
        side->margin += c * u * m;
        side->odds += c * u * (m > 0 ? e : 1 / e);
        side->squares += c * u * u;
    }
}

static double curve_portable(const logistic_rows *rows, double *r, double *h)
{
    double loss = 0;

    for (uint64_t i = 0; i < rows->n; i++) {
        const double y = rows->y[i], c = rows->c[i], m = y * rows->z[i];
        const double e = exp(-fabs(m)), u = (m > 0 ? e : 1) / (1 + e);
        if (r)
            r[i] = c * y * u;
        if (h)
            h[i] = c * (e / ((1 + e) * (1 + e)));
        loss += c * (log1p(e) + fmax(-m, 0));
    }
    return loss;
}

void logistic_freeze_portable(uint64_t n, const double *c, double least,
                              double *h, double *r)
{
    for (uint64_t i = 0; i < n; i++) {
        h[i] = sqrt(fmax(h[i], least * c[i]));
        r[i] = h[i] > 0 ? r[i] / h[i] : 0;
    }
}

/* Bounds H(t u) from below without another pass over the rows. Its first
 * half is -t u (log t + log u). The second, -(1 - t u) log(1 - t u), has at t =
 * 1 the value (1 - u) f, the slope u (1 - f), and on [t, 1] a curvature of at
 * most u^2 / (1 - u). Far from 1 the chord t H(u) is the better bound, because
 * H is concave. Near the optimum t is 1 up to the gap, and the bound is exact
 * up to its square. */
double logistic_entropy(const logistic_side *side, double t)
{
    const double whole = side->loss + side->margin;

    if (t >= 1)
        return whole;
    if (!(t > 0))
        return 0;
    const double first =
        t * (side->loss_sum + side->margin - log(t) * side->sum);
    const double second = side->loss - side->loss_sum -
                          (1 - t) * (side->sum - side->loss_sum) -
                          (1 - t) * (1 - t) / 2 * side->odds;
    return fmax(t * whole, first + second);
}

const logistic_loops logistic_loops_portable = {.name = "portable",
                                                .look = look_portable,
                                                .curve = curve_portable,
                                                .freeze =
                                                    logistic_freeze_portable};

const logistic_loops *logistic_loops_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const logistic_loops *fast =
        level == STRADS_KERNELS_AVX512 ? logistic_loops_avx512()
        : level == STRADS_KERNELS_AVX2 ? logistic_loops_avx2()
        : level == STRADS_KERNELS_NEON ? logistic_loops_neon()
                                       : NULL;

    return fast ? fast : &logistic_loops_portable;
}
