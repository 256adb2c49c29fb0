/* The rooms of the SVM program and what they hand to each other.
 *
 * Every loss here is, for a residual r = target - z with z = x'w,
 *
 *     loss(r) = max over low <= b <= high of  b r - e |b| - d/2 b^2
 *
 * so that one set of formulas does for all (svm_loss.h). The dual is
 *
 *     maximise D(b) = sum (target_i b_i - e |b_i| - d_i/2 b_i^2) - 1/2 |w|^2
 *     with w = X'b
 *
 * with a variable for each row. Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML
 * 2008, ascend in one of them at a time; Ho and Lin, JMLR 2012, do it for
 * regression. What the policy schedules are groups of some neighbouring rows:
 * enough of them that the coordinator has little to do for each, and few enough
 * that they are worth choosing.
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
 * from time to time: svm_level.c.
 *
 * With --standardize all of this is of columns over their scales s, and w
 * stands for S w, from the survey until the run ends.
 *
 * Parameters: the coefficients of the columns, that of the bias; the groups,
 * whose values are their parts of D; the rows' b_i, as of the last scan, which
 * no policy chooses. Shared totals: s, how steep a fall lets a row rest, the
 * level. */
#ifndef SVM_PARTS_H
#define SVM_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/svm.h>

#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_kernels.h"
#include "svm_loss.h"

/* ---- which parameter is what ------------------------------------------- */

/* Rows of a group. */
static inline uint64_t svm_group_rows(uint64_t rows)
{
    const uint64_t few = rows / 512;

    return few < 1 ? 1 : few > 32 ? 32 : few;
}

/* The first group of a partition whose rows begin there; the groups up to the
 * next partition's first one are its own, the last of which may be empty. */
static inline uint64_t svm_group_at(uint64_t rows, uint64_t begin,
                                    uint32_t partition)
{
    return begin / svm_group_rows(rows) + partition;
}

/* The groups of a partition with those rows. */
static inline strads_range svm_groups_of(uint64_t rows, strads_range own,
                                         uint32_t partition)
{
    return (strads_range){svm_group_at(rows, own.begin, partition),
                          svm_group_at(rows, own.end, partition + 1)};
}

static inline uint64_t svm_groups(const strads_shape *shape)
{
    return svm_group_at(shape->rows, shape->rows, shape->partitions);
}

static inline uint64_t svm_first_group(const strads_shape *shape)
{
    return shape->cols + 1;
}

static inline uint64_t svm_first_sample(const strads_shape *shape)
{
    return svm_first_group(shape) + svm_groups(shape);
}

/* Shared totals; stride and turn are svm_face.c's. */
enum { SVM_SAFETY, SVM_STEEP, SVM_LEVEL, SVM_STRIDE, SVM_TURN, SVM_TOTALS };

/* ---- the problem ------------------------------------------------------- */

/* What a program's options come to. */
typedef struct svm_problem {
    strads_svm_options options; /* defaults filled in; c is 0 until the survey
                                   where lambda tells it */
    svm_loss_kind loss;
    linear_weights weights; /* of rows */
    double lambda; /* C = 1 / (lambda W), W the sum of weights; 0: C is given */
} svm_problem;

/* ---- one partition ----------------------------------------------------- */

typedef struct svm_local {
    svm_problem problem;
    linear_classes classes;
    strads_share scaled;    /* standardised: rows over the columns' scales, */
    double *value;          /* whose values these are; NULL: not (yet) */
    uint32_t width, target; /* problems, and the one at hand: svm_targets.c */
    uint64_t rows, columns;
    uint64_t first_group; /* as svm_group_at counts */
    strads_range span;    /* of [columns + 1]: what it joins for its pool */
    const linear_kernels *kernels;
    svm_entropy_move *move;
    double bias, flat;  /* B, and e of the loss */
    double level;       /* what x'w is counted from */
    svm_sample *sample; /* [rows] */
    double *weight;     /* [rows] c_i, until the survey is over */
    double *base;       /* [columns + 1] the w that all agree on */
    double *joint;      /* [columns + 1] its span of the pool's w; the same as w
                           where there is one partition */
    double *w;          /* [columns + 1] with what was done here since */
    bool based;         /* base is newer than joint */
    bool behind;        /* w is to begin from the newer of the two */
    uint64_t moved;     /* the round in which w moved last, */
    uint64_t joined;    /* and that of the last join */
    bool smooth;        /* the loss is, without help */
    double cost;        /* C */
    double *anchor;     /* [rows] b at the last scan */
    double *z;          /* [rows] x'w where the last curve was taken */
    double *bend, *panel; /* svm_curve.c's own, */
    double *h, *held;     /* [rows] h of now, and that `bend` is made of; */
    double *stiff;        /* [columns + 1] and what an average row adds */
    double sigma;
    uint32_t takes;          /* how often c has become b */
    uint32_t *face;          /* [rows] those that are between their bounds, */
    uint64_t n_face;         /* so many; */
    double *pull;            /* [rows] how steeply D rises there, */
    double *course;          /* [rows] and where they are going; */
    linear_column *face_row; /* [rows] their entries, which lie side by side, */
    uint32_t *face_index;    /* [face_room] here */
    double *face_value;
    uint64_t face_room;
    uint32_t *order; /* [room] workspace of a pass */
    uint32_t room;
} svm_local;

