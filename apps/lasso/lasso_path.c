/* The points of a path, lambda_k = lambda_0 ratio^(k / (points - 1)), one after
 * the other in one run: the residual, the working set and its pairs stay. Each
 * point has a certificate of its own, from the scan that ends it. */
#include "lasso_path.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "apps/linear/linear_options.h"
#include "apps/linear/linear_steps.h"

enum { POINTS_MAX = 10000 };

const strads_lasso_path_options lasso_path_defaults = {.fit = {.l1_ratio = 1},
                                                       .points = 100,
                                                       .ratio = 0.01};

const strads_option lasso_path_option_table[] = {
    {.name = "points",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(strads_lasso_path_options, points),
     .metavar = "N",
     .help = "how many lambdas (default 100)",
     .min = 1,
     .max = POINTS_MAX},
    {.name = "ratio",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_path_options, ratio),
     .metavar = "R",
     .help = "the last lambda as a share of the first (default 0.01)",
     .min = DBL_MIN,
     .max = 1},
    {.name = "first",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_path_options, first),
     .metavar = "L",
     .help = "the first lambda (default: lambda_max)",
     .min = 0,
     .max = DBL_MAX},
    {.name = "l1-ratio",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(strads_lasso_path_options, fit.l1_ratio),
     .metavar = "A",
     .help = "share of |w|_1 in the penalty, 1: Lasso (default 1)",
     .min = LASSO_L1_RATIO_MIN,
     .max = 1},
    LINEAR_OPTION_INTERCEPT(offsetof(strads_lasso_path_options, fit.intercept)),
    LINEAR_OPTION_STANDARDIZE(
        offsetof(strads_lasso_path_options, fit.standardize)),
    {.name = "positive",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(strads_lasso_path_options, fit.positive),
     .help = "keep all coefficients at or above 0"},
    {.name = NULL}};

/* ---- options and memory ------------------------------------------------ */

static strads_err resolve(const strads_lasso_path_options *given,
                          strads_lasso_path_options *out)
{
    strads_lasso_path_options o = *given;

    if (o.points == 0)
        o.points = lasso_path_defaults.points;
    if (o.ratio == 0)
        o.ratio = lasso_path_defaults.ratio;
    if (o.fit.lambda != 0 || o.fit.lambda_ratio != 0)
        return strads_fail(STRADS_EINVAL,
                           "a path has lambdas of its own; leave lambda and "
                           "lambda-ratio at 0, and give first and ratio");
    if (o.points > POINTS_MAX)
        return strads_fail(STRADS_EINVAL, "points is %u; it must be at most %d",
                           o.points, POINTS_MAX);
    if (!(o.ratio > 0 && o.ratio <= 1))
        return strads_fail(STRADS_EINVAL,
                           "ratio is %g; it must be above 0, and at most 1",
                           o.ratio);
    if (!(o.first >= 0 && o.first <= DBL_MAX))
        return strads_fail(STRADS_EINVAL,
                           "first is %g; it must be a number from 0 up",
                           o.first);
    *out = o;
    return lasso_options_resolve(&given->fit, &out->fit);
}

strads_err lasso_path_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    strads_lasso_path_options resolved;
    const strads_err err = resolve(config, &resolved);

    return err ? err : lasso_shape(&resolved.fit, data, shape);
}

strads_err lasso_path_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out)
{
    const strads_lasso_path_options *given = config;
    void *begun = NULL;
    strads_err err = lasso_begin(&given->fit, data, shape, &begun);
    lasso_path *path = err ? NULL : calloc(1, sizeof(*path));

    if (path) {
        ((lasso_state *)begun)->path = path;
        err = resolve(given, &path->options);
    }
    if (path && !err)
        path->point = calloc(path->options.points, sizeof(*path->point));
    if (!err && (!path || !path->point))
        err = strads_fail(STRADS_ENOMEM, "no memory for the points of a path");
    if (err) {
        lasso_end(begun);
        return err;
    }
    *out = begun;
    return STRADS_OK;
}

