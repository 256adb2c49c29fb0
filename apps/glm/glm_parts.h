/* Declarations that the files of the program share.
 *
 *     P(w, b) = sum c_i f(y_i, z_i) + sum_g pen_g(w_g),   z = o + X w + b
 *
 * is W times the objective that users see, W = sum c_i, and so is every lambda
 * and gap here. g is a group of columns, mostly of one. With r = -c f'(z), a
 * column's slope is x_j'r: if slopes are subgradients of the penalty, w is
 * optimal.
 *
 * More than two classes are one problem each, against all others, solved one
 * after the other: a parameter has a number for each. */
#ifndef GLM_PARTS_H
#define GLM_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <strads/glm.h>
#include <strads/logistic.h>
#include <strads/svm.h>

#include "numeric/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_origins.h"
#include "numeric/linear_pairs.h"
#include <strads/path.h>
#include "numeric/linear_pending.h"
#include "numeric/linear_ridge.h"
#include "numeric/linear_set.h"
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
    GLM_UNSCALE,
    GLM_RISKS,
    GLM_RECENTRE,
    GLM_PHASES
};

/* Limit on the classes of a softmax; its certificate has sums for all pairs. */
enum { GLM_SOFTMAX_MAX = 1000 };

/* If labels and columns have root mean squares in this range, their squares
 * and sums of squares keep all digits. */
#define GLM_NUMBER_MIN 1e-140
#define GLM_NUMBER_MAX 1e140

/* Numbers at the end of a scan: sum r^2 / c and r'(y - mean y - o) for a
 * squared loss. */
enum { GLM_REST = 2 };

/* Ids of the program's blocks. */
enum {
    GLM_SCALARS_ID = 1,
    GLM_DIRECTION_ID = 3,
    GLM_ORIGINS_ID = 4,
    GLM_TARGET_ID = 16, /* plus the problem's number */
    GLM_SCAN_ID = GLM_TARGET_ID + LINEAR_LABELS_MAX
};

/* Checked options: names found, defaults filled in. */
typedef struct glm_problem {
    strads_glm_options options;
    const glm_loss *loss;
    const glm_penalty *penalty;
    double p; /* the loss's parameter */
    bool is_path;
} glm_problem;

/* The points of a path. */
enum { GLM_POINTS_MAX = 10000, GLM_POINTS = 100 };

typedef struct glm_path {
    uint32_t points;
    double *lambda;           /* [points], descending */
    strads_path_point *point; /* [points], n of them reached */
    uint32_t n;
    bool given;          /* lambda[] is a list */
    double first, ratio; /* otherwise */
    double most_explained, least_gain;
    bool gaps_of_null;
    double worst; /* of the gaps of the points reached */
} glm_path;

/* Defaults of the Lasso's path and of logistic regression's. */
#define GLM_PATH_DEFAULTS(loss_)                                         \
    {                                                                    \
        .fit = {.loss = loss_, .penalty = "elastic-net", .l1_ratio = 1}, \
        .points = GLM_POINTS, .ratio = .01                               \
    }

/* Options for the lambdas of a path. */
#define GLM_PATH_OPTIONS                                                      \
    STRADS_OPTION(U32, strads_glm_path_options, points, "points", "N",        \
                  "how many lambdas (default: 100)", .min = 1,                \
                  .max = GLM_POINTS_MAX),                                     \
        STRADS_OPTION(F64, strads_glm_path_options, most_explained,           \
                      "most-explained", "R",                                  \
                      "end the path where this share of the deviance is "     \
                      "explained; 0: never (default: 0)",                     \
                      .rare = true, .max = 1),                                \
        STRADS_OPTION(F64, strads_glm_path_options, least_gain, "least-gain", \
                      "R",                                                    \
                      "end it where a point adds less than this share to "    \
                      "it; 0: never (default: 0)",                            \
                      .rare = true, .max = 1),                                \
        STRADS_OPTION(                                                        \
            F64, strads_glm_path_options, ratio, "ratio", "R",                \
            "the last lambda as a share of the first (default: 0.01)",        \
            .min = DBL_MIN, .max = 1),                                        \
        STRADS_OPTION(F64, strads_glm_path_options, first, "first", "L",      \
                      "the first lambda (default: lambda_max)", .rare = true, \
                      .max = DBL_MAX),                                        \
        STRADS_OPTION(STRING, strads_glm_path_options, lambdas, "lambdas",    \
                      "LIST",                                                 \
                      "these lambdas instead: L,L,... or a file of them",     \
                      .rare = true)

