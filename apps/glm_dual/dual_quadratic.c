/* Losses with a quadratic or linear g between bounds:
 *
 *     g(b) = b target - epsilon |b| - d/2 b^2
 *
 * Four of them differ in numbers only and share all formulas: a row's best b is
 * a division and a comparison (Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML
 * 2008; Ho and Lin, JMLR 2012, for epsilon). A row at a bound becomes inactive
 * if its slope points outward steeply enough (section 3.2 of the former,
 * "shrinking"). */
#include "dual.h"

/* ---- formulas ---------------------------------------------------------- */

static inline double quadratic_value(const dual_sample *x, double z)
{
    const double r = x->target - z, t = fabs(r) - x->flat;
    const double most = r > 0 ? x->high : -x->low;

    if (t <= 0 || (most == 0 && !isnan(z)))
        return 0;
    return x->ridge > 0 ? t * t / (2 * x->ridge) : most * t;
}

static inline double quadratic_conjugate(const dual_sample *x, double b)
{
    return b * (x->target - x->ridge / 2 * b) - x->flat * fabs(b);
}

/* Upward and downward; at a bound only one direction is allowed. */
static inline double quadratic_ascent(const dual_sample *x, double z)
{
    const double b = x->b, slope = x->target - z - x->ridge * b;
    const double up =
        b < x->high ? slope - (b >= 0 ? x->flat : -x->flat) : -INFINITY;
    const double down =
        b > x->low ? -slope - (b <= 0 ? x->flat : -x->flat) : -INFINITY;

    return dual_larger(up, down);
}

/* The zero of slope - curvature b - epsilon sign(b), within bounds. */
static inline double peak(const dual_sample *x, double slope, double curvature)
{
    const double t = fabs(slope) - x->flat;
    const double b = t > 0 ? copysign(t / curvature, slope) : 0;

    return dual_smaller(dual_larger(b, x->low), x->high);
}

/* An empty row goes to a bound, because its loss does not depend on w. */
static inline double quadratic_best(const dual_sample *x, double safety,
                                    double z)
{
    const double own = safety * x->square;

    return peak(x, own * x->b + x->target - z, own + x->ridge);
}

static dual_answer quadratic_answer(const dual_sample *x, double sigma,
                                    double anchor, double z)
{
    const double hold = 1 / sigma, bend = hold + x->ridge;
    const double b = peak(x, x->target - z + hold * anchor, bend);
    const bool moves =
        bend > 0 && b > x->low && b < x->high && (x->flat == 0 || b != 0);

    return (dual_answer){.b = b, .h = moves ? 1 / bend : 0, .u = x->ridge};
}

/* ---- visits ------------------------------------------------------------ */

/* A step to the best b and beyond: `stride` times as far, within bounds and
 * not across the corner of epsilon |b|. D does not decrease for strides up to
 * 2. */
static inline double beyond(const dual_sample *x, double stride, double to)
{
    const double far = x->b + stride * (to - x->b);

    return x->flat > 0 && far * to <= 0
               ? to
               : dual_smaller(dual_larger(far, x->low), x->high);
}

/* With many columns, steps are longer than to a row's own optimum: similar
 * rows all move in the same direction, so fewer passes suffice (successive
 * over-relaxation, Young, Trans. AMS 76, 1954). For losses with kinks, only
 * common directions of rows give D curvature. */
static double stride_of(const dual_local *local)
{
    return local->columns < DUAL_NEWTON_COLUMNS ? 1
           : local->loss->smooth                ? 1.1
                                                : 1.25;
}

/* Moves one row to its best b and beyond. False: it is inactive from now on. */
static inline bool visit_row(dual_visit *v, double stride, dual_sample *x,
                             const data_column *row)
{
    dual_local *local = v->local;
    const double z = dual_dot(local, row, local->w), was = x->b;
    const double up = quadratic_ascent(x, z);
    const bool inside = dual_is_inside(x);

    v->visits++;
    if (up > 0) {
        v->worst = dual_larger(v->worst, up);
        v->gap += dual_larger(quadratic_value(x, z) -
                                  quadratic_conjugate(x, was) + z * was,
                              0);
        x->b = beyond(x, stride, quadratic_best(x, v->safety, z));
        if (x->b != was)
            dual_add(local, row, v->safety * (x->b - was), local->w);
    }
    v->inside += dual_is_inside(x);
    v->crossed += dual_is_inside(x) != inside;
    return up >= -v->steep;
}

