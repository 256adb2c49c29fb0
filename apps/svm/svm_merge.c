/* Everyone's change of w, added up; and how much more curved than it is each
 * row's problem has to be taken, so that adding is safe. */
#include <string.h>

#include "svm_parts.h"

/* What is measured fades by this at each merge, and s sinks no faster. */
#define FADE .7
#define SINK .99

/* The coefficients, that of the bias, and in the place of s: |d|^2. */
size_t svm_partial_merge(const strads_task *task)
{
    return task->block.n;
}

strads_err svm_update_merge(strads_task *task)
{
    svm_local *local = task->local;
    double *change = task->partial, squares = 0;

    if (!local->moved)
        return STRADS_OK;
    for (uint64_t j = 0; j <= local->columns; j++) {
        change[j] = (local->w[j] - local->base[j]) / local->safety;
        squares += change[j] * change[j];
    }
    change[local->columns + 1] = squares;
    local->moved = false;
    local->stale = true;
    return STRADS_OK;
}

/* s: as measured, of late; at least 1 and at most K. */
static double measure(svm_state *state, const double *change, double squares)
{
    double square = 0;

    if (!(squares > 0)) /* the first one of all: nothing has moved */
        return state->safety;
    for (uint64_t j = 0; j <= state->columns; j++)
        square += change[j] * change[j];
    state->near = FADE * state->near + square;
    state->far = FADE * state->far + squares;
    const double seen = state->far > 0 ? state->near / state->far : 1;
    const double slow = 1 + (state->safety - 1) * SINK;
    const double s = state->near == square ? seen : fmax(seen, slow);
    return fmin(fmax(s, 1), state->partitions);
}

strads_err svm_aggregate_merge(strads_commit *commit)
{
    svm_state *state = commit->state;
    const uint64_t bias = state->columns, safety = bias + 1;

    memcpy(commit->change, commit->partial, (bias + 1) * sizeof(double));
    const double s = state->partitions > 1 ? measure(state, commit->partial,
                                                     commit->partial[safety])
                                           : 1;
    commit->change[safety] = s - state->partitions - commit->value[safety];
    state->safety = s;
    state->moved = false;
    svm_take_intercept(commit);
    return STRADS_OK;
}

/* Changes of b are their owner's own; a commit of coefficients begins with
 * one. */
strads_err svm_refresh(strads_task *task, const strads_change *changes,
                       uint32_t n)
{
    svm_local *local = task->local;
    const uint64_t safety = local->columns + 1;

    for (uint32_t c = 0; c < n; c++) {
        const strads_change *change = &changes[c];
        if (change->n == 0 || change->param[0] > safety)
            continue;
        for (uint32_t k = 0; k < change->n && change->param[k] <= safety; k++)
            if (change->param[k] < safety)
                local->base[change->param[k]] += change->change[k];
            else
                local->safety += change->change[k];
        local->stale = true;
    }
    return STRADS_OK;
}
