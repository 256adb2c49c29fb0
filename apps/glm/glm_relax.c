/* Relaxed fits: the same loss without a penalty, on the columns that a
 * penalised fit selects, and mixtures of both (Meinshausen, Comput. Stat. Data
 * Anal. 52, 2007, in the form of Hastie, Tibshirani, Tibshirani, Stat. Sci. 35,
 * 2020). Each distinct set of columns is copied and fitted once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/engine.h>

#include "glm_parts.h"

/* A fit without a penalty needs this many rows more than columns, as glmnet's.
 */
enum { SPARE_ROWS = 3 };

/* A fit that ends with a larger gap is not used. */
#define RELAXED_GAP 1e-4

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

/* ---- one set of columns -------------------------------------------------- */

/* The columns that a point selects, of all partitions. */
typedef struct selected {
    uint64_t *start;
    uint32_t *index;
    double *value;
} selected;

static void selected_free(selected *x)
{
    free(x->start);
    free(x->index);
    free(x->value);
    *x = (selected){0};
}

static void copy_selected(const strads_data *data, uint32_t j, uint64_t at,
                          selected *x)
{
    const strads_share *share;

    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++) {
        const strads_sparse *from = &share->by_col;
        const uint64_t first = share->rows.begin, begin = from->start[j];
        for (uint64_t e = begin; e < from->start[j + 1]; e++, at++) {
            const uint64_t row = from->index ? from->index[e] : e - begin;
            x->index[at] = (uint32_t)(first + row);
            x->value[at] = from->f64 ? from->f64[e] : (double)from->f32[e];
        }
    }
}

static strads_err select_columns(const strads_data *data,
                                 const strads_path_point *point, selected *out)
{
    const uint64_t n = point->nonzeros;
    selected x = {.start = calloc(n + 1, sizeof(*x.start))};
    const strads_share *share;

    for (uint64_t k = 0; k < n && x.start; k++) {
        const uint32_t j = point->index[k];
        x.start[k + 1] = x.start[k];
        for (uint32_t p = 0; (share = strads_data_share(data, p)); p++)
            x.start[k + 1] +=
                share->by_col.start[j + 1] - share->by_col.start[j];
    }
    if (x.start) {
        x.index = calloc(x.start[n] + 1, sizeof(*x.index));
        x.value = calloc(x.start[n] + 1, sizeof(*x.value));
    }
    if (!x.start || !x.index || !x.value) {
        selected_free(&x);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the %llu columns of a relaxed fit",
                           (unsigned long long)n);
    }
    for (uint64_t k = 0; k < n; k++)
        copy_selected(data, point->index[k], x.start[k], &x);
    *out = x;
    return STRADS_OK;
}

/* The options of a fit of these rows without a penalty. */
static strads_glm_options unpenalised(const glm_known *known)
{
    strads_glm_options o = known->problem.options;

    o.penalty = "none";
    o.lambda = o.lambda_ratio = o.c = o.l1_ratio = o.gamma = 0;
    o.penalty_factors = o.groups = NULL;
    o.penalty_factor = NULL;
    o.column_group = NULL;
    o.standardize = false;
    o.weights = NULL;
    o.row_weight = known->weighs ? known->weight : NULL;
    o.start_intercept = NULL;
    o.classes = known->classes_text;
    return o;
}

/* ---- the fit without a penalty ------------------------------------------- */

/* The fit without a penalty of the last set of columns. */
typedef struct refit {
    selected x;
    double *value, intercept; /* [nonzeros] */
    bool used;                /* it has a minimum */
} refit;

static void refit_free(refit *f)
{
    selected_free(&f->x);
    free(f->value);
}

/* Fits the columns without a penalty; f->used stays false if that has no
 * certified minimum. */
