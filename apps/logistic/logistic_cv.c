/* The logistic regression's part of its cross-validation. */
#include <math.h>
#include <stdlib.h>

#include "apps/linear/linear_cv.h"
#include "logistic_path.h"

/* Twice the loss; `arg`: the classes. */
static double deviance(const void *arg, double label, double sum)
{
    const linear_classes *classes = arg;
    const double m = label == classes->label[1] ? sum : -sum;

    return 2 * (m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m);
}

static void fill(void *config, const linear_cv_rest *rest)
{
    strads_logistic_path_options *path = config;

    path->fit.weights = NULL;
    path->fit.row_weight = rest->weight;
    path->points = rest->points;
    path->lambda = rest->lambda;
}

/* Those of the whole data: a fold's rest must be asked for the same two. */
static strads_err find_classes(const strads_data *data,
                               const strads_logistic_options *options,
                               linear_classes *out)
{
    const linear_weights from = {options->weights, options->row_weight};
    linear_survey *survey = NULL;
    strads_err err = linear_survey_data(data, from, &survey);

    if (!err)
        err = logistic_classes_of(options, strads_data_label_names(data),
                                  survey, out);
    free(survey);
    if (!err && out->n > 2)
        err = strads_fail(STRADS_EINVAL,
                          "there are %u different labels; a path is for two",
                          out->n);
    return err;
}

strads_err strads_logistic_cv(const strads_data *data,
                              const strads_logistic_cv_options *options,
                              strads_cv_point *points, uint32_t *best,
                              uint32_t *simplest)
{
    strads_logistic_path_options path = options->path;
    linear_classes classes = {0};
    char *text = NULL;
    strads_err err = find_classes(data, &path.fit, &classes);

    if (!err)
        err = linear_classes_write(&classes, strads_data_label_names(data),
                                   &text);
    path.fit.classes = text;
    const linear_cv cv = {.program = &strads_program_logistic_path,
                          .config = &path,
                          .fill = fill,
                          .weights = {path.fit.weights, path.fit.row_weight},
                          .lambdas = logistic_path_lambdas(&path),
                          .path = strads_logistic_path,
                          .loss = deviance,
                          .arg = &classes,
                          .classes = &classes,
                          LINEAR_CV_OPTIONS(options)};
    if (!err)
        err = linear_cv_run(data, &cv, points, best, simplest);
    linear_classes_free(&classes);
    free(text);
    return err;
}
