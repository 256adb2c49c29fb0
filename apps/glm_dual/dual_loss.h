/* Dual losses: the program's interface to a loss, as a table.
 *
 * A row's loss at z = x'w is a maximum over its dual variable b, and the
 * algorithm uses only this:
 *
 *     loss(z) = max over low <= b <= high of  g(b) - b z         g is concave
 *
 *     maximise D(b) = sum_i g_i(b_i) - 1/2 |w|^2   with w = X'b
 *
 *     loss             target  low .. high            g(b)
 *     hinge            +-1     between 0 and C c y    b y
 *     squared hinge    +-1     from 0 on, y b >= 0    b y - b^2 / (4 C c)
 *     epsilon          y       -C c .. C c            b y - epsilon |b|
 *     squared epsilon  y       all                    b y - epsilon |b|
 *                                                         - b^2 / (4 C c)
 *     logistic         +-1     between 0 and C c y    C c H(y b / (C c))
 *
 * with H the entropy (dual_entropy.h). A new loss is another table, in its own
 * file or with similar ones (dual_quadratic.c), and a line in dual_losses. */
#ifndef DUAL_LOSS_H
#define DUAL_LOSS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/data.h>

typedef struct dual_local dual_local;

/* A row's problem, one cache line each. */
typedef struct dual_sample {
    double target;
    double low, high; /* bounds of b; both 0 for a row without weight */
    double b;
    double square; /* |x|^2, including the bias; the caller's */
    double cost;   /* C c */
    double flat;   /* epsilon: g decreases by this times |b| */
    union {
        double ridge; /* curvature of g between its bounds */
        double u;     /* logistic: determines b, once it is not 0 */
    };
} dual_sample;

/* The answer to a given z: the b, its derivative in -z, and u. */
typedef struct dual_answer {
    double b, h, u;
} dual_answer;

/* A group of adjacent rows of a partition. */
typedef struct dual_group {
    const strads_share *share;
    dual_sample *sample; /* of the share's row 0 */
    uint64_t begin, end;
    uint32_t *awake; /* active rows of the group, a bit each, */
    double *resting; /* and the part of D of the inactive ones */
} dual_group;

/* A visit to a group, and its results. */
typedef struct dual_visit {
    dual_local *local; /* its w moves */
    dual_group group;
    double safety;    /* s: factor of the curvature of rows' problems */
    double steep;     /* the descent of D at which a row becomes inactive */
    bool wakes;       /* inactive rows are also checked */
    double worst;     /* out: the steepest ascent so far */
    double part;      /* the group's rows' part of D, */
    double gap;       /* and of the gap at their visits; */
    uint64_t entries; /* of the active ones, */
    bool all_rest;    /* if any */
    uint64_t visits, inside, crossed; /* rows; those of them between their
                                       * bounds; and those that came there, or
                                       * left */
} dual_visit;

typedef struct dual_loss {
    const char *name;
    bool classifies; /* labels are two classes, targets +-1 */
    bool smooth;     /* g is smooth between its bounds, and rows may become
                      * inactive there */
    bool quadratic;  /* so is g between its bounds, and rows may rest there */
    double strong;   /* least curvature of g, times C c */
    double bend;     /* largest curvature of the loss, divided by C c, if it is
                  * smooth */
    /* Sets bounds and constants of a row with that target, C c and epsilon,
     * and b = 0. Keeps the square. */
    void (*set)(dual_sample *x, double target, double cost, double epsilon);
    double (*value)(const dual_sample *x, double z);     /* the loss */
    double (*conjugate)(const dual_sample *x, double b); /* g */
    /* The slope of D in b, in the better of the directions that bounds
     * allow: at most 0 if b is optimal. */
    double (*ascent)(const dual_sample *x, double z);
    /* The b that is optimal for this row alone, with s times its curvature:
     * argmax g(b) - z (b - b0) - s |x|^2/2 (b - b0)^2. */
    double (*best)(const dual_sample *x, double safety, double z);
    /* argmax g(b) - b z - 1/(2 sigma) (b - anchor)^2; a smooth loss uses
     * sigma = INFINITY and any anchor. */
    dual_answer (*answer)(const dual_sample *x, double sigma, double anchor,
                          double z);
    /* Moves the b of a group's rows to their optimum, and w with them. */
    void (*visit)(dual_visit *v);
    /* With all b at 0: sets better b, of a single partition, and their w;
     * returns |w|^2. NULL: they start at 0. */
    double (*guess)(dual_local *local, const strads_share *share);
} dual_loss;

extern const dual_loss dual_hinge, dual_squared_hinge, dual_epsilon,
    dual_squared_epsilon, dual_log_loss;

enum { DUAL_LOSSES = 5 };
extern const dual_loss *const dual_losses[DUAL_LOSSES];

/* Of two numbers; fmax and fmin also handle NaN, and are calls. */
static inline double dual_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double dual_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* True if g is smooth in b there: between two bounds, and away from the
 * corner of epsilon |b|. */
static inline bool dual_is_inside(const dual_sample *x)
{
    return x->b > x->low && x->b < x->high && (x->flat == 0 || x->b != 0);
}

/* The row's share of the duality gap: P - D is the sum of loss - g + z b,
 * and each term is >= 0. */
static inline double dual_gap_at(const dual_loss *loss, const dual_sample *x,
                                 double z)
{
    return dual_larger(loss->value(x, z) - loss->conjugate(x, x->b) + z * x->b,
                       0);
}

#endif
