/* Anderson extrapolation of descent sweeps (Bertrand and Massias, "Anderson
 * acceleration of coordinate descent", AISTATS 2021): the combination
 * sum c_i w_i, sum c_i = 1, that makes sum c_i (w_(i+1) - w_i) smallest,
 *
 *     (D'D) z = 1,   c = z / sum z,   D_i = w_(i+1) - w_i.
 *
 * q = X_c' (y_c - X_c w) is affine in w, so the same combination of the q_i is
 * the gradient there, and nothing is computed anew. Since
 *
 *     |r - X d|^2 / 2 - |r|^2 / 2 = -d'(q + q_new) / 2,
 *
 * whether P falls is known in O(n). */
#include <math.h>
#include <string.h>

#include "apps/linear/linear_steps.h"
#include "lasso_gram.h"

enum { STEPS = LINEAR_STEPS };

static const double *past_w(const lasso_gram *gram, uint32_t i)
{
    return gram->past + (size_t)2 * i * gram->capacity;
}

static const double *past_q(const lasso_gram *gram, uint32_t i)
{
    return past_w(gram, i) + gram->capacity;
}

static void combine(const lasso_gram *gram, const double c[STEPS],
                    double *w_out, double *q_out)
{
    memset(w_out, 0, gram->n * sizeof(*w_out));
    memset(q_out, 0, gram->n * sizeof(*q_out));
    for (uint32_t i = 0; i < STEPS; i++) {
        const double *w = past_w(gram, i + 1), *q = past_q(gram, i + 1);
        for (uint32_t k = 0; k < gram->n; k++) {
            w_out[k] += c[i] * w[k];
            q_out[k] += c[i] * q[k];
        }
    }
}

double lasso_rise(const lasso_state *state, const double *w_new,
                  const double *q_new)
{
    const lasso_gram *gram = state->gram;
    double sum = 0;

    for (uint32_t k = 0; k < gram->n; k++) {
        const double s = lasso_scale(state, gram->member[k]), w = gram->w[k];
        sum -= (w_new[k] - w) * (gram->q[k] + q_new[k]) / 2;
        sum += state->l1 * s * (fabs(w_new[k]) - fabs(w));
        sum += state->l2 / 2 * s * s * (w_new[k] * w_new[k] - w * w);
    }
    return sum;
}

static bool is_allowed(const lasso_state *state, const lasso_gram *gram,
                       const double *w)
{
    for (uint32_t k = 0; k < gram->n && state->options.positive; k++)
        if (w[k] < 0)
            return false;
    return true;
}

bool lasso_extrapolate(const lasso_state *state, lasso_gram *gram,
                       double *w_out, double *q_out)
{
    const double *past[STEPS + 1];
    double c[STEPS];

    if (gram->n_past < LASSO_GRAM_PAST)
        return false;
    for (uint32_t i = 0; i <= STEPS; i++)
        past[i] = past_w(gram, i);
    if (!linear_combine(past, gram->n, c))
        return false;
    combine(gram, c, w_out, q_out);
    return is_allowed(state, gram, w_out) &&
           lasso_rise(state, w_out, q_out) < 0;
}
