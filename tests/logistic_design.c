#include "tests/logistic_design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *reserve(size_t n)
{
    double *memory = calloc(n + 1, sizeof(*memory));

    if (!memory)
        abort();
    return memory;
}

lasso_design logistic_design_random(const lasso_recipe *recipe)
{
    lasso_design d = lasso_design_random(recipe);
    double mean = 0;

    for (uint64_t i = 0; i < d.rows; i++)
        mean += d.y[i] / (double)d.rows;
    for (uint64_t i = 0; i < d.rows; i++)
        d.y[i] = d.y[i] > mean ? 1 : -1;
    return d;
}

/* ---- fits -------------------------------------------------------------- */

const double logistic_design_label[LOGISTIC_DESIGN_CLASSES] = {-2, 0, 3, 10};

lasso_design logistic_design_classes(uint64_t cols, double density)
{
    lasso_design d = lasso_design_random(&(lasso_recipe){.rows = 90,
                                                         .cols = cols,
                                                         .seed = 6,
                                                         .density = density,
                                                         .correlation = .5,
                                                         .noise = 1});

    for (uint64_t i = 0; i < d.rows; i++) {
        const double at = lasso_design_col(&d, 0)[i] + d.y[i] / 4;
        const uint32_t class = at < -.8 ? 0 : at < 0 ? 1 : at < .9 ? 2 : 3;
        d.y[i] = logistic_design_label[class];
    }
    return d;
}

void logistic_take(const lasso_design *d, const void *asked,
                   strads_result *result, linear_fit *fit)
{
    const strads_logistic_options *options = asked;
    const strads_progress *last = strads_result_progress(result);
    const void *state = strads_result_state(result);
    const bool intercept = options && options->intercept;
    uint64_t parameters;
    uint32_t width;
    const double *w = strads_result_values(result, &parameters, &width);

    fit->w = reserve(d->cols);
    fit->intercept = strads_glm_intercepts(state)[0];
    if (parameters < d->cols + intercept || width != 1)
        fit->err = STRADS_EMISMATCH;
    else
        memcpy(fit->w, w, d->cols * sizeof(*w));
    if (!fit->err && intercept &&
        fabs(w[d->cols] - fit->intercept) > 1e-12 * fabs(fit->intercept))
        fit->err = STRADS_EMISMATCH; /* the table and the state disagree */
    fit->end = strads_result_end(result);
    fit->lambda = strads_glm_resolved(state)->lambda;
    fit->lambda_max = strads_glm_lambda_max(state);
    fit->objective = last->objective;
    fit->gap = last->gap;
    fit->nonzeros = last->nonzeros;
    fit->updates_policy = last->updates_policy;
    fit->updates_other = last->updates_other;
}

linear_fit logistic_design_fit(const lasso_design *design,
                               const strads_logistic_options *options,
                               const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_logistic, options, 1e-10,
                          engine, logistic_take);
}

/* ---- the objective, once more ------------------------------------------ */

static double weight_of(const logistic_view *view, uint64_t i)
{
    return view->c ? view->c[i] : 1;
}

static double weight_sum(const lasso_design *d, const logistic_view *view)
{
    double sum = 0;

    for (uint64_t i = 0; i < d->rows; i++)
        sum += weight_of(view, i);
    return sum;
}

static double sign_of(const lasso_design *d, const logistic_view *view,
                      uint64_t i)
{
    return d->y[i] == view->positive ? 1 : -1;
}

/* The deviation of a column, or 1; 0 for what never enters. */
static double scale_of(const lasso_design *d, const logistic_view *view,
                       const strads_logistic_options *o, uint64_t j)
{
    const double *x = lasso_design_col(d, j);
    const double sum = weight_sum(d, view);
    double mean = 0, squares = 0;

    for (uint64_t i = 0; i < d->rows && o->intercept; i++)
        mean += weight_of(view, i) * x[i] / sum;
    for (uint64_t i = 0; i < d->rows; i++)
        squares += weight_of(view, i) * (x[i] - mean) * (x[i] - mean) / sum;
    if (squares <= 1e-20 * (1 + mean * mean) && squares <= 1e-18)
        return 0;
    return o->standardize ? sqrt(squares) : 1;
}

