/* The loops of SGD and, by mf_rank_loops.h, of CCD++ for AVX2, AVX-512 and
 * NEON. Included by the files of these. Rows have `vectors` times 16 floats. */
#ifndef MF_KERNELS_LOOPS_H
#define MF_KERNELS_LOOPS_H

#include <stdbool.h>
#include <string.h>

#include "mf_lanes.h"

enum {
    PAIR = 2,
    SOON = 8,                /* prefetch distance for items of long rows, in
                              * ratings */
    PER = MF_LANES / LANES,  /* registers for one vector */
    PARTS = MF_BATCH / LANES /* registers for a batch's numbers */
};

INLINE float *user_row(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    return s->p + (size_t)x->user * vectors * MF_LANES;
}

INLINE float *item_row(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    return s->q + (size_t)x->item * vectors * MF_LANES;
}

/* Prefetches the item's row from the second-level into the first-level
 * cache. */
INLINE void fetch_item(const mf_step *s, const mf_rating *x,
                       const uint32_t vectors)
{
    const float *q = item_row(s, x, vectors);

#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++)
        __builtin_prefetch(q + (size_t)v * MF_LANES);
}

/* Memory to prefetch while a cell is processed, in portions for each batch. */
typedef struct ahead {
    const char *at, *end;
    size_t lines; /* portion for a batch */
} ahead;

INLINE ahead ahead_of(const mf_step *s, size_t n)
{
    const size_t batches = (n + MF_BATCH - 1) / MF_BATCH;
    const size_t lines = (s->ahead_bytes + MF_ALIGN - 1) / MF_ALIGN;

    return (ahead){.at = s->ahead,
                   .end = s->ahead + lines * MF_ALIGN,
                   .lines = batches ? (lines + batches - 1) / batches : 0};
}

INLINE void fetch_ahead(ahead *a)
{
    for (size_t k = 0; k < a->lines && a->at < a->end; k++, a->at += MF_ALIGN)
        __builtin_prefetch(a->at, 0, 2);
}

/* p_u q_i, lane by lane, for `each` ratings by one user. */
INLINE void multiply_rows(const mf_step *s, const mf_rating *x,
                          const uint32_t each, vec *out, const uint32_t vectors)
{
    const float *p = user_row(s, x, vectors), *q[PAIR];
    vec a = load(p);

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++)
        q[k] = item_row(s, x + k, vectors);
#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++)
        out[k] = a * load(q[k]);
#pragma GCC unroll 8
    for (uint32_t v = 1; v < vectors * PER; v++) {
        const size_t at = (size_t)v * LANES;
        a = load(p + at);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++)
            out[k] = fmadd(a, load(q[k] + at), out[k]);
    }
}

/* The products of LANES ratings, `each` consecutive ones by the same user. */
INLINE vec products(const mf_step *s, const mf_rating *x, const uint32_t each,
                    const uint32_t vectors)
{
    vec a[LANES];

#pragma GCC unroll 16
    for (uint32_t j = 0; j < LANES; j += each)
        multiply_rows(s, x + j, each, a + j, vectors);
    return sums_of(a);
}

/* Updates the rows of `each` ratings by one user; `decay_all` is decay^each. An
 * item's row is written before the next one is read, which needs fewer
 * registers. */
INLINE void move_rows(const mf_step *s, const mf_rating *x, const float *g,
                      const uint32_t each, vec decay, vec decay_all,
                      const uint32_t vectors)
{
    float *p = user_row(s, x, vectors), *q[PAIR];
    vec f[PAIR];

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
        q[k] = item_row(s, x + k, vectors);
        f[k] = spread(g[k]);
    }
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors * PER; v++) {
        const size_t at = (size_t)v * LANES;
        const vec a = load(p + at);
        vec to = a * decay_all;
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            const vec b = load(q[k] + at);
            to = fmadd(f[k], b, to);
            store(q[k] + at, fmadd(f[k], a, b * decay));
        }
        store(p + at, to);
    }
}

