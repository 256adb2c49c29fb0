/* The coordinator's part of Newton's steps: solve, go, and look how far it went
 * downhill. When next to nothing of the gap is what a smooth problem still has
 * to give, the c are taken over as the rows' b, and sigma changes. w is not X'b
 * meanwhile. */
#include "dual_newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"

/* Steps of one smooth problem; takes in vain before dual ascent goes on; scans
 * that come before the first step. */
enum { INNER_MAX = 35, VAIN_MAX = 12, SCANS = 2 };

/* sigma is so many times C at first. From take to take it grows: a little where
 * the gap falls, since the next problem begins near its end, and more where it
 * does not. It falls where a problem was too hard, or rounding ended it. */
#define SIGMA_FIRST 4
#define SIGMA_UP 2
#define SIGMA_FAR_UP 4
#define SIGMA_DOWN (1. / 16)

/* This share of the gap at most is the unsolved rest of a smooth problem when
 * its c are taken. */
#define REST .03

/* Where a step takes less than this share off P, slopes along it are rounding;
 * it is gone as a whole then. The gap still gains by it, since that goes by
 * distances from the optimum and not by their squares. */
#define ROUNDING 1e-16

/* A step that goes no further than this was far too long, and the diagonal's
 * ballast is to be as many times heavier; lighter, where the slope at a whole
 * step's end is still that share of the one at its beginning. */
#define TOO_LONG 1e-3
#define TOO_SHORT .5
#define BALLAST 10
#define BALLAST_MIN 1e-6
#define BALLAST_MAX 1e6

static strads_err reserve(dual_state *state)
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

/* Where hardly a row of J has column i, only the penalty bends there, and a
 * step would lead as much too far as the column is large: ballast, a share of
 * what all rows would add, holds it (as Levenberg and Marquardt do). */
static void unpack(const dual_state *state, const double *stiff,
                   const double *packed)
{
    const size_t n = state->columns + 1;

    for (size_t i = 0; i < n; i++) {
        const double least = state->ballast * stiff[i];
        double *line = state->matrix + i * n;
        memcpy(line, packed, (i + 1) * sizeof(double));
        line[i] += line[i] < least ? least : 0;
        line[i] += i < dual_penalised(state);
        packed += i + 1;
    }
}

/* What the penalty has to pull back of coefficient j. */
static double penalised_at(const strads_commit *commit, uint32_t j)
{
    const dual_state *state = commit->state;

    return j < dual_penalised(state) ? commit->value[dual_place(state, j)] : 0;
}

/* A direction for the next step, -slope downhill by the quadratic model. */
static void solve(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;
    const column_kernels *kernels = column_kernels_choose(0);
    double *d = state->direction;

    for (uint32_t j = 0; j < n; j++)
        d[j] = commit->partial[j] - penalised_at(commit, j);
    unpack(state, commit->partial + n, commit->partial + 2 * (size_t)n);
    linear_factor(kernels, n, state->matrix);
    linear_solve(kernels, n, state->matrix, d);
    state->slope = state->along = state->reach = 0;
    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j);
        state->slope += d[j] * (w - commit->partial[j]);
        state->along += d[j] * w;
        state->reach += j < dual_penalised(state) ? d[j] * d[j] : 0;
    }
}

/* Large columns of which J has fewer rows than there are columns are all but
 * singular: the pivots that are left are the penalty's, or nothing but
 * rounding, and so is the model. It tells, by more to gain than there is, or by
 * nothing where the gradient is long. */
static bool is_singular(const dual_state *state)
{
    return -state->slope > 2 * state->primal ||
           (-state->slope <= ROUNDING * state->primal &&
            state->gradient * state->gradient > state->primal);
}

/* Whether the last step was within rounding, and has not even halved the
 * gradient. */
static bool leads_nowhere(const dual_state *state, double gradient)
{
    return state->inner > 0 && -state->slope <= ROUNDING * state->primal &&
           gradient > state->gradient / 2;
}

static void find_direction(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    solve(commit, n);
    while (state->ballast < BALLAST_MAX && is_singular(state)) {
        state->ballast *= BALLAST;
        solve(commit, n);
    }
}

static void go(strads_commit *commit, uint32_t n)
{
    dual_state *state = commit->state;

    for (uint32_t j = 0; j < n; j++)
        commit->change[dual_place(state, j)] = state->direction[j];
    dual_take_intercept(commit);
    state->step = DUAL_SLOPE;
}

/* Where w and X'c are. */
static dual_point point_of(const strads_commit *commit, uint32_t n)
{
    const dual_state *state = commit->state;
    double gradient = 0;
    dual_point at = {0};

    for (uint32_t j = 0; j < n; j++) {
        const double w = penalised_at(commit, j), other = commit->partial[j];
        gradient += (other - w) * (other - w);
        if (j < dual_penalised(state)) {
            at.square += w * w;
            at.dual_square += other * other;
        }
    }
    at.apart = sqrt(gradient);
    return at;
}

/* A problem that so many steps do not solve is too near to one with kinks. */
static void soften(strads_commit *commit)
{
    dual_state *state = commit->state;

    commit->total_change[DUAL_SIGMA] =
        (SIGMA_DOWN - 1) * commit->total[DUAL_SIGMA];
    state->inner = 0;
    state->step = DUAL_CURVE;
}

