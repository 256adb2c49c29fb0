/* What a partition has: its rows, a b for each, and a w of its own. */
#ifndef DUAL_LOCAL_H
#define DUAL_LOCAL_H

#include <math.h>

#include "apps/kernels/column_kernels.h"
#include "dual_problem.h"

/* dual_face_rows.c: rows between their bounds. */
typedef struct dual_face dual_face;

typedef struct dual_local {
    dual_problem problem;
    linear_classes classes;
    strads_share scaled;    /* standardised: rows over the columns' scales, */
    double *value;          /* whose values these are; NULL: not (yet) */
    uint32_t width, target; /* problems, and the one at hand: dual_targets.c */
    uint64_t rows, columns;
    uint64_t first_group; /* as dual_group_at counts */
    strads_range span;    /* of [columns + 1]: what it joins for its pool */
    const column_kernels *kernels;
    dual_entropy_move *move;
    double bias, flat;   /* B, and e of the loss */
    double level;        /* what x'w is counted from */
    dual_sample *sample; /* [rows] */
    uint32_t *awake;     /* [groups] rows that do not rest, a bit each, */
    double *resting;     /* [groups] and the part of D of those that do */
    uint64_t groups;     /* of its own at most, empty ones included */
    double *weight;      /* [rows] c_i, until the survey is over */
    double *base;        /* [columns + 1] the w that all agree on */
    double *joint;   /* [columns + 1] its span of the pool's w; the same as w
                           where there is one partition */
    double *w;       /* [columns + 1] with what was done here since */
    bool based;      /* base is newer than joint */
    bool behind;     /* w is to begin from the newer of the two */
    uint64_t moved;  /* the round in which w moved last, */
    uint64_t joined; /* and that of the last join */
    bool smooth;     /* the loss is, without help */
    double *anchor;  /* [rows] b at the last scan */
    double *z;       /* [rows] x'w where the last curve was taken */
    double *bend, *panel; /* dual_curve.c's own, */
    double *h, *held;     /* [rows] h of now, and that `bend` is made of; */
    double *stiff;        /* [columns + 1] and what an average row adds */
    double sigma;         /* of the last curve */
    dual_face *face;      /* NULL: none yet */
    uint32_t *order;      /* [room] workspace of a pass */
    uint32_t room;
} dual_local;

/* The rows of a partition as they are trained on. */
static inline const strads_share *dual_share(const dual_local *local,
                                             const strads_share *given)
{
    return local->value ? &local->scaled : given;
}

/* Row i of a share. */
static inline data_column dual_row_of(const strads_share *share, uint64_t i)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i], n = x->start[i + 1] - at;
    const bool full = n == share->cols.end - share->cols.begin;
    return (data_column){.n = n,
                         .index = full ? NULL : x->index + at,
                         .f64 = x->f64 ? x->f64 + at : NULL,
                         .f32 = x->f32 ? x->f32 + at : NULL};
}

/* Asks for the beginning of row i of a share; what follows lies behind it. */
static inline void dual_fetch_row(const strads_share *share,
                                  const dual_sample *sample, uint64_t i)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i];
    const char *value =
        x->f64 ? (const char *)(x->f64 + at) : (const char *)(x->f32 + at);

    __builtin_prefetch(&sample[i]);
    __builtin_prefetch(x->index + at);
    __builtin_prefetch(value);
    __builtin_prefetch(value + 64);
}

/* Where the problem at hand has its number of parameter k of a block. */
static inline size_t dual_at(const dual_local *local, size_t k)
{
    return k * local->width + local->target;
}

/* z of row i: x_i'w with the bias, from the level on; and w += a x_i. */
static inline double dual_dot(const dual_local *local, const data_column *row,
                              const double *w)
{
    return local->kernels->dot(row, w) + local->bias * w[local->columns] +
           local->level;
}

static inline void dual_add(const dual_local *local, const data_column *row,
                            double a, double *w)
{
    local->kernels->add(row, a, w);
    w[local->columns] += a * local->bias;
}

/* A fall of D that lets a row rest; nothing does before it is known. It is told
 * as a number below 0 while a pass looks at rows that rest as well. */
static inline double dual_steep(const strads_task *task)
{
    const double steep = fabs(task->total[DUAL_STEEP]);

    return steep > 0 ? steep : INFINITY;
}

#endif
