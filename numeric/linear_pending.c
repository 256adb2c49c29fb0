#include "linear_pending.h"

#include <float.h>
#include <stdlib.h>

bool linear_pending_new(uint64_t columns, linear_pending *pending)
{
    *pending = (linear_pending){.change = calloc(columns + 1, sizeof(double)),
                                .param = calloc(columns + 1, sizeof(uint32_t)),
                                .columns = columns};
    return pending->change && pending->param;
}

void linear_pending_free(linear_pending *pending)
{
    free(pending->change);
    free(pending->param);
}

void linear_pending_move(linear_pending *pending, uint32_t j, double change)
{
    if (pending->change[j] == 0)
        pending->param[pending->n++] = j;
    pending->change[j] += change;
    if (pending->change[j] == 0) /* so that j is not listed twice */
        pending->change[j] = DBL_MIN;
}

void linear_pending_apply(linear_pending *pending, const column_view *view,
                          const column_kernels *kernels, double sign, double *v)
{
    const strads_range own = view->share->rows;
    const uint64_t rows = own.end - own.begin;

    for (uint64_t t = 0; t < pending->n; t++) {
        const uint32_t j = pending->param[t];
        const double change = sign * pending->change[j];
        pending->change[j] = 0;
        if (j < pending->columns) {
            const data_column x = column_view_of(view, j);
            kernels->add(&x, change, v);
            continue;
        }
        for (uint64_t i = 0; i < rows; i++)
            v[i] += change;
    }
    pending->n = 0;
}

void linear_pending_forget(linear_pending *pending)
{
    for (uint64_t t = 0; t < pending->n; t++)
        pending->change[pending->param[t]] = 0;
    pending->n = 0;
}
