/* What a partition has: rows and their margins, and nothing by column but what
 * it has been told and has not added up yet. */
#ifndef LOGISTIC_LOCAL_H
#define LOGISTIC_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_pending.h"
#include "apps/kernels/column_kernels.h"
#include "apps/kernels/logistic_loops.h"

typedef struct logistic_local {
    uint64_t rows, columns;
    const column_kernels *kernels;
    const logistic_loops *loops;
    linear_classes classes;
    uint32_t target;       /* the problem that y and z belong to */
    double *y, *c, *z, *r; /* [rows] */
    double *all;    /* softmax: [rows x classes] margins; z is the target's
                              less */
    double *offset; /* [rows] what the others come to */
    double *curve;  /* [rows] of the loss at z, if `fresh` */
    bool fresh;
    linear_pending pending; /* not yet in z */
} logistic_local;

#endif
