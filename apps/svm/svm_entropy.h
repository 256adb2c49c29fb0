/* The logistic loss among the others: with m = y z and a = y b / C, 0 < a < 1,
 *
 *     C log(1 + exp(-m)) = max over a of  C H(a) - C a m,
 *     H(a) = -a log a - (1 - a) log(1 - a),
 *
 * taken at a = 1 / (1 + exp(m)). A row's best a alone has no closed form. With
 * a = 1 / (1 + exp(-u)) it is where the rising function
 *
 *     h(u) = s |x|^2 (C a(u) - C a0) + m + u
 *
 * is 0, whose slope is between 1 and 1 + s |x|^2 C / 4: Newton's steps in u
 * settle it, held within bounds (Yu, Huang, Lin, "Dual coordinate descent
 * methods for logistic regression and maximum entropy models", Machine Learning
 * 85, 2011, solve it in a). Here b y = C a is called `part`. */
#ifndef SVM_ENTROPY_H
#define SVM_ENTROPY_H

#include <math.h>

/* 1 / (1 + exp(-u)). */
static inline double svm_logistic(double u)
{
    const double e = exp(-fabs(u));

    return (u > 0 ? 1 : e) / (1 + e);
}

static inline double svm_entropy_loss(double cost, double m)
{
    return cost * (m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m);
}

/* C H(part / C). */
static inline double svm_entropy_dual(double cost, double part)
{
    const double rest = cost - part;

    return part > 0 && rest > 0
               ? -part * log(part / cost) - rest * log(rest / cost)
               : 0;
}

/* The best part when it is `part` now and m is what it pulls against; *gap:
 * what this row adds to the duality gap, to second order, which far from the
 * middle of the loss says nothing. */
#define SVM_ENTROPY_FLAT 1e-6

static inline double svm_entropy_best(double cost, double curvature,
                                      double part, double m, double *gap)
{
    enum { STEPS_MAX = 100 };
    const double enough = 1e-3;
    double low = -m - curvature * (cost - part), high = -m + curvature * part;
    double u = -m, a = svm_logistic(u), best = cost * a;

    const double off = best - part, bend = cost * a * (1 - a);
    *gap = bend > SVM_ENTROPY_FLAT * cost
               ? off * off / (2 * bend)
               : fmax(svm_entropy_loss(cost, m) + part * m -
                          svm_entropy_dual(cost, part),
                      0);
    for (int k = 0; k < STEPS_MAX; k++) {
        const double pull = curvature * (best - part);
        const double h = pull + m + u;
        if (!(fabs(h) > enough * fabs(pull)))
            break;
        if (h > 0)
            high = u;
        else
            low = u;
        const double next = u - h / (1 + curvature * cost * a * (1 - a));
        u = next > low && next < high ? next : (low + high) / 2;
        a = svm_logistic(u);
        best = cost * a;
    }
    return best;
}

#endif
