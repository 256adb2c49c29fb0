/* The working set of a solver by columns: its columns over all rows, and a
 * quadratic model of the loss in it, with weights frozen at the margins z
 * (proximal Newton; Yuan, Ho, Lin, "An improved GLMNET", JMLR
 * 2012). With h the rows' curvatures there, r minus their slopes, root^2 = h
 * and v_j = root x_j,
 *
 *     Q(w) = 1/2 |rest|^2 + penalties,   rest_i = (r_i - h_i dz_i) / root_i
 *
 * with dz = X (w - base) + beta, beta the change of b. beta is stored
 * separately, so that a sparse column's step stays sparse: rest = lasting -
 * beta root.
 *
 * Blocks of columns are solved within a model, one after the other; then a
 * line search ends it, and the weights are frozen again. The set accesses the
 * loss through one function. Penalties are l1 |w| + l2/2 w^2 between bounds,
 * for each member; or of groups of columns, through two functions. */
#ifndef LINEAR_SET_H
#define LINEAR_SET_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/error.h>

#include "linear_packed.h"
#include "linear_steps.h"

/* The penalty of a coefficient; for a group of several columns only l1, for
 * the whole group. */
typedef struct linear_term {
    double l1, l2;
    double low, high; /* bounds, with 0 between them */
} linear_term;

/* A member: its column over all rows, and its state in the model. Members of
 * a group are adjacent. */
typedef struct linear_member {
    uint32_t column;
    uint32_t size;    /* of its group; 0: not the first of its group */
    bool full;        /* n is the number of rows: no index is needed */
    uint64_t at, n;   /* entries are at + 0 .. at + n - 1 */
    double w;         /* the trial point */
    double base;      /* where the model was frozen */
    double told;      /* the last committed value */
    double unit;      /* factor from the group's penalty */
    double urgency;   /* gain of its own step; for a group, at its first
                       * member */
    double curvature; /* sum h x^2 */
    double level;     /* sum h x */
    double bend;      /* upper bound for the group, including the reaction of
                       * b */
    linear_term term; /* in the model */
    uint64_t block;   /* the last block with it */
    uint64_t model;   /* the model to which these and `scaled` belong */
} linear_member;

/* A member's data for a visit in one place, because the active members of a
 * large set are far apart in memory. */
typedef struct linear_visit {
    uint64_t at;
    uint32_t n, size, place;
    bool full;
    double w, level, l1, low, high;
    double bend;      /* of the loss alone, with optimal b */
    double curvature; /* l2 included */
    double inverse;   /* 1 / curvature, or 0 */
} linear_visit;

/* The program's loss and penalties. */
typedef struct linear_model {
    /* At z: computes root, and rest = r / root, 0 if r is 0. Returns the
     * loss. */
    double (*freeze)(const void *program, const double *z, double *root,
                     double *rest);
    /* All penalties of P at base + step (w - base); NULL: the members'
     * terms. */
    double (*penalties)(const void *program, double step);
    /* For groups of n; NULL if every column is a group of its own: w =
     * argmin a/2 |w|^2 - u'w + l1 g(w), and g(w). */
    void (*prox)(const void *program, uint32_t n, double l1, const double *u,
                 double a, double *w);
    double (*value)(const void *program, uint32_t n, double l1,
                    const double *w);
    const void *program;
    const double
        *slope; /* [columns + 1] X'r of the last scan, with r minus its mean
                 * if there is an intercept; the last is its sum */
    const column_kernels *kernels;
    bool intercept; /* there is a b */
    bool constant;  /* h is the same at all z */
    bool restless;  /* no member is skipped in a model: if P has many minima,
                     * the first models choose among them */
} linear_model;

