#include "tests/glm_design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *word, const char *usual, const char *name)
{
    return strcmp(word ? word : usual, name) == 0;
}

lasso_design glm_design_random(const lasso_recipe *recipe, const char *loss)
{
    lasso_design d = lasso_design_random(recipe);
    double mean = 0, most = 0;

    for (uint64_t i = 0; i < d.rows; i++) {
        mean += d.y[i] / (double)d.rows;
        most = fmax(most, fabs(d.y[i]));
    }
    for (uint64_t i = 0; i < d.rows; i++)
        if (strads_glm_classifies(loss))
            d.y[i] = d.y[i] > mean;
        else if (is(loss, "", "poisson"))
            d.y[i] = floor(exp(2 * d.y[i] / most));
        else if (is(loss, "", "gamma"))
            d.y[i] = exp(2 * d.y[i] / most);
        else if (is(loss, "", "tweedie"))
            d.y[i] = fmax(exp(2 * d.y[i] / most) - 1, 0);
    return d;
}

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

/* ---- fits ---------------------------------------------------------------- */

linear_fit glm_design_fit(const lasso_design *design,
                          const strads_glm_options *options,
                          const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_glm, options, 1e-10, engine);
}

linear_fit logistic_design_fit(const lasso_design *design,
                               const strads_logistic_options *options,
                               const strads_engine_options *engine)
{
    return linear_fit_run(design, &strads_program_logistic, options, 1e-10,
                          engine);
}

strads_glm_options glm_of_logistic(const strads_logistic_options *o,
                                   const char *loss)
{
    return (strads_glm_options){.loss = loss,
                                .penalty =
                                    o->l1_ratio == 0 ? "ridge" : "elastic-net",
                                .l1_ratio = o->l1_ratio,
                                .intercept = o->intercept,
                                .standardize = o->standardize,
                                .row_weight = o->row_weight};
}

/* ---- the losses: f and f' ------------------------------------------------ */

typedef struct pair {
    double value, slope;
} pair;

static pair loss_at(const strads_glm_options *o, double y, double z)
{
    const double s = y > 0 ? 1 : -1;

    if (is(o->loss, "squared", "squared"))
        return (pair){(y - z) * (y - z) / 2, z - y};
    if (is(o->loss, "", "logistic"))
        return (pair){s * z > -30 ? log1p(exp(-s * z)) : -s * z,
                      -s / (1 + exp(s * z))};
    if (is(o->loss, "", "squared-hinge")) {
        const double over = s * z < 1 ? 1 - s * z : 0;
        return (pair){over * over / 2, -s * over};
    }
    if (is(o->loss, "", "huber")) {
        const double t = fabs(z - y), p = 1.345;
        return t <= p ? (pair){t * t / 2, z - y}
                      : (pair){p * t - p * p / 2, copysign(p, z - y)};
    }
    if (is(o->loss, "", "poisson"))
        return (pair){exp(z) - y * z - y + (y > 0 ? y * log(y) : 0),
                      exp(z) - y};
    if (is(o->loss, "", "gamma"))
        return (pair){z - log(y) - 1 + y * exp(-z), 1 - y * exp(-z)};
    if (is(o->loss, "", "tweedie")) { /* of power 1.5 */
        const double root = exp(z / 2), part = y > 0 ? y / root : 0;
        return (pair){2 * (part + root) - 4 * sqrt(y), root - part};
    }
    abort();
}

/* ---- the penalties ------------------------------------------------------- */

typedef struct cost {
    double l1, l2, scale;
} cost;

static double weight_of(const strads_glm_options *o, uint64_t i)
{
    return o->row_weight ? o->row_weight[i] : 1;
}

static double total(const lasso_design *d, const strads_glm_options *o)
{
    double sum = 0;

    for (uint64_t i = 0; i < d->rows; i++)
        sum += weight_of(o, i);
    return sum;
}

