/* Fits by columns: weights of rows, and the penalty, the bounds and the part in
 * the gap of a column.
 *
 * With standardize, a column's penalty is that of s w, s its deviation. The
 * deviation is computed in two passes over the column's entries whenever these
 * are unpacked. Between scans a partition has only a lower bound of it. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "columns_parts.h"

/* ---- weights of rows ----------------------------------------------------- */

bool columns_balances(const glm_problem *problem)
{
    const strads_glm_options *o = &problem->options;
    return glm_weighs_classes(o) && strcmp(o->class_weight, "balanced") == 0;
}

double columns_weigh(const columns_weights *from, uint32_t fold, double *c)
{
    double side[2] = {0, 0};
    for (uint64_t i = 0; i < from->rows; i++) {
        c[i] = fold > 0 && from->fold_of[i] + 1 == fold ? 0 : from->weight[i];
        side[from->y[i] > 0] += c[i];
    }
    const double sum = side[0] + side[1];
    if (!from->balanced || !(side[0] > 0 && side[1] > 0))
        return sum;
    for (uint64_t i = 0; i < from->rows; i++)
        c[i] *= sum / (2 * side[from->y[i] > 0]);
    return sum;
}

double columns_unit(const glm_problem *problem, uint64_t n, const double *y,
                    const double *offset)
{
    const bool numbers = problem->loss->labels == GLM_NUMBERS;
    double unit = 0;
    for (uint64_t i = 0; i < n; i++)
        unit = fmax(unit, (numbers ? fabs(y[i]) : 1) + fabs(offset[i]));
    return unit;
}

/* ---- factors and scales of columns --------------------------------------- */

static bool takes_factors(const strads_glm_options *o)
{
    return o->penalty_factor || (o->penalty_factors && *o->penalty_factors);
}

strads_err columns_read_factors(const glm_problem *problem,
                                const strads_range *part, uint64_t columns,
                                double **out)
{
    static const linear_lines lines = {.option = "--penalty-factors",
                                       .what = "the penalty factor of a column",
                                       .of = "columns"};
    const strads_glm_options *o = &problem->options;
    const uint64_t n = part->end - part->begin;
    strads_err err = STRADS_OK;
    if (!takes_factors(o))
        return STRADS_OK;
    double *factor = *out = calloc(n + 1, sizeof *factor);
    if (!factor)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the penalty factors of %llu columns",
                           (unsigned long long)n);
    if (o->penalty_factor)
        memcpy(factor, o->penalty_factor + part->begin, n * sizeof *factor);
    else
        err = linear_read_lines(&lines, o->penalty_factors, part, columns,
                                factor);
    for (uint64_t j = 0; j < n && !err; j++)
        if (!(factor[j] >= 0 && isfinite(factor[j])))
            err = strads_fail(STRADS_EINVAL,
                              "the penalty factor of column %llu is %g; "
                              "expected a number from 0 up",
                              (unsigned long long)(part->begin + j) + 1,
                              factor[j]);
    return err;
}

size_t columns_scale_bytes(const columns_plan *plan)
{
    return (takes_factors(&plan->problem.options) ? sizeof(double) : 0) +
           (columns_keeps_floors(plan) ? sizeof(float) : 0);
}

/* The root mean square of a column less its mean, if b makes up for that; of a
 * constant column, which has no deviation, the root mean square. 1: the column
 * is 0. */
static double deviation(const glm_problem *problem, const columns_entries *x,
                        const double *c, double weight)
{
    double seen = 0, sum = 0, square = 0;
    for (uint64_t e = 0; e < x->n; e++) {
        const double own = c[x->row[e]], part = own * x->value[e];
        seen += own;
        sum += part;
        square += part * x->value[e];
    }
    if (!(square > 0 && weight > 0))
        return 1;
    if (!problem->options.intercept)
        return sqrt(square / weight);
    const double mean = sum / weight;
    double spread = fmax(weight - seen, 0) * mean * mean;
    for (uint64_t e = 0; e < x->n; e++) {
        const double v = x->value[e] - mean;
        spread += c[x->row[e]] * v * v;
    }
    return sqrt((spread > 1e-12 * square ? spread : square) / weight);
}

columns_scale columns_scale_of(const columns_local *l, double factor,
                               const columns_entries *x, const double *c,
                               double weight)
{
    const bool standardize = l->problem.options.standardize;
    columns_scale own = {factor, factor, 0};
    if (standardize || factor == 0) {
        const double s = deviation(&l->problem, x, c, weight);
        own.reach = l->unit / s;
        if (standardize) {
            own.l1 *= s;
            own.l2 *= s * s;
        }
    }
    return own;
}

float columns_floor(columns_scale own)
{
    return (float)fmin(own.l1 * (1 - 1e-6), FLT_MAX);
}

/* ---- terms --------------------------------------------------------------- */

static double limit(double given)
{
    return fabs(given) < 1e300 ? given : copysign((double)INFINITY, given);
}

glm_term columns_term(const glm_problem *problem, columns_scale own, double l1,
                      double l2, double w)
{
    enum { BOX = 10 };
    glm_term t = {.l1 = l1 * own.l1,
                  .l2 = l2 * own.l2,
                  .low = limit(problem->options.lower),
                  .high = limit(problem->options.upper),
                  .n = 1};
    if (own.l1 == 0) {
        const double box = BOX * (fabs(w) + own.reach);
        t.low = fmax(t.low, -box);
        t.high = fmin(t.high, box);
    }
    return t;
}

void columns_see(const glm_problem *problem, const glm_term *t, double slope,
                 columns_seen *seen)
{
    const double size = fabs(slope), edge = slope > 0 ? t->high : t->low;
    if (!(size > t->l1) || edge == 0)
        return;
    if (t->l1 == 0) {
        seen->free += problem->penalty->conjugate(t, &slope);
        return;
    }
    seen->tight = fmax(seen->tight, size / t->l1);
    if (t->l2 == 0 && isinf(edge))
        seen->forced = fmax(seen->forced, size / t->l1);
    else
        seen->bounded += problem->penalty->conjugate(t, &slope);
}

void columns_add_seen(columns_seen *to, const columns_seen *from)
{
    to->tight = fmax(to->tight, from->tight);
    to->forced = fmax(to->forced, from->forced);
    to->bounded += from->bounded;
    to->free += from->free;
}
