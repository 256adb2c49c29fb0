/* The Lasso's part of its cross-validation. */
#include "apps/linear/linear_cv.h"
#include "lasso_path.h"

static double squared_error(const void *arg, double label, double sum)
{
    (void)arg;
    return (label - sum) * (label - sum);
}

static void weigh(void *config, const double *weight)
{
    strads_lasso_path_options *path = config;

    path->fit.weights = NULL;
    path->fit.row_weight = weight;
}

strads_err strads_lasso_cv(const strads_data *data,
                           const strads_lasso_cv_options *options,
                           strads_cv_point *points, uint32_t *best,
                           uint32_t *simplest)
{
    strads_lasso_path_options path = options->path;
    const strads_err err =
        linear_path_resolve(&path.points, &path.ratio, path.first);
    const linear_cv cv = {.program = &strads_program_lasso_path,
                          .config = &path,
                          .weigh = weigh,
                          .weights = {path.fit.weights, path.fit.row_weight},
                          .points = path.points,
                          .ratio = path.ratio,
                          .first = path.first,
                          .path = strads_lasso_path,
                          .loss = squared_error,
                          .folds = options->folds,
                          .threads = options->threads,
                          .seed = options->seed,
                          .tolerance = options->tolerance,
                          .stop = options->stop,
                          .time_limit = options->time_limit};

    return err ? err : linear_cv_run(data, &cv, points, best, simplest);
}
