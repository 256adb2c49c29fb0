#include "tests/toy_residual.h"

#include <stdlib.h>
#include <string.h>

strads_err toy_residual_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    size_t rows = (size_t)(share->rows.end - share->rows.begin);
    double *residual = malloc(sizeof *residual * (rows + 1));
    if (!residual)
        return strads_fail(STRADS_ENOMEM, "no memory for a toy");
    memcpy(residual, share->label, sizeof *residual * rows);
    *local = residual;
    return STRADS_OK;
}

strads_err toy_residual_refresh(strads_task *task, const strads_change *changes,
                                uint32_t n)
{
    const strads_sparse *x = &task->share->by_col;
    double *residual = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            uint32_t j = changes[c].param[k];
            for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
                residual[x->index[e]] -= x->f64[e] * changes[c].change[k];
        }
    return STRADS_OK;
}

double toy_residual_times(const strads_task *task, uint32_t j)
{
    const strads_sparse *x = &task->share->by_col;
    const double *residual = task->local;
    double sum = 0;
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
        sum += x->f64[e] * residual[x->index[e]];
    return sum;
}
