/* The state of a partition and of the coordinator, and functions that the files
 * of this folder share. */
#ifndef FM_PARTS_H
#define FM_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/kernels/column_kernels.h"
#include "apps/linear/linear_classes.h"
#include "strads/fm.h"

extern const strads_fm_options fm_defaults;
extern const strads_option fm_option_table[];

/* Fills in the defaults that do not depend on data. STRADS_EINVAL: an option is
 * out of range. */
strads_err fm_options_take(const strads_fm_options *given,
                           strads_fm_options *out);
bool fm_is_logistic(const strads_fm_options *options);
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
    double *q;       /* [n x rank] */
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

#endif
