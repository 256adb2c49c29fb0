/* One row of the logistic loss in the dual, against its minimum by bisection
 * and the gap by its definition. */
#include <criterion/criterion.h>
#include <math.h>

#include "apps/glm_dual/dual_entropy.h"

/* The slope of the objective of a row's part, which has `curvature` around
 * `was`. */
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
    return dual_entropy_loss(cost, m) - dual_entropy_dual(cost, part) +
           part * m;
}

static const double costs[] = {1e-3, 1, 50};
static const double curvatures[] = {0, 1e-4, 1, 1e4};
static const double pulls[] = {-30, -2, -1e-3, 0, .5, 3, 25};

/* Repeated visits with all other state fixed: m follows part as w would. */
static void expect_best(double cost, double curvature, double m, double first)
{
    const double best =
        best_by_bisection(cost, curvature, m - curvature * first, 0);
    dual_entropy x = {.cost = cost,
                      .stride = 1,
                      .curvature = curvature,
                      .part = first,
                      .u = first > 0 ? log(first / (cost - first)) : 0};

    for (int visit = 0; visit < 20; visit++) {
        x.m = m + curvature * (x.part - first);
        dual_entropy_ascend(&x);
    }
    cr_expect_float_eq(x.part, best, 1e-11 * cost,
                       "C %g, |x|^2 %g, m %g, from %g: %.17g, expected %.17g",
                       cost, curvature, m, first, x.part, best);
}

Test(dual_entropy, visits_settle_at_the_best_from_anywhere)
{
    static const double firsts[] = {0, 1e-12, .3, .999};

    for (int c = 0; c < 3; c++)
        for (int q = 0; q < 4; q++)
            for (int m = 0; m < 7; m++)
                for (int f = 0; f < 4; f++)
                    expect_best(costs[c], curvatures[q], pulls[m],
                                firsts[f] * costs[c]);
}

Test(dual_entropy, one_visit_never_lowers_the_dual)
{
    for (int c = 0; c < 3; c++)
        for (int q = 0; q < 4; q++)
            for (int m = 0; m < 7; m++) {
                const double was = .2 * costs[c], by = curvatures[q];
                dual_entropy x = {.cost = costs[c],
                                  .stride = 1,
                                  .curvature = by,
                                  .m = pulls[m],
                                  .part = was,
                                  .u = log(.25)};
                dual_entropy_ascend(&x);
                const double moved = x.part - was;
                const double rise = dual_entropy_dual(costs[c], x.part) -
                                    dual_entropy_dual(costs[c], was) -
                                    moved * pulls[m] - by / 2 * moved * moved;
                cr_expect_geq(rise, -1e-12 * costs[c],
                              "C %g, |x|^2 %g, m %g: %g", costs[c], by,
                              pulls[m], rise);
            }
}

Test(dual_entropy, a_rows_share_of_the_gap_is_near_its_definition)
{
    for (double u = -20; u < 20; u += .37)
        for (double off = -5; off < 5; off += .21) {
            const double a = dual_logistic(u), m = off - u;
            const double gap = gap_by_definition(2, m, 2 * a);
            const double told = dual_entropy_gap(2, a, u, m);
            cr_expect(told > .6 * gap - 1e-13 && told < 1.6 * gap + 1e-13,
                      "u %g, m %g: %g of %g", u, m, told, gap);
        }
}

Test(dual_entropy, a_sum_over_rows_is_that_of_their_duals)
{
    dual_entropy_sum sum = {0};
    double expected = 0;

    for (int i = 0; i < 5000; i++) {
        dual_entropy x = {.cost = i % 1700 < 1500 ? 1 : 1 + i % 3,
                          .stride = 1,
                          .curvature = .5,
                          .m = 12 * sin(i)};
        for (int visit = 0; visit < 1 + i % 3; visit++)
            dual_entropy_ascend(&x);
        dual_entropy_add(&sum, &x);
        expected += dual_entropy_dual(x.cost, x.part);
    }
    cr_expect_float_eq(dual_entropy_total(&sum), expected, 1e-10 * expected);
    cr_expect_float_eq(dual_entropy_total(&sum), expected, 1e-10 * expected);
}

/* ---- several rows at once ---------------------------------------------- */

/* Rows of varied position, including first visits. */
static dual_entropies some_rows(uint32_t n, uint32_t draw)
{
    dual_entropies x = {.gap = -1, .dual = -1};

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = 8 * draw + k;
        const double a = at % 5 ? .5 + .499999 * sin(at * 1.7) : 0;
        x.cost[k] = at % 3 ? 1 : .25;
        x.curvature[k] = 2 + 2 * cos(at);
        x.m[k] = (at % 7 ? 3 : 40) * sin(at * 2.3);
        x.part[k] = x.cost[k] * a;
        x.u[k] = a > 0 ? log(a / (1 - a)) : 0;
    }
    return x;
}

