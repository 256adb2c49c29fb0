/* What the files of the program hand to each other.
 *
 *     P(w, b) = sum c_i f(y_i, z_i) + sum_g pen_g(w_g),   z = o + X w + b
 *
 * is W-fold what users see, W = sum c_i, and so is every lambda and gap here.
 * g is a group of columns, mostly of one. With r = -c f'(z), a column's slope is
 * x_j'r: where slopes are subgradients of the penalty, w is optimal.
 *
 * More than two classes are as many problems, each class against all others, one
 * after the other: a parameter has a number for each. */
#ifndef GLM_PARTS_H
#define GLM_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/glm.h>
#include <strads/svm.h>

#include "apps/kernels/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_origins.h"
#include "apps/linear/linear_pairs.h"
#include <strads/path.h>
#include "apps/linear/linear_pending.h"
#include "apps/linear/linear_ridge.h"
#include "apps/linear/linear_set.h"
#include "glm_loss.h"
#include "glm_penalty.h"

enum {
    GLM_ORIGINS,
    GLM_LABELS,
    GLM_MOMENTS,
    GLM_ROWS,
    GLM_SCAN,
    GLM_PAIR_SCAN,
    GLM_PAIRS,
    GLM_FETCH,
    GLM_SOLVE,
    GLM_SEARCH,
    GLM_HESSIAN,
    GLM_PRODUCT,
    GLM_TARGET,
    GLM_CERTIFY,
    GLM_TELL,
    GLM_PHASES
};

/* Classes of a softmax, whose certificate has sums of all pairs. */
enum { GLM_SOFTMAX_MAX = 1000 };

/* Labels and columns, by their root mean square, have squares and sums of squares with
 * all their digits between these. */
#define GLM_NUMBER_MIN 1e-140
#define GLM_NUMBER_MAX 1e140

/* Numbers that a scan ends with: sum r^2 / c and r'(y - mean y - o) of a loss that
 * is square. */
enum { GLM_REST = 2 };

/* Ids of blocks of the program's own. */
enum {
    GLM_SCALARS_ID = 1,
    GLM_DIRECTION_ID = 3,
    GLM_ORIGINS_ID = 4,
    GLM_TARGET_ID = 16, /* and the problem's */
    GLM_SCAN_ID = GLM_TARGET_ID + LINEAR_LABELS_MAX
};

/* Options that have been looked at: names found, defaults filled in. */
typedef struct glm_problem {
    strads_glm_options options;
    const glm_loss *loss;
    const glm_penalty *penalty;
    double p; /* the loss's parameter */
} glm_problem;

/* The points of a path. */
enum { GLM_POINTS_MAX = 10000, GLM_POINTS = 100 };

typedef struct glm_path {
    uint32_t points;
    double *lambda;           /* [points], falling */
    strads_path_point *point; /* [points], n of them reached */
    uint32_t n;
    bool given;          /* lambda[] is a list */
    double first, ratio; /* where it is none */
    double worst;        /* of the gaps of points reached */
} glm_path;

/* Of the Lasso's path, and logistic regression's. */
#define GLM_PATH_DEFAULTS(loss_)                                         \
    {                                                                    \
        .fit = {.loss = loss_, .penalty = "elastic-net", .l1_ratio = 1}, \
        .points = GLM_POINTS, .ratio = .01                               \
    }

/* Which lambdas a path has. */
#define GLM_PATH_OPTIONS                                                      \
    STRADS_OPTION(U32, strads_glm_path_options, points, "points", "N",        \
                  "how many lambdas (default 100)", .min = 1,                 \
                  .max = GLM_POINTS_MAX),                                     \
        STRADS_OPTION(                                                        \
            F64, strads_glm_path_options, ratio, "ratio", "R",                \
            "the last lambda as a share of the first (default 0.01)",         \
            .min = DBL_MIN, .max = 1),                                        \
        STRADS_OPTION(F64, strads_glm_path_options, first, "first", "L",      \
                      "the first lambda (default: lambda_max)", .rare = true, \
                      .max = DBL_MAX),                                        \
        STRADS_OPTION(STRING, strads_glm_path_options, lambdas, "lambdas",    \
                      "LIST", "these: L,L,... or a file of them")

