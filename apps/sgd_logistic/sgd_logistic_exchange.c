/* Moves weights between a worker and the tables. */
#include <string.h>

#include "sgd_logistic_parts.h"

strads_err sgd_fetch(sgd_worker *w, uint32_t n, const uint32_t *rows,
                     uint32_t staleness)
{
    strads_err err = strads_session_read_rows(w->session, SGD_WEIGHTS, n, rows,
                                              staleness, w->fetched);
    for (uint32_t k = 0; !err && k < n; k++)
        memcpy(w->w + (size_t)rows[k] * SGD_ROW,
               w->fetched + (size_t)k * SGD_ROW, SGD_ROW * sizeof(*w->w));
    return err;
}

/* Rounding to a grain makes sums independent of their order. The fetched rows
 * have been copied, so `fetched` serves as the batch's buffer. */
strads_err sgd_push(sgd_worker *w, uint32_t n, const uint32_t *rows)
{
    for (uint32_t k = 0; k < n; k++) {
        double *change = w->change + (size_t)rows[k] * SGD_ROW;
        if (w->grain > 0)
            sgd_round(SGD_ROW, w->grain, change);
        memcpy(w->fetched + (size_t)k * SGD_ROW, change,
               SGD_ROW * sizeof(*change));
        memset(change, 0, SGD_ROW * sizeof(*change));
    }
    return strads_session_inc_rows(w->session, SGD_WEIGHTS, n, rows,
                                   w->fetched);
}

/* The first row of the table that this partition initialises and copies to the
 * model. The last row, with b, belongs to no partition. */
static uint32_t part_begin(const sgd_worker *w, uint32_t partition)
{
    return (uint32_t)((uint64_t)(w->rows - 1) * partition /
                      w->task->shape->partitions);
}

/* Reads the values of row k's columns from table 0; *n is their number. */
static strads_err read_model(sgd_worker *w, uint32_t k, uint32_t *n,
                             double *out)
{
    uint32_t column[SGD_ROW];
    const uint32_t begin = k * SGD_ROW;
    *n = w->columns - begin < SGD_ROW ? w->columns - begin : SGD_ROW;
    for (uint32_t c = 0; c < *n; c++)
        column[c] = begin + c;
    return strads_session_read_rows(w->session, SGD_MODEL, *n, column,
                                    STRADS_STALENESS_INFINITE, out);
}

/* Node 0's options contain the intercept, and partition 0 is on node 0. */
static strads_err take_intercept(sgd_worker *w)
{
    const strads_sgd_logistic_options *o = &w->rules.options;
    const uint32_t last = w->rows - 1;
    if (w->task->share->partition > 0 || !o->intercept || !o->start_intercept)
        return STRADS_OK;
    w->change[(size_t)last * SGD_ROW] = *o->start_intercept;
    return sgd_push(w, 1, &last);
}

/* Columns without entries stay at 0, which is their minimum. */
strads_err sgd_take_start(sgd_worker *w)
{
    const uint32_t p = w->task->share->partition;
    strads_err err = take_intercept(w);
    for (uint32_t k = part_begin(w, p); !err && k < part_begin(w, p + 1); k++) {
        uint32_t n;
        if (w->penalty[k] == 0 && w->rules.staleness != SGD_STALENESS_HOGWILD)
            continue;
        err = read_model(w, k, &n, w->change + (size_t)k * SGD_ROW);
        if (!err)
            err = sgd_push(w, 1, &k);
    }
    return err;
}

strads_err sgd_give_model(sgd_worker *w)
{
    const uint32_t p = w->task->share->partition;
    double start[SGD_ROW];
    strads_err err = STRADS_OK;
    for (uint32_t k = part_begin(w, p); !err && k < part_begin(w, p + 1); k++) {
        uint32_t n;
        err = read_model(w, k, &n, start);
        for (uint32_t c = 0; !err && c < n; c++) {
            const uint32_t column = k * SGD_ROW + c;
            const double by = w->w[column] - start[c];
            if (by != 0)
                err = strads_session_inc(w->session, SGD_MODEL, column, 0, by);
        }
    }
    return err;
}
