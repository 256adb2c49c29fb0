/* What is the Lasso's own of a path: the residual, the working set and its
 * pairs stay from point to point. */
#include "lasso_path.h"

#include <math.h>

#include "apps/linear/linear_steps.h"

/* ---- options and memory ------------------------------------------------ */

linear_lambdas lasso_path_lambdas(const strads_lasso_path_options *o)
{
    return (linear_lambdas){o->points, o->ratio, o->first, o->lambdas,
                            o->lambda};
}

static strads_err resolve(const strads_lasso_path_options *given,
                          strads_lasso_options *fit, linear_lambdas *lambdas)
{
    const strads_lasso_path_options o = *given;
    strads_err err;

    if (o.fit.lambda != 0 || o.fit.lambda_ratio != 0)
        return strads_fail(STRADS_EINVAL,
                           "a path has lambdas of its own; leave lambda and "
                           "lambda-ratio at 0, and give first and ratio");
    *lambdas = lasso_path_lambdas(given);
    err = linear_lambdas_resolve(lambdas);
    return err ? err : lasso_options_resolve(&given->fit, fit);
}

strads_err lasso_path_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    strads_lasso_options fit;
    linear_lambdas lambdas;
    const strads_err err = resolve(config, &fit, &lambdas);

    return err ? err : lasso_shape(&fit, data, shape);
}

strads_err lasso_path_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out)
{
    strads_lasso_options fit;
    linear_lambdas lambdas;
    void *begun = NULL;
    strads_err err = resolve(config, &fit, &lambdas);

    if (!err)
        err = lasso_begin(config, data, shape, &begun);
    if (!err)
        err = linear_path_new(&lambdas, false, &((lasso_state *)begun)->path);
    if (err) {
        lasso_end(begun);
        return err;
    }
    *out = begun;
    return STRADS_OK;
}

/* ---- from point to point ----------------------------------------------- */

static void go_to(void *at, double lambda)
{
    lasso_state *state = at;
    const double n = state->rows > 0 ? state->rows : 1;

    state->path->before = state->l1;
    state->path->fresh = true;
    state->lambda = lambda;
    state->l1 = n * lambda * state->options.l1_ratio;
    state->l2 = n * lambda * (1 - state->options.l1_ratio);
    state->dual = 0;
    state->watch.least = INFINITY;
    state->watch.idle = 0;
    state->watch.stalled = false;
    state->shrink = 1;
}

void lasso_path_start(lasso_state *state)
{
    linear_path *path = state->path;

    go_to(state, linear_path_begin(path, state->lambda_max));
    path->before = state->l1;
}

static linear_standing stand(const void *at)
{
    const lasso_state *state = at;
    const double n = state->rows > 0 ? state->rows : 1;

    return (linear_standing){.lambda = state->lambda,
                             .objective = state->primal / n,
                             .gap = state->primal > 0
                                        ? state->gap / state->primal
                                        : 0,
                             .intercept = state->intercept,
                             .deviance = state->squares,
                             .nonzeros = state->nonzeros,
                             .stalled = state->watch.stalled};
}

static void certify(strads_commit *commit)
{
    lasso_certify(commit);
}

strads_err lasso_path_advance(strads_commit *commit, double *dual)
{
    static const linear_path_steps steps = {.stand = stand,
                                            .go = go_to,
                                            .certify = certify};
    lasso_state *state = commit->state;
    bool moved;
    const strads_err err = linear_path_advance(commit, state->path, &steps,
                                               state->columns, &moved);

    *dual = moved ? 0 : *dual;
    return err;
}

/* Slopes seldom change faster than L1 does: who is below 2 L1 - L1_before stays
 * below L1 (Tibshirani et al., "Strong rules for discarding predictors in
 * Lasso-type problems", J. R. Stat. Soc. B 74, 2012). A guess: scans tell. */
void lasso_path_seed(lasso_state *state, uint32_t most)
{
    const double level = 2 * state->l1 - state->path->before;
    double *steepness = state->told; /* free until priorities are told */
    uint32_t n = 0;

    if (!state->path->fresh)
        return;
    state->path->fresh = false;
    for (uint32_t k = 0; k < lasso_seen(state); k++) {
        const uint32_t j = lasso_seen_at(state, k);
        const double slope = state->slope[j] / lasso_scale(state, j);
        steepness[j] = state->options.positive ? slope : fabs(slope);
        if (!state->in_set[j] && state->norm[j] > 0 && steepness[j] >= level)
            state->candidate[n++] = j;
    }
    if (n > most) {
        linear_select(steepness, state->candidate, n, most);
        n = most;
    }
    for (uint32_t k = 0; k < n; k++)
        lasso_join(state, state->candidate[k]);
}

double lasso_path_level(const lasso_state *state)
{
    const linear_path *path = state->path;
    const double n = state->rows > 0 ? state->rows : 1;

    if (path->n + 1 >= path->points)
        return state->l1;
    return 2 * n * path->lambda[path->n + 1] * state->options.l1_ratio -
           state->l1;
}

/* ---- progress and results ---------------------------------------------- */

strads_err lasso_path_objective(void *user, strads_report *report)
{
    const lasso_state *state = user;
    const linear_standing at = stand(state);

    linear_path_report(state->path, &at, report);
    return STRADS_OK;
}

strads_err lasso_path_pack(const void *state, strads_bytes *out)
{
    return linear_path_pack(((const lasso_state *)state)->path, out);
}

strads_err lasso_path_unpack(void *state, const void *bytes, size_t size)
{
    return linear_path_unpack(((lasso_state *)state)->path, bytes, size);
}

const strads_path_point *strads_lasso_path(const void *state, uint32_t *n)
{
    const linear_path *path = ((const lasso_state *)state)->path;

    *n = path ? path->n : 0;
    return path ? path->point : NULL;
}
