/* The dual program: declarations that its files share.
 *
 *     minimise  1/2 |w|^2 + C sum_i c_i loss(y_i, x_i'w)
 *     maximise  D(b) = sum_i g_i(b_i) - 1/2 |w|^2   with w = X'b
 *
 * with a variable b_i for each row, and g_i given by its loss (dual_loss.h).
 * The policy schedules groups of some adjacent rows: large enough that the
 * coordinator has little work for each, and small enough that choosing among
 * them pays. Their values are their parts of D, their priorities their shares
 * of the duality gap.
 *
 * In each pass groups are dealt again to the partitions of a pool: any
 * partition may get any group. Each ascends with its own w. All changes since
 * are added up (joined, within a pool; merged, for the store). To prevent
 * overshooting, the curvature is taken s times as large. s is measured each
 * time: for changes d_k of w it is |sum d_k|^2 / sum |d_k|^2, which is 1 if
 * partitions do not interact and K at worst. Ma et al., "Adding vs. Averaging
 * in Distributed Primal-Dual Optimization", ICML 2015, prove it for s = K.
 *
 * An unpenalised intercept is a bias column plus an offset of all rows' z, the
 * level, which takes over the contribution of the bias column from time to time
 * (dual_certificate.c). Rows may be trained on in a copy with shifted and
 * scaled columns (dual_setup.c). w then belongs to the copy's columns from the
 * survey until the run ends.
 *
 * Parameters: the coefficients of the columns, that of the bias; the groups;
 * the rows' b_i at the last scan, which no policy chooses. */
#ifndef DUAL_H
#define DUAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/svm.h>

#include "numeric/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_origins.h"
#include "dual_entropy.h"
#include "dual_loss.h"

/* ---- layout of parameters ------------------------------------------------ */

/* Limit on the rows of a group: one bit each. */
enum { DUAL_GROUP_MAX = 32 };

static inline uint64_t dual_group_rows(uint64_t rows)
{
    const uint64_t few = rows / 512;

    return few < 1 ? 1 : few > DUAL_GROUP_MAX ? DUAL_GROUP_MAX : few;
}

/* The first group of a partition with rows from `begin` on. The groups up to
 * the next partition's first one are its own; the last one may be empty. */
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

/* Shared totals: s; the descent of D at which a row becomes inactive, below
 * 0 while a pass also checks inactive rows; the level; sigma of dual_newton.c;
 * and for dual_face.c the length of a step, the share that it keeps of the
 * previous direction, and the part of the gap that needs no step. */
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

/* A program's options, resolved. */
typedef struct dual_problem {
    strads_svm_options options; /* defaults filled in; c is 0 until the
                                 * survey, if lambda determines it */
    const dual_loss *loss;
    linear_weights weights; /* of rows */
    double lambda; /* C = 1 / (lambda W), W the sum of weights; 0: C is given */
    double cost;   /* C times the mean weight of a row, from the survey on */
} dual_problem;

/* With fewer columns than this, Newton's steps in w give the last digits for
 * any loss. With more, the square matrix costs too much, and losses without
 * kinks use products. */
enum { DUAL_NEWTON_COLUMNS = 1200 };

/* ---- a partition ------------------------------------------------------- */

/* dual_curve.c: data for steps in w; dual_face.c: rows between bounds. */
typedef struct dual_curve dual_curve;
typedef struct dual_face dual_face;

