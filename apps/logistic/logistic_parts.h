/* The rooms of the logistic program and what they hand to each other.
 *
 * Inside, everything is multiplied by the sum of all weights W:
 *
 *     P(w, b) = sum c_i f(y_i z_i) + L1 sum s_j |w_j| + L2/2 sum s_j^2 w_j^2,
 *     z = X w + b,   f(m) = log(1 + exp(-m)),
 *
 * with L1 = W lambda l1_ratio, L2 = W lambda (1 - l1_ratio), and s_j the scale
 * of column j (1 unless standardised). With u_i = 1 / (1 + exp(y_i z_i)) the
 * loss slopes down by r_i = c_i y_i u_i along z_i, and curves by c_i u_i
 * (1 - u_i). Coefficients are always those of the data as they stand.
 *
 * Workers hold rows, z and r. The coordinator holds numbers by column, the
 * columns of the working set, and of each row y, c and z. Parameter j is
 * column j; with an intercept b is the next one. Newton's method for an L2
 * penalty alone has its directions behind b, or behind where it would be. */
#ifndef LOGISTIC_PARTS_H
#define LOGISTIC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/logistic.h>

#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_kernels.h"
#include "apps/linear/linear_packed.h"
#include "apps/linear/linear_steps.h"
#include "logistic_loops.h"

/* ---- labels ------------------------------------------------------------ */

/* logistic_labels.c */
/* The classes and their weights, or a sentence why not. */
strads_err logistic_classes_of(const strads_logistic_options *options,
                               const strads_names *names,
                               const linear_survey *survey,
                               linear_classes *out);
/* b where w is 0; 0 without an intercept. */
double logistic_first_intercept(const strads_logistic_options *options,
                                const logistic_loss *loss,
                                const linear_classes *classes, uint32_t target);

/* ---- one partition ----------------------------------------------------- */

typedef struct logistic_local {
    uint64_t rows, columns;
    const linear_kernels *kernels;
    const logistic_loops *loops;
    linear_classes classes;
    uint32_t target;       /* the problem that y and z belong to */
    double *y, *c, *z, *r; /* [rows] */
    double *all;    /* softmax: [rows x classes] margins; z is the target's
                              less */
    double *offset; /* [rows] what the others come to */
    double *curve;  /* [rows] of the loss at z, if `bent` */
    double *along;  /* [rows] workspace of a product */
    bool bent;
    double *pending;   /* [columns + 1] told and not yet in z */
    uint32_t *touched; /* the n_touched parameters where it may not be 0 */
    uint64_t n_touched;
} logistic_local;

/* logistic_state.c: what strads_program says of slots with these names. */
strads_err logistic_open(const strads_task *task, void **out);
void logistic_close(void *opened);
strads_err logistic_pack(const void *opened, strads_bytes *out);
strads_err logistic_unpack(strads_task *task, const void *bytes, size_t size,
                           void **out);
/* Turns class weights into c, and labels into y of the first problem. */
void logistic_take_classes(logistic_local *local, const strads_share *share,
                           const linear_classes *classes);
/* One of several problems begins, from b and the w that all agree on, all
 * columns of which are the task's block: y and z. */
void logistic_take_target(logistic_local *local, const strads_task *task,
                          uint32_t target, double b);
/* Forgets what has been told and is not yet in z. */
void logistic_forget(logistic_local *local);

/* Blocks' ids: moments' and turns' tell whose problem begins; fewer and fewer
 * columns are alive, so they have the round's; a fetch's are above 2^40. */
enum {
    LOGISTIC_SCALARS_ID = 0,
    LOGISTIC_MOMENTS_ID = 1,
    LOGISTIC_TURN_ID = LOGISTIC_MOMENTS_ID + LINEAR_LABELS_MAX,
    LOGISTIC_DIRECTION_ID = LOGISTIC_TURN_ID + LINEAR_LABELS_MAX,
    LOGISTIC_ALIVE_ID
};

/* logistic.c: brings z up to what has been told. */
void logistic_catch_up(logistic_local *local, const strads_share *share);
logistic_rows logistic_rows_of(const logistic_local *local);

