/* Some rows' visits for AVX2, a lane each. The build compiles this file for
 * such processors; it is entered on them alone.
 *
 * Rows of which several are moved together have a k of 4 at most, so that h
 * rises by between 1 and 2: Newton's steps need no bounds there. */
#include "dual_entropy.h"

#include <stdbool.h>

#ifndef __AVX2__

dual_entropy_move *dual_entropy_avx2(void)
{
    return NULL;
}

#else

#include "apps/kernels/vector_lanes.h"

typedef wide wide;

static inline wide all(double x)
{
    return _mm256_set1_pd(x);
}

static inline wide mul(wide a, wide b)
{
    return _mm256_mul_pd(a, b);
}

static inline wide minus(wide x)
{
    return _mm256_sub_pd(all(0), x);
}

/* 1 / (1 + exp(-u)), where e = exp(-|u|). */
static inline wide logistic(wide u, wide e)
{
    const wide up = _mm256_cmp_pd(u, all(0), _CMP_GT_OQ);

    return _mm256_div_pd(_mm256_blendv_pd(e, all(1), up),
                         _mm256_add_pd(e, all(1)));
}

/* log(1 + exp(-m)). */
static inline wide loss(wide m)
{
    return _mm256_add_pd(wide_log_1p(wide_exp_minus(wide_abs(m))),
                         _mm256_max_pd(minus(m), all(0)));
}

/* A row a lane, as in dual_entropy; masks have all bits of lanes. Those in
 * `moved` have a u. */
typedef struct rows {
    __m256i lanes;
    wide mask, moved;
    wide cost, curvature, m, was;
    wide a, u, e; /* e: exp(-|u|), once Newton's steps are over */
} rows;

/* Rows `from` to before n, four of them at most. */
static inline rows read_rows(uint32_t from, uint32_t n, const dual_entropies *x)
{
    const __m256i lanes = lanes_first(n - from);
    const wide mask = _mm256_castsi256_pd(lanes);
    rows v = {.lanes = lanes,
              .mask = mask,
              .cost = _mm256_blendv_pd(
                  all(1), _mm256_maskload_pd(x->cost + from, lanes), mask),
              .curvature = _mm256_maskload_pd(x->curvature + from, lanes),
              .m = _mm256_maskload_pd(x->m + from, lanes),
              .was = _mm256_maskload_pd(x->part + from, lanes)};

    v.moved = _mm256_cmp_pd(v.was, all(0), _CMP_GT_OQ);
    v.u = _mm256_blendv_pd(minus(v.m), _mm256_maskload_pd(x->u + from, lanes),
                           v.moved);
    v.a = _mm256_div_pd(v.was, v.cost);
    return v;
}

/* Whether all rows are among those. */
static inline bool has_all(const rows *v, wide these)
{
    return _mm256_movemask_pd(_mm256_andnot_pd(these, v->mask)) == 0;
}

/* As dual_entropy_gap, and of rows that have not moved yet their loss. */
static inline wide gap_of(const rows *v)
{
    const wide off = _mm256_add_pd(v->m, v->u);
    const wide bend = mul(v->a, _mm256_sub_pd(all(1), v->a));
    const wide near = mul(bend, mul(mul(off, off), all(.5)));
    const wide close =
        _mm256_and_pd(v->moved,
                      _mm256_cmp_pd(wide_abs(off), all(1), _CMP_LT_OQ));

    if (has_all(v, close))
        return near;
    const wide there = _mm256_and_pd(v->moved, _mm256_sub_pd(loss(minus(v->u)),
                                                             mul(v->a, off)));
    const wide far = _mm256_max_pd(_mm256_sub_pd(loss(v->m), there), all(0));
    return _mm256_blendv_pd(far, near, close);
}

/* h where Newton's steps begin, with the a that rows which have not moved yet
 * would have there. */
static inline wide begin(rows *v)
{
    const wide h = _mm256_add_pd(v->m, v->u);

    if (has_all(v, v->moved))
        return h;
    const wide there = logistic(v->u, wide_exp_minus(wide_abs(v->u)));
    v->a = _mm256_blendv_pd(there, v->a, v->moved);
    return _mm256_blendv_pd(mul(mul(v->curvature, v->cost), v->a), h, v->moved);
}

/* Newton's steps in u, from where h is that. */
static inline void step(rows *v, wide h)
{
    enum { STEPS_MAX = 100 };
    const wide k = mul(v->curvature, v->cost);
    const wide by =
        _mm256_blendv_pd(all(1), all(DUAL_ENTROPY_STRIDE), v->moved);
    const wide left = mul(all(dual_entropy_left(DUAL_ENTROPY_STRIDE)),
                          _mm256_min_pd(wide_abs(h), all(1)));
    const wide enough = _mm256_max_pd(left, mul(all(1e-15), wide_abs(v->m)));
    wide open = v->mask;

    for (int n = 0; n < STEPS_MAX && _mm256_movemask_pd(open); n++) {
        const wide bend =
            _mm256_fmadd_pd(mul(k, v->a), _mm256_sub_pd(all(1), v->a), all(1));
        const wide off = _mm256_div_pd(mul(by, h), bend);
        v->u = _mm256_sub_pd(v->u, _mm256_and_pd(open, off));
        v->e = wide_exp_minus(wide_abs(v->u));
        v->a = logistic(v->u, v->e);
        h = _mm256_fmadd_pd(v->curvature,
                            _mm256_fmsub_pd(v->cost, v->a, v->was),
                            _mm256_add_pd(v->m, v->u));
        open =
            _mm256_and_pd(open, _mm256_cmp_pd(wide_abs(h), enough, _CMP_GT_OQ));
    }
}

/* C H(a). */
static inline wide dual_of(const rows *v)
{
    const wide less = _mm256_div_pd(v->e, _mm256_add_pd(v->e, all(1)));

    return mul(v->cost,
               _mm256_fmadd_pd(wide_abs(v->u), less, wide_log_1p(v->e)));
}

/* One row may have a k above 4. */
static void move(uint32_t n, dual_entropies *x)
{
    wide gap = all(0), dual = all(0);

    if (n == 1) {
        dual_entropy_move_portable(n, x);
        return;
    }
    for (uint32_t k = 0; k < n; k += WIDE_LANES) {
        rows v = read_rows(k, n, x);
        gap =
            _mm256_add_pd(gap, _mm256_and_pd(v.mask, mul(v.cost, gap_of(&v))));
        step(&v, begin(&v));
        dual = _mm256_add_pd(dual, _mm256_and_pd(v.mask, dual_of(&v)));
        _mm256_maskstore_pd(x->part + k, v.lanes, mul(v.cost, v.a));
        _mm256_maskstore_pd(x->u + k, v.lanes, v.u);
    }
    x->gap = wide_sum(gap);
    x->dual = wide_sum(dual);
}

dual_entropy_move *dual_entropy_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? move
               : NULL;
}

#endif
