/* A path: one run that goes from lambda to lambda and keeps margins and the
 * working set. A scan that shows that one point is reached is also the first
 * scan of the next: the columns' values are the same, and only bounds and
 * thresholds change. Each point has a certificate, from the scan that ends it.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* The first point that may end a path. */
enum { EARLIEST_END = 5 };

/* ---- lambdas ------------------------------------------------------------- */

strads_err glm_path_check(strads_glm_path_options *o)
{
    if (o->points == 0)
        o->points = GLM_POINTS;
    if (o->ratio == 0)
        o->ratio = .01;
    if (o->points > GLM_POINTS_MAX)
        return strads_fail(STRADS_EINVAL, "points is %u; it must be at most %d",
                           o->points, GLM_POINTS_MAX);
    if (!(o->ratio > 0 && o->ratio <= 1))
        return strads_fail(STRADS_EINVAL,
                           "ratio is %g; it must be above 0, and at most 1",
                           o->ratio);
    if (!(o->most_explained >= 0 && o->most_explained <= 1 &&
          o->least_gain >= 0 && o->least_gain <= 1))
        return strads_fail(STRADS_EINVAL,
                           "most-explained is %g and least-gain %g; they must "
                           "be from 0 to 1",
                           o->most_explained, o->least_gain);
    if (!(o->first >= 0 && o->first <= DBL_MAX))
        return strads_fail(STRADS_EINVAL,
                           "first is %g; it must be a number from 0 up",
                           o->first);
    return STRADS_OK;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the points of a path");
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Parses numbers separated by commas or white space from `text`; `where` is
 * its file, or NULL. */
static strads_err parse_lambdas(const char *text, const char *where,
                                glm_path *path)
{
    const char *at = text;
    unsigned line = 1;

    for (;;) {
        char *end;
        for (; *at && strchr(", \t\r\n", *at); at++)
            line += *at == '\n';
        if (!*at)
            return STRADS_OK;
        const double lambda = strtod(at, &end);
        if (end == at || (*end && !strchr(", \t\r\n", *end)) ||
            !(lambda >= 0 && lambda <= DBL_MAX) ||
            path->points == GLM_POINTS_MAX) {
            char place[16] = "";
            if (where)
                (void)snprintf(place, sizeof(place), ":%u", line);
            return strads_fail(STRADS_EFORMAT,
                               "%s%s: found \"%.*s\"; expected at most %d "
                               "lambdas, numbers from 0 up",
                               where ? where : "lambdas", place,
                               (int)strcspn(at, ", \t\r\n"), at,
                               GLM_POINTS_MAX);
        }
        path->lambda[path->points++] = lambda;
        at = end;
    }
}

static strads_err read_lambdas(const char *name, glm_path *path)
{
    enum { BYTES = GLM_POINTS_MAX * 32 };
    FILE *file = fopen(name, "re");
    strads_err err = STRADS_OK;

    if (!file)
        return strads_fail(STRADS_EINVAL,
                           "lambdas is \"%s\"; expected numbers separated by "
                           "commas, or a file of them (%s)",
                           name, strerror(errno));
    char *text = malloc(BYTES + 1);
    if (!text) {
        err = no_memory();
    } else {
        text[fread(text, 1, BYTES, file)] = '\0';
        if (ferror(file))
            err = strads_fail(STRADS_EINVAL, "lambdas: %s cannot be read: %s",
                              name, strerror(errno));
        else
            err = parse_lambdas(text, name, path);
    }
    free(text);
    (void)fclose(file);
    return err;
}

static strads_err take_list(const strads_glm_path_options *from, glm_path *path)
{
    const char *text = from->lambdas;
    strads_err err = STRADS_OK;

    path->points = 0;
    if (from->lambda) {
        memcpy(path->lambda, from->lambda, from->points * sizeof(double));
        path->points = from->points;
    } else if (text[strspn(text, "0123456789.eE+-, ")] == '\0') {
        err = parse_lambdas(text, NULL, path);
    } else {
        err = read_lambdas(text, path);
    }
    if (!err && path->points == 0)
        err = strads_fail(STRADS_EINVAL, "lambdas: %s has none", text);
    for (uint32_t k = 0; k < path->points && !err; k++)
        if (!(path->lambda[k] >= 0 && path->lambda[k] <= DBL_MAX))
            err = strads_fail(STRADS_EINVAL,
                              "one of the lambdas is %g; expected numbers from "
                              "0 up",
                              path->lambda[k]);
    if (!err)
        qsort(path->lambda, path->points, sizeof(double), falling);
    return err;
}

strads_err glm_path_new(const strads_glm_path_options *o, glm_path **out)
{
    glm_path *path = calloc(1, sizeof(*path));
    strads_err err = STRADS_OK;

    if (!path)
        return no_memory();
    *path = (glm_path){.points = o->points,
                       .given = o->lambda || (o->lambdas && *o->lambdas),
                       .first = o->first,
                       .ratio = o->ratio,
                       .most_explained = o->most_explained,
                       .least_gain = o->least_gain,
                       .gaps_of_null = o->gaps_of_null};
    path->lambda = calloc(GLM_POINTS_MAX, sizeof(double));
    if (!path->lambda)
        err = no_memory();
    else if (path->given)
        err = take_list(o, path);
    if (!err && !(path->point = calloc(path->points, sizeof(*path->point))))
        err = no_memory();
    if (err) {
        glm_path_free(path);
        return err;
    }
    *out = path;
    return STRADS_OK;
}

void glm_path_free(glm_path *path)
{
    if (!path)
        return;
    for (uint32_t k = 0; path->point && k < path->n; k++) {
        free((void *)path->point[k].index);
        free((void *)path->point[k].value);
    }
    free(path->point);
    free(path->lambda);
    free(path);
}

/* ---- a fit with a path --------------------------------------------------- */

strads_err glm_path_resolve(const strads_glm_path_options *given,
                            glm_problem *problem, strads_glm_path_options *out)
{
    strads_glm_path_options o = *given;
    strads_err err;

    if (o.fit.lambda != 0 || o.fit.lambda_ratio != 0 || o.fit.c != 0)
        return strads_fail(STRADS_EINVAL,
                           "a path has lambdas of its own; leave lambda, "
                           "lambda-ratio and c at 0, and give first and ratio, "
                           "or lambdas");
    if ((err = glm_path_check(&o)) ||
        (err = glm_options_resolve(&o.fit, problem)))
        return err;
    *out = o;
    problem->is_path = true;
    return problem->penalty->off
               ? strads_fail(STRADS_EINVAL,
                             "the penalty %s has no lambda, and no path",
                             problem->options.penalty)
               : STRADS_OK;
}

strads_err glm_path_shape(const void *config, const strads_data *data,
                          strads_shape *shape)
{
    strads_glm_path_options options;
    glm_problem problem;
    strads_err err = glm_path_resolve(config, &problem, &options);

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
    strads_glm_path_options options;
    glm_problem problem;
    void *begun = NULL;
    strads_err err = glm_path_resolve(config, &problem, &options);

    if (!err)
        err = glm_begin_fit(&problem, data, shape, &begun);
    if (!err)
        err = glm_path_new(&options, &((glm_state *)begun)->path);
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

    problem.is_path = true;
    return err ? err : glm_open_problem(&problem, task, local);
}

/* ---- from point to point ------------------------------------------------- */

double glm_path_first(glm_path *path, double lambda_max)
{
    const double first = path->first > 0 ? path->first : lambda_max;
    const double last = path->points - 1;

    for (uint32_t k = 0; k < path->points && !path->given; k++)
        path->lambda[k] = k == 0 ? first : first * pow(path->ratio, k / last);
    return path->lambda[glm_path_is_over(path) ? path->n - 1 : path->n];
}

/* Copies the nonzero coefficients for a point. */
static strads_err keep_coefficients(const strads_commit *commit,
                                    uint64_t columns, strads_path_point *point)
{
    const uint32_t capacity = (uint32_t)point->nonzeros + 1;
    uint32_t *index = calloc(capacity, sizeof(*index));
    double *value = calloc(capacity, sizeof(*value));
    uint32_t n = 0;

    if (!index || !value) {
        free(index);
        free(value);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the %llu coefficients of a point of "
                           "the path",
                           (unsigned long long)point->nonzeros);
    }
    for (uint32_t k = 0; k < commit->block.n && n < point->nonzeros; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (j < columns && commit->value[k] != 0) {
            index[n] = j;
            value[n++] = commit->value[k];
        }
    }
    point->index = index;
    point->value = value;
    return STRADS_OK;
}

