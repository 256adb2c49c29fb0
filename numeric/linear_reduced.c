/* A working set by the pairs of its columns. If the curvatures C of the rows
 * are constant, a model needs of the data only X'CX of its members and their
 * slopes q = X'r. With a first column of ones if there is an intercept, and
 *
 *     X'CX = R'R,     rest = R^-T q,
 *
 * rest - R d|^2 / 2 is the loss at w + d up to a constant, with as many rows as
 * columns. R's columns replace the data's. Column k of R, which ends at the
 * diagonal, is row k of Cholesky's factor, so a new column adds a row. The cost
 * of a model's solution then does not depend on the number of rows, which stay
 * on the workers.
 *
 * Pairs of columns with means that are large compared to their variation have
 * few correct digits. The next scan shows whether slopes are as expected. */
#include <stdlib.h>
#include <string.h>

#include "linear_cholesky.h"
#include "linear_room.h"
#include "linear_set.h"

/* The largest set that is solved this way. */
enum { REDUCED_MAX = 4096 };
/* The least number of rows per full column. */
enum { ROWS_MIN = 2 };

bool linear_set_reduces(const linear_set *set, uint64_t n, double entries)
{
    const bool dense = entries > (double)set->rows / 2;

    if (!set->is.constant || set->is.penalties || n == 0 || n > REDUCED_MAX ||
        n >= set->rows)
        return false;
    return (double)n * (dense ? ROWS_MIN : 1) <= entries;
}

static strads_err reserve_factor(linear_set *set, uint32_t n)
{
    if (n <= set->stride)
        return STRADS_OK;
    const uint32_t more = n + n / 2 < REDUCED_MAX ? n + n / 2 : REDUCED_MAX;
    const uint32_t stride = (more + 64) / 64 * 64;
    double *line = linear_room((uint64_t)stride * stride);

    if (!line)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the pairs of %u columns: %zu bytes",
                           n, (size_t)stride * stride * sizeof(*line));
    for (uint64_t k = 0; k < set->n_rows && set->factored > 0; k++)
        memcpy(line + k * stride, set->factor + k * set->stride,
               (k + 1) * sizeof(*line));
    free(set->factor);
    set->factor = line;
    set->stride = stride;
    return STRADS_OK;
}

/* 1 if there is a column of ones. */
static uint32_t ones_count(const linear_set *set)
{
    return set->is.intercept;
}

strads_err linear_set_reduce(linear_set *set)
{
    const strads_err err = reserve_factor(set, set->n + ones_count(set));

    set->reduced = true;
    set->looked = false;
    return err;
}

/* Sets the members' column positions once the columns are there. */
static void place_members(linear_set *set)
{
    for (uint32_t k = 0; k < set->n; k++) {
        linear_member *m = &set->member[k];
        const uint32_t i = k + ones_count(set);
        m->at = (uint64_t)i * set->stride;
        m->n = set->factor[m->at + i] == LINEAR_DEPENDENT ? i : i + 1;
        m->full = true;
    }
}

strads_err linear_set_take_pairs(linear_set *set, uint32_t n, uint32_t m,
                                 const double *products, const double *mean,
                                 double mass)
{
    const uint32_t first =
        set->factored > 0 ? set->factored + ones_count(set) : 0;

    if (set->factored + n != set->n || m != set->n)
        return strads_fail(STRADS_EPROGRAM,
                           "pairs of %u columns with %u came for a set of %u",
                           n, m, set->n);
    if (set->is.intercept)
        set->factor[0] = set->factored > 0 ? set->factor[0] : mass;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = set->factored + k + ones_count(set);
        double *line = set->factor + (size_t)i * set->stride;
        if (set->is.intercept)
            line[0] = mass * mean[set->member[set->factored + k].column];
        memcpy(line + ones_count(set), products + (size_t)k * m,
               (i + 1 - ones_count(set)) * sizeof(*line));
    }
    set->n_rows = set->n + ones_count(set);
    linear_factor_from(set->is.kernels, first, (uint32_t)set->n_rows,
                       set->stride, set->factor);
    place_members(set);
    set->factored = set->n;
    set->columns_changed = true;
    return STRADS_OK;
}

/* Slopes already exclude the part of the row of ones, so it is skipped. */
double linear_set_freeze_reduced(linear_set *set)
{
    const column_kernels *kernels = set->is.kernels;
    const uint32_t n = (uint32_t)set->n_rows, first = ones_count(set);

    memset(set->root, 0, n * sizeof(*set->root));
    set->root[0] = first ? set->factor[0] : 1;
    if (first)
        set->lasting[0] = set->is.slope[set->parameters] / set->factor[0];
    for (uint32_t i = first; i < n; i++) {
        const double *line = set->factor + (size_t)i * set->stride;
        const double off =
            kernels->dot_dense(i - first, line + first, set->lasting + first);
        const uint32_t j = set->member[i - first].column;
        set->lasting[i] = (set->is.slope[j] - off) / line[i];
    }
    return kernels->dot_dense(n, set->lasting, set->lasting) / 2;
}

double linear_set_slope(const linear_set *set, uint64_t j)
{
    const uint64_t i =
        j == set->parameters ? 0 : set->place[j] - 1 + ones_count(set);
    const double *line = set->factor + i * set->stride;
    const uint64_t n = line[i] == LINEAR_DEPENDENT ? i : i + 1;
    const double sum = set->is.kernels->dot_dense(n, line, set->lasting);

    return sum - set->beta * line[0] * set->root[0];
}

void linear_set_use_columns(linear_set *set)
{
    set->reduced = set->open = set->looked = false;
    set->columns_changed = true;
    set->n_rows = set->rows;
    set->factored = set->columns.n = 0;
}