/* ---- short rows: whole cells ------------------------------------------- */

typedef struct errors {
    vec part[PARTS];
} errors;

/* The errors of a batch; g: errors times step size. */
INLINE errors errors_of(const mf_step *s, const mf_rating *x,
                        const uint32_t each, float g[MF_BATCH],
                        const uint32_t vectors)
{
    errors e;

#pragma GCC unroll 4
    for (uint32_t h = 0; h < PARTS; h++) {
        const mf_rating *y = x + (size_t)h * LANES;
        e.part[h] = load_values(y) - products(s, y, each, vectors);
        store(g + (size_t)h * LANES, e.part[h] * spread(s->size));
    }
    return e;
}

INLINE vec add_squares(vec sum, errors e)
{
#pragma GCC unroll 4
    for (uint32_t h = PARTS; h-- > 0;)
        sum = fmadd(e.part[h], e.part[h], sum);
    return sum;
}

/* Processes a whole batch, of pairs if `each` is 2; `next` is the following
 * batch. Its items are prefetched between the updates of this batch, when the
 * memory ports are free. */
INLINE errors batch(const mf_step *s, const mf_rating *x, const mf_rating *next,
                    const uint32_t each, const uint32_t vectors)
{
    const vec decay = spread(s->decay);
    const vec decay_all = spread(each == 2 ? s->decay * s->decay : s->decay);
    _Alignas(MF_ALIGN) float g[MF_BATCH];
    const errors e = errors_of(s, x, each, g, vectors);

#pragma GCC unroll 16
    for (uint32_t k = 0; k < MF_BATCH; k += each) {
        move_rows(s, x + k, g + k, each, decay, decay_all, vectors);
#pragma GCC unroll 2
        for (uint32_t j = 0; j < each; j++)
            fetch_item(s, next + k + j, vectors);
    }
    return e;
}

/* The last few ratings of a cell; the errors of unused lanes are 0. */
INLINE errors rest(const mf_step *s, const mf_rating *x, uint32_t n,
                   const uint32_t vectors)
{
    const vec decay = spread(s->decay);
    mf_rating last[MF_BATCH] = {{0, 0, 0}};
    _Alignas(MF_ALIGN) float g[MF_BATCH], e[MF_BATCH];
    errors all;

    memcpy(last, x, sizeof(*x) * n);
    all = errors_of(s, last, 1, g, vectors);
    memcpy(e, &all, sizeof(e));
    memset(e + n, 0, sizeof(*e) * (MF_BATCH - n));
    memcpy(&all, e, sizeof(e));
    for (uint32_t k = 0; k < n; k++)
        move_rows(s, last + k, g + k, 1, decay, decay, vectors);
    return all;
}

/* Separate loops for pairs and single ratings: with a branch in one loop, the
 * compiler keeps more values in memory. */
INLINE double pass_short(const mf_rating *rating, size_t n,
                         const mf_step *given, const uint32_t vectors)
{
    const mf_step step = *given; /* a local copy, which no store can alias */
    ahead a = ahead_of(&step, n);
    vec loss = zero();
    size_t at = 0;

    for (; at < step.paired; at += MF_BATCH) {
        const mf_rating *x = rating + at;
        const bool more = n - at >= 2 * (size_t)MF_BATCH;
        fetch_ahead(&a);
        loss = add_squares(loss, batch(&step, x, more ? x + MF_BATCH : x, 2,
                                       vectors));
    }
    for (; n - at >= MF_BATCH; at += MF_BATCH) {
        const mf_rating *x = rating + at;
        const bool more = n - at >= 2 * (size_t)MF_BATCH;
        fetch_ahead(&a);
        loss = add_squares(loss, batch(&step, x, more ? x + MF_BATCH : x, 1,
                                       vectors));
    }
    if (at < n)
        loss = add_squares(loss, rest(&step, rating + at, (uint32_t)(n - at),
                                      vectors));
    return (double)add_up(loss);
}

