/* A block's pass: each of its rows to its best b, one after the other, in an
 * order drawn anew. Rows whose b is at a bound, and which pull outward more
 * than anything pulled at all in the pass before, are left alone from then on:
 * their priority is 0, and the next scan looks at them again (Hsieh et al.,
 * ICML 2008, section 3.2, "shrinking").
 *
 * A row's priority is its share of the duality gap as it was found: they sum to
 * an estimate of what the run has left to do. */
#include <float.h>
#include <string.h>

#include <strads/policy.h>

#include "svm_parts.h"

/* Rows that are neither wrong nor far from it: not at rest. */
#define AWAKE 1e-200

enum { AHEAD = 4, RUN = 32 };

/* The numbers behind the n priorities. */
enum { VISITS, N_MORE };

size_t svm_partial_ascend(const strads_task *task)
{
    return (size_t)task->block.n + N_MORE;
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static uint32_t draw(uint64_t *s, uint32_t n)
{
    return (uint32_t)(((next_random(s) >> 32) * n) >> 32);
}

/* The places of rows that do not rest, in runs of neighbours that are shuffled:
 * as good as an order that is drawn row by row, and rows are read as they lie.
 * Returns how many. */
static uint32_t draw_order(const strads_task *task, uint32_t first)
{
    svm_local *local = task->local;
    uint64_t s = strads_random_bits(task->seed, UINT64_C(0x73766d6f72646572),
                                    task->round, task->share->partition) |
                 1;
    uint32_t *order = local->order, n = 0;

    const uint32_t runs = (task->block.n + RUN - 1) / RUN;
    for (uint32_t k = 0; k < runs; k++)
        local->run[k] = k;
    for (uint32_t k = 0; k < runs; k++) {
        const uint32_t other = k + draw(&s, runs - k), held = local->run[other];
        local->run[other] = local->run[k];
        const uint64_t begin = (uint64_t)held * RUN;
        for (uint64_t at = begin; at < begin + RUN && at < task->block.n; at++)
            if (!local->rests[strads_block_param(&task->block, (uint32_t)at) -
                              first])
                order[n++] = (uint32_t)at;
    }
    return n;
}

static void fetch(const strads_share *share, uint64_t i)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i];
    const char *value =
        x->f64 ? (const char *)(x->f64 + at) : (const char *)(x->f32 + at);

    __builtin_prefetch(x->index + at);
    __builtin_prefetch(value);
    __builtin_prefetch(value + 64);
}

/* The end of a pass over as many rows as do not rest. */
static void count_row(svm_local *local)
{
    if (local->left > 0 && --local->left > 0)
        return;
    local->worst = local->worst_now > 0 ? local->worst_now : INFINITY;
    local->worst_now = 0;
    local->left = 0;
    for (uint64_t i = 0; i < local->rows; i++)
        local->left += !local->rests[i];
}

/* One row; returns its priority. */
static double visit(svm_local *local, const strads_share *share, uint64_t i,
                    double *b)
{
    const svm_sample *x = &local->sample[i];
    const linear_column row = svm_row_of(share, i);
    const double z = svm_dot(local, &row, local->w);
    const double rise = svm_rise(x, local->flat, *b, z);
    double best, priority;

    if (rise < -local->worst) {
        local->rests[i] = true;
        return 0;
    }
    if (!(rise > 0))
        return AWAKE;
    local->worst_now = fmax(local->worst_now, rise);
    if (svm_has_entropy(x)) {
        const double part = x->target * *b;
        best = x->target * svm_entropy_best(x->cost, local->safety * x->square,
                                            part, x->target * z, &priority);
    } else {
        best = svm_best(x, local->flat, local->safety, *b, z);
        priority = svm_gap_at(x, local->flat, *b, z);
    }
    if (best != *b)
        svm_add(local, &row, local->safety * (best - *b), local->w);
    *b = best;
    return fmax(priority, AWAKE);
}

strads_err svm_update_ascend(strads_task *task)
{
    svm_local *local = task->local;
    const uint64_t first =
        svm_first_sample(task->shape) + task->share->rows.begin;
    const strads_block *block = &task->block;
    const uint32_t n = draw_order(task, (uint32_t)first);

    if (local->stale)
        memcpy(local->w, local->base, (local->columns + 1) * sizeof(double));
    local->stale = false;
    local->moved = true;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = local->order[k];
        if (k + AHEAD < n)
            fetch(task->share,
                  strads_block_param(block, local->order[k + AHEAD]) - first);
        task->partial[at] =
            visit(local, task->share, strads_block_param(block, at) - first,
                  &task->value[at]);
        count_row(local);
    }
    task->partial[block->n + VISITS] = n;
    return STRADS_OK;
}
