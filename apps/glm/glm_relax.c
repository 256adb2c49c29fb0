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

/* The options of a fit of these rows without a penalty. */
static strads_glm_options unpenalised(const glm_targets *targets)
{
    strads_glm_options o = targets->problem.options;

    o.penalty = "none";
    o.lambda = o.lambda_ratio = o.c = o.l1_ratio = o.gamma = 0;
    o.penalty_factors = o.groups = NULL;
    o.penalty_factor = NULL;
    o.column_group = NULL;
    o.standardize = false;
    o.weights = NULL;
    o.row_weight = targets->weighs ? targets->weight : NULL;
    o.start_intercept = NULL;
    o.classes = targets->classes_text;
    return o;
}

/* ---- the fit without a penalty ------------------------------------------- */

/* The fit without a penalty of the last set of columns. */
typedef struct refit {
    glm_columns x;
    double *value, intercept; /* [nonzeros] */
    bool used;                /* it has a minimum */
} refit;

static void refit_free(refit *f)
{
    glm_columns_free(&f->x);
    free(f->value);
}

/* Fits the columns without a penalty; f->used stays false if that has no
 * certified minimum. */
static strads_err fit_selected(const strads_data *data,
                               const glm_targets *targets,
                               const strads_engine_options *engine, uint64_t n,
                               refit *f)
{
    const strads_arrays lent = {.size = sizeof(lent),
                                .rows = targets->rows,
                                .cols = n,
                                .borrow = true,
                                .start = f->x.start,
                                .starts = STRADS_I64,
                                .index = f->x.index,
                                .indices = STRADS_I32,
                                .value = f->x.value,
                                .label = targets->label};
    const strads_data_options read = {.size = sizeof(read),
                                      .named_labels = true,
                                      .label_names =
                                          strads_data_label_names(data)};
    const strads_glm_options o = unpenalised(targets);
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

static strads_err refit_point(const strads_data *data,
                              const glm_targets *targets,
                              const strads_engine_options *engine,
                              const strads_path_point *point, refit *f)
{
    const uint64_t n = point->nonzeros;
    const uint64_t least = n + targets->problem.options.intercept + SPARE_ROWS;
    strads_err err;

    refit_free(f);
    *f = (refit){.value = calloc(n + 1, sizeof(*f->value))};
    if (!f->value)
        return strads_fail(STRADS_ENOMEM, "no memory for a relaxed fit");
    if ((err = glm_columns_copy(data, point->nonzeros, point->index, &f->x)) ||
        n == 0 || least > targets->rows)
        return err;
    return fit_selected(data, targets, engine, n, f);
}

static double find_deviance(const glm_targets *targets, const glm_columns *x,
                            const strads_path_point *point)
{
    const glm_rows rows = {targets->rows, targets->y, targets->c, targets->z};

    glm_targets_margins(targets, x, point);
    return 2 * targets->problem.loss->evaluate(&rows, targets->problem.p, NULL,
                                               NULL);
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

static strads_err mix_refit(const glm_targets *targets, const refit *f,
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
        out->deviance = find_deviance(targets, &f->x, out);
    return STRADS_OK;
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
    glm_targets targets = {0};
    refit f = {0};
    strads_err err = glm_targets_new(data, &options->fit, &targets);

    for (uint32_t k = 0; k < n; k++)
        out[k] = (strads_path_point){.value = NULL};
    if (!err)
        err = check_relaxed(data, options, &targets.problem);
    for (uint32_t k = 0; k < n && !err; k++) {
        if (k == 0 || !selects_the_same(&points[k], &points[k - 1]))
            err = refit_point(data, &targets, &engine, &points[k], &f);
        if (!err)
            err = mix_refit(&targets, &f, options->share, &points[k], &out[k]);
    }
    refit_free(&f);
    glm_targets_free(&targets);
    if (err)
        strads_glm_relaxed_free(out, n);
    return err;
}
