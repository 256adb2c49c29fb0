/* Newton's method for an L2 penalty alone on few columns and many rows: workers
 * add up the Hessian at z,
 *
 *     M = X'HX [p x p],   l = X'h,   mass = sum h,
 *
 * the coordinator solves for the step of w and b,
 *
 *     (M - l l'/mass + L2 s^2) d = X'r - L2 s^2 w - l sum r / mass,
 *     d_b = (sum r - l'd) / mass,
 *
 * and the next scan tells whether the whole step lowers P; if it does not, half
 * of it is taken back, and so on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"
#include "apps/linear/linear_outer.h"
#include "logistic_parts.h"

enum { COLUMNS_MAX = 1300, HALVINGS_MAX = 40 };

/* p^2/2 multiplications of dense numbers a row against some 300 passes over its
 * entries. */
bool logistic_is_ridge(const strads_logistic_options *options, uint64_t rows,
                       uint64_t columns, uint64_t entries)
{
    const double p = (double)columns;

    return options->l1_ratio == 0 && columns > 0 && columns <= COLUMNS_MAX &&
           rows > columns && (double)entries * 4800 >= p * p * (double)rows;
}

/* ---- workers ----------------------------------------------------------- */

size_t logistic_hessian_size(uint32_t n)
{
    return (size_t)n * n + n + 1;
}

/* The rows first .. first + rows - 1 of all columns, each times its root; at[k]
 * moves on to the first entry after them. */
static void fill_panel(const strads_task *task, const double *root,
                       uint64_t first, uint32_t rows, uint64_t *at,
                       double *panel)
{
    const size_t line = linear_outer_line(task->block.n);

    memset(panel, 0, rows * line * sizeof(*panel));
    for (uint32_t k = 0; k < task->block.n; k++) {
        const linear_column x =
            linear_column_of(task->share, strads_block_param(&task->block, k));
        for (; at[k] < x.n; at[k]++) {
            const uint64_t i = x.index ? x.index[at[k]] : at[k];
            if (i >= first + rows)
                break;
            panel[(i - first) * line + k] =
                root[i] * (x.f64 ? x.f64[at[k]] : (double)x.f32[at[k]]);
        }
    }
}

static void add_hessian(strads_task *task, const double *root, uint64_t *at,
                        double *panel, double *sum)
{
    const logistic_local *local = task->local;
    const uint32_t n = task->block.n;
    const size_t line = linear_outer_line(n);
    linear_outer *outer = linear_outer_choose();

    for (uint64_t i = 0; i < local->rows; i += LINEAR_PANEL) {
        const uint32_t rows = local->rows - i < LINEAR_PANEL
                                  ? (uint32_t)(local->rows - i)
                                  : LINEAR_PANEL;
        fill_panel(task, root, i, rows, at, panel);
        outer(rows, n, panel, sum);
    }
    for (uint32_t k = 0; k < n; k++)
        memcpy(task->partial + (size_t)k * n, sum + k * line,
               (k + 1) * sizeof(*sum));
}

strads_err logistic_add_hessian(strads_task *task)
{
    logistic_local *local = task->local;
    const uint32_t n = task->block.n;
    const size_t line = linear_outer_line(n);
    double *root = calloc(local->rows + 1, sizeof(*root));
    double *panel = calloc(LINEAR_PANEL * line, sizeof(*panel));
    double *sum = calloc(line * line, sizeof(*sum));
    uint64_t *at = calloc((size_t)n + 1, sizeof(*at));
    strads_err err = STRADS_OK;

    if (root && panel && sum && at) {
        const logistic_rows rows = {.n = local->rows,
                                    .y = local->y,
                                    .c = local->c,
                                    .z = local->z};
        double *level = task->partial + (size_t)n * n;
        (void)local->loops->freeze(&rows, root, local->r);
        add_hessian(task, root, at, panel, sum);
        for (uint64_t i = 0; i < local->rows; i++)
            level[n] += local->r[i] = root[i] * root[i];
        for (uint32_t k = 0; k < n; k++) {
            const linear_column x =
                linear_column_of(task->share,
                                 strads_block_param(&task->block, k));
            level[k] = local->kernels->dot(&x, local->r);
        }
    } else {
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the Hessian of %u columns", n);
    }
    free(root);
    free(panel);
    free(sum);
    free(at);
    return err;
}

/* ---- the coordinator --------------------------------------------------- */

strads_err logistic_ridge_new(uint64_t columns, logistic_ridge *ridge)
{
    ridge->matrix = calloc(columns * columns + 1, sizeof(double));
    ridge->step = calloc(columns + 2, sizeof(double));
    ridge->value = calloc(columns + 2, sizeof(double));
    if (ridge->matrix && ridge->step && ridge->value)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the Hessian of %llu columns",
                       (unsigned long long)columns);
}

void logistic_ridge_free(logistic_ridge *ridge)
{
    free(ridge->matrix);
    free(ridge->step);
    free(ridge->value);
}

/* Moves the scanned columns and b by `share` of the step. */
static strads_err go(strads_commit *commit, double share)
{
    logistic_state *state = commit->state;
    const uint32_t n = state->n_alive;
    double *change = state->ridge.value;
    const uint32_t last = (uint32_t)state->columns;

    for (uint32_t k = 0; k <= n; k++)
        change[k] = share * state->ridge.step[k];
    state->b[state->target] += state->options.intercept ? change[n] : 0;
    const strads_err err = logistic_also(commit, n, state->alive, change);
    return err || !state->options.intercept
               ? err
               : logistic_also(commit, 1, &last, change + n);
}

strads_err logistic_ridge_judge(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const bool better = state->primal <= ridge->before * (1 + 1e-15);

    if (ridge->share > 0 && !better && ridge->halvings++ < HALVINGS_MAX) {
        ridge->share /= 2;
        state->next = LOGISTIC_TO_SCAN;
        return go(commit, -ridge->share);
    }
    if (ridge->share > 0 &&
        ridge->before - state->primal <= 1e-16 * state->primal &&
        ++state->watch.idle >= 3)
        state->watch.stalled = true;
    ridge->before = state->primal;
    ridge->level = state->level;
    state->next = LOGISTIC_TO_HESSIAN;
    return STRADS_OK;
}

strads_err logistic_ridge_step(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const uint32_t n = commit->block.n;
    const double *merged = commit->partial, *l = merged + (size_t)n * n;
    const double mass = state->options.intercept ? l[n] : INFINITY;
    double moved = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = strads_block_param(&commit->block, i);
        const double s = state->scale[j];
        double *row = ridge->matrix + (size_t)i * n;
        for (uint32_t k = 0; k <= i; k++)
            row[k] = merged[(size_t)i * n + k] - l[i] * (l[k] / mass);
        row[i] += state->l2 * s * s;
        /* The slope is that of the centred column: mean_j sum r is missing. */
        ridge->step[i] =
            state->slope[j] + (state->mean[j] - l[i] / mass) * ridge->level;
    }
    linear_factor(state->kernels, n, ridge->matrix);
    linear_solve(state->kernels, n, ridge->matrix, ridge->step);
    for (uint32_t i = 0; i < n; i++)
        moved += l[i] * ridge->step[i];
    ridge->step[n] = (ridge->level - moved) / mass;
    ridge->share = 1;
    ridge->halvings = 0;
    state->next = LOGISTIC_TO_SCAN;
    return go(commit, 1);
}