/* Which program the commands lasso, glm and logistic train run. */
#define GLM_OPTION_CUT(type)                                           \
    STRADS_OPTION(STRING, type, cut, "cut", "C",                       \
                  "what workers hold: columns, of a pack larger than " \
                  "the memory, or rows (default: auto)",               \
                  .choices = "auto|rows|columns", .rare = true)

/* Of programs that validate a path in the same run. */
#define GLM_FOLD_OPTIONS                                                       \
    STRADS_OPTION(U32, strads_glm_path_options, folds, "folds", "K",           \
                  "parts of the rows, each held out once (default: none)",     \
                  .max = UINT32_MAX, .rare = true),                            \
        STRADS_OPTION(STRING, strads_glm_path_options, fold_file, "fold-file", \
                      "FILE",                                                  \
                      "each row's part, from 1, one a line (default: drawn)",  \
                      .rare = true)

extern const strads_option glm_option_table[], glm_path_option_table[],
    glm_path_columns_table[];
extern const strads_glm_options glm_defaults;
extern const strads_glm_path_options glm_path_defaults;

/* STRADS_EINVAL, with the reason. */
strads_err glm_options_resolve(const strads_glm_options *given,
                               glm_problem *out);
bool glm_named_labels(const void *config);
/* Of resolved options or given ones. */
bool glm_has_bounds(const strads_glm_options *o);
bool glm_weighs_classes(const strads_glm_options *o);

/* The Lasso's (glm_lasso.c), which its program by columns shares. */
extern const strads_option glm_lasso_option_table[];
extern const strads_glm_options glm_lasso_defaults;
extern const strads_option glm_lasso_path_columns_table[];
extern const strads_glm_path_options glm_lasso_path_defaults;
strads_err glm_lasso_resolve(const void *config, glm_problem *out);

/* Those of logistic regression (glm_logistic.c). */
extern const strads_option glm_logistic_option_table[];
extern const strads_logistic_options glm_logistic_defaults;
extern const strads_option glm_logistic_path_columns_table[];
extern const strads_glm_path_options glm_logistic_path_defaults;
strads_err glm_logistic_resolve(const void *config, glm_problem *out);

/* ---- a partition --------------------------------------------------------- */

typedef struct glm_local {
    glm_problem problem;
    uint64_t rows, columns;
    const column_kernels *kernels;
    linear_classes classes;    /* of the whole data */
    uint32_t target;           /* the problem that y and z belong to */
    double *y, *c, *o, *z, *r; /* [rows] */
    double *margins;  /* of a softmax: [rows x classes] margins; o then excludes
                    * the part of the other classes; or NULL */
    double *odds;     /* likewise: exp(margin - shift) */
    double *shift;    /* [rows] approximately the largest margin of each */
    double *h;        /* [rows] curvatures at z, */
    bool fresh;       /* h is up to date */
    column_view view; /* the share's columns, shifted by their origins */
    linear_moved moved;     /* the shifted ones */
    linear_pending pending; /* not yet in z */
    linear_pairs pairs;
    double level;            /* subtracted from y, o and z */
    bool plain;              /* all weights c are 1 */
    double *root;            /* [rows] sqrt c, if f'' is 1; NULL: all are 1 */
    glm_smoothing smoothing; /* of a loss with a kink */
    double *all; /* y, c, z, r of all rows, [rows of the data] each, for a
                  * loss of the whole; NULL before its first scan */
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
    GLM_TO_CERTIFY,
    GLM_TO_RECENTRE
} glm_next;

/* State of a problem that is not current. */
typedef struct glm_outcome {
    double primal, gap; /* relative */
    uint64_t nonzeros;
} glm_outcome;

/* A softmax as a whole, at its last evaluation. */
typedef struct glm_joint {
    bool used;      /* problems are turns of one */
    bool began;     /* the first evaluation, at w = 0, is done */
    bool certified; /* it has been certified */
    double primal, dual, null, gap;
    uint64_t nonzeros;
    linear_watch watch;
} glm_joint;

/* The ends of its last cycles (glm_cycles.c). */
typedef struct glm_cycles {
    uint64_t numbers;  /* of a cycle: coefficients of all columns, then b's */
    double *past;      /* [cycles x numbers], NULL: not kept */
    uint32_t n;        /* cycles in it */
    double *to;        /* [numbers] start of the next cycle */
    double before;     /* P at the end of the last cycle */
    bool extrapolated; /* this cycle started from an extrapolation */
} glm_cycles;

