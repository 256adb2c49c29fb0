/* Fits of SVMs, and the textbook's formulas for each loss. */
#include "tests/svm_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fits -------------------------------------------------------------- */

static void take(svm_fit *fit, const lasso_design *d,
                 const strads_result *result)
{
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
    fit->updates_policy = progress->updates_policy;
    fit->updates_other = progress->updates_other;
    fit->intercept = *strads_svm_intercepts(state);
    fit->supports = strads_svm_supports(state);
    if (strads_svm_resolved(state)->classes)
        (void)snprintf(fit->classes, sizeof fit->classes, "%s",
                       strads_svm_resolved(state)->classes);
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
        take(&fit, design, result);
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
    svm_fit one = {.width = 1};
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
    if (rows > 1) { /* of both classes */
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

/* A row's part of D at b, with U = C times its weight; out of its box it is
 * counted as broken. */
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

/* 1/2 |w|^2, the bias's too. */
static double half_square(const double *w, uint64_t cols)
{
    double sum = 0;
    for (uint64_t j = 0; j <= cols; j++)
        sum += w[j] * w[j];
    return sum / 2;
}

svm_worth svm_fit_worth(const lasso_design *design,
                        const strads_svm_options *options, const double *weight,
                        const svm_fit *fit)
{
    const double c = options->c > 0 ? options->c : 1;
    double *own = calloc(design->cols + 1, sizeof *own);
    svm_worth worth = {.primal = half_square(fit->w, design->cols)};
    for (uint64_t i = 0; i < design->rows; i++) {
        const double u = c * (weight ? weight[i] : 1), y = design->y[i];
        double z = options->bias * fit->w[design->cols];
        own[design->cols] += options->bias * fit->b[i];
        for (uint64_t j = 0; j < design->cols; j++) {
            z += lasso_design_col(design, j)[i] * fit->w[j];
            own[j] += lasso_design_col(design, j)[i] * fit->b[i];
        }
        worth.primal += u * loss_of(options, y, z);
        worth.dual += dual_of(options, u, y, fit->b[i], &worth.broken);
    }
    worth.dual -= half_square(own, design->cols);
    free(own);
    return worth;
}
