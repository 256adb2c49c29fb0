/* What a Newton step needs of a partition: where the losses pull, how they
 * bend, and how far along a direction it goes downhill.
 *
 * With few columns the last digits come from the primal problem. The loss of a
 * row, made smooth around the b that is known of it (the augmented Lagrangian;
 * sigma = infinity for losses that are smooth already), is
 *
 *     max over low <= b <= high of
 *         b r - e |b| - d/2 b^2 - 1/(2 sigma) (b - a)^2
 *
 * with its maximum at c(r), so that the gradient in w is w - X'c and the
 * generalised Hessian I + X_J' diag(h) X_J, J the rows whose c is inside its
 * bounds. X. Li, D. Sun, K.-C. Toh, SIAM J. Optimization 28, 2018, solve the
 * Lasso's dual so; Y. Yan, Q. Li, Optimization Methods and Software 35, 2020,
 * SVMs. */
#include <stdlib.h>
#include <string.h>

#include "dual_newton.h"

/* Rows with fewer entries than this share of the columns are multiplied entry
 * by entry. */
#define DENSE .3

/* What an average row adds to the diagonal at most, times this, is there at
 * least: the lengths of a step that are looked at go down as far. */
#define LEAST 1e-3

/* The largest h that a row of weight 1 may have, of losses whose h changes:
 * steps of the others are never far too long. */
static double largest_h(const dual_local *local)
{
    if (local->problem.loss == DUAL_LOGISTIC)
        return local->problem.options.c / 4;
    return local->smooth ? 0 : local->sigma;
}

size_t dual_partial_curve(const strads_task *task)
{
    const size_t n = task->shape->cols + 1;

    return 2 * n + n * (n + 1) / 2 + DUAL_SUMS;
}

static strads_err reserve(dual_local *local)
{
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);

    if (local->bend)
        return STRADS_OK;
    local->bend = calloc(stride * stride, sizeof(double));
    local->panel = calloc(stride * OUTER_PANEL, sizeof(double));
    local->h = calloc(local->rows + 1, sizeof(double));
    local->held = calloc(local->rows + 1, sizeof(double));
    local->stiff = calloc(local->columns + 1, sizeof(double));
    return local->bend && local->panel && local->h && local->held &&
                   local->stiff
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)local->columns);
}

/* sum x^2 of each column over the number of all rows: what an average row adds
 * to the diagonal. */
static void measure_columns(dual_local *local, const strads_share *share,
                            double all)
{
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        for (uint64_t k = 0; k < x.n; k++) {
            const double v = x.f64 ? x.f64[k] : (double)x.f32[k];
            local->stiff[x.index ? x.index[k] : k] += v * v / all;
        }
    }
    local->stiff[local->columns] =
        local->bias * local->bias * (double)local->rows / all;
}

/* H += h x x' over the entries of a sparse row, lower half. */
static void add_sparse(const dual_local *local, const data_column *x, double h)
{
    const uint32_t p = (uint32_t)local->columns;
    const size_t stride = outer_product_line(p + 1);

    for (uint64_t k = 0; k < x->n; k++) {
        const double v = x->f64 ? x->f64[k] : (double)x->f32[k];
        const uint32_t j = x->index ? x->index[k] : (uint32_t)k;
        double *line = local->bend + j * stride;
        data_column before = *x;
        before.n = k + 1;
        local->kernels->add(&before, h * v, line);
    }
    double *line = local->bend + p * stride;
    local->kernels->add(x, h * local->bias, line);
    line[p] += h * local->bias * local->bias;
}

/* A dense row, times sqrt(h), into the panel. */
static void put_row(const dual_local *local, const data_column *x, double root,
                    double *line)
{
    local->kernels->add(x, root, line);
    line[local->columns] = root * local->bias;
}

static void flush(const dual_local *local, uint32_t *n)
{
    const uint32_t columns = (uint32_t)local->columns + 1;

    if (*n)
        outer_product_choose()(*n, columns, local->panel, local->bend);
    memset(local->panel, 0,
           outer_product_line(columns) * (size_t)*n * sizeof(double));
    *n = 0;
}

/* bend += (h - held) x x' of all rows in which that is above 0; with `less` of
 * all in which it is below 0, and bend is taken the other way round. */
