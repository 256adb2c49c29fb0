/* What is known of every column before the first scan: norm and scale, and with
 * them lambda_max and lambda. A column whose variance is no larger than the
 * rounding of its sums never enters under an intercept, which could only
 * imitate it. */
#include <math.h>

#include "logistic_parts.h"

/* sum c x^2 - that of the mean: below this share of it, it is rounding. */
#define ROUNDING 1e-12

static void set_column(logistic_state *state, uint64_t j, double sum,
                       double squares)
{
    const double mean = sum / state->weight;
    const double centred = squares - state->weight * mean * mean;
    const bool varies = centred > ROUNDING * squares;

    state->mean[j] = mean;
    state->norm[j] = varies ? centred : 0;
    state->scale[j] = varies ? 1 : 0;
    if (state->options.standardize && varies)
        state->scale[j] = sqrt(centred / state->weight);
}

static double lambda_of(const logistic_state *state)
{
    const strads_logistic_options *o = &state->options;

    if (o->lambda > 0)
        return o->lambda;
    return o->c > 0 ? 1 / (o->c * state->weight)
                    : o->lambda_ratio * state->lambda_max;
}

/* lambda_max = max_j |x_j' r| / (s_j W l1_ratio) at w = 0, where b is the best
 * one: below it some column's slope exceeds its penalty's. An L2 penalty alone
 * never makes all coefficients 0; then it is that of the least l1_ratio. */
void logistic_set_moments(logistic_state *state, const double *merged)
{
    const uint64_t p = state->columns;
    const double *slope = merged, *squares = slope + p + LOGISTIC_SIDES;
    const double *sum = state->options.intercept ? squares + p : NULL;
    strads_logistic_options *o = &state->options;
    double steepest = 0;

    state->n_alive = 0;
    state->least_norm = INFINITY;
    for (uint64_t j = 0; j < p; j++) {
        set_column(state, j, sum ? sum[j] : 0, squares[j]);
        const double s = state->scale[j];
        if (s == 0)
            continue;
        steepest = fmax(steepest, fabs(slope[j]) / s);
        state->least_norm = fmin(state->least_norm, state->norm[j] / (s * s));
        state->alive[state->n_alive++] = (uint32_t)j;
    }
    state->lambda_max =
        fmax(state->lambda_max,
             steepest /
                 (state->weight * fmax(o->l1_ratio, LOGISTIC_L1_RATIO_MIN)));
    if (state->surveys)
        return;
    o->lambda = lambda_of(state);
    o->lambda_ratio = o->c = 0;
    logistic_begin_lambda(state, o->lambda);
}
