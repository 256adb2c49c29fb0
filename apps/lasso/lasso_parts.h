/* The rooms of the Lasso program and what they hand to each other.
 *
 * Inside, everything is multiplied by the number of rows n:
 *
 *     P(w) = 1/2 |r_c|^2 + L1 sum s_j |w_j| + L2/2 sum s_j^2 w_j^2
 *
 * with r = y - X w, r_c = r - mean(r) under an intercept and r otherwise,
 * L1 = n lambda l1_ratio, L2 = n lambda (1 - l1_ratio), and s_j the scale of
 * column j (1 unless standardised). Workers keep r and know nothing of means
 * and scales: X_c' r_c = X' r - mean(x) sum(r), and only the coordinator needs
 * that. Coefficients are always those of the data as they stand.
 *
 * Where rows have weights c_i, row i of X, y, r and of the column of ones is
 * multiplied by sqrt c_i (lasso_weights.c), and n is sum c_i: the same formulas
 * hold, sum(v) being sum sqrt c_i v_i. */
#ifndef LASSO_PARTS_H
#define LASSO_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/lasso.h>

#include "apps/kernels/column_kernels.h"
#include "apps/linear/linear_pairs.h"
#include "apps/linear/linear_pending.h"
#include "apps/linear/linear_steps.h"

/* ---- one partition ----------------------------------------------------- */

/* A worker's state. `residual` is response - X w for the w that refresh has
 * told of but for what is pending. */
typedef struct lasso_local {
    uint64_t rows, columns;
    const column_kernels *kernels;
    double *response; /* [rows] label - the mean of all labels (intercept) */
    double *residual; /* [rows] */
    double shift;     /* that mean */
    double *root;     /* [rows] sqrt c_i; NULL: all 1 */
    strads_share weighted;  /* with root: the share, its rows times it */
    double *reference;      /* [rows] the residual at the last scan or look */
    bool refers;            /* there was one */
    linear_pending pending; /* not yet in the residual */
    linear_pairs pairs;
} lasso_local;

/* lasso_state.c: what strads_program says of slots with these names. */
strads_err lasso_open(const strads_task *task, void **out);
void lasso_close(void *opened);
/* Takes `shift` off response and residual. */
void lasso_take_shift(lasso_local *local, double shift);

/* lasso_weights.c: takes the weights of the rows that a file has for them, if
 * one is given. STRADS_ENOMEM and as linear_read_weights. */
strads_err lasso_take_weights(const strads_task *task, lasso_local *local);

/* The columns that a partition computes with. */
static inline const strads_share *lasso_share(const strads_task *task)
{
    const lasso_local *local = task->local;

    return local->root ? &local->weighted : task->share;
}

static inline data_column lasso_column(const strads_task *task, uint64_t j)
{
    return data_column_of(lasso_share(task), j);
}

/* lasso_moments.c: |x|^2 and, unless `sum` is NULL, sum(x) of columns `begin`
 * to before `end`, into arrays of all columns that are 0; sum(v) of all rows.
 */
void lasso_sums(const lasso_local *local, const strads_share *share,
                uint64_t begin, uint64_t end, double *squares, double *sum);
double lasso_sum(const lasso_local *local, const double *v);

/* ---- the coordinator --------------------------------------------------- */

typedef struct lasso_gram lasso_gram;       /* lasso_gram.h */
typedef struct lasso_columns lasso_columns; /* lasso_columns.h */
typedef struct linear_path linear_path;     /* apps/linear/linear_path.h */

/* What the schedule has to do next (lasso_schedule.c). */
typedef enum lasso_next {
    LASSO_TO_CENTRE,
    LASSO_TO_MOMENTS,
    LASSO_TO_SCAN,
    LASSO_TO_LOOK,
    LASSO_TO_BRING, /* what solving by columns needs */
    LASSO_TO_SOLVE
} lasso_next;

