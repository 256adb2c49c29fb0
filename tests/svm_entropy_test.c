/* One row of the logistic loss in the dual, against the problem that it is: a
 * minimum by bisection, and the gap by its definition. */
#include <criterion/criterion.h>
#include <math.h>

#include "apps/svm/svm_entropy.h"

/* What is minimised in a row's part: it bends by `curvature` around `was`. */
static double slope_at(double cost, double curvature, double m, double was,
                       double part)
{
    return curvature * (part - was) + m + log(part / (cost - part));
}

static double best_by_bisection(double cost, double curvature, double m,
                                double was)
{
    double low = 0, high = cost;

    for (int k = 0; k < 2000 && low < high; k++) {
        const double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        if (slope_at(cost, curvature, m, was, middle) > 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* loss - dual + part m. */
static double gap_by_definition(double cost, double m, double part)
{
    return svm_entropy_loss(cost, m) - svm_entropy_dual(cost, part) + part * m;
}

static const double costs[] = {1e-3, 1, 50};
static const double curvatures[] = {0, 1e-4, 1, 1e4};
static const double pulls[] = {-30, -2, -1e-3, 0, .5, 3, 25};

/* Visits with everything else at rest: m follows part as w would. */
static void expect_best(double cost, double curvature, double m, double first)
{
    const double best =
        best_by_bisection(cost, curvature, m - curvature * first, 0);
    svm_entropy x = {.cost = cost,
                     .curvature = curvature,
                     .part = first,
                     .u = first > 0 ? log(first / (cost - first)) : 0};

    for (int visit = 0; visit < 20; visit++) {
        x.m = m + curvature * (x.part - first);
        svm_entropy_ascend(&x);
    }
    cr_expect_float_eq(x.part, best, 1e-11 * cost,
                       "C %g, |x|^2 %g, m %g, from %g: %.17g, expected %.17g",
                       cost, curvature, m, first, x.part, best);
}

Test(svm_entropy, visits_settle_at_the_best_from_anywhere)
{
    static const double firsts[] = {0, 1e-12, .3, .999};

    for (int c = 0; c < 3; c++)
        for (int q = 0; q < 4; q++)
            for (int m = 0; m < 7; m++)
                for (int f = 0; f < 4; f++)
                    expect_best(costs[c], curvatures[q], pulls[m],
                                firsts[f] * costs[c]);
}

Test(svm_entropy, one_visit_never_lowers_the_dual)
{
    for (int c = 0; c < 3; c++)
        for (int q = 0; q < 4; q++)
            for (int m = 0; m < 7; m++) {
                const double was = .2 * costs[c], by = curvatures[q];
                svm_entropy x = {.cost = costs[c],
                                 .curvature = by,
                                 .m = pulls[m],
                                 .part = was,
                                 .u = log(.25)};
                svm_entropy_ascend(&x);
                const double moved = x.part - was;
                const double rise = svm_entropy_dual(costs[c], x.part) -
                                    svm_entropy_dual(costs[c], was) -
                                    moved * pulls[m] - by / 2 * moved * moved;
                cr_expect_geq(rise, -1e-12 * costs[c],
                              "C %g, |x|^2 %g, m %g: %g", costs[c], by,
                              pulls[m], rise);
            }
}

Test(svm_entropy, a_rows_share_of_the_gap_is_near_its_definition)
{
    for (double u = -20; u < 20; u += .37)
        for (double off = -5; off < 5; off += .21) {
            const double a = svm_logistic(u), m = off - u;
            const double gap = gap_by_definition(2, m, 2 * a);
            const double told = svm_entropy_gap(2, a, u, m);
            cr_expect(told > .6 * gap - 1e-13 && told < 1.6 * gap + 1e-13,
                      "u %g, m %g: %g of %g", u, m, told, gap);
        }
}

Test(svm_entropy, a_sum_over_rows_is_that_of_their_duals)
{
    svm_entropy_sum sum = {0};
    double expected = 0;

    for (int i = 0; i < 5000; i++) {
        svm_entropy x = {.cost = i % 1700 < 1500 ? 1 : 1 + i % 3,
                         .curvature = .5,
                         .m = 12 * sin(i)};
        for (int visit = 0; visit < 1 + i % 3; visit++)
            svm_entropy_ascend(&x);
        svm_entropy_add(&sum, &x);
        expected += svm_entropy_dual(x.cost, x.part);
    }
    cr_expect_float_eq(svm_entropy_total(&sum), expected, 1e-10 * expected);
    cr_expect_float_eq(svm_entropy_total(&sum), expected, 1e-10 * expected);
}
