/* The dual program: what its files hand to each other.
 *
 *     minimise  1/2 |w|^2 + C sum_i c_i loss(y_i, x_i'w)
 *     maximise  D(b) = sum_i g_i(b_i) - 1/2 |w|^2   with w = X'b
 *
 * with a variable b_i for each row, and g_i as its loss says (dual_loss.h). What
 * the policy schedules are groups of some neighbouring rows: enough of them that
 * the coordinator has little to do for each, and few enough that they are worth
 * choosing. Their values are their parts of D, their priorities their shares of
 * the duality gap.
 *
 * Groups are dealt out among the partitions of a pool anew in each pass: any of
 * them may be given any group. Each ascends with a w of its own. What all have
 * done since is added up (joined, within a pool; merged, for the store); that
 * this cannot overshoot is bought with a curvature s times the true one, s
 * measured each time: for changes d_k of w |sum d_k|^2 / sum |d_k|^2, which is
 * 1 where partitions do not meet and K at worst. Ma et al., "Adding vs.
 * Averaging in Distributed Primal-Dual Optimization", ICML 2015, prove it for
 * s = K.
 *
 * An intercept that is not penalised is a bias column and an offset of all
 * rows' z, the level, which takes over what the column's coefficient comes to
 * from time to time (dual_certificate.c). Rows may be trained on in a copy whose
 * columns are shifted and scaled (dual_setup.c); w is then of the copy's columns
 * from the survey until the run ends.
 *
 * Parameters: the coefficients of the columns, that of the bias; the groups; the
 * rows' b_i, as of the last scan, which no policy chooses. */
#ifndef DUAL_H
#define DUAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/svm.h>

#include "apps/kernels/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_origins.h"
#include "dual_entropy.h"
#include "dual_loss.h"

/* ---- which parameter is what ------------------------------------------- */

/* Rows of a group, at most so many: a bit each. */
enum { DUAL_GROUP_MAX = 32 };

static inline uint64_t dual_group_rows(uint64_t rows)
{
    const uint64_t few = rows / 512;

    return few < 1 ? 1 : few > DUAL_GROUP_MAX ? DUAL_GROUP_MAX : few;
}

/* The first group of a partition whose rows begin there; the groups up to the
 * next partition's first one are its own, the last of which may be empty. */
static inline uint64_t dual_group_at(uint64_t rows, uint64_t begin,
                                     uint32_t partition)
{
    return begin / dual_group_rows(rows) + partition;
}

static inline strads_range dual_groups_of(uint64_t rows, strads_range own,
                                          uint32_t partition)
{
    return (strads_range){dual_group_at(rows, own.begin, partition),
                          dual_group_at(rows, own.end, partition + 1)};
}

static inline uint64_t dual_first_group(const strads_shape *shape)
{
    return shape->cols + 1;
}

static inline uint64_t dual_first_sample(const strads_shape *shape)
{
    return dual_first_group(shape) +
           dual_group_at(shape->rows, shape->rows, shape->partitions);
}

/* Shared totals: s; a fall of D that lets a row rest, below 0 while a pass looks
 * at rows that rest as well; the level; sigma of dual_newton.c; and of
 * dual_face.c how far a step goes, how much it keeps of the one before, and what
 * of the gap needs none. */
enum {
    DUAL_SAFETY,
    DUAL_STEEP,
    DUAL_LEVEL,
    DUAL_SIGMA,
    DUAL_STRIDE,
    DUAL_TURN,
    DUAL_ENOUGH,
    DUAL_TOTALS
};

/* What a program's options come to. */
typedef struct dual_problem {
    strads_svm_options options; /* defaults filled in; c is 0 until the survey
                                   where lambda tells it */
    const dual_loss *loss;
    linear_weights weights; /* of rows */
    double lambda; /* C = 1 / (lambda W), W the sum of weights; 0: C is given */
    double cost;   /* C times the mean weight of a row, from the survey on */
} dual_problem;

/* Of fewer columns than this Newton's steps in w take the last digits of any
 * loss; the square of more costs more than it brings, and losses without kinks
 * go by products. */
enum { DUAL_NEWTON_COLUMNS = 1200 };

/* ---- a partition ------------------------------------------------------- */

