/* Newton's step on the support by conjugate gradients (Hestenes and Stiefel,
 * 1952), scaled by the diagonal D, on
 *
 *     (V_S'V_S - l l'/mass + l2 + damping D) d = g
 *
 * where a product costs two passes over the support's columns. The solution
 * need not be exact: each of its steps goes downhill, and the weights are
 * frozen again afterwards (Dembo, Eisenstat, Steihaug, 1982). If columns are
 * linearly dependent, g may have a component without any d. Damping then keeps
 * the step finite, and hardly changes directions with curvature. */
#include <string.h>

#include "linear_set.h"

enum { STEPS_MAX = 40 };
/* If weights are constant, steps end when one gains less than this share of
 * their mean. */
#define SLOW .1
/* ... or if more than this share of the members would change their signs, so
 * that another support is needed. */
#define CROSSING .01
/* The relative residual at which it is solved: smaller if weights are
 * constant. */
static double enough_of(const linear_set *set)
{
    return set->is.constant ? 1e-3 : .3;
}
static double damping_of(const linear_set *set)
{
    return set->is.constant ? 1e-9 : .01;
}

/* A member's part of the system. */
typedef struct term {
    data_column v;
    double level, shrink, inverse; /* l, additional diagonal terms, 1/D */
} term;

static term term_of(const linear_set *set, const linear_member *m)
{
    term t = {.v = linear_set_scaled(set, m),
              .level = m->level,
              .shrink = m->term.l2 + damping_of(set) * m->curvature};

    t.inverse = 1 / (m->bend + t.shrink);
    return t;
}

/* out = A v; `rows` is workspace. */
static void multiply_support(const linear_set *set, uint32_t n, const term *t,
                             const double *v, double *rows, double *out)
{
    double level = 0;

    memset(rows, 0, set->n_rows * sizeof(*rows));
    for (uint32_t i = 0; i < n; i++) {
        set->is.kernels->add(&t[i].v, v[i], rows);
        level += t[i].level * v[i];
    }
    level /= set->mass;
    for (uint32_t i = 0; i < n; i++)
        out[i] = set->is.kernels->dot(&t[i].v, rows) + t[i].shrink * v[i] -
                 t[i].level * level;
}

/* The number of members that a step takes out of the range in which their
 * penalties are linear or quadratic. */
static uint32_t count_crossings(const linear_set *set, uint32_t n,
                                const uint32_t *place, const double *step)
{
    uint32_t crossed = 0;

    for (uint32_t i = 0; i < n; i++) {
        const linear_member *m = &set->member[place[i]];
        const double to = m->w + step[i];
        crossed += (m->term.l1 > 0 && !(m->w * to > 0)) || to < m->term.low ||
                   to > m->term.high;
    }
    return crossed;
}

size_t linear_conjugate_room(uint32_t n)
{
    return (4 + sizeof(term) / sizeof(double)) * (size_t)n;
}

/* scaled = rest / D; returns rest'scaled. */
static double precondition_residual(uint32_t n, const term *t,
                                    const double *rest, double *scaled)
{
    double slope = 0;

    for (uint32_t i = 0; i < n; i++) {
        scaled[i] = rest[i] * t[i].inverse;
        slope += rest[i] * scaled[i];
    }
    return slope;
}

void linear_conjugate(const linear_set *set, uint32_t n, const uint32_t *place,
                      double *step, double *work, double *rows)
{
    const column_kernels *kernels = set->is.kernels;
    double *rest = work, *along = work + n, *product = along + n,
           *scaled = product + n;
    term *t = (term *)(void *)(scaled + n);

    for (uint32_t i = 0; i < n; i++)
        t[i] = term_of(set, &set->member[place[i]]);
    memcpy(rest, step, n * sizeof(*rest));
    memset(step, 0, n * sizeof(*step));
    double slope = precondition_residual(n, t, rest, scaled);
    const double first = slope, enough = enough_of(set);
    double gained = 0;
    memcpy(along, scaled, n * sizeof(*along));
    for (int k = 0; k < STEPS_MAX && slope > enough * enough * first; k++) {
        multiply_support(set, n, t, along, rows, product);
        const double bend = kernels->dot_dense(n, along, product);
        if (!(bend > 0))
            break;
        const double gain = slope * slope / bend / 2;
        gained += gain;
        kernels->add_dense(n, slope / bend, along, step);
        kernels->add_dense(n, -slope / bend, product, rest);
        const double before = slope;
        slope = precondition_residual(n, t, rest, scaled);
        for (uint32_t i = 0; i < n; i++)
            along[i] = scaled[i] + slope / before * along[i];
        if (set->is.constant &&
            (gain <= .01 * set->worth || gain < SLOW * gained / (k + 1) ||
             count_crossings(set, n, place, step) > CROSSING * n))
            break;
    }
}
