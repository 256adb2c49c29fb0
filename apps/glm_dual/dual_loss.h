/* The losses of support vector machines in one form, row by row:
 *
 *     loss(r) = max over low <= b <= high of  b r - e |b| - d/2 b^2
 *
 *     loss              target   low, high          d        e
 *     hinge             +-1      0 and C c y        0        0
 *     squared hinge     +-1      0 and y infinity   1/(2Cc)  0
 *     epsilon           y        -C c, C c          0        epsilon
 *     squared epsilon   y        -inf, inf          1/(2Cc)  epsilon
 *
 * so they differ in numbers only. The logistic loss has an entropy in the place
 * of e |b| + d/2 b^2; dual_entropy.h has its formulas. */
#ifndef DUAL_LOSS_H
#define DUAL_LOSS_H

#include <math.h>
#include <stdbool.h>

#include "dual_entropy.h"

/* Of two numbers; fmax and fmin, which also know of NaN, are calls. */
static inline double dual_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double dual_smaller(double a, double b)
{
    return a < b ? a : b;
}

typedef enum dual_loss_kind {
    DUAL_HINGE,
    DUAL_SQUARED_HINGE,
    DUAL_EPSILON,
    DUAL_SQUARED_EPSILON,
    DUAL_LOGISTIC /* of the program in dual_logistic.c alone */
} dual_loss_kind;

static inline bool dual_loss_classifies(dual_loss_kind kind)
{
    return kind == DUAL_HINGE || kind == DUAL_SQUARED_HINGE ||
           kind == DUAL_LOGISTIC;
}

typedef struct dual_sample {
    double target;
    double low, high;
    union {
        double ridge; /* d */
        double u;     /* logistic, once b is not 0: what b comes from */
    };
    double square; /* |x|^2, with the bias */
    double cost;   /* logistic: C c; 0 for the other losses */
    double b;
} dual_sample;

/* The sample of a row with that target (+-1 of a class) and weight C c; one
 * without weight stays at b = 0. `square` is the caller's. */
static inline dual_sample dual_sample_of(dual_loss_kind kind, double target,
                                         double cost)
{
    const bool squared =
        kind == DUAL_SQUARED_HINGE || kind == DUAL_SQUARED_EPSILON;
    const double most = squared && cost > 0 ? INFINITY : cost;
    const bool classes = dual_loss_classifies(kind);

    return (dual_sample){.target = target,
                         .low = classes && target > 0 ? 0 : -most,
                         .high = classes && target < 0 ? 0 : most,
                         .ridge = squared && cost > 0 ? .5 / cost : 0,
                         .cost = kind == DUAL_LOGISTIC ? cost : 0};
}

/* Whether the row's loss is the logistic one. */
static inline bool dual_has_entropy(const dual_sample *x)
{
    return x->cost > 0;
}

/* The b that is best for this row alone, s times as curved as it is:
 *
 *     argmin  s |x|^2/2 (b - b0)^2 + z (b - b0) - target b + e |b| + d/2 b^2 */
static inline double dual_best(const dual_sample *x, double flat, double safety,
                               double b, double z)
{
    const double curvature = safety * x->square + x->ridge;
    const double slope = safety * x->square * b + x->target - z;
    double best;

    if (!(curvature > 0)) /* an empty row: its loss does not depend on w */
        best = slope > flat ? x->high : slope < -flat ? x->low : 0;
    else if (slope > flat)
        best = (slope - flat) / curvature;
    else if (slope < -flat)
        best = (slope + flat) / curvature;
    else
        best = 0;
    return dual_smaller(dual_larger(best, x->low), x->high);
}

/* A step to there and beyond: `stride` times as far, within the bounds and not
 * over the corner that e |b| has. D of this row alone is no lower there than at
 * b for strides up to 2. */
static inline double dual_beyond(const dual_sample *x, double flat,
                                 double stride, double b, double best)
{
    const double far = b + stride * (best - b);

    return flat > 0 && far * best <= 0
               ? best
               : dual_smaller(dual_larger(far, x->low), x->high);
}

/* Whether D is smooth in b there: between two bounds, and off the corner that
 * e |b| has. */
