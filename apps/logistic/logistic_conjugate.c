/* Newton's step on a support that is too large for its matrix: conjugate
 * gradients (Hestenes and Stiefel, 1952), scaled by the diagonal, on
 *
 *     (V_S'V_S - l l'/mass + L2 s^2) d = g
 *
 * where a product costs two passes over the support's columns. The solution
 * need not be exact: any of its steps goes downhill. */
#include <math.h>
#include <string.h>

#include "logistic_parts.h"

enum { STEPS_MAX = 40 };
/* The residual, relative to the right side, at which it is solved. */
#define ENOUGH 1e-2

static double shrink_of(const logistic_state *state, const logistic_member *m)
{
    const double s = state->scale[m->column];

    return state->l2 * s * s;
}

/* out = A v; `rows` is workspace. */
static void multiply(const logistic_state *state, uint32_t n,
                     const uint32_t *place, const double *v, double *rows,
                     double *out)
{
    const logistic_set *set = &state->set;
    double level = 0;

    memset(rows, 0, set->n_rows * sizeof(*rows));
    for (uint32_t i = 0; i < n; i++) {
        const logistic_member *m = &set->member[place[i]];
        const linear_column x = logistic_column_of(set, m, set->scaled);
        state->kernels->add(&x, v[i], rows);
        level += m->level * v[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        const logistic_member *m = &set->member[place[i]];
        const linear_column x = logistic_column_of(set, m, set->scaled);
        out[i] = state->kernels->dot(&x, rows) + shrink_of(state, m) * v[i] -
                 m->level * (level / set->mass);
    }
}

static double diagonal(const logistic_state *state, const logistic_member *m)
{
    const double own = m->curvature - m->level * m->level / state->set.mass;

    return fmax(own, 1e-12 * m->curvature) + shrink_of(state, m);
}

size_t logistic_conjugate_room(uint32_t n)
{
    return 4 * (size_t)n;
}

void logistic_conjugate(const logistic_state *state, uint32_t n,
                        const uint32_t *place, double *step, double *work,
                        double *rows)
{
    const logistic_set *set = &state->set;
    double *rest = work, *along = work + n, *product = along + n,
           *scaled = product + n;
    double slope = 0, first = 0;

    for (uint32_t i = 0; i < n; i++) {
        rest[i] = step[i];
        step[i] = 0;
        along[i] = scaled[i] =
            rest[i] / diagonal(state, &set->member[place[i]]);
        slope += rest[i] * scaled[i];
    }
    first = slope;
    for (int k = 0; k < STEPS_MAX && slope > ENOUGH * ENOUGH * first; k++) {
        multiply(state, n, place, along, rows, product);
        const double bend = state->kernels->dot_dense(n, along, product);
        if (!(bend > 0))
            break;
        const double length = slope / bend, before = slope;
        slope = 0;
        for (uint32_t i = 0; i < n; i++) {
            step[i] += length * along[i];
            rest[i] -= length * product[i];
            scaled[i] = rest[i] / diagonal(state, &set->member[place[i]]);
            slope += rest[i] * scaled[i];
        }
        for (uint32_t i = 0; i < n; i++)
            along[i] = scaled[i] + slope / before * along[i];
    }
}
