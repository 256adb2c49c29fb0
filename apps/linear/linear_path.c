#include "linear_path.h"

#include <math.h>
#include <stdlib.h>

/* ---- options and memory ------------------------------------------------ */

strads_err linear_path_resolve(uint32_t *points, double *ratio, double first)
{
    if (*points == 0)
        *points = LINEAR_POINTS;
    if (*ratio == 0)
        *ratio = .01;
    if (*points > LINEAR_POINTS_MAX)
        return strads_fail(STRADS_EINVAL, "points is %u; it must be at most %d",
                           *points, LINEAR_POINTS_MAX);
    if (!(*ratio > 0 && *ratio <= 1))
        return strads_fail(STRADS_EINVAL,
                           "ratio is %g; it must be above 0, and at most 1",
                           *ratio);
    if (!(first >= 0 && first <= DBL_MAX))
        return strads_fail(STRADS_EINVAL,
                           "first is %g; it must be a number from 0 up", first);
    return STRADS_OK;
}

strads_err linear_path_new(uint32_t points, double ratio, double first,
                           linear_path **out)
{
    linear_path *path = calloc(1, sizeof(*path));

    if (path) {
        *path = (linear_path){.points = points, .ratio = ratio, .first = first};
        path->point = calloc(points, sizeof(*path->point));
    }
    if (!path || !path->point) {
        linear_path_free(path);
        return strads_fail(STRADS_ENOMEM, "no memory for the points of a path");
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
    free(path);
}

/* ---- from point to point ----------------------------------------------- */

double linear_path_lambda(const linear_path *path, uint32_t k)
{
    const double last = path->points - 1;

    return k == 0 ? path->first : path->first * pow(path->ratio, k / last);
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
                             const linear_path_steps *steps, uint64_t columns)
{
    strads_path_point point = {.round = commit->round};
    strads_err err;

    steps->describe(commit, &point);
    err = keep_coefficients(commit, columns, &point);
    if (err)
        return err;
    path->point[path->n++] = point;
    path->worst = fmax(path->worst, point.gap);
    return STRADS_OK;
}

strads_err linear_path_advance(strads_commit *commit, linear_path *path,
                               const linear_path_steps *steps, uint64_t columns,
                               bool *moved)
{
    *moved = false;
    while (!linear_path_is_over(path) && steps->reached(commit)) {
        const strads_err err = keep_point(commit, path, steps, columns);
        if (err || linear_path_is_over(path))
            return err;
        steps->go(commit->state, linear_path_lambda(path, path->n));
        steps->certify(commit);
        *moved = true;
    }
    return STRADS_OK;
}

bool linear_path_is_over(const linear_path *path)
{
    return path->n == path->points;
}

void linear_path_report(const linear_path *path, double lambda,
                        strads_report *report)
{
    const bool over = linear_path_is_over(path);

    report->gap = over ? path->worst : 1;
    report->stop = over;
    report->measure[0] = path->n;
    report->measure[1] = lambda;
}
