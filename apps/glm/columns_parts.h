/* Declarations that the files of the fits by columns share.
 *
 *     P(w, b) = sum c_i f(y_i, z_i)
 *             + sum_j f_j (l1 s_j |w_j| + l2/2 s_j^2 w_j^2),  z = X w + o + b
 *
 * is W = sum c_i times the objective that users see; o are offsets of rows, f_j
 * penalty factors, s_j the deviations of columns with standardize, 1 without.
 * All w are between the bounds lower and upper. Columns with a factor of 0 are
 * free. A partition holds a range of columns, in memory or packed in a file,
 * and a copy of the margins X w. So a scan of all columns needs no sum over
 * partitions, and only columns that may be nonzero, the candidates, are ever
 * held unpacked.
 *
 * Parameters: the coefficients, 0 .. p - 1; then the margins X w, p .. p + n -
 * 1; then b. A commit changes the coefficients of one block and the margins,
 * so every partition has the margins of the last commit. */
#ifndef COLUMNS_PARTS_H
#define COLUMNS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/glm.h>
#include <strads/pack.h>

#include "glm_parts.h"

enum {
    COLUMNS_SCAN,
    COLUMNS_MARGINS,
    COLUMNS_SOLVE,
    COLUMNS_KEEP, /* the present solution waits for a scan */
    COLUMNS_END,  /* back to the last point of a path */
    COLUMNS_PHASES
};

/* Ids of blocks: of no parameters, or of the free columns; of all columns, for
 * a scan that finds only the largest |slope| where all columns but the free
 * ones are 0, and for one of the pending solutions. */
enum {
    COLUMNS_NONE_ID,
    COLUMNS_LARGEST_ID,
    COLUMNS_SCAN_ID,
    COLUMNS_SOLVE_ID /* and above */
};

/* Most solutions that one scan certifies. */
enum { COLUMNS_VIEWS_MAX = 32 };

/* What a program by columns fits. */
typedef struct columns_plan {
    glm_problem problem;
    bool is_path;
    strads_glm_path_options path;
    uint32_t folds; /* of a cross-validation; 0: none, or by the file */
    const char *fold_file;
} columns_plan;

/* Whether it is a cross-validation. */
static inline bool columns_validates(const columns_plan *plan)
{
    return plan->folds > 0 || plan->fold_file;
}

/* Numbers that travel with each dispatch (shared totals). */
enum {
    COLUMNS_L1, /* the penalty's weights, times W */
    COLUMNS_L2,
    COLUMNS_THRESHOLD, /* a scan keeps columns with |slope| from here on, at the
                        * last solution */
    COLUMNS_FOLD,      /* rows of this fold, from 1, weigh nothing; 0: all do */
    COLUMNS_TOTALS
};

/* The head of one partition's result of a scan; a columns_seen for each
 * solution and a columns_found for each new candidate follow. */
typedef struct columns_scanned {
    uint64_t views, n;
    uint64_t stopped; /* by the user, before the last column */
} columns_scanned;

/* Sums over columns with a slope steeper than their l1, for a gap. Of a scan
 * for the largest slope, `forced` is that. */
typedef struct columns_seen {
    double tight;   /* the largest |slope| / l1 of penalised columns; */
    double forced;  /* of those with an infinite conjugate */
    double bounded; /* sum of the conjugates of the others, */
    double free;    /* and of free columns, within their boxes */
} columns_seen;

typedef struct columns_found {
    uint32_t column;
    uint32_t unused;
    double
        size; /* |slope| beside the bound from which on columns are kept; of a
                  * free column 0 */
} columns_found;

/* What a partition and the coordinator need for each row: always, and for each
 * solution that waits for a scan. */
enum {
    COLUMNS_ROW_BYTES = 10 * sizeof(double) + sizeof(uint32_t),
    COLUMNS_VIEW_BYTES = 2 * sizeof(double) + sizeof(float),
    COLUMNS_PENDING_BYTES = 2 * sizeof(double)
};

/* How many solutions wait for one scan: some 2^21 rows of them. A scan
 * multiplies by each, so there is a bound. */
static inline uint32_t columns_views(const columns_plan *plan, uint64_t rows)
{
    const uint64_t fit = rows > 0 ? (UINT64_C(1) << 21) / rows : 1;
    return !plan->is_path || fit < 1 ? 1
           : fit > COLUMNS_VIEWS_MAX ? COLUMNS_VIEWS_MAX
                                     : (uint32_t)fit;
}