/* Inactive rows cost nothing: their part of D is known. */
static void visit_quadratic(dual_visit *v)
{
    const uint64_t n = v->group.end - v->group.begin;
    const uint32_t all = n > 0 ? UINT32_MAX >> (DUAL_GROUP_MAX - n) : 0;
    const double stride = stride_of(v->local);
    double resting = v->wakes ? 0 : *v->group.resting;
    uint32_t awake = 0, rows = v->wakes ? all : all & *v->group.awake;

    for (; rows > 0; rows &= rows - 1) {
        const uint64_t i = v->group.begin + (uint64_t)__builtin_ctz(rows);
        dual_sample *x = &v->group.sample[i];
        const data_column row = dual_row_of(v->group.share, i);
        if (visit_row(v, stride, x, &row)) {
            awake |= rows & (~rows + 1);
            v->entries += row.n;
            v->part += quadratic_conjugate(x, x->b);
        } else {
            resting += quadratic_conjugate(x, x->b);
        }
    }
    *v->group.awake = awake;
    *v->group.resting = resting;
    v->part += resting;
    v->all_rest = awake == 0;
}

/* ---- the losses -------------------------------------------------------- */

/* Between 0 and the bound on the target's side. */
static void set_side(dual_sample *x, double target, double most)
{
    x->low = target > 0 ? 0 : -most;
    x->high = target > 0 ? most : 0;
}

static void set_hinge(dual_sample *x, double target, double cost,
                      double epsilon)
{
    (void)epsilon;
    *x = (dual_sample){.target = target, .square = x->square, .cost = cost};
    set_side(x, target, cost);
}

static void set_squared_hinge(dual_sample *x, double target, double cost,
                              double epsilon)
{
    set_hinge(x, target, cost, epsilon);
    set_side(x, target, cost > 0 ? INFINITY : 0);
    x->ridge = cost > 0 ? .5 / cost : 0;
}

static void set_epsilon(dual_sample *x, double target, double cost,
                        double epsilon)
{
    set_hinge(x, target, cost, epsilon);
    x->flat = epsilon;
    x->low = -cost;
    x->high = cost;
}

static void set_squared_epsilon(dual_sample *x, double target, double cost,
                                double epsilon)
{
    set_epsilon(x, target, cost, epsilon);
    x->high = cost > 0 ? INFINITY : 0;
    x->low = -x->high;
    x->ridge = cost > 0 ? .5 / cost : 0;
}

#define QUADRATIC                                                 \
    .quadratic = true, .value = quadratic_value,                  \
    .conjugate = quadratic_conjugate, .ascent = quadratic_ascent, \
    .best = quadratic_best, .answer = quadratic_answer,           \
    .visit = visit_quadratic

const dual_loss dual_hinge = {QUADRATIC, .name = "hinge", .classifies = true,
                              .set = set_hinge};
const dual_loss dual_squared_hinge = {QUADRATIC,
                                      .name = "squared-hinge",
                                      .classifies = true,
                                      .smooth = true,
                                      .strong = .5,
                                      .bend = 2,
                                      .set = set_squared_hinge};
const dual_loss dual_epsilon = {QUADRATIC, .name = "epsilon",
                                .set = set_epsilon};
const dual_loss dual_squared_epsilon = {
    QUADRATIC, .name = "squared-epsilon", .smooth = true, .strong = .5,
    .bend = 2, .set = set_squared_epsilon};

const dual_loss *const dual_losses[DUAL_LOSSES] = {&dual_hinge,
                                                   &dual_squared_hinge,
                                                   &dual_epsilon,
                                                   &dual_squared_epsilon,
                                                   &dual_log_loss};