/* Bounds of the slopes that the last scan left out (glm_bounds.c). */
typedef struct glm_bounds {
    bool used, known;
    double *base;       /* [groups] the slope's norm at the group's last scan,
                   * minus norm x the distance up to then; INFINITY for members
                   */
    double *norm;       /* [groups] |x| */
    double *reference;  /* [rows] r at the last scan */
    double distance;    /* the distance that r has moved since the last scan
                        * of all columns */
    double unscanned;   /* the largest lambda at which a column that the last
                       * scan left out may move */
    bool pairs_suffice; /* the next scan needs no workers */
    double scanned_square; /* sum r^2 / c at the last scan by workers */
} glm_bounds;

typedef struct glm_groups {
    uint32_t n;
    uint32_t *start, *column, *of; /* NULL: each column is a group */
    double *v, *q, *to; /* [largest] one group's coefficients, slopes, and
                         * results */
} glm_groups;

/* The baseline hazard of a fit of times, and its arrays. */
typedef struct glm_baseline {
    uint32_t *stratum;
    double *time, *hazard;
    strads_baseline of; /* n is 0 before the end of the run */
} glm_baseline;

typedef struct glm_state {
    glm_problem problem;
    const strads_data *data;
    const column_kernels *kernels;
    uint64_t columns;
    uint64_t spare_bytes;   /* as in the shape, for the working set */
    uint32_t width, target; /* problems, and the current one */
    bool surveys;           /* problems are visited only to find lambda_max */
    glm_outcome *done;      /* [width] */
    double *wide;           /* [(columns + 1) x width] changes, at their
                             * places */
    glm_joint joint;
    glm_cycles cycles;
    char *classes; /* text of options.classes */
    double weight; /* W */
    double unit;   /* unit of margins: for numbers, the root mean square of
                  * labels */
    glm_groups groups;
    double *w;      /* [columns] at the last scan */
    double *norm;   /* [columns] sum c x^2 */
    double *scale;  /* [columns] factor of |w_j| */
    double *factor; /* [columns] and of its penalty; or NULL */
    double *mean;   /* [columns] for a softmax with an intercept */
    double *reach;  /* [columns] size that a coefficient without a penalty may
                    * have, if there are some; */
    double shift;   /* and of the shift of all margins that one may cause */
    double lambda, lambda_max; /* as users see them */
    double goal;    /* the wanted lambda, while a larger one is solved; 0: this
                  * is it */
    bool alone;     /* lambda is not known yet: only unpenalised coefficients
                  * move */
    glm_path *path; /* NULL: one lambda */
    bool known;     /* scales and norms are known */
    glm_smoothing smoothing; /* of a loss with a kink; */
    bool recentres;          /* the smoothed problem is solved; */
    uint32_t recentred;      /* this many times at this lambda */
    bool risks_known;        /* workers have r of the margins of all commits */
    bool finishes;     /* the run ends: the next risks give the baseline */
    uint32_t *stratum; /* [rows] of times; NULL: one stratum */
    double drift; /* at the end: what workers' margins lack, because columns
                   * are shifted */
    glm_baseline baseline;
    uint32_t levels;    /* of a loss of levels, and at the end of the run */
    double *thresholds; /* [levels - 1] */
    bool began;         /* the first scan is done; */
    double *held;   /* [columns] start values, until lambda is found; or NULL */
    double *b;      /* [width], minus c'w of origins c until the run ends */
    double *origin; /* [columns], NULL: all are 0 */
    uint32_t n_full; /* number of columns without omitted zeros; they may
                      * have an origin */
    bool over;       /* b is that of the unshifted columns */
    double *slope, *urgency, *told; /* [columns + 1] */
    uint32_t *candidate;            /* [columns + 1] */
    uint32_t *scan; /* [columns + 1] the n_scan columns of the next scan */
    uint32_t n_scan;
    glm_bounds bounds;
    uint32_t *active; /* [groups] the active ones (glm_find_active) */
    uint32_t n_active;
    /* Of the last scan, times W. */
    double primal, dual;
    double loss;
    double square, response; /* sum r^2 / c and r'(y - o), if f'' is 1; with
                              * r minus its mean if glm_centres() */
    double level, offsets;   /* subtracted from y, o and z; sum c o */
    double predicted;        /* the loss by pairs; below 0: none */
    bool by_columns;         /* the set is solved by columns instead of pairs */
    bool slopes_known;       /* of the rows that will come: no scan is due */
    double unboxed,
        intercept_slope;  /* the best dual value without b's box, and the
                           * term of the box per unit of its size */
    double best_dual;     /* best dual value of all scans, for any box */
    double null;          /* P at w = 0, for the current problem */
    double gap;           /* the reported relative gap */
    double *margins;      /* [2 x rows] z of the last scan, and of one before;
                           * NULL: not checked */
    bool separable;       /* there is no minimum: glm_separable.c; */
    bool ended;           /* the last problem is solved, or cannot be solved */
    double excess;        /* estimate of the remaining gain; */
    double excess_before; /* the same some scans earlier, */
    uint32_t watched;     /* this many scans at this lambda */
    double travel;        /* sum |x_j dw_j|^2 of all moves since z was
                           * computed */
    bool travels;         /* z has moved from there */
    uint64_t nonzeros, scans;
    linear_watch watch;
    double gap_before; /* at the last scan */
    double ease;       /* the set is solved to this factor below the excess */
    bool complete;     /* almost no column outside violated at the last scan */
    uint32_t searches;
    glm_next next;
    linear_set set; /* for Newton's method (glm_whole.c) only its rows are
                     * used */
    linear_ridge ridge;
    uint64_t fetches; /* blocks of columns that were asked for */
    double *offset;   /* [rows] */
} glm_state;

