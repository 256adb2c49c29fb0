/* A worker's memory, and the rows of each batch. They are drawn once, from
 * (seed, partition), so they do not depend on threads or clocks. */
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

#include "sgd_logistic_parts.h"

/* Purposes of random streams. */
enum { DRAW_ROWS = 1, DRAW_BATCHES = 2 };

/* Fisher-Yates. */
static void shuffle_indices(const strads_task *task, uint64_t purpose,
                            uint64_t index, uint64_t n, uint32_t *v)
{
    for (uint64_t k = n; k > 1; k--) {
        const double u = strads_random_unit(task->seed, purpose, index, n - k);
        const uint64_t other = (uint64_t)(u * (double)k);
        const uint32_t held = v[k - 1];
        v[k - 1] = v[other];
        v[other] = held;
    }
}

void sgd_worker_shuffle(sgd_worker *worker, uint32_t epoch)
{
    const strads_task *task = worker->task;
    for (uint32_t b = 0; b < worker->batches; b++)
        worker->turn[b] = b;
    shuffle_indices(task, DRAW_BATCHES,
                    (uint64_t)epoch * task->shape->partitions +
                        task->share->partition,
                    worker->batches, worker->turn);
}

static bool allocate_worker(sgd_worker *w)
{
    const size_t cells = (size_t)w->rows * SGD_ROW;
    w->y = calloc(w->n + 1, sizeof(*w->y));
    w->order = calloc(w->n + 1, sizeof(*w->order));
    w->turn = calloc(w->batches, sizeof(*w->turn));
    w->first = calloc((size_t)w->batches + 1, sizeof(*w->first));
    w->penalty = calloc(w->rows, sizeof(*w->penalty));
    w->w = calloc(cells, sizeof(*w->w));
    w->change = calloc(cells, sizeof(*w->change));
    w->fetched = calloc(cells, sizeof(*w->fetched));
    return w->y && w->order && w->turn && w->first && w->penalty && w->w &&
           w->change && w->fetched;
}

/* Marks the table rows that a batch touches with `mark`. Appends rows that had
 * another mark to `out`, if it is not NULL. Returns their number. */
static uint64_t touch_rows(const sgd_worker *w, uint64_t batch, uint64_t mark,
                           uint64_t *marks, uint32_t *out)
{
    const strads_sparse *x = &w->task->share->by_row;
    const uint32_t last = w->rows - 1;
    uint64_t n = 0;
    for (uint64_t at = sgd_batch_at(w, batch); at < sgd_batch_at(w, batch + 1);
         at++) {
        const uint64_t i = w->order[at];
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const uint32_t k = x->index[e] / SGD_ROW;
            if (marks[k] == mark)
                continue;
            marks[k] = mark;
            if (out)
                out[n] = k;
            n++;
        }
    }
    if (w->rules.options.intercept && out)
        out[n] = last;
    return n + w->rules.options.intercept;
}

static strads_err list_touched(sgd_worker *w)
{
    uint64_t *marks = calloc(w->rows, sizeof(*marks));
    uint64_t mark = 0;
    strads_err err = STRADS_OK;
    for (uint32_t b = 0; marks && b < w->batches; b++)
        w->first[b + 1] = w->first[b] + touch_rows(w, b, ++mark, marks, NULL);
    w->touched = malloc(sizeof(*w->touched) * (w->first[w->batches] + 1));
    if (!marks || !w->touched)
        err =
            strads_fail(STRADS_ENOMEM, "no memory to list what batches touch");
    for (uint32_t b = 0; !err && b < w->batches; b++)
        (void)touch_rows(w, b, ++mark, marks, w->touched + w->first[b]);
    free(marks);
    return err;
}

/* All workers have the same number of batches, from the mean number of rows. */
static void take_sizes(sgd_worker *w)
{
    const strads_shape *shape = w->task->shape;
    const double per_worker = (double)shape->rows / shape->partitions;
    w->n = w->task->share->rows.end - w->task->share->rows.begin;
    w->columns = (uint32_t)shape->cols;
    w->rows = (w->columns + SGD_ROW - 1) / SGD_ROW + 1;
    w->batches = (uint32_t)(per_worker / w->rules.options.batch) + 1;
    w->scale = (double)w->batches * shape->partitions / (double)shape->rows;
}

strads_err sgd_open(const strads_task *task, void **local)
{
    sgd_worker *w = calloc(1, sizeof(*w));
    if (!w)
        return strads_fail(STRADS_ENOMEM, "no memory for a worker");
    w->task = task;
    strads_err err = sgd_rules_make(task->config, &w->rules);
    if (!err) {
        take_sizes(w);
        if (!allocate_worker(w))
            err = strads_fail(STRADS_ENOMEM,
                              "no memory for the weights of %u columns, three "
                              "times",
                              w->columns);
    }
    for (uint64_t i = 0; !err && i < w->n; i++)
        w->order[i] = (uint32_t)i;
    if (!err && w->rules.staleness != SGD_STALENESS_HOGWILD) {
        shuffle_indices(task, DRAW_ROWS, task->share->partition, w->n,
                        w->order);
        err = list_touched(w);
    }
    if (!err)
        *local = w;
    else
        sgd_close(w);
    return err;
}

void sgd_close(void *local)
{
    sgd_worker *w = local;
    linear_classes_free(&w->classes);
    free(w->y);
    free(w->order);
    free(w->turn);
    free(w->first);
    free(w->touched);
    free(w->penalty);
    free(w->w);
    free(w->change);
    free(w->fetched);
    free(w);
}

/* ---- checkpoints --------------------------------------------------------- */

/* Passes each row that was read: its number and its weights. */
static void pass_read_rows(strads_walk *walk, sgd_worker *w, uint64_t n_read,
                           const uint32_t *read)
{
    strads_walk_pass(walk, &w->loss, sizeof(w->loss));
    strads_walk_pass(walk, &w->decay, sizeof(w->decay));
    strads_walk_pass(walk, &n_read, sizeof(n_read));
    for (uint64_t k = 0; k < n_read && !walk->is_short; k++) {
        uint32_t row = read ? read[k] : 0;
        strads_walk_pass(walk, &row, sizeof(row));
        walk->is_short = walk->is_short || row >= w->rows;
        if (!walk->is_short)
            strads_walk_pass(walk, w->w + (size_t)row * SGD_ROW,
                             SGD_ROW * sizeof(*w->w));
    }
}

strads_err sgd_pack(const void *local, strads_bytes *out)
{
    sgd_worker *w = (sgd_worker *)(uintptr_t)local; /* packing only reads */
    strads_walk walk = {.out = out};

    pass_read_rows(&walk, w, w->n_read, w->read);
    return walk.err;
}

strads_err sgd_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local)
{
    strads_walk walk = {.from = bytes, .end = (const char *)bytes + size};
    strads_err err = sgd_open(task, local);
    if (err)
        return err;
    pass_read_rows(&walk, *local, 0, NULL);
    if (strads_walk_fits(&walk))
        return STRADS_OK;
    sgd_close(*local);
    *local = NULL;
    return strads_fail(
        STRADS_EFORMAT,
        "the checkpoint's part of partition %u is not of these data",
        task->share->partition);
}