/* Most new candidates of a partition in one scan. */
enum { COLUMNS_FOUND_MAX = 1 << 15 };

/* The head of a block's result; the change of the margins follows, [rows], and
 * the columns' scales l1 and l2, [n] each. Sums of |w| and of squares are
 * weighted by these. */
enum {
    COLUMNS_TIGHT, /* columns_seen of the block, before */
    COLUMNS_FORCED,
    COLUMNS_BOUNDED,
    COLUMNS_FREE,
    COLUMNS_L1_BEFORE,     /* sum |w|, */
    COLUMNS_SQUARE_BEFORE, /* w'w before; of margins, at w */
    COLUMNS_L1_CHANGE,     /* sum |w + d| - |w| for the change d, */
    COLUMNS_CROSS,         /* w'd, */
    COLUMNS_MOVED,         /* d'd */
    COLUMNS_ORIGINS,       /* sum of the columns' origins times d; for margins,
                        * times w */
    COLUMNS_UPDATES,       /* updates of coordinates */
    COLUMNS_STOPPED,       /* margins: the user has stopped the run before all
                        * columns were read */
    COLUMNS_NUMBERS
};

/* ---- unpacked columns (columns_kept.c) ----------------------------------- */

/* Unpacked columns, in any order. */
typedef struct columns_kept {
    uint32_t n, capacity;
    uint64_t nnz, room;
    uint32_t *id;     /* [n] */
    uint64_t *start;  /* [n + 1] */
    uint32_t *row;    /* [nnz] */
    double *value;    /* [nnz] */
    double *origin;   /* [n] subtracted from the values */
    double *factor;   /* [n] of the penalty */
    uint32_t *sorted; /* [n] places, by id */
    uint64_t limit;   /* most bytes of entries */
} columns_kept;

/* The entries of a column that is unpacked. */
typedef struct columns_entries {
    uint64_t n;
    const uint32_t *row;
    const double *value;
} columns_entries;

/* Changes the room of an array to n elements; false: no memory, unchanged. */
bool columns_grow(void **array, size_t size, uint64_t n);

void columns_kept_free(columns_kept *kept);
/* Makes room for n entries behind the last column's. STRADS_ENOMEM, also above
 * the limit. */
strads_err columns_kept_reserve(columns_kept *kept, uint64_t n);
/* The same for one more column: the caller writes its entries there, and
 * columns_kept_end() adds it. */
strads_err columns_kept_begin(columns_kept *kept, uint64_t n);
void columns_kept_end(columns_kept *kept, uint32_t id, uint64_t n,
                      double origin, double factor);
/* The column at a place; and the n entries behind the last column. */
columns_entries columns_kept_entries(const columns_kept *kept, uint32_t at);
columns_entries columns_kept_taken(const columns_kept *kept, uint64_t n);
/* x'v, and v += a x, for the column x at a place. */
double columns_kept_dot(const columns_kept *kept, uint32_t at, const double *v);
void columns_kept_add(const columns_kept *kept, uint32_t at, double a,
                      double *v);
/* Sorts the places of all columns by id. STRADS_ENOMEM. */
strads_err columns_kept_sort(columns_kept *kept);
/* The place of a column among the first `sorted` ones; UINT32_MAX: none. */
uint32_t columns_kept_find(const columns_kept *kept, uint32_t sorted,
                           uint32_t id);

/* ---- a partition (columns_worker.c) -------------------------------------- */

/* A solution that waits for the next scan. */
typedef struct columns_view {
    double *r;         /* [rows] -c f' */
    float *narrow;     /* [rows + 16] r / unit */
    double norm, unit; /* |r|, max |r_i| */
    double l1, l2;
    double *c; /* [rows] weights with their sum; NULL: those of the partition */
    double weight_sum;
    double *free; /* [n_free] coefficients of the free columns */
    double keep;  /* a scan keeps columns with |slope| from here on, times their
                   * own scale, */
    double look;  /* and may skip those that are surely below */
    columns_seen seen;
} columns_view;

/* Factors of l1 and l2 for one column; of a free one, the size that its
 * coefficient has if the column fits the labels alone. */
typedef struct columns_scale {
    double l1, l2, reach;
} columns_scale;

