/* Data that is all in this process, as fits see it: the rows' targets, weights
 * and offsets, and copies of columns. */
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* ---- rows ---------------------------------------------------------------- */

void glm_known_free(glm_known *known)
{
    free(known->label);
    free(known->classes_text);
    linear_classes_free(&known->classes);
    *known = (glm_known){0};
}

static strads_err read_known_classes(const strads_data *data, glm_known *known)
{
    const strads_glm_options *o = &known->problem.options;
    const strads_names *names = strads_data_label_names(data);
    const linear_weights from = {o->weights, o->row_weight};
    linear_survey *survey = NULL;
    strads_err err = linear_survey_data(data, from, &survey);

    if (!err)
        err =
            glm_classes_of(&known->problem, names, survey, 1, &known->classes);
    free(survey);
    return err || known->classes.n == 0
               ? err
               : linear_classes_write(&known->classes, names,
                                      &known->classes_text);
}

/* Targets of labels, and weights with those of classes. */
static strads_err read_known_rows(const strads_data *data, glm_known *known)
{
    const strads_glm_options *o = &known->problem.options;
    const linear_weights from = {o->weights, o->row_weight};
    const linear_classes *classes = &known->classes;
    const strads_range all = {0, known->rows};
    const strads_share *share;
    const bool levels = known->problem.loss->labels == GLM_LEVELS;
    uint32_t *stratum = NULL;
    strads_err err = STRADS_OK;

    for (uint32_t p = 0; !err && (share = strads_data_share(data, p)); p++) {
        const uint64_t first = share->rows.begin;
        const uint64_t n = share->rows.end - first;
        if (!share->label)
            return strads_fail(STRADS_EINVAL,
                               "a refit needs a label in each row, and this "
                               "data has none");
        known->weighs = linear_weighs(from) || share->weight;
        memcpy(known->label + first, share->label, n * sizeof(double));
        err = linear_read_weights(from, share, known->rows,
                                  known->weight + first);
    }
    for (uint64_t i = 0; i < known->rows && !err; i++) {
        const double label = known->label[i];
        known->y[i] = classes->n == 0 ? label
                      : levels        ? glm_level_of(classes, label)
                      : label == classes->label[1] ? 1
                                                   : -1;
        known->c[i] = known->weight[i] *
                      (classes->n ? linear_classes_weight(classes, label) : 1);
    }
    if (!err && (o->row_offset || (o->offset && *o->offset)))
        err = glm_read_offsets(o, &all, known->rows, known->o);
    if (err || known->problem.loss->labels != GLM_TIMES)
        return err;
    if (!(err = glm_read_strata(o, known->rows, &stratum)))
        err = glm_rank_times(known->rows, stratum, known->y);
    free(stratum);
    return err;
}

strads_err glm_known_new(const strads_data *data, const strads_glm_options *fit,
                         glm_known *out)
{
    const uint64_t rows = strads_data_rows(data);
    glm_known known = {.rows = rows};
    strads_err err = glm_options_resolve(fit, &known.problem);

    if (!err && !(known.label = calloc(6 * rows + 1, sizeof(double))))
        err =
            strads_fail(STRADS_ENOMEM, "no memory for the labels of %llu rows",
                        (unsigned long long)rows);
    if (!err) {
        known.weight = known.label + rows;
        known.y = known.weight + rows;
        known.c = known.y + rows;
        known.o = known.c + rows;
        known.z = known.o + rows;
        err = read_known_classes(data, &known);
    }
    if (!err)
        err = read_known_rows(data, &known);
    if (err)
        glm_known_free(&known);
    else
        *out = known;
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

void glm_known_margins(const glm_known *known, const glm_columns *x,
                       const strads_path_point *point)
{
    for (uint64_t i = 0; i < known->rows; i++)
        known->z[i] = known->o[i] + point->intercept;
    for (uint64_t k = 0; k < point->nonzeros; k++)
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
            known->z[x->index[e]] += x->value[e] * point->value[k];
}

strads_err strads_glm_point_thresholds(const strads_data *data,
                                       const strads_glm_options *options,
                                       const strads_path_point *point,
                                       uint32_t n, double *thresholds)
{
    glm_known known = {0};
    glm_columns x = {0};
    strads_err err = glm_known_new(data, options, &known);

    if (!err && (known.problem.loss->labels != GLM_LEVELS ||
                 n + 1 != known.classes.n || !glm_has_columns(data)))
        err = strads_fail(STRADS_EINVAL,
                          "%u thresholds of the loss %s with %u classes; "
                          "expected the loss ordinal, a threshold fewer than "
                          "classes, and data by rows",
                          n, known.problem.options.loss, known.classes.n);
    if (!err)
        err = glm_columns_copy(data, point->nonzeros, point->index, &x);
    if (!err) {
        const glm_rows rows = {known.rows, known.y, known.c, known.z};
        glm_known_margins(&known, &x, point);
        known.problem.loss->thresholds(&rows, n + 1, thresholds);
    }
    glm_columns_free(&x);
    glm_known_free(&known);
    return err;
}