static cost cost_of(const lasso_design *d, const strads_glm_options *o,
                    const linear_fit *fit, uint64_t j)
{
    const double *x = lasso_design_col(d, j), all = total(d, o);
    const double a = is(o->penalty, "l1", "l1") || is(o->penalty, "", "mcp") ||
                             is(o->penalty, "", "scad") ||
                             is(o->penalty, "", "group")
                         ? 1
                     : is(o->penalty, "", "ridge") ? 0
                     : o->l1_ratio > 0             ? o->l1_ratio
                                                   : .5;
    const double lambda = is(o->penalty, "", "none") ? 0 : fit->lambda;
    double mean = 0, square = 0, s = 1;

    for (uint64_t i = 0; i < d->rows; i++) {
        mean += o->intercept ? weight_of(o, i) * x[i] / all : 0;
        square += weight_of(o, i) * x[i] * x[i] / all;
    }
    if (o->standardize && square > 0)
        s = sqrt(square - mean * mean > 1e-12 * square ? square - mean * mean
                                                       : square);
    const double factor = o->penalty_factor ? o->penalty_factor[j] : 1;
    return (cost){factor * lambda * a * s, factor * lambda * (1 - a) * s * s,
                  s};
}

/* What |w| costs in one that flattens out, by its definition, and how fast that
 * grows; `t` = s |w|. */
static pair flat_at(const strads_glm_options *o, const cost *c, double w)
{
    const bool mcp = is(o->penalty, "", "mcp");
    const double s = c->scale, lambda = c->l1 / s, t = s * fabs(w);
    const double g = o->gamma > 0 ? o->gamma : mcp ? 3 : 3.7;

    if (mcp && t <= g * lambda)
        return (pair){lambda * t - t * t / (2 * g), s * (lambda - t / g)};
    if (mcp)
        return (pair){g * lambda * lambda / 2, 0};
    if (t <= lambda)
        return (pair){lambda * t, s * lambda};
    if (t <= g * lambda)
        return (pair){(2 * g * lambda * t - t * t - lambda * lambda) /
                          (2 * (g - 1)),
                      s * (g * lambda - t) / (g - 1)};
    return (pair){lambda * lambda * (g + 1) / 2, 0};
}

static bool flattens(const strads_glm_options *o)
{
    return is(o->penalty, "", "mcp") || is(o->penalty, "", "scad");
}

/* Of the group that column j is the first of; 0: it is not. */
typedef struct group {
    uint64_t n;
    double size, ones; /* |v|_2, |v|_1 */
    double ball, box;  /* their weights */
} group;

static group group_at(const lasso_design *d, const strads_glm_options *o,
                      const linear_fit *fit, uint64_t j)
{
    group g = {0};

    for (uint64_t i = 0; i < d->cols; i++) {
        if (o->column_group[i] != o->column_group[j])
            continue;
        if (i < j)
            return (group){0};
        const cost c = cost_of(d, o, fit, i);
        const double s = c.scale;
        const bool both = is(o->penalty, "", "sparse-group");
        g.n++;
        g.size += s * s * fit->w[i] * fit->w[i];
        g.ones += s * fabs(fit->w[i]);
        g.box = both ? c.l1 / s : 0;
        g.ball = both ? c.l2 / (s * s) : c.l1 / s;
    }
    g.size = sqrt(g.size);
    g.ball *= sqrt((double)g.n);
    return g;
}

static double margin(const lasso_design *d, const strads_glm_options *o,
                     const linear_fit *fit, uint64_t i)
{
    return linear_fit_value_at(fit, d, i) +
           (o->row_offset ? o->row_offset[i] : 0);
}

double glm_value(const lasso_design *d, const strads_glm_options *o,
                 const linear_fit *fit)
{
    double sum = 0;

    for (uint64_t i = 0; i < d->rows; i++)
        sum += weight_of(o, i) / total(d, o) *
               loss_at(o, d->y[i], margin(d, o, fit, i)).value;
    for (uint64_t j = 0; j < d->cols; j++) {
        const cost c = cost_of(d, o, fit, j);
        if (o->column_group) {
            const group g = group_at(d, o, fit, j);
            sum += g.ball * g.size + g.box * g.ones;
        } else if (flattens(o)) {
            sum += flat_at(o, &c, fit->w[j]).value;
        } else {
            sum += c.l1 * fabs(fit->w[j]) + c.l2 / 2 * fit->w[j] * fit->w[j];
        }
    }
    return sum;
}

