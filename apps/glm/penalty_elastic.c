/* l1 |w| + l2/2 w^2 between bounds: the Lasso, ridge, and elastic nets
 * between them; l1 and l2 are 0 for an unpenalised coefficient. */
#include <math.h>

#include "glm_penalty.h"

static double clamp(const glm_term *t, double w)
{
    return w < t->low ? t->low : w > t->high ? t->high : w;
}

/* NaN if q is: with fmax() it would be 0, and look like a solved column. */
static double soft(double q, double l1)
{
    const double over = fabs(q) - l1;

    return over <= 0 ? copysign(0, q) : copysign(over, q);
}

static double elastic_value(const glm_term *t, const double *w)
{
    return *w < t->low || *w > t->high ? INFINITY
                                       : t->l1 * fabs(*w) + t->l2 / 2 * *w * *w;
}

static void elastic_prox(const glm_term *t, const double *u, double a,
                         double *w)
{
    const double over = soft(*u, t->l1);

    *w = over != 0 && a + t->l2 > 0 ? clamp(t, over / (a + t->l2)) : 0;
}

static double elastic_conjugate(const glm_term *t, const double *q)
{
    const double over = soft(*q, t->l1);
    const double edge = over > 0 ? t->high : t->low;

    if (over == 0)
        return 0;
    if (t->l2 == 0)
        return edge == 0 ? 0 : over * edge;
    const double w = clamp(t, over / t->l2);
    return over * w - t->l2 / 2 * w * w;
}

static double elastic_shrink(const glm_term *t, const double *q)
{
    const double edge = *q > 0 ? t->high : t->low;

    return t->l2 > 0 || isfinite(edge) || fabs(*q) <= t->l1
               ? 1
               : (1 - GLM_SHRINK_MARGIN) * t->l1 / fabs(*q);
}

static double elastic_violation(const glm_term *t, const double *w,
                                const double *q)
{
    const double d =
        *w != 0 ? *q - copysign(t->l1, *w) - t->l2 * *w : soft(*q, t->l1);

    return (d > 0 && *w >= t->high) || (d < 0 && *w <= t->low) ? 0 : fabs(d);
}

#define ELASTIC                                               \
    .value = elastic_value, .prox = elastic_prox,             \
    .conjugate = elastic_conjugate, .shrink = elastic_shrink, \
    .violation = elastic_violation

const glm_penalty glm_penalty_l1 = {.share = 1, ELASTIC};
const glm_penalty glm_penalty_elastic_net = {.share = .5,
                                             .mixed = true,
                                             ELASTIC};
const glm_penalty glm_penalty_ridge = {.share = 0, ELASTIC};
const glm_penalty glm_penalty_none = {.share = 0, .off = true, ELASTIC};
