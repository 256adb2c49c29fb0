/* Rows with weights c_i: least squares of rows that are multiplied by sqrt c_i.
 * The share stays as it is, for others may read it: the values that are
 * multiplied are the partition's own. */
#include <math.h>
#include <stdlib.h>

#include "apps/linear/linear_classes.h"
#include "lasso_parts.h"

static void multiply_values(const strads_share *share, const double *root,
                            double *value)
{
    for (uint64_t j = 0; j < share->by_col.lines; j++) {
        const data_column x = data_column_of(share, j);
        double *to = value + share->by_col.start[j];
        for (uint64_t e = 0; e < x.n; e++)
            to[e] = root[x.index ? x.index[e] : e] *
                    (x.f64 ? x.f64[e] : (double)x.f32[e]);
    }
}

strads_err lasso_take_weights(const strads_task *task, lasso_local *local)
{
    const strads_lasso_options *options = task->config;
    const strads_share *share = task->share;
    const linear_weights from = {options->weights, options->row_weight};
    const uint64_t entries = share->by_col.start[share->by_col.lines];
    strads_err err;

    if (!linear_weighs(from) && !share->weight)
        return STRADS_OK;
    double *value = calloc(entries + 1, sizeof(*value));
    local->weighted = *share;
    local->weighted.by_col.f32 = NULL;
    local->weighted.by_col.f64 = value;
    local->root = calloc(local->rows + 1, sizeof(*local->root));
    if (!local->root || !value)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu values times the weights of "
                           "their rows",
                           (unsigned long long)entries);
    err = linear_read_weights(from, share, task->shape->rows, local->root);
    for (uint64_t i = 0; i < local->rows; i++)
        local->root[i] = sqrt(local->root[i]);
    if (!err)
        multiply_values(share, local->root, value);
    return err;
}
