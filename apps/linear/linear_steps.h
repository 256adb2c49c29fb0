/* Steps that solvers with working sets have in common: choosing the most urgent
 * columns, multiplying some, going beyond the last sweeps. */
#ifndef LINEAR_STEPS_H
#define LINEAR_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/program.h>

#include "apps/kernels/column_kernels.h"

/* Brings the `want` most urgent of n candidates to the front (Hoare's select).
 * `urgency` is by column, so that ties do not depend on the order that the
 * candidates come in more than they must. */
void linear_select(const double *urgency, uint32_t *candidate, uint32_t n,
                   uint32_t want);

/* X'r of a block's columns, and sum r of an intercept behind them. */
void linear_multiply(const column_kernels *kernels, const column_view *view,
                     const strads_block *block, const double *r,
                     double *product);

/* strads_commit_also of problem `target` of `width`; wide [n x width] is
 * workspace. */
strads_err linear_also(strads_commit *commit, uint32_t width, uint32_t target,
                       uint32_t n, const uint32_t *param, const double *change,
                       double *wide);

enum { LINEAR_STEPS = 5 };

/* Anderson's combination of sweeps, of the last points, n numbers each: c with
 * sum c = 1 that makes |sum c_i d_i| smallest, where a_ij = d_i'd_j for the last
 * steps d:
 *
 *     (a + 1e-12 trace(a) I) z = 1,   c = z / sum z.
 *
 * False when there is none. */
bool linear_combine(const double *const past[LINEAR_STEPS + 1], uint64_t n,
                    double c[LINEAR_STEPS]);

/* Whether a descent is still getting anywhere. Rounding ends every one: when
 * neither bound is better than it ever was, scan after scan, the gap that is
 * left is the arithmetic's. Against the scan before alone, a P that goes up
 * and down would seem to fall for ever. */
typedef struct linear_watch {
    double least;  /* the best P of a scan so far; INFINITY at first */
    uint32_t idle; /* scans in a row that improved nothing */
    bool stalled;  /* nothing more to gain in this arithmetic */
} linear_watch;

/* After a scan: P, and by how much the best D has become better. */
void linear_watch_scan(linear_watch *watch, double primal, double dual_gain);

#endif