/* svm_state.c: what strads_program says of slots with these names, but for the
 * problem, which is the program's. */
strads_err svm_open(const strads_task *task, const svm_problem *problem,
                    void **out);
void svm_close(void *opened);
/* |x|^2 of each row, with the bias. */
void svm_take_squares(svm_local *local, const strads_share *share);
/* Another B, for the squares too. */
void svm_set_bias(svm_local *local, double bias);

/* The rows of a partition as they are trained on. */
static inline const strads_share *svm_share(const svm_local *local,
                                            const strads_share *given)
{
    return local->value ? &local->scaled : given;
}

/* Row i of a share. */
static inline linear_column svm_row_of(const strads_share *share, uint64_t i)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i], n = x->start[i + 1] - at;
    const bool full = n == share->cols.end - share->cols.begin;
    return (linear_column){.n = n,
                           .index = full ? NULL : x->index + at,
                           .f64 = x->f64 ? x->f64 + at : NULL,
                           .f32 = x->f32 ? x->f32 + at : NULL};
}

/* Asks for the beginning of row i of a share; what follows lies behind it. */
static inline void svm_fetch_row(const strads_share *share,
                                 const svm_sample *sample, uint64_t i)
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
static inline size_t svm_at(const svm_local *local, size_t k)
{
    return k * local->width + local->target;
}

/* z of row i: x_i'w with the bias, from the level on; and w += a x_i. */
static inline double svm_dot(const svm_local *local, const linear_column *row,
                             const double *w)
{
    return local->kernels->dot(row, w) + local->bias * w[local->columns] +
           local->level;
}

static inline void svm_add(const svm_local *local, const linear_column *row,
                           double a, double *w)
{
    local->kernels->add(row, a, w);
    w[local->columns] += a * local->bias;
}

/* svm_ascend.c: a pass over the rows of a block's groups, but those that rest.
 * What is told of a group is its rows' share of the gap, or -1 when all of them
 * rest; then, of each group, the entries of those that do not. Behind stand the
 * steepest rise of D that was found, how many rows were looked at, how many of
 * them are between their bounds, how many came there or left, and |w|^2 where
 * the block began. */
enum {
    SVM_WORST,
    SVM_VISITS,
    SVM_INSIDE,
    SVM_CROSSED,
    SVM_REACHED,
    SVM_ASCEND_MORE
};
size_t svm_partial_ascend(const strads_task *task);
strads_err svm_update_ascend(strads_task *task);

/* svm_scan.c: all rows of a partition, looked at from the w that all agree
 * on. */
size_t svm_partial_scan(const strads_task *task);
strads_err svm_update_scan(strads_task *task);
size_t svm_partial_seed(const strads_task *task);
strads_err svm_update_seed(strads_task *task);
strads_err svm_update_take(strads_task *task);

/* ---- the coordinator --------------------------------------------------- */

/* Parts of a pass at most; a merge comes after each. */
enum { SVM_PARTS_MAX = 4 };

/* The groups of one pool of partitions, as the coordinator sees them. A pass is
 * over when each group that does not rest has been visited once. */
