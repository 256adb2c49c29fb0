/* A scan that leaves out the columns it need not look at. Between two residuals
 *
 *     |x_c'r_c - x_c'r0_c| <= |x_c| |r - r0|,
 *
 * so a column whose slope was well below L1 when it was looked at last still
 * is, until r has gone far (Gap-safe rules look at it from the dual; Johnson
 * and Guestrin, ICML 2015, keep the same kind of bound). Workers keep the r0 of
 * the last scan or look and tell how far r has gone from there; the
 * coordinator adds these ways up since the last scan of all, knows each
 * column's slope and the way at its own last look, and lists the columns that
 * are not safe. The certificate takes the steepest of the bounds for those that
 * are: it holds as it would after a scan of all. */
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
    lasso_local *local = task->local;
    const uint32_t n = task->block.n;

    for (uint32_t k = 0; k < n; k++) {
        const data_column x =
            lasso_column(task, strads_block_param(&task->block, k));
        if (x.n > 0)
            task->partial[k] = local->kernels->dot(&x, local->residual);
    }
    lasso_end_scan(local, local->residual, task->partial + n);
    lasso_keep_reference(local, local->residual);
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

/* Column j was looked at when r had gone state->way: `product` is X'r there.
 * Members are looked at always. */
static void note_column(lasso_state *state, uint32_t j, double product,
                        double sum)
{
    const double slope = product - state->mean[j] * sum;
    const double steep = state->options.positive ? slope : fabs(slope);

    state->base[j] = state->norm[j] > 0 ? steep / lasso_scale(state, j) -
                                              state->root[j] * state->way
                                        : 0;
    if (state->in_set[j])
        state->base[j] = INFINITY;
}

static void note_look(const strads_commit *commit)
{
    lasso_state *state = commit->state;
    const double sum = commit->partial[commit->block.n + 2];

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = commit->block.param[k];
        state->w[j] = commit->value[k];
        note_column(state, j, commit->partial[k], sum);
    }
}

static void note_roots(lasso_state *state)
{
    for (uint64_t j = 0; j < state->columns; j++)
        state->root[j] = sqrt(state->norm[j]) / lasso_scale(state, j);
    state->has_base = true;
}

void lasso_note_scan(const strads_commit *commit)
{
    lasso_state *state = commit->state;
    const uint32_t p = (uint32_t)state->columns;

    state->looked = commit->phase == LASSO_LOOK;
    if (!state->base)
        return;
    if (state->looked) {
        note_look(commit);
        return;
    }
    if (!state->has_base)
        note_roots(state);
    state->way = 0;
    memcpy(state->w, commit->value, p * sizeof(*state->w));
    for (uint32_t j = 0; j < p; j++)
        note_column(state, j, commit->partial[j], commit->partial[p + 2]);
}

const double *lasso_w(const strads_commit *commit)
{
    const lasso_state *state = commit->state;

    return commit->phase == LASSO_LOOK ? state->w : commit->value;
}

strads_err lasso_aggregate_drift(strads_commit *commit)
{
    lasso_state *state = commit->state;

    state->way += sqrt(commit->partial[0]) + ROUNDING * sqrt(state->squares);
    return STRADS_OK;
}

bool lasso_may_look(const lasso_state *state)
{
    return state->has_base;
}

bool lasso_choose_look(lasso_state *state)
{
    const double level = state->path ? lasso_path_level(state) : state->l1;
    const double way = state->way;
    double unseen = 0;
    uint32_t n = 0;

    for (uint32_t j = 0; j < state->columns; j++) {
        const double bound = state->base[j] + state->root[j] * way;
        const double safe = bound <= level ? bound : 0;
        state->look[n] = j;
        n += !(bound <= level);
        unseen = safe > unseen ? safe : unseen;
    }
    state->unseen = unseen;
    state->n_look = n;
    return n <= SHARE * (double)state->columns;
}
