/* Some rows' visits for AVX-512, a lane each. The build compiles this file for
 * such processors; it is entered on them alone.
 *
 * Rows of which several are moved together have a k of 4 at most, so that h
 * rises by between 1 and 2: Newton's steps need no bounds there. */
#include "dual_entropy.h"

#ifndef __AVX512F__

dual_entropy_move *dual_entropy_avx512(void)
{
    return NULL;
}

#else

#include "apps/kernels/vector_lanes.h"

typedef wide wide;

static inline wide all(double x)
{
    return _mm512_set1_pd(x);
}

/* 1 / (1 + exp(-u)), where e = exp(-|u|). */
static inline wide logistic(wide u, wide e)
{
    const __mmask8 up = _mm512_cmp_pd_mask(u, all(0), _CMP_GT_OQ);

    return _mm512_div_pd(_mm512_mask_mov_pd(e, up, all(1)),
                         _mm512_add_pd(e, all(1)));
}

/* log(1 + exp(-m)). */
static inline wide loss(wide m)
{
    const wide e = wide_exp_minus(_mm512_abs_pd(m));

    return _mm512_add_pd(wide_log_1p(e),
                         _mm512_max_pd(_mm512_sub_pd(all(0), m), all(0)));
}

/* A row a lane, as in dual_entropy; those in `moved` have a u. */
typedef struct rows {
    __mmask8 mask, moved;
    wide cost, curvature, m, was;
    wide a, u, e; /* e: exp(-|u|), once Newton's steps are over */
} rows;

static inline rows read_rows(uint32_t n, const dual_entropies *x)
{
    const __mmask8 mask = lanes_first(n);
    rows v = {.mask = mask,
              .cost = _mm512_mask_loadu_pd(all(1), mask, x->cost),
              .curvature = _mm512_maskz_loadu_pd(mask, x->curvature),
              .m = _mm512_maskz_loadu_pd(mask, x->m),
              .was = _mm512_maskz_loadu_pd(mask, x->part)};

    v.moved = _mm512_cmp_pd_mask(v.was, all(0), _CMP_GT_OQ);
    v.u = _mm512_mask_loadu_pd(_mm512_sub_pd(all(0), v.m), v.moved, x->u);
    v.a = _mm512_div_pd(v.was, v.cost);
    return v;
}

/* As dual_entropy_gap, and of rows that have not moved yet their loss. */
static inline wide gap_of(const rows *v)
{
    const wide off = _mm512_add_pd(v->m, v->u);
    const wide bend = _mm512_mul_pd(v->a, _mm512_sub_pd(all(1), v->a));
    const wide near =
        _mm512_mul_pd(bend, _mm512_mul_pd(_mm512_mul_pd(off, off), all(.5)));
    const __mmask8 close = _mm512_mask_cmp_pd_mask(v->moved, _mm512_abs_pd(off),
                                                   all(1), _CMP_LT_OQ);

    if ((v->mask & ~close) == 0)
        return near;
    const wide there =
        _mm512_maskz_sub_pd(v->moved, loss(_mm512_sub_pd(all(0), v->u)),
                            _mm512_mul_pd(v->a, off));
    const wide far = _mm512_max_pd(_mm512_sub_pd(loss(v->m), there), all(0));
    return _mm512_mask_mov_pd(far, close, near);
}

/* h where Newton's steps begin, with the a that rows which have not moved yet
 * would have there. */
static inline wide begin(rows *v)
{
    const wide h = _mm512_add_pd(v->m, v->u);

    if ((v->mask & ~v->moved) == 0)
        return h;
    const wide there = logistic(v->u, wide_exp_minus(_mm512_abs_pd(v->u)));
    v->a = _mm512_mask_mov_pd(there, v->moved, v->a);
    return _mm512_mask_mov_pd(
        _mm512_mul_pd(_mm512_mul_pd(v->curvature, v->cost), v->a), v->moved, h);
}

/* Newton's steps in u, from where h is that. */
static inline void step(rows *v, wide h)
{
    enum { STEPS_MAX = 100 };
    const wide k = _mm512_mul_pd(v->curvature, v->cost);
    const wide by =
        _mm512_mask_mov_pd(all(1), v->moved, all(DUAL_ENTROPY_STRIDE));
    const wide left = _mm512_mul_pd(all(dual_entropy_left(DUAL_ENTROPY_STRIDE)),
                                    _mm512_min_pd(_mm512_abs_pd(h), all(1)));
    const wide enough =
        _mm512_max_pd(left, _mm512_mul_pd(all(1e-15), _mm512_abs_pd(v->m)));
    __mmask8 open = v->mask;

    for (int n = 0; n < STEPS_MAX && open; n++) {
        const wide bend = _mm512_fmadd_pd(_mm512_mul_pd(k, v->a),
                                          _mm512_sub_pd(all(1), v->a), all(1));
        const wide off = _mm512_div_pd(_mm512_mul_pd(by, h), bend);
        v->u = _mm512_mask_sub_pd(v->u, open, v->u, off);
        v->e = wide_exp_minus(_mm512_abs_pd(v->u));
        v->a = logistic(v->u, v->e);
        h = _mm512_fmadd_pd(v->curvature,
                            _mm512_fmsub_pd(v->cost, v->a, v->was),
                            _mm512_add_pd(v->m, v->u));
        open &= _mm512_cmp_pd_mask(_mm512_abs_pd(h), enough, _CMP_GT_OQ);
    }
}

/* C H(a). */
static inline wide dual_of(const rows *v)
{
    const wide less = _mm512_div_pd(v->e, _mm512_add_pd(v->e, all(1)));

    return _mm512_mul_pd(v->cost, _mm512_fmadd_pd(_mm512_abs_pd(v->u), less,
                                                  wide_log_1p(v->e)));
}

static void move(uint32_t n, dual_entropies *x)
{
    rows v = read_rows(n, x);

    x->gap =
        _mm512_mask_reduce_add_pd(v.mask, _mm512_mul_pd(v.cost, gap_of(&v)));
    step(&v, begin(&v));
    x->dual = _mm512_mask_reduce_add_pd(v.mask, dual_of(&v));
    _mm512_mask_storeu_pd(x->part, v.mask, _mm512_mul_pd(v.cost, v.a));
    _mm512_mask_storeu_pd(x->u, v.mask, v.u);
}

/* One row may have a k above 4. */
static void move_some(uint32_t n, dual_entropies *x)
{
    (n > 1 ? move : dual_entropy_move_portable)(n, x);
}

dual_entropy_move *dual_entropy_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq")
               ? move_some
               : NULL;
}

#endif
