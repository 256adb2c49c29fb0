/* The program's part of the cross-validation of its path. */
#include <math.h>
#include <stdlib.h>

#include "apps/linear/linear_cv.h"
#include "glm_parts.h"

typedef struct judge {
    glm_problem problem;
    linear_classes classes; /* of the whole data */
} judge;

static double twice_the_loss(const void *arg, double label, double sum)
{
    const judge *j = arg;
    const double y = j->classes.n == 0              ? label
                     : label == j->classes.label[1] ? 1
                                                    : -1;

    return 2 * j->problem.loss->value(y, sum, j->problem.p);
}

static void fill(void *config, const linear_cv_rest *rest)
{
    strads_glm_path_options *path = config;

    path->fit.weights = path->fit.offset = NULL;
    path->fit.row_weight = rest->weight;
    path->fit.row_offset = rest->offset;
    path->points = rest->points;
    path->lambda = rest->lambda;
}

/* Classes are those of the whole data: a fold's rest must be asked for the same
 * two. */
static strads_err find_classes(const strads_data *data, judge *j)
{
    const strads_glm_options *o = &j->problem.options;
    linear_survey *survey = NULL;
    strads_err err =
        linear_survey_data(data, (linear_weights){o->weights, o->row_weight},
                           &survey);

    if (!err)
        err = glm_classes_of(&j->problem, strads_data_label_names(data), survey,
                             1, &j->classes);
    free(survey);
    return err;
}

static strads_err read_offsets(const strads_data *data,
                               const strads_glm_options *o, double **out)
{
    const uint64_t rows = strads_data_rows(data);

    if (!o->row_offset && !(o->offset && *o->offset))
        return STRADS_OK;
    *out = calloc(rows + 1, sizeof(**out));
    return *out ? glm_read_offsets(o, &(strads_range){0, rows}, rows, *out)
                : strads_fail(STRADS_ENOMEM,
                              "no memory for the offsets of rows");
}

strads_err strads_glm_cv(const strads_data *data,
                         const strads_glm_cv_options *options,
                         strads_cv_point *points, uint32_t *best,
                         uint32_t *simplest)
{
    strads_glm_path_options path = options->path;
    char *text = NULL;
    double *offset = NULL;
    judge j = {0};
    strads_err err = glm_options_resolve(&path.fit, &j.problem);

    if (!err)
        err = find_classes(data, &j);
    if (!err)
        err = read_offsets(data, &path.fit, &offset);
    const bool classes = j.classes.n > 0;
    if (!err && classes)
        err = linear_classes_write(&j.classes, strads_data_label_names(data),
                                   &text);
    if (!err) {
        if (classes)
            path.fit.classes = text;
        const linear_cv cv = {.program = &strads_program_glm_path,
                              .config = &path,
                              .fill = fill,
                              .weights = {path.fit.weights,
                                          path.fit.row_weight},
                              .offset = offset,
                              .lambdas = glm_path_lambdas(&path),
                              .path = strads_glm_path,
                              .loss = twice_the_loss,
                              .arg = &j,
                              .classes = classes ? &j.classes : NULL,
                              LINEAR_CV_OPTIONS(options)};
        err = linear_cv_run(data, &cv, points, best, simplest);
    }
    linear_classes_free(&j.classes);
    free(text);
    free(offset);
    return err;
}
