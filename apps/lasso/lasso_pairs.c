/* Gram entries of two blocks on one partition: each column of the one is laid
 * out densely in `scratch`, and every column of the other is multiplied with
 * that. Where both are the same block, half of it is enough. */
#include "lasso_parts.h"

/* A full f64 column is laid out already. */
static bool is_dense(const lasso_column *x)
{
    return !x->index && x->f64;
}

static const double *lay_out(const lasso_local *local, const lasso_column *x)
{
    if (is_dense(x))
        return x->f64;
    local->kernels->add(x, 1, local->scratch);
    return local->scratch;
}

static void clear(const lasso_local *local, const lasso_column *x)
{
    if (is_dense(x))
        return;
    for (uint64_t k = 0; k < x->n; k++)
        local->scratch[x->index ? x->index[k] : k] = 0;
}

void lasso_pairs(const strads_task *task)
{
    const lasso_local *local = task->local;
    const strads_block *lines = &task->block, *against = &task->against;
    const bool same = lines->id == against->id && lines->n == against->n;
    const uint32_t m = against->n;

    for (uint32_t k = 0; k < lines->n; k++) {
        const lasso_column x =
            lasso_column_of(task->share, strads_block_param(lines, k));
        const double *dense = lay_out(local, &x);
        for (uint32_t l = same ? k : 0; l < m; l++) {
            const lasso_column z =
                lasso_column_of(task->share, strads_block_param(against, l));
            task->partial[(size_t)k * m + l] = local->kernels->dot(&z, dense);
        }
        clear(local, &x);
    }
    for (uint32_t k = 0; same && k < m; k++)
        for (uint32_t l = 0; l < k; l++)
            task->partial[(size_t)k * m + l] = task->partial[(size_t)l * m + k];
}
