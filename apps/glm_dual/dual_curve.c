/* The workers' part of Newton's steps in w (dual_newton.c): gradients and
 * curvatures of the losses, and slopes along a direction. */
#include <stdlib.h>
#include <string.h>

#include "numeric/outer_kernels.h"
#include "dual.h"

/* ---- the curve at w ------------------------------------------------------ */

/* Rows with fewer entries than this share of the columns are multiplied
 * entry by entry. */
#define DENSE .3

/* The diagonal is at least this factor times an average row's largest
 * contribution: step lengths are evaluated down to this. */
#define LEAST 1e-3

struct dual_curve {
    double *z;            /* [rows] x'w at the point of evaluation */
    double *bend, *panel; /* X_J' diag(h) X_J, and workspace; */
    double *h, *held;     /* [rows] current h, and those in `bend`; */
    double *stiff;        /* [columns + 1] contribution of an average row */
    double sigma;
};

void dual_curve_free(dual_curve *curve)
{
    if (!curve)
        return;
    free(curve->z);
    free(curve->bend);
    free(curve->panel);
    free(curve->h);
    free(curve->held);
    free(curve->stiff);
    free(curve);
}

/* The largest h of a row with the mean weight, for losses with varying h: with
 * constant h steps are never far too long. */
static double largest_h(const dual_local *local)
{
    return local->loss->smooth ? local->loss->bend * local->problem.cost
                               : local->curve->sigma;
}

size_t dual_partial_curve(const strads_task *task)
{
    const size_t n = task->shape->cols + 1;

    return 2 * n + n * (n + 1) / 2 + DUAL_SUMS;
}

static strads_err reserve_curve(dual_local *local)
{
    const size_t p = local->columns, n = local->rows;
    dual_curve *c = local->curve;

    if (c)
        return STRADS_OK;
    local->curve = c = calloc(1, sizeof(*c));
    if (c) {
        c->z = calloc(n + 1, sizeof(double));
        c->h = calloc(n + 1, sizeof(double));
        c->stiff = calloc(p + 1, sizeof(double));
    }
    return c && c->z && c->h && c->stiff
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the curvatures of %llu rows",
                             (unsigned long long)n);
}

static strads_err reserve_square(dual_local *local)
{
    const size_t line = outer_product_line((uint32_t)local->columns + 1);
    dual_curve *c = local->curve;

    if (!c->bend)
        c->bend = calloc(line * line, sizeof(double));
    if (!c->panel)
        c->panel = calloc(line * OUTER_PANEL, sizeof(double));
    if (!c->held)
        c->held = calloc(local->rows + 1, sizeof(double));
    return c->bend && c->panel && c->held
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the square of %llu columns",
                             (unsigned long long)local->columns);
}

/* sum x^2 of each column, divided by the number of all rows: an average
 * row's contribution to the diagonal. */
static void measure_columns(dual_local *local, const strads_share *share,
                            double all)
{
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        for (uint64_t k = 0; k < x.n; k++)
            local->curve->stiff[dual_index(&x, k)] +=
                dual_entry(&x, k) * dual_entry(&x, k) / all;
    }
    local->curve->stiff[local->columns] =
        local->bias * local->bias * (double)local->rows / all;
}

/* H += h x x' over the entries of a sparse row, lower half. */
static void add_sparse(const dual_local *local, const data_column *x, double h)
{
    const uint32_t p = (uint32_t)local->columns;
    const size_t stride = outer_product_line(p + 1);

    for (uint64_t k = 0; k < x->n; k++) {
        const double v = dual_entry(x, k);
        const uint64_t j = dual_index(x, k);
        double *line = local->curve->bend + j * stride;
        data_column before = *x;
        before.n = k + 1;
        local->kernels->add(&before, h * v, line);
    }
    double *line = local->curve->bend + p * stride;
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
        outer_product_choose()(*n, columns, local->curve->panel,
                               local->curve->bend);
    memset(local->curve->panel, 0,
           outer_product_line(columns) * (size_t)*n * sizeof(double));
    *n = 0;
}

/* bend += (h - held) x x' over all rows with h > held. With `less`, bend +=
 * (held - h) x x' over all rows with h < held; the caller negates bend. */
static void add_changed_rows(const strads_task *task, bool less)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint32_t n = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        const double more = local->curve->h[i] - local->curve->held[i];
        const double h = less ? -more : more;
        if (!(h > 0))
            continue;
        const data_column x = dual_row_of(share, i);
        local->curve->held[i] = local->curve->h[i];
        if ((double)x.n < DENSE * (double)local->columns) {
            add_sparse(local, &x, h);
            continue;
        }
        put_row(local, &x, sqrt(h), local->curve->panel + stride * n);
        if (++n == OUTER_PANEL)
            flush(local, &n);
    }
    flush(local, &n);
}

static void turn_round(dual_local *local)
{
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);

    for (size_t k = 0; k < stride * stride; k++)
        local->curve->bend[k] = -local->curve->bend[k];
}

/* Updates `bend` to the current h. From one step to the next few rows enter
 * or leave J, and all other h are unchanged: for most losses h is constant. */
static void update_bend(const strads_task *task)
{
    dual_local *local = task->local;
    const size_t stride = outer_product_line((uint32_t)local->columns + 1);
    uint64_t now = 0, changed = 0, fewer = 0;

    for (uint64_t i = 0; i < local->rows; i++) {
        now += local->curve->h[i] != 0;
        changed += local->curve->h[i] != local->curve->held[i];
        fewer += local->curve->h[i] < local->curve->held[i];
    }
    if (changed >= now) {
        memset(local->curve->bend, 0, stride * stride * sizeof(double));
        memset(local->curve->held, 0, local->rows * sizeof(double));
        fewer = 0;
    }
    add_changed_rows(task, false);
    if (fewer == 0)
        return;
    turn_round(local);
    add_changed_rows(task, true);
    turn_round(local);
}

