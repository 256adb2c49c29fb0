/* The working set of a solver by columns, at the coordinator: its columns over
 * all rows, and a quadratic model of the loss in it, whose weights are frozen at
 * the margins z (proximal Newton; Yuan, Ho, Lin, "An improved GLMNET", JMLR
 * 2012). With h the rows' curvatures there, r minus their slopes, root^2 = h and
 * v_j = root x_j,
 *
 *     Q(w) = 1/2 |rest|^2 + penalties,   rest_i = (r_i - h_i dz_i) / root_i
 *
 * with dz = X (w - base) + beta, beta the change of b. It is kept apart, so
 * that a sparse column's step stays sparse: rest = lasting - beta root.
 *
 * The policy's blocks are solved within a model, one after the other; then a
 * line search ends it, and the weights are frozen anew. It knows the loss by one
 * function, and penalties as l1 |w| + l2/2 w^2 between bounds, each member's
 * own; or of groups of columns by two functions. */
#ifndef LINEAR_SET_H
#define LINEAR_SET_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/program.h>

#include "linear_packed.h"
#include "linear_steps.h"

/* What a coefficient costs; of a group of several l1 alone, of all of it. */
typedef struct linear_term {
    double l1, l2;
    double low, high; /* bounds, with 0 between them */
} linear_term;

/* A member: its column over all rows, and where it stands in the model. Groups'
 * members are neighbours. */
typedef struct linear_member {
    uint32_t column;
    uint32_t size;    /* of its group; 0: not its first one */
    bool full;        /* n is the number of rows: no index is needed */
    uint64_t at, n;   /* entries are at + 0 .. at + n - 1 */
    double w;         /* the trial point */
    double base;      /* where the model was frozen */
    double told;      /* what is committed */
    double unit;      /* what the group's penalty multiplies it by */
    double urgency;   /* what its own step would gain; the group's first one */
    double curvature; /* sum h x^2 */
    double level;     /* sum h x */
    double bend;      /* of the group at most, as b follows at once */
    linear_term term; /* in the model */
    uint64_t round;   /* the last that had it in its block */
    uint64_t model;   /* the model that these and `scaled` belong to */
} linear_member;

/* What a visit needs to know of a member, all of it together, because in memory
 * the members that move lie far apart in a large set. */
typedef struct linear_visit {
    uint64_t at;
    uint32_t n, size, place;
    bool full;
    double w, level, l1, low, high;
    double bend;      /* of the loss alone, b at its best */
    double curvature; /* l2 included */
    double inverse;   /* 1 / curvature, or 0 */
} linear_visit;

/* What a program says of its loss and its penalties. */
typedef struct linear_model {
    /* At z: root, and rest = r / root, 0 where r is. Returns the loss. */
    double (*freeze)(const void *program, const double *z, double *root,
                     double *rest);
    /* All penalties of P at base + step (w - base); NULL: the members' terms. */
    double (*penalties)(const void *program, double step);
    /* Of groups of n, NULL where every column is one: w = argmin a/2 |w|^2 - u'w
     * + l1 g(w), and g(w). */
    void (*prox)(const void *program, uint32_t n, double l1, const double *u,
                 double a, double *w);
    double (*value)(const void *program, uint32_t n, double l1,
                    const double *w);
    const void *program;
    const double
        *slope; /* [columns + 1] X'r of the last scan, of r less its mean
                            where there is an intercept; at the end its sum */
    const column_kernels *kernels;
    bool intercept; /* there is a b */
    bool constant;  /* h is the same at all z */
    bool restless;  /* no member is left alone in a model: where P has many
                       minima the first models choose among them */
} linear_model;