typedef struct svm_pool {
    uint64_t begin, end;
    uint64_t left;  /* groups yet to be visited in this pass, */
    uint64_t told;  /* those of them that the policy knows of, and */
    uint64_t awake; /* all that this pass visits */
    uint32_t part[SVM_PARTS_MAX]; /* the most promising comes first */
    uint32_t parts;
    uint64_t pass;          /* its number */
    uint32_t next;          /* part that the policy is to be told of */
    double sum;             /* of the gaps found in this pass, */
    double before;          /* and in the one before, */
    double falls;           /* which is this share of what another before had */
    double worst_now;       /* the steepest rise of D found in this pass, */
    double worst;           /* and in the one before */
    double inside, crossed; /* rows of this pass, as svm_partial_ascend says */
    uint32_t since;         /* passes since the last scan */
    bool settled;  /* the last pass changed little but b between bounds */
    bool sleepers; /* rows may have been let rest in haste */
    bool wakes;    /* this pass looks at rows that rest as well */
} svm_pool;

/* What is summed up over all rows, to know P and D: of rows whose b is above 0,
 * and below, their part of D, sum |b|, sum b (z - the bias and the level), and
 * sum |b| |x|. */
typedef enum svm_sum {
    SVM_LOSS,
    SVM_SUPPORTS,
    SVM_DUAL,
    SVM_SIZE = SVM_DUAL + 2,
    SVM_PULL = SVM_SIZE + 2,
    SVM_REACH = SVM_PULL + 2,
    SVM_SUMS = SVM_REACH + 2
} svm_sum;

/* Where a problem stands that is not at hand: as its last scan left it, or as
 * w = 0 would. */
typedef struct svm_outcome {
    double primal, gap;
    uint64_t nonzeros, supports;
} svm_outcome;

typedef struct svm_state {
    svm_problem problem;
    char classes_text[LINEAR_CLASSES_TEXT]; /* options.classes points to it */
    linear_classes classes;
    double *scale; /* [columns] while w is that of scaled columns; else NULL */
    const strads_data *data;
    uint32_t width, target;              /* problems, and the one at hand */
    svm_outcome done[LINEAR_LABELS_MAX]; /* of those that are not */
    svm_pool *pool;                      /* [pools] */
    double *urgency;    /* [groups] share of the gap when last looked at */
    double *entries;    /* [groups] of rows that do not rest */
    uint8_t *waits;     /* [groups] for a visit in this pass: svm_pass.c */
    uint32_t *awake;    /* [groups] pool by pool: the groups of this pass */
    uint32_t *told;     /* [groups] parameters on their way to the policy ... */
    double *how;        /* ... and their priorities */
    strads_block *own;  /* [partitions] the rows of each, */
    strads_range *held; /* [partitions] and the groups */
    uint32_t partitions, pools;
    uint64_t columns, rows, groups;
    bool surveyed, measured;
    bool seed_due; /* the run starts from a w whose b are not known */
    bool moved;    /* rows have moved since the last merge, */
    bool joined;   /* and pools have joined what moved, */
    bool spread;   /* which is more than the first partition's w */
    bool alone;    /* the first partition does this pass for all: svm_pass.c */
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
    double aim;            /* a scan is due at this share of the tolerance */
    double enough;         /* that share of P: see svm_pass.c */
    double sums[SVM_SUMS]; /* of the scan, so far */
    uint64_t supports;
    uint64_t nonzeros;  /* of w */
    uint32_t seen;      /* blocks of the scan that have come in */
    double primal, gap; /* P and P - D of the last scan, */
    double level_gap;   /* and P - D while the level is held */
    double least, most; /* the best P and D so far */
    uint32_t idle;      /* scans in a row that bettered neither */
    double bias;        /* B */
    /* svm_level.c */
    double bias_before; /* what the bias came to, before the level */
    double level_step;  /* went so far; */
    double level_share; /* of what the level lacks the bias is this share */
    double intercept[LINEAR_LABELS_MAX];

    /* svm_newton.c; `step` is the phase that comes next, or SVM_ASCEND. */
    uint32_t step;
    uint32_t inner, takes, vain;
    bool gave_up;
    bool blunt;        /* the last step was too small to take anything off P */
    double *matrix;    /* [(columns + 1)^2] */
    double *direction; /* [columns + 1] */
    double slope, along, reach; /* g'd, w'd and d'd of it */
    double nearest;             /* the least gap so far */

    /* svm_face.c */
    double *heading;   /* [columns + 1] where w is going: v */
    double square;     /* r'r at the last step, */
    double first;      /* and at the first one */
    uint32_t steps;    /* in this face */
    uint32_t patience; /* passes before the next */
    double faced;      /* the gap before the last one */
} svm_state;

