/* The Lasso's part of its cross-validation. */
#include "apps/linear/linear_cv.h"
#include "lasso_path.h"

static double squared_error(const void *arg, double label, double sum)
{
    (void)arg;
    return (label - sum) * (label - sum);
}

static void fill(void *config, const linear_cv_rest *rest)
{
    strads_lasso_path_options *path = config;

    path->fit.weights = NULL;
    path->fit.row_weight = rest->weight;
    path->points = rest->points;
    path->lambda = rest->lambda;
}

strads_err strads_lasso_cv(const strads_data *data,
                           const strads_lasso_cv_options *options,
                           strads_cv_point *points, uint32_t *best,
                           uint32_t *simplest)
{
    const strads_lasso_path_options *path = &options->path;
    const linear_cv cv = {.program = &strads_program_lasso_path,
                          .config = path,
                          .fill = fill,
                          .weights = {path->fit.weights, path->fit.row_weight},
                          .lambdas = lasso_path_lambdas(path),
                          .path = strads_lasso_path,
                          .loss = squared_error,
                          LINEAR_CV_OPTIONS(options)};

    return linear_cv_run(data, &cv, points, best, simplest);
}
