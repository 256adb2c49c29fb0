/* The loops over rows, for the vector registers of the including file. */
#include "logistic_loops.h"
#include "vector_lanes.h"

/* Values of some rows that both loops use; lanes outside of `mask` have
 * weight 0. */
typedef struct lanes {
    wide y, c, m, e, one_e, u, f;
    wide_mask right; /* m > 0 */
} lanes;

static inline lanes read_lanes(const logistic_rows *rows, uint64_t i,
                               wide_mask mask)
{
    lanes v;
    v.y = wide_pick(mask, wide_load(mask, rows->y + i), wide_all(1));
    v.c = wide_load(mask, rows->c + i);
    v.m = v.y * wide_load(mask, rows->z + i);
    v.e = wide_exp_minus(wide_abs(v.m));
    v.one_e = v.e + wide_all(1);
    v.right = wide_above(v.m, wide_all(0));
    v.u = wide_pick(v.right, v.e, wide_all(1)) / v.one_e;
    /* In this order: the maximum is the second if m is NaN. */
    v.f = wide_log_1p(v.e) + wide_max(wide_all(0), -v.m);
    return v;
}

static void look_wide(const logistic_rows *rows, double *r,
                      logistic_sides *sums)
{
    wide sum[2][LOGISTIC_SUMS];

    for (int k = 0; k < LOGISTIC_SUMS; k++)
        sum[0][k] = sum[1][k] = wide_all(0);
    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const wide_mask mask = lanes_first(rows->n - i);
        const lanes v = read_lanes(rows, i, mask);
        const wide cu = v.c * v.u;
        const wide_mask used = wide_differs(v.c, wide_all(0));
        const wide_mask positive = wide_above(v.y, wide_all(0));
        const wide odds = wide_pick(v.right, v.e, wide_all(1) / v.e);
        wide_store(r + i, mask, cu * v.y);
        const wide term[LOGISTIC_SUMS] = {
            v.c * v.f, cu, cu * v.f, cu * v.m, wide_keep(used, cu * odds),
            cu * v.u};
        for (int k = 0; k < LOGISTIC_SUMS; k++) {
            sum[1][k] += wide_keep(positive, term[k]);
            sum[0][k] += wide_pick(positive, wide_all(0), term[k]);
        }
    }
    for (int s = 0; s < 2; s++) {
        double total[LOGISTIC_SUMS];
        for (int k = 0; k < LOGISTIC_SUMS; k++)
            total[k] = wide_sum(sum[s][k]);
        logistic_side_add(&sums->of[s], total);
    }
}

static double curve_wide(const logistic_rows *rows, double *r, double *h)
{
    wide loss = wide_all(0);

    for (uint64_t i = 0; i < rows->n; i += WIDE_LANES) {
        const wide_mask mask = lanes_first(rows->n - i);
        const lanes v = read_lanes(rows, i, mask);
        if (r)
            wide_store(r + i, mask, v.c * v.y * v.u);
        if (h)
            wide_store(h + i, mask, v.c * (v.e / (v.one_e * v.one_e)));
        loss = wide_fma(v.c, v.f, loss);
    }
    return wide_sum(loss);
}

static void freeze_wide(uint64_t n, const double *c, double least, double *h,
                        double *r)
{
    for (uint64_t i = 0; i < n; i += WIDE_LANES) {
        const wide_mask mask = lanes_first(n - i);
        const wide root =
            wide_sqrt(wide_max(wide_load(mask, h + i),
                               wide_load(mask, c + i) * wide_all(least)));
        const wide_mask used = wide_above(root, wide_all(0));
        wide_store(h + i, mask, root);
        wide_store(r + i, mask, wide_keep(used, wide_load(mask, r + i) / root));
    }
}
