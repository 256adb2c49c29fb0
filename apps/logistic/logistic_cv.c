/* The logistic regression's part of its cross-validation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Those of the whole data: a fold's rest must be asked for the same two. */
static strads_err find_classes(const strads_data *data,
                               const strads_logistic_options *options,
                               linear_classes *out)
{
    const strads_share *share;
    linear_survey survey = {0};
    strads_err err;

    for (uint32_t p = 0; (share = strads_data_share(data, p)) != NULL; p++)
        for (uint64_t i = 0; i < share->rows.end - share->rows.begin; i++)
            if (share->label)
                linear_survey_add(&survey, share->label[i], 1);
    err = logistic_classes_of(options, &survey, out);
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
    char text[64];
    strads_err err = linear_path_resolve(&path.points, &path.ratio, path.first);

    if (!err)
        err = linear_cv_refuse_weights(path.fit.weights);
    if (!err)
        err = find_classes(data, &path.fit, &classes);
    if (err)
        return err;
    (void)snprintf(text, sizeof(text), "%.17g,%.17g", classes.label[0],
                   classes.label[1]);
    path.fit.classes = text;
    const linear_cv cv = {.program = &strads_program_logistic_path,
                          .config = &path,
                          .points = path.points,
                          .ratio = path.ratio,
                          .first = path.first,
                          .path = strads_logistic_path,
                          .loss = deviance,
                          .right = is_right,
                          .arg = &classes,
                          .by_label = true,
                          .folds = options->folds,
                          .threads = options->threads,
                          .seed = options->seed,
                          .tolerance = options->tolerance,
                          .stop = options->stop};
    return linear_cv_run(data, &cv, points, best, simplest);
}
