/* Dual losses: what the program has to know of one, as a table.
 *
 * A row's loss at z = x'w is the largest of what its dual variable b can make of
 * it, and this is all that the algorithm uses:
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
 * with H the entropy (dual_entropy.h). A new loss is one more table, in a file
 * of its own or among its kin (dual_quadratic.c), and a line in dual_losses. */
#ifndef DUAL_LOSS_H
#define DUAL_LOSS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/data.h>

typedef struct dual_local dual_local;

/* A row's problem, a line of memory each. */
typedef struct dual_sample {
    double target;
    double low, high; /* bounds of b; both 0 of a row without weight */
    double b;
    double square; /* |x|^2, with the bias; the caller's */
    double cost;   /* C c */
    double flat;   /* epsilon: |b| takes so much of g */
    union {
        double ridge; /* g bends by so much between its bounds */
        double u;     /* logistic: what b comes from, once it is not 0 */
    };
} dual_sample;

/* What a given z asks for: the b, how fast it changes as z falls, and u. */
typedef struct dual_answer {
    double b, h, u;
} dual_answer;

/* Rows of a partition that lie together. */
typedef struct dual_group {
    const strads_share *share;
    dual_sample *sample; /* of the share's row 0 */
    uint64_t begin, end;
    uint32_t *awake; /* rows of the group that do not rest, a bit each, */
    double *resting; /* and the part of D of those that do */
} dual_group;

/* A visit to a group, and what it finds. */
typedef struct dual_visit {
    dual_local *local; /* whose w moves */
    dual_group group;
    double safety;    /* s: rows' problems are taken to be s times as curved */
    double steep;     /* a fall of D that lets a row rest */
    bool wakes;       /* rows that rest are looked at, too */
    double worst;     /* out: the steepest ascent so far */
    double part;      /* the group's rows' part of D, */
    double gap;       /* and of the gap as it was found; */
    uint64_t entries; /* those of them that do not rest, */
    bool all_rest;    /* if any */
    uint64_t visits, inside, crossed; /* rows; of them between their bounds; and
                                         those that came there, or left */
} dual_visit;

typedef struct dual_loss {
    const char *name;
    bool classifies; /* labels are two classes, targets +-1 */
    bool smooth;     /* the loss has no kinks: z alone tells b */
    bool quadratic;  /* so is g between its bounds, and rows may rest there */
    double strong;   /* g bends by this over C c at least */
    double bend; /* the loss by this times C c at most, where it is smooth */
    /* Bounds and the like of a row with that target, C c and epsilon, b = 0.
     * The square stays. */
    void (*set)(dual_sample *x, double target, double cost, double epsilon);
    double (*value)(const dual_sample *x, double z);     /* the loss */
    double (*conjugate)(const dual_sample *x, double b); /* g */
    /* How steeply D ascends in b, in the better of both directions that bounds
     * leave: not above 0 where b is best. */
    double (*ascent)(const dual_sample *x, double z);
    /* The b that is best for this row alone, s times as curved as it is:
     * argmax g(b) - z (b - b0) - s |x|^2/2 (b - b0)^2. */
    double (*best)(const dual_sample *x, double safety, double z);
    /* argmax g(b) - b z - 1/(2 sigma) (b - anchor)^2, as a smooth loss does
     * with any anchor at sigma = INFINITY. */
    dual_answer (*answer)(const dual_sample *x, double sigma, double anchor,
                          double z);
    /* Moves the b of a group's rows to their best, and w with them. */
    void (*visit)(dual_visit *v);
    /* Where all b are 0: b that are better, of one partition alone, and their
     * w; |w|^2. NULL: they begin at 0. */
    double (*guess)(dual_local *local, const strads_share *share);
} dual_loss;

extern const dual_loss dual_hinge, dual_squared_hinge, dual_epsilon,
    dual_squared_epsilon, dual_log_loss;

enum { DUAL_LOSSES = 5 };
extern const dual_loss *const dual_losses[DUAL_LOSSES];

/* Of two numbers; fmax and fmin, which also know of NaN, are calls. */
static inline double dual_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double dual_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Whether g is smooth in b there: between two bounds, and off the corner that
 * epsilon |b| has. */
static inline bool dual_is_inside(const dual_sample *x)
{
    return x->b > x->low && x->b < x->high && (x->flat == 0 || x->b != 0);
}

/* The row's share of the duality gap: P - D is the sum of loss - g + z b, none
 * of which is negative. */
static inline double dual_gap_at(const dual_loss *loss, const dual_sample *x,
                                 double z)
{
    return dual_larger(loss->value(x, z) - loss->conjugate(x, x->b) + z * x->b,
                       0);
}

#endif
