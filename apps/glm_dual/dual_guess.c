/* Where the b of a logistic loss begin. At w = 0 each row alone would take what
 * all of them need together, and later visits have to undo it. Beside
 *
 *     b_i = a C c_i y_i,   w = a X'(C c y)
 *
 * with one a for all rows, D is that of a single row whose C is the sum of all
 * and whose |x| is |X'(C c y)| over it, so that dual_entropy.h knows its best a.
 * What all rows have in common is told too well by it: half of it leaves each
 * of them something to add. */
#include "dual.h"

/* Of the best a. On the speeches at C = 1 four passes leave 3e-6 of the minimum
 * above it from b = 0, and from shares of .3, .4, .5, .7 and 1 of the best a
 * 1.0, .9, .9, 1.3 and 2.9e-6. */
#define SHARE .5

/* w += X'(C c y), from w = 0; the sum of all C c. */
static double add_targets(const dual_local *local, const strads_share *share)
{
    double cost = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        const dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        dual_add(local, &row, x->target * x->cost, local->w);
        cost += x->cost;
    }
    return cost;
}

double dual_guess(dual_local *local, const strads_share *share)
{
    const double cost = add_targets(local, share);
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
        if (!dual_has_entropy(x))
            continue;
        x->b = x->target * a * x->cost;
        x->u = u;
    }
    for (uint64_t j = 0; j <= local->columns; j++)
        local->w[j] *= a;
    return a * a * square;
}