typedef struct lasso_state {
    strads_lasso_options options; /* defaults filled in */
    const strads_data *data;
    lasso_gram *gram;
    linear_path *path; /* NULL: one lambda */
    lasso_columns *by_columns;
    lasso_next next;
    uint32_t route; /* the phase that the policy's blocks go to */
    bool chosen;    /* some block since the last scan */
    const column_kernels *kernels;
    uint64_t columns;
    double entries;            /* of the whole data */
    double rows;               /* n */
    double label_sum;          /* sum(y) once the shift is off: rounding */
    double shift;              /* the mean label; 0 without an intercept */
    double lambda, lambda_max; /* as users see them */
    double l1, l2;             /* L1 and L2 above */

    /* Of every column, [columns] each. */
    double *mean;    /* 0 without an intercept */
    double *norm;    /* |x_c|^2; 0: never enters */
    double *scale;   /* s_j; NULL: all 1 */
    double *slope;   /* of the smooth part, downward, at the last scan */
    double *urgency; /* what a member's own step would gain; else 0 */
    double *told;    /* priorities on their way to the policy */
    uint32_t *set;   /* the working set: n_set columns */
    uint32_t *candidate;
    uint32_t *support; /* Newton's, within a block */
    bool *in_set;
    uint32_t n_set;

    /* What scans and looks say of the columns that the next look leaves out
     * (lasso_look.c). */
    double *base;   /* [columns] steepness by scale at a column's last look,
                       less root x the way until then; members: INFINITY;
                       NULL: no looks at a few */
    double *root;   /* [columns] |x_c| by scale */
    double *w;      /* [columns] the committed w, as looks go */
    uint32_t *look; /* [n_look] the columns that a look is at */
    uint32_t n_look;
    bool has_base, looked; /* looked: the scan at hand is a look */
    double way;            /* that r has gone since the last scan of all */
    double unseen;         /* the most that any other column's slope may be */

    double squares;      /* |r_c|^2 at the last scan */
    double intercept;    /* b of the committed w */
    double primal, dual; /* P at the last scan, the best D so far */
    double gap;          /* P - D */
    uint64_t nonzeros;
    uint64_t scans, blocks;
    uint64_t visits; /* columns that blocks have had since the last scan */
    double spent;    /* multiplications that steps have taken since then */
    linear_watch watch;
    double left;   /* sum of the members' priorities */
    double rest;   /* below it the policy rests */
    double gained; /* by blocks in this pass */
    double shrink; /* how far below the gap's share the next rest lies */
    double *block; /* [room_block] workspace of a block */
    size_t room_block;
} lasso_state;

static inline double lasso_scale(const lasso_state *state, uint64_t j)
{
    return state->scale ? state->scale[j] : 1;
}

/* The best step of one coordinate alone from w, where the smooth part slopes
 * down by `slope` and has that curvature, and |w| costs l1. */
static inline double lasso_step_at(double w, double slope, double curvature,
                                   double l1, bool positive)
{
    const double z = slope + curvature * w;

    if (z > l1)
        return (z - l1) / curvature - w;
    if (z < -l1 && !positive)
        return (z + l1) / curvature - w;
    return -w;
}

/* The same of column j. */
static inline double lasso_step(const lasso_state *state, uint64_t j, double w,
                                double slope, double curvature)
{
    if (state->norm[j] == 0 || !(curvature > 0))
        return -w;
    return lasso_step_at(w, slope, curvature, state->l1 * lasso_scale(state, j),
                         state->options.positive);
}

/* lasso_state.c: what strads_program says of slots with these names. */
strads_err lasso_shape(const void *config, const strads_data *data,
                       strads_shape *shape);
strads_err lasso_begin(const void *config, const strads_data *data,
                       const strads_shape *shape, void **out);
void lasso_end(void *begun);

/* lasso_options.c: checks a config; fills defaults in. */
#define LASSO_L1_RATIO_MIN 1e-3 /* below it lambda_max says nothing */
extern const strads_option lasso_option_table[];
extern const strads_lasso_options lasso_defaults;
strads_err lasso_options_resolve(const strads_lasso_options *given,
                                 strads_lasso_options *out);

