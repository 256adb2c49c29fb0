/* Fits of SVMs, and the textbook formulas of each loss. */
#include "tests/svm_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fits -------------------------------------------------------------- */

svm_fit svm_fit_of(const lasso_design *d, const strads_result *result)
{
    svm_fit of = {0}, *const fit = &of;
    const strads_progress *progress = strads_result_progress(result);
    const void *state = strads_result_state(result);
    uint64_t parameters;
    uint32_t width;
    const double *values = strads_result_values(result, &parameters, &width);
    fit->end = strads_result_end(result);
    fit->width = width;
    fit->w = calloc((d->cols + 1) * width, sizeof(double));
    fit->b = calloc((d->rows + 1) * width, sizeof(double));
    memcpy(fit->w, values, (d->cols + 1) * width * sizeof(double));
    memcpy(fit->b, values + (parameters - d->rows) * width,
           d->rows * width * sizeof(double));
    fit->objective = progress->objective;
    fit->gap = progress->gap;
    fit->rounds = progress->round;
    fit->updates_policy = progress->updates_policy;
    fit->updates_other = progress->updates_other;
    fit->intercept = *strads_svm_intercepts(state);
    memcpy(fit->intercepts, strads_svm_intercepts(state),
           (width < 8 ? width : 8) * sizeof(double));
    fit->supports = strads_svm_supports(state);
    if (strads_svm_resolved(state)->classes)
        (void)snprintf(fit->classes, sizeof fit->classes, "%s",
                       strads_svm_resolved(state)->classes);
    return of;
}

svm_fit svm_fit_run(const lasso_design *design,
                    const strads_svm_options *options,
                    const strads_engine_options *engine)
{
    strads_engine_options e = {.workers = 1, .deterministic = true};
    svm_fit fit = {0};
    strads_result *result = NULL;
    if (engine)
        e = *engine;
    e.size = sizeof e;
    e.partitions = e.partitions ? e.partitions : 2;
    e.tolerance = e.tolerance > 0 ? e.tolerance : 1e-10;
    strads_data *data = NULL;
    fit.err = lasso_design_lay(design, e.partitions, STRADS_LAYOUT_ROWS, &data);
    if (!fit.err)
        fit.err = strads_run(&strads_program_svm, options, data, &e, &result);
    if (!fit.err)
        fit = svm_fit_of(design, result);
    strads_result_free(result);
    strads_data_free(data);
    return fit;
}

void svm_fit_free(svm_fit *fit)
{
    free(fit->w);
    free(fit->b);
    *fit = (svm_fit){0};
}

svm_fit svm_fit_class(const lasso_design *design, const svm_fit *fit,
                      uint32_t k)
{
    svm_fit one = {.width = 1, .intercept = fit->intercepts[k]};
    one.w = calloc(design->cols + 1, sizeof(double));
    one.b = calloc(design->rows + 1, sizeof(double));
    for (uint64_t j = 0; j <= design->cols; j++)
        one.w[j] = fit->w[j * fit->width + k];
    for (uint64_t i = 0; i < design->rows; i++)
        one.b[i] = fit->b[i * fit->width + k];
    return one;
}

/* ---- designs ----------------------------------------------------------- */

lasso_design svm_design_random(uint64_t rows, uint64_t cols, double density,
                               uint64_t seed)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = rows,
                                                         .cols = cols,
                                                         .seed = seed,
                                                         .density = density,
                                                         .noise = 1});
    for (uint64_t i = 0; i < rows; i++)
        d.y[i] = d.y[i] > 0 ? 1 : -1;
    if (rows > 1) { /* both classes occur */
        d.y[0] = 1;
        d.y[1] = -1;
    }
    return d;
}

/* ---- the objective ----------------------------------------------------- */

static double loss_of(const strads_svm_options *o, double y, double z)
{
    if (!o->loss || strcmp(o->loss, "squared-hinge") == 0)
        return pow(fmax(0, 1 - y * z), 2);
    if (strcmp(o->loss, "hinge") == 0)
        return fmax(0, 1 - y * z);
    const double off = fmax(0, fabs(y - z) - o->epsilon);
    return strcmp(o->loss, "epsilon") == 0 ? off : off * off;
}

/* A row's part of D at b, with U = C times its weight; adds the distance of
 * b from its box to `broken`. */
static double dual_of(const strads_svm_options *o, double u, double y, double b,
                      double *broken)
{
    if (!o->loss || strcmp(o->loss, "squared-hinge") == 0) {
        *broken = fmax(*broken, -y * b);
        return y * b - (u > 0 ? b * b / (4 * u) : 0);
    }
    if (strcmp(o->loss, "hinge") == 0) {
        *broken = fmax(*broken, fmax(-y * b, y * b - u));
        return y * b;
    }
    if (strcmp(o->loss, "epsilon") == 0) {
        *broken = fmax(*broken, fabs(b) - u);
        return y * b - o->epsilon * fabs(b);
    }
    return y * b - o->epsilon * fabs(b) - (u > 0 ? b * b / (4 * u) : 0);
}

/* 1/2 |w|^2 of n numbers. */
static double half_square(const double *w, uint64_t n)
{
    double sum = 0;
    for (uint64_t j = 0; j < n; j++)
        sum += w[j] * w[j];
    return sum / 2;
}

/* With an unpenalised intercept, sum b = 0 is a condition of the dual.
 * Returns the factor for the larger side's b, those above 0 (side 1) or below 0
 * (-1). */
static double level_of(const lasso_design *d, const svm_fit *fit, int *side)
{
    double sum[2] = {0, 0};
    for (uint64_t i = 0; i < d->rows; i++)
        sum[fit->b[i] > 0] += fabs(fit->b[i]);
    *side = sum[1] > sum[0] ? 1 : -1;
    return fmax(sum[0], sum[1]) > 0
               ? fmin(sum[0], sum[1]) / fmax(sum[0], sum[1])
               : 1;
}

svm_worth svm_fit_worth(const lasso_design *design,
                        const strads_svm_options *options, const double *weight,
                        const svm_fit *fit)
{
    const double c = options->c > 0 ? options->c : 1;
    const uint64_t penalised = design->cols + !options->intercept;
    double *own = calloc(design->cols + 1, sizeof *own);
    svm_worth worth = {.primal = half_square(fit->w, penalised)};
    int side = 0;
    const double less = options->intercept ? level_of(design, fit, &side) : 1;
    for (uint64_t i = 0; i < design->rows; i++) {
        const double u = c * (weight ? weight[i] : 1), y = design->y[i];
        const double b = fit->b[i] * (fit->b[i] * side > 0 ? less : 1);
        double z = options->intercept ? fit->intercept
                                      : options->bias * fit->w[design->cols];
        own[design->cols] += options->bias * b;
        for (uint64_t j = 0; j < design->cols; j++) {
            z += lasso_design_col(design, j)[i] * fit->w[j];
            own[j] += lasso_design_col(design, j)[i] * b;
        }
        worth.primal += u * loss_of(options, y, z);
        worth.dual += dual_of(options, u, y, b, &worth.broken);
    }
    worth.dual -= half_square(own, penalised);
    free(own);
    return worth;
}
