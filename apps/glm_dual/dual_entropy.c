/* The logistic loss: its table, and visits of several rows for all
 * processors. The formulas are in dual_entropy.h. */
#include <stddef.h>

#include <strads/version.h>

#include "dual.h"

void dual_entropy_move_portable(uint32_t n, dual_entropies *x)
{
    dual_entropy_sum dual = {0};

    x->gap = 0;
    for (uint32_t k = 0; k < n; k++) {
        dual_entropy row = {.cost = x->cost[k],
                            .curvature = x->curvature[k],
                            .m = x->m[k],
                            .stride = n > 1 && x->part[k] > 0
                                          ? DUAL_ENTROPY_STRIDE
                                          : 1,
                            .part = x->part[k],
                            .u = x->u[k]};
        dual_entropy_ascend(&row);
        dual_entropy_add(&dual, &row);
        x->part[k] = row.part;
        x->u[k] = row.u;
        x->gap += row.gap;
    }
    x->dual = dual_entropy_total(&dual);
}

dual_entropy_move *dual_entropy_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    dual_entropy_move *fast =
        level == STRADS_KERNELS_AVX512 ? dual_entropy_avx512()
        : level == STRADS_KERNELS_AVX2 ? dual_entropy_avx2()
        : level == STRADS_KERNELS_NEON ? dual_entropy_neon()
                                       : NULL;

    return fast ? fast : dual_entropy_move_portable;
}

/* ---- formulas ---------------------------------------------------------- */

static void set_entropy(dual_sample *x, double target, double cost,
                        double epsilon)
{
    (void)epsilon;
    *x = (dual_sample){.target = target,
                       .square = x->square,
                       .cost = cost,
                       .low = target > 0 ? 0 : -cost,
                       .high = target > 0 ? cost : 0};
}

static double entropy_value(const dual_sample *x, double z)
{
    return x->cost > 0 ? dual_entropy_loss(x->cost, x->target * z) : 0;
}

static double entropy_conjugate(const dual_sample *x, double b)
{
    return dual_entropy_dual(x->cost, x->target * b);
}

/* An entropy has no corner to be inactive in, and a row may always move. */
static double entropy_ascent(const dual_sample *x, double z)
{
    (void)z;
    return x->cost > 0 ? INFINITY : -INFINITY;
}

static double entropy_best(const dual_sample *x, double safety, double z)
{
    dual_entropy row = {.cost = x->cost,
                        .curvature = safety * x->square,
                        .m = x->target * z,
                        .stride = 1,
                        .part = x->target * x->b,
                        .u = x->u};

    if (!(x->cost > 0))
        return 0;
    dual_entropy_ascend(&row);
    return x->target * row.part;
}

static dual_answer entropy_answer(const dual_sample *x, double sigma,
                                  double anchor, double z)
{
    const double a = dual_logistic(-x->target * z);

    (void)sigma, (void)anchor;
    return (dual_answer){.b = x->target * x->cost * a,
                         .h = x->cost * a * (1 - a),
                         .u = -x->target * z};
}

/* ---- visits ------------------------------------------------------------ */

/* Rows begin .. end - 1 of a group, together. Rows without weight do not
 * move. */
static void move_together(dual_visit *v, uint64_t begin, uint64_t end)
{
    const dual_local *local = v->local;
    data_column row[DUAL_ENTROPY_ROWS];
    dual_sample *sample[DUAL_ENTROPY_ROWS];
    dual_entropies rows;
    uint32_t n = 0;

    for (uint64_t i = begin; i < end; i++) {
        dual_sample *x = &v->group.sample[i];
        if (!(x->cost > 0))
            continue;
        row[n] = dual_row_of(v->group.share, i);
        sample[n] = x;
        rows.cost[n] = x->cost;
        rows.curvature[n] = v->safety * x->square;
        rows.m[n] = x->target * dual_dot(local, &row[n], local->w);
        rows.part[n] = x->target * x->b;
        rows.u[n++] = x->u;
    }
    if (n == 0)
        return;
    local->move(n, &rows);
    for (uint32_t k = 0; k < n; k++) {
        dual_sample *x = sample[k];
        const double b = x->target * rows.part[k];
        if (b != x->b)
            dual_add(local, &row[k], v->safety * (b - x->b), local->w);
        x->b = b;
        x->u = rows.u[k];
        v->entries += row[k].n;
    }
    v->visits += n;
    v->gap += rows.gap;
    v->part += rows.dual;
    v->all_rest = false;
}

/* Moves as many rows together as allowed, in batches of nearly equal size. */
static void visit_entropy(dual_visit *v)
{
    const uint64_t n = v->group.end - v->group.begin;
    double most = 0;

    for (uint64_t i = v->group.begin; i < v->group.end; i++)
        most = dual_larger(most,
                           v->group.sample[i].square * v->group.sample[i].cost);
    const uint64_t at_once = dual_entropy_together(v->safety * most);
    const uint64_t times = (n + at_once - 1) / at_once;
    v->all_rest = true;
    for (uint64_t k = 0; k < times; k++)
        move_together(v, v->group.begin + n * k / times,
                      v->group.begin + n * (k + 1) / times);
}

/* ---- start values of b --------------------------------------------------- */

/* Share of the best a. On the speeches at C = 1, four passes from b = 0
 * leave a distance of 3e-6 of the minimum; from shares of .3, .4, .5, .7 and 1
 * of the best a, 1.0, .9, .9, 1.3 and 2.9e-6. */
#define SHARE .5

/* At w = 0 each row alone would take the full step that all of them need
 * together, and later visits would have to undo it. With
 *
 *     b_i = a C c_i y_i,   w = a X'(C c y)
 *
 * with one a for all rows, D is that of a single row with the sum of all C and
 * with |x| = |X'(C c y)| divided by that sum, so its best a is known. It
 * represents the common part of all rows too strongly, so half of it is used
 * and each row has something to add. */
static double guess_start(dual_local *local, const strads_share *share)
{
    double cost = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        const dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        dual_add(local, &row, x->target * x->cost, local->w);
        cost += x->cost;
    }
    const double square =
        local->kernels->dot_dense(local->columns + 1, local->w, local->w);
    dual_entropy all = {.cost = cost,
                        .curvature = cost > 0 ? square / (cost * cost) : 0,
                        .stride = 1};
    if (!(square > 0))
        return 0;
    dual_entropy_ascend(&all);
    const double a = SHARE * all.a, u = log(a / (1 - a));
    for (uint64_t i = 0; i < local->rows; i++) {
        dual_sample *x = &local->sample[i];
        x->b = x->target * a * x->cost;
        x->u = u;
    }
    for (uint64_t j = 0; j <= local->columns; j++)
        local->w[j] *= a;
    return a * a * square;
}

const dual_loss dual_log_loss = {.name = "logistic",
                                 .classifies = true,
                                 .smooth = true,
                                 .strong = 4,
                                 .bend = .25,
                                 .set = set_entropy,
                                 .value = entropy_value,
                                 .conjugate = entropy_conjugate,
                                 .ascent = entropy_ascent,
                                 .best = entropy_best,
                                 .answer = entropy_answer,
                                 .visit = visit_entropy,
                                 .guess = guess_start};
