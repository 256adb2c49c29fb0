#include "linear_path.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options and memory ------------------------------------------------ */

strads_err linear_lambdas_resolve(linear_lambdas *l)
{
    if (l->points == 0)
        l->points = LINEAR_POINTS;
    if (l->ratio == 0)
        l->ratio = .01;
    if (l->points > LINEAR_POINTS_MAX)
        return strads_fail(STRADS_EINVAL, "points is %u; it must be at most %d",
                           l->points, LINEAR_POINTS_MAX);
    if (!(l->ratio > 0 && l->ratio <= 1))
        return strads_fail(STRADS_EINVAL,
                           "ratio is %g; it must be above 0, and at most 1",
                           l->ratio);
    if (!(l->first >= 0 && l->first <= DBL_MAX))
        return strads_fail(STRADS_EINVAL,
                           "first is %g; it must be a number from 0 up",
                           l->first);
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

/* Numbers with commas or white space between, from `text`; `where` is its file,
 * or NULL. */
static strads_err parse_lambdas(const char *text, const char *where,
                                linear_path *path)
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
            path->points == LINEAR_POINTS_MAX) {
            char place[16] = "";
            if (where)
                (void)snprintf(place, sizeof(place), ":%u", line);
            return strads_fail(STRADS_EFORMAT,
                               "%s%s: found \"%.*s\"; expected at most %d "
                               "lambdas, numbers from 0 up",
                               where ? where : "lambdas", place,
                               (int)strcspn(at, ", \t\r\n"), at,
                               LINEAR_POINTS_MAX);
        }
        path->lambda[path->points++] = lambda;
        at = end;
    }
}

static strads_err read_lambdas(const char *name, linear_path *path)
{
    enum { BYTES = LINEAR_POINTS_MAX * 32 };
    FILE *file = fopen(name, "re");
    strads_err err = STRADS_OK;

    if (!file)
        return strads_fail(STRADS_EINVAL,
                           "lambdas is \"%s\"; expected numbers with commas "
                           "between, or a file of them (%s)",
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

static strads_err take_list(const linear_lambdas *from, linear_path *path)
{
    const char *text = from->text;
    strads_err err = STRADS_OK;

    path->points = 0;
    if (from->list) {
        memcpy(path->lambda, from->list, from->points * sizeof(double));
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

strads_err linear_path_new(const linear_lambdas *lambdas, linear_path **out)
{
    linear_path *path = calloc(1, sizeof(*path));
    strads_err err = STRADS_OK;

    if (!path)
        return no_memory();
    *path = (linear_path){.points = lambdas->points,
                          .given = lambdas->list ||
                                   (lambdas->text && *lambdas->text),
                          .first = lambdas->first,
                          .ratio = lambdas->ratio};
    path->lambda = calloc(LINEAR_POINTS_MAX, sizeof(double));
    if (!path->lambda)
        err = no_memory();
    else if (path->given)
        err = take_list(lambdas, path);
    if (!err && !(path->point = calloc(path->points, sizeof(*path->point))))
        err = no_memory();
    if (err) {
        linear_path_free(path);
        return err;
    }
    *out = path;
    return STRADS_OK;
}

void linear_path_free(linear_path *path)
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

/* ---- from point to point ----------------------------------------------- */

double linear_path_begin(linear_path *path, double lambda_max)
{
    const double first = path->first > 0 ? path->first : lambda_max;
    const double last = path->points - 1;

    for (uint32_t k = 0; k < path->points && !path->given; k++)
        path->lambda[k] = k == 0 ? first : first * pow(path->ratio, k / last);
    return path->lambda[linear_path_is_over(path) ? path->n - 1 : path->n];
}

/* The coefficients that are not 0, for a point to own. */
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

static strads_err keep_point(const strads_commit *commit, linear_path *path,
                             const linear_standing *at, uint64_t columns)
{
    strads_path_point point = {.lambda = at->lambda,
                               .objective = at->objective,
                               .gap = at->gap,
                               .intercept = at->intercept,
                               .deviance = at->deviance,
                               .nonzeros = at->nonzeros,
                               .round = commit->round};
    const strads_err err = keep_coefficients(commit, columns, &point);

    if (err)
        return err;
    path->point[path->n++] = point;
    path->worst = fmax(path->worst, point.gap);
    return STRADS_OK;
}

strads_err linear_path_advance(strads_commit *commit, linear_path *path,
                               const linear_path_steps *steps, uint64_t columns)
{
    while (!linear_path_is_over(path)) {
        const linear_standing at = steps->stand(commit->state);
        if (!at.stalled && !(at.gap <= commit->tolerance))
            return STRADS_OK;
        const strads_err err = keep_point(commit, path, &at, columns);
        if (err || linear_path_is_over(path))
            return err;
        steps->go(commit->state, path->lambda[path->n]);
        steps->certify(commit);
    }
    return STRADS_OK;
}

bool linear_path_is_over(const linear_path *path)
{
    return path->n == path->points;
}

/* ---- cuts -------------------------------------------------------------- */

strads_err linear_path_pack(const linear_path *path, strads_bytes *out)
{
    const uint64_t n = path->n;
    strads_err err = strads_bytes_append(out, &n, sizeof(n));

    for (uint32_t k = 0; k < n && !err; k++) {
        strads_path_point point = path->point[k];
        const size_t count = (size_t)point.nonzeros;
        const uint32_t *index = point.index;
        const double *value = point.value;
        point.index = NULL;
        point.value = NULL;
        err = strads_bytes_append(out, &point, sizeof(point));
        if (!err)
            err = strads_bytes_append(out, index, count * sizeof(*index));
        if (!err)
            err = strads_bytes_append(out, value, count * sizeof(*value));
    }
    return err;
}

/* The next `size` bytes, if there are so many. */
static bool take(const char **at, size_t *left, void *to, size_t size)
{
    if (size > *left)
        return false;
    memcpy(to, *at, size);
    *at += size;
    *left -= size;
    return true;
}

static strads_err unpack_point(linear_path *path, const char **at, size_t *left)
{
    static const char wrong[] = "the cut's points are not of this path";
    strads_path_point point;

    if (!take(at, left, &point, sizeof(point)) ||
        point.nonzeros > *left / (sizeof(*point.index) + sizeof(*point.value)))
        return strads_fail(STRADS_EFORMAT, wrong);
    const size_t count = (size_t)point.nonzeros;
    uint32_t *index = calloc(count + 1, sizeof(*index));
    double *value = calloc(count + 1, sizeof(*value));
    point.index = index;
    point.value = value;
    if (!index || !value) {
        free(index);
        free(value);
        return no_memory();
    }
    path->point[path->n++] = point; /* which owns them from here on */
    path->worst = fmax(path->worst, point.gap);
    return take(at, left, index, count * sizeof(*index)) &&
                   take(at, left, value, count * sizeof(*value))
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT, wrong);
}

strads_err linear_path_unpack(linear_path *path, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t n = 0;
    strads_err err = STRADS_OK;

    if (!take(&at, &size, &n, sizeof(n)) || n > path->points)
        return strads_fail(STRADS_EFORMAT, "the cut is not of this path");
    while (path->n < n && !err)
        err = unpack_point(path, &at, &size);
    return err;
}

void linear_path_report(const linear_path *path, const linear_standing *at,
                        strads_report *report)
{
    const bool over = linear_path_is_over(path);

    report->objective = at->objective;
    report->nonzeros = at->nonzeros;
    report->gap = over ? path->worst : 1;
    report->stop = over;
    report->measure[0] = path->n;
    report->measure[1] = at->lambda;
}
