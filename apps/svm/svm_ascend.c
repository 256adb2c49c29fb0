/* A block's pass: each of its rows to its best b, one after the other, in an
 * order drawn anew. The rows may be those of any partition of the pool.
 *
 * What is told of a row is its share of the duality gap as it was found, which
 * sum to an estimate of what the run has left to do; or how steeply D falls
 * with its b (Hsieh et al., ICML 2008, section 3.2, "shrinking"). */
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

#include "svm_parts.h"

enum { AHEAD = 4, RUN = 32 };

size_t svm_partial_ascend(const strads_task *task)
{
    return (size_t)task->block.n + SVM_ASCEND_MORE;
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

static strads_err reserve(svm_local *local, uint32_t n)
{
    if (n <= local->room)
        return STRADS_OK;
    free(local->order);
    free(local->run);
    local->order = malloc(n * sizeof(uint32_t));
    local->run = malloc(n * sizeof(uint32_t));
    local->room = local->order && local->run ? n : 0;
    return local->room ? STRADS_OK
                       : strads_fail(STRADS_ENOMEM,
                                     "no memory for a block of %u rows", n);
}

/* The places of the block's rows, in runs of neighbours that are shuffled: as
 * good as an order that is drawn row by row, and rows are read as they lie. */
static void draw_order(const strads_task *task)
{
    svm_local *local = task->local;
    const uint32_t all = task->block.n, runs = (all + RUN - 1) / RUN;
    uint64_t s = strads_random_bits(task->seed, UINT64_C(0x73766d6f72646572),
                                    task->round, task->share->partition) |
                 1;
    uint32_t *order = local->order, n = 0;

    for (uint32_t k = 0; k < runs; k++)
        local->run[k] = k;
    for (uint32_t k = 0; k < runs; k++) {
        const uint32_t other = k + draw(&s, runs - k), held = local->run[other];
        local->run[other] = local->run[k];
        const uint64_t begin = (uint64_t)held * RUN;
        for (uint64_t at = begin; at < begin + RUN && at < all; at++)
            order[n++] = (uint32_t)at;
    }
}

/* The partition of the pool that holds row i of the whole. */
static const strads_peer *holder(const strads_task *task, uint64_t i)
{
    uint32_t low = 0, high = task->n_peers;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (task->peer[middle].share->rows.begin <= i)
            low = middle;
        else
            high = middle;
    }
    return &task->peer[low];
}

static uint64_t row_at(const strads_task *task, uint32_t place)
{
    return strads_block_param(&task->block, place) -
           svm_first_sample(task->shape);
}

static void fetch(const strads_task *task, uint64_t i)
{
    const strads_share *share = holder(task, i)->share;
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i - share->rows.begin];
    const char *value =
        x->f64 ? (const char *)(x->f64 + at) : (const char *)(x->f32 + at);

    __builtin_prefetch(x->index + at);
    __builtin_prefetch(value);
    __builtin_prefetch(value + 64);
}

/* One row; returns what is to be told of it. */
static double visit(const strads_task *task, uint64_t i, double *b,
                    double *worst)
{
    svm_local *local = task->local;
    const strads_peer *peer = holder(task, i);
    const uint64_t line = i - peer->share->rows.begin;
    const svm_sample *x = &((const svm_local *)peer->local)->sample[line];
    const linear_column row = svm_row_of(peer->share, line);
    const double z = svm_dot(local, &row, local->w);
    const double rise = svm_rise(x, local->flat, *b, z);
    double best, found;

    if (!(rise > 0))
        return rise;
    *worst = fmax(*worst, rise);
    if (svm_has_entropy(x)) {
        const double part = x->target * *b;
        best = x->target * svm_entropy_best(x->cost, local->safety * x->square,
                                            part, x->target * z, &found);
    } else {
        best = svm_best(x, local->flat, local->safety, *b, z);
        found = svm_gap_at(x, local->flat, *b, z);
    }
    if (best != *b)
        svm_add(local, &row, local->safety * (best - *b), local->w);
    *b = best;
    return found;
}

strads_err svm_update_ascend(strads_task *task)
{
    svm_local *local = task->local;
    const uint32_t n = task->block.n;
    const strads_err err = reserve(local, n);

    if (err)
        return err;
    draw_order(task);
    if (local->stale)
        memcpy(local->w, local->base, (local->columns + 1) * sizeof(double));
    local->stale = false;
    local->moved = true;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = local->order[k];
        if (k + AHEAD < n)
            fetch(task, row_at(task, local->order[k + AHEAD]));
        task->partial[at] = visit(task, row_at(task, at), &task->value[at],
                                  &task->partial[n + SVM_WORST]);
    }
    return STRADS_OK;
}
