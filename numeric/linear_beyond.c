/* Anderson extrapolation of sweeps over a block (Bertrand and Massias,
 * "Anderson acceleration of coordinate descent", AISTATS 2021): the linear
 * combination of the iterates that cancels most of their movement. `lasting` is
 * affine in w, so the same combination gives it without another computation. */
#include <stdlib.h>
#include <string.h>

#include "linear_set.h"

enum { STEPS = LINEAR_STEPS };

strads_err linear_past_reserve(linear_set *set, uint32_t n)
{
    if (!set->past_rest || set->n_rows > set->room_rest) {
        free(set->past_rest);
        set->past_rest =
            malloc(((STEPS + 1) * set->n_rows + 1) * sizeof(double));
        set->room_rest = set->n_rows;
    }
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

static double *past_w(const linear_set *set, uint32_t step)
{
    return set->past_w + (size_t)step * set->room_past;
}

static double *past_rest(const linear_set *set, uint32_t step)
{
    return set->past_rest + step * set->n_rows;
}

void linear_past_note(linear_set *set, uint32_t step, uint32_t n,
                      const uint32_t *place)
{
    for (uint32_t k = 0; k < n; k++)
        past_w(set, step)[k] = set->member[place[k]].w;
    memcpy(past_rest(set, step), set->lasting, set->n_rows * sizeof(double));
}

static void go_back(linear_set *set, uint32_t n, const uint32_t *place)
{
    for (uint32_t k = 0; k < n; k++)
        set->member[place[k]].w = past_w(set, STEPS)[k];
    memcpy(set->lasting, past_rest(set, STEPS), set->n_rows * sizeof(double));
}

uint32_t linear_past_turned(const linear_set *set, uint32_t n,
                            const uint32_t *place)
{
    uint32_t turned = 0;

    for (uint32_t k = 0; k < n; k++) {
        const double v = past_w(set, 0)[k], w = set->member[place[k]].w;
        turned += (v > 0) != (w > 0) || (v < 0) != (w < 0);
    }
    return turned;
}

/* Moves to sum c_i (w, lasting) over the iterates after sweeps. */
static void move_to_combination(linear_set *set, const double c[STEPS],
                                uint32_t n, const uint32_t *place)
{
    for (uint32_t k = 0; k < n; k++) {
        double w = 0;
        for (uint32_t i = 0; i < STEPS; i++)
            w += c[i] * past_w(set, i + 1)[k];
        set->member[place[k]].w = w;
    }
    memset(set->lasting, 0, set->n_rows * sizeof(double));
    for (uint32_t i = 0; i < STEPS; i++)
        set->is.kernels->add_dense(set->n_rows, c[i], past_rest(set, i + 1),
                                   set->lasting);
}

void linear_beyond(linear_set *set, uint32_t n, const uint32_t *place)
{
    const double *past[STEPS + 1];
    double c[STEPS];
    const double before = linear_set_value(set, n, place);
    const double beta = set->beta;

    for (uint32_t i = 0; i <= STEPS; i++)
        past[i] = past_w(set, i);
    if (!linear_combine(past, n, c))
        return;
    move_to_combination(set, c, n, place);
    if (linear_set_value(set, n, place) < before) {
        set->leapt = true;
        return;
    }
    go_back(set, n, place);
    set->beta = beta;
}
