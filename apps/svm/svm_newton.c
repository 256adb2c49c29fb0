/* The coordinator's part of Newton's steps: solve, go, and look how far it went
 * downhill. When the gradient is small, or P at w and D at the rows' c are near
 * enough to each other, the c are taken over as the rows' b; then sigma grows.
 * w is not X'b meanwhile. */
#include "svm_newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"

/* Steps of one smooth problem; scans in vain before dual ascent goes on; scans
 * that come before the first step, so many passes apart as docs/svm.md says. */
enum { INNER_MAX = 200, VAIN_MAX = 12, SCANS_SMOOTH = 2, SCANS = 3 };

/* A step that takes less than this share off P takes nothing off. */
#define ROUNDING 1e-16

static strads_err reserve(svm_state *state)
{
    const size_t n = state->columns + 1;

    if (state->matrix)
        return STRADS_OK;
    state->matrix = malloc(n * n * sizeof(double));
    state->direction = malloc(n * sizeof(double));
    return state->matrix && state->direction
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)state->columns);
}

/* |w - X'c| that is small enough: half its square is in the gap. Of losses with
 * kinks the smoothing is the rest of it, and there is no use in more. */
static double gradient_wanted(const svm_state *state, double tolerance)
{
    const double enough = sqrt(.02 * tolerance * state->primal);
    const double size = sqrt((double)state->rows * state->problem.options.c);

    return fmax(enough, svm_loss_is_smooth(state->problem.loss)
                            ? 0
                            : size * pow(.1, 2 + (double)state->takes));
}

/* Where hardly a row of J has column i, only the penalty bends there, and a
 * step would lead as much too far as the column is large: one more row, an
 * average one, holds it. A firm step has one more row in all columns. */
static void unpack(const svm_state *state, const double *least,
                   const double *packed, bool firm)
{
    const size_t n = state->columns + 1;

    for (size_t i = 0; i < n; i++) {
        double *line = state->matrix + i * n;
        memcpy(line, packed, (i + 1) * sizeof(double));
        line[i] += firm || line[i] < least[i] ? least[i] : 0;
        line[i] += i < svm_penalised(state);
        packed += i + 1;
    }
}

/* What the penalty has to pull back of coefficient j. */
static double penalised_at(const strads_commit *commit, uint32_t j)
{
    const svm_state *state = commit->state;

    return j < svm_penalised(state) ? commit->value[svm_place(state, j)] : 0;
}

/* A direction for the next step, -slope downhill by the quadratic model. */
static void solve(strads_commit *commit, uint32_t n, bool firm)
{
    svm_state *state = commit->state;
    const linear_kernels *kernels = linear_kernels_choose(0);
    double *d = state->direction;

    for (uint32_t j = 0; j < n; j++)
        d[j] = commit->partial[j] - penalised_at(commit, j);
    unpack(state, commit->partial + n, commit->partial + 2 * n, firm);
    linear_factor(kernels, n, state->matrix);
    linear_solve(kernels, n, state->matrix, d);
    state->slope = state->along = state->reach = 0;
    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j);
        state->slope += d[j] * (w - commit->partial[j]);
        state->along += d[j] * w;
        state->reach += j < svm_penalised(state) ? d[j] * d[j] : 0;
    }
}

/* Large columns of which J has fewer rows than there are columns are all but
 * singular: the pivots that are left are the penalty's, or nothing but
 * rounding, and so is the model. It tells, by more to gain than there is or by
 * nothing. */
static void find_direction(strads_commit *commit, uint32_t n)
{
    const svm_state *state = commit->state;

    solve(commit, n, false);
    if (!svm_loss_is_smooth(state->problem.loss) &&
        (-state->slope <= ROUNDING * state->primal ||
         -state->slope > state->primal))
        solve(commit, n, true);
}

