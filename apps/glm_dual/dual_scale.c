/* Standardised columns. The survey has told what a row weighs; then all sums
 *
 *     sum c x,   sum c x^2,   sum c
 *
 * tell a scale s for each column, and every partition divides its rows by them,
 * in a copy. From then on w is S w of the data as they stand, and when the run
 * ends it becomes w again. Nothing is centred: the bias is penalised, and its
 * column is as it is. A column that does not vary beside a bias, or is 0, is
 * left out. */
#include <math.h>
#include <stdlib.h>

#include "dual.h"

/* sum c x^2 less that of the mean: below this share of it, it is rounding. */
#define ROUNDING 1e-12

size_t dual_partial_moments(const strads_task *task)
{
    return 2 * (size_t)task->block.n + 1;
}

/* ---- one partition ----------------------------------------------------- */

strads_err dual_update_moments(strads_task *task)
{
    const dual_local *local = task->local;
    double *sum = task->partial, *squares = sum + task->block.n;
    double *all = squares + task->block.n;

    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(task->share, i);
        const double c =
            local->weight[i] *
            linear_classes_weight(&local->classes, task->share->label[i]);
        *all += c;
        for (uint64_t k = 0; k < x.n; k++) {
            const uint64_t j = x.index ? x.index[k] : k;
            const double v = x.f64 ? x.f64[k] : (double)x.f32[k];
            sum[j] += c * v;
            squares[j] += c * v * v;
        }
    }
    return STRADS_OK;
}

/* s of column j, or 0 where it is left out. */
static double scale_of(const double *merged, uint64_t j, uint64_t columns,
                       bool bias)
{
    const double *squares = merged + columns + 1;
    const double all = merged[2 * (columns + 1)];
    const double mean = bias && all > 0 ? merged[j] / all : 0;
    const double centred = squares[j] - all * mean * mean;

    return centred > ROUNDING * squares[j] ? sqrt(centred / all) : 0;
}

static void divide_rows(const dual_local *local, const strads_share *share,
                        const double *scale, double *value)
{
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        double *to = value + share->by_row.start[i];
        for (uint64_t k = 0; k < x.n; k++) {
            const double s = scale[x.index ? x.index[k] : k];
            const double v = x.f64 ? x.f64[k] : (double)x.f32[k];
            to[k] = s > 0 ? v / s : 0;
        }
    }
}

strads_err dual_receive_moments(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = task->share;
    const uint64_t p = local->columns;
    const uint64_t entries = share->by_row.start[local->rows];
    double *scale = malloc((p + 1) * sizeof(*scale));
    double *value = malloc((entries + 1) * sizeof(*value));

    if (!scale || !value) {
        free(scale);
        free(value);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu values over the scales of their "
                           "columns",
                           (unsigned long long)entries);
    }
    for (uint64_t j = 0; j < p; j++)
        scale[j] = scale_of(task->partial, j, p, local->bias > 0);
    divide_rows(local, share, scale, value);
    local->scaled = *share;
    local->scaled.by_row.f32 = NULL;
    local->scaled.by_row.f64 = local->value = value;
    dual_take_squares(local, &local->scaled);
    free(scale);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

/* Start values become those of scaled columns. */
strads_err dual_aggregate_moments(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint64_t p = state->columns;
    const uint32_t width = state->width;

    state->scale = malloc((p + 1) * sizeof(*state->scale));
    if (!state->scale)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the scales of %llu columns",
                           (unsigned long long)p);
    for (uint64_t j = 0; j < p; j++) {
        state->scale[j] = scale_of(commit->partial, j, p, state->bias > 0);
        for (uint64_t k = j * width; k < (j + 1) * width; k++)
            commit->change[k] =
                commit->value[k] * state->scale[j] - commit->value[k];
    }
    state->measured = true;
    return STRADS_OK;
}

strads_err dual_aggregate_tell(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint32_t width = state->width;

    for (uint64_t j = 0; j < state->columns; j++) {
        const double s = state->scale[j];
        for (uint64_t k = j * width; k < (j + 1) * width; k++)
            commit->change[k] =
                (s > 0 ? commit->value[k] / s : 0) - commit->value[k];
    }
    free(state->scale);
    state->scale = NULL;
    return STRADS_OK;
}