/* dual_curve.c: what steps in w need; dual_face.c: rows between bounds. */
typedef struct dual_curve dual_curve;
typedef struct dual_face dual_face;

/* Its rows, a b for each, and a w of its own. */
struct dual_local {
    dual_problem problem;
    const dual_loss *loss; /* the problem's */
    linear_classes classes;
    double *origin;         /* [columns], NULL: all are 0 */
    strads_share copied;    /* the rows with shifted or scaled columns, */
    double *value;          /* whose values these are; NULL: no copy (yet) */
    uint32_t width, target; /* problems, and the one at hand */
    uint64_t rows, columns;
    uint64_t first_group; /* as dual_group_at counts */
    strads_range span;    /* of [columns + 1]: what it joins for its pool */
    const column_kernels *kernels;
    dual_entropy_move *move;
    double bias;         /* B */
    double level;        /* what x'w is counted from */
    dual_sample *sample; /* [rows] */
    uint32_t *awake;     /* [groups] rows that do not rest, a bit each, */
    double *resting;     /* [groups] and the part of D of those that do */
    uint64_t groups;     /* of its own at most, empty ones included */
    double *weight;      /* [rows] c_i, until the survey is over */
    double *base;        /* [columns + 1] the w that all agree on */
    double *joint;       /* [columns + 1] its span of the pool's w; the same as
                            w where there is one partition */
    double *w;           /* [columns + 1] with what was done here since */
    bool based;          /* base is newer than joint */
    bool behind;         /* w is to begin from the newer of the two */
    uint64_t moved;      /* the round in which w moved last, */
    uint64_t joined;     /* and that of the last join */
    double *anchor;      /* [rows] b at the last scan */
    dual_curve *curve;   /* NULL: none yet */
    dual_face *face;     /* NULL: none yet */
    uint32_t *order;     /* [capacity] workspace of a pass */
    uint32_t capacity;
};

/* The rows of a partition as they are trained on. */
static inline const strads_share *dual_share(const dual_local *local,
                                             const strads_share *given)
{
    return local->value ? &local->copied : given;
}

/* Row i of a share, and its entry k. */
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

static inline uint64_t dual_index(const data_column *row, uint64_t k)
{
    return row->index ? row->index[k] : k;
}

static inline double dual_entry(const data_column *row, uint64_t k)
{
    return row->f64 ? row->f64[k] : (double)row->f32[k];
}

/* Where the problem at hand has its number of parameter k of a block. */
static inline size_t dual_at(const dual_local *local, size_t k)
{
    return k * local->width + local->target;
}

/* z of a row: x'w with the bias, from the level on; and w += a x. */
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

/* A fall of D that lets a row rest; nothing does before it is known. */
static inline double dual_steep(const strads_task *task)
{
    const double steep = fabs(task->total[DUAL_STEEP]);

    return steep > 0 ? steep : INFINITY;
}

/* ---- the coordinator --------------------------------------------------- */

/* Parts of a pass at most; a merge comes after each. */
enum { DUAL_PARTS_MAX = 4 };

/* The groups of one pool of partitions, as the coordinator sees them. A pass is
 * over when each group that does not rest has been visited once. */
typedef struct dual_pool {
    uint64_t begin, end;
    uint64_t left;  /* groups yet to be visited in this pass, */
    uint64_t told;  /* those of them that the policy knows of, and */
    uint64_t awake; /* all that this pass visits */
    uint32_t part[DUAL_PARTS_MAX]; /* the most promising comes first */
    uint32_t parts;
    uint64_t pass;          /* its number */
    uint32_t next;          /* part that the policy is to be told of */
    double sum;             /* of the gaps found in this pass, */
    double before;          /* and in the one before, */
    double falls;           /* which is this share of what another before had */
    double worst_now;       /* the steepest ascent of D found in this pass, */
    double worst;           /* and in the one before */
    double inside, crossed; /* rows of this pass, as a dual_visit has them */
    uint32_t since;         /* passes since steps of dual_face.c */
    bool settled;  /* the last pass changed little but b between bounds */
    bool sleepers; /* rows may have been let rest in haste */
    bool wakes;    /* this pass looks at rows that rest as well */
} dual_pool;

