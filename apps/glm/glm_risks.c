/* Losses that are not a sum over rows: a row's slope depends on the margins of
 * all rows. Before each scan every partition receives these, and computes the
 * slopes of all rows to keep its own. Only differences between margins matter,
 * so b stays 0, and models use the mean of their columns. */
#include <math.h>
#include <stdlib.h>

#include "glm_parts.h"

enum { RISK = 3 }; /* numbers of a row: y, c, z */

typedef struct timed {
    double time;
    uint64_t row;
} timed;

static int by_time(const void *a, const void *b)
{
    const double x = ((const timed *)a)->time, y = ((const timed *)b)->time;

    return (x > y) - (x < y);
}

strads_err glm_rank_times(uint64_t n, double *y)
{
    timed *at = malloc((n + 1) * sizeof(*at));
    double rank = 0;

    if (!at)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the times of %llu rows",
                           (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        at[i] = (timed){.time = fabs(y[i]), .row = i};
    qsort(at, n, sizeof(*at), by_time);
    for (uint64_t k = 0; k < n; k++) {
        rank += k == 0 || at[k].time > at[k - 1].time;
        y[at[k].row] = signbit(y[at[k].row]) ? -rank : rank;
    }
    free(at);
    return STRADS_OK;
}

size_t glm_risks_size(const strads_task *task)
{
    return task->shape->rows * RISK * sizeof(double);
}

strads_err glm_update_risks(strads_task *task)
{
    glm_local *local = task->local;
    double *out = task->partial;

    glm_catch_up(local);
    for (uint64_t i = 0; i < local->rows; i++) {
        *out++ = local->y[i];
        *out++ = local->c[i];
        *out++ = local->z[i];
    }
    task->partial_bytes = local->rows * RISK * sizeof(double);
    return STRADS_OK;
}

strads_err glm_aggregate_risks(strads_commit *commit)
{
    glm_state *state = commit->state;

    if (commit->partial_bytes != state->set.rows * RISK * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that workers sent do not fit the data: a "
                           "node runs another version or is broken");
    state->risks_known = true;
    return STRADS_OK;
}

strads_err glm_receive_risks(strads_task *task)
{
    glm_local *local = task->local;
    const uint64_t n = task->shape->rows, first = task->share->rows.begin;
    const double *in = task->partial;
    const bool begins = !local->all;
    strads_err err = STRADS_OK;

    if (begins && !(local->all = malloc((4 * n + 1) * sizeof(*local->all))))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the margins of %llu rows",
                           (unsigned long long)n);
    double *y = local->all, *c = y + n, *z = c + n, *r = z + n;
    for (uint64_t i = 0; i < n; i++, in += RISK) {
        y[i] = begins ? in[0] : y[i];
        c[i] = in[1];
        z[i] = in[2];
    }
    if (begins)
        err = glm_rank_times(n, y);
    const glm_rows rows = {n, y, c, z};
    (void)local->problem.loss->evaluate(&rows, local->problem.p, r, NULL);
    for (uint64_t i = 0; i < local->rows; i++)
        local->r[i] = r[first + i];
    return err;
}