static void pack(const dual_local *local, double *out)
{
    const size_t n = local->columns + 1;
    const size_t stride = outer_product_line((uint32_t)n);
    const double least = LEAST * largest_h(local);

    for (size_t j = 0; j < n; j++)
        out[j] = least * local->curve->stiff[j];
    out += n;

    for (size_t i = 0; i < n; i++) {
        memcpy(out, local->curve->bend + i * stride, (i + 1) * sizeof(double));
        out += i + 1;
    }
}

/* z, c and h at w: X'c, and the sums for P at w and D at c. */
static strads_err evaluate_curve(strads_task *task, double *pull, double *sums)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const bool first = !local->curve;
    const strads_err err = reserve_curve(local);

    if (err)
        return err;
    local->curve->sigma =
        local->loss->smooth ? INFINITY : task->total[DUAL_SIGMA];
    if (first && largest_h(local) > 0)
        measure_columns(local, share, (double)task->shape->rows);
    local->level = task->total[DUAL_LEVEL];
    const double length = dual_length(local);
    for (uint64_t i = 0; i < local->rows; i++) {
        const dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        const double z = local->curve->z[i] =
            dual_dot(local, &row, local->base);
        const dual_answer asked =
            local->loss->answer(x, local->curve->sigma, local->anchor[i], z);
        local->curve->h[i] = asked.h;
        dual_add_sums(local, x, &row, asked.b, z, length, sums);
        if (asked.b != 0)
            dual_add(local, &row, asked.b, pull);
    }
    return STRADS_OK;
}

/* X'c; the least diagonal; X_J' diag(h) X_J, lower half, by rows; the sums. */
strads_err dual_update_curve(strads_task *task)
{
    dual_local *local = task->local;
    strads_err err =
        evaluate_curve(task, task->partial,
                       task->partial + dual_partial_curve(task) - DUAL_SUMS);

    if (!err)
        err = reserve_square(local);
    if (err)
        return err;
    update_bend(task);
    pack(local, task->partial + local->columns + 1);
    return STRADS_OK;
}

/* ---- the curve without its matrix --------------------------------------- */

size_t dual_partial_gradient(const strads_task *task)
{
    return 3 * (size_t)task->block.n + DUAL_SUMS;
}

/* X'c; the least diagonal; the diagonal; the sums. */
strads_err dual_update_gradient(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const size_t n = local->columns + 1;
    double *least = task->partial + n, *diagonal = least + n;
    const strads_err err = evaluate_curve(task, task->partial, diagonal + n);

    if (err)
        return err;
    for (size_t j = 0; j < n; j++)
        least[j] = LEAST * largest_h(local) * local->curve->stiff[j];
    for (uint64_t i = 0; i < local->rows; i++) {
        const double h = local->curve->h[i];
        const data_column x = dual_row_of(share, i);
        for (uint64_t k = 0; k < x.n && h > 0; k++)
            diagonal[dual_index(&x, k)] +=
                h * dual_entry(&x, k) * dual_entry(&x, k);
        diagonal[local->columns] += h * local->bias * local->bias;
    }
    return STRADS_OK;
}

size_t dual_partial_product(const strads_task *task)
{
    return task->block.n;
}

/* X_J' diag(h) X_J p: w has moved by p from the point of evaluation of z. */
strads_err dual_update_product(strads_task *task)
{
    const dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);

    for (uint64_t i = 0; i < local->rows; i++) {
        const double h = local->curve->h[i];
        if (!(h > 0))
            continue;
        const data_column x = dual_row_of(share, i);
        const double along =
            dual_dot(local, &x, local->base) - local->curve->z[i];
        dual_add(local, &x, h * along, task->partial);
    }
    return STRADS_OK;
}

/* ---- along a direction ------------------------------------------------- */

size_t dual_partial_slope(const strads_task *task)
{
    (void)task;
    return DUAL_STEPS;
}

/* The c for a row's z, as `b`. */
static dual_answer answer_at(const dual_local *local, uint64_t i, double z)
{
    return local->loss->answer(&local->sample[i], local->curve->sigma,
                               local->anchor[i], z);
}

/* True if c is linear between the two: on the same side of 0 and of all
 * bounds. */
static bool is_linear(const dual_loss *loss, dual_answer from, dual_answer to)
{
    return loss->quadratic && from.h > 0 && to.h > 0 && from.b * to.b > 0;
}

/* sum c(t) x_i'd for steps t: w is now at the end of the direction, and z
 * was evaluated at its beginning. c decreases with z, so it is constant along
 * the direction if it is equal at both ends: most rows stay at their bound, or
 * away from it. */
strads_err dual_update_slope(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const int steps = dual_steps(local->loss);
    double step[DUAL_STEPS], constant = 0, linear = 0;

    local->level = task->total[DUAL_LEVEL];
    for (int t = 0; t < steps; t++)
        step[t] = dual_step_at(local->loss, t);
    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        const double z = local->curve->z[i];
        const double along = dual_dot(local, &x, local->base) - z;
        const dual_answer from = answer_at(local, i, z);
        const dual_answer to = answer_at(local, i, z + along);
        if (from.b == to.b || is_linear(local->loss, from, to)) {
            constant += along * from.b;
            linear += along * (to.b - from.b);
            continue;
        }
        for (int t = 0; t < steps; t++)
            task->partial[t] +=
                along * answer_at(local, i, z + step[t] * along).b;
    }
    for (int t = 0; t < steps; t++)
        task->partial[t] += constant + step[t] * linear;
    return STRADS_OK;
}
