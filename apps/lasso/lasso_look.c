/* A scan that leaves out the columns it need not look at. Between two residuals
 *
 *     |x_c'r_c - x_c'r0_c| <= |x_c| |r - r0|,
 *
 * so a column whose slope at r0, the last scan of all columns, was well below
 * L1 still is, until r has gone far (Gap-safe rules look at it from the dual;
 * Johnson and Guestrin, ICML 2015, keep the same kind of bound). Workers keep
 * r0 and tell how far r has gone; the coordinator, which has the slopes there,
 * lists the columns that are not safe. The certificate takes the steepest of
 * the bounds for those that are: it holds as it would after a scan of all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lasso_parts.h"
#include "lasso_path.h"

/* Columns of fewer entries are looked at sooner than thought about. */
#define ENTRIES 32
/* So many of all columns are looked at alone; more are all of them. */
#define SHARE .5
/* Rounding of a slope, as a share of |x_c| |r|. */
#define ROUNDING 1e-13

/* ---- workers ----------------------------------------------------------- */

void lasso_keep_reference(lasso_local *local, const double *r)
{
    memcpy(local->reference, r, local->rows * sizeof(*r));
    local->refers = true;
}

/* A partition that has moved has lost its r0. */
strads_err lasso_update_drift(strads_task *task)
{
    lasso_local *local = task->local;
    double sum = 0;

    lasso_catch_up(local, lasso_share(task));
    for (uint64_t i = 0; i < local->rows; i++) {
        const double d = local->residual[i] - local->reference[i];
        sum += d * d;
    }
    task->partial[0] = local->refers ? sum : INFINITY;
    return STRADS_OK;
}

strads_err lasso_update_look(strads_task *task)
{
    const lasso_local *local = task->local;
    const uint32_t n = task->block.n;

    for (uint32_t k = 0; k < n; k++) {
        const linear_column x =
            lasso_column(task, strads_block_param(&task->block, k));
        if (x.n > 0)
            task->partial[k] = local->kernels->dot(&x, local->residual);
    }
    lasso_end_scan(local, local->residual, task->partial + n);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

strads_err lasso_look_begin(lasso_state *state)
{
    const uint64_t p = state->columns;

    if (state->entries < ENTRIES * (double)p)
        return STRADS_OK;
    state->base = calloc(p + 1, sizeof(*state->base));
    state->root = calloc(p + 1, sizeof(*state->root));
    state->w = calloc(p + 1, sizeof(*state->w));
    state->look = calloc(p + 1, sizeof(*state->look));
    return state->base && state->root && state->w && state->look
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the slopes of %llu columns",
                             (unsigned long long)p);
}

void lasso_look_end(lasso_state *state)
{
    free(state->base);
    free(state->root);
    free(state->w);
    free(state->look);
}

void lasso_note_scan(const strads_commit *commit)
{
    lasso_state *state = commit->state;
    const uint64_t p = state->columns;

    state->looked = commit->phase == LASSO_LOOK;
    if (!state->base)
        return;
    if (state->looked) {
        for (uint32_t k = 0; k < commit->block.n; k++)
            state->w[commit->block.param[k]] = commit->value[k];
        return;
    }
    memcpy(state->w, commit->value, p * sizeof(*state->w));
    const double sum = commit->partial[p + 2];
    for (uint64_t j = 0; j < p; j++) {
        const bool counts = state->norm[j] > 0;
        state->root[j] = sqrt(state->norm[j]);
        state->base[j] = counts ? commit->partial[j] - state->mean[j] * sum : 0;
    }
    state->has_base = true;
}

const double *lasso_w(const strads_commit *commit)
{
    const lasso_state *state = commit->state;

    return commit->phase == LASSO_LOOK ? state->w : commit->value;
}

strads_err lasso_aggregate_drift(strads_commit *commit)
{
    lasso_state *state = commit->state;

    state->drift = sqrt(commit->partial[0]) + ROUNDING * sqrt(state->squares);
    return STRADS_OK;
}

bool lasso_may_look(const lasso_state *state)
{
    return state->has_base;
}

bool lasso_choose_look(lasso_state *state)
{
    const double level = state->path ? lasso_path_level(state) : state->l1;
    const bool positive = state->options.positive;
    double unseen = 0;
    uint32_t n = 0;

    for (uint32_t j = 0; j < state->columns; j++) {
        const double base = positive ? state->base[j] : fabs(state->base[j]);
        const double bound = base + state->root[j] * state->drift;
        const double steep = state->scale ? bound / state->scale[j] : bound;
        const bool safe = !state->in_set[j] && steep <= level;
        state->look[n] = j;
        n += !safe;
        unseen = safe && steep > unseen ? steep : unseen;
    }
    state->unseen = unseen;
    state->n_look = n;
    return n <= SHARE * (double)state->columns;
}