void lasso_path_free(lasso_path *path)
{
    if (!path)
        return;
    for (uint32_t k = 0; path->point && k < path->n; k++) {
        free((void *)path->point[k].index);
        free((void *)path->point[k].value);
    }
    free(path->point);
    free(path);
}

/* ---- from point to point ----------------------------------------------- */

static void go_to(lasso_state *state, double lambda)
{
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
    lasso_path *path = state->path;

    path->first =
        path->options.first > 0 ? path->options.first : state->lambda_max;
    go_to(state, path->first);
    path->before = state->l1;
}

/* lambda of point k. */
static double lambda_at(const lasso_path *path, uint32_t k)
{
    const double last = path->options.points - 1;

    return k == 0 ? path->first
                  : path->first * pow(path->options.ratio, k / last);
}

/* The coefficients w[columns] that are not 0, for a point to own. */
static strads_err keep_coefficients(const lasso_state *state, const double *w,
                                    strads_lasso_point *point)
{
    uint32_t *index = calloc(state->nonzeros + 1, sizeof(*index));
    double *value = calloc(state->nonzeros + 1, sizeof(*value));
    uint64_t n = 0;

    if (!index || !value) {
        free(index);
        free(value);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the %llu coefficients of a point of "
                           "the path",
                           (unsigned long long)state->nonzeros);
    }
    for (uint32_t j = 0; j < state->columns; j++)
        if (w[j] != 0) {
            index[n] = j;
            value[n++] = w[j];
        }
    point->index = index;
    point->value = value;
    return STRADS_OK;
}

static strads_err keep_point(const strads_commit *commit)
{
    const lasso_state *state = commit->state;
    lasso_path *path = state->path;
    strads_lasso_point point = {
        .lambda = state->lambda,
        .objective = state->primal / (state->rows > 0 ? state->rows : 1),
        .gap = state->primal > 0 ? state->gap / state->primal : 0,
        .intercept = state->intercept,
        .nonzeros = state->nonzeros,
        .round = commit->round};
    const strads_err err = keep_coefficients(state, commit->value, &point);

    if (err)
        return err;
    path->point[path->n++] = point;
    path->worst = fmax(path->worst, point.gap);
    return STRADS_OK;
}

static bool is_reached(const strads_commit *commit)
{
    const lasso_state *state = commit->state;

    return state->watch.stalled ||
           state->gap <= commit->tolerance * state->primal;
}

strads_err lasso_path_advance(strads_commit *commit, double *dual)
{
    lasso_state *state = commit->state;
    lasso_path *path = state->path;

    while (!lasso_path_is_over(path) && is_reached(commit)) {
        const strads_err err = keep_point(commit);
        if (err || lasso_path_is_over(path))
            return err;
        go_to(state, lambda_at(path, path->n));
        lasso_certify(state, commit->partial, commit->value);
        *dual = 0;
    }
    return STRADS_OK;
}

bool lasso_path_is_over(const lasso_path *path)
{
    return path->n == path->options.points;
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
    for (uint32_t j = 0; j < state->columns; j++) {
        const double slope = state->slope[j] / state->scale[j];
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

/* ---- progress and results ---------------------------------------------- */

/* The gap of a path is the worst of its points'; one that is not reached may
 * have any gap up to 1. */
strads_err lasso_path_objective(void *user, strads_report *report)
{
    const lasso_state *state = user;
    const lasso_path *path = state->path;
    const bool over = lasso_path_is_over(path);

    report->objective = state->primal / (state->rows > 0 ? state->rows : 1);
    report->gap = over ? path->worst : 1;
    report->nonzeros = state->nonzeros;
    report->stop = over;
    report->measure[0] = path->n;
    report->measure[1] = state->lambda;
    return STRADS_OK;
}

const strads_lasso_point *strads_lasso_path(const void *state, uint32_t *n)
{
    const lasso_path *path = ((const lasso_state *)state)->path;

    *n = path ? path->n : 0;
    return path ? path->point : NULL;
}
