/* The state of a partition and of the coordinator, and functions that the files
 * of this folder share. */
#ifndef FM_PARTS_H
#define FM_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "numeric/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "strads/fm.h"

extern const strads_fm_options fm_defaults;
extern const strads_option fm_option_table[];

/* Fills in the defaults that do not depend on data. STRADS_EINVAL: an option is
 * out of range. */
strads_err fm_options_take(const strads_fm_options *given,
                           strads_fm_options *out);
bool fm_is_logistic(const strads_fm_options *options);
bool fm_is_bpr(const strads_fm_options *options);
bool fm_is_sgd(const strads_fm_options *options);
/* The rank as a number: 0 for STRADS_FM_LINEAR. */
uint32_t fm_rank(const strads_fm_options *options);

/* The normal equations of one column's step d = (dw_j, dv_j): the lower half of
 * A, row by row, then b, of which the step is the minimum of
 * d'A d / 2 + b'd. */
static inline uint32_t fm_equations_size(uint32_t width)
{
    return width * (width + 1) / 2 + width;
}

/* ---- a partition --------------------------------------------------------- */

/* For each row i of the partition: the margin y(x_i), and q_i = V'x_i. */
typedef struct fm_rows {
    const strads_sparse *columns; /* compressed columns of the share */
    uint64_t n;
    uint32_t rank;
    const double *y; /* [n] label; logistic: 1 or -1 */
    double *margin;  /* [n] */
    double *q;       /* [n x rank]; NULL: by stochastic gradients */
    double *value;   /* [(columns + 1) x (1 + rank)] this partition's copy of
                        the parameters */
    double *z;       /* [1 + rank] workspace */
} fm_rows;

/* Computes margins and q from the parameters. */
void fm_rows_begin(fm_rows *rows);
/* Moves (w_j, v_j), or w_0 if j is behind the last column, by change[1 + rank];
 * updates the rows. */
void fm_rows_move(fm_rows *rows, uint64_t j, const double *change);
/* Adds the rows' part of column j's equations to out[fm_equations_size]. */
void fm_rows_equations(const fm_rows *rows, bool logistic, uint64_t j,
                       double *out);
/* The same for w_0: its curvature and slope. */
void fm_rows_intercept(const fm_rows *rows, bool logistic, double out[2]);
/* The sum of the rows' losses. */
double fm_rows_loss(const fm_rows *rows, bool logistic);
/* ln(1 + exp(-x)) without overflow. */
double fm_log_loss(double x);

/* ---- a partition, by stochastic gradients -------------------------------- */

/* Sums over some columns of a row: linear = sum w_j x_j, q = sum v_j x_j,
 * square = sum over f of q_f^2 - sum of (v_jf x_j)^2, scale = sum of rate_j
 * x_j^2. */
typedef struct fm_sum {
    uint64_t first, end; /* entries */
    double linear, square, scale;
    double *q; /* [rank] */
} fm_sum;

typedef struct fm_sgd {
    strads_sparse rows; /* the share by rows, in f64; owned */
    uint64_t columns;
    uint32_t rank;
    bool logistic;
    double *base;       /* [(columns + 1) x (1 + rank)] committed parameters */
    double *value;      /* the same, with this partition's steps since */
    double *count[2];   /* [columns] entries of a column, here and in all */
    double contraction; /* see fm_sgd_moved */
    double per_entry;   /* rows / entries, of all partitions */
    double *rate;       /* [columns] of a step, by the column's scale */
    double *decay[2];   /* [columns] lambda n / n_j, of weights and factors */
    uint32_t *order;    /* [rows] in a sweep */
    fm_sum sum[3];      /* of a row; bpr: context, its item, the drawn item */
    double *pull[3];    /* [rank] */
    /* bpr */
    uint32_t context; /* the first column of an item */
    uint32_t *user;   /* [rows] equal contexts have equal numbers */
    uint32_t *item;   /* [rows] the same of items */
    uint32_t *row_of; /* [items] the first row of each */
    uint32_t items;
    uint64_t *start; /* [users + 1] items of a user's rows above 0, ... */
    uint32_t *had;   /* ... ascending */
} fm_sgd;

/* Copies the share by rows. STRADS_ENOMEM. */
strads_err fm_sgd_open(fm_sgd *s, const strads_share *share, uint32_t rank,
                       const strads_fm_options *options);
void fm_sgd_free(fm_sgd *s);
/* Adds, for each column, the number of entries and the sum of their squares, to
 * out[2 x columns]. */
void fm_sgd_count(fm_sgd *s, double *out);
/* Sets rates and decays from the merged counts of all n rows. */
void fm_sgd_scale(fm_sgd *s, const double *merged, double n,
                  const double lambda[2]);
/* Draws the order of a sweep. */
void fm_sgd_shuffle(fm_sgd *s, uint64_t seed, uint64_t sweep,
                    uint32_t partition);
/* Moves the committed values of column j, or w_0, and drops this partition's
 * steps. */
void fm_sgd_commit(fm_sgd *s, uint64_t j, const double *change);
/* This partition's part in the common move of column j, into out[1 + rank]: its
 * steps times a weight. If each entry takes a column nearer to its aim by the
 * share c, n_p entries here have gone 1 - exp(-c n_p) of the way, and all n
 * entries one after the other would go 1 - exp(-c n) towards the mean of the
 * aims, by their entries. So for few entries moves are added, for many they are
 * averaged. c is `contraction`, for the entries of a merge. */
void fm_sgd_moved(const fm_sgd *s, uint64_t j, double *out);
/* Sums entries sum->first .. sum->end - 1. */
void fm_sgd_add_up(const fm_sgd *s, fm_sum *sum);
/* Moves the columns of `sum` by -by x rate x (slope z + decay theta), with the
 * gradient z = x_j (pull - v_j x_j) of factors and x_j of weights, or of a
 * context x_j pull and 0. */
void fm_sgd_move(fm_sgd *s, const fm_sum *sum, const double *pull, bool context,
                 double by, double slope);
/* y(x_i). */
double fm_sgd_margin(fm_sgd *s, uint64_t i);
/* A step of size `step` down the loss of row i with label y and the penalty. */
void fm_sgd_step(fm_sgd *s, uint64_t i, double y, double step);

/* ---- pairs of items, bpr ------------------------------------------------- */

/* Numbers the contexts and items of rows, and what each context had: the rows
 * with y above 0. STRADS_ENOMEM. */
strads_err fm_pairs_open(fm_sgd *s, const double *y);
/* Draws a row whose item row i's context did not have: a function of seed, row
 * and draw. False: it had all that were drawn. */
bool fm_pairs_draw(const fm_sgd *s, uint64_t i, uint64_t seed, uint64_t row,
                   uint64_t draw, uint64_t *other);
/* y of row i, less y of its context with the item of row `other`. */
double fm_pairs_margin(fm_sgd *s, uint64_t i, uint64_t other);
void fm_pairs_step(fm_sgd *s, uint64_t i, uint64_t other, double step);

#endif