typedef struct linear_set {
    linear_model is;
    uint32_t n, capacity;
    linear_member *member;
    linear_visit *visit;   /* [capacity] members of the current sweeps */
    uint32_t *place;       /* [columns + 1] 1 + place, 0: no member */
    uint64_t blocks;       /* that were given to linear_set_solve */
    linear_packed columns; /* x of the first members, as far as fetched */
    double *scaled; /* [room_scaled]: v, at the same places; unless plain */
    uint64_t room_scaled, ready_scaled;
    bool plain; /* x is v: all roots are 1 */

    bool reduced;   /* its columns are rows of a factor of the data columns'
                     * products (linear_reduced.c): */
    double *factor; /* [stride x stride], of the first `factored` members */
    uint32_t stride, factored;

    uint64_t parameters;    /* columns of all data */
    uint64_t rows;          /* of the data */
    uint64_t n_rows;        /* of the model: the same, unless reduced */
    double *y, *c, *z;      /* [rows], like all that follows */
    double *root, *lasting; /* of the model */
    double *frozen;         /* `lasting` when it was frozen */
    double *along;          /* dz */
    double *trial;          /* its number; increases when weights are frozen
                             * again */
    double *root_trial, *rest_trial;

    uint64_t model;       /* its number; goes up when weights are frozen anew */
    bool columns_changed; /* since the last one */
    bool looked;          /* root, lasting and loss are those at z */
    bool open;            /* a model is being solved */
    bool solved;          /* and it is */
    bool leapt;           /* ... by steps of several coordinates */
    bool vain;            /* ... and a light Newton step did not lower Q */
    double loss;          /* at z */
    double mass;          /* sum h */
    double beta;
    double settled;    /* a model is solved when a sweep gains this share of
                        * the first one, */
    double worth;      /* or a tenth of this */
    double first;      /* the largest gain of a first sweep in it */
    double left;       /* sum of members' urgencies */
    double listed;     /* of the members of the current sweeps */
    uint64_t visits;   /* members of all its blocks so far */
    double spent;      /* entries read in sweeps since the last Newton step */
    double unfactored; /* ... and since the last one by a matrix */
    double spent_in_all;
    double *newton; /* [room_newton] its workspace */
    size_t room_newton;
    uint32_t *support; /* [capacity] */
    double *group;     /* [2 x capacity] of one group */
    /* Extrapolation: (w, lasting) before and after the last sweeps. */
    double *past_w, *past_rest; /* [STEPS + 1] x block, x n_rows */
    uint32_t room_past;
    uint64_t room_rest;
} linear_set;

/* A member at 0 with a slope below this share of l1 is skipped until the
 * next model or scan. By pairs, checking it costs almost nothing. */
#define LINEAR_AT_REST 0.9

static inline double linear_at_rest(const linear_set *set)
{
    return set->is.restless || set->reduced ? 0 : LINEAR_AT_REST;
}

/* ---- linear_set.c: memory and columns ------------------------------------ */

/* The caller sets `is`. STRADS_ENOMEM. */
strads_err linear_set_new(uint64_t columns, uint64_t rows, linear_set *set);
void linear_set_free(linear_set *set);
/* Empties it and keeps the memory. */
void linear_set_clear(linear_set *set);
/* Column j joins with value w; its entries are fetched later. In a group of
 * `size` columns they join one after the other, all except the first with size
 * 0. STRADS_ENOMEM. */
strads_err linear_set_join(linear_set *set, uint32_t j, double w, uint32_t size,
                           double unit);
/* Takes the columns of the next n members, pieces of linear_packed_write. */
strads_err linear_set_take(linear_set *set, uint32_t n, const void *pieces,
                           size_t bytes);
/* A member's x; its v in the model. */
static inline data_column linear_set_entries(const linear_set *set,
                                             const linear_member *m,
                                             const double *of)
{
    return (data_column){.n = m->n,
                         .index = m->full ? NULL : set->columns.index + m->at,
                         .f64 = of + m->at};
}
static inline data_column linear_set_column(const linear_set *set,
                                            const linear_member *m)
{
    return linear_set_entries(set, m, set->columns.value);
}
/* The array with all v. */
static inline const double *linear_set_values(const linear_set *set)
{
    return set->reduced ? set->factor
           : set->plain ? set->columns.value
                        : set->scaled;
}
static inline data_column linear_set_scaled(const linear_set *set,
                                            const linear_member *m)
{
    return linear_set_entries(set, m, linear_set_values(set));
}

/* ---- linear_reduced.c: by pairs ------------------------------------------ */

/* True if a set of n columns with `entries` entries each costs less by its
 * products. */