typedef struct linear_set {
    linear_model is;
    uint32_t n, capacity;
    linear_member *member;
    linear_visit *visit;   /* [capacity] those that sweeps go to now */
    uint32_t *place;       /* [columns + 1] 1 + place, 0: no member */
    uint64_t fetches;      /* blocks of columns asked for */
    linear_packed columns; /* the first members', as far as they are here: x */
    double *scaled; /* [room_scaled]: v, in the same places; unless plain */
    uint64_t room_scaled, ready_scaled;
    bool plain; /* x is v: all roots are 1 */

    bool reduced;   /* its columns are not the data's, but lines of a factor of
                     their products (linear_reduced.c): */
    double *factor; /* [stride x stride], of the first `factored` members */
    uint32_t stride, factored;

    uint64_t parameters;    /* columns of all data */
    uint64_t rows;          /* of the data */
    uint64_t n_rows;        /* of the model: the same, unless reduced */
    double *y, *c, *z;      /* [rows] as all that follows */
    double *root, *lasting; /* of the model */
    double *frozen;         /* `lasting` when it was frozen */
    double *along;          /* dz */
    double *trial;          /* z + step dz */
    double *root_trial, *rest_trial;

    uint64_t model;       /* its number; goes up when weights are frozen anew */
    bool columns_changed; /* since the last one */
    bool looked;          /* root and lasting are those at z, and so is loss */
    bool open;            /* a model is being solved */
    bool solved;          /* and it is */
    bool leapt;           /* ... by other steps than single coordinates' */
    bool vain;   /* ... and a light step of Newton's has lowered nothing */
    double loss; /* at z */
    double mass; /* sum h */
    double beta;
    double settled;    /* a model is solved when a sweep gains this share of the
                        first one, */
    double worth;      /* or the tenth part of this */
    double first;      /* the most that a first sweep has gained in it */
    double left;       /* sum of members' urgencies */
    double listed;     /* of those that sweeps go to */
    uint64_t visits;   /* members that blocks have had in it */
    double spent;      /* entries read in sweeps since Newton's last step */
    double unfactored; /* ... and since its last one by a matrix */
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

/* A member at 0 whose slope is below this share of l1 is left alone until the
 * next model, or scan; by pairs it costs as good as nothing to look at. */
#define LINEAR_AT_REST 0.9

static inline double linear_at_rest(const linear_set *set)
{
    return set->is.restless || set->reduced ? 0 : LINEAR_AT_REST;
}

/* ---- linear_set.c: memory and columns ------------------------------------ */

/* `is` remains to be said. STRADS_ENOMEM. */
strads_err linear_set_new(uint64_t columns, uint64_t rows, linear_set *set);
void linear_set_free(linear_set *set);
/* Empties it, but for its memory. */
void linear_set_clear(linear_set *set);
/* Column j joins from w, its entries to be fetched; of a group `size` of them,
 * one after the other, all but the first with size 0. STRADS_ENOMEM. */
strads_err linear_set_join(linear_set *set, uint32_t j, double w, uint32_t size,
                           double unit);
/* The block of the next members that fit one fetch, which are put into
 * column[]. */
strads_block linear_set_fetch(linear_set *set, const strads_data *data,
                              uint32_t *column);
/* Takes in their columns, as linear_packed_write wrote them. */
strads_err linear_set_take(linear_set *set, const strads_commit *commit);
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
/* What all v are in. */
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

/* Whether a set of n columns costs less by their products, where the data's have so
 * many entries each. */
bool linear_set_reduces(const linear_set *set, uint64_t n, double entries);
/* Solves it so from now on, with room for its members. STRADS_ENOMEM. */
strads_err linear_set_reduce(linear_set *set);
/* The block of a phase that brings the products of members that have joined with
 * all, which are put into column[]; those of its columns that have; how many
 * numbers. */
strads_block linear_set_pairs(const linear_set *set, uint32_t *column);
strads_block linear_set_joined(const strads_block *all);
size_t linear_set_pairs_size(const strads_task *task);
/* Takes them in, with means of columns and the rows' weight, where there is an
 * intercept. STRADS_EPROGRAM: they are not those that were asked for. */
strads_err linear_set_take_pairs(linear_set *set, const strads_commit *commit,
                                 const double *mean, double mass);
/* What column j, or b, has come to slope by in the model that has ended last. */
double linear_set_slope(const linear_set *set, uint64_t j);
/* What linear_set_open does then, from is.slope. */
double linear_set_freeze_reduced(linear_set *set);
/* Solves it by columns from now on, which are to be fetched. */
void linear_set_use_columns(linear_set *set);

/* ---- linear_model.c: a block --------------------------------------------- */

/* Freezes a model at z; linear_set_solve does where none is open. */
void linear_set_open(linear_set *set);
/* Aggregate of a block: descent on its members, whose changes and priorities it
 * fills in, of problem `target` of `width`. `place` has room for all columns. */
strads_err linear_set_solve(linear_set *set, strads_commit *commit,
                            uint32_t *place, uint32_t width, uint32_t target);
/* The members' penalties in the model, at base + step (w - base). */
double linear_set_penalties(const linear_set *set, double step);
/* Q at the set's (w, lasting), but for what others than these members add, with
 * the best beta, which is left there. */
double linear_set_value(linear_set *set, uint32_t n, const uint32_t *place);

/* ---- linear_search.c ----------------------------------------------------- */

/* How a model ended: step times its solution is where P falls as it should; 0:
 * nowhere. By how much it has fallen, and by how much the model would have. */
typedef struct linear_step {
    double step, fall, promised;
} linear_step;

/* Ends an open model; z, loss and members follow. */
linear_step linear_set_search(linear_set *set);
/* The end of it, before a scan: a Newton step of b alone, after which slopes
 * cancel out but for a square, if it lowers the loss. Returns it. */
double linear_set_step_intercept(linear_set *set);
/* How many of n columns that violate join a set, with so many nonzeros in the
 * model: twice the support, which seldom has more columns than there are rows. */
uint32_t linear_growth(const linear_set *set, uint64_t columns,
                       uint64_t nonzeros, uint32_t n);
/* What another model would gain, about: what this one has left, and what comes
 * of the part of the fall that it had wrong, which squares from one to the
 * next. Where the set is as good as complete that ends a round without a model
 * that only tells that there was nothing to gain. */
double linear_next_fall(const linear_set *set, const linear_step *to);
/* Then: what has to be told of members so that all know their w. */
uint32_t linear_set_told(linear_set *set, uint32_t *column, double *change);

/* ---- within: linear_beyond.c, linear_newton.c, linear_conjugate.c -------- */

/* Notes where the sweeps over a block's members stand; goes back there; how
 * many signs are not those of step 0; goes beyond the last ones where that
 * lowers Q. */
strads_err linear_past_reserve(linear_set *set, uint32_t n);
void linear_past_note(linear_set *set, uint32_t step, uint32_t n,
                      const uint32_t *place);
uint32_t linear_past_turned(const linear_set *set, uint32_t n,
                            const uint32_t *place);
void linear_beyond(linear_set *set, uint32_t n, const uint32_t *place);

/* Whether a block's n members are such that conjugate gradients pay from the
 * start; Newton's step on their support, if the sweeps so far have cost as much,
 * or it is light. */
bool linear_newton_is_light(const linear_set *set, uint32_t n,
                            const uint32_t *place);
strads_err linear_newton(linear_set *set, uint32_t n, const uint32_t *place);

/* Solves for that step on n members, as far as it is worth while, in place:
 * `step` is the right side at first. `work` has that room, `rows` a number a
 * row. */
size_t linear_conjugate_room(uint32_t n);
void linear_conjugate(const linear_set *set, uint32_t n, const uint32_t *place,
                      double *step, double *work, double *rows);

#endif
