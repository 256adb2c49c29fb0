/* What commits have changed that a partition's rows have not been told of:
 * between two scans a working set's coefficients move many times. */
#ifndef LINEAR_PENDING_H
#define LINEAR_PENDING_H

#include <stdbool.h>

#include <strads/program.h>

#include "apps/kernels/column_kernels.h"

typedef struct linear_pending {
    double *change;  /* [columns + 1]: coefficients, and the intercept */
    uint32_t *param; /* the n of them that may not be 0 */
    uint64_t n, columns;
} linear_pending;

/* False when memory runs out. */
bool linear_pending_new(uint64_t columns, linear_pending *pending);
void linear_pending_free(linear_pending *pending);

/* Parameter j has moved; all of some changes, of problem `target` of `width`,
 * but those of parameters that are no coefficients. */
void linear_pending_move(linear_pending *pending, uint32_t j, double change);
void linear_pending_add(linear_pending *pending, const strads_change *changes,
                        uint32_t n, uint32_t width, uint32_t target);
/* v += sign (X change + the intercept's) on the view's rows; nothing pends. */
void linear_pending_apply(linear_pending *pending, const column_view *view,
                          const column_kernels *kernels, double sign,
                          double *v);
void linear_pending_forget(linear_pending *pending);

#endif
