/* Visits of several rows, one lane each, for the vector registers of the
 * including file.
 *
 * Several rows that move together have k at most 4, so the slope of h is
 * between 1 and 2: Newton's steps need no bounds there. */
#include "numeric/vector_lanes.h"
#include "dual_entropy.h"

/* 1 / (1 + exp(-u)), where e = exp(-|u|). */
static inline wide logistic(wide u, wide e)
{
    const wide_mask up = wide_above(u, wide_all(0));

    return wide_pick(up, wide_all(1), e) / (e + wide_all(1));
}

/* log(1 + exp(-m)). */
static inline wide loss(wide m)
{
    return wide_log_1p(wide_exp_minus(wide_abs(m))) + wide_max(-m, wide_all(0));
}

/* One row per lane, as in dual_entropy; those in `moved` have a u. */
typedef struct rows {
    wide_mask mask, moved;
    wide cost, curvature, m, was;
    wide a, u, e; /* e: exp(-|u|), after Newton's steps */
} rows;

/* Rows `from` to n - 1, at most the number of lanes. */
static inline rows read_rows(uint32_t from, uint32_t n, const dual_entropies *x)
{
    const wide_mask mask = lanes_first(n - from);
    rows v = {.mask = mask,
              .cost =
                  wide_pick(mask, wide_load(mask, x->cost + from), wide_all(1)),
              .curvature = wide_load(mask, x->curvature + from),
              .m = wide_load(mask, x->m + from),
              .was = wide_load(mask, x->part + from)};

    v.moved = wide_above(v.was, wide_all(0));
    v.u = wide_pick(v.moved, wide_load(mask, x->u + from), -v.m);
    v.a = v.was / v.cost;
    return v;
}

/* True if all rows are in `these`. */
static inline bool has_all(const rows *v, wide_mask these)
{
    return !wide_any(wide_without(v->mask, these));
}

/* Like dual_entropy_gap; the loss for rows that have not moved yet. */
static inline wide gap_of(const rows *v)
{
    const wide off = v->m + v->u;
    const wide bend = v->a * (wide_all(1) - v->a);
    const wide near = bend * (off * off * wide_all(.5));
    const wide_mask close =
        wide_both(v->moved, wide_above(wide_all(1), wide_abs(off)));

    if (has_all(v, close))
        return near;
    const wide there = wide_keep(v->moved, loss(-v->u) - v->a * off);
    const wide far = wide_max(loss(v->m) - there, wide_all(0));
    return wide_pick(close, near, far);
}

/* h at the start of Newton's steps; rows that have not moved yet get the a
 * for that point. */
static inline wide begin_lanes(rows *v)
{
    const wide h = v->m + v->u;

    if (has_all(v, v->moved))
        return h;
    const wide there = logistic(v->u, wide_exp_minus(wide_abs(v->u)));
    v->a = wide_pick(v->moved, v->a, there);
    return wide_pick(v->moved, h, v->curvature * v->cost * v->a);
}

/* Newton's steps in u, starting with this h. */
static inline void step_lanes(rows *v, wide h)
{
    enum { STEPS_MAX = 100 };
    const wide k = v->curvature * v->cost;
    const wide by =
        wide_pick(v->moved, wide_all(DUAL_ENTROPY_STRIDE), wide_all(1));
    const wide left = wide_all(dual_entropy_left(DUAL_ENTROPY_STRIDE)) *
                      wide_min(wide_abs(h), wide_all(1));
    const wide enough = wide_max(left, wide_all(1e-15) * wide_abs(v->m));
    wide_mask open = v->mask;

    for (int n = 0; n < STEPS_MAX && wide_any(open); n++) {
        const wide bend = wide_fma(k * v->a, wide_all(1) - v->a, wide_all(1));
        v->u -= wide_keep(open, by * h / bend);
        v->e = wide_exp_minus(wide_abs(v->u));
        v->a = logistic(v->u, v->e);
        h = wide_fma(v->curvature, wide_fms(v->cost, v->a, v->was),
                     v->m + v->u);
        open = wide_both(open, wide_above(wide_abs(h), enough));
    }
}

/* C H(a). */
static inline wide dual_of(const rows *v)
{
    const wide less = v->e / (v->e + wide_all(1));

    return v->cost * wide_fma(wide_abs(v->u), less, wide_log_1p(v->e));
}

/* A single row may have k above 4. */
static void move_lanes(uint32_t n, dual_entropies *x)
{
    wide gap = wide_all(0), dual = wide_all(0);

    if (n == 1) {
        dual_entropy_move_portable(n, x);
        return;
    }
    for (uint32_t k = 0; k < n; k += WIDE_LANES) {
        rows v = read_rows(k, n, x);
        gap += wide_keep(v.mask, v.cost * gap_of(&v));
        step_lanes(&v, begin_lanes(&v));
        dual += wide_keep(v.mask, dual_of(&v));
        wide_store(x->part + k, v.mask, v.cost * v.a);
        wide_store(x->u + k, v.mask, v.u);
    }
    x->gap = wide_sum(gap);
    x->dual = wide_sum(dual);
}