static void go(strads_commit *commit, uint32_t n)
{
    svm_state *state = commit->state;

    for (uint32_t j = 0; j < n; j++)
        commit->change[svm_place(state, j)] = state->direction[j];
    svm_take_intercept(commit);
    state->step = SVM_SLOPE;
}

strads_err svm_aggregate_curve(strads_commit *commit)
{
    svm_state *state = commit->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const double *sums = commit->partial + 2 * n + (size_t)n * (n + 1) / 2;
    double gradient = 0;
    svm_point at = {0};
    strads_err err = reserve(state);

    if (err)
        return err;
    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j), other = commit->partial[j];
        gradient += (other - w) * (other - w);
        if (j < svm_penalised(state)) {
            at.square += w * w;
            at.dual_square += other * other;
        }
    }
    at.apart = sqrt(gradient);
    err = svm_certify(state, sums, at);
    if (err)
        return err;
    state->step = SVM_TAKE;
    if (state->gap > commit->tolerance * state->primal &&
        sqrt(gradient) > gradient_wanted(state, commit->tolerance) &&
        ++state->inner <= INNER_MAX) {
        find_direction(commit, n);
        state->blunt = -state->slope <= ROUNDING * state->primal;
        if (!state->blunt)
            go(commit, n);
    }
    if (state->step == SVM_TAKE)
        state->inner = 0;
    return STRADS_OK;
}

/* The slope after a step t: it rises with t, from below 0. */
static double slope_at(const svm_state *state, const double *merged, int t)
{
    return state->along + svm_step(t) * state->reach - merged[t];
}

/* The whole step if it does not lead far uphill again; otherwise the lowest
 * point along it, as the slopes on both sides tell. */
static double choose_step(const svm_state *state, const double *merged)
{
    double above = slope_at(state, merged, 0);

    if (above <= -.3 * state->slope)
        return 1;
    for (int t = 1; t < SVM_STEPS; t++) {
        const double below = slope_at(state, merged, t);
        if (below <= 0)
            return svm_step(t) +
                   (svm_step(t - 1) - svm_step(t)) * -below / (above - below);
        above = below;
    }
    return svm_step(SVM_STEPS - 1) * state->slope / (state->slope - above);
}

strads_err svm_aggregate_slope(strads_commit *commit)
{
    svm_state *state = commit->state;
    const double step = choose_step(state, commit->partial);

    for (uint64_t j = 0; j <= state->columns && step < 1; j++)
        commit->change[svm_place(state, j)] = (step - 1) * state->direction[j];
    svm_take_intercept(commit);
    state->step = SVM_CURVE;
    return STRADS_OK;
}

/* Few columns, and a start that is not too far off: where losses have kinks,
 * steps from afar lead nowhere. */
static bool suits(const svm_state *state)
{
    const bool smooth = svm_loss_is_smooth(state->problem.loss);

    return state->columns < SVM_NEWTON_COLUMNS && !state->gave_up &&
           state->scans >= (smooth ? SCANS_SMOOTH : SCANS);
}

void svm_newton_judge(svm_state *state)
{
    state->step = suits(state) ? SVM_CURVE : SVM_ASCEND;
}

strads_err svm_aggregate_take(strads_commit *commit)
{
    svm_state *state = commit->state;

    strads_commit_moved(commit, commit->block.n);
    if (commit->block.owner != state->partitions - 1)
        return STRADS_OK;
    state->takes++;
    svm_watch(state);
    if (state->gap < .9 * state->nearest)
        state->vain = 0;
    else if (state->blunt) /* by rounding: nothing leads on from here */
        state->stalled = true;
    else if (++state->vain >= VAIN_MAX)
        state->gave_up = true;
    state->blunt = false;
    state->nearest = fmin(state->nearest, state->gap);
    if (state->gave_up)
        svm_level_take(commit);
    /* Dual ascent needs w = X'b, and new priorities. */
    state->moved = state->spread = state->scan_due = state->gave_up;
    state->joined = false;
    svm_judge(state, commit->tolerance);
    return STRADS_OK;
}