/* logistic_start.c: of the phases with these names. */
strads_err logistic_update_labels(strads_task *task);
strads_err logistic_receive_labels(strads_task *task);
size_t logistic_partial_moments(const strads_task *task);
strads_err logistic_update_moments(strads_task *task);
strads_err logistic_update_rows(strads_task *task);
strads_err logistic_update_level(strads_task *task);
strads_err logistic_aggregate_labels(strads_commit *commit);
strads_err logistic_aggregate_moments(strads_commit *commit);
strads_err logistic_aggregate_level(strads_commit *commit);
strads_err logistic_aggregate_rows(strads_commit *commit);

/* ---- the coordinator --------------------------------------------------- */

/* A member of the working set: its column over all rows, and where it stands
 * in the quadratic model. Entries are at + 0 .. at + n - 1 of logistic_set. */
typedef struct logistic_member {
    uint32_t column;
    bool full; /* n is the number of rows: no index is needed */
    uint64_t at, n;
    double w;         /* the trial point */
    double base;      /* where the model was frozen */
    double urgency;   /* what its own step would gain */
    double curvature; /* sum h x^2 */
    double level;     /* sum h x */
    uint64_t round;   /* the last that had it in its block */
    uint64_t model;   /* the model that these and `scaled` belong to */
} logistic_member;

/* What a visit needs to know of a member, all of it together, because in memory
 * the members that move lie far apart in a large set. */
typedef struct logistic_visit {
    uint64_t at;
    uint32_t n, place;
    double w, level, l1;
    double bend;      /* of the loss alone, b at its best */
    double curvature; /* L2 included */
    double inverse;   /* 1 / curvature, or 0 */
} logistic_visit;

/* The working set and the quadratic model in it (logistic_set.c, _model.c):
 *
 *     Q(w) = 1/2 |rest|^2 + penalties,   rest_i = (r_i - h_i dz_i) / root_i
 *
 * with dz = X (w - base) + beta, beta the change of b. It is kept apart, so
 * that a sparse column's step stays sparse: rest = lasting - beta root. */
typedef struct logistic_set {
    uint32_t n, room;
    logistic_member *member;
    logistic_visit *visit; /* [room] those that sweeps go to now */
    uint32_t *place;       /* [columns] 1 + place, 0: no member */
    linear_packed columns; /* the first members', as far as they are here: x */
    double *scaled;        /* [room_scaled]: x root, in the same places */
    uint64_t room_scaled;

    uint64_t n_rows;
    double *y, *c, *z;      /* [n_rows] */
    double *root, *lasting; /* of the model */
    double *frozen;         /* `lasting` when it was frozen */
    double *along;          /* dz */
    double *trial;          /* z + step dz */
    double *root_trial, *rest_trial;

    uint64_t model; /* its number; goes up when weights are frozen anew */
    bool looked;    /* root and lasting are those at z, and so is loss */
    bool open;      /* a model is being solved */
    bool leapt;     /* ... by other steps than single coordinates' */
    bool vain;      /* ... and a light step of Newton's has lowered nothing */
    double loss;    /* sum c f at z */
    double mass;    /* sum h */
    double beta;
    double first;    /* the most that a first sweep has gained in it */
    double left;     /* sum of members' urgencies */
    double listed;   /* of those that sweeps go to */
    uint64_t visits; /* members that blocks have had in it */
    double spent;    /* entries read in sweeps since Newton's last step */
    double spent_in_all;
    double *newton; /* [room_newton] its workspace */
    size_t room_newton;
    uint32_t *support; /* [room] */
    /* Extrapolation: (w, lasting) before and after the last sweeps. */
    double *past_w, *past_rest; /* [STEPS + 1] x block, x n_rows */
    uint32_t room_past;
} logistic_set;

typedef enum logistic_next {
    LOGISTIC_TO_LABELS,
    LOGISTIC_TO_MOMENTS,
    LOGISTIC_TO_ROWS,
    LOGISTIC_TO_LEVEL,
    LOGISTIC_TO_SCAN,
    LOGISTIC_TO_FETCH,
    LOGISTIC_TO_SOLVE,
    LOGISTIC_TO_HESSIAN,
    LOGISTIC_TO_PRODUCT,
    LOGISTIC_TO_JUDGE
} logistic_next;

/* Newton's method for an L2 penalty alone (logistic_ridge.c). Lines have a
 * number a column, then that of b. */
