/* Penalty factors of adaptive fits: the inverse sizes of a first fit's
 * coefficients (Zou, J. Am. Stat. Assoc. 101, 2006). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/engine.h>

#include "glm_parts.h"

/* The path of the default first fit. */
enum { RIDGE_POINTS = 20, RIDGE_FOLDS = 10 };
#define RIDGE_RATIO 1e-5

/* The factor of a column that a fit leaves out. */
#define FACTOR_MAX 1e30

/* ---- the first fit ------------------------------------------------------- */

static strads_err validate_ridge(const strads_data *data,
                                 const strads_glm_adaptive_options *o,
                                 const strads_glm_path_options *path,
                                 const strads_path_point *point, uint32_t n,
                                 uint32_t *best)
{
    const uint64_t rows = strads_data_rows(data);
    double lambda[RIDGE_POINTS];
    strads_cv_point error[RIDGE_POINTS];
    uint32_t simplest = 0;

    for (uint32_t k = 0; k < n; k++)
        lambda[k] = point[k].lambda;
    strads_glm_cv_options cv = {.path = *path,
                                .folds = rows < RIDGE_FOLDS ? (uint32_t)rows
                                                            : RIDGE_FOLDS,
                                .threads = o->threads,
                                .seed = o->seed,
                                .stop = o->stop,
                                .time_limit = o->time_limit};
    cv.path.points = n;
    cv.path.lambda = lambda;
    return strads_glm_cv(data, &cv, error, best, &simplest);
}

/* first[columns] of the ridge that predicts best. */
static strads_err fit_ridge(const strads_data *data,
                            const strads_glm_adaptive_options *o, double *first)
{
    strads_glm_path_options path = {.fit = o->fit,
                                    .points = RIDGE_POINTS,
                                    .ratio = RIDGE_RATIO};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = o->threads,
                                          .partitions =
                                              strads_data_partitions(data),
                                          .deterministic = true,
                                          .tolerance = 1e-6,
                                          .seed = o->seed,
                                          .stop = o->stop,
                                          .time_limit = o->time_limit};
    strads_result *result = NULL;
    uint32_t n = 0, best = 0;

    path.fit.penalty = "ridge";
    path.fit.lambda = path.fit.lambda_ratio = path.fit.c = 0;
    path.fit.l1_ratio = 0;
    path.fit.start_intercept = NULL;
    strads_err err =
        strads_run(&strads_program_glm_path, &path, data, &engine, &result);
    const strads_path_point *point =
        err ? NULL : strads_glm_path(strads_result_state(result), &n);
    if (!err && n < RIDGE_POINTS)
        err = strads_fail(STRADS_ECANCELED,
                          "the first fit of an adaptive one was stopped");
    if (!err)
        err = validate_ridge(data, o, &path, point, n, &best);
    for (uint64_t k = 0; !err && k < point[best].nonzeros; k++)
        first[point[best].index[k]] = point[best].value[k];
    strads_result_free(result);
    return err;
}

/* ---- factors ------------------------------------------------------------- */

/* sum c (x - mean)^2 over the entries of a column; *total is their sum c, and
 * *sum that of c x. */
static double sum_squares(const strads_data *data, uint64_t j, const double *c,
                          double mean, double *total, double *sum)
{
    const strads_share *share;
    double squares = 0;

    *total = *sum = 0;
    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++) {
        const data_column x = data_column_of(share, j);
        for (uint64_t e = 0; e < x.n; e++) {
            const double v = x.f64 ? x.f64[e] : (double)x.f32[e];
            const uint64_t row = x.index ? x.index[e] : e;
            const double own = c[share->rows.begin + row];
            *total += own;
            *sum += own * v;
            squares += own * (v - mean) * (v - mean);
        }
    }
    return squares;
}

/* The scale of a column under `standardize`, as a fit computes it. */
static double find_scale(const strads_data *data, const glm_targets *targets,
                         double weight, uint64_t j)
{
    double total, sum;
    const double all = sum_squares(data, j, targets->c, 0, &total, &sum);
    const double mean = targets->problem.options.intercept ? sum / weight : 0;
    const double within = sum_squares(data, j, targets->c, mean, &total, &sum) +
                          (weight - total) * mean * mean;

    if (!(all > 0))
        return 1;
    return sqrt((within > 1e-12 * all ? within : all) / weight);
}

static strads_err check_adaptive(const strads_data *data,
                                 const strads_glm_adaptive_options *o,
                                 const glm_problem *problem)
{
    if (!(o->gamma >= 0 && isfinite(o->gamma)))
        return strads_fail(STRADS_EINVAL,
                           "adaptive is %g; expected a power above 0, as 1",
                           o->gamma);
    if (problem->penalty->off || problem->penalty->grouped ||
        problem->penalty->share == 0 || problem->penalty->tangent)
        return strads_fail(STRADS_EINVAL,
                           "adaptive weighs the coefficients of the penalties "
                           "l1 and elastic-net, and the penalty is %s",
                           problem->options.penalty);
    if (problem->loss->joint || !glm_has_columns(data))
        return strads_fail(STRADS_EINVAL,
                           "adaptive is for numbers and two classes, and data "
                           "that is split by rows, with compressed columns; "
                           "take --cut rows");
    return STRADS_OK;
}

static strads_err weigh_columns(const strads_data *data,
                                const strads_glm_adaptive_options *o,
                                const glm_targets *targets, const double *first,
                                double *factor)
{
    const double gamma = o->gamma > 0 ? o->gamma : 1;
    double weight = 0;
    bool any = false;

    for (uint64_t i = 0; i < targets->rows; i++)
        weight += targets->c[i];
    for (uint64_t j = 0; j < strads_data_cols(data); j++) {
        const double size =
            fabs(first[j]) * (targets->problem.options.standardize
                                  ? find_scale(data, targets, weight, j)
                                  : 1);
        any = any || size > 0;
        if (factor[j] > 0)
            factor[j] = fmin(factor[j] * pow(size, -gamma), FACTOR_MAX);
    }
    return any ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "adaptive: all coefficients of the first fit are "
                             "0, so none can be weighed; take another first "
                             "fit, or no adaptive one");
}

strads_err strads_glm_adaptive(const strads_data *data,
                               const strads_glm_adaptive_options *options,
                               double *factor)
{
    const uint64_t columns = strads_data_cols(data);
    glm_targets targets = {0};
    double *own = NULL, *first = NULL;
    strads_err err = glm_targets_new(data, &options->fit, &targets);

    if (!err)
        err = check_adaptive(data, options, &targets.problem);
    if (!err && (!(own = calloc(columns + 1, sizeof(*own))) ||
                 !(first = calloc(columns + 1, sizeof(*first)))))
        err = strads_fail(STRADS_ENOMEM, "no memory for penalty factors");
    if (!err)
        err = glm_read_factors(&targets.problem.options, columns, own);
    if (!err && options->first)
        memcpy(first, options->first, columns * sizeof(*first));
    else if (!err)
        err = fit_ridge(data, options, first);
    if (!err)
        err = weigh_columns(data, options, &targets, first, own);
    if (!err)
        memcpy(factor, own, columns * sizeof(*own));
    free(own);
    free(first);
    glm_targets_free(&targets);
    return err;
}