/* What the weights of rows are made of. */
typedef struct columns_weights {
    uint64_t rows;
    const double *weight;    /* [rows] of the data, times given class weights */
    const double *y;         /* [rows] targets */
    const uint32_t *fold_of; /* [rows] from 0; or NULL */
    bool balanced;           /* the classes of a fit have equal weights */
} columns_weights;

typedef struct columns_local {
    glm_problem problem;
    uint64_t rows, columns; /* of the data */
    double *y, *offset;     /* [rows] targets; offsets */
    double *weight;         /* [rows] of the data, */
    double *c;              /* and of the current fold, */
    double weight_sum;      /* and their sum */
    double unit;            /* of margins */
    columns_weights weigh;
    glm_folds fold_of; /* only n and of[] are used */
    uint32_t fold;     /* as COLUMNS_FOLD */
    double *margin;    /* [rows] X w, */
    double b;          /* and the intercept */
    bool fresh;        /* z, r and h are of now */
    double *z, *r, *h; /* [rows] margins with b; -c f'; curvature */
    double *left;      /* [rows] of a solution */
    double *none;      /* [rows] margins of w = 0 */
    columns_view view[COLUMNS_VIEWS_MAX];
    uint32_t views;
    uint64_t first; /* its first column */
    double *factor; /* [its columns] or NULL: 1 */
    float *floor;   /* [its columns] lower bounds of columns_scale.l1, 0 before
                      * the first pass; NULL: the factor, or unknown */
    uint32_t *free; /* [n_free] the free ones, ascending */
    uint32_t n_free;
    columns_kept kept;
    strads_pack_reader *reader; /* NULL: the columns are in memory */
    float *dot;                 /* [most columns of a chunk] */
    bool *mark;                 /* likewise: unpack it */
    uint32_t dots;
    columns_kept pending; /* the last column of a chunk, which may continue */
} columns_local;

strads_err columns_open(const columns_plan *plan, const strads_task *task,
                        void **local);
void columns_close(void *local);
strads_err columns_refresh(strads_task *task, const strads_change *change,
                           uint32_t n);
size_t columns_partial_scan(const strads_task *task);
strads_err columns_update_scan(strads_task *task);
size_t columns_partial_block(const strads_task *task);
strads_err columns_update_margins(strads_task *task);
strads_err columns_update_solve(strads_task *task);
size_t columns_partial_keep(const strads_task *task);
strads_err columns_update_keep(strads_task *task);

/* Fills in the targets of a share's rows, multiplies their weights by given
 * class weights, and fills in the classes as text, which the caller frees
 * (NULL: not wanted; unchanged if the loss has none). STRADS_EINVAL,
 * STRADS_EFORMAT, STRADS_ENOMEM. */
strads_err columns_targets(const glm_problem *problem,
                           const strads_share *share, double *y, double *weight,
                           char **text);

/* With an intercept and a squared loss r has the sum 0, by definition of b:
 * takes away what rounding leaves. Other losses bound r on one side, which
 * subtraction could leave. */
void columns_centre(const glm_problem *problem, const double *c, double weight,
                    uint64_t n, double *r);

/* Rows, and the margins X w of a solution. */
typedef struct columns_rows {
    uint64_t n;
    const double *y, *c, *offset, *margin; /* [n] */
} columns_rows;

/* Returns the b that minimises sum c f(y, z) for z = margin + offset + b, from
 * b on, or b without an intercept; and z, r, h and the loss there. */
double columns_intercept(const glm_problem *problem, const columns_rows *rows,
                         double b, double *z, double *r, double *h,
                         double *loss);

/* Compares two columns, at the start of the elements of qsort. */
static inline int columns_compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* |slope|, or below 0 where the bounds keep the coefficient at 0. */
static inline double columns_size(const glm_problem *problem, double slope)
{
    return problem->options.lower == 0   ? slope
           : problem->options.upper == 0 ? -slope
                                         : fabs(slope);
}

/* w = argmin a/2 (w - u/a)^2 + l1 |w| + l2/2 w^2 between the bounds, for u = a
 * w_0 + slope. */
static inline double columns_step(const glm_problem *problem, double u,
                                  double a, double l1, double l2)
{
    const double over = fabs(u) - l1;
    const double w = over > 0 && a + l2 > 0 ? copysign(over, u) / (a + l2) : 0;
    return fmin(fmax(w, problem->options.lower), problem->options.upper);
}