/* y_i times (x_i'w + b) of all rows. */
static double *margins(const lasso_design *d, const logistic_view *view,
                       const linear_fit *fit)
{
    double *m = reserve(d->rows);

    for (uint64_t i = 0; i < d->rows; i++)
        m[i] = fit->intercept;
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint64_t i = 0; i < d->rows && fit->w[j] != 0; i++)
            m[i] += lasso_design_col(d, j)[i] * fit->w[j];
    for (uint64_t i = 0; i < d->rows; i++)
        m[i] *= sign_of(d, view, i);
    return m;
}

static double loss(double margin)
{
    return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
}

double logistic_value(const lasso_design *design, const logistic_view *view,
                      const strads_logistic_options *options,
                      const linear_fit *fit)
{
    const double l1 = fit->lambda * options->l1_ratio, l2 = fit->lambda - l1;
    const double sum = weight_sum(design, view);
    double *m = margins(design, view, fit);
    double value = 0;

    for (uint64_t i = 0; i < design->rows; i++)
        value += weight_of(view, i) * loss(m[i]) / sum;
    for (uint64_t j = 0; j < design->cols; j++) {
        if (fit->w[j] == 0)
            continue;
        const double w = fit->w[j] * scale_of(design, view, options, j);
        value += l1 * fabs(w) + l2 / 2 * w * w;
    }
    free(m);
    return value;
}

/* What the loss slopes down by along each margin z_i, over the sum of c. */
static double *slopes(const lasso_design *d, const logistic_view *view,
                      const linear_fit *fit)
{
    const double sum = weight_sum(d, view);
    double *r = margins(d, view, fit);

    for (uint64_t i = 0; i < d->rows; i++)
        r[i] = weight_of(view, i) * sign_of(d, view, i) / (1 + exp(r[i])) / sum;
    return r;
}

static double column_violation(double slope, double w, double l1, double l2)
{
    if (w > 0)
        return fabs(slope - l2 * w - l1);
    if (w < 0)
        return fabs(slope - l2 * w + l1);
    return fmax(fabs(slope) - l1, 0);
}

double logistic_violation(const lasso_design *design, const logistic_view *view,
                          const strads_logistic_options *options,
                          const linear_fit *fit)
{
    const double l1 = fit->lambda * options->l1_ratio, l2 = fit->lambda - l1;
    double *r = slopes(design, view, fit);
    double worst = 0, sum = 0;

    for (uint64_t i = 0; i < design->rows; i++)
        sum += r[i];
    if (options->intercept)
        worst = fabs(sum);
    for (uint64_t j = 0; j < design->cols; j++) {
        const double *x = lasso_design_col(design, j);
        const double s = scale_of(design, view, options, j);
        double slope = 0;
        for (uint64_t i = 0; i < design->rows; i++)
            slope += x[i] * r[i];
        if (s == 0)
            worst = fmax(worst, fit->w[j] != 0 ? INFINITY : 0);
        else
            worst =
                fmax(worst, column_violation(slope / s, fit->w[j] * s, l1, l2));
    }
    free(r);
    return fit->lambda > 0 ? worst / fit->lambda : worst;
}

static double entropy(double a)
{
    return a > 0 && a < 1 ? -a * log(a) - (1 - a) * log1p(-a) : 0;
}

double logistic_gap(const lasso_design *design, const logistic_view *view,
                    const linear_fit *fit)
{
    const strads_logistic_options plain = {.l1_ratio = 1};
    const double sum = weight_sum(design, view);
    const double primal = logistic_value(design, view, &plain, fit);
    double *r = slopes(design, view, fit);
    double steepest = 0, dual = 0;

    for (uint64_t j = 0; j < design->cols; j++) {
        double slope = 0;
        for (uint64_t i = 0; i < design->rows; i++)
            slope += lasso_design_col(design, j)[i] * r[i];
        steepest = fmax(steepest, fabs(slope));
    }
    const double share = fmin(1, fit->lambda / steepest);
    for (uint64_t i = 0; i < design->rows; i++) {
        const double c = weight_of(view, i) / sum;
        dual += c > 0 ? c * entropy(share * fabs(r[i]) / c) : 0;
    }
    free(r);
    return (primal - dual) / primal;
}
