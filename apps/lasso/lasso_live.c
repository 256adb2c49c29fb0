/* The members that are not 0, or near the edge of it, as a set of their own:
 * their pairs alone are small enough for a cache, and descent on them costs a
 * fraction of what it does on all. The others hear of it when it is over. */
#include <math.h>
#include <string.h>

#include "lasso_gram.h"

/* Worth it where the set has so many times as many. */
enum { FEWER = 2 };
/* A member at 0 is left out while its slope is below this share of L1. */
#define LIVELY 0.9

/* Who is live goes to the state's room for a support. */
static uint32_t find(const lasso_state *state)
{
    const lasso_gram *gram = state->gram;
    uint32_t n = 0;

    for (uint32_t k = 0; k < gram->n; k++) {
        const double edge =
            state->l1 * lasso_scale(state, gram->member[k]) * LIVELY;
        if (gram->w[k] != 0 || fabs(gram->q[k]) > edge)
            state->support[n++] = k;
    }
    return n;
}

/* Whether those n are among who was live the last time, and few others. */
static bool are_known(const lasso_gram *live, uint32_t n, const uint32_t *place)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < live->n && found < n; i++)
        found += live->origin[i] == place[found];
    return found == n && live->n <= n + n / 2;
}

static strads_err copy(const lasso_gram *gram, lasso_gram *live, uint32_t n,
                       const uint32_t *place)
{
    const strads_err err = lasso_gram_reserve(live, n);

    if (err)
        return err;
    live->n = n;
    memcpy(live->origin, place, n * sizeof(*place));
    for (uint32_t i = 0; i < n; i++) {
        const double *row = gram->entry + (size_t)place[i] * gram->room;
        double *line = live->entry + (size_t)i * live->room;
        live->member[i] = gram->member[place[i]];
        for (uint32_t k = 0; k < n; k++)
            line[k] = row[place[k]];
    }
    return STRADS_OK;
}

bool lasso_live_enter(lasso_state *state)
{
    lasso_gram *gram = state->gram, *live = gram->live;
    const uint32_t n = find(state);

    if (n == 0 || FEWER * n > gram->n)
        return false;
    if (!are_known(live, n, state->support) &&
        copy(gram, live, n, state->support))
        return false; /* no memory: it goes without */
    for (uint32_t i = 0; i < live->n; i++) {
        live->q[i] = gram->q[live->origin[i]];
        live->w[i] = gram->w[live->origin[i]];
    }
    live->squares = gram->squares;
    live->target = gram->target;
    state->gram = live;
    return true;
}

void lasso_live_leave(lasso_state *state, lasso_gram *gram)
{
    const lasso_gram *live = gram->live;

    for (uint32_t i = 0; i < live->n; i++) {
        const uint32_t k = live->origin[i];
        const double d = live->w[i] - gram->w[k];
        if (d == 0)
            continue;
        gram->w[k] = live->w[i];
        state->kernels->add_dense(gram->n, -d,
                                  gram->entry + (size_t)k * gram->room,
                                  gram->q);
    }
    gram->squares = live->squares;
    state->spent += (double)live->n * gram->n;
    state->gram = gram;
}