/* Index of parameter k's number of the current problem in a block. */
static inline size_t glm_at(const glm_state *state, uint32_t k)
{
    return (size_t)k * state->width + state->target;
}

/* True if a loss is of classes, one a problem or in order. */
static inline bool glm_is_of_classes(const glm_loss *loss)
{
    return loss->labels == GLM_CLASSES || loss->labels == GLM_LEVELS;
}

/* True if only bounds limit it. */
static inline bool glm_is_free(const glm_term *t)
{
    return t->l1 == 0 && t->l2 == 0;
}

/* Groups: the number of columns, the columns, and the group of a column. */
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
/* The factor of a column's coefficient in its group's penalty. */
static inline double glm_unit(const glm_state *state, uint32_t g, uint32_t j)
{
    return glm_size(state, g) > 1 ? state->scale[j] : 1;
}

/* True if slopes and sums use r minus its mean, because a squared loss has b
 * at its optimum: then only b's own slope depends on the mean. */
static inline bool glm_centres(const glm_state *state)
{
    return state->problem.loss->constant && state->problem.options.intercept &&
           !state->ridge.used;
}

/* The factor of penalties. If `alone`, no penalised coefficient moves. */
static inline double glm_penalty_weight(const glm_state *state)
{
    return state->problem.penalty->off ? 0
           : state->alone              ? 1e250
                                       : state->weight * state->lambda;
}

/* l1 of the term of a single column: the common value times the column's own
 * factor. */
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

/* True if s times the slope of a single column does not move it from 0, as
 * for almost all columns. Its conjugate is then 0. */
static inline bool glm_is_within(const glm_state *state, uint32_t g, double s)
{
    return !state->groups.start &&
           s * fabs(state->slope[g]) <= glm_own_l1(state, g);
}

/* glm_groups.c. STRADS_EINVAL, STRADS_EFORMAT, STRADS_EIO, STRADS_ENOMEM. */
strads_err glm_groups_read(glm_state *state);
void glm_groups_free(glm_groups *groups);
/* The term of a group at the current lambda; and its term in a model at its
 * coefficients, for the penalty glm_convex(). */
glm_term glm_term_of(const glm_state *state, uint32_t g);
/* Per unit of lambda, l1 of the term of a group of n columns, and its share. */
double glm_limit(const glm_problem *problem, uint32_t n);
double glm_group_share(const glm_problem *problem, uint32_t n);
glm_term glm_tangent_of(const glm_state *state, uint32_t g);
static inline const glm_penalty *glm_convex(const glm_state *state)
{
    const glm_penalty *penalty = state->problem.penalty;

    return penalty->tangent ? &glm_penalty_l1 : penalty;
}
/* Copies its coefficients and slopes of the last scan into v and q. */
void glm_gather(const glm_state *state, uint32_t g);
/* sum c |x|^2 of its columns, a bound of their joint curvature. */
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
/* strads_commit_also for the current problem. */
strads_err glm_also(strads_commit *commit, uint32_t n, const uint32_t *param,
                    const double *change);
/* factor[columns] of the options, 1 without any. STRADS_EINVAL, STRADS_EFORMAT,
 * STRADS_EIO. */
static inline bool glm_has_factors(const strads_glm_options *o)
{
    return o->penalty_factor || (o->penalty_factors && *o->penalty_factors);
}
strads_err glm_read_factors(const strads_glm_options *o, uint64_t columns,
                            double *factor);
/* Resets all state of a problem. */
void glm_begin_problem(glm_state *state);

/* glm_logistic.c: the options of a fit of classes, with the user's lambda. */
strads_glm_options glm_of_classes(const strads_logistic_options *options,
                                  const char *loss);

/* glm_path.c: fills in the defaults of a path's options, and their problem.
 * STRADS_EINVAL, with the reason. */