/* Its rows, a b for each, and its own w. */
struct dual_local {
    dual_problem problem;
    const dual_loss *loss; /* the problem's */
    linear_classes classes;
    double *origin;         /* [columns], NULL: all are 0 */
    strads_share copied;    /* the rows with shifted or scaled columns, */
    double *value;          /* with these values; NULL: no copy (yet) */
    uint32_t width, target; /* problems, and the current one */
    uint64_t rows, columns;
    uint64_t first_group; /* by dual_group_at */
    strads_range span;    /* of [columns + 1]: the part that it joins for its
                           * pool */
    const column_kernels *kernels;
    dual_entropy_move *move;
    double bias;         /* B */
    double level;        /* offset of x'w */
    dual_sample *sample; /* [rows] */
    uint32_t *awake;     /* [groups] active rows, a bit each, */
    double *resting;     /* [groups] and the part of D of the inactive ones */
    uint64_t groups;     /* limit of its own groups, including empty ones */
    double *weight;      /* [rows] c_i, until the survey is done */
    double *base;        /* [columns + 1] the common w */
    double *joint;       /* [columns + 1] its span of the pool's w; the same
                          * as w if there is one partition */
    double *w;           /* [columns + 1] with this partition's changes since */
    bool based;          /* base is newer than joint */
    bool behind;         /* w must start from the newer of the two */
    uint64_t moved;      /* the last round in which w moved, */
    uint64_t joined;     /* and that of the last join */
    double *anchor;      /* [rows] b at the last scan */
    dual_curve *curve;   /* NULL: none yet */
    dual_face *face;     /* NULL: none yet */
    uint32_t *order;     /* [capacity] workspace of a pass */
    uint32_t capacity;
};

/* The rows of a partition that are trained on. */
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

/* Index of parameter k's number of the current problem in a block. */
static inline size_t dual_at(const dual_local *local, size_t k)
{
    return k * local->width + local->target;
}

/* z of a row: x'w with the bias, plus the level; and w += a x. */
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

/* The descent of D at which a row becomes inactive; none does before it is
 * known. */
static inline double dual_steep(const strads_task *task)
{
    const double steep = fabs(task->total[DUAL_STEEP]);

    return steep > 0 ? steep : INFINITY;
}

/* ---- the coordinator --------------------------------------------------- */

/* Largest number of parts of a pass; a merge comes after each. */
enum { DUAL_PARTS_MAX = 4 };

/* The groups of one pool of partitions, at the coordinator. A pass ends when
 * each active group was visited once. */
typedef struct dual_pool {
    uint64_t begin, end;
    uint64_t left;  /* groups to visit in this pass, */
    uint64_t told;  /* those of them that the policy knows, and */
    uint64_t awake; /* all of this pass */
    uint32_t part[DUAL_PARTS_MAX]; /* the most promising first */
    uint32_t parts;
    uint64_t pass;          /* its number */
    uint32_t next;          /* the next part for the policy */
    double sum;             /* of the gaps found in this pass, */
    double before;          /* and in the previous pass, */
    double falls;           /* and its ratio to the one before */
    double worst_now;       /* the steepest ascent of D found in this pass, */
    double worst;           /* and in the previous pass */
    double inside, crossed; /* rows of this pass, see dual_visit */
    uint32_t since;         /* passes since the last steps of dual_face.c */
    bool settled;  /* the last pass changed almost only b between bounds */
    bool sleepers; /* rows may have become inactive in haste */
    bool wakes;    /* this pass also checks inactive rows */
} dual_pool;

/* Sums over all rows that give P and D. For rows with b above 0, and for
 * those below: their part of D without the intercept's term, sum |b|, sum b (z
 * - intercept), and sum |b| |x|. For all rows: sum |b| sum_j |w_j x_j|. */
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

/* State of a problem that is not current: after its last scan, or at w = 0. */
typedef struct dual_outcome {
    double primal, gap;
    uint64_t nonzeros, supports;
} dual_outcome;

/* State of conjugate gradients: dual_face.c. */
typedef struct dual_heading {
    double *v;      /* [columns + 1] direction of w */
    double square;  /* r'r at the last step, */
    double first;   /* and at the first one */
    uint32_t steps; /* in this set of rows */
    double alpha;   /* of the next step: its length, */
    double beta;    /* and the share of the last p in its p */
} dual_heading;

/* A Newton step by conjugate gradients: dual_newton.c. Vectors have one
 * number per column, then that of the bias. */
