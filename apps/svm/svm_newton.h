/* Newton's steps in w, for problems of few columns: svm_curve.c has what
 * partitions give, svm_newton.c what the coordinator makes of it. */
#ifndef SVM_NEWTON_H
#define SVM_NEWTON_H

#include "apps/linear/linear_outer.h"
#include "svm_parts.h"

/* The square of more columns than this costs more than it brings. */
enum { SVM_NEWTON_COLUMNS = 1200 };

/* Lengths of a step that are looked at, the whole one first. They cost little
 * beside the matrix, and the slope between two of them is nearly straight. */
enum { SVM_STEPS = 64 };

static inline double svm_step(int t)
{
    return pow(.9, t);
}

#endif
