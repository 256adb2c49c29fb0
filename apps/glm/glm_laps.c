/* What a softmax does between two laps over its classes.
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
#include "glm_parts.h"

/* Where a lap has more numbers than so many, their past costs too much. */
#define NUMBERS_MAX (UINT64_C(1) << 22)

/* P may be so much higher, which is rounding. */
#define ROUNDING 1e-15

enum { PAST = LINEAR_STEPS + 1 };

strads_err glm_laps_new(glm_state *state)
{
    glm_laps *laps = &state->laps;

    laps->numbers = (state->columns + 1) * state->width;
    if (laps->numbers > NUMBERS_MAX)
        return STRADS_OK;
    laps->past = malloc(PAST * laps->numbers * sizeof(double));
    laps->to = malloc(laps->numbers * sizeof(double));
    if (laps->past && laps->to)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for %d laps of %llu numbers",
                       PAST, (unsigned long long)laps->numbers);
}

void glm_laps_free(glm_laps *laps)
{
    free(laps->past);
    free(laps->to);
}

static double *past_of(const glm_laps *laps, uint32_t lap)
{
    return laps->past + lap * laps->numbers;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The t that makes sum_k (l1 |w_k - t| + l2/2 (w_k - t)^2) smallest: the median
 * of all w_k and of where the slope is 0 if i of them are below t. */
static double best_shift(const glm_term *term, uint32_t k, const double *w)
{
    double at[2 * GLM_SOFTMAX_MAX + 1], mean = 0;

    for (uint32_t l = 0; l < k; l++)
        mean += w[l] / k;
    memcpy(at, w, k * sizeof(*at));
    for (uint32_t i = 0; i <= k; i++) {
        const double above = (double)k - 2. * i;
        if (term->l2 > 0)
            at[k + i] = mean + term->l1 * above / (term->l2 * k);
        else
            at[k + i] = above == 0 ? 0 : copysign(INFINITY, above);
    }
    qsort(at, 2 * (size_t)k + 1, sizeof(*at), ascending);
    return at[k];
}

/* Takes the best t out of each column; returns what the penalty falls by. */
static double shift(const glm_state *state, double *numbers)
{
    const glm_penalty *pen = state->problem.penalty;
    const uint32_t k = state->width;
    double fall = 0;

    for (uint32_t j = 0; j < state->columns && !pen->grouped && !pen->tangent;
         j++) {
        const glm_term term = glm_term_of(state, j);
        double *w = numbers + (size_t)j * k;
        const double t = glm_is_free(&term) ? 0 : best_shift(&term, k, w);
        for (uint32_t l = 0; l < k && t != 0; l++) {
            fall += pen->value(&term, &w[l]);
            w[l] -= t;
            fall -= pen->value(&term, &w[l]);
        }
    }
    return fall;
}

/* `beyond` becomes what lies beyond the laps; false where they show no
 * direction. */
static bool extrapolate(const glm_laps *laps, size_t n, double *beyond)
{
    const double *past[LINEAR_STEPS + 1];
    double c[LINEAR_STEPS];

    for (uint32_t i = 0; i <= LINEAR_STEPS; i++)
        past[i] = past_of(laps, i);
    if (!linear_combine(past, n, c))
        return false;
    for (size_t k = 0; k < n; k++) {
        beyond[k] = 0;
        for (uint32_t i = 0; i < LINEAR_STEPS; i++)
            beyond[k] += c[i] * past_of(laps, i + 1)[k];
    }
    return true;
}

/* Whether there is a way from where all stands to `to`, which it goes. */
static bool go(strads_commit *commit, const double *to)
{
    const glm_state *state = commit->state;
    const size_t n = (size_t)commit->block.n * state->width;
    bool moves = false;

    for (size_t k = 0; k < n; k++) {
        commit->change[k] = to[k] - commit->value[k];
        moves = moves || commit->change[k] != 0;
        if (k >= state->columns * state->width)
            state->b[k - state->columns * state->width] = to[k];
    }
    return moves;
}

bool glm_laps_judge(strads_commit *commit)
{
    glm_state *state = commit->state;
    const size_t n = (size_t)commit->block.n * state->width;
    glm_laps *laps = &state->laps;
    const bool leapt = laps->leapt;

    if (!laps->past)
        return false;
    laps->leapt = false;
    if (leapt && !(state->joint.primal <= laps->before * (1 + ROUNDING)))
        return go(commit, past_of(laps, LINEAR_STEPS));
    double *to = past_of(laps, laps->n++);
    memcpy(to, commit->value, n * sizeof(*to));
    laps->before = state->joint.primal - shift(state, to);
    if (laps->n == PAST) {
        laps->n = 0;
        laps->leapt = extrapolate(laps, n, laps->to);
    }
    return go(commit, laps->leapt ? laps->to : to);
}
