/* The memory of the Lasso: a partition's state, the coordinator's, and what
 * others may ask of it afterwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lasso_gram.h"
#include "lasso_columns.h"
#include "lasso_path.h"

/* ---- one partition ----------------------------------------------------- */

static strads_err check_labels(const strads_share *share, uint64_t rows)
{
    if (rows > 0 && !share->label)
        return strads_fail(STRADS_EINVAL,
                           "the Lasso needs a label in each row, and this data "
                           "has none; give a file of labels");
    return STRADS_OK;
}

strads_err lasso_open(const strads_task *task, void **out)
{
    const strads_share *share = task->share;
    const uint64_t rows = share->rows.end - share->rows.begin;
    const uint64_t columns = share->by_col.lines;
    strads_err err = check_labels(share, rows);
    lasso_local *local;

    if (err)
        return err;
    local = calloc(1, sizeof(*local));
    if (!local)
        goto fail;
    local->rows = rows;
    local->columns = columns;
    local->kernels = column_kernels_choose(rows);
    local->response = calloc(rows + 1, sizeof(double));
    local->residual = calloc(rows + 1, sizeof(double));
    local->reference = malloc((rows + 1) * sizeof(double));
    if (!local->response || !local->residual || !local->reference ||
        !linear_pending_new(columns, &local->pending))
        goto fail;
    err = lasso_take_weights(task, local);
    if (err) {
        lasso_close(local);
        return err;
    }
    for (uint64_t i = 0; i < rows; i++)
        local->response[i] = local->residual[i] =
            share->label[i] * (local->root ? local->root[i] : 1);
    *out = local;
    return STRADS_OK;
fail:
    lasso_close(local);
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the residual of %llu rows and the "
                       "changes of %llu columns",
                       (unsigned long long)rows, (unsigned long long)columns);
}

void lasso_close(void *opened)
{
    lasso_local *local = opened;

    if (!local)
        return;
    free(local->response);
    free(local->residual);
    free(local->reference);
    linear_pending_free(&local->pending);
    if (local->root || local->weighted.by_col.f64)
        free((double *)(uintptr_t)local->weighted.by_col.f64);
    free(local->root);
    linear_pairs_free(&local->pairs);
    free(local);
}

void lasso_take_shift(lasso_local *local, double shift)
{
    local->shift = shift;
    for (uint64_t i = 0; i < local->rows; i++) {
        const double off = local->root ? shift * local->root[i] : shift;
        local->response[i] -= off;
        local->residual[i] -= off;
    }
}

/* ---- the coordinator --------------------------------------------------- */

enum { PARAM_BYTES = 72 }; /* of wide data 77 to 124 were seen */

strads_err lasso_shape(const void *config, const strads_data *data,
                       strads_shape *shape)
{
    strads_lasso_options resolved;

    /* A working set that is solved without the data is one block, if the
     * policy likes; all columns never are. Where the data is needed for a
     * block its work keeps it far smaller. */
    const uint64_t p = strads_data_cols(data);
    shape->block_max = LASSO_GRAM_MAX;
    if (p > LASSO_GRAM_MAX)
        shape->block_max =
            p > LASSO_COLUMNS_MAX ? LASSO_COLUMNS_MAX : (uint32_t)(p - 1);
    shape->param_bytes = PARAM_BYTES;
    return lasso_options_resolve(config, &resolved);
}

/* All arrays of a state of p columns; false when memory runs out. */
static bool reserve(lasso_state *state, uint64_t p)
{
    double **numbers[] = {&state->mean, &state->norm, &state->slope,
                          &state->urgency, &state->told};
    uint32_t **columns[] = {&state->set, &state->candidate, &state->support};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!(*numbers[i] = calloc(p + 1, sizeof(double))))
            return false;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (!(*columns[i] = calloc(p + 1, sizeof(uint32_t))))
            return false;
    if (state->options.standardize &&
        !(state->scale = calloc(p + 1, sizeof(double))))
        return false;
    state->in_set = calloc(p + 1, sizeof(bool));
    return state->in_set != NULL;
}

strads_err lasso_begin(const void *config, const strads_data *data,
                       const strads_shape *shape, void **out)
{
    const uint64_t p = shape->parameters;
    lasso_state *state = calloc(1, sizeof(*state));
    strads_err err = STRADS_OK;

    if (state)
        err = lasso_options_resolve(config, &state->options);
    if (err)
        goto fail;
    if (!state || !reserve(state, p)) {
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the working set of %llu columns",
                          (unsigned long long)p);
        goto fail;
    }
    state->data = data;
    state->kernels = column_kernels_choose(shape->rows);
    state->columns = p;
    err = lasso_gram_new(p, &state->gram);
    if (!err)
        err = lasso_columns_new(state, shape->rows);
    if (err)
        goto fail;
    state->shrink = 1;
    state->watch.least = INFINITY;
    state->entries = (double)strads_data_nnz(data);
    err = lasso_look_begin(state);
    if (err)
        goto fail;
    *out = state;
    return STRADS_OK;
fail:
    lasso_end(state);
    return err;
}

void lasso_end(void *begun)
{
    lasso_state *state = begun;

    if (!state)
        return;
    lasso_gram_free(state->gram);
    lasso_columns_free(state->by_columns);
    linear_path_free(state->path);
    free(state->mean);
    free(state->norm);
    free(state->scale);
    free(state->slope);
    free(state->urgency);
    free(state->told);
    free(state->set);
    free(state->candidate);
    free(state->support);
    free(state->in_set);
    lasso_look_end(state);
    free(state->block);
    free(state);
}

/* ---- results ----------------------------------------------------------- */

double strads_lasso_intercept(const void *state)
{
    return ((const lasso_state *)state)->intercept;
}

double strads_lasso_lambda(const void *state)
{
    return ((const lasso_state *)state)->lambda;
}

double strads_lasso_lambda_max(const void *state)
{
    return ((const lasso_state *)state)->lambda_max;
}