typedef struct dual_conjugate {
    bool used;          /* products have been cheaper than the matrix so far */
    double left;        /* remaining products for which that holds */
    double *line;       /* memory of all of these; NULL: none yet */
    double *gradient;   /* X'c - w, the direction of descent, */
    double *rest;       /* and the residual of the step so far */
    double *inverse;    /* 1 over the diagonal, the preconditioner, */
    double *shrink;     /* and its part that is not in X_J' diag(h) X_J */
    double *diagonal;   /* that, */
    double *least;      /* and the contribution of all rows */
    double *step;       /* so far */
    double *p;          /* the current displacement of w */
    double *product;    /* with p */
    double fall, first; /* rest'(inverse rest), now and at the step's
                         * beginning */
    uint32_t products;
} dual_conjugate;

typedef struct dual_state {
    dual_problem problem;
    char *classes_text; /* options.classes points to it */
    linear_classes classes;
    double *scale;    /* [columns] while w belongs to copied columns, which
                      * are divided by these, 0: left out; */
    double *shift;    /* [columns] and shifted by these, after scaling, */
    double *mean;     /* [columns] which are these over the scales; else NULL */
    double *unscaled; /* [columns x width] w of the data's columns, while the
                       * end of a run moves there; else NULL */
    uint32_t moves;   /* commits that it took */
    double *origin;   /* [columns], NULL: all are 0 */
    uint32_t *full;   /* [n_full] columns without omitted zeros, */
    uint32_t n_full;  /* which may have an origin */
    bool originated;  /* their origins are known */
    const strads_data *data;
    uint32_t width, target; /* problems, and the current one */
    dual_outcome *done;     /* [width] outcomes of the others */
    dual_pool *pool;        /* [pools] */
    double *urgency;    /* [groups] share of the gap at the last pass over it */
    double *entries;    /* [groups] of active rows */
    uint8_t *waits;     /* [groups] state in this pass: dual_pass.c */
    uint32_t *awake;    /* [groups] for each pool, those of its pass */
    uint32_t *told;     /* [groups] workspace: groups for the policy, */
    double *how;        /* [groups] and their urgencies */
    strads_block *own;  /* [partitions] rows of each, */
    strads_range *held; /* [partitions] and groups */
    uint32_t partitions, pools;
    uint64_t columns, rows, groups;
    bool by_matrix; /* Newton's steps may form the square of the columns */

    bool surveyed, measured, seed_due;
    bool moved;    /* groups were visited since the last merge, */
    bool joined;   /* and none since the last join */
    bool spread;   /* visits were not only the first partition's */
    bool alone;    /* the first partition does all passes: dual_pass.c, */
    bool little;   /* because they have so few entries */
    double safety; /* s, as last measured */
    bool scan_due;
    bool rested; /* the idle policy caused the next scan */
    bool stalled;
    double near, far;   /* sums of |sum d|^2 and sum |d|^2, with decay */
    double apart;       /* sum |d|^2 of the last join */
    uint64_t visits;    /* rows visited by passes, */
    double parts;       /* the sum of their parts of D, */
    double reached;     /* and |w|^2, both as reported by passes */
    uint64_t next_scan; /* number of visits at which one is due */
    uint64_t scans;
    double aim;             /* a scan is due at this share of the tolerance */
    double enough;          /* that share of P: see dual_pass.c */
    double sums[DUAL_SUMS]; /* of the current scan */
    uint64_t supports;
    uint64_t nonzeros;  /* of w */
    uint32_t seen;      /* blocks of the scan received */
    double primal, gap; /* P and P - D of the last scan, */
    double rounding;    /* the part of it that is estimated rounding, */
    double level_gap;   /* and P - D while the level is held */
    double least, most; /* the best P and D of all scans */
    uint32_t idle;      /* consecutive scans that improved neither */
    double bias;        /* B */
    double bias_before; /* the contribution of the bias before the level */
    double level_step;  /* moved by this much; */
    double level_share; /* the bias is this share of the level's error */
    double *intercept;  /* [width] of the columns in training */

    /* dual_newton.c; `step` is the next phase, or DUAL_ASCEND. */
    uint32_t step;
    uint32_t inner, vain;
    double judged_gap; /* at the last scan, */
    uint64_t judged_visits;
    bool gave_up, keeps;        /* no more Newton steps; b stay unchanged */
    bool blunt;                 /* the last step was within rounding, */
    double gradient;            /* started from a gradient of this length, */
    double ballast;             /* factor of the diagonal that partitions
                                 * report */
    double *matrix;             /* [(columns + 1)^2] */
    double *direction;          /* [columns + 1] */
    double slope, along, reach; /* g'd, w'd and d'd of it */
    dual_conjugate conjugate;
    const double *off; /* difference of the committed w, or NULL */
    double nearest;    /* the least gap of all scans */

    /* dual_face.c */
    dual_heading heading;
    uint32_t patience; /* passes before the next steps */
    double gap_before; /* the gap before the last steps */
} dual_state;