extern const strads_option glm_option_table[], glm_path_option_table[];
extern const strads_glm_options glm_defaults;
extern const strads_glm_path_options glm_path_defaults;

/* STRADS_EINVAL: a sentence what is wrong. */
strads_err glm_options_resolve(const strads_glm_options *given,
                               glm_problem *out);
bool glm_named_labels(const void *config);

/* ---- a partition --------------------------------------------------------- */

typedef struct glm_local {
    glm_problem problem;
    uint64_t rows, columns;
    const column_kernels *kernels;
    linear_classes classes;    /* of the whole data */
    uint32_t target;           /* the problem that y and z belong to */
    double *y, *c, *o, *z, *r; /* [rows] */
    double
        *margins;  /* of a softmax: [rows x classes] margins; o is less what the
                     other classes come to; or NULL */
    double *odds;  /* the same: exp(margin - shift) */
    double *shift; /* [rows] about the largest margin of each */
    double *h;     /* [rows] curvatures at z, */
    bool fresh;    /* if they are */
    column_view view;       /* the share's columns, less their origins */
    linear_moved moved;     /* those that have one */
    linear_pending pending; /* not yet in z */
    linear_pairs pairs;
    double level; /* that y, o and z are less than they are */
    bool plain;   /* no row counts otherwise than once: all c are 1 */
    double *root; /* [rows] sqrt c, where f'' is 1; NULL: all are */
} glm_local;

/* ---- the coordinator ----------------------------------------------------- */

typedef enum glm_next {
    GLM_TO_ORIGINS,
    GLM_TO_LABELS,
    GLM_TO_MOMENTS,
    GLM_TO_ROWS,
    GLM_TO_SCAN,
    GLM_TO_FETCH,
    GLM_TO_SOLVE,
    GLM_TO_HESSIAN,
    GLM_TO_PRODUCT,
    GLM_TO_TARGET,
    GLM_TO_CERTIFY
} glm_next;

/* Where a problem stands that is not at hand. */
typedef struct glm_outcome {
    double primal, gap; /* relative */
    uint64_t nonzeros;
} glm_outcome;

/* A softmax as a whole, when last evaluated. */
typedef struct glm_joint {
    bool used;      /* problems are turns of one */
    bool began;     /* the first evaluation, where w is 0, has been */
    bool certified; /* it has been */
    double primal, dual, first, gap;
    uint64_t nonzeros;
    linear_watch watch;
} glm_joint;

/* Where its last cycles ended (glm_cycles.c). */
typedef struct glm_cycles {
    uint64_t numbers;  /* of a cycle: coefficients of all columns, then b's */
    double *past;      /* [cycles x numbers], NULL: not kept */
    uint32_t n;        /* cycles in it */
    double *to;        /* [numbers] where the next cycle begins */
    double before;     /* P where the last cycle ended */
    bool extrapolated; /* this cycle began beyond those before */
} glm_cycles;

/* Bounds of the slopes that the last scan has left out (glm_bounds.c). */
typedef struct glm_bounds {
    bool used, known;
    double *base; /* [groups] the slope's size at the group's last scan, less
                          norm x the distance until then; of members INFINITY */
    double *norm; /* [groups] |x| */
    double *reference; /* [rows] r at the last scan */
    double distance;   /* that r has moved since the last scan of all columns */
    double unscanned; /* the largest lambda at which a column that the last scan
                          left out may move */
    bool pairs_suffice;    /* the next scan needs no workers */
    double scanned_square; /* sum r^2 / c at the last one that they made */
} glm_bounds;

typedef struct glm_groups {
    uint32_t n;
    uint32_t *start, *column, *of; /* NULL: each column is one */
    double *v, *q, *to; /* [largest] one group's coefficients, slopes, and what
                           is made of them */
} glm_groups;