/* ---- weights of rows, terms of columns (columns_terms.c) ----------------- */

/* Whether classes have equal weights. */
bool columns_balances(const glm_problem *problem);
/* Sets c[rows] to the weights of a fit, 0 in a fold from 1 on; returns their
 * sum. */
double columns_weigh(const columns_weights *from, uint32_t fold, double *c);
/* The unit of margins: the largest label, or 1, with its offset. */
double columns_unit(const glm_problem *problem, uint64_t n, const double *y,
                    const double *offset);
/* Reads the penalty factors of a range of the columns, which the caller frees;
 * unchanged if all are 1. STRADS_EINVAL, STRADS_EIO, STRADS_EFORMAT,
 * STRADS_ENOMEM. */
strads_err columns_read_factors(const glm_problem *problem,
                                const strads_range *part, uint64_t columns,
                                double **out);
/* Whether partitions hold a lower bound of each column's scale. The folds of a
 * cross-validation have scales of their own: every pass computes these. */
static inline bool columns_keeps_floors(const columns_plan *plan)
{
    return plan->problem.options.standardize && !columns_validates(plan);
}
/* Bytes that a partition needs for each of its columns. */
size_t columns_scale_bytes(const columns_plan *plan);
/* The scales of a column, with c[rows] of this sum. */
columns_scale columns_scale_of(const columns_local *l, double factor,
                               const columns_entries *x, const double *c,
                               double weight);
/* A number just below own.l1. */
float columns_floor(columns_scale own);
/* The term of a column. A free one is in a box around 0, for which its
 * coefficient w is asked. */
glm_term columns_term(const glm_problem *problem, columns_scale own, double l1,
                      double l2, double w);
/* Adds a column to what a gap needs. */
void columns_see(const glm_problem *problem, const glm_term *t, double slope,
                 columns_seen *seen);
void columns_add_seen(columns_seen *to, const columns_seen *from);

/* ---- the coordinator (columns.c, columns_path.c) ------------------------- */

typedef enum columns_next {
    COLUMNS_TO_START,
    COLUMNS_TO_MARGINS,
    COLUMNS_TO_LARGEST,
    COLUMNS_TO_SCAN,
    COLUMNS_TO_SOLVE,
    COLUMNS_TO_KEEP,
    COLUMNS_TO_END,
    COLUMNS_TO_STOP
} columns_next;

/* The tasks are the lambdas of a path, or the only one, on all rows; then, for
 * each lambda, the folds. A solution that is none of them is on the way to a
 * smaller lambda. */
enum { COLUMNS_ON_THE_WAY = UINT32_MAX };

typedef enum columns_done {
    COLUMNS_OPEN,
    COLUMNS_PENDING, /* solved, not certified */
    COLUMNS_DONE
} columns_done;

/* A solution that waits for its scan. */
typedef struct columns_pending {
    uint32_t task, fold;
    double primal, b;
    double *r, *z;           /* [rows] */
    strads_path_point point; /* owns its arrays */
    double error, right;     /* on the rows of its fold */
} columns_pending;

