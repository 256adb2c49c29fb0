/* Everyone's change of w, added up; and how much more curved than it is each
 * row's problem has to be taken, so that adding is safe.
 *
 * The partitions of a pool read each other's w, and each adds up a span of the
 * columns for all of them: a join, of which the coordinator hears two numbers.
 * The store and other pools are told by a merge. */
#include <string.h>

#include "dual.h"

/* What is measured fades by this each time, and s sinks no faster. */
#define FADE .7
#define SINK .99

/* Columns that are added up at once. */
enum { STRIP = 512 };

void dual_begin_w(const strads_task *task)
{
    dual_local *local = task->local;

    if (local->behind && local->based)
        memcpy(local->w, local->base, (local->columns + 1) * sizeof(double));
    for (uint32_t k = 0; k < task->n_peers && local->behind && !local->based;
         k++) {
        const dual_local *peer = task->peer[k].local;
        const strads_range span = peer->span;
        memcpy(local->w + span.begin, peer->joint + span.begin,
               (span.end - span.begin) * sizeof(double));
    }
    local->behind = false;
    local->moved = task->round;
    if (local->joint == local->w)
        local->based = false;
}

/* ---- within a pool ----------------------------------------------------- */

/* |sum d_k|^2 and sum |d_k|^2. */
enum { NEAR, FAR, JOIN_SUMS };

size_t dual_partial_join(const strads_task *task)
{
    (void)task;
    return JOIN_SUMS;
}

/* n columns from `at` on: from + sum (w_k - from) / s. */
static void join_strip(strads_task *task, const double *from, uint64_t at,
                       uint64_t n)
{
    const dual_local *local = task->local;
    const double s = task->total[DUAL_SAFETY];
    double sum[STRIP] = {0}, d[STRIP];

    for (uint32_t k = 0; k < task->n_peers; k++) {
        const dual_local *peer = task->peer[k].local;
        if (peer->moved <= local->joined)
            continue;
        for (uint64_t j = 0; j < n; j++) {
            d[j] = (peer->w[at + j] - from[at + j]) / s;
            sum[j] += d[j];
        }
        task->partial[FAR] += local->kernels->dot_dense(n, d, d);
    }
    task->partial[NEAR] += local->kernels->dot_dense(n, sum, sum);
    for (uint64_t j = 0; j < n; j++)
        local->joint[at + j] = from[at + j] + sum[j];
}

strads_err dual_update_join(strads_task *task)
{
    dual_local *local = task->local;
    const double *from = local->based ? local->base : local->joint;
    const strads_range span = local->span;

    for (uint64_t at = span.begin; at < span.end; at += STRIP)
        join_strip(task, from, at,
                   at + STRIP < span.end ? STRIP : span.end - at);
    local->joined = task->round;
    local->based = false;
    local->behind = true;
    return STRADS_OK;
}

void dual_set_safety(strads_commit *commit)
{
    const dual_state *state = commit->state;

    commit->total_change[DUAL_SAFETY] =
        (state->alone ? 1 : state->safety) - commit->total[DUAL_SAFETY];
}

/* s: as measured, of late; at least 1 and at most K. */
static void measure(dual_state *state, double near, double far)
{
    if (!(far > 0)) /* nothing has moved */
        return;
    state->near = FADE * state->near + near;
    state->far = FADE * state->far + far;
    const double seen = state->near / state->far;
    const double slow = 1 + (state->safety - 1) * SINK;
    const double s = state->near == near ? seen : fmax(seen, slow);
    state->safety = fmin(fmax(s, 1), state->partitions);
}

strads_err dual_aggregate_join(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->joined = true;
    state->apart = commit->partial[FAR];
    if (state->pools == 1 && state->spread)
        measure(state, commit->partial[NEAR], state->apart);
    state->spread = false;
    if (state->pools == 1)
        dual_set_safety(commit);
    return STRADS_OK;
}

/* ---- for all ----------------------------------------------------------- */

size_t dual_partial_merge(const strads_task *task)
{
    return task->block.n;
}

strads_err dual_update_merge(strads_task *task)
{
    const dual_local *local = task->local;

    if (local->based)
        return STRADS_OK;
    for (uint64_t j = local->span.begin; j < local->span.end; j++)
        task->partial[j] = local->joint[j] - local->base[j];
    return STRADS_OK;
}

static double square_of(const strads_commit *commit)
{
    double sum = 0;

    for (uint32_t j = 0; j < commit->block.n; j++)
        sum += commit->partial[j] * commit->partial[j];
    return sum;
}

strads_err dual_aggregate_merge(strads_commit *commit)
{
    dual_state *state = commit->state;

    for (uint32_t j = 0; j < commit->block.n; j++)
        commit->change[dual_place(state, j)] = commit->partial[j];
    if (state->pools > 1) {
        measure(state, square_of(commit), state->apart);
        dual_set_safety(commit);
    }
    state->moved = state->joined = false;
    dual_take_intercept(commit);
    return STRADS_OK;
}

/* A commit of coefficients begins with one; all others are their owner's
 * own. */
strads_err dual_refresh(strads_task *task, const strads_change *changes,
                        uint32_t n)
{
    dual_local *local = task->local;

    for (uint32_t c = 0; c < n; c++) {
        const strads_change *change = &changes[c];
        if (change->n == 0 || change->param[0] > local->columns)
            continue;
        for (uint32_t k = 0; k < change->n; k++)
            if (change->param[k] <= local->columns)
                local->base[change->param[k]] +=
                    change->change[dual_at(local, k)];
        local->based = local->behind = true;
    }
    return STRADS_OK;
}