/* b of the unshifted columns. */
static double intercept_at(const strads_commit *commit)
{
    const glm_state *state = commit->state;

    return *state->b - glm_origins_sum(state, state->w, 1);
}

/* fmax() would drop a gap that is NaN, of a point that is not certified. */
static void take_gap(glm_path *path, double gap)
{
    path->worst = isnan(gap) ? INFINITY : fmax(path->worst, gap);
}

static strads_err keep_point(const strads_commit *commit)
{
    const glm_state *state = commit->state;
    glm_path *path = state->path;
    strads_path_point point = {.lambda = state->lambda,
                               .objective = state->primal / state->weight,
                               .gap = state->gap,
                               .intercept = intercept_at(commit),
                               .deviance = 2 * state->loss,
                               .nonzeros = state->nonzeros,
                               .round = commit->round};
    const strads_err err = keep_coefficients(commit, state->columns, &point);

    if (err)
        return err;
    path->point[path->n++] = point;
    take_gap(path, point.gap);
    return STRADS_OK;
}

/* Ends the path at the last point if it fits as well as any later one would.
 * The rules and their first point are glmnet's. A point that was reached
 * without a step has the deviance of the one before; the next step's gain is
 * then that of several points. */
static void end_early(const glm_state *state)
{
    glm_path *path = state->path;
    const strads_path_point *point = path->point;
    /* At lambda_max all coefficients with a penalty are 0. */
    const double null = path->first > 0 ? 2 * state->null : point[0].deviance;
    uint32_t first = path->n - 2; /* with the deviance of the point before */

    if (path->given || path->n < EARLIEST_END || !(null > 0))
        return;
    const strads_path_point *last = &point[path->n - 1];
    const double gain = (point[first].deviance - last->deviance) / null;
    while (first > 0 && point[first - 1].deviance == point[first].deviance)
        first--;
    const double explained = 1 - last->deviance / null;
    const double least = path->least_gain * explained;
    if ((path->most_explained > 0 && explained > path->most_explained) ||
        (path->least_gain > 0 && gain != 0 &&
         gain / (path->n - 1 - first) < least))
        path->points = path->n;
}