bool linear_set_reduces(const linear_set *set, uint64_t n, double entries);
/* Solves it by products from now on, with space for its members.
 * STRADS_ENOMEM. */
strads_err linear_set_reduce(linear_set *set);
/* Takes the products [joined x all] of the members that joined with all
 * members, with the means of columns and the rows' weight if there is an
 * intercept. STRADS_EPROGRAM: they are not those of this set. */
strads_err linear_set_take_pairs(linear_set *set, uint32_t joined, uint32_t all,
                                 const double *products, const double *mean,
                                 double mass);
/* The slope of column j, or b, at the end of the last model. */
double linear_set_slope(const linear_set *set, uint64_t j);
/* linear_set_open for a reduced set, from is.slope. */
double linear_set_freeze_reduced(linear_set *set);
/* Solves it by columns from now on, which must be fetched. */
void linear_set_use_columns(linear_set *set);

/* ---- linear_model.c: a block --------------------------------------------- */

/* Freezes a model at z; linear_set_solve calls it if no model is open. */
void linear_set_open(linear_set *set);
/* A block of columns to solve, and where its results go. */
typedef struct linear_block {
    column_list columns;
    double *change; /* of column k at k x stride */
    uint32_t stride;
} linear_block;

/* Descends on the block's members, and writes their changes. `place` has
 * space for all columns of the data. STRADS_ENOMEM. */
strads_err linear_set_solve(linear_set *set, const linear_block *block,
                            uint32_t *place);
/* The members' penalties in the model, at base + step (w - base). */
double linear_set_penalties(const linear_set *set, double step);
/* Q at the set's (w, lasting), without the penalties of other members, with
 * the best beta, which is stored. */
double linear_set_value(linear_set *set, uint32_t n, const uint32_t *place);

/* ---- linear_search.c ----------------------------------------------------- */

/* The end of a model: P decreases sufficiently at `step` times its solution;
 * 0: at no step. Then the decrease, and the model's promise. */
typedef struct linear_step {
    double step, fall, promised;
} linear_step;

/* Ends an open model; updates z, loss and members. */
linear_step linear_set_search(linear_set *set);
/* Before a scan: a Newton step of b alone, after which slopes sum to 0 up to
 * a quadratic term, if it lowers the loss. Returns the step. */
double linear_set_step_intercept(linear_set *set);
/* The number of n violating columns that join a set, given the nonzeros of
 * the model: twice the support, which rarely has more columns than there are
 * rows. */
uint32_t linear_growth(const linear_set *set, uint64_t columns,
                       uint64_t nonzeros, uint32_t n);
/* An estimate of the gain of another model: the remaining gain of this one,
 * plus the effect of its error in the decrease, which is squared from one model
 * to the next. If the set is almost complete, this ends a round without a model
 * that would gain nothing. */
double linear_next_fall(const linear_set *set, const linear_step *to);
/* Then: the members and changes that all must know to have the same w. */
uint32_t linear_set_told(linear_set *set, uint32_t *column, double *change);

/* ---- within: linear_beyond.c, linear_newton.c, linear_conjugate.c -------- */

/* Records the state after sweeps over a block's members; returns to a
 * recorded state; counts signs that differ from step 0; extrapolates if that
 * lowers Q. */
strads_err linear_past_reserve(linear_set *set, uint32_t n);
void linear_past_note(linear_set *set, uint32_t step, uint32_t n,
                      const uint32_t *place);
uint32_t linear_past_turned(const linear_set *set, uint32_t n,
                            const uint32_t *place);
void linear_beyond(linear_set *set, uint32_t n, const uint32_t *place);

/* True if conjugate gradients pay from the start for a block's n members.
 * Newton's step on their support, if the sweeps so far have cost as much, or if
 * it is light. */
bool linear_newton_is_light(const linear_set *set, uint32_t n,
                            const uint32_t *place);
strads_err linear_newton(linear_set *set, uint32_t n, const uint32_t *place);

/* Solves for that step on n members, as far as it pays, in place: `step` is
 * initially the right side. `work` has that size, `rows` one number per row. */
size_t linear_conjugate_room(uint32_t n);
void linear_conjugate(const linear_set *set, uint32_t n, const uint32_t *place,
                      double *step, double *work, double *rows);

#endif
