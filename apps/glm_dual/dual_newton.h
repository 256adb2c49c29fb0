/* Newton's steps in w, for problems of few columns: dual_curve.c has what
 * partitions give, dual_newton.c what the coordinator makes of it. */
#ifndef DUAL_NEWTON_H
#define DUAL_NEWTON_H

#include "apps/kernels/outer_kernels.h"
#include "dual.h"

/* The square of more columns than this costs more than it brings. */
enum { DUAL_NEWTON_COLUMNS = 1200 };

/* Lengths of a step that are looked at, the whole one first. They cost little
 * beside the matrix, and the slope between two of them is nearly straight. */
enum { DUAL_STEPS = 64 };

static inline double dual_step(int t)
{
    return pow(.9, t);
}

#endif