/* How many coefficients are penalised; the bias's is the last one. */
static inline uint64_t svm_penalised(const svm_state *state)
{
    return state->columns + !state->problem.options.intercept;
}

/* As svm_at, on the coordinator. */
static inline size_t svm_place(const svm_state *state, size_t k)
{
    return k * state->width + state->target;
}

/* svm_state.c: what strads_program says of slots with these names. */
strads_err svm_shape(const svm_problem *problem, const strads_data *data,
                     strads_shape *shape);
strads_range svm_owned(const void *config, const strads_data *data,
                       const strads_shape *shape, uint32_t partition);
double svm_weight(const void *config, const strads_data *data, uint32_t j);
strads_err svm_begin(const svm_problem *problem, const strads_data *data,
                     const strads_shape *shape, void **out);
void svm_end(void *begun);

/* svm_options.c */
extern const strads_option svm_option_table[];
extern const strads_svm_options svm_defaults;
/* Checks a config; fills defaults in. */
strads_err svm_options_resolve(const strads_svm_options *given,
                               svm_problem *out);

/* svm.c: how a run goes, and its phases, whatever the loss; so all slots but
 * those that look at a program's options. */
strads_err svm_schedule(strads_turn *turn);
extern const strads_phase svm_phases[];

#define SVM_COMPUTED                                                      \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,           \
    .layout = STRADS_LAYOUT_ROWS, .weight = svm_weight, .end = svm_end,   \
    .close = svm_close, .refresh = svm_refresh, .schedule = svm_schedule, \
    .winds_up = true, .phases = svm_phases, .n_phases = SVM_PHASES,       \
    .owned = svm_owned, .pooled = true

/* svm_pass.c: what the policy is told, so that it chooses each group that does
 * not rest once a pass. The first pass; a block's end; a partition's scan, of
 * which the last one counts state->seen up to the partitions. */
void svm_begin_passes(strads_commit *commit);
strads_err svm_begin_first_passes(strads_commit *commit);
strads_err svm_aggregate_ascend(strads_commit *commit);
void svm_pass_scanned(strads_commit *commit);

/* svm_targets.c: everything of a problem begins anew, on the coordinator and on
 * a partition, there from the w of all. */
void svm_begin_problem(svm_state *state);
void svm_open_problem(svm_local *local, const strads_task *task);
/* After a scan, or when b has been taken over: what comes next in this problem,
 * or, if it is through, the next one. */
void svm_judge(svm_state *state, double tolerance);
/* P where w is 0, for problems whose turn has not come. */
void svm_note_first_values(svm_state *state);
/* Of all problems together. */
svm_outcome svm_total(const svm_state *state);
/* A report but for what it counts, with objectives times `unit`. Before the
 * first scan nothing is known of the gap, which tells the command that a run
 * cut short there has not converged. */
void svm_report(const svm_state *state, double unit, strads_report *report);

/* Where P and D are taken: squares of w and of X'b, with their bias if it is
 * penalised, and how far the two are apart. */
typedef struct svm_point {
    double square, dual_square, apart;
} svm_point;

/* svm_scan.c: P and D at some w and b, from sums over all rows. Then whether
 * that betters anything. */
strads_err svm_certify(svm_state *state, const double *sums, svm_point at);
void svm_watch(svm_state *state);

/* svm_level.c: an intercept that is not penalised. What the survey tells of it
 * beside labels; what comes of that: B, and the first level. */
typedef struct svm_survey {
    linear_survey labels;
    double rows, squares; /* how many, and sum |x|^2; */
    double weight, sum;   /* sum c, and sum c y */
} svm_survey;
void svm_level_survey(const svm_local *local, const strads_share *share,
                      svm_survey *survey);
void svm_level_merge(svm_survey *into, const svm_survey *from);
double svm_level_bias(const svm_problem *problem, const svm_survey *survey,
                      uint64_t columns);
void svm_level_begin(strads_commit *commit, const svm_survey *survey);
/* Adds a row with that b to sums at its z. */
void svm_level_add(const svm_local *local, const svm_sample *x, double b,
                   double z, double dual, double *sums);
