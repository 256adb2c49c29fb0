/* Where the next point of a path may be. While the support keeps its signs, w
 * is linear in lambda (Osborne, Presnell, Turlach, IMA J. Numer. Anal. 20,
 * 2000): so the first block of a point begins beyond the point before, in the
 * direction that w has come from, if that lowers P. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lasso_parts.h"
#include "lasso_path.h"

/* A little short of it: supports change. */
#define CAUTION 0.95

static strads_err reserve(lasso_ahead *ahead, uint32_t n)
{
    const uint32_t capacity = n + n / 2 + 64;

    if (n <= ahead->capacity)
        return STRADS_OK;
    double *last = realloc(ahead->last, capacity * sizeof(*last));
    if (last)
        ahead->last = last;
    double *moved = realloc(ahead->moved, capacity * sizeof(*moved));
    if (moved)
        ahead->moved = moved;
    if (!last || !moved)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a path's way of %u columns",
                           capacity);
    for (uint32_t k = ahead->capacity; k < capacity; k++)
        last[k] = moved[k] = 0;
    ahead->capacity = capacity;
    return STRADS_OK;
}

strads_err lasso_note_point(lasso_state *state, const double *w)
{
    lasso_ahead *ahead = &state->ahead;
    const strads_err err = reserve(ahead, state->n_set);
    const double step = ahead->before - ahead->solving;

    if (err)
        return err;
    for (uint32_t k = 0; k < state->n_set; k++) {
        const double now = w[state->set[k]];
        ahead->moved[k] = ahead->last[k] != 0 ? now - ahead->last[k] : 0;
        ahead->last[k] = now;
    }
    ahead->stretch = CAUTION * (ahead->solving - state->l1) / step;
    ahead->due = step > 0 && ahead->solving > state->l1;
    ahead->before = ahead->solving;
    return STRADS_OK;
}

double lasso_way_ahead(const lasso_state *state, uint32_t k, double w)
{
    const lasso_ahead *ahead = &state->ahead;

    if (!ahead->due || k >= ahead->capacity)
        return 0;
    const double way = ahead->stretch * ahead->moved[k];
    return w * (w + way) > 0 ? way : 0;
}