typedef struct glm_state {
    glm_problem problem;
    const strads_data *data;
    const column_kernels *kernels;
    uint64_t columns;
    uint32_t width, target; /* problems, and the one at hand */
    bool surveys;           /* they are gone through for lambda_max alone */
    glm_outcome *done;      /* [width] */
    double *wide;           /* [(columns + 1) x width] changes, spread */
    glm_joint joint;
    glm_cycles cycles;
    char *classes; /* what options.classes points to */
    double weight; /* W */
    double unit; /* what margins are about: of numbers their root mean square */
    glm_groups groups;
    double *w;                 /* [columns] of the last scan */
    double *norm;              /* [columns] sum c x^2 */
    double *scale;             /* [columns] what |w_j| is multiplied by */
    double *factor;            /* [columns] and its penalty; or NULL */
    double *mean;              /* [columns] of a softmax with an intercept */
    double lambda, lambda_max; /* as users see them */
    double goal; /* the lambda that this one is on the way to; 0: it is */
    bool alone;  /* lambda is to be found: so far all that is not penalised */
    glm_path *path; /* NULL: one lambda */
    bool known;     /* scales and norms are */
    bool began;     /* the first scan has been; */
    double *held;   /* [columns] start values, until lambda is found; or NULL */
    double *b;      /* [width], less c'w of origins c until the run ends */
    double *origin; /* [columns], NULL: all are 0 */
    uint32_t n_full; /* columns without zeros left out, which may have one */
    bool over;       /* b is that of the columns as they stand */
    double *slope, *urgency, *told; /* [columns + 1] */
    uint32_t *candidate;            /* [columns + 1] */
    uint32_t *scan; /* [columns + 1] the n_scan columns of the next scan */
    uint32_t n_scan;
    glm_bounds bounds;
    uint32_t
        *active; /* [groups] those that are not at rest (glm_find_active) */
    uint32_t n_active;
    /* Of the last scan, W-fold. */
    double primal, dual, first_primal;
    double loss;
    double square, response; /* sum r^2 / c and r'(y - o), where f'' is 1, of r
                                less its mean if glm_centres() */
    double level, offsets;   /* what y, o and z are less by; sum c o */
    double predicted;        /* the loss by pairs; below 0: there is none */
    bool by_columns;         /* the set is solved by columns and not by pairs */
    bool slopes_known;       /* of the rows that are to come: no scan is due */
    double unboxed,
        intercept_slope;  /* the best dual value but for b's box, and what that
                          takes away of it by its size */
    double best_dual;     /* dual value of all scans, in whatever box */
    double null;          /* P at z = o, of the problem at hand */
    double gap;           /* what is reported, relative */
    double *margins;      /* [rows] z of the last scan; NULL: not looked at */
    bool separable;       /* there is no minimum: glm_separable.c; */
    bool ended;           /* the last problem is solved, or cannot be */
    double excess;        /* about what is left to be gained; */
    double excess_before; /* some scans before, */
    uint32_t watched;     /* of so many at this lambda */
    double travel;        /* sum |x_j dw_j|^2 of all moves since z was made */
    bool travels;         /* z has moved from there */
    uint64_t nonzeros, scans;
    linear_watch watch;
    double gap_before; /* of the last scan */
    double ease;       /* how far below the excess the set is solved */
    bool complete;     /* hardly a column outside violated at the last scan */
    uint32_t searches;
    glm_next next;
    linear_set set; /* on the whole (glm_whole.c) but its rows */
    linear_ridge ridge;
    double *offset; /* [rows] */
} glm_state;

/* Where the problem at hand has its number of parameter k of a block. */
static inline size_t glm_at(const glm_state *state, uint32_t k)
{
    return (size_t)k * state->width + state->target;
}

/* Nothing but bounds holds it. */
static inline bool glm_is_free(const glm_term *t)
{
    return t->l1 == 0 && t->l2 == 0;
}

