/* Anderson extrapolation of sweeps over a block (Bertrand and Massias,
 * "Anderson acceleration of coordinate descent", AISTATS 2021): the combination
 * of their ends that cancels most of their movement. `lasting` is affine in w,
 * so the same combination of it is right there, and nothing is computed anew.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_steps.h"
#include "logistic_parts.h"

enum { STEPS = LINEAR_STEPS };

strads_err logistic_past_reserve(logistic_set *set, uint32_t n)
{
    if (!set->past_rest)
        set->past_rest =
            malloc(((STEPS + 1) * set->n_rows + 1) * sizeof(double));
    if (n > set->room_past) {
        free(set->past_w);
        set->past_w = malloc((size_t)(STEPS + 1) * 2 * n * sizeof(double));
        set->room_past = set->past_w ? 2 * n : 0;
    }
    if (set->past_rest && (set->past_w || n == 0))
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the last sweeps over %u columns and %llu "
                       "rows",
                       n, (unsigned long long)set->n_rows);
}

static double *past_w(const logistic_set *set, uint32_t step)
{
    return set->past_w + (size_t)step * set->room_past;
}

static double *past_rest(const logistic_set *set, uint32_t step)
{
    return set->past_rest + step * set->n_rows;
}

void logistic_past_note(logistic_set *set, uint32_t step, uint32_t n,
                        const uint32_t *place)
{
    for (uint32_t k = 0; k < n; k++)
        past_w(set, step)[k] = set->member[place[k]].w;
    memcpy(past_rest(set, step), set->lasting, set->n_rows * sizeof(double));
}

void logistic_past_return(logistic_set *set, uint32_t step, uint32_t n,
                          const uint32_t *place)
{
    for (uint32_t k = 0; k < n; k++)
        set->member[place[k]].w = past_w(set, step)[k];
    memcpy(set->lasting, past_rest(set, step), set->n_rows * sizeof(double));
}

uint32_t logistic_past_turned(const logistic_set *set, uint32_t n,
                              const uint32_t *place)
{
    uint32_t turned = 0;

    for (uint32_t k = 0; k < n; k++) {
        const double v = past_w(set, 0)[k], w = set->member[place[k]].w;
        turned += (v > 0) != (w > 0) || (v < 0) != (w < 0);
    }
    return turned;
}

/* Goes to sum c_i (w, lasting) of the sweeps' ends. */
static void go(logistic_state *state, const double c[STEPS], uint32_t n,
               const uint32_t *place)
{
    logistic_set *set = &state->set;

    for (uint32_t k = 0; k < n; k++) {
        double w = 0;
        for (uint32_t i = 0; i < STEPS; i++)
            w += c[i] * past_w(set, i + 1)[k];
        set->member[place[k]].w = w;
    }
    memset(set->lasting, 0, set->n_rows * sizeof(double));
    for (uint32_t i = 0; i < STEPS; i++)
        state->kernels->add_dense(set->n_rows, c[i], past_rest(set, i + 1),
                                  set->lasting);
}

/* |lasting - beta root|^2 = |lasting|^2 - beta^2 mass at the best beta. */
double logistic_model_value(logistic_state *state, uint32_t n,
                            const uint32_t *place)
{
    logistic_set *set = &state->set;
    const column_kernels *kernels = state->kernels;
    double sum =
        kernels->dot_dense(set->n_rows, set->lasting, set->lasting) / 2;

    if (state->options.intercept) {
        set->beta = kernels->dot_dense(set->n_rows, set->root, set->lasting) /
                    set->mass;
        sum -= set->beta * set->beta * set->mass / 2;
    }
    for (uint32_t k = 0; k < n; k++) {
        const logistic_member *m = &set->member[place[k]];
        const double w = state->scale[m->column] * m->w;
        sum += state->l1 * fabs(w) + state->l2 / 2 * w * w;
    }
    return sum;
}

void logistic_extrapolate(logistic_state *state, uint32_t n,
                          const uint32_t *place)
{
    logistic_set *set = &state->set;
    const double *past[STEPS + 1];
    double c[STEPS];
    const double before = logistic_model_value(state, n, place);
    const double beta = set->beta;

    for (uint32_t i = 0; i <= STEPS; i++)
        past[i] = past_w(set, i);
    if (!linear_combine(past, n, c))
        return;
    go(state, c, n, place);
    if (logistic_model_value(state, n, place) < before) {
        set->leapt = true;
        return;
    }
    logistic_past_return(set, STEPS, n, place);
    set->beta = beta;
}