/* lasso_moments.c: means, norms, scales, lambda_max and lambda from merged
 * X'y [p]; y'y, y'y and sum y; squared norms [p] and, under an intercept,
 * column sums [p]. */
void lasso_set_moments(lasso_state *state, const double *merged);

/* lasso_certificate.c: P, D and the gap from a scan's merged X'r [p], r'r, y'r
 * and sum r, or from a look's at its block; leaves the slopes in the state, and
 * b. */
void lasso_certify(const strads_commit *commit);
/* The largest |slope| of n. */
double lasso_steepest(const double *slope, uint64_t n);

/* Looks have ids from here on, one each. */
#define LASSO_LOOK_ID (UINT64_C(1) << 62)

/* lasso_look.c: who needs no look. A worker's part: after a scan with the
 * residual r; how far r has gone since; X'r of a block's columns, r'r, y'r and
 * sum r. */
void lasso_keep_reference(lasso_local *local, const double *r);
strads_err lasso_update_drift(strads_task *task);
strads_err lasso_update_look(strads_task *task);
/* The coordinator's: room for it, where it pays; the scan that has come in is
 * one of all, or a look; what a drift's aggregate does. */
strads_err lasso_look_begin(lasso_state *state);
void lasso_look_end(lasso_state *state);
void lasso_note_scan(const strads_commit *commit);
strads_err lasso_aggregate_drift(strads_commit *commit);
/* Whether a look may do instead of a scan; gathers the columns that need one,
 * false when these are too many. */
bool lasso_may_look(const lasso_state *state);
bool lasso_choose_look(lasso_state *state);
/* How many columns the scan at hand has seen, and the k-th of them. */
static inline uint32_t lasso_seen(const lasso_state *state)
{
    return state->looked ? state->n_look : (uint32_t)state->columns;
}

static inline uint32_t lasso_seen_at(const lasso_state *state, uint32_t k)
{
    return state->looked ? state->look[k] : k;
}

/* The committed w by column, as far as the set goes. */
const double *lasso_w(const strads_commit *commit);

/* lasso.c: applies what is pending to the residual. */
void lasso_catch_up(lasso_local *local, const strads_share *share);
/* What a scan ends with: r'r, y'r and the sum of r. */
void lasso_end_scan(const lasso_local *local, const double *r, double *rest);

/* lasso_path.c: L1 down to which columns count now: the strong rule's for the
 * next point. */
double lasso_path_level(const lasso_state *state);

/* The same bound within the working set, at the w that pairs have led to. */
double lasso_gap_within(const lasso_state *state);

/* lasso_choice.c: who belongs to the working set, how urgent each of its
 * members is, and where the policy is to rest. `dual` is the best of the scans
 * before. */
strads_err lasso_choose(strads_commit *commit, double dual);

/* lasso_schedule.c: what strads_program says of a slot with this name. */
strads_err lasso_schedule(strads_turn *turn);

/* Lets column j join the working set. */
void lasso_join(lasso_state *state, uint32_t j);

/* Counts a block; true when its set has had so many that only a scan can tell
 * whether they still bring anything. */
bool lasso_count_block(strads_commit *commit);

/* Notes what a block commit, whose priorities are set, has gained; at the end
 * of a pass that was worth it, starts another. */
void lasso_note_block(strads_commit *commit);

/* The places of phases in the program's table. */
enum {
    LASSO_CENTRE,
    LASSO_MOMENTS,
    LASSO_SCAN,
    LASSO_PAIRS,
    LASSO_BLOCK,
    LASSO_SOLVE,
    LASSO_ROWS,
    LASSO_COLUMNS,
    LASSO_BY_COLUMNS,
    LASSO_DRIFT,
    LASSO_LOOK,
    LASSO_RECKON
};

/* lasso_block.c: what aggregate does with a block. */
strads_err lasso_solve_block(strads_commit *commit);

#endif