/* Groups: how many columns, which, and whose. */
static inline uint32_t glm_size(const glm_state *state, uint32_t g)
{
    const uint32_t *start = state->groups.start;

    return start ? start[g + 1] - start[g] : 1;
}
static inline uint32_t glm_column(const glm_state *state, uint32_t g,
                                  uint32_t k)
{
    const glm_groups *groups = &state->groups;

    return groups->start ? groups->column[groups->start[g] + k] : g;
}
static inline uint32_t glm_group_of(const glm_state *state, uint64_t column)
{
    return state->groups.of ? state->groups.of[column] : (uint32_t)column;
}
/* What a column's coefficient is multiplied by where its group is penalised. */
static inline double glm_unit(const glm_state *state, uint32_t g, uint32_t j)
{
    return glm_size(state, g) > 1 ? state->scale[j] : 1;
}

/* Whether slopes and sums are those of r less its mean, where a square loss has b at
 * its best: only b's own slope tells of the mean. */
static inline bool glm_centres(const glm_state *state)
{
    return state->problem.loss->constant && state->problem.options.intercept &&
           !state->ridge.used;
}

/* What penalties are multiplied by. Alone, nothing that is penalised moves. */
static inline double glm_penalty_weight(const glm_state *state)
{
    return state->problem.penalty->off ? 0
           : state->alone              ? 1e250
                                       : state->weight * state->lambda;
}

/* l1 of the term of a column by itself: one for all, times what is its own. */
static inline double glm_common_l1(const glm_state *state)
{
    return glm_penalty_weight(state) * state->problem.options.l1_ratio;
}
static inline double glm_column_weight(const glm_state *state, uint32_t j)
{
    return state->scale[j] * (state->factor ? state->factor[j] : 1);
}
static inline double glm_own_l1(const glm_state *state, uint32_t j)
{
    return glm_common_l1(state) * glm_column_weight(state, j);
}

/* Whether the slope of a column by itself, times this, is none that would move
 * it from 0: as almost all are. Its conjugate is 0 then. */
static inline bool glm_is_within(const glm_state *state, uint32_t g, double s)
{
    return !state->groups.start &&
           s * fabs(state->slope[g]) <= glm_own_l1(state, g);
}

/* glm_groups.c. STRADS_EINVAL, STRADS_EFORMAT, STRADS_EIO, STRADS_ENOMEM. */
strads_err glm_groups_read(glm_state *state);
void glm_groups_free(glm_groups *groups);
/* The term of a group at the lambda at hand; that in a model at its
 * coefficients, whose penalty is glm_convex(). */
glm_term glm_term_of(const glm_state *state, uint32_t g);
glm_term glm_tangent_of(const glm_state *state, uint32_t g);
static inline const glm_penalty *glm_convex(const glm_state *state)
{
    const glm_penalty *penalty = state->problem.penalty;

    return penalty->tangent ? &glm_penalty_l1 : penalty;
}
/* Its coefficients and slopes of the last scan, into v and q. */
void glm_gather(const glm_state *state, uint32_t g);
/* sum c |x|^2 of its columns, at most their curvature together. */
double glm_group_norm(const glm_state *state, uint32_t g);

/* glm_state.c: memory of both. */
strads_err glm_shape_problem(const glm_problem *problem,
                             const strads_data *data, strads_shape *shape);
strads_err glm_open_problem(const glm_problem *problem, const strads_task *task,
                            void **local);
strads_err glm_begin_fit(const glm_problem *problem, const strads_data *data,
                         const strads_shape *shape, void **state);
void glm_close(void *local);
void glm_end(void *state);
/* strads_commit_also for the problem at hand. */
strads_err glm_also(strads_commit *commit, uint32_t n, const uint32_t *param,
                    const double *change);
/* Forgets all that belongs to a problem. */
void glm_begin_problem(glm_state *state);

