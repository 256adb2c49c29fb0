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

/* Member k of the set as the live part's last. */
static void append(const lasso_gram *gram, lasso_gram *live, uint32_t k)
{
    const double *row = gram->entry + (size_t)k * gram->capacity;
    const uint32_t last = live->n++;
    double *line = live->entry + (size_t)last * live->capacity;

    live->origin[last] = k;
    live->member[last] = gram->member[k];
    live->place[gram->member[k]] = live->n;
    for (uint32_t i = 0; i <= last; i++) {
        line[i] = row[live->origin[i]];
        live->entry[(size_t)i * live->capacity + last] = line[i];
    }
}

/* Lets those of n members join that have not been live the last time; false
 * where too many others have been. */
static bool extend(const lasso_gram *gram, lasso_gram *live, uint32_t n,
                   const uint32_t *place)
{
    uint32_t all = live->n;

    for (uint32_t i = 0; i < n; i++)
        all += live->place[gram->member[place[i]]] == 0;
    if (all > n + n / 2 || all > live->capacity)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (live->place[gram->member[place[i]]] == 0)
            append(gram, live, place[i]);
    return true;
}

/* Nobody is live, and there is room for n. */
static strads_err clear(lasso_gram *live, uint32_t n)
{
    for (uint32_t i = 0; i < live->n; i++)
        live->place[live->member[i]] = 0;
    live->n = 0;
    return lasso_gram_reserve(live, n);
}

bool lasso_live_enter(lasso_state *state)
{
    lasso_gram *gram = state->gram, *live = gram->live;
    const uint32_t n = find(state);

    if (n == 0 || FEWER * n > gram->n)
        return false;
    if (!extend(gram, live, n, state->support)) {
        if (clear(live, n))
            return false; /* no memory: it goes without */
        (void)extend(gram, live, n, state->support);
    }
    for (uint32_t i = 0; i < live->n; i++) {
        live->q[i] = gram->q[live->origin[i]];
        live->w[i] = gram->w[live->origin[i]];
    }
    live->squares = gram->squares;
    live->target = gram->target;
    live->blurred = gram->blurred;
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
                                  gram->entry + (size_t)k * gram->capacity,
                                  gram->q);
    }
    gram->squares = live->squares;
    state->spent += (double)live->n * gram->n;
    state->gram = gram;
}