static void add_rows(const strads_task *task, bool less)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint32_t n = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        const double more = local->h[i] - local->held[i];
        const double h = less ? -more : more;
        if (!(h > 0))
            continue;
        const data_column x = dual_row_of(share, i);
        local->held[i] = local->h[i];
        if ((double)x.n < DENSE * (double)local->columns) {
            add_sparse(local, &x, h);
            continue;
        }
        put_row(local, &x, sqrt(h), local->panel + stride * n);
        if (++n == OUTER_PANEL)
            flush(local, &n);
    }
    flush(local, &n);
}

static void turn_round(dual_local *local)
{
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);

    for (size_t k = 0; k < stride * stride; k++)
        local->bend[k] = -local->bend[k];
}

/* Brings `bend` from the h that it is made of to those of now. From one step to
 * the next few rows come into J or leave it, and the h of all others stay: of
 * most losses they are one number. */
static void bring_up(const strads_task *task)
{
    dual_local *local = task->local;
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint64_t now = 0, changed = 0, fewer = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        now += local->h[i] != 0;
        changed += local->h[i] != local->held[i];
        fewer += local->h[i] < local->held[i];
    }
    if (changed >= now) {
        memset(local->bend, 0, stride * stride * sizeof(double));
        memset(local->held, 0, local->rows * sizeof(double));
        fewer = 0;
    }
    add_rows(task, false);
    if (fewer == 0)
        return;
    turn_round(local);
    add_rows(task, true);
    turn_round(local);
}

static void pack(const dual_local *local, double *out)
{
    const size_t n = local->columns + 1;
    const size_t stride = outer_product_line((uint32_t)n);
    const double least = LEAST * largest_h(local);

    for (size_t j = 0; j < n; j++)
        out[j] = least * local->stiff[j];
    out += n;

    for (size_t i = 0; i < n; i++) {
        memcpy(out, local->bend + i * stride, (i + 1) * sizeof(double));
        out += i + 1;
    }
}

/* X'c; what the diagonal should have at least; X_J' diag(h) X_J, lower half,
 * line by line; and what P at w and D at c are made of. */
strads_err dual_update_curve(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const bool first = !local->bend;
    const strads_err err = reserve(local);
    double *sums = task->partial + dual_partial_curve(task) - DUAL_SUMS;

    if (err)
        return err;
    local->sigma = local->smooth ? INFINITY : task->total[DUAL_SIGMA];
    if (first && largest_h(local) > 0)
        measure_columns(local, share, (double)task->shape->rows);
    local->level = task->total[DUAL_LEVEL];
    for (uint64_t i = 0; i < local->rows; i++) {
        const dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        const double z = local->z[i] = dual_dot(local, &row, local->base);
        const double c = dual_smooth(x, local->flat, local->sigma,
                                     local->anchor[i], z, &local->h[i]);
        sums[DUAL_LOSS] += dual_loss_at(x, local->flat, z);
        sums[DUAL_SUPPORTS] += c != 0;
        dual_level_add(local, x, c, z, dual_conjugate(x, local->flat, c), sums);
        if (c != 0)
            dual_add(local, &row, c, task->partial);
    }
    bring_up(task);
    pack(local, task->partial + local->columns + 1);
    return STRADS_OK;
}

/* ---- along a direction ------------------------------------------------- */

size_t dual_partial_slope(const strads_task *task)
{
    (void)task;
    return DUAL_STEPS;
}

/* The c that a row's z would have. */
static double answer_at(const dual_local *local, uint64_t i, double z)
{
    double h;

    return dual_smooth(&local->sample[i], local->flat, local->sigma,
                       local->anchor[i], z, &h);
}

/* sum c(t) x_i'd for steps t: w is at the end of the direction now, and z was
 * taken at its beginning. As c falls with z, it is one number all along where
 * it is at both ends: most rows stay at their bound. */
strads_err dual_update_slope(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    double step[DUAL_STEPS], still = 0;

    local->level = task->total[DUAL_LEVEL];
    for (int t = 0; t < DUAL_STEPS; t++)
        step[t] = dual_step(t);
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        const double z = local->z[i];
        const double along = dual_dot(local, &x, local->base) - z;
        const double c = answer_at(local, i, z);
        if (c == answer_at(local, i, z + along)) {
            still += along * c;
            continue;
        }
        for (int t = 0; t < DUAL_STEPS; t++)
            task->partial[t] +=
                along * answer_at(local, i, z + step[t] * along);
    }
    for (int t = 0; t < DUAL_STEPS; t++)
        task->partial[t] += still;
    return STRADS_OK;
}