/* glm_logistic.c: the options of a fit of classes, lambda as users give it. */
strads_glm_options glm_of_classes(const strads_logistic_options *options,
                                  const char *loss);

/* glm_path.c: what strads_program says of slots with these names, for other
 * programs that are paths. */
strads_err glm_path_shape(const void *config, const strads_data *data,
                          strads_shape *shape);
strads_err glm_path_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **state);
strads_err glm_path_open(const strads_task *task, void **local);
strads_err glm_path_pack(const void *state, strads_bytes *out);
strads_err glm_path_unpack(void *state, const void *bytes, size_t size);
strads_err glm_path_objective(void *state, strads_report *report);
extern const char *const glm_path_measures[];
/* Fills defaults in, and says what is wrong. STRADS_EINVAL. */
strads_err glm_path_check(strads_glm_path_options *options);
/* The lambdas of options that were checked. Lists are sorted, and may end at 0.
 * STRADS_EINVAL, STRADS_EFORMAT: what is wrong with a list. STRADS_ENOMEM. */
strads_err glm_path_new(const strads_glm_path_options *options, glm_path **out);
void glm_path_free(glm_path *path);
/* The first lambda that is not reached, when lambda_max is known. */
double glm_path_first(glm_path *path, double lambda_max);
/* Whether all points are reached. */
bool glm_path_is_over(const glm_path *path);
/* After a scan that is certified: keeps the point at hand if it is reached, and
 * goes on. STRADS_ENOMEM. */
strads_err glm_path_advance(strads_commit *commit);

/* glm_start.c: what is known before the first scan. */
/* Origins of columns, where b makes up for them. */
strads_err glm_update_origins(strads_task *task);
strads_err glm_aggregate_origins(strads_commit *commit);
strads_err glm_receive_origins(strads_task *task);
/* c'w of the origins c; the numbers of w are `step` apart. */
double glm_origins_sum(const glm_state *state, const double *w, uint32_t step);
strads_err glm_aggregate_tell(strads_commit *commit);
/* The offsets of rows. STRADS_EINVAL, STRADS_EIO, STRADS_EFORMAT. */
strads_err glm_read_offsets(const strads_glm_options *options,
                            const strads_range *rows, uint64_t total,
                            double *offset);
/* Whoever has the survey comes to the same classes; of numbers there are none.
 */
strads_err glm_classes_of(const glm_problem *problem, const strads_names *names,
                          const linear_survey *labels, uint32_t width,
                          linear_classes *out);
size_t glm_labels_size(const strads_task *task);
strads_err glm_update_labels(strads_task *task);
void glm_merge_labels(void *into, const void *from, size_t bytes);
strads_err glm_aggregate_labels(strads_commit *commit);
strads_err glm_receive_labels(strads_task *task);
/* One of several problems begins, from the w and b that all agree on. */
size_t glm_target_size(const strads_task *task);
strads_err glm_update_target(strads_task *task);
strads_err glm_aggregate_target(strads_commit *commit);
/* The first scan tells of columns what scans do not. */
size_t glm_moments_size(const strads_task *task);
strads_err glm_update_moments(strads_task *task);
strads_err glm_aggregate_moments(strads_commit *commit);
size_t glm_rows_size(const strads_task *task);
strads_err glm_update_rows(strads_task *task);
strads_err glm_aggregate_rows(strads_commit *commit);
/* The margins follow all commits. */
void glm_catch_up(glm_local *local);

/* glm_softmax.c, a worker's: whether classes are one problem; margins of the
 * block's values, of none where w is 0; another class's turn; the
 * whole. The coordinator's: its certificate; what comes after a turn. */
bool glm_is_joint(const glm_local *local);
strads_err glm_softmax_start(const strads_task *task);
void glm_softmax_turn(glm_local *local, const strads_share *share,
                      uint32_t target);
size_t glm_certify_size(const strads_task *task);
strads_err glm_update_certify(strads_task *task);
strads_err glm_aggregate_certify(strads_commit *commit);
void glm_softmax_next(glm_state *state);

