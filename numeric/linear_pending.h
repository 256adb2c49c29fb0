/* Changes of coefficients that some rows do not include yet: between two scans
 * a working set's coefficients move many times. */
#ifndef LINEAR_PENDING_H
#define LINEAR_PENDING_H

#include <stdbool.h>

#include "column_kernels.h"

typedef struct linear_pending {
    double *change;  /* [columns + 1]: coefficients, and the intercept */
    uint32_t *param; /* the n of them that may be nonzero */
    uint64_t n, columns;
} linear_pending;

/* False if memory is exhausted. */
bool linear_pending_new(uint64_t columns, linear_pending *pending);
void linear_pending_free(linear_pending *pending);

/* Records a change of column j, or of the intercept, `columns`. */
void linear_pending_move(linear_pending *pending, uint32_t j, double change);
/* v += sign (X change + the intercept's change) on the view's rows;
 * afterwards no change is pending. */
void linear_pending_apply(linear_pending *pending, const column_view *view,
                          const column_kernels *kernels, double sign,
                          double *v);
void linear_pending_forget(linear_pending *pending);

#endif