static inline bool dual_is_inside(const dual_sample *x, double flat)
{
    return x->b > x->low && x->b < x->high && (flat == 0 || x->b != 0);
}

/* Whether the loss has no kinks. */
static inline bool dual_loss_is_smooth(dual_loss_kind kind)
{
    return kind == DUAL_SQUARED_HINGE || kind == DUAL_SQUARED_EPSILON ||
           kind == DUAL_LOGISTIC;
}

/* The b that a given z asks for when it is held to `anchor` by 1/(2 sigma)
 * (b - anchor)^2, which smooth losses need not be, and how fast it changes with
 * r. */
static inline double dual_smooth(const dual_sample *x, double flat,
                                 double sigma, double anchor, double z,
                                 double *h)
{
    if (dual_has_entropy(x)) {
        const double a = dual_logistic(-x->target * z);
        *h = x->cost * a * (1 - a);
        return x->target * x->cost * a;
    }
    const double hold = 1 / sigma, bend = hold + x->ridge;
    const double pull = x->target - z + hold * anchor;
    const double b = pull > flat    ? (pull - flat) / bend
                     : pull < -flat ? (pull + flat) / bend
                                    : 0;

    *h = bend > 0 && b > x->low && b < x->high && (flat == 0 || b != 0)
             ? 1 / bend
             : 0;
    return dual_smaller(dual_larger(b, x->low), x->high);
}

/* Where the maximum in loss(r) is taken: what b a given z asks for. */
static inline double dual_answer(const dual_sample *x, double flat, double z)
{
    if (dual_has_entropy(x))
        return x->target * x->cost * dual_logistic(-x->target * z);
    const double r = x->target - z;
    const double t = fabs(r) - flat;
    double b = t > 0 ? copysign(x->ridge > 0 ? t / x->ridge : INFINITY, r) : 0;

    return dual_smaller(dual_larger(b, x->low), x->high);
}

/* How steeply D rises in b, upward and downward; at a bound there is no way
 * on. Both are negative, or 0, where b is best. */
static inline double dual_rise_up(const dual_sample *x, double flat, double b,
                                  double z)
{
    return b < x->high ? x->target - z - x->ridge * b - (b >= 0 ? flat : -flat)
                       : -INFINITY;
}

static inline double dual_rise_down(const dual_sample *x, double flat, double b,
                                    double z)
{
    return b > x->low ? z - x->target + x->ridge * b - (b <= 0 ? flat : -flat)
                      : -INFINITY;
}

/* The steeper of the two; where there is an entropy D has no corner to rest in,
 * and every row may always move. */
static inline double dual_rise(const dual_sample *x, double flat, double b,
                               double z)
{
    return dual_has_entropy(x) ? INFINITY
                               : dual_larger(dual_rise_up(x, flat, b, z),
                                             dual_rise_down(x, flat, b, z));
}

/* One side of the loss: the largest b (t - d/2 b) for 0 <= b <= most. */
static inline double dual_side(double t, double most, double ridge)
{
    if (!(t > 0) || most == 0)
        return 0;
    return ridge > 0 ? t * t / (2 * ridge) : most * t;
}

static inline double dual_loss_at(const dual_sample *x, double flat, double z)
{
    if (dual_has_entropy(x))
        return dual_entropy_loss(x->cost, x->target * z);
    const double r = x->target - z;

    return r > 0 ? dual_side(r - flat, x->high, x->ridge)
                 : dual_side(-r - flat, -x->low, x->ridge);
}

/* The row's part of D, but for 1/2 |w|^2. */
static inline double dual_conjugate(const dual_sample *x, double flat, double b)
{
    if (dual_has_entropy(x))
        return dual_entropy_dual(x->cost, x->target * b);
    return b * (x->target - x->ridge / 2 * b) - flat * fabs(b);
}

/* The row's share of the duality gap: P - D = sum of loss - dual + z b, none of
 * which is negative. */
static inline double dual_gap_at(const dual_sample *x, double flat, double b,
                                 double z)
{
    return dual_larger(dual_loss_at(x, flat, z) - dual_conjugate(x, flat, b) +
                           z * b,
                       0);
}

#endif