/* The residual of the equation that is solved for u; 0 at the row's optimum. */
static double off_by(const dual_entropies *x, uint32_t k, double was, double u)
{
    return x->curvature[k] * (x->cost[k] * dual_logistic(u) - was) + x->m[k] +
           u;
}

/* Each row moves towards its optimum by the expected fraction, and the
 * reported totals match their formulas. */
static void expect_moved(dual_entropy_move *move, uint32_t n, uint32_t draw)
{
    const dual_entropies was = some_rows(n, draw);
    dual_entropies x = was;
    double gap = 0, dual = 0;

    move(n, &x);
    for (uint32_t k = 0; k < n; k++) {
        const bool first = was.part[k] == 0;
        const double from = first ? -was.m[k] : was.u[k];
        const double before = off_by(&was, k, was.part[k], from);
        const double after = off_by(&was, k, was.part[k], x.u[k]);
        const double left = fabs(after) / fmin(fabs(before), 1);
        cr_expect(left < .2001 || fabs(after) < 1e-14 * fabs(was.m[k]),
                  "row %u of %u, draw %u: %g of %g", k, n, draw, after, before);
        cr_expect_float_eq(x.part[k], x.cost[k] * dual_logistic(x.u[k]),
                           1e-14 * x.cost[k]);
        dual += dual_entropy_dual(x.cost[k], x.part[k]);
        gap += first ? dual_entropy_loss(was.cost[k], was.m[k])
                     : dual_entropy_gap(was.cost[k], was.part[k] / was.cost[k],
                                        from, was.m[k]);
    }
    cr_expect_float_eq(x.gap, gap, 1e-12 * (1 + gap));
    cr_expect_float_eq(x.dual, dual, 1e-12 * (1 + dual));
}

/* The kernels that this processor has, portable ones first; returns their
 * number. */
static int all_moves(dual_entropy_move *out[4])
{
    int n = 1;

    out[0] = dual_entropy_move_portable;
    if (dual_entropy_avx2())
        out[n++] = dual_entropy_avx2();
    if (dual_entropy_avx512())
        out[n++] = dual_entropy_avx512();
    if (dual_entropy_neon())
        out[n++] = dual_entropy_neon();
    return n;
}

Test(dual_entropy, rows_that_move_together_come_near_their_best)
{
    dual_entropy_move *move[4];
    const int moves = all_moves(move);

    for (uint32_t n = 1; n <= DUAL_ENTROPY_ROWS; n++)
        for (uint32_t draw = 0; draw < 500; draw++)
            for (int k = 0; k < moves; k++)
                expect_moved(move[k], n, draw);
}

/* D of n identical rows, each with `part`. */
static double dual_of_alike(uint32_t n, double cost, double curvature,
                            double part)
{
    return n * dual_entropy_dual(cost, part) -
           curvature / 2 * n * part * n * part;
}

/* As many rows as may be moved together, all identical, which is the worst
 * case. */
static void expect_ascent(dual_entropy_move *move, double k)
{
    const uint32_t n = dual_entropy_together(k);
    const double cost = 2, curvature = k / cost;
    dual_entropies x = {.gap = 0};
    double before = -INFINITY;

    for (int visit = 0; visit < 300; visit++) {
        for (uint32_t i = 0; i < n; i++) {
            x.cost[i] = cost;
            x.curvature[i] = curvature;
            x.m[i] = curvature * n * x.part[0];
        }
        move(n, &x);
        const double dual = dual_of_alike(n, cost, curvature, x.part[0]);
        cr_expect_geq(dual, before - 1e-14, "%u rows of k %g: %g", n, k,
                      dual - before);
        before = dual;
    }
    cr_expect_float_eq(x.part[0], best_by_bisection(cost, n * curvature, 0, 0),
                       1e-9);
}

Test(dual_entropy, rows_that_are_all_alike_ascend_together)
{
    static const double most[] = {1e-3, .3, .5, .85, .999, 1, 1.001, 1.9, 3, 4};

    dual_entropy_move *move[4];
    const int moves = all_moves(move);

    for (int i = 0; i < 10; i++)
        for (int k = 0; k < moves; k++)
            expect_ascent(move[k], most[i]);
    cr_expect_eq(dual_entropy_together(4.1), 1);
    cr_expect_eq(dual_entropy_together(1), 6);
    cr_expect_eq(dual_entropy_together(0), DUAL_ENTROPY_ROWS);
}