/* glm_cycles.c: after the whole has been evaluated, by the commit that has its numbers: whether
 * the next cycle begins elsewhere, as it is told then. STRADS_ENOMEM. */
strads_err glm_cycles_new(glm_state *state);
void glm_cycles_free(glm_cycles *cycles);
bool glm_cycles_next(strads_commit *commit);

/* glm.c: what is not penalised has been fitted, and lambda_max is known. */
void glm_find_lambda(glm_state *state, double critical);
/* The next lambda on the way down to the one that is wanted. */
double glm_next_down(const glm_state *state);
/* r at the margins of all commits. */
void glm_take_slopes(glm_local *local);
strads_err glm_aggregate_scan(strads_commit *commit);
/* What a scan ends with, behind the slopes of its columns. */
void glm_end_scan(const glm_local *local, double *rest);

/* glm_certificate.c: primal value, dual value, gap, from a scan's slopes. */
void glm_certify(strads_commit *commit);
/* By how much rounding may have made P - D too small, with sum r^2 / c and the
 * penalty of the problem at hand. */
double glm_rounding(const glm_state *state, double square, double penalty);
/* Where that is below this share of P it is not counted. */
#define GLM_ROUNDING_MIN 1e-9
/* So much of the first P counts as nothing: where rows can be met exactly P
 * goes to 0, and so would every gap relative to it be of rounding alone. */
#define GLM_NOTHING 1e-14
/* Gaps are relative to P, or to this share of P at w = 0 where P is below it: a model
 * that meets all labels has a P that is next to nothing. */
#define GLM_LEAST 1e-6
/* The smallest lambda at which these slopes, of rows with that sum r^2 / c,
 * leave all at 0. */
double glm_critical(const glm_state *state, double square);
/* Lists the groups that are not at rest at w = 0 by slopes that leave them there,
 * as almost all are: all others neither cost nor gain anything. */
void glm_find_active(glm_state *state);
/* sum r^2 / c; changes set.trial. */
double glm_square(glm_state *state);
/* Of all groups: penalty, and what r is to be multiplied by for a finite dual
 * value, and for one without l2. */
typedef struct glm_totals {
    double penalty, widest, tight;
} glm_totals;
/* They, and how many coefficients are not 0, of those that are active. */
glm_totals glm_add_up(glm_state *state);
/* sum pen*(s X'r) */
double glm_conjugates(const glm_state *state, double s);
/* Whether dual values hold for the coefficients at hand alone, as boxes grow with
 * those that nothing else holds. */
bool glm_has_free_columns(const glm_state *state);
/* The largest violation, as a share of what it may be. */
double glm_worst_violation(const glm_state *state, double square);

/* glm_choice.c: after a scan, who is in the working set, and when it is solved.
 */
strads_err glm_choose(strads_commit *commit);
/* Nothing is known of the problem at the lambda at hand. */
void glm_begin_lambda(glm_state *state, double lambda);

/* glm_bounds.c: columns that scans leave out; whether that can pay.
 * STRADS_ENOMEM. */
bool glm_bounds_pay(const strads_data *data);
strads_err glm_bounds_new(glm_state *state, uint64_t rows);
void glm_bounds_free(glm_bounds *bounds);
/* After a scan: bounds of its columns. */
void glm_bounds_note_scan(const strads_commit *commit);
/* At the first model after a scan, and at the end of the last: how far r moves. */
void glm_bounds_keep_reference(glm_state *state);
void glm_bounds_add_distance(glm_state *state);
/* The next scan's columns: all; those that are not bounded. */
void glm_bounds_take_all(glm_state *state);
void glm_bounds_choose_columns(glm_state *state);
/* Aggregate of a scan that pairs tell. */
strads_err glm_bounds_pair_scan(strads_commit *commit);

/* glm_whole.c: Newton's method on the whole where the penalty is smooth and
 * columns are few; whether it is the way. */