typedef struct logistic_ridge {
    bool used;
    double *matrix;  /* [(columns + 1)^2] the preconditioner's factor */
    bool factored;   /* it is there */
    uint64_t stride; /* rows, of which one is in it */
    double *step;    /* so far */
    double *rest;    /* right side less A step */
    double *scaled;  /* what the preconditioner makes of it */
    double *told;    /* the direction that workers know */
    double *product; /* A times it */
    double *value;   /* on its way */
    uint32_t *param; /* [columns + 1] the direction's */
    double fall;     /* rest'scaled; */
    double first;    /* at the first direction of this step */
    uint32_t products;
    double share;  /* of the step that has been taken; 0: there was none */
    double before; /* P before it */
    uint32_t halvings;
} logistic_ridge;

/* Where the last laps of a softmax ended (logistic_laps.c): numbers of the
 * alive columns' [n_alive x width], then b's. */
typedef struct logistic_laps {
    uint64_t numbers; /* of a lap, at most */
    double *past;     /* [laps x numbers], NULL: not kept */
    uint32_t n;       /* laps in it */
    double *now;      /* [numbers] as committed */
    double *change;   /* [numbers] on its way, class by class */
    double before;    /* P where the last lap ended */
    bool telling;     /* `change` is on its way */
    bool leapt;       /* this lap began beyond those before */
} logistic_laps;

typedef struct linear_path linear_path; /* apps/linear/linear_path.h */

typedef struct logistic_state {
    strads_logistic_options options; /* as given, later as resolved */
    linear_path *path;               /* NULL: one lambda */
    char classes_text[LINEAR_CLASSES_TEXT];
    const strads_data *data;
    const linear_kernels *kernels;
    const logistic_loops *loops;
    linear_classes classes;
    logistic_set set;
    logistic_ridge ridge;
    logistic_next next;
    uint64_t columns;
    double weight; /* W */
    double lambda_max;
    double l1, l2; /* L1 and L2 above */

    /* Of every column, [columns] each. */
    double *norm;    /* sum c x^2; centred under an intercept */
    double *scale;   /* s_j; 0: the column never enters */
    double *mean;    /* sum c x / W; 0 without an intercept */
    double *steep;   /* |x_j' g| / s_j of the dual point, before `share` */
    double *slope;   /* of the smooth part, downward, at the last scan */
    double *urgency; /* what its own step would gain, at least */
    double *told;    /* priorities on their way to the policy */
    uint32_t *alive; /* columns that may still enter: n_alive */
    uint32_t *candidate;
    uint32_t n_alive;
    double least_norm; /* the least norm / scale^2 of those that may enter */
    bool started;      /* some coefficients were given, so b has to be found */

    uint32_t width;              /* problems, one after the other */
    uint32_t target;             /* the one at hand */
    bool surveys;                /* moments are for lambda_max alone */
    double b[LINEAR_LABELS_MAX]; /* of the trial points */
    struct {
        double primal, dual;
        uint64_t nonzeros;
    } done[LINEAR_LABELS_MAX]; /* of problems that are not at hand */
    double *wide;              /* [(columns + 1) x width] changes, spread */
    bool softmax;              /* the problems are turns of one */
    logistic_laps laps;
    struct {
        double primal, dual;
        uint64_t nonzeros;
        linear_watch watch;
    } judged; /* softmax: the whole, when last looked at */

    double level; /* sum r at the last scan, with an intercept */
    double loss;  /* sum c f there */
    double primal, dual;
    double gap;    /* P - D */
    double share;  /* of the slopes that the last dual point has */
    double sphere; /* how far, at most, the best dual point is from it */
    uint64_t nonzeros;
    uint64_t scans, levels, fetches;
    uint32_t searches; /* since the last scan */
    linear_watch watch;
    double shrink;  /* how far below the gap's share the target lies */
    double settled; /* a model is solved when a sweep gains this share of the
                       first one */
    double worth;   /* decrease of P at which the next scan is due */
    bool solved;    /* the quadratic model is */
    bool enough;    /* the last search gained so little that a scan is due */
} logistic_state;

/* Whether parameter j is the intercept. */
static inline bool logistic_is_intercept(const logistic_state *state,
                                         uint32_t j)
{
    return j == state->columns;
}

/* A model is solved when a sweep gains this share of the first one; that of a
 * softmax' turn, which has one scan only, is solved better. */