/* The number of penalised coefficients; the bias's is the last one. */
static inline uint64_t dual_penalised(const dual_state *state)
{
    return state->columns + !state->problem.options.intercept;
}

/* Like dual_at, on the coordinator. */
static inline size_t dual_place(const dual_state *state, size_t k)
{
    return k * state->width + state->target;
}

/* ---- phases ------------------------------------------------------------ */

/* Their indices in the programs' table (dual.c). The named file has each
 * phase's computation; each has slots of strads_phase. */
enum {
    DUAL_ORIGINS,  /* dual_setup.c */
    DUAL_LABELS,   /* dual_setup.c */
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
    DUAL_ACTIVE,   /* dual_face.c */
    DUAL_UNSCALE,  /* dual_setup.c */
    DUAL_PHASES
};

strads_err dual_update_origins(strads_task *task);
strads_err dual_aggregate_origins(strads_commit *commit);
strads_err dual_receive_origins(strads_task *task);
size_t dual_partial_labels(const strads_task *task);
strads_err dual_update_labels(strads_task *task);
void dual_merge_survey(void *into, const void *from, size_t bytes);
strads_err dual_aggregate_labels(strads_commit *commit);
strads_err dual_receive_survey(strads_task *task);
size_t dual_partial_moments(const strads_task *task);
strads_err dual_update_moments(strads_task *task);
strads_err dual_aggregate_moments(strads_commit *commit);
strads_err dual_receive_moments(strads_task *task);
strads_err dual_aggregate_unscale(strads_commit *commit);
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
size_t dual_partial_active(const strads_task *task);
strads_err dual_update_active(strads_task *task);
strads_err dual_aggregate_active(strads_commit *commit);

/* ---- dual_setup.c ------------------------------------------------------ */

/* Slots of strads_program with these names; the program adds the problem. */
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
/* The number of entries of the rows of group i. */
double dual_group_entries(const dual_state *state, uint64_t i);

/* Several classes are one problem each, against all others, solved in turn.
 * The id of a survey's block is the problem that begins; ids below are the
 * partitions' and dual.c's. */
static inline uint64_t dual_survey_id(uint32_t partitions, uint32_t target)
{
    return (uint64_t)partitions + 2 + target;
}

/* After a scan, or when b was taken over: sets the next phase of this
 * problem or, if it is done, the next problem. */
void dual_judge(dual_state *state, double tolerance);
/* Over all problems. */
dual_outcome dual_total(const dual_state *state);
/* A report without its counts, with objectives times `unit`. Before the
 * first scan the gap is unknown, which shows the command that a run stopped
 * there has not converged. */
void dual_report(const dual_state *state, double unit, strads_report *report);
/* Takes the intercept from a commit of all coefficients. */
void dual_take_intercept(const strads_commit *commit);

/* ---- dual_pass.c: groups for the policy ---------------------------------- */

/* The policy chooses each active group once per pass. The first pass of a
 * problem; and a partition's scan, of which the last one counts state->seen up
 * to the partitions. */
strads_err dual_begin_first_passes(strads_commit *commit);
void dual_pass_scanned(strads_commit *commit);

