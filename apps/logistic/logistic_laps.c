/* What a softmax does between two laps over its classes, each of which has its
 * coefficients changed when it is told of it, as workers have the margins of
 * one class at hand.
 *
 * The loss does not change when a column's coefficients of all classes move by
 * the same t, but the penalty does. Class after class can follow that only in
 * small steps, so the best t is taken out after each lap (as in Friedman,
 * Hastie, Tibshirani, "Regularization paths for generalized linear models via
 * coordinate descent", J. Statistical Software 33, 2010, section 4.1).
 *
 * What is left converges by a constant factor a lap in the end. So where laps
 * ended is extrapolated as sweeps over a block are (Bertrand and Massias,
 * AISTATS 2021); the look at the whole that follows says whether P fell, and if
 * not, it is taken back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_steps.h"
#include "logistic_parts.h"

/* Where a lap has more numbers than so many, their past costs too much. */
#define NUMBERS_MAX (UINT64_C(1) << 22)

enum { PAST = LINEAR_STEPS + 1 };

strads_err logistic_laps_new(logistic_state *state)
{
    logistic_laps *laps = &state->laps;

    laps->numbers = (state->columns + 1) * state->width;
    if (laps->numbers > NUMBERS_MAX)
        return STRADS_OK;
    laps->past = malloc(PAST * laps->numbers * sizeof(double));
    laps->change = malloc(laps->numbers * sizeof(double));
    laps->now = malloc(laps->numbers * sizeof(double));
    if (laps->past && laps->change && laps->now)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for %d laps of %llu numbers",
                       PAST, (unsigned long long)laps->numbers);
}

void logistic_laps_free(logistic_laps *laps)
{
    free(laps->past);
    free(laps->change);
    free(laps->now);
}

static double *past_of(const logistic_laps *laps, uint32_t lap)
{
    return laps->past + lap * laps->numbers;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The t that makes sum_k (L1 s |w_k - t| + L2/2 s^2 (w_k - t)^2) smallest: the
 * median of all w_k and of where the slope is 0 if i of them are below t. */
static double best_shift(const logistic_state *state, double s, const double *w)
{
    const uint32_t k = state->width;
    double at[2 * LINEAR_LABELS_MAX + 1], mean = 0;

    for (uint32_t l = 0; l < k; l++)
        mean += w[l] / k;
    memcpy(at, w, k * sizeof(*at));
    for (uint32_t i = 0; i <= k; i++) {
        const double above = (double)k - 2. * i;
        if (state->l2 > 0)
            at[k + i] = mean + state->l1 * above / (state->l2 * s * k);
        else
            at[k + i] = above == 0 ? 0 : copysign(INFINITY, above);
    }
    qsort(at, 2 * (size_t)k + 1, sizeof(*at), ascending);
    return at[k];
}

static double penalty(const logistic_state *state, double s, const double *w)
{
    double sum = 0;

    for (uint32_t l = 0; l < state->width; l++)
        sum += state->l1 * fabs(s * w[l]) + state->l2 / 2 * s * w[l] * s * w[l];
    return sum;
}

/* Takes the best t out of each column; returns what the penalty falls by. */
static double shift(const logistic_state *state, double *numbers)
{
    const uint32_t k = state->width;
    double fall = 0;

    for (uint32_t c = 0; c < state->n_alive; c++) {
        const double s = state->scale[state->alive[c]];
        double *w = numbers + (size_t)c * k;
        const double t = best_shift(state, s, w);
        if (t == 0)
            continue;
        fall += penalty(state, s, w);
        for (uint32_t l = 0; l < k; l++)
            w[l] -= t;
        fall -= penalty(state, s, w);
    }
    return fall;
}

/* The coefficients of the columns looked at, then the intercepts. */
static void read_numbers(const logistic_state *state,
                         const strads_commit *commit, double *to)
{
    const size_t n = (size_t)commit->block.n * state->width;

    memcpy(to, commit->value, n * sizeof(*to));
    memcpy(to + n, state->b, state->width * sizeof(*to));
}

/* `beyond` becomes what lies beyond the laps; false where they show no
 * direction. */
static bool extrapolate(const logistic_state *state, double *beyond)
{
    const logistic_laps *laps = &state->laps;
    const uint64_t n = ((uint64_t)state->n_alive + 1) * state->width;
    const double *past[LINEAR_STEPS + 1];
    double c[LINEAR_STEPS];

    for (uint32_t i = 0; i <= LINEAR_STEPS; i++)
        past[i] = past_of(laps, i);
    if (!linear_combine(past, n, c))
        return false;
    for (uint64_t k = 0; k < n; k++) {
        beyond[k] = 0;
        for (uint32_t i = 0; i < LINEAR_STEPS; i++)
            beyond[k] += c[i] * past_of(laps, i + 1)[k];
    }
    return true;
}

/* The change from where all stands to `to` is to be told. */
static void begin_telling(logistic_state *state, const strads_commit *commit,
                          const double *to, bool beyond)
{
    logistic_laps *laps = &state->laps;
    const uint64_t n = ((uint64_t)state->n_alive + 1) * state->width;
    bool moves = false;

    read_numbers(state, commit, laps->now);
    for (uint64_t k = 0; k < n; k++) {
        laps->change[k] = to[k] - laps->now[k];
        moves = moves || laps->change[k] != 0;
    }
    if (moves)
        laps->telling = true;
    laps->leapt = beyond;
}

void logistic_laps_judge(logistic_state *state, const strads_commit *commit)
{
    logistic_laps *laps = &state->laps;
    const bool leapt = laps->leapt;

    if (!laps->past)
        return;
    laps->leapt = false;
    if (leapt && !(state->judged.primal < laps->before)) {
        begin_telling(state, commit, past_of(laps, LINEAR_STEPS), false);
        return;
    }
    double *to = past_of(laps, laps->n++);
    read_numbers(state, commit, to);
    laps->before = state->judged.primal - shift(state, to);
    const bool full = laps->n == PAST;
    if (full)
        laps->n = 0;
    if (full && extrapolate(state, laps->change))
        begin_telling(state, commit, laps->change, true);
    else
        begin_telling(state, commit, to, false);
}

strads_err logistic_laps_tell(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const logistic_laps *laps = &state->laps;
    const uint32_t k = state->width, last = (uint32_t)state->columns;
    const double *change = laps->change + state->target;
    const double shifted = change[(size_t)state->n_alive * k];
    uint32_t n = 0;

    for (uint32_t c = 0; c < state->n_alive; c++) {
        if (change[(size_t)c * k] == 0)
            continue;
        state->candidate[n] = state->alive[c];
        state->told[n++] = change[(size_t)c * k];
    }
    state->b[state->target] += shifted;
    strads_err err = logistic_also(commit, n, state->candidate, state->told);
    if (!err && shifted != 0)
        err = logistic_also(commit, 1, &last, &shifted);
    return err;
}
