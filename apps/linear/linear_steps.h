/* Two steps that solvers with working sets have in common: choosing the most
 * urgent columns, and going beyond the last sweeps. */
#ifndef LINEAR_STEPS_H
#define LINEAR_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Brings the `want` most urgent of n candidates to the front (Hoare's select).
 * `urgency` is by column, so that ties do not depend on the order that the
 * candidates come in more than they must. */
void linear_select(const double *urgency, uint32_t *candidate, uint32_t n,
                   uint32_t want);

enum { LINEAR_STEPS = 5 };

/* Anderson's combination of sweeps: c with sum c = 1 that makes
 * |sum c_i d_i| smallest, where a_ij = d_i'd_j for the last steps d:
 *
 *     (a + 1e-12 trace(a) I) z = 1,   c = z / sum z.
 *
 * False when there is none. Changes `a`. */
bool linear_extrapolate(double a[LINEAR_STEPS][LINEAR_STEPS],
                        double c[LINEAR_STEPS]);

#endif
