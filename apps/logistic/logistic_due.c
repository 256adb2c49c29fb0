/* Which columns a scan has to look at. What was found of a column stays true
 * up to how far r has moved since,
 *
 *     |x_j'r - x_j'r0| <= sqrt(sum c x_j^2) sqrt(sum (r - r0)^2 / c),
 *
 * with an intercept of centred columns, too. So `steep` of a column that is
 * left out becomes a bound, and one that stays below L1 says all that the scan
 * would have said: the column neither violates nor moves the dual point. */
#include <math.h>

#include "logistic_parts.h"

/* A bound has to keep this share of L1 away from it: rows' margins are the
 * coordinator's, and the workers' differ from them by rounding. */
#define MARGIN 1e-6

/* How far r is from where the last scan met it, which becomes here; infinite
 * where that is not known. */
static double travel(logistic_state *state)
{
    const linear_set *set = &state->set;
    const bool known = state->met_known;
    double sum = 0;

    state->met_known = set->looked;
    if (!set->looked)
        return INFINITY;
    for (uint64_t i = 0; i < set->n_rows; i++) {
        const double r = set->root[i] * set->lasting[i];
        const double moved = r - state->met[i];
        state->met[i] = r;
        sum += set->c[i] > 0 ? moved * moved / set->c[i] : 0;
    }
    return known ? sqrt(sum) : INFINITY;
}

/* A path's next point and a softmax' turn begin with slopes of all columns. */
static bool looks_at_all(const logistic_state *state)
{
    return state->path || state->softmax || state->ridge.used;
}

/* Whether the bound of column j leaves anything open. A member that is told to
 * be at rest by its last slope has to be so by the bound. */
static bool is_due(const logistic_state *state, uint32_t j)
{
    const uint32_t place = state->set.place[j];
    const double l1 = state->l1 * (1 - MARGIN);

    if (place == 0)
        return state->steep[j] >= l1;
    return state->set.member[place - 1].w != 0 ||
           state->steep[j] >= LINEAR_AT_REST * l1;
}

strads_block logistic_due(logistic_state *state)
{
    const strads_block all = {.n = state->n_alive, .param = state->alive};
    uint32_t n = 0;

    if (looks_at_all(state))
        return all;
    const double moved = travel(state);
    if (!isfinite(moved))
        return all;
    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        state->steep[j] += logistic_reach(state, j, moved);
        state->due[n] = j;
        n += is_due(state, j);
    }
    /* A few columns more, and all bounds are tight again. */
    return n > state->n_alive / 2 ? all
                                  : (strads_block){.n = n, .param = state->due};
}