strads_err glm_path_resolve(const strads_glm_path_options *given,
                            glm_problem *problem, strads_glm_path_options *out);
/* Passes a point of a path with its coefficients, which the point owns after
 * reading; then its arrays are at most as large as the remaining data.
 * STRADS_ENOMEM. */
strads_err glm_path_walk(strads_walk *w, strads_path_point *point);
/* Slots of strads_program with these names, for other programs that are
 * paths. */
strads_err glm_path_shape(const void *config, const strads_data *data,
                          strads_shape *shape);
strads_err glm_path_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **state);
strads_err glm_path_open(const strads_task *task, void **local);
strads_err glm_path_pack(const void *state, strads_bytes *out);
strads_err glm_path_unpack(void *state, const void *bytes, size_t size);
strads_err glm_path_objective(void *state, strads_report *report);
extern const char *const glm_path_measures[];
/* Fills in defaults. STRADS_EINVAL, with the reason. */
strads_err glm_path_check(strads_glm_path_options *options);
/* Makes the lambdas of checked options. Lists are sorted, and may end at 0.
 * STRADS_EINVAL, STRADS_EFORMAT: errors in a list. STRADS_ENOMEM. */
strads_err glm_path_new(const strads_glm_path_options *options, glm_path **out);
void glm_path_free(glm_path *path);
/* The first lambda that is not reached, once lambda_max is known. */
double glm_path_first(glm_path *path, double lambda_max);
/* True if all points are reached. */
bool glm_path_is_over(const glm_path *path);
/* After a certified scan: keeps the current point if it is reached, and
 * continues with the next. STRADS_ENOMEM. */
strads_err glm_path_advance(strads_commit *commit);
/* Keeps the current point, which has no minimum, with a gap of 1. The path ends
 * here: only lambda 0 or a path without penalties has such points.
 * STRADS_ENOMEM. */
strads_err glm_path_give_up(strads_commit *commit);

/* glm_folds.c: the folds of a cross-validation, and the errors of fits without
 * them. */
enum { GLM_FOLDS = 10 };

typedef struct glm_folds_plan {
    uint32_t folds, points; /* folds: 0: GLM_FOLDS, or by the file */
    const char *file;       /* each row's fold, from 1; NULL: dealt */
    uint64_t rows;
    bool classes; /* labels are classes */
} glm_folds_plan;

typedef struct glm_folds {
    uint32_t n, points;
    uint64_t rows;
    bool given, classes;
    uint32_t *of;  /* [rows] */
    double *size;  /* [n] rows in each, by their weights */
    double all;    /* of all folds */
    double *error; /* [n x points] means of losses */
    double *right; /* [n x points] correctly predicted labels, in rows */
    double *gap;   /* [n x points] of the fits */
} glm_folds;

/* STRADS_EINVAL: the number of folds. STRADS_EIO, STRADS_EFORMAT: their file.
 * STRADS_ENOMEM. glm_folds_free() frees them. */
strads_err glm_folds_new(const glm_folds_plan *plan, glm_folds *out);
void glm_folds_free(glm_folds *folds);
/* Deals the rows to folds, unless a file did: of classes, label[rows], each
 * fold has its share. STRADS_ENOMEM. */
strads_err glm_folds_deal(glm_folds *folds, const double *label, uint64_t seed);
/* Sets the folds' sizes from count[rows]. */
void glm_folds_weigh(glm_folds *folds, const double *count);
/* Means over folds, weighted by their rows; K counts folds with weight. Fills
 * in points[points] and, as strads_glm_cv, best and simplest. */
void glm_folds_sum_up(const glm_folds *folds, const double *lambda,
                      strads_cv_point *points, uint32_t *best,
                      uint32_t *simplest);

/* glm_start.c: computations before the first scan. */
/* Origins of columns, if b compensates for them. */
strads_err glm_update_origins(strads_task *task);
strads_err glm_aggregate_origins(strads_commit *commit);
strads_err glm_receive_origins(strads_task *task);
/* c'w of the origins c; the numbers of w are `step` apart. */
double glm_origins_sum(const glm_state *state, const double *w, uint32_t step);
strads_err glm_aggregate_unscale(strads_commit *commit);
/* Reads the offsets of rows. STRADS_EINVAL, STRADS_EIO, STRADS_EFORMAT. */
strads_err glm_read_offsets(const strads_glm_options *options,
                            const strads_range *rows, uint64_t total,
                            double *offset);
/* The classes; the same in every process with the survey. Empty for numbers. */
strads_err glm_classes_of(const glm_problem *problem, const strads_names *names,
                          const linear_survey *labels, uint32_t width,
                          linear_classes *out);
