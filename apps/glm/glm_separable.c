/* Existence of a minimum. Without a penalty, a loss that decreases forever
 * in some rows' margins has no minimum if a direction d separates the rows:
 *
 *     s_i x_i'd >= 0 for all rows, and > 0 for some,
 *
 * with s_i the sign of z in which the row's loss decreases forever; x_i'd = 0
 * if it has no such sign (a count above 0). P then decreases along d from any
 * point. (Albert and Anderson, Biometrika 71, 1984, for logistic regression.)
 *
 * Two directions are tried after each scan. w itself is one as soon as it
 * predicts every row: complete separation. When the gap is closed or the
 * descent ends, the last step, or all steps since half of the scans, are one if
 * margins still move by about 1 and none moves back: quasi-complete separation,
 * in which P has a limit above 0.
 *
 * If counts of 0 are separated and the others are fitted exactly, P tends to 0
 * and neither direction shows: it does not predict the other counts, and rows
 * far out move back for a while. There P itself shows it, if it falls below
 * what the Newton steps resolve while its gap stays open. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* Moves against a row's sign by less than this share of the largest move are
 * rounding; and a last step that moves no margin by more than this ends at a
 * minimum. */
#define SEPARABLE_ROUNDING 1e-3
#define SEPARABLE_STEP .05
/* And the share of P at w = 0 below which curvatures are not resolved
 * (LINEAR_LEAST_CURVATURE). */
#define SEPARABLE_LEAST 1e-11

static bool is_flat(const glm_state *state)
{
    const strads_glm_options *o = &state->problem.options;
    const bool free_columns = state->alone || state->problem.penalty->off ||
                              (state->lambda == 0 && state->goal == 0);

    return free_columns && o->lower <= -DBL_MAX && o->upper >= DBL_MAX;
}

bool glm_has_infimum(const glm_state *state)
{
    const glm_loss *loss = state->problem.loss;
    const linear_set *set = &state->set;

    if (!loss->toward || state->joint.used || !is_flat(state))
        return false;
    for (uint64_t i = 0; i < set->n_rows; i++)
        if (set->c[i] > 0 && loss->toward(set->y[i]) != 0)
            return true;
    return false;
}

/* True if margins move along such a direction from `from` to z, except for a
 * share `rounding` of the largest move. */
static bool separates_rows(const glm_state *state, const double *from,
                           double rounding, double least)
{
    const linear_set *set = &state->set;
    double most = 0, against = 0;

    for (uint64_t i = 0; i < set->n_rows; i++) {
        const double sign = state->problem.loss->toward(set->y[i]);
        const double moved = set->z[i] - from[i];
        if (!(set->c[i] > 0))
            continue;
        most = fmax(most, sign * moved);
        against = fmax(against, sign == 0 ? fabs(moved) : -sign * moved);
    }
    return most > least && against <= rounding * most;
}

/* Keeps the margins of each scan, and behind them those of scan 1, 2, 4, ... */
static bool keep_scan_margins(glm_state *state)
{
    const linear_set *set = &state->set;
    const size_t size = set->n_rows * sizeof(double);

    if (!state->margins)
        state->margins = malloc(2 * (set->rows + 1) * sizeof(double));
    if (!state->margins)
        return false;
    memcpy(state->margins, set->z, size);
    if ((state->scans & (state->scans - 1)) == 0)
        memcpy(state->margins + set->rows, set->z, size);
    return true;
}

/* True if margins move along such a direction since one of those scans. */
static bool still_moves(const glm_state *state)
{
    const double *before = state->margins;

    return before && state->scans > 0 &&
           (separates_rows(state, before, SEPARABLE_ROUNDING, SEPARABLE_STEP) ||
            separates_rows(state, before + state->set.rows, SEPARABLE_ROUNDING,
                           SEPARABLE_STEP));
}

strads_err glm_find_separation(glm_state *state, double tolerance)
{
    if (!glm_has_infimum(state))
        return STRADS_OK;
    const linear_ridge *ridge = &state->ridge;
    const bool idles = ridge->share > 0 &&
                       ridge->before - state->primal <= 1e-15 * state->primal;
    const bool ends = idles || state->gap <= tolerance || state->watch.stalled;
    const bool vanishes = state->primal <= SEPARABLE_LEAST * state->null &&
                          !(state->gap <= tolerance);
    if (vanishes || separates_rows(state, state->offset, 0, 0) ||
        (ends && still_moves(state)))
        state->separable = state->watch.stalled = true;
    return keep_scan_margins(state)
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for margins of rows");
}

bool glm_is_separable_softmax(const glm_state *state, double wrong)
{
    return is_flat(state) && wrong == 0;
}