#define SHORT(vectors)                                           \
    static double kernel_##vectors(const mf_rating *x, size_t n, \
                                   const mf_step *s)             \
    {                                                            \
        return pass_short(x, n, s, vectors);                     \
    }
SHORT(1)
SHORT(2)
SHORT(3)
SHORT(4)

/* ---- long rows: a rating or a pair at a time ---------------------------- */

/* The errors of x[0] and, for a pair, of x[1]. */
INLINE void predict_batch(const mf_step *s, const mf_rating *x,
                          const uint32_t each, float e[PAIR],
                          const uint32_t vectors)
{
    const float *p = user_row(s, x, vectors), *q[PAIR];
    vec sum[PAIR][PER];

#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
        q[k] = item_row(s, x + k, vectors);
#pragma GCC unroll 4
        for (uint32_t h = 0; h < PER; h++)
            sum[k][h] = zero();
    }
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; v++)
#pragma GCC unroll 4
        for (uint32_t h = 0; h < PER; h++) {
            const size_t at = (size_t)v * MF_LANES + h * LANES;
            const vec a = load(p + at);
#pragma GCC unroll 2
            for (uint32_t k = 0; k < each; k++)
                sum[k][h] = fmadd(a, load(q[k] + at), sum[k][h]);
        }
#pragma GCC unroll 2
    for (uint32_t k = 0; k < each; k++) {
#pragma GCC unroll 4
        for (uint32_t h = 1; h < PER; h++)
            sum[k][0] += sum[k][h];
        e[k] = x[k].value - add_up(sum[k][0]);
    }
}

/* Processes ratings `at` to `end`, `each` at a time; returns the sum of squared
 * errors. */
INLINE double visit_all(const mf_step *s, const mf_rating *rating, size_t at,
                        size_t end, size_t n, ahead *a, const uint32_t each,
                        const uint32_t vectors)
{
    const vec decay = spread(s->decay);
    const vec decay_all = spread(each == 2 ? s->decay * s->decay : s->decay);
    double loss = 0;

    for (; at < end; at += each) {
        const mf_rating *x = rating + at;
        const mf_rating *soon = n - at >= SOON + PAIR ? x + SOON : x;
        float e[PAIR], g[PAIR];
        if (at % MF_BATCH == 0)
            fetch_ahead(a);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++)
            fetch_item(s, soon + k, vectors);
        predict_batch(s, x, each, e, vectors);
#pragma GCC unroll 2
        for (uint32_t k = 0; k < each; k++) {
            loss += (double)e[k] * (double)e[k];
            g[k] = s->size * e[k];
        }
        move_rows(s, x, g, each, decay, decay_all, vectors);
    }
    return loss;
}

INLINE double pass_long(const mf_rating *rating, size_t n, const mf_step *given,
                        const uint32_t vectors)
{
    const mf_step step = *given;
    ahead a = ahead_of(&step, n);
    const double pairs =
        visit_all(&step, rating, 0, step.paired, n, &a, 2, vectors);

    return pairs + visit_all(&step, rating, step.paired, n, n, &a, 1, vectors);
}

#define LONG(vectors)                                            \
    static double kernel_##vectors(const mf_rating *x, size_t n, \
                                   const mf_step *s)             \
    {                                                            \
        return pass_long(x, n, s, vectors);                      \
    }
LONG(5)
LONG(6)
LONG(7)
LONG(8)

static double kernel_any(const mf_rating *x, size_t n, const mf_step *s)
{
    return pass_long(x, n, s, s->stride / MF_LANES);
}

static mf_kernel kernel_of(uint32_t stride)
{
    static const mf_kernel by_vectors[] = {kernel_1, kernel_2, kernel_3,
                                           kernel_4, kernel_5, kernel_6,
                                           kernel_7, kernel_8};
    const uint32_t vectors = stride / MF_LANES;

    return vectors <= sizeof by_vectors / sizeof *by_vectors
               ? by_vectors[vectors - 1]
               : kernel_any;
}

#include "mf_rank_loops.h"

#endif
