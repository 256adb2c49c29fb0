/* The logistic loss in the dual: with m = y z and a = y b / C, 0 < a < 1,
 *
 *     C log(1 + exp(-m)) = max over a of  C H(a) - C a m,
 *     H(a) = -a log a - (1 - a) log(1 - a),
 *
 * attained at a = 1 / (1 + exp(m)). The best a of a single row has no closed
 * form. With a(u) = 1 / (1 + exp(-u)), and u0 that of its current a, it is the
 * zero of the increasing function
 *
 *     h(u) = s |x|^2 C (a(u) - a(u0)) + m + u
 *
 * which lies between u0 and -m. The slope of h is between 1 and 1 + s |x|^2
 * C/4, so Newton's steps in u find it, kept within bounds. Rows keep their u,
 * so one step suffices except at first (Yu, Huang, Lin, "Dual coordinate
 * descent methods for logistic regression and maximum entropy models", Machine
 * Learning 85, 2011, solve it in a). Here b y = C a is called `part`. */
#ifndef DUAL_ENTROPY_H
#define DUAL_ENTROPY_H

#include <math.h>
#include <stdint.h>

/* 1 / (1 + exp(-u)). */
static inline double dual_logistic(double u)
{
    const double e = exp(-fabs(u));

    return (u > 0 ? 1 : e) / (1 + e);
}

static inline double dual_entropy_loss(double cost, double m)
{
    return cost * (m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m);
}

/* C H(part / C). */
static inline double dual_entropy_dual(double cost, double part)
{
    const double rest = cost - part;

    return part > 0 && rest > 0
               ? -part * log(part / cost) - rest * log(rest / cost)
               : 0;
}

/* A row's contribution to the duality gap at a(u), with margin m; to second
 * order if that is as accurate. */
static inline double dual_entropy_gap(double cost, double a, double u, double m)
{
    const double off = m + u;

    return fabs(off) < 1
               ? cost * a * (1 - a) * off * off / 2
               : fmax(dual_entropy_loss(cost, m) - dual_entropy_loss(cost, -u) +
                          cost * a * off,
                      0);
}

/* A row's visit. */
typedef struct dual_entropy {
    double cost, curvature, m; /* in: C, s |x|^2, the margin */
    double stride;             /* in: factor of Newton's steps, at most 1 */
    double part, u;            /* in and out; a part of 0 has no u */
    double gap;                /* out: the row's share of it before the visit */
    double a;                  /* out: part / C */
} dual_entropy;

/* The share of h that a visit may leave. */
static inline double dual_entropy_left(double stride)
{
    return 1.1 - stride;
}

/* Moves a row to its optimum or near it: h becomes a tenth or less, and a's
 * logarithm is as accurate; with shorter strides more remains. */
static inline void dual_entropy_ascend(dual_entropy *x)
{
    enum { STEPS_MAX = 100 };
    const double was = x->part, m = x->m, from = was > 0 ? x->u : -m;
    double a = was > 0 ? was / x->cost : dual_logistic(from), at = from;
    double h = was > 0 ? m + from : x->curvature * x->cost * a;
    double low = h > 0 ? -m : from, high = h > 0 ? from : -m;
    const double enough = dual_entropy_left(x->stride) * fmin(fabs(h), 1);

    x->gap = was > 0 ? dual_entropy_gap(x->cost, a, from, m)
                     : dual_entropy_loss(x->cost, m);
    if (!(was > 0))
        low = -m - x->curvature * x->cost;
    for (int k = 0; k < STEPS_MAX && fabs(h) > 1e-15 * fabs(m); k++) {
        const double bend = x->curvature * x->cost * a * (1 - a);
        const double newton = at - x->stride * h / (1 + bend);
        at = newton > low && newton < high ? newton : (low + high) / 2;
        a = dual_logistic(at);
        h = x->curvature * (x->cost * a - was) + m + at;
        if (fabs(h) <= enough)
            break;
        if (h > 0)
            high = at;
        else
            low = at;
    }
    x->part = x->cost * a;
    x->u = at;
    x->a = a;
}