#define LOGISTIC_SETTLED 0.2
#define LOGISTIC_SETTLED_TURN 0.02

/* Where the problem at hand has its number of parameter k of a block. */
static inline size_t logistic_at(const logistic_state *state, uint32_t k)
{
    return (size_t)k * state->width + state->target;
}

/* The best step of coordinate j alone from w, where the smooth part (L2
 * included) slopes down by `slope` and has that curvature. */
static inline double logistic_step(const logistic_state *state, uint64_t j,
                                   double w, double slope, double curvature)
{
    const double l1 = state->l1 * state->scale[j];
    const double z = slope + curvature * w;

    if (!(curvature > 0))
        return -w;
    if (z > l1)
        return (z - l1) / curvature - w;
    if (z < -l1)
        return (z + l1) / curvature - w;
    return -w;
}

/* logistic_state.c: what strads_program says of slots with these names. */
strads_err logistic_shape(const void *config, const strads_data *data,
                          strads_shape *shape);
strads_err logistic_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **out);
void logistic_end(void *begun);

/* Below it, but for 0, lambda_max says nothing any more. */
#define LOGISTIC_L1_RATIO_MIN 1e-3

/* strads_commit_also for the problem at hand. */
strads_err logistic_also(strads_commit *commit, uint32_t n,
                         const uint32_t *param, const double *change);
/* Forgets all that belongs to a problem. */
void logistic_begin_problem(logistic_state *state);

/* logistic_options.c: checks a config; fills defaults in. */
extern const strads_option logistic_option_table[];
extern const strads_logistic_options logistic_defaults;
strads_err logistic_options_resolve(const strads_logistic_options *given,
                                    strads_logistic_options *out);

/* logistic_moments.c: scales, lambda_max and lambda from merged X'r at w = 0
 * [p], the sides, sum c x^2 [p] and, with an intercept, sum c x [p]. */
void logistic_set_moments(logistic_state *state, const double *merged);

/* logistic_certificate.c: P, D and the gap at w from a scan of the columns of
 * `block`: merged X'r, and the sides; leaves the slopes in the state. */
/* A lower bound of sum c H(t u) over the rows of one class. */
double logistic_entropy(const logistic_side *side, double t);
void logistic_certify(logistic_state *state, const strads_block *block,
                      const double *merged, const double *w);

/* logistic_choice.c: who belongs to the working set, how urgent each member
 * is; drops columns that cannot enter any more. `dual` is the best of the
 * scans before. */
strads_err logistic_choose(strads_commit *commit, double dual);

/* logistic_set.c */
strads_err logistic_set_new(uint64_t columns, uint64_t rows, logistic_set *set);
void logistic_set_free(logistic_set *set);
/* Empties it, but for its memory. */
void logistic_set_clear(logistic_set *set);
/* Column j joins, its entries to be fetched. */
strads_err logistic_set_join(logistic_state *state, uint32_t j, double w);
/* How many of the next members fit one fetch, and their entries. */
uint32_t logistic_set_next(const logistic_state *state, uint64_t *entries);
/* Takes in the next members' columns, as linear_packed_write wrote them. */
strads_err logistic_take_columns(strads_commit *commit);
/* A member's column; `of`: set->columns.value or set->scaled. */
linear_column logistic_column_of(const logistic_set *set,
                                 const logistic_member *m, const double *of);
/* The rows' y and c: one number each, y c, whose sign is there for c = 0, too.
 */
strads_err logistic_take_rows(strads_commit *commit);

/* The set's rows, with margins of theirs. */
static inline logistic_rows logistic_set_rows(const logistic_set *set,
                                              const double *z)
{
    return (logistic_rows){.n = set->n_rows, .y = set->y, .c = set->c, .z = z};
}

/* logistic_model.c: aggregate of a block. */
strads_err logistic_solve_block(strads_commit *commit);

/* logistic_search.c: aggregate of the line search. */
strads_err logistic_search(strads_commit *commit);

/* logistic_extrapolate.c: notes where the sweeps over a block's members stand;
 * goes beyond the last ones where that lowers Q. */
strads_err logistic_past_reserve(logistic_set *set, uint32_t n);
void logistic_past_note(logistic_set *set, uint32_t step, uint32_t n,
                        const uint32_t *place);
