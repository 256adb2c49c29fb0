#include "tests/lasso_design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- designs ----------------------------------------------------------- */

static void *reserve(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);

    if (!memory)
        abort();
    return memory;
}

lasso_design lasso_design_zero(uint64_t rows, uint64_t cols)
{
    return (lasso_design){.rows = rows,
                          .cols = cols,
                          .x = reserve(rows * cols, sizeof(double)),
                          .y = reserve(rows, sizeof(double))};
}

void lasso_design_free(lasso_design *design)
{
    free(design->x);
    free(design->y);
    *design = (lasso_design){0};
}

lasso_design lasso_design_repeated(const lasso_design *design,
                                   const double *times)
{
    uint64_t rows = 0, to = 0;

    for (uint64_t i = 0; i < design->rows; i++)
        rows += (uint64_t)times[i];
    lasso_design out = lasso_design_zero(rows, design->cols);
    for (uint64_t i = 0; i < design->rows; i++)
        for (uint64_t k = 0; k < (uint64_t)times[i]; k++, to++) {
            out.y[to] = design->y[i];
            for (uint64_t j = 0; j < design->cols; j++)
                lasso_design_col(&out, j)[to] = lasso_design_col(design, j)[i];
        }
    return out;
}

/* A draw that is close to normal: a sum of twelve uniform ones. */
static double normal(uint64_t seed, uint64_t purpose, uint64_t index)
{
    double sum = -6;

    for (uint64_t k = 0; k < 12; k++)
        sum += strads_random_unit(seed, purpose, index, k);
    return sum;
}

static void fill_column(const lasso_recipe *r, lasso_design *d, uint64_t j)
{
    const double rest = sqrt(1 - r->correlation * r->correlation);

    for (uint64_t i = 0; i < r->rows; i++) {
        const uint64_t index = j * r->rows + i;
        const double before = j > 0 ? d->x[index - r->rows] : 0;
        if (strads_random_unit(r->seed, 2, index, 0) >= r->density)
            continue;
        d->x[index] =
            r->correlation * before + rest * normal(r->seed, 1, index);
        if (j % 3 == 0)
            d->x[index] += r->offset;
    }
}

lasso_design lasso_design_random(const lasso_recipe *recipe)
{
    lasso_design d = lasso_design_zero(recipe->rows, recipe->cols);

    for (uint64_t j = 0; j < d.cols; j++)
        fill_column(recipe, &d, j);
    for (uint64_t i = 0; i < d.rows; i++) {
        d.y[i] = recipe->offset + recipe->noise * normal(recipe->seed, 3, i);
        for (uint64_t j = 0; j < d.cols; j += 7)
            d.y[i] += lasso_design_col(&d, j)[i] * (j % 2 ? -1. : 1.5);
    }
    return d;
}

/* ---- fits -------------------------------------------------------------- */

strads_err lasso_design_data(const lasso_design *d, uint32_t partitions,
                             strads_data **out)
{
    return lasso_design_lay(d, partitions, STRADS_LAYOUT_COLS, out);
}

strads_err lasso_design_lay(const lasso_design *d, uint32_t partitions,
                            strads_layout layout, strads_data **out)
{
    uint64_t *start = reserve(d->cols + 1, sizeof(*start));
    uint32_t *index = reserve(d->rows * d->cols, sizeof(*index));
    double *value = reserve(d->rows * d->cols, sizeof(*value));
    const strads_data_options options = {.size = sizeof(options),
                                         .partitions = partitions,
                                         .layout = layout,
                                         .named_labels = true,
                                         .label_names = d->names};
    uint64_t n = 0;

    for (uint64_t j = 0; j < d->cols; j++) {
        for (uint64_t i = 0; i < d->rows; i++)
            if (lasso_design_col(d, j)[i] != 0) {
                index[n] = (uint32_t)i;
                value[n++] = lasso_design_col(d, j)[i];
            }
        start[j + 1] = n;
    }
    const strads_columns columns = {.rows = d->rows,
                                    .cols = d->cols,
                                    .start = start,
                                    .index = index,
                                    .value = value,
                                    .label = d->y};
    const strads_err err = strads_data_from_columns(&columns, &options, out);
    free(start);
    free(index);
    free(value);
    return err;
}

void lasso_design_take(const lasso_design *d, const void *options,
                       strads_result *result, linear_fit *fit)
{
    (void)options;
    const strads_progress *last = strads_result_progress(result);
    const void *state = strads_result_state(result);
    uint64_t parameters;
    uint32_t width;
    const double *w = strads_result_values(result, &parameters, &width);

    fit->w = reserve(d->cols, sizeof(*fit->w));
    if (parameters >= d->cols && width == 1)
        memcpy(fit->w, w, d->cols * sizeof(*w));
    else
        fit->err = STRADS_EMISMATCH;
    fit->end = strads_result_end(result);
    fit->intercept = *strads_glm_intercepts(state);
    fit->lambda = strads_glm_resolved(state)->lambda;
    fit->lambda_max = strads_glm_lambda_max(state);
    fit->objective = last->objective;
    fit->gap = last->gap;
    fit->nonzeros = last->nonzeros;
    fit->updates_policy = last->updates_policy;
    fit->updates_other = last->updates_other;
}

