/* The step of a softmax between two cycles over its classes.
 *
 * The loss does not change if a column's coefficients of all classes move by
 * the same t, but the penalty does. Class after class can follow that only in
 * small steps, so the best t is subtracted after each cycle (as in Friedman,
 * Hastie, Tibshirani, "Regularization paths for generalized linear models via
 * coordinate descent", J. Statistical Software 33, 2010, section 4.1).
 *
 * The remainder converges by a constant factor per cycle in the end. So the
 * ends of cycles are extrapolated like sweeps over a block (Bertrand and
 * Massias, AISTATS 2021). The next evaluation of the whole checks that P
 * decreased; if not, the extrapolation is taken back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/linear_steps.h"
#include "glm_parts.h"

/* With more numbers per cycle, keeping past cycles costs too much. */
#define NUMBERS_MAX (UINT64_C(1) << 22)

/* An increase of P by this share is rounding error. */
#define ROUNDING 1e-15

enum { PAST = LINEAR_STEPS + 1 };

strads_err glm_cycles_new(glm_state *state)
{
    glm_cycles *cycles = &state->cycles;

    cycles->numbers = (state->columns + 1) * state->width;
    if (cycles->numbers > NUMBERS_MAX)
        return STRADS_OK;
    cycles->past = malloc(PAST * cycles->numbers * sizeof(double));
    cycles->to = malloc(cycles->numbers * sizeof(double));
    if (cycles->past && cycles->to)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for %d cycles of %llu numbers",
                       PAST, (unsigned long long)cycles->numbers);
}

void glm_cycles_free(glm_cycles *cycles)
{
    free(cycles->past);
    free(cycles->to);
}

static double *past_of(const glm_cycles *cycles, uint32_t cycle)
{
    return cycles->past + cycle * cycles->numbers;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The t that minimises sum_k (l1 |w_k - t| + l2/2 (w_k - t)^2): the median
 * of all w_k and of the points where the slope is 0 if i of them are below t.
 */
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
    qsort(at, 2 * (size_t)k + 1, sizeof(*at), compare_doubles);
    return at[k];
}

/* Subtracts the best t from each column; returns the decrease of the
 * penalty. */
static double take_out_shifts(const glm_state *state, double *numbers)
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

/* Sets `beyond` to the extrapolation of the cycles; false if they show no
 * direction. */
static bool extrapolate(const glm_cycles *cycles, size_t n, double *beyond)
{
    const double *past[LINEAR_STEPS + 1];
    double c[LINEAR_STEPS];

    for (uint32_t i = 0; i <= LINEAR_STEPS; i++)
        past[i] = past_of(cycles, i);
    if (!linear_combine(past, n, c))
        return false;
    for (size_t k = 0; k < n; k++) {
        beyond[k] = 0;
        for (uint32_t i = 0; i < LINEAR_STEPS; i++)
            beyond[k] += c[i] * past_of(cycles, i + 1)[k];
    }
    return true;
}

/* Moves all numbers to `to`; returns false if nothing changes. */
static bool move_to(strads_commit *commit, const double *to)
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

bool glm_cycles_next(strads_commit *commit)
{
    glm_state *state = commit->state;
    const size_t n = (size_t)commit->block.n * state->width;
    glm_cycles *cycles = &state->cycles;
    const bool extrapolated = cycles->extrapolated;

    if (!cycles->past)
        return false;
    cycles->extrapolated = false;
    if (extrapolated &&
        !(state->joint.primal <= cycles->before * (1 + ROUNDING)))
        return move_to(commit, past_of(cycles, LINEAR_STEPS));
    double *to = past_of(cycles, cycles->n++);
    memcpy(to, commit->value, n * sizeof(*to));
    cycles->before = state->joint.primal - take_out_shifts(state, to);
    if (cycles->n == PAST) {
        cycles->n = 0;
        cycles->extrapolated = extrapolate(cycles, n, cycles->to);
    }
    return move_to(commit, cycles->extrapolated ? cycles->to : to);
}