size_t glm_labels_size(const strads_task *task);
strads_err glm_update_labels(strads_task *task);
void glm_merge_labels(void *into, const void *from, size_t bytes);
strads_err glm_aggregate_labels(strads_commit *commit);
strads_err glm_receive_labels(strads_task *task);
/* Begins one of several problems, from the common w and b. */
size_t glm_target_size(const strads_task *task);
strads_err glm_update_target(strads_task *task);
strads_err glm_aggregate_target(strads_commit *commit);
/* The first scan also computes values that do not change. */
size_t glm_moments_size(const strads_task *task);
strads_err glm_update_moments(strads_task *task);
strads_err glm_aggregate_moments(strads_commit *commit);
size_t glm_rows_size(const strads_task *task);
strads_err glm_update_rows(strads_task *task);
strads_err glm_aggregate_rows(strads_commit *commit);
/* Updates the margins for all commits. */
void glm_catch_up(glm_local *local);

/* glm_risks.c: losses of all rows together. Reads the strata of all rows; NULL:
 * there are none; the caller frees *out. STRADS_EINVAL, STRADS_EIO,
 * STRADS_EFORMAT, STRADS_ENOMEM. */
strads_err glm_read_strata(const strads_glm_options *options, uint64_t rows,
                           uint32_t **out);
/* Converts n labels of times to ranks, from 1: ascending by stratum (NULL: one)
 * and time, with an unused rank between strata. STRADS_ENOMEM. */
strads_err glm_rank_times(uint64_t n, const uint32_t *stratum, double *y);
/* The number of a label among classes, from 1; 0: it is none of them. */
double glm_level_of(const linear_classes *classes, double label);
/* A phase before each scan, and at the end of a run for the baseline hazard:
 * the rows of all go to all. */
size_t glm_risks_size(const strads_task *task);
strads_err glm_update_risks(strads_task *task);
strads_err glm_aggregate_risks(strads_commit *commit);
strads_err glm_receive_risks(strads_task *task);

/* glm_smooth.c: losses with a kink. The loss that a fit minimises. */
static inline double glm_evaluate(const glm_problem *problem,
                                  const glm_smoothing *s, const glm_rows *rows,
                                  double *r, double *h)
{
    return problem->loss->smooth
               ? problem->loss->smooth(rows, s, problem->p, r, h)
               : problem->loss->evaluate(rows, problem->p, r, h);
}
/* The first width of the smoothing, from the mean square, mean (0: without an
 * intercept) and largest |label|; the same in every process. Then sets it and
 * the first centres. */
double glm_first_width(double squares, double mean, double largest);
void glm_smoothing_begin(const glm_problem *problem, uint64_t rows,
                         double width, glm_smoothing *s);
/* A phase: slopes become the centres. */
strads_err glm_update_recentre(strads_task *task);
strads_err glm_aggregate_recentre(strads_commit *commit);
/* What the smoothing takes from the dual value at s r. */
double glm_smoothing_term(const glm_state *state, const double *r, double s);
/* After a certificate of the true loss, given P - D of the smoothed problem,
 * which then guides the next steps. If the true P - D is below `least`, other
 * centres would not lower it. */
void glm_judge_smoothed(glm_state *state, double excess, double least);

/* glm_softmax.c. Workers: whether classes are one problem; margins of the
 * block's values, or of none at w = 0; another class's turn; the whole.
 * Coordinator: its certificate; the phase after a turn. */
bool glm_is_joint(const glm_local *local);
strads_err glm_softmax_start(const strads_task *task);
void glm_softmax_turn(glm_local *local, const strads_share *share,
                      uint32_t target);
size_t glm_certify_size(const strads_task *task);
strads_err glm_update_certify(strads_task *task);
strads_err glm_aggregate_certify(strads_commit *commit);
void glm_softmax_next(glm_state *state);

/* glm_cycles.c: call after an evaluation of the whole, in the commit that
 * has its numbers. Returns true if the next cycle starts elsewhere; the commit
 * then changes the numbers. STRADS_ENOMEM. */
strads_err glm_cycles_new(glm_state *state);
void glm_cycles_free(glm_cycles *cycles);
bool glm_cycles_next(strads_commit *commit);

/* glm.c: call when the unpenalised coefficients are fitted and lambda_max is
 * known. */
void glm_find_lambda(glm_state *state, double critical);
/* The next lambda on the way down to the wanted one. */
double glm_next_down(const glm_state *state);
/* Computes r at the margins of all commits. */
void glm_take_slopes(glm_local *local);
strads_err glm_aggregate_scan(strads_commit *commit);
/* The end of a scan, behind the slopes of its columns. */
void glm_end_scan(const glm_local *local, double *rest);