/* What is summed up over all rows, to know P and D: of rows whose b is above 0,
 * and below, their part of D but for what the intercept takes, sum |b|,
 * sum b (z - intercept), and sum |b| |x|. Of all rows: sum |b| sum_j |w_j x_j|. */
typedef enum dual_sum {
    DUAL_LOSS,
    DUAL_SUPPORTS,
    DUAL_PART,
    DUAL_SIZE = DUAL_PART + 2,
    DUAL_PULL = DUAL_SIZE + 2,
    DUAL_REACH = DUAL_PULL + 2,
    DUAL_SPAN = DUAL_REACH + 2,
    DUAL_SUMS
} dual_sum;

/* Where a problem stands that is not at hand: as its last scan left it, or as
 * w = 0 would. */
typedef struct dual_outcome {
    double primal, gap;
    uint64_t nonzeros, supports;
} dual_outcome;

/* How steps of conjugate gradients go on: dual_face.c. */
typedef struct dual_heading {
    double *v;      /* [columns + 1] where w goes */
    double square;  /* r'r at the last step, */
    double first;   /* and at the first one */
    uint32_t steps; /* in this face */
    double alpha;   /* of the next step: how far, */
    double beta;    /* and how much of the last p is in its p */
} dual_heading;

/* How conjugate gradients find a Newton's step: dual_newton.c. Lines have a
 * number a column, then that of the bias. */
typedef struct dual_conjugate {
    bool used;          /* products are cheaper than the matrix, so far */
    double left;        /* products that are, at most */
    double *line;       /* what all of these are in; NULL: none yet */
    double *gradient;   /* X'c - w, downhill, */
    double *rest;       /* and less what the step so far makes of it */
    double *inverse;    /* 1 over the diagonal, which preconditions, */
    double *shrink;     /* and what of it is not X_J' diag(h) X_J's */
    double *diagonal;   /* that, */
    double *least;      /* and what all rows would add */
    double *step;       /* so far */
    double *p;          /* what w is further by now */
    double *product;    /* of it */
    double fall, first; /* rest'(inverse rest), and at the step's beginning */
    uint32_t products;
} dual_conjugate;

typedef struct dual_state {
    dual_problem problem;
    char *classes_text; /* options.classes points to it */
    linear_classes classes;
    double *scale;   /* [columns] while w is that of copied columns, which are
                      over these, 0: left out; */
    double *shift;   /* [columns] and less these, behind them, */
    double *mean;    /* [columns] which are these over the scales; else NULL */
    double *origin;  /* [columns], NULL: all are 0 */
    uint32_t *full;  /* [n_full] columns without zeros left out, */
    uint32_t n_full; /* which may have an origin */
    bool originated; /* it is known which have */
    const strads_data *data;
    uint32_t width, target; /* problems, and the one at hand */
    dual_outcome *done;     /* [width] of those that are not */
    dual_pool *pool;        /* [pools] */
    double *urgency;    /* [groups] share of the gap at the last pass over it */
    double *entries;    /* [groups] of rows that do not rest */
    uint8_t *waits;     /* [groups] for a visit in this pass: dual_pass.c */
    uint32_t *awake;    /* [groups] of each pool those of its pass in a row */
    uint32_t *told;     /* [groups] workspace: what the policy is told, */
    double *how;        /* [groups] and how urgent it is */
    strads_block *own;  /* [partitions] rows of each, */
    strads_range *held; /* [partitions] and groups */
    uint32_t partitions, pools;
    uint64_t columns, rows, groups;

    bool surveyed, measured, seed_due;
    bool moved;    /* groups were visited since the last merge, */
    bool joined;   /* and none since the last join */
    bool spread;   /* visits were others than the first partition's */
    bool alone;    /* the first partition does all passes: dual_pass.c, */
    bool little;   /* since they go over so few entries */
    double safety; /* s, as measured last */
    bool scan_due;
    bool rested; /* the scan to come was called by the policy's rest */
    bool stalled;
    double near, far;   /* sums of |sum d|^2 and sum |d|^2, fading */
    double apart;       /* sum |d|^2 of the last join */
    uint64_t visits;    /* rows that passes have looked at, */
    double parts;       /* the sum of their parts of D, */
    double reached;     /* and |w|^2, both as told by passes */
    uint64_t next_scan; /* so many visits until one is due */
    uint64_t scans;
    double aim;             /* a scan is due at this share of the tolerance */
    double enough;          /* that share of P: see dual_pass.c */
    double sums[DUAL_SUMS]; /* of the scan, so far */
    uint64_t supports;
    uint64_t nonzeros;  /* of w */
    uint32_t seen;      /* blocks of the scan that have come in */
    double primal, gap; /* P and P - D of the last scan, */
    double rounding;    /* how much of that is an estimate of rounding, */
    double level_gap;   /* and P - D while the level is held */
    double least, most; /* the best P and D so far */
    uint32_t idle;      /* scans in a row that bettered neither */
    double bias;        /* B */
    double bias_before; /* what the bias came to, before the level */
    double level_step;  /* went so far; */
    double level_share; /* of what the level lacks the bias is this share */
    double *intercept;  /* [width] of the columns as they are trained on */

    /* dual_newton.c; `step` is the phase that comes next, or DUAL_ASCEND. */
    uint32_t step;
    uint32_t inner, vain;
    double judged_gap; /* at the last scan, */
    uint64_t judged_visits;
    bool gave_up, keeps;        /* Newton's steps; and the b as they are */
    bool blunt;                 /* the last step was within rounding, */
    double gradient;            /* from where the gradient was that long, */
    double ballast;             /* of the diagonal, over what partitions say */
    double *matrix;             /* [(columns + 1)^2] */
    double *direction;          /* [columns + 1] */
    double slope, along, reach; /* g'd, w'd and d'd of it */
    dual_conjugate conjugate;
    const double *off; /* what the w that is committed has too much, or NULL */
    double nearest;    /* the least gap so far */

    /* dual_face.c */
    dual_heading heading;
    uint32_t patience; /* passes before the next */
    double gap_before; /* the gap before the last one */
} dual_state;

