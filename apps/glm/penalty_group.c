/* Groups of coefficients that are 0 together. With a = share l1 and
 * b = l1 - a, a group of n costs
 *
 *     a |w|_1 + b |w|_2
 *
 * The group Lasso has a = 0 (Yuan and Lin, J. R. Stat. Soc. B 68, 2006); with
 * both, coefficients of a group may be 0, too (the sparse-group Lasso: Simon,
 * Friedman, Hastie, Tibshirani, J. Comp. Graph. Stat. 22, 2013). l1 includes
 * the root of n.
 *
 * Let S be soft thresholding at a. Slopes q keep w at 0 if |S(q)|_2 <= b: then
 * they are in the sum of a box and a ball. If w >= 0 (low is 0), S is
 * max(q - a, 0), and all else is the same: the penalty is then the support
 * function of that sum minus the positive orthant. */
#include <float.h>
#include <math.h>

#include "glm_penalty.h"

static double soft_part(const glm_term *t, double q, double a)
{
    const double over = (t->low < 0 ? fabs(q) : q) - a;

    return over <= 0 ? 0 : copysign(over, q);
}

/* |S(w)|_2, without underflow or overflow of squares. */
static double size_over(const glm_term *t, const double *w, double a)
{
    double sum = 0, size = 0;

    for (uint32_t k = 0; k < t->n; k++) {
        const double v = soft_part(t, w[k], a);
        sum += v * v;
    }
    if (sum > DBL_MIN / DBL_EPSILON && sum <= DBL_MAX)
        return sqrt(sum);
    for (uint32_t k = 0; k < t->n; k++)
        size = hypot(size, soft_part(t, w[k], a));
    return size;
}

static double box_of(const glm_term *t)
{
    return t->share * t->l1;
}

static double ball_of(const glm_term *t)
{
    return t->l1 - box_of(t);
}

static double group_value(const glm_term *t, const double *w)
{
    double sum = 0;

    for (uint32_t k = 0; k < t->n; k++) {
        sum += fabs(w[k]);
        if (w[k] < t->low)
            return INFINITY;
    }
    return box_of(t) * sum + ball_of(t) * size_over(t, w, 0);
}

static void group_prox(const glm_term *t, const double *u, double a, double *w)
{
    const double size = size_over(t, u, box_of(t)), ball = ball_of(t);
    const double share = a > 0 && size > ball ? (1 - ball / size) / a : 0;

    for (uint32_t k = 0; k < t->n; k++)
        w[k] = share * soft_part(t, u[k], box_of(t));
}

/* An unpenalised group is assumed to be in a ball of radius `high`. */
static double group_conjugate(const glm_term *t, const double *q)
{
    const double over = size_over(t, q, box_of(t)) - ball_of(t);

    return over <= 0 ? 0 : over * t->high;
}

/* The x with |S(q)|_2 = (1 - share) x for thresholds share x (the epsilon-norm:
 * Ndiaye, Fercoq, Gramfort, Salmon, NIPS 2016). The difference is convex and
 * decreases in x, so Newton's steps from below increase up to the root. */
static double group_dual_norm(const glm_term *t, const double *q)
{
    enum { STEPS_MAX = 200 };
    const double a = t->share;
    double x = 0;

    if (a == 0)
        return size_over(t, q, 0);
    for (uint32_t k = 0; k < t->n; k++) {
        const double size = soft_part(t, q[k], 0);
        x = isnan(size) ? size : fabs(size) > x ? fabs(size) : x;
    }
    for (uint32_t step = 0; step < STEPS_MAX && isfinite(x); step++) {
        const double size = size_over(t, q, a * x);
        const double off = size - (1 - a) * x;
        double sum = 0;
        if (!(off > 0))
            break;
        for (uint32_t k = 0; k < t->n; k++)
            sum += fabs(soft_part(t, q[k], a * x)) / size;
        const double to = x + off / (a * sum + 1 - a);
        if (!(to > x))
            break;
        x = to;
    }
    return x;
}

static double group_shrink(const glm_term *t, const double *q)
{
    const double size = isfinite(t->high) ? 0 : group_dual_norm(t, q);

    return size <= t->l1 ? 1 : (1 - GLM_SHRINK_MARGIN) * t->l1 / size;
}

static double group_violation(const glm_term *t, const double *w,
                              const double *q)
{
    const double size = size_over(t, w, 0), box = box_of(t), ball = ball_of(t);
    double off = 0;

    if (size == 0) {
        off = size_over(t, q, box) - ball;
        return off <= 0 ? 0 : off;
    }
    for (uint32_t k = 0; k < t->n; k++)
        off = hypot(off, w[k] == 0 ? soft_part(t, q[k], box)
                                   : q[k] - copysign(box, w[k]) -
                                         ball * (w[k] / size));
    return off;
}

#define GROUP                                                  \
    .grouped = true, .value = group_value, .prox = group_prox, \
    .conjugate = group_conjugate, .shrink = group_shrink,      \
    .violation = group_violation, .dual_norm = group_dual_norm

const glm_penalty glm_penalty_group = {.share = 1, GROUP};
const glm_penalty glm_penalty_sparse_group = {.share = .5,
                                              .mixed = true,
                                              GROUP};