void logistic_past_return(logistic_set *set, uint32_t step, uint32_t n,
                          const uint32_t *place);
/* How many signs are not those of step 0. */
uint32_t logistic_past_turned(const logistic_set *set, uint32_t n,
                              const uint32_t *place);
void logistic_extrapolate(logistic_state *state, uint32_t n,
                          const uint32_t *place);

/* Q at the set's (w, lasting), but for what others than these members add, with
 * the best beta, which is left there. */
double logistic_model_value(logistic_state *state, uint32_t n,
                            const uint32_t *place);

/* logistic_newton.c: whether a block's n members are such that conjugate
 * gradients pay from the start. */
bool logistic_newton_is_light(const logistic_set *set, uint32_t n,
                              const uint32_t *place);
/* Newton's step on their support, if the sweeps so far have cost as much, or it
 * is light. */
strads_err logistic_newton(logistic_state *state, uint32_t n,
                           const uint32_t *place);

/* logistic_conjugate.c: solves for that step on n members, as far as it is
 * worth while, in place: `step` is the right side at first. `work` has that
 * room, `rows` a number a row. */
size_t logistic_conjugate_room(uint32_t n);
void logistic_conjugate(const logistic_state *state, uint32_t n,
                        const uint32_t *place, double *step, double *work,
                        double *rows);

/* logistic_curve.c: what workers give to Newton's method on the whole. One row
 * of so many is in the preconditioner. */
uint64_t logistic_sample_stride(const strads_shape *shape);
strads_err logistic_update_hessian(strads_task *task);
size_t logistic_hessian_size(uint32_t n);
strads_err logistic_update_product(strads_task *task);
size_t logistic_product_size(const strads_task *task);

/* logistic_ridge.c: whether that is the way. */
bool logistic_is_ridge(const strads_logistic_options *options,
                       const strads_data *data, uint32_t width);
strads_err logistic_ridge_new(uint64_t columns, logistic_ridge *ridge);
void logistic_ridge_free(logistic_ridge *ridge);
/* Forgets all that belongs to a problem. */
void logistic_ridge_clear(uint64_t columns, logistic_ridge *ridge);
/* After a scan: half of a step that was too long is taken back, or the next one
 * begins. */
strads_err logistic_ridge_judge(strads_commit *commit);
/* Aggregates of a sampled Hessian and of a product. */
strads_err logistic_ridge_factor(strads_commit *commit);
strads_err logistic_ridge_multiply(strads_commit *commit);

/* logistic_softmax.c: whether options and width ask for it. */
bool logistic_is_softmax(const strads_logistic_options *options,
                         uint32_t width);
/* The b that a softmax with intercepts begins from: the start's, or log of the
 * class's share, which is best where w = 0. */
double logistic_softmax_intercept(const logistic_state *state, uint32_t k);
/* A worker's: margins at the start, of the w and b in the task's block, which
 * is of all parameters; another class's turn; a look at the whole. */
strads_err logistic_softmax_start(const strads_task *task);
void logistic_softmax_turn(strads_task *task);
strads_err logistic_judge(strads_task *task);
size_t logistic_judge_size(uint32_t columns, uint32_t k);
/* The coordinator's: rows of a turn; the certificate of the whole; what comes
 * after a turn. */
strads_err logistic_softmax_rows(strads_commit *commit);
strads_err logistic_aggregate_judge(strads_commit *commit);
void logistic_softmax_next(logistic_state *state);

/* logistic_laps.c: after a look at the whole, whose numbers the commit has:
 * whether something is to be told; tells the change of the class at hand. */
strads_err logistic_laps_new(logistic_state *state);
void logistic_laps_free(logistic_laps *laps);
void logistic_laps_judge(logistic_state *state, const strads_commit *commit);
strads_err logistic_laps_tell(strads_commit *commit);

/* The places of phases in the program's table. */
enum {
    LOGISTIC_LABELS,
    LOGISTIC_MOMENTS,
    LOGISTIC_TARGET,
    LOGISTIC_ROWS,
    LOGISTIC_LEVEL,
    LOGISTIC_SCAN,
    LOGISTIC_FETCH,
    LOGISTIC_SOLVE,
    LOGISTIC_SEARCH,
    LOGISTIC_HESSIAN,
    LOGISTIC_PRODUCT,
    LOGISTIC_JUDGE
};

#endif
