/* The group Lasso (Yuan and Lin, J. R. Stat. Soc. B 68, 2006): l1 |w|_2 of a
 * group of n coefficients, which are 0 together; l1 includes the root of n. */
#include <float.h>
#include <math.h>

#include "glm_penalty.h"

/* |w|_2, without underflow or overflow of squares. */
static double size_of(const glm_term *t, const double *w)
{
    double sum = 0, size = 0;

    for (uint32_t k = 0; k < t->n; k++)
        sum += w[k] * w[k];
    if (sum > DBL_MIN / DBL_EPSILON && sum <= DBL_MAX)
        return sqrt(sum);
    for (uint32_t k = 0; k < t->n; k++)
        size = hypot(size, w[k]);
    return size;
}

static double group_value(const glm_term *t, const double *w)
{
    return t->l1 * size_of(t, w);
}

static void group_prox(const glm_term *t, const double *u, double a, double *w)
{
    const double size = size_of(t, u);
    const double share = a > 0 && size > t->l1 ? (1 - t->l1 / size) / a : 0;

    for (uint32_t k = 0; k < t->n; k++)
        w[k] = share * u[k];
}

/* An unpenalised group is assumed to be in a ball of radius `high`. */
static double group_conjugate(const glm_term *t, const double *q)
{
    const double over = size_of(t, q) - t->l1;

    return over <= 0 ? 0 : over * t->high;
}

static double group_shrink(const glm_term *t, const double *q)
{
    const double size = size_of(t, q);

    return isfinite(t->high) || size <= t->l1
               ? 1
               : (1 - GLM_SHRINK_MARGIN) * t->l1 / size;
}

static double group_violation(const glm_term *t, const double *w,
                              const double *q)
{
    const double size = size_of(t, w);
    double off = 0;

    if (size == 0) {
        off = size_of(t, q) - t->l1;
        return off <= 0 ? 0 : off;
    }
    for (uint32_t k = 0; k < t->n; k++)
        off = hypot(off, q[k] - t->l1 * (w[k] / size));
    return off;
}

const glm_penalty glm_penalty_group = {.share = 1,
                                       .grouped = true,
                                       .value = group_value,
                                       .prox = group_prox,
                                       .conjugate = group_conjugate,
                                       .shrink = group_shrink,
                                       .violation = group_violation};