/* D, of sums of all. */
double svm_level_dual(const svm_state *state, const double *sums, svm_point at);
/* After a scan's certificate: what is left while the level is held, and where
 * it goes next. */
void svm_level_watch(strads_commit *commit);
/* Newton's steps, which do not penalise the bias, end: the level takes it
 * over. */
void svm_level_take(strads_commit *commit);

/* svm_scan.c: a scan's part of one partition; the last one's makes the
 * certificate, and says where the policy is to rest. */
strads_err svm_aggregate_scan(strads_commit *commit);
strads_err svm_aggregate_seed(strads_commit *commit);

/* svm_curve.c, svm_newton.c */
size_t svm_partial_curve(const strads_task *task);
strads_err svm_update_curve(strads_task *task);
strads_err svm_aggregate_curve(strads_commit *commit);
size_t svm_partial_slope(const strads_task *task);
strads_err svm_update_slope(strads_task *task);
strads_err svm_aggregate_slope(strads_commit *commit);
strads_err svm_aggregate_take(strads_commit *commit);
/* svm_face.c: steps of conjugate gradients. Asked at a pass's end: whether they
 * come next. */
size_t svm_partial_face(const strads_task *task);
strads_err svm_update_face(strads_task *task);
strads_err svm_aggregate_face(strads_commit *commit);
bool svm_is_settled(const svm_pool *pool);
void svm_judge_face(svm_state *state);
/* After a scan: whether Newton's steps come next, or dual ascent. */
void svm_newton_judge(svm_state *state);

/* A fall of D that lets a row rest; nothing does before it is known. It is told
 * as a number below 0 while a pass looks at rows that rest as well. */
static inline double svm_steep(const strads_task *task)
{
    const double steep = fabs(task->total[SVM_STEEP]);

    return steep > 0 ? steep : INFINITY;
}

/* svm_merge.c: everyone's change of w, within a pool and for all. To be called
 * by who is about to move w. */
void svm_begin_w(const strads_task *task);
size_t svm_partial_join(const strads_task *task);
strads_err svm_update_join(strads_task *task);
strads_err svm_aggregate_join(strads_commit *commit);
/* Has the rows' problems s times as curved from now on, where nothing has moved
 * since the last join: as measured, or 1 where one partition moves alone. */
void svm_set_safety(strads_commit *commit);
size_t svm_partial_merge(const strads_task *task);
strads_err svm_update_merge(strads_task *task);
strads_err svm_aggregate_merge(strads_commit *commit);
strads_err svm_refresh(strads_task *task, const strads_change *changes,
                       uint32_t n);

/* The intercept after a commit of all coefficients. */
static inline void svm_take_intercept(const strads_commit *commit)
{
    svm_state *state = commit->state;
    const size_t at = svm_place(state, state->columns);

    state->intercept[state->target] =
        commit->total[SVM_LEVEL] +
        state->bias * (commit->value[at] + commit->change[at]);
}

/* svm_survey.c: which labels there are, and what becomes of them. A block's id
 * says whose problem begins; ids below are the partitions' and svm.c's. */
static inline uint64_t svm_survey_id(uint32_t partitions, uint32_t target)
{
    return (uint64_t)partitions + 2 + target;
}

size_t svm_partial_survey(const strads_task *task);
strads_err svm_update_survey(strads_task *task);
void svm_merge_survey(void *into, const void *from, size_t bytes);
strads_err svm_aggregate_survey(strads_commit *commit);
strads_err svm_receive_survey(strads_task *task);

/* svm_scale.c: columns over their deviations, and their coefficients back. */
size_t svm_partial_moments(const strads_task *task);
strads_err svm_update_moments(strads_task *task);
strads_err svm_aggregate_moments(strads_commit *commit);
strads_err svm_receive_moments(strads_task *task);
strads_err svm_aggregate_tell(strads_commit *commit);

/* The places of phases in the program's table. */
enum {
    SVM_SURVEY,
    SVM_MOMENTS,
    SVM_SEED,
    SVM_ASCEND,
    SVM_JOIN,
    SVM_MERGE,
    SVM_SCAN,
    SVM_CURVE,
    SVM_SLOPE,
    SVM_TAKE,
    SVM_FACE,
    SVM_TELL,
    SVM_PHASES
};

#endif
