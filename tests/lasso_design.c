#include "tests/lasso_design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "strads/logistic.h"
#include "strads/svm.h"

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

/* An approximately normal draw: a sum of twelve uniform ones. */
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
        if (r->density > 0 &&
            strads_random_unit(r->seed, 2, index, 0) >= r->density)
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
    const strads_data_options options = {.size = sizeof(options),
                                         .partitions = partitions,
                                         .layout = layout,
                                         .named_labels = true,
                                         .label_names = d->names};
    return lasso_design_cut(d, &options, out);
}

strads_err lasso_design_cut(const lasso_design *d,
                            const strads_data_options *options,
                            strads_data **out)
{
    uint64_t *start = reserve(d->cols + 1, sizeof(*start));
    uint32_t *index = reserve(d->rows * d->cols, sizeof(*index));
    double *value = reserve(d->rows * d->cols, sizeof(*value));
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
    const strads_err err = strads_data_from_columns(&columns, options, out);
    free(start);
    free(index);
    free(value);
    return err;
}

static void take(const lasso_design *d, const strads_program *program,
                 const strads_result *result, linear_fit *fit)
{
    const bool dual = program == &strads_program_logistic_dual ||
                      program == &strads_program_svm;
    const strads_progress *last = strads_result_progress(result);
    const void *state = strads_result_state(result);
    const double *b =
        dual ? strads_svm_intercepts(state) : strads_glm_intercepts(state);
    uint64_t parameters;
    const double *w = strads_result_values(result, &parameters, &fit->width);
    const uint64_t n = d->cols * fit->width;
    const bool has_b = !dual && strads_glm_resolved(state)->intercept;

    fit->w = reserve(n + fit->width, sizeof(*fit->w));
    if (parameters < d->cols + has_b) {
        fit->err = STRADS_EMISMATCH;
        return;
    }
    memcpy(fit->w, w, n * sizeof(*w));
    memcpy(fit->w + n, b, fit->width * sizeof(*b));
    fit->end = strads_result_end(result);
    for (uint32_t k = 0;
         k < fit->width && has_b && fit->end == STRADS_END_CONVERGED; k++)
        if (fabs(w[n + k] - b[k]) > 1e-11 * fmax(fabs(b[k]), 1))
            fit->err = STRADS_EMISMATCH; /* the table and the state disagree */
    fit->intercept = *b;
    fit->lambda = dual ? strads_logistic_dual_resolved(state).lambda
                       : strads_glm_resolved(state)->lambda;
    fit->lambda_max = dual ? 0 : strads_glm_lambda_max(state);
    fit->objective = last->objective;
    fit->gap = last->gap;
    fit->nonzeros = last->nonzeros;
    fit->updates_policy = last->updates_policy;
    fit->updates_other = last->updates_other;
}

linear_fit linear_fit_run(const lasso_design *design,
                          const strads_program *program, const void *options,
                          double tolerance, const strads_engine_options *engine)
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
    fit.err = lasso_design_lay(design, o.partitions, program->layout, &data);
    if (!fit.err)
        fit.err = strads_run(program, options, data, &o, &result);
    if (!fit.err)
        take(design, program, result, &fit);
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
    linear_fit fit = {.width = 1,
                      .w = reserve(cols + 1, sizeof(double)),
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
    return linear_fit_run(design, &strads_program_lasso, options, 1e-12,
                          engine);
}

double lasso_distance(const lasso_design *design, const double *v,
                      const double *w)
{
    double worst = 0;

    for (uint64_t j = 0; j < design->cols; j++)
        worst = fmax(worst, fabs(v[j] - w[j]));
    return worst;
}