/* How many coefficients are penalised; the bias's is the last one. */
static inline uint64_t dual_penalised(const dual_state *state)
{
    return state->columns + !state->problem.options.intercept;
}

/* As dual_at, on the coordinator. */
static inline size_t dual_place(const dual_state *state, size_t k)
{
    return k * state->width + state->target;
}

/* ---- phases ------------------------------------------------------------ */

/* Their places in the programs' table (dual.c). What they compute stands in the
 * file that is named; each has slots of strads_phase. */
enum {
    DUAL_ORIGINS,  /* dual_setup.c */
    DUAL_SURVEY,   /* dual_setup.c */
    DUAL_MOMENTS,  /* dual_setup.c */
    DUAL_SEED,     /* dual_certificate.c */
    DUAL_ASCEND,   /* dual_ascend.c, dual_pass.c */
    DUAL_JOIN,     /* dual_ascend.c */
    DUAL_MERGE,    /* dual_ascend.c */
    DUAL_SCAN,     /* dual_certificate.c */
    DUAL_CURVE,    /* dual_curve.c, dual_newton.c */
    DUAL_GRADIENT, /* as DUAL_CURVE */
    DUAL_PRODUCT,  /* as DUAL_CURVE */
    DUAL_SLOPE,    /* as DUAL_CURVE */
    DUAL_TAKE,     /* dual_certificate.c, dual_newton.c */
    DUAL_FACE,     /* dual_face.c */
    DUAL_TELL,     /* dual_setup.c */
    DUAL_PHASES
};

strads_err dual_update_origins(strads_task *task);
strads_err dual_aggregate_origins(strads_commit *commit);
strads_err dual_receive_origins(strads_task *task);
size_t dual_partial_survey(const strads_task *task);
strads_err dual_update_survey(strads_task *task);
void dual_merge_survey(void *into, const void *from, size_t bytes);
strads_err dual_aggregate_survey(strads_commit *commit);
strads_err dual_receive_survey(strads_task *task);
size_t dual_partial_moments(const strads_task *task);
strads_err dual_update_moments(strads_task *task);
strads_err dual_aggregate_moments(strads_commit *commit);
strads_err dual_receive_moments(strads_task *task);
strads_err dual_aggregate_tell(strads_commit *commit);
size_t dual_partial_none(const strads_task *task);
strads_err dual_update_seed(strads_task *task);
strads_err dual_aggregate_seed(strads_commit *commit);
size_t dual_partial_ascend(const strads_task *task);
strads_err dual_update_ascend(strads_task *task);
strads_err dual_aggregate_ascend(strads_commit *commit);
size_t dual_partial_join(const strads_task *task);
strads_err dual_update_join(strads_task *task);
strads_err dual_aggregate_join(strads_commit *commit);
size_t dual_partial_merge(const strads_task *task);
strads_err dual_update_merge(strads_task *task);
strads_err dual_aggregate_merge(strads_commit *commit);
strads_err dual_refresh(strads_task *task, const strads_change *changes,
                        uint32_t n);
