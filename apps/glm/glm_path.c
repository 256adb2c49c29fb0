/* A path (apps/linear/linear_path.h): margins and working set stay from point to
 * point. */
#include <math.h>

#include "glm_parts.h"

linear_lambdas glm_path_lambdas(const strads_glm_path_options *o)
{
    return (linear_lambdas){o->points, o->ratio, o->first, o->lambdas,
                            o->lambda};
}

static strads_err resolve(const strads_glm_path_options *o,
                          glm_problem *problem, linear_lambdas *lambdas)
{
    strads_err err;

    if (o->fit.lambda != 0 || o->fit.lambda_ratio != 0 || o->fit.c != 0)
        return strads_fail(STRADS_EINVAL,
                           "a path has lambdas of its own; leave lambda, "
                           "lambda-ratio and c at 0, and give first and ratio, "
                           "or lambdas");
    *lambdas = glm_path_lambdas(o);
    if ((err = linear_lambdas_resolve(lambdas)) ||
        (err = glm_options_resolve(&o->fit, problem)))
        return err;
    return problem->penalty->off
               ? strads_fail(STRADS_EINVAL,
                             "the penalty %s has no lambda, and no path",
                             problem->options.penalty)
               : STRADS_OK;
}

strads_err glm_path_shape(const void *config, const strads_data *data,
                          strads_shape *shape)
{
    linear_lambdas lambdas;
    glm_problem problem;
    strads_err err = resolve(config, &problem, &lambdas);

    if (!err)
        err = glm_shape_problem(&problem, data, shape);
    if (!err && shape->width > 1)
        err = strads_fail(STRADS_EINVAL,
                          "there are %u different labels; a path is for two of "
                          "them: name them with classes",
                          shape->width);
    return err;
}

strads_err glm_path_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **out)
{
    linear_lambdas lambdas;
    glm_problem problem;
    void *begun = NULL;
    strads_err err = resolve(config, &problem, &lambdas);

    if (!err)
        err = glm_begin_fit(&problem, data, shape, &begun);
    if (!err)
        err = linear_path_new(&lambdas, &((glm_state *)begun)->path);
    if (err) {
        glm_end(begun);
        return err;
    }
    *out = begun;
    return STRADS_OK;
}

strads_err glm_path_open(const strads_task *task, void **local)
{
    glm_problem problem;
    const strads_err err = glm_options_resolve(task->config, &problem);

    return err ? err : glm_open_problem(&problem, task, local);
}

/* ---- from point to point -------------------------------------------------- */

static linear_standing stand(const void *at)
{
    const glm_state *state = at;

    return (linear_standing){.lambda = state->lambda,
                             .objective = state->primal / state->weight,
                             .gap = state->gap,
                             .intercept = *state->b,
                             .deviance = 2 * state->loss,
                             .nonzeros = state->nonzeros,
                             .stalled = state->watch.stalled};
}

static void go_to(void *state, double lambda)
{
    glm_begin_lambda(state, lambda);
}

strads_err glm_path_advance(strads_commit *commit)
{
    static const linear_path_steps steps = {.stand = stand,
                                            .go = go_to,
                                            .certify = glm_certify};
    glm_state *state = commit->state;

    return linear_path_advance(commit, state->path, &steps, state->columns);
}

/* ---- progress and results ------------------------------------------------- */

strads_err glm_path_objective(void *user, strads_report *report)
{
    const glm_state *state = user;
    linear_standing at = stand(state);

    if (state->scans == 0)
        at.objective = NAN;
    linear_path_report(state->path, &at, report);
    return STRADS_OK;
}

strads_err glm_path_pack(const void *state, strads_bytes *out)
{
    return linear_path_pack(((const glm_state *)state)->path, out);
}

strads_err glm_path_unpack(void *state, const void *bytes, size_t size)
{
    return linear_path_unpack(((glm_state *)state)->path, bytes, size);
}

const strads_path_point *strads_glm_path(const void *state, uint32_t *n)
{
    const linear_path *path = ((const glm_state *)state)->path;

    *n = path ? path->n : 0;
    return path ? path->point : NULL;
}

/* ---- the table ------------------------------------------------------------- */

const char *const glm_path_measures[] = {"points", "lambda", NULL};

const strads_program strads_program_glm_path = {
    GLM_PATH_PROGRAM,
    .name = "glm-path",
    .summary = "generalised linear models along a path of lambdas",
    .options = glm_path_option_table,
    .config_size = sizeof(strads_glm_path_options),
    .defaults = &glm_path_defaults,
    .named_labels = glm_named_labels};