/* The distance of a group's slopes from its subgradients, in units in which all
 * columns are alike. Column j is the group's first. */
static double group_off(const lasso_design *d, const strads_glm_options *o,
                        const linear_fit *fit, const double *r, double size,
                        uint64_t j)
{
    const group g = group_at(d, o, fit, j);
    double off = 0, square = 0;

    for (uint64_t i = j; i < d->cols && g.n > 0; i++) {
        if (o->column_group[i] != o->column_group[j])
            continue;
        const double *x = lasso_design_col(d, i);
        const double s = cost_of(d, o, fit, i).scale;
        double q = 0;
        for (uint64_t k = 0; k < d->rows; k++) {
            q += x[k] * r[k] / s;
            square += weight_of(o, k) * x[k] * x[k] / (s * s);
        }
        if (fit->w[i] != 0)
            off += pow(q - copysign(g.box, fit->w[i]) -
                           g.ball * s * fit->w[i] / g.size,
                       2);
        else
            off += pow(fmax(fabs(q) - g.box, 0), 2);
    }
    off = g.size > 0 ? sqrt(off) : fmax(sqrt(off) - g.ball, 0);
    return off > 0 ? off / (g.box + g.ball + sqrt(square) * size) : 0;
}

/* The largest distance of a slope from the subgradients, in units of lambda, or
 * relative to it and to how large slopes of such columns can be. */
static double worst_off(const lasso_design *d, const strads_glm_options *o,
                        const linear_fit *fit, bool by_lambda)
{
    const double unit = fit->lambda > 0 ? fit->lambda : 1;
    double *r = calloc(d->rows + 1, sizeof(*r));
    double sum = 0, size = 0, worst;

    if (!r)
        abort();
    for (uint64_t i = 0; i < d->rows; i++) {
        r[i] = -weight_of(o, i) / total(d, o) *
               loss_at(o, d->y[i], margin(d, o, fit, i)).slope;
        sum += r[i];
        size += weight_of(o, i) > 0 ? r[i] * r[i] / weight_of(o, i) : 0;
    }
    /* x_j'r is |x_j| times that at most; rounding leaves so much. */
    size = fmax(sqrt(size), 1e-9 / sqrt(total(d, o)));
    worst =
        by_lambda ? fabs(sum) / unit : fabs(sum) / (size * sqrt(total(d, o)));
    worst = o->intercept ? worst : 0;
    for (uint64_t j = 0; j < d->cols; j++) {
        const double *x = lasso_design_col(d, j), w = fit->w[j];
        const cost c = cost_of(d, o, fit, j);
        double q = -c.l2 * w, square = 0;
        if (o->column_group) {
            worst = fmax(worst, group_off(d, o, fit, r, size, j));
            continue;
        }
        for (uint64_t i = 0; i < d->rows; i++) {
            q += x[i] * r[i];
            square += weight_of(o, i) * x[i] * x[i];
        }
        const double most = sqrt(square) * size;
        const bool bounded = o->lower != 0 || o->upper != 0;
        if (bounded && (w < o->lower || w > o->upper))
            worst = INFINITY;
        if (bounded && ((w == o->upper && q > 0) || (w == o->lower && q < 0)))
            continue;
        const double off =
            w == 0 ? fmax(fabs(q) - c.l1, 0)
                   : fabs(q -
                          copysign(flattens(o) ? flat_at(o, &c, w).slope : c.l1,
                                   w));
        if (off > 0)
            worst =
                fmax(worst, off / (by_lambda ? c.scale * unit
                                             : c.l1 + most + c.l2 * fabs(w)));
    }
    free(r);
    return worst;
}

double glm_violation(const lasso_design *design,
                     const strads_glm_options *options, const linear_fit *fit)
{
    return worst_off(design, options, fit, false);
}

double glm_miss(const lasso_design *design, const strads_glm_options *options,
                const linear_fit *fit)
{
    return worst_off(design, options, fit, true);
}