typedef struct columns_state {
    columns_plan plan;
    uint64_t rows, columns;
    uint32_t partitions;
    const strads_shape *shape;
    double *y, *offset; /* [rows] targets, offsets */
    double *weight;     /* [rows] */
    double *c, *other;  /* [rows] weights of two folds, */
    double *count;      /* and without a fold */
    columns_weights weigh;
    double *margin, *z, *r, *h; /* [rows] */
    double *from, *trial;       /* [rows] */
    double weight_sum;          /* of c */
    uint32_t fold;              /* of c, as COLUMNS_FOLD */
    double b, unit;             /* the intercept; the unit of margins */
    double origins;      /* the part of b that makes up for columns' origins */
    uint64_t *bound;     /* [partitions + 1] columns of partitions */
    uint32_t *candidate; /* [n] ascending */
    uint32_t n, capacity;
    uint32_t *first; /* [partitions + 1] candidates of partitions */
    uint32_t *free;  /* [n_free] columns without a penalty, ascending */
    uint32_t n_free;
    uint32_t started;       /* candidates of a start */
    bool alone;             /* only free columns are solved, for lambda_max; */
    strads_path_point held; /* meanwhile a start's coefficients are here */
    uint64_t next_id;
    double lambda_max, lambda; /* as users see them; the current one */
    columns_next next;
    /* Of the margins now, times W; at a start the margins are those of 0 until
     * its own are known. */
    double loss, l1_norm, square, primal;
    /* Of the round in progress: */
    uint32_t blocks, blocks_left;
    bool stopped; /* the user has stopped a part of it */
    double from_loss, l1_before, square_before, l1_after, square_after;
    columns_seen seen;
    double before, narrowest_before; /* P and the least gap some rounds ago */
    double narrowest;                /* gap of the candidates */
    uint32_t rounds;                 /* at this lambda */
    /* Tasks (columns_path.c): */
    glm_path *path; /* the lambdas; NULL: one */
    glm_folds folds;
    uint32_t points, tasks;
    uint32_t *done;           /* [tasks] columns_done */
    double *tried;            /* [tasks] P at the last scan of it */
    strads_path_point *point; /* [points] */
    uint32_t task;            /* the present one */
    columns_pending *pending; /* [views] */
    uint32_t n_pending, views;
    double screened,
        screening; /* scans have kept the columns of lambdas down to
                                 * this one; the next one will */
    bool starts;   /* the coefficients come from a model or checkpoint */
    bool over;     /* all tasks are done */
    double gap;    /* the worst of all tasks; 1, as before any is certified, is
                  * always true, since no loss is below 0 */
    uint64_t nonzeros, scans, updates;
    uint32_t *param; /* [rows + 1] */
    double *change;  /* [rows + 1] */
    char *classes;   /* text of options.classes, or NULL */
} columns_state;

static inline double columns_l1(const columns_state *s)
{
    return s->weight_sum * s->lambda * s->plan.problem.options.l1_ratio;
}

static inline double columns_l2(const columns_state *s)
{
    return s->weight_sum * s->lambda * (1 - s->plan.problem.options.l1_ratio);
}

/* columns.c: P of the margins now. */
double columns_primal(const columns_state *s);
/* The relative gap of a solution; overwrites its r. */
double columns_gap(const columns_state *s, const columns_pending *at,
                   const double *c, columns_seen seen);
/* Sets a shared total of the next dispatch. */
void columns_set_total(strads_commit *commit, uint32_t k, double wanted);
/* Commits the margins' moves `step` times d, and b's new value. STRADS_ENOMEM.
 */
strads_err columns_move(columns_state *s, strads_commit *commit,
                        const double *d, double step);

/* columns_path.c. Sets up the tasks; frees them. */
strads_err columns_tasks_new(columns_state *s);
void columns_tasks_free(columns_state *s);
/* Deals the folds. STRADS_EINVAL: a fold leaves no rows, or one class. */
strads_err columns_deal(columns_state *s, uint64_t seed);
/* The lambda that a fit's options set, once lambda_max is known. */
double columns_wanted(const columns_state *s);
/* Begins, once lambda_max and, of a start, the margins are known.
 * STRADS_ENOMEM. */
strads_err columns_begin_tasks(columns_state *s, strads_commit *commit);
/* Goes to a lambda, and the weights of a fold; b follows. STRADS_ENOMEM. */
strads_err columns_set_lambda(columns_state *s, strads_commit *commit,
                              uint32_t fold, double lambda);
/* Copies the nonzero coefficients of the candidates to a point. STRADS_ENOMEM.
 */
strads_err columns_copy(const columns_state *s, const double *w,
                        strads_path_point *point);
/* Commits the change from the candidates' coefficients to a point's.
 * STRADS_ENOMEM. */
strads_err columns_return_to(const columns_state *s, strads_commit *commit,
                             const strads_path_point *to);
void columns_free_point(strads_path_point *point);
/* How exactly the candidates are solved. */
double columns_inner(const columns_state *s, double tolerance);
strads_err columns_keep(strads_commit *commit);
/* After a scan: certifies the pending solutions. `found` counts new candidates;
 * seen[] has a line for each solution. */
strads_err columns_certify(columns_state *s, strads_commit *commit,
                           const columns_seen *seen, uint64_t found);
/* Back to the coefficients of the last point. STRADS_ENOMEM. */
strads_err columns_end_path(strads_commit *commit);
strads_err columns_report(void *state, strads_report *report);
strads_err columns_pack(const void *state, strads_bytes *out);
strads_err columns_unpack(void *state, const void *bytes, size_t size);

#endif