size_t dual_partial_scan(const strads_task *task);
strads_err dual_update_scan(strads_task *task);
strads_err dual_aggregate_scan(strads_commit *commit);
size_t dual_partial_curve(const strads_task *task);
strads_err dual_update_curve(strads_task *task);
strads_err dual_aggregate_curve(strads_commit *commit);
size_t dual_partial_gradient(const strads_task *task);
strads_err dual_update_gradient(strads_task *task);
strads_err dual_aggregate_gradient(strads_commit *commit);
size_t dual_partial_product(const strads_task *task);
strads_err dual_update_product(strads_task *task);
strads_err dual_aggregate_product(strads_commit *commit);
size_t dual_partial_slope(const strads_task *task);
strads_err dual_update_slope(strads_task *task);
strads_err dual_aggregate_slope(strads_commit *commit);
strads_err dual_update_take(strads_task *task);
strads_err dual_aggregate_take(strads_commit *commit);
size_t dual_partial_face(const strads_task *task);
strads_err dual_update_face(strads_task *task);
strads_err dual_aggregate_face(strads_commit *commit);

/* ---- dual_setup.c ------------------------------------------------------ */

/* What strads_program says of slots with these names, but for the problem, which
 * is the program's. */
strads_err dual_open(const strads_task *task, const dual_problem *problem,
                     void **out);
void dual_close(void *opened);
strads_err dual_shape(const dual_problem *problem, const strads_data *data,
                      strads_shape *shape);
strads_range dual_owned(const void *config, const strads_data *data,
                        const strads_shape *shape, uint32_t partition);
double dual_weight(const void *config, const strads_data *data, uint32_t j);
strads_err dual_begin(const dual_problem *problem, const strads_data *data,
                      const strads_shape *shape, void **out);
void dual_end(void *begun);
/* The entries of all rows of group i. */
double dual_group_entries(const dual_state *state, uint64_t i);

/* Several classes are as many problems, each class against all others, one after
 * the other. The id of a survey's block says whose problem begins; ids below are
 * the partitions' and dual.c's. */
static inline uint64_t dual_survey_id(uint32_t partitions, uint32_t target)
{
    return (uint64_t)partitions + 2 + target;
}

/* After a scan, or when b has been taken over: what comes next in this problem,
 * or, if it is through, the next one. */
void dual_judge(dual_state *state, double tolerance);
/* Of all problems together. */
dual_outcome dual_total(const dual_state *state);
/* A report but for what it counts, with objectives times `unit`. Before the
 * first scan nothing is known of the gap, which tells the command that a run
 * cut short there has not converged. */
void dual_report(const dual_state *state, double unit, strads_report *report);
/* Takes the intercept from a commit of all coefficients. */
void dual_take_intercept(const strads_commit *commit);

/* ---- dual_pass.c: what the policy is told ------------------------------ */

/* So that it chooses each group that does not rest once a pass. The first pass
 * of a problem; and a partition's scan, of which the last one counts state->seen
 * up to the partitions. */
strads_err dual_begin_first_passes(strads_commit *commit);
void dual_pass_scanned(strads_commit *commit);

/* ---- dual_ascend.c ----------------------------------------------------- */

/* What a block's partial has behind its groups' gaps (-1 when all rows of one
 * rest) and entries: the steepest ascent of D that was found, how many rows were
 * looked at, how many of them are between their bounds, how many came there or
 * left, and |w|^2 where the block began. */
enum {
    DUAL_WORST,
    DUAL_VISITS,
    DUAL_INSIDE,
    DUAL_CROSSED,
    DUAL_REACHED,
    DUAL_ASCEND_MORE
};
/* To be called by who is about to move w. */
void dual_begin_w(const strads_task *task);
/* Has the rows' problems s times as curved from now on, where nothing has moved
 * since the last join: as measured, or 1 where one partition moves alone. */
