/* Steps that solvers with working sets share: choosing the most urgent
 * columns, multiplying columns, extrapolating the last sweeps. */
#ifndef LINEAR_STEPS_H
#define LINEAR_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "column_kernels.h"

/* Moves the `want` most urgent of n candidates to the front (Hoare's
 * select). `urgency` is by column, so that ties depend little on the order of
 * the candidates. */
void linear_select(const double *urgency, uint32_t *candidate, uint32_t n,
                   uint32_t want);

/* X'r of the listed columns, and sum r for an intercept behind them. */
void linear_multiply(const column_kernels *kernels, const column_view *view,
                     const column_list *list, const double *r, double *product);

enum { LINEAR_STEPS = 5 };

/* Anderson's combination of the last points, n numbers each: c with sum c =
 * 1 that minimises |sum c_i d_i|, where a_ij = d_i'd_j for the last steps d:
 *
 *     (a + 1e-12 trace(a) I) z = 1,   c = z / sum z.
 *
 * False if there is none. */
bool linear_combine(const double *const past[LINEAR_STEPS + 1], uint64_t n,
                    double c[LINEAR_STEPS]);

/* Detects that a descent no longer progresses. Rounding ends every descent:
 * if neither bound improves on its best value, scan after scan, the remaining
 * gap is due to rounding. A comparison with the previous scan only would never
 * end if P oscillates. */
typedef struct linear_watch {
    double least;  /* the best P of all scans so far; initially INFINITY */
    uint32_t idle; /* consecutive scans without an improvement */
    bool stalled;  /* no further gain in this arithmetic */
} linear_watch;

/* Call after a scan: P, and the improvement of the best D. */
void linear_watch_scan(linear_watch *watch, double primal, double dual_gain);

#endif