/* glm_certificate.c: primal value, dual value and gap, from a scan's slopes. */
void glm_certify(strads_commit *commit);
/* P - D, which only rounding makes negative. NaN bounds nothing, and fmax()
 * would make it a gap of 0. */
static inline double glm_excess(double primal, double dual)
{
    const double excess = primal - dual;

    return isnan(excess) ? INFINITY : fmax(excess, 0);
}
/* The amount by which rounding may have made P - D too small, given sum r^2
 * / c and the penalty of the current problem. */
double glm_rounding(const glm_state *state, double square, double penalty);
/* A rounding error below this share of P is ignored. */
#define GLM_ROUNDING_MIN 1e-9
/* This share of P at w = 0 counts as 0: if rows can be fitted exactly P tends
 * to 0, and every gap relative to it would be rounding error. */
#define GLM_NOTHING 1e-14
/* Gaps are relative to P, or to this share of P at w = 0 if P is below it,
 * because a model that fits all labels has a tiny P. */
#define GLM_LEAST 1e-6
/* The smallest lambda at which these slopes, of rows with that sum r^2 / c,
 * leave all coefficients at 0. */
double glm_critical(const glm_state *state, double square);
/* Lists the active groups: those that are not at w = 0 with slopes that keep
 * them there. Almost all groups are inactive, and contribute nothing. */
void glm_find_active(glm_state *state);
/* sum r^2 / c; changes set.trial. */
double glm_square(glm_state *state);
/* Sums over all groups: the penalty, and the factor of r that makes the dual
 * value finite, with and without l2. */
typedef struct glm_totals {
    double penalty, widest, tight;
} glm_totals;
/* These sums and the number of nonzero coefficients, over the active groups. */
glm_totals glm_add_up(glm_state *state);
/* sum pen*(s X'r) */
double glm_conjugates(const glm_state *state, double s);
/* True if dual values hold for the current coefficients only, because the
 * boxes of free columns grow with them. */
bool glm_has_free_columns(const glm_state *state);
/* The largest relative violation. */
double glm_worst_violation(const glm_state *state, double square);

/* glm_choice.c: after a scan, chooses the working set and its accuracy. */
strads_err glm_choose(strads_commit *commit);
/* Resets the problem's state for a new lambda. */
void glm_begin_lambda(glm_state *state, double lambda);

/* glm_bounds.c: columns that scans leave out; whether that can pay.
 * STRADS_ENOMEM. */
bool glm_bounds_pay(const strads_data *data);
strads_err glm_bounds_new(glm_state *state, uint64_t rows);
void glm_bounds_free(glm_bounds *bounds);
/* After a scan: bounds of its columns. */
void glm_bounds_note_scan(const strads_commit *commit);
/* At the first model after a scan, and at the end of the last: the distance
 * that r moves. */
void glm_bounds_keep_reference(glm_state *state);
void glm_bounds_add_distance(glm_state *state);
/* Selects the next scan's columns: all; those that are not bounded. */
void glm_bounds_take_all(glm_state *state);
void glm_bounds_choose_columns(glm_state *state);
/* Aggregate of a scan by pairs. */
strads_err glm_bounds_pair_scan(strads_commit *commit);

/* glm_whole.c: Newton's method on the whole problem, for a smooth penalty
 * and few columns; whether it is used. */
bool glm_on_whole(const glm_problem *problem, const strads_data *data);
/* True if the current step was too long; then P may still decrease. */
static inline bool glm_overshot(const glm_state *state)
{
    return state->ridge.share > 0 && !(state->primal <= state->ridge.before);
}
/* An estimate of P - P* if there are columns without a penalty, because their
 * boxes are only assumed; INFINITY before the first step. 0: there are none. */
double glm_whole_left(glm_state *state, double square);
/* After a scan: takes back half of a step that was too long, or begins the
 * next one. */
strads_err glm_whole_judge(strads_commit *commit);

/* glm_separable.c: after a scan, detects that there is no minimum and sets
 * `separable`; for a softmax, with the number of wrongly predicted rows.
 * STRADS_ENOMEM. */
strads_err glm_find_separation(glm_state *state, double tolerance);
/* True if P may have an infimum instead of a minimum: there is no penalty, and
 * some row's loss decreases forever. */
bool glm_has_infimum(const glm_state *state);
bool glm_is_separable_softmax(const glm_state *state, double wrong);
strads_err glm_update_hessian(strads_task *task);
size_t glm_hessian_size(const strads_task *task);
size_t glm_product_size(const strads_task *task);
strads_err glm_aggregate_hessian(strads_commit *commit);
strads_err glm_update_product(strads_task *task);
strads_err glm_aggregate_product(strads_commit *commit);
strads_err glm_dispatch_hessian(strads_turn *turn);
strads_err glm_dispatch_product(strads_turn *turn);