bool glm_on_whole(const glm_problem *problem, const strads_data *data);
/* Whether the step at hand was too long: then P is not what it may come to. */
static inline bool glm_overshot(const glm_state *state)
{
    return state->ridge.share > 0 && !(state->primal <= state->ridge.before);
}
/* After a scan: half of a step that was too long is taken back, or the next one
 * begins. */
strads_err glm_whole_judge(strads_commit *commit);

/* glm_separable.c: after a scan, notes in `separable` that there is no minimum; a
 * softmax, of which so many rows are not predicted. STRADS_ENOMEM. */
strads_err glm_find_separation(glm_state *state, double tolerance);
bool glm_is_separable_softmax(const glm_state *state, double wrong);
strads_err glm_update_hessian(strads_task *task);
size_t glm_hessian_size(const strads_task *task);
strads_err glm_aggregate_hessian(strads_commit *commit);
strads_err glm_update_product(strads_task *task);
strads_err glm_aggregate_product(strads_commit *commit);
strads_err glm_dispatch_hessian(strads_turn *turn);
strads_err glm_dispatch_product(strads_turn *turn);

/* glm_set.c: the working set of apps/linear, with the loss and the penalties. */
linear_model glm_model(const glm_state *state);
/* All columns of a group. STRADS_ENOMEM. */
strads_err glm_set_join(glm_state *state, uint32_t g);
/* Aggregates of columns, of a block, and of the line search behind it. */
strads_err glm_set_take(strads_commit *commit);
strads_err glm_update_pairs(strads_task *task);
strads_err glm_take_pairs(strads_commit *commit);
strads_err glm_solve_block(strads_commit *commit);
strads_err glm_search(strads_commit *commit);

/* ---- programs -------------------------------------------------------------- */

/* glm.c: of every program that has these phases. */
extern const strads_phase glm_phases[GLM_PHASES];
strads_err glm_refresh(strads_task *task, const strads_change *changes,
                       uint32_t n);
strads_err glm_schedule(strads_turn *turn);
strads_err glm_objective(void *state, strads_report *report);

#define GLM_PROGRAM                                                      \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,          \
    .layout = STRADS_LAYOUT_COLS, .end = glm_end, .close = glm_close,    \
    .finalises = true, .refresh = glm_refresh, .schedule = glm_schedule, \
    .phases = glm_phases, .n_phases = GLM_PHASES

#define GLM_PATH_PROGRAM                                                       \
    GLM_PROGRAM, .objective = glm_path_objective, .pack_state = glm_path_pack, \
                 .unpack_state = glm_path_unpack,                              \
                 .measures = glm_path_measures, .shape = glm_path_shape,       \
                 .begin = glm_path_begin, .open = glm_path_open

/* Slots of a fit whose config resolve(config, &problem) turns into a problem, or
 * a sentence what is wrong; then the program that has them. */
#define GLM_FIT(resolve)                                                     \
    static strads_err shape_fit(const void *config, const strads_data *data, \
                                strads_shape *shape)                         \
    {                                                                        \
        glm_problem problem;                                                 \
        const strads_err err = resolve(config, &problem);                    \
        return err ? err : glm_shape_problem(&problem, data, shape);         \
    }                                                                        \
    static strads_err begin_fit(const void *config, const strads_data *data, \
                                const strads_shape *shape, void **state)     \
    {                                                                        \
        glm_problem problem;                                                 \
        const strads_err err = resolve(config, &problem);                    \
        return err ? err : glm_begin_fit(&problem, data, shape, state);      \
    }                                                                        \
    static strads_err open_fit(const strads_task *task, void **local)        \
    {                                                                        \
        glm_problem problem;                                                 \
        const strads_err err = resolve(task->config, &problem);              \
        return err ? err : glm_open_problem(&problem, task, local);          \
    }

#define GLM_FIT_PROGRAM                                          \
    GLM_PROGRAM, .objective = glm_objective, .shape = shape_fit, \
                 .begin = begin_fit, .open = open_fit

#endif