/* Sums of C H(a) over rows. As
 *
 *     H(a) = |u| min(a, 1 - a) - log max(a, 1 - a),
 *
 * rows with the same C share one logarithm: that of a product with factors
 * between 1/2 and 1. */
enum { DUAL_ENTROPY_FACTORS = 512 };

typedef struct dual_entropy_sum {
    double sum, cost, product;
    uint32_t factors;
} dual_entropy_sum;

static inline double dual_entropy_total(dual_entropy_sum *s)
{
    if (s->factors)
        s->sum -= s->cost * log(s->product);
    s->factors = 0;
    return s->sum;
}

/* Adds a row after its visit. */
static inline void dual_entropy_add(dual_entropy_sum *s, const dual_entropy *x)
{
    if (s->factors == DUAL_ENTROPY_FACTORS || s->cost != x->cost)
        dual_entropy_total(s);
    if (s->factors++ == 0) {
        s->cost = x->cost;
        s->product = 1;
    }
    s->product *= x->a > .5 ? x->a : 1 - x->a;
    s->sum += x->cost * fabs(x->u) * (x->a > .5 ? 1 - x->a : x->a);
}

/* ---- several rows at once ---------------------------------------------- */

/* Rows that move from the same w, each as if it moved alone. Their z then do
 * not wait for updates of w, and vector lanes solve their equations in
 * parallel. With
 *
 *     k = s |x|^2 C
 *
 * a row alone raises D by at least half of (s |x|^2 + 4/C) (b - b0)^2, and the
 * interaction of two rows reduces that by at most s |x_i| |x_l| (b - b0)_i (b -
 * b0)_l. Identical rows are the worst case; n of them, with strides of t times
 * full ones, move
 *
 *     t (n + 4/k) / (1 + 4/k)
 *
 * times as far as is best for them, and raise D if that is below 2. Up to
 * DUAL_ENTROPY_FAR is allowed.
 *
 * Strides are nine tenths of full ones, except the first one, which starts
 * where entropies have the largest curvature: from part = 0 to C a they raise D
 * by
 *
 *     -n C (log(1 - a) + (n - 2) k/2 a^2) > 0   if (n - 2) k < 4.91,
 *
 * as for all that are allowed. Shorter strides also reduce the number of passes
 * for single rows: rows of text have much in common, and other rows contribute
 * the remainder. On the speeches and the pages, at C = 1, six passes leave a
 * third of the distance that full strides leave. */
enum { DUAL_ENTROPY_ROWS = 8 };
#define DUAL_ENTROPY_STRIDE .9
#define DUAL_ENTROPY_FAR 1.9

typedef struct dual_entropies {
    double cost[DUAL_ENTROPY_ROWS]; /* in: as for one row */
    double curvature[DUAL_ENTROPY_ROWS], m[DUAL_ENTROPY_ROWS];
    double part[DUAL_ENTROPY_ROWS], u[DUAL_ENTROPY_ROWS]; /* in and out */
    double gap, dual; /* out: the rows' share of it before the visit, and
                       * their sum of C H(a) after it */
} dual_entropies;

/* The number of rows, with k at most `most`, that may move together: so many
 * that identical rows overshoot by less than their distance; 1 if k is above 4.
 */
static inline uint32_t dual_entropy_together(double most)
{
    const double far = DUAL_ENTROPY_FAR / DUAL_ENTROPY_STRIDE;
    const double n = far + (far - 1) * 4 / most;

    return most > 4                ? 1
           : n < DUAL_ENTROPY_ROWS ? (uint32_t)n
                                   : DUAL_ENTROPY_ROWS;
}

/* Moves n rows that may move together. */
typedef void dual_entropy_move(uint32_t n, dual_entropies *x);

dual_entropy_move dual_entropy_move_portable;
/* NULL if this build or processor does not support the instruction set. */
dual_entropy_move *dual_entropy_avx2(void);
dual_entropy_move *dual_entropy_avx512(void);
dual_entropy_move *dual_entropy_neon(void);
dual_entropy_move *dual_entropy_choose(void);

#endif