/* glm_set.c: the working set of numeric/, with this loss and these
 * penalties. */
linear_model glm_model(const glm_state *state);
/* Adds all columns of a group. STRADS_ENOMEM. */
strads_err glm_set_join(glm_state *state, uint32_t g);
/* Aggregates of columns, of a block, and of the line search after it. */
strads_err glm_set_take(strads_commit *commit);
/* The columns of a block. */
static inline column_list glm_list(const strads_block *block)
{
    return (column_list){.n = block->n,
                         .first = block->first,
                         .column = block->param};
}
/* The block of the next members that fit into one fetch; that of the members'
 * products with those that joined; that of the members that move (n is 0: none
 * does). All are in state->candidate. */
strads_block glm_fetch_block(glm_state *state);
strads_block glm_pairs_block(glm_state *state);
strads_block glm_moving_block(glm_state *state, uint64_t round);
size_t glm_fetch_size(const strads_task *task);
size_t glm_pairs_size(const strads_task *task);
strads_err glm_update_fetch(strads_task *task);
strads_err glm_update_pairs(strads_task *task);
strads_err glm_take_pairs(strads_commit *commit);
strads_err glm_solve(strads_commit *commit);
strads_err glm_search(strads_commit *commit);

/* glm_targets.c: the rows of data that is all in this process, as fits see
 * them; and copies of columns. */
typedef struct glm_targets {
    glm_problem problem;
    linear_classes classes; /* n is 0: labels are numbers */
    char *classes_text;     /* as an option; NULL: none */
    uint64_t rows;
    bool weighs;            /* weights are given */
    double *label;          /* [rows]; the other arrays are parts of it: */
    double *weight, *y, *c; /* weights of rows; targets, weights in the loss, */
    double *o, *z;          /* offsets; z is workspace */
} glm_targets;
/* The caller frees *out. STRADS_EINVAL: options, no labels, several classes.
 * STRADS_EFORMAT, STRADS_EIO: files of rows. STRADS_ENOMEM. */
strads_err glm_targets_new(const strads_data *data,
                           const strads_glm_options *fit, glm_targets *out);
void glm_targets_free(glm_targets *targets);
/* The entries start[k] to start[k + 1] - 1 are those of the k-th column, of all
 * rows. */
typedef struct glm_columns {
    uint64_t *start;
    uint32_t *index; /* rows */
    double *value;
} glm_columns;
/* Copies n columns. STRADS_ENOMEM. */
strads_err glm_columns_copy(const strads_data *data, uint64_t n,
                            const uint32_t *column, glm_columns *out);
void glm_columns_free(glm_columns *x);
/* Sets z to the margins of a point, x its columns. */
void glm_targets_margins(const glm_targets *targets, const glm_columns *x,
                         const strads_path_point *point);
/* True if its partitions are ranges of rows, with all columns by columns. */
static inline bool glm_has_columns(const strads_data *data)
{
    const strads_share *share = strads_data_share(data, 0);

    return share->by_col.start &&
           share->cols.end - share->cols.begin == strads_data_cols(data);
}
/* The mixture of a point and its relaxed fit, in value[nonzeros]. */
void glm_mix_points(const strads_path_point *point, const double *relaxed,
                    double intercept, double share, double *value,
                    strads_path_point *out);

/* ---- programs ------------------------------------------------------------ */

/* glm.c: for every program with these phases. */
extern const strads_phase glm_phases[GLM_PHASES];
strads_err glm_refresh(strads_task *task, const strads_change *changes,
                       uint32_t n);
strads_err glm_schedule(strads_turn *turn);
strads_err glm_objective(void *state, strads_report *report);

#define GLM_PROGRAM                                                         \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,             \
    .layout = STRADS_LAYOUT_COLS, .unindexed = true, .no_policy = true,     \
    .end = glm_end, .close = glm_close, .finalises = true,                  \
    .refresh = glm_refresh, .schedule = glm_schedule, .phases = glm_phases, \
    .n_phases = GLM_PHASES

#define GLM_PATH_PROGRAM                                                       \
    GLM_PROGRAM, .objective = glm_path_objective, .pack_state = glm_path_pack, \
                 .unpack_state = glm_path_unpack,                              \
                 .measures = glm_path_measures, .shape = glm_path_shape,       \
                 .begin = glm_path_begin, .open = glm_path_open

/* Slots of a fit; resolve(config, &problem) converts its config to a
 * problem, or fails with a message. Then the program with these slots. */
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