static strads_err fit_selected(const strads_data *data, const glm_known *known,
                               const strads_engine_options *engine, uint64_t n,
                               refit *f)
{
    const strads_arrays lent = {.size = sizeof(lent),
                                .rows = known->rows,
                                .cols = n,
                                .borrow = true,
                                .start = f->x.start,
                                .starts = STRADS_I64,
                                .index = f->x.index,
                                .indices = STRADS_I32,
                                .value = f->x.value,
                                .label = known->label};
    const strads_data_options read = {.size = sizeof(read),
                                      .named_labels = true,
                                      .label_names =
                                          strads_data_label_names(data)};
    const strads_glm_options o = unpenalised(known);
    strads_data *columns = NULL;
    strads_result *result = NULL;
    strads_err err = strads_data_from_arrays(&lent, &read, &columns);

    if (!err)
        err = strads_run(&strads_program_glm, &o, columns, engine, &result);
    if (!err && strads_result_end(result) != STRADS_END_CONVERGED &&
        strads_result_end(result) != STRADS_END_STOPPED)
        err = strads_fail(STRADS_ECANCELED, "the relaxed fits were stopped");
    if (!err && strads_result_progress(result)->gap <= RELAXED_GAP) {
        const void *state = strads_result_state(result);
        uint64_t count = 0;
        uint32_t width = 0;
        memcpy(f->value, strads_result_values(result, &count, &width),
               n * sizeof(*f->value));
        f->intercept = strads_glm_intercepts(state)[0];
        f->used = true;
    }
    strads_result_free(result);
    strads_data_free(columns);
    return err;
}

/* ---- points -------------------------------------------------------------- */

static bool selects_the_same(const strads_path_point *a,
                             const strads_path_point *b)
{
    return a->nonzeros == b->nonzeros &&
           memcmp(a->index, b->index, a->nonzeros * sizeof(*a->index)) == 0;
}

static strads_err refit_point(const strads_data *data, const glm_known *known,
                              const strads_engine_options *engine,
                              const strads_path_point *point, refit *f)
{
    const uint64_t n = point->nonzeros;
    const uint64_t least = n + known->problem.options.intercept + SPARE_ROWS;
    strads_err err;

    refit_free(f);
    *f = (refit){.value = calloc(n + 1, sizeof(*f->value))};
    if (!f->value)
        return strads_fail(STRADS_ENOMEM, "no memory for a relaxed fit");
    if ((err = select_columns(data, point, &f->x)) || n == 0 ||
        least > known->rows)
        return err;
    return fit_selected(data, known, engine, n, f);
}

/* z of a point's coefficients, which are of the columns x; their deviance. */
static void find_known_margins(const glm_known *known, const selected *x,
                               const strads_path_point *point)
{
    for (uint64_t i = 0; i < known->rows; i++)
        known->z[i] = known->o[i] + point->intercept;
    for (uint64_t k = 0; k < point->nonzeros; k++)
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
            known->z[x->index[e]] += x->value[e] * point->value[k];
}

static double find_deviance(const glm_known *known, const selected *x,
                            const strads_path_point *point)
{
    const glm_rows rows = {known->rows, known->y, known->c, known->z};

    find_known_margins(known, x, point);
    return 2 *
           known->problem.loss->evaluate(&rows, known->problem.p, NULL, NULL);
}

void glm_mix_points(const strads_path_point *point, const double *relaxed,
                    double intercept, double share, double *value,
                    strads_path_point *out)
{
    *out = *point;
    for (uint64_t k = 0; k < point->nonzeros; k++)
        value[k] = share * point->value[k] + (1 - share) * relaxed[k];
    out->value = value;
    out->intercept = share * point->intercept + (1 - share) * intercept;
}

static strads_err mix_refit(const glm_known *known, const refit *f,
                            double share, const strads_path_point *point,
                            strads_path_point *out)
{
    double *value = calloc(point->nonzeros + 1, sizeof(*value));

    if (!value)
        return strads_fail(STRADS_ENOMEM, "no memory for a relaxed fit");
    glm_mix_points(point, f->used ? f->value : point->value,
                   f->used ? f->intercept : point->intercept, share, value,
                   out);
    if (f->used)
        out->deviance = find_deviance(known, &f->x, out);
    return STRADS_OK;
}