/* The next step, or what is to be done where there is none. Each problem with
 * kinks has a step at least, or nothing would change with sigma. */
static void go_on(strads_commit *commit, uint32_t n, double gradient,
                  bool steep)
{
    dual_state *state = commit->state;
    const bool smooth = dual_loss_is_smooth(state->problem.loss);

    if (!steep && (smooth || state->inner > 0))
        return;
    state->blunt = leads_nowhere(state, gradient);
    if (state->blunt)
        return;
    if (++state->inner > INNER_MAX) {
        if (!smooth)
            soften(commit);
        return;
    }
    state->gradient = gradient;
    find_direction(commit, n);
    go(commit, n);
}

strads_err dual_aggregate_curve(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const double *sums =
        commit->partial + 2 * (size_t)n + (size_t)n * (n + 1) / 2;
    const dual_point at = point_of(commit, n);
    strads_err err = reserve(state);

    if (!err)
        err = dual_certify(state, sums, at);
    if (err)
        return err;
    state->step = DUAL_TAKE;
    if (state->gap > commit->tolerance * state->primal) {
        const double rest =
            at.apart * at.apart / 2 + dual_level_excess(state, sums);
        go_on(commit, n, at.apart, rest > REST * state->gap);
    }
    if (state->step == DUAL_TAKE)
        state->inner = 0;
    return STRADS_OK;
}

/* The slope after a step t: it rises with t, from below 0. */
static double slope_at(const dual_state *state, const double *merged, int t)
{
    return state->along + dual_step(t) * state->reach - merged[t];
}

/* The whole step if it does not lead far uphill again; otherwise the lowest
 * point along it, as the slopes on both sides tell. */
static double choose_step(const dual_state *state, const double *merged)
{
    double above = slope_at(state, merged, 0);

    if (above <= -.3 * state->slope ||
        -state->slope <= ROUNDING * state->primal)
        return 1;
    for (int t = 1; t < DUAL_STEPS; t++) {
        const double below = slope_at(state, merged, t);
        if (below <= 0)
            return dual_step(t) +
                   (dual_step(t - 1) - dual_step(t)) * -below / (above - below);
        above = below;
    }
    return dual_step(DUAL_STEPS - 1) * state->slope / (state->slope - above);
}

/* The ballast of the next step, by this one's length and the slope at its whole
 * length's end. */
static void weigh(dual_state *state, double step, double end)
{
    const bool short_of_it = end < TOO_SHORT * state->slope;

    if (short_of_it || (step == 1 && state->ballast > 1))
        state->ballast = fmax(state->ballast / BALLAST, BALLAST_MIN);
    else if (step < TOO_LONG)
        state->ballast = fmin(state->ballast * BALLAST, BALLAST_MAX);
}

strads_err dual_aggregate_slope(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double step = choose_step(state, commit->partial);

    for (uint64_t j = 0; j <= state->columns && step < 1; j++)
        commit->change[dual_place(state, j)] = (step - 1) * state->direction[j];
    dual_take_intercept(commit);
    weigh(state, step, slope_at(state, commit->partial, 0));
    state->step = DUAL_CURVE;
    return STRADS_OK;
}

/* Few columns, and a start that is not too far off. */
static bool suits(const dual_state *state)
{
    return state->columns < DUAL_NEWTON_COLUMNS && !state->gave_up &&
           state->scans >= SCANS;
}

void dual_newton_begin(strads_commit *commit)
{
    const dual_state *state = commit->state;

    commit->total_change[DUAL_SIGMA] =
        SIGMA_FIRST * state->problem.options.c - commit->total[DUAL_SIGMA];
}

void dual_newton_judge(dual_state *state)
{
    state->step = suits(state) ? DUAL_CURVE : DUAL_ASCEND;
}

/* Whether the take has bettered the gap, and if not, what comes of it; sigma,
 * times what, for the next problem. */
static double judge_take(dual_state *state)
{
    if (state->gap < .9 * state->nearest) {
        state->vain = 0;
        return SIGMA_UP;
    }
    if (++state->vain >= VAIN_MAX) {
        if (state->blunt) /* by rounding: nothing leads on */
            state->stalled = true;
        else
            state->gave_up = true;
    }
    return state->blunt ? SIGMA_DOWN : SIGMA_FAR_UP;
}

strads_err dual_aggregate_take(strads_commit *commit)
{
    dual_state *state = commit->state;

    strads_commit_moved(commit, commit->block.n);
    if (commit->block.owner != state->partitions - 1)
        return STRADS_OK;
    dual_watch(state);
    commit->total_change[DUAL_SIGMA] =
        (judge_take(state) - 1) * commit->total[DUAL_SIGMA];
    state->blunt = false;
    state->nearest = fmin(state->nearest, state->gap);
    if (state->gave_up)
        dual_level_take(commit);
    /* Dual ascent needs w = X'b, and new priorities. */
    state->moved = state->spread = state->scan_due = state->gave_up;
    state->joined = false;
    dual_judge(state, commit->tolerance);
    return STRADS_OK;
}