strads_err glm_path_advance(strads_commit *commit)
{
    glm_state *state = commit->state;
    const glm_path *path = state->path;

    end_early(state); /* a resumed path may be at its end */
    while (!glm_path_is_over(path)) {
        if (!state->watch.stalled && !(state->gap <= commit->tolerance))
            return STRADS_OK;
        const strads_err err = keep_point(commit);
        end_early(state);
        if (err || glm_path_is_over(path))
            return err;
        glm_begin_lambda(state, path->lambda[path->n]);
        glm_certify(commit);
    }
    return STRADS_OK;
}

strads_err glm_path_give_up(strads_commit *commit)
{
    glm_state *state = commit->state;

    state->gap = 1;
    return glm_path_is_over(state->path) ? STRADS_OK : keep_point(commit);
}

bool glm_path_is_over(const glm_path *path)
{
    return path->n == path->points;
}

/* The gap of a path is the worst gap of its points; a point that is not
 * reached may have any gap up to 1. */
strads_err glm_path_objective(void *user, strads_report *report)
{
    const glm_state *state = user;
    const glm_path *path = state->path;

    report->objective = state->scans == 0 ? NAN : state->primal / state->weight;
    report->nonzeros = state->nonzeros;
    report->stop = glm_path_is_over(path) || state->ended;
    report->gap = glm_path_is_over(path) ? path->worst : 1;
    report->measure[0] = path->n;
    report->measure[1] = state->lambda;
    return STRADS_OK;
}

const strads_path_point *strads_glm_path(const void *state, uint32_t *n)
{
    const glm_path *path = ((const glm_state *)state)->path;

    *n = path ? path->n : 0;
    return path ? path->point : NULL;
}

/* ---- checkpoints --------------------------------------------------------- */

strads_err glm_path_walk(strads_walk *w, strads_path_point *point)
{
    uint32_t *index = (uint32_t *)(uintptr_t)point->index;
    double *value = (double *)(uintptr_t)point->value;
    strads_path_point plain = *point;

    plain.index = NULL;
    plain.value = NULL;
    strads_walk_pass(w, &plain, sizeof(plain));
    const size_t n = (size_t)plain.nonzeros;
    if (!w->out) {
        w->is_short = w->is_short || n > (size_t)(w->end - w->from) /
                                             (sizeof(*index) + sizeof(*value));
        if (w->is_short)
            return STRADS_OK;
        index = calloc(n + 1, sizeof(*index));
        value = calloc(n + 1, sizeof(*value));
        plain.index = index;
        plain.value = value;
        *point = plain;
        if (!index || !value)
            return no_memory();
    }
    strads_walk_pass(w, index, n * sizeof(*index));
    strads_walk_pass(w, value, n * sizeof(*value));
    return w->err;
}

strads_err glm_path_pack(const void *state, strads_bytes *out)
{
    const glm_path *path = ((const glm_state *)state)->path;
    strads_walk w = {.out = out};
    uint64_t n = path->n;

    strads_walk_pass(&w, &n, sizeof(n));
    for (uint32_t k = 0; k < n && !w.err; k++)
        (void)glm_path_walk(&w, &path->point[k]);
    return w.err;
}

strads_err glm_path_unpack(void *state, const void *bytes, size_t size)
{
    glm_path *path = ((glm_state *)state)->path;
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};
    uint64_t n = 0;
    strads_err err = STRADS_OK;

    strads_walk_pass(&w, &n, sizeof(n));
    w.is_short = w.is_short || n > path->points;
    while (path->n < n && !w.is_short && !err) {
        strads_path_point *point = &path->point[path->n++];
        err = glm_path_walk(&w, point);
        take_gap(path, point->gap);
    }
    return err || strads_walk_fits(&w)
               ? err
               : strads_fail(STRADS_EFORMAT,
                             "the checkpoint's points are not of this path");
}

/* ---- the table ----------------------------------------------------------- */

const char *const glm_path_measures[] = {"points", "lambda", NULL};

const strads_program strads_program_glm_path = {
    GLM_PATH_PROGRAM,
    .name = "glm-path",
    .summary = "generalised linear models along a path of lambdas",
    .options = glm_path_option_table,
    .config_size = sizeof(strads_glm_path_options),
    .defaults = &glm_path_defaults,
    .named_labels = glm_named_labels};