/* ---- dual_ascend.c ----------------------------------------------------- */

/* The end of a block's partial, behind its groups' gaps (-1 if all rows of a
 * group are inactive) and entries: the steepest ascent of D, the numbers of
 * rows visited, of those between their bounds, and of those that came there or
 * left, and |w|^2 at the beginning of the block. */
enum {
    DUAL_WORST,
    DUAL_VISITS,
    DUAL_INSIDE,
    DUAL_CROSSED,
    DUAL_REACHED,
    DUAL_ASCEND_MORE
};
/* Call before moving w. */
void dual_begin_w(const strads_task *task);
/* Sets the factor s of the curvature, if nothing has moved since the last
 * join: as measured, or 1 if one partition moves alone. */
void dual_set_safety(strads_commit *commit);

/* ---- dual_certificate.c ------------------------------------------------ */

/* The point of P and D: squares of w and of X'b, with their bias if it is
 * penalised, and the distance of the two. */
typedef struct dual_point {
    double square, dual_square, apart;
} dual_point;

/* P and D at some w and b, from sums over all rows. Then whether they
 * improve a bound. */
strads_err dual_certify(dual_state *state, const double *sums, dual_point at);
void dual_watch(dual_state *state);
/* The length of the common w, without the intercept's part. */
double dual_length(const dual_local *local);
/* Adds a row with that b to sums at its z; `length` is dual_length. */
void dual_add_sums(const dual_local *local, const dual_sample *x,
                   const data_column *row, double b, double z, double length,
                   double *sums);
/* The loss of D because b do not sum to 0. */
double dual_excess(const dual_state *state, const double *sums);
/* B of an intercept, for rows with mean |x|^2 `square`. */
double dual_level_bias(const dual_problem *problem, double square);
/* Call at the end of Newton's steps, which do not penalise the bias: the
 * level takes it over. */
void dual_level_take(strads_commit *commit);

/* ---- dual_curve.c, dual_newton.c, dual_face.c --------------------------- */

void dual_curve_free(dual_curve *curve);
void dual_face_free(dual_face *face);
/* After a scan: decides between Newton's steps and dual ascent. At a pass's
 * end: whether it has settled, and whether steps between bounds come next. */
void dual_newton_judge(dual_state *state, double tolerance);
bool dual_is_settled(const dual_pool *pool);
void dual_judge_face(dual_state *state);
/* For another problem: sets the limit on products of its steps. */
void dual_begin_conjugate(dual_state *state);
/* Step lengths that are evaluated, the whole step first. They cost little
 * compared to the curve if c is linear between its bounds, and the slope
 * between two of them is nearly linear; otherwise fewer are evaluated. */
enum { DUAL_STEPS = 64, DUAL_FEW_STEPS = 10 };
static inline int dual_steps(const dual_loss *loss)
{
    return loss->quadratic ? DUAL_STEPS : DUAL_FEW_STEPS;
}
static inline double dual_step_at(const dual_loss *loss, int t)
{
    return pow(loss->quadratic ? .9 : .5, t);
}
/* In place of sigma: b stay unchanged. */
#define DUAL_SIGMA_KEEP (-1)
/* sigma of the first smooth problem, over C. */
#define DUAL_SIGMA_FIRST 4

/* ---- dual.c ------------------------------------------------------------ */

extern const strads_phase dual_phases[];
strads_err dual_schedule(strads_turn *turn);

/* All slots of a program except those that use its options alone; the
 * functions of DUAL_SLOTS, which resolve the options by `resolve`, come before
 * its table. */
#define DUAL_COMPUTED                                                       \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,             \
    .layout = STRADS_LAYOUT_ROWS, .unindexed = true, .weight = dual_weight, \
    .end = dual_end, .close = dual_close, .refresh = dual_refresh,          \
    .schedule = dual_schedule, .finalises = true, .phases = dual_phases,    \
    .n_phases = DUAL_PHASES, .owned = dual_owned, .pooled = true,           \
    .shape = shape, .begin = begin, .open = open

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