linear_fit linear_fit_run(const lasso_design *design,
                          const strads_program *program, const void *options,
                          double tolerance, const strads_engine_options *engine,
                          linear_take *take)
{
    strads_engine_options o = {.workers = 1, .deterministic = true};
    strads_data *data = NULL;
    strads_result *result = NULL;
    linear_fit fit = {0};

    if (engine)
        o = *engine;
    o.size = sizeof(o);
    o.partitions = o.partitions ? o.partitions : 2;
    o.tolerance = o.tolerance > 0 ? o.tolerance : tolerance;
    o.max_rounds = o.max_rounds ? o.max_rounds : 200000;
    fit.err = lasso_design_data(design, o.partitions, &data);
    if (!fit.err)
        fit.err = strads_run(program, options, data, &o, &result);
    if (!fit.err)
        take(design, options, result, &fit);
    strads_result_free(result);
    strads_data_free(data);
    return fit;
}

void linear_fit_free(linear_fit *fit)
{
    free(fit->w);
    *fit = (linear_fit){0};
}

double linear_fit_value_at(const linear_fit *fit, const lasso_design *design,
                           uint64_t row)
{
    double sum = fit->intercept;

    for (uint64_t j = 0; j < design->cols && !fit->err; j++)
        sum += fit->w[j] * lasso_design_col(design, j)[row];
    return sum;
}

linear_fit linear_fit_at(const strads_path_point *point, uint64_t cols)
{
    linear_fit fit = {.w = reserve(cols, sizeof(double)),
                      .intercept = point->intercept,
                      .lambda = point->lambda,
                      .objective = point->objective,
                      .gap = point->gap,
                      .nonzeros = point->nonzeros};
    for (uint64_t e = 0; e < point->nonzeros; e++) {
        if (e > 0 && point->index[e] <= point->index[e - 1])
            fit.err = STRADS_EMISMATCH;
        fit.w[point->index[e]] = point->value[e];
    }
    return fit;
}

linear_fit lasso_design_fit(const lasso_design *design,
                            const strads_lasso_options *options,
                            const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_lasso, options, 1e-12, engine,
                          lasso_design_take);
}

/* ---- optimality -------------------------------------------------------- */

static double l1_ratio(const strads_lasso_options *options)
{
    return options->l1_ratio > 0 ? options->l1_ratio : 1;
}

/* The scale of a column: 1, or its deviation. 0 for what never enters. */
static double scale_of(const lasso_design *d, const strads_lasso_options *o,
                       uint64_t j)
{
    const double *x = lasso_design_col(d, j);
    double mean = 0, squares = 0;

    for (uint64_t i = 0; i < d->rows && o->intercept; i++)
        mean += x[i] / (double)d->rows;
    for (uint64_t i = 0; i < d->rows; i++)
        squares += (x[i] - mean) * (x[i] - mean) / (double)d->rows;
    if (squares <= 1e-20)
        return 0;
    return o->standardize ? sqrt(squares) : 1;
}

static double *residual_of(const lasso_design *d, const linear_fit *fit)
{
    double *r = reserve(d->rows, sizeof(*r));

    for (uint64_t i = 0; i < d->rows; i++)
        r[i] = d->y[i] - fit->intercept;
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint64_t i = 0; i < d->rows && fit->w[j] != 0; i++)
            r[i] -= lasso_design_col(d, j)[i] * fit->w[j];
    return r;
}

/* How far -slope is from the penalty's subdifferential at w; all of it in the
 * unit of the scaled column. */
static double column_violation(double slope, double w, double lambda,
                               const strads_lasso_options *o)
{
    const double l1 = lambda * l1_ratio(o), l2 = lambda - l1;

    if (o->positive && w < 0)
        return INFINITY;
    if (w > 0)
        return fabs(slope - l2 * w - l1);
    if (w < 0)
        return fabs(slope - l2 * w + l1);
    return fmax((o->positive ? slope : fabs(slope)) - l1, 0);
}

double lasso_violation(const lasso_design *design,
                       const strads_lasso_options *options,
                       const linear_fit *fit)
{
    const double n = (double)design->rows;
    double *r = residual_of(design, fit);
    double worst = 0, sum = 0;

    for (uint64_t i = 0; i < design->rows; i++)
        sum += r[i];
    if (options->intercept)
        worst = fabs(sum) / n;
    for (uint64_t j = 0; j < design->cols; j++) {
        const double *x = lasso_design_col(design, j);
        const double s = scale_of(design, options, j);
        double slope = 0;
        for (uint64_t i = 0; i < design->rows; i++)
            slope += x[i] * r[i] / n;
        if (s == 0)
            worst = fmax(worst, fit->w[j] != 0 ? INFINITY : 0);
        else
            worst = fmax(worst, column_violation(slope / s, fit->w[j] * s,
                                                 fit->lambda, options));
    }
    free(r);
    return fit->lambda > 0 ? worst / fit->lambda : worst;
}

double lasso_value(const lasso_design *design,
                   const strads_lasso_options *options, const linear_fit *fit)
{
    const double l1 = fit->lambda * l1_ratio(options), l2 = fit->lambda - l1;
    double *r = residual_of(design, fit);
    double value = 0;

    for (uint64_t i = 0; i < design->rows; i++)
        value += r[i] * r[i] / 2 / (double)design->rows;
    for (uint64_t j = 0; j < design->cols; j++) {
        const double w = fit->w[j] * scale_of(design, options, j);
        value += l1 * fabs(w) + l2 / 2 * w * w;
    }
    free(r);
    return value;
}

double lasso_distance(const lasso_design *design, const double *v,
                      const double *w)
{
    double worst = 0;

    for (uint64_t j = 0; j < design->cols; j++)
        worst = fmax(worst, fabs(v[j] - w[j]));
    return worst;
}
