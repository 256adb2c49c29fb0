/* What is the logistic regression's own of a path: margins and the working set
 * stay from point to point, and all columns stay alive, as what one lambda
 * screens the next may need. */
#include "logistic_path.h"

#include <math.h>

#include "apps/linear/linear_steps.h"

linear_lambdas logistic_path_lambdas(const strads_logistic_path_options *o)
{
    return (linear_lambdas){o->points, o->ratio, o->first, o->lambdas,
                            o->lambda};
}

static strads_err resolve(const strads_logistic_path_options *given,
                          linear_lambdas *lambdas)
{
    const strads_logistic_path_options o = *given;
    strads_logistic_options fit;
    strads_err err;

    if (o.fit.lambda != 0 || o.fit.lambda_ratio != 0 || o.fit.c != 0)
        return strads_fail(STRADS_EINVAL,
                           "a path has lambdas of its own; leave lambda, "
                           "lambda-ratio and c at 0, and give first and ratio");
    if (!(o.fit.l1_ratio > 0))
        return strads_fail(STRADS_EINVAL,
                           "a path begins where all coefficients are 0, and an "
                           "L2 penalty alone has no such lambda: l1-ratio must "
                           "be %g at least",
                           LOGISTIC_L1_RATIO_MIN);
    *lambdas = logistic_path_lambdas(given);
    err = linear_lambdas_resolve(lambdas);
    return err ? err : logistic_options_resolve(&given->fit, &fit);
}

strads_err logistic_path_shape(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    linear_lambdas lambdas;
    strads_err err = resolve(config, &lambdas);

    if (!err)
        err = logistic_shape(config, data, shape);
    if (!err && shape->width > 1)
        err = strads_fail(STRADS_EINVAL,
                          "there are %u different labels; a path is for two",
                          shape->width);
    return err;
}

strads_err logistic_path_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **out)
{
    linear_lambdas lambdas;
    void *begun = NULL;
    strads_err err = resolve(config, &lambdas);

    if (!err)
        err = logistic_begin(config, data, shape, &begun);
    if (!err)
        err =
            linear_path_new(&lambdas, false, &((logistic_state *)begun)->path);
    if (err) {
        logistic_end(begun);
        return err;
    }
    *out = begun;
    return STRADS_OK;
}

/* ---- from point to point ----------------------------------------------- */

static void go_to(void *at, double lambda)
{
    logistic_state *state = at;
    state->path->before = state->l1;
    state->path->fresh = true;
    state->options.lambda = lambda;
    logistic_begin_lambda(state, lambda);
}

void logistic_path_start(logistic_state *state)
{
    linear_path *path = state->path;

    go_to(state, linear_path_begin(path, state->lambda_max));
    path->before = state->l1;
}

static linear_standing stand(const void *at)
{
    const logistic_state *state = at;

    return (linear_standing){.lambda = state->options.lambda,
                             .objective = state->primal / state->weight,
                             .gap = state->primal > 0
                                        ? state->gap / state->primal
                                        : 0,
                             .intercept = state->b[0],
                             .deviance = 2 * state->loss,
                             .nonzeros = state->nonzeros,
                             .stalled = state->watch.stalled};
}

static void certify(strads_commit *commit)
{
    logistic_certify(commit->state, &commit->block, commit->partial,
                     commit->value);
}

strads_err logistic_path_advance(strads_commit *commit, double *dual)
{
    static const linear_path_steps steps = {.stand = stand,
                                            .go = go_to,
                                            .certify = certify};
    logistic_state *state = commit->state;
    bool moved;
    const strads_err err = linear_path_advance(commit, state->path, &steps,
                                               state->columns, &moved);

    *dual = moved ? 0 : *dual;
    return err;
}

/* The strong rule, as in apps/lasso/lasso_path.c: who is below 2 L1 - L1_before
 * will hardly enter. */
strads_err logistic_path_seed(logistic_state *state, uint32_t most)
{
    const double level = 2 * state->l1 - state->path->before;
    strads_err err = STRADS_OK;
    uint32_t n = 0;

    if (!state->path->fresh)
        return STRADS_OK;
    state->path->fresh = false;
    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        if (!state->set.place[j] && state->steep[j] >= level)
            state->candidate[n++] = j;
    }
    if (n > most) {
        linear_select(state->steep, state->candidate, n, most);
        n = most;
    }
    for (uint32_t k = 0; k < n && !err; k++)
        err = logistic_set_join(state, state->candidate[k], 0);
    return err;
}

/* ---- progress and results ---------------------------------------------- */

strads_err logistic_path_objective(void *user, strads_report *report)
{
    const logistic_state *state = user;
    linear_standing at = stand(state);

    if (state->scans == 0)
        at.objective = NAN;
    linear_path_report(state->path, &at, report);
    return STRADS_OK;
}

strads_err logistic_path_pack(const void *state, strads_bytes *out)
{
    return linear_path_pack(((const logistic_state *)state)->path, out);
}

strads_err logistic_path_unpack(void *state, const void *bytes, size_t size)
{
    return linear_path_unpack(((logistic_state *)state)->path, bytes, size);
}

const strads_path_point *strads_logistic_path(const void *state, uint32_t *n)
{
    const linear_path *path = ((const logistic_state *)state)->path;

    *n = path ? path->n : 0;
    return path ? path->point : NULL;
}