strads_err strads_glm_point_thresholds(const strads_data *data,
                                       const strads_glm_options *options,
                                       const strads_path_point *point,
                                       uint32_t n, double *thresholds)
{
    glm_known known = {0};
    selected x = {0};
    strads_err err = glm_known_new(data, options, &known);

    if (!err && (known.problem.loss->labels != GLM_LEVELS ||
                 n + 1 != known.classes.n || !glm_has_columns(data)))
        err = strads_fail(STRADS_EINVAL,
                          "%u thresholds of the loss %s with %u classes; "
                          "expected the loss ordinal, a threshold fewer than "
                          "classes, and data by rows",
                          n, known.problem.options.loss, known.classes.n);
    if (!err)
        err = select_columns(data, point, &x);
    if (!err) {
        const glm_rows rows = {known.rows, known.y, known.c, known.z};
        find_known_margins(&known, &x, point);
        known.problem.loss->thresholds(&rows, n + 1, thresholds);
    }
    selected_free(&x);
    glm_known_free(&known);
    return err;
}

void strads_glm_relaxed_free(strads_path_point *points, uint32_t n)
{
    for (uint32_t k = 0; points && k < n; k++) {
        free((void *)(uintptr_t)points[k].value);
        points[k].value = NULL;
    }
}

static strads_err check_relaxed(const strads_data *data,
                                const strads_glm_relax_options *o,
                                const glm_problem *problem)
{
    if (!(o->share >= 0 && o->share <= 1))
        return strads_fail(STRADS_EINVAL,
                           "relax is %g; it must be from 0 (no penalty on the "
                           "selected columns) to 1 (the penalised fit)",
                           o->share);
    if (problem->penalty->off || problem->penalty->share == 0)
        return strads_fail(STRADS_EINVAL,
                           "relax refits the columns that a penalty selects, "
                           "and the penalty %s selects none; take l1, "
                           "elastic-net, group, sparse-group, mcp or scad",
                           problem->options.penalty);
    if (problem->loss->labels == GLM_LEVELS)
        return strads_fail(STRADS_EINVAL,
                           "relax: the loss %s has no relaxed fits; leave it "
                           "out",
                           problem->options.loss);
    if (problem->loss->joint || !glm_has_columns(data))
        return strads_fail(STRADS_EINVAL,
                           "relax is for numbers and two classes, and data "
                           "that is split by rows, with compressed columns; "
                           "take --cut rows");
    return STRADS_OK;
}

strads_err strads_glm_relax(const strads_data *data,
                            const strads_glm_relax_options *options,
                            const strads_path_point *points, uint32_t n,
                            strads_path_point *out)
{
    strads_engine_options engine = {.size = sizeof(engine),
                                    .workers = 1,
                                    .partitions = 1,
                                    .deterministic = true,
                                    .tolerance = options->tolerance > 0
                                                     ? options->tolerance
                                                     : 1e-9,
                                    .stop = options->stop};
    glm_known known = {0};
    refit f = {0};
    strads_err err = glm_known_new(data, &options->fit, &known);

    for (uint32_t k = 0; k < n; k++)
        out[k] = (strads_path_point){.value = NULL};
    if (!err)
        err = check_relaxed(data, options, &known.problem);
    for (uint32_t k = 0; k < n && !err; k++) {
        if (k == 0 || !selects_the_same(&points[k], &points[k - 1]))
            err = refit_point(data, &known, &engine, &points[k], &f);
        if (!err)
            err = mix_refit(&known, &f, options->share, &points[k], &out[k]);
    }
    refit_free(&f);
    glm_known_free(&known);
    if (err)
        strads_glm_relaxed_free(out, n);
    return err;
}