void dual_set_safety(strads_commit *commit);

/* ---- dual_certificate.c ------------------------------------------------ */

/* Where P and D are taken: squares of w and of X'b, with their bias if it is
 * penalised, and how far the two are apart. */
typedef struct dual_point {
    double square, dual_square, apart;
} dual_point;

/* P and D at some w and b, from sums over all rows. Then whether that betters
 * anything. */
strads_err dual_certify(dual_state *state, const double *sums, dual_point at);
void dual_watch(dual_state *state);
/* The length of the w that all agree on, without an intercept's. */
double dual_length(const dual_local *local);
/* Adds a row with that b to sums at its z; `length` is dual_length. */
void dual_add_sums(const dual_local *local, const dual_sample *x,
                   const data_column *row, double b, double z, double length,
                   double *sums);
/* What D loses to b that do not sum to 0. */
double dual_excess(const dual_state *state, const double *sums);
/* B of an intercept, for rows of that |x|^2 on average. */
double dual_level_bias(const dual_problem *problem, double square);
/* Newton's steps, which do not penalise the bias, end: the level takes it
 * over. */
void dual_level_take(strads_commit *commit);

/* ---- dual_curve.c, dual_newton.c, dual_face.c --------------------------- */

void dual_curve_free(dual_curve *curve);
void dual_face_free(dual_face *face);
/* After a scan: whether Newton's steps come next, or dual ascent. At a pass's
 * end: whether it has settled, and whether steps between bounds come next. */
void dual_newton_judge(dual_state *state, double tolerance);
bool dual_is_settled(const dual_pool *pool);
void dual_judge_face(dual_state *state);
/* Another problem: how many products its steps may take. */
void dual_begin_conjugate(dual_state *state);
/* Lengths of a step that are looked at, the whole one first. They cost little
 * beside the curve where c is a line between its bounds, and the slope between
 * two of them is nearly straight; where it is not, fewer do. */
enum { DUAL_STEPS = 64, DUAL_FEW_STEPS = 10 };
static inline int dual_steps(const dual_loss *loss)
{
    return loss->quadratic ? DUAL_STEPS : DUAL_FEW_STEPS;
}
static inline double dual_step_at(const dual_loss *loss, int t)
{
    return pow(loss->quadratic ? .9 : .5, t);
}
/* In the place of sigma: b stay as they are. */
#define DUAL_SIGMA_KEEP (-1)
/* sigma of the first smooth problem, over C. */
#define DUAL_SIGMA_FIRST 4

/* ---- dual.c ------------------------------------------------------------ */

extern const strads_phase dual_phases[];
strads_err dual_schedule(strads_turn *turn);

/* All slots of a program but those that look at its options alone; the functions
 * of DUAL_SLOTS, which ask `resolve` what they come to, stand before its
 * table. */
#define DUAL_COMPUTED                                                        \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,              \
    .layout = STRADS_LAYOUT_ROWS, .weight = dual_weight, .end = dual_end,    \
    .close = dual_close, .refresh = dual_refresh, .schedule = dual_schedule, \
    .finalises = true, .phases = dual_phases, .n_phases = DUAL_PHASES,       \
    .owned = dual_owned, .pooled = true, .shape = shape, .begin = begin,     \
    .open = open

#define DUAL_SLOTS(resolve)                                              \
    static strads_err shape(const void *config, const strads_data *data, \
                            strads_shape *out)                           \
    {                                                                    \
        dual_problem problem;                                            \
        const strads_err err = resolve(config, &problem);                \
        return err ? err : dual_shape(&problem, data, out);              \
    }                                                                    \
    static strads_err begin(const void *config, const strads_data *data, \
                            const strads_shape *sizes, void **out)       \
    {                                                                    \
        dual_problem problem;                                            \
        const strads_err err = resolve(config, &problem);                \
        return err ? err : dual_begin(&problem, data, sizes, out);       \
    }                                                                    \
    static strads_err open(const strads_task *task, void **out)          \
    {                                                                    \
        dual_problem problem;                                            \
        const strads_err err = resolve(task->config, &problem);          \
        return err ? err : dual_open(task, &problem, out);               \
    }

#endif
