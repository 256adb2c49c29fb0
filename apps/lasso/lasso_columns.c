#include "lasso_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set that may always be kept, and the share of the data that a larger one may
 * be. */
#define ALWAYS_FITS (1 << 22)
#define SHARE_MAX 0.25

/* ---- the model ----------------------------------------------------------- */

/* The residual at the members' w. */
static double freeze(const void *program, const double *z, double *root,
                     double *rest)
{
    const lasso_state *state = program;
    const linear_set *set = &state->by_columns->set;

    (void)z;
    memcpy(root, set->c, set->n_rows * sizeof(*root));
    memcpy(rest, set->y, set->n_rows * sizeof(*rest));
    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        const data_column x = linear_set_column(set, m);
        if (m->w != 0)
            state->kernels->add(&x, -m->w, rest);
    }
    return state->kernels->dot_dense(set->n_rows, rest, rest) / 2;
}

strads_err lasso_columns_new(lasso_state *state, uint64_t rows)
{
    lasso_columns *columns = calloc(1, sizeof(*columns));

    if (!columns)
        return strads_fail(STRADS_ENOMEM, "no memory for a working set");
    *columns = (lasso_columns){.always = ALWAYS_FITS, .share = SHARE_MAX};
    state->by_columns = columns;
    columns->set.is = (linear_model){.freeze = freeze,
                                     .program = state,
                                     .kernels = state->kernels,
                                     .intercept = state->options.intercept,
                                     .constant = true,
                                     .multiplied = true};
    return linear_set_new(state->columns, rows, &columns->set);
}

void lasso_columns_free(lasso_columns *columns)
{
    if (columns)
        linear_set_free(&columns->set);
    free(columns);
}

/* ---- bringing it here ---------------------------------------------------- */

bool lasso_columns_fit(const lasso_state *state, double entries)
{
    const lasso_columns *columns = state->by_columns;

    return columns->set.n > 0 || entries <= columns->always ||
           entries <= columns->share * state->entries;
}

strads_err lasso_columns_start(lasso_state *state, const double *w)
{
    linear_set *set = &state->by_columns->set;
    strads_err err = STRADS_OK;

    for (uint32_t k = set->n; k < state->n_set && !err; k++)
        err = linear_set_join(set, state->set[k], 0, 1, 1);
    for (uint32_t k = 0; k < set->n && !err; k++) {
        linear_member *m = &set->member[k];
        const double s = lasso_scale(state, m->column);
        m->w = m->told = w[m->column];
        m->urgency = state->urgency[m->column];
        m->term = (linear_term){.l1 = state->l1 * s,
                                .l2 = state->l2 * s * s,
                                .low = state->options.positive ? 0 : -INFINITY,
                                .high = INFINITY};
    }
    set->looked = set->open = false;
    set->left = state->left;
    set->worth = 10 * state->rest; /* a sweep's gain */
    return err;
}

bool lasso_columns_lack_any(const lasso_state *state)
{
    const linear_set *set = &state->by_columns->set;

    return set->columns.n < set->n;
}

enum { ROW = 2 };

size_t lasso_rows_size(const strads_task *task)
{
    return task->shape->rows * ROW * sizeof(double);
}

strads_err lasso_update_rows(strads_task *task)
{
    const lasso_local *local = task->local;
    double *out = task->partial;

    for (uint64_t i = 0; i < local->rows; i++) {
        *out++ = local->response[i];
        *out++ = local->root ? local->root[i] : 1;
    }
    task->partial_bytes = local->rows * ROW * sizeof(double);
    return STRADS_OK;
}

strads_err lasso_take_rows(strads_commit *commit)
{
    lasso_columns *columns = ((lasso_state *)commit->state)->by_columns;
    linear_set *set = &columns->set;

    if (commit->partial_bytes != set->n_rows * ROW * sizeof(double))
        return strads_fail(
            STRADS_EPEER,
            "the rows that workers sent are %zu bytes instead of "
            "16 for each of %llu",
            commit->partial_bytes, (unsigned long long)set->n_rows);
    for (uint64_t i = 0; i < set->n_rows; i++) {
        set->y[i] = commit->partial[ROW * i];
        set->c[i] = commit->partial[ROW * i + 1];
    }
    columns->has_rows = true;
    return STRADS_OK;
}

strads_err lasso_take_columns(strads_commit *commit)
{
    return linear_set_take(&((lasso_state *)commit->state)->by_columns->set,
                           commit);
}

/* ---- a block ------------------------------------------------------------- */

strads_err lasso_columns_solve(strads_commit *commit)
{
    lasso_state *state = commit->state;
    linear_set *set = &state->by_columns->set;
    const double spent = set->spent_in_all;
    /* candidate: free between scans */
    const strads_err err =
        linear_set_solve(set, commit, state->candidate, 1, 0);

    state->spent += set->spent_in_all - spent;
    for (uint32_t k = 0; k < commit->block.n && !err; k++)
        state->intercept -= state->mean[strads_block_param(&commit->block, k)] *
                            commit->change[k];
    if (lasso_count_block(commit) || set->solved)
        strads_commit_rest(commit, INFINITY);
    return err;
}
