/* Data that is all in this process, as fits see it: the rows' targets, weights
 * and offsets, and copies of columns. */
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* ---- rows ---------------------------------------------------------------- */

void glm_targets_free(glm_targets *targets)
{
    free(targets->label);
    free(targets->classes_text);
    linear_classes_free(&targets->classes);
    *targets = (glm_targets){0};
}

static strads_err read_target_classes(const strads_data *data,
                                      glm_targets *targets)
{
    const strads_glm_options *o = &targets->problem.options;
    const strads_names *names = strads_data_label_names(data);
    const linear_weights from = {o->weights, o->row_weight};
    linear_survey *survey = NULL;
    strads_err err = linear_survey_data(data, from, &survey);

    if (!err)
        err = glm_classes_of(&targets->problem, names, survey, 1,
                             &targets->classes);
    free(survey);
    return err || targets->classes.n == 0
               ? err
               : linear_classes_write(&targets->classes, names,
                                      &targets->classes_text);
}

/* Targets of labels, and weights with those of classes. */
static strads_err read_target_rows(const strads_data *data,
                                   glm_targets *targets)
{
    const strads_glm_options *o = &targets->problem.options;
    const linear_weights from = {o->weights, o->row_weight};
    const linear_classes *classes = &targets->classes;
    const strads_range all = {0, targets->rows};
    const strads_share *share;
    const bool levels = targets->problem.loss->labels == GLM_LEVELS;
    uint32_t *stratum = NULL;
    strads_err err = STRADS_OK;

    for (uint32_t p = 0; !err && (share = strads_data_share(data, p)); p++) {
        const uint64_t first = share->rows.begin;
        const uint64_t n = share->rows.end - first;
        if (!share->label)
            return strads_fail(STRADS_EINVAL,
                               "a refit needs a label in each row, and this "
                               "data has none");
        targets->weighs = linear_weighs(from) || share->weight;
        memcpy(targets->label + first, share->label, n * sizeof(double));
        err = linear_read_weights(from, share, targets->rows,
                                  targets->weight + first);
    }
    for (uint64_t i = 0; i < targets->rows && !err; i++) {
        const double label = targets->label[i];
        targets->y[i] = classes->n == 0 ? label
                        : levels        ? glm_level_of(classes, label)
                        : label == classes->label[1] ? 1
                                                     : -1;
        targets->c[i] =
            targets->weight[i] *
            (classes->n ? linear_classes_weight(classes, label) : 1);
    }
    if (!err && (o->row_offset || (o->offset && *o->offset)))
        err = glm_read_offsets(o, &all, targets->rows, targets->o);
    if (err || targets->problem.loss->labels != GLM_TIMES)
        return err;
    if (!(err = glm_read_strata(o, targets->rows, &stratum)))
        err = glm_rank_times(targets->rows, stratum, targets->y);
    free(stratum);
    return err;
}

strads_err glm_targets_new(const strads_data *data,
                           const strads_glm_options *fit, glm_targets *out)
{
    const uint64_t rows = strads_data_rows(data);
    glm_targets targets = {.rows = rows};
    strads_err err = glm_options_resolve(fit, &targets.problem);

    if (!err && !(targets.label = calloc(6 * rows + 1, sizeof(double))))
        err =
            strads_fail(STRADS_ENOMEM, "no memory for the labels of %llu rows",
                        (unsigned long long)rows);
    if (!err) {
        targets.weight = targets.label + rows;
        targets.y = targets.weight + rows;
        targets.c = targets.y + rows;
        targets.o = targets.c + rows;
        targets.z = targets.o + rows;
        err = read_target_classes(data, &targets);
    }
    if (!err)
        err = read_target_rows(data, &targets);
    if (err)
        glm_targets_free(&targets);
    else
        *out = targets;
    return err;
}

/* ---- columns ------------------------------------------------------------- */

void glm_columns_free(glm_columns *x)
{
    free(x->start);
    free(x->index);
    free(x->value);
    *x = (glm_columns){0};
}

/* The entries of column j, of all partitions. */
static void copy_entries(const strads_data *data, uint32_t j, uint64_t at,
                         glm_columns *x)
{
    const strads_share *share;

    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++) {
        const data_column from = data_column_of(share, j);
        for (uint64_t e = 0; e < from.n; e++, at++) {
            const uint64_t row = from.index ? from.index[e] : e;
            x->index[at] = (uint32_t)(share->rows.begin + row);
            x->value[at] = from.f64 ? from.f64[e] : (double)from.f32[e];
        }
    }
}

strads_err glm_columns_copy(const strads_data *data, uint64_t n,
                            const uint32_t *column, glm_columns *out)
{
    glm_columns x = {.start = calloc(n + 1, sizeof(*x.start))};
    const strads_share *share;

    for (uint64_t k = 0; k < n && x.start; k++) {
        x.start[k + 1] = x.start[k];
        for (uint32_t p = 0; (share = strads_data_share(data, p)); p++)
            x.start[k + 1] += data_column_of(share, column[k]).n;
    }
    if (x.start) {
        x.index = calloc(x.start[n] + 1, sizeof(*x.index));
        x.value = calloc(x.start[n] + 1, sizeof(*x.value));
    }
    if (!x.start || !x.index || !x.value) {
        glm_columns_free(&x);
        return strads_fail(STRADS_ENOMEM, "no memory to copy %llu columns",
                           (unsigned long long)n);
    }
    for (uint64_t k = 0; k < n; k++)
        copy_entries(data, column[k], x.start[k], &x);
    *out = x;
    return STRADS_OK;
}

/* ---- margins ------------------------------------------------------------- */

void glm_targets_margins(const glm_targets *targets, const glm_columns *x,
                         const strads_path_point *point)
{
    for (uint64_t i = 0; i < targets->rows; i++)
        targets->z[i] = targets->o[i] + point->intercept;
    for (uint64_t k = 0; k < point->nonzeros; k++)
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
            targets->z[x->index[e]] += x->value[e] * point->value[k];
}

strads_err strads_glm_point_thresholds(const strads_data *data,
                                       const strads_glm_options *options,
                                       const strads_path_point *point,
                                       uint32_t n, double *thresholds)
{
    glm_targets targets = {0};
    glm_columns x = {0};
    strads_err err = glm_targets_new(data, options, &targets);

    if (!err && (targets.problem.loss->labels != GLM_LEVELS ||
                 n + 1 != targets.classes.n || !glm_has_columns(data)))
        err = strads_fail(STRADS_EINVAL,
                          "%u thresholds of the loss %s with %u classes; "
                          "expected the loss ordinal, a threshold fewer than "
                          "classes, and data by rows",
                          n, targets.problem.options.loss, targets.classes.n);
    if (!err)
        err = glm_columns_copy(data, point->nonzeros, point->index, &x);
    if (!err) {
        const glm_rows rows = {targets.rows, targets.y, targets.c, targets.z};
        glm_targets_margins(&targets, &x, point);
        targets.problem.loss->thresholds(&rows, n + 1, thresholds);
    }
    glm_columns_free(&x);
    glm_targets_free(&targets);
    return err;
}
