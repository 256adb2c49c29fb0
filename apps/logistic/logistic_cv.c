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

static bool is_right(const void *arg, double label, double sum)
{
    const linear_classes *classes = arg;

    return (sum > 0) == (label == classes->label[1]);
}

static double heavy(const void *arg, double label)
{
    return linear_classes_weight(arg, label);
}

static void weigh(void *config, const double *weight)
{
    strads_logistic_path_options *path = config;

    path->fit.weights = NULL;
    path->fit.row_weight = weight;
}

/* What rows weigh counts for the classes' weights alone. */
static strads_err survey_share(const strads_share *share, uint64_t rows,
                               linear_weights from, linear_survey *survey)
{
    const uint64_t n = share->rows.end - share->rows.begin;
    double *weight = calloc(n + 1, sizeof(*weight));
    strads_err err =
        weight
            ? linear_read_weights(from, &share->rows, rows, weight)
            : strads_fail(STRADS_ENOMEM, "no memory for the weights of rows");

    for (uint64_t i = 0; i < n && share->label && !err; i++)
        linear_survey_add(survey, share->label[i], weight[i]);
    free(weight);
    return err;
}

/* Those of the whole data: a fold's rest must be asked for the same two. */
static strads_err find_classes(const strads_data *data,
                               const strads_logistic_options *options,
                               linear_classes *out)
{
    const linear_weights from = {options->weights, options->row_weight};
    const strads_share *share;
    linear_survey survey = {0};
    strads_err err = STRADS_OK;

    for (uint32_t p = 0; !err && (share = strads_data_share(data, p)); p++)
        err = survey_share(share, strads_data_rows(data), from, &survey);
    if (!err)
        err = logistic_classes_of(options, strads_data_label_names(data),
                                  &survey, out);
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
    linear_classes classes;
    char text[LINEAR_CLASSES_TEXT];
    strads_err err = linear_path_resolve(&path.points, &path.ratio, path.first);

    if (!err)
        err = find_classes(data, &path.fit, &classes);
    if (err)
        return err;
    linear_classes_write(&classes, strads_data_label_names(data), text);
    path.fit.classes = text;
    const linear_cv cv = {.program = &strads_program_logistic_path,
                          .config = &path,
                          .weigh = weigh,
                          .weights = {path.fit.weights, path.fit.row_weight},
                          .points = path.points,
                          .ratio = path.ratio,
                          .first = path.first,
                          .path = strads_logistic_path,
                          .loss = deviance,
                          .right = is_right,
                          .heavy = heavy,
                          .arg = &classes,
                          .by_label = true,
                          .folds = options->folds,
                          .threads = options->threads,
                          .seed = options->seed,
                          .tolerance = options->tolerance,
                          .stop = options->stop,
                          .time_limit = options->time_limit};
    return linear_cv_run(data, &cv, points, best, simplest);
}
