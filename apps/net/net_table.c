/* A partition's parameters in the table: start values, reads and increments;
 * and its part of a checkpoint, for state that the table lacks. */
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

#include "net_worker.h"

static void name_parameter(net_worker *w, uint64_t place)
{
    const uint64_t begin = w->task->share->cols.begin;
    w->place[w->n_id] = (uint32_t)place;
    w->id[w->n_id++] =
        (uint32_t)(place < w->columns ? begin + place
                                      : w->sizes.size[0] + place - w->columns);
}

void net_name_touched(net_worker *w, uint32_t n)
{
    w->n_id = 0;
    w->batches++;
    for (uint64_t j = 0; (w->dense || n == UINT32_MAX) && j < w->columns; j++)
        name_parameter(w, j);
    for (uint32_t i = 0; !w->dense && n < UINT32_MAX && i < n; i++)
        for (uint64_t e = w->x->start[w->row[i]];
             e < w->x->start[w->row[i] + 1]; e++) {
            const uint32_t j = w->x->index[e];
            if (w->mark[j] != w->batches) {
                w->mark[j] = w->batches;
                name_parameter(w, j);
            }
        }
    for (uint64_t u = 0; u < net_upper(&w->sizes); u++)
        name_parameter(w, w->columns + u);
}

strads_err net_fetch_parameters(net_worker *w, uint32_t staleness)
{
    const uint64_t ld = w->sizes.width;
    strads_err err = strads_session_read_rows(w->session, NET_MODEL, w->n_id,
                                              w->id, staleness, w->exchanged);
    for (uint32_t k = 0; !err && k < w->n_id; k++)
        net_narrow(w, ld, w->exchanged + k * ld,
                   net_numbers_of(w, w->w, w->place[k]));
    return err;
}

static strads_err of_other_data(const net_worker *w)
{
    return strads_fail(
        STRADS_EFORMAT,
        "the checkpoint's part of partition %u is not of these data",
        w->task->share->partition);
}

static void forget_packed(net_worker *w)
{
    free(w->packed);
    w->packed = NULL;
}

strads_err net_fetch_packed(net_worker *w)
{
    const uint64_t row = w->sizes.width * w->arithmetic->bytes;
    if (w->packed_size != w->n_id * row)
        return of_other_data(w);
    for (uint32_t k = 0; k < w->n_id; k++)
        memcpy(net_numbers_of(w, w->w, w->place[k]),
               (const char *)w->packed + k * row, row);
    forget_packed(w);
    return STRADS_OK;
}

strads_err net_push_parameters(net_worker *w, void *from, const double *start,
                               bool upper)
{
    const uint64_t ld = w->sizes.width;
    const uint32_t n = w->n_id - (upper ? 0 : (uint32_t)net_upper(&w->sizes));
    for (uint32_t k = 0; k < n; k++) {
        double *to = w->exchanged + k * ld;
        net_widen(w, ld, net_numbers_of(w, from, w->place[k]), to);
        for (uint64_t c = 0; start && c < ld; c++)
            to[c] -= start[w->place[k] * ld + c];
    }
    if (!start)
        net_to_grain(n * ld, w->exchanged);
    return strads_session_inc_rows(w->session, NET_MODEL, n, w->id,
                                   w->exchanged);
}

/* Glorot and Bengio, AISTATS 2010: uniform within sqrt(6 / (units below + units
 * of the layer)). `id` is a row of the table with weights, or with biases b,
 * which start at 0. */
static void draw_start(const net_worker *w, uint64_t id, double *out)
{
    const net_sizes *s = &w->sizes;
    uint32_t l = s->layers - 1;
    while (id < s->first[l])
        l--;
    const double reach =
        sqrt(6 / ((double)s->size[l] + (double)s->size[l + 1]));
    const uint64_t n = l == 0 ? s->size[1] : s->size[l];
    for (uint64_t c = 0; id < s->bias[l] && c < n; c++)
        out[c] =
            reach *
            (2 * strads_random_unit(w->task->seed, NET_DRAW_START, id, c) - 1);
}

strads_err net_take_start(net_worker *w)
{
    const uint64_t ld = w->sizes.width;
    net_name_touched(w, UINT32_MAX);
    strads_err err =
        strads_session_read_rows(w->session, NET_MODEL, w->n_id, w->id,
                                 STRADS_STALENESS_INFINITE, w->exchanged);
    for (uint32_t k = 0; !err && k < w->n_id; k++) {
        double *row = w->exchanged + k * ld;
        double old[2] = {0};
        for (uint64_t c = 0; c < ld; c++)
            old[row[c] != 0]++;
        if (w->start)
            memcpy(w->start + w->place[k] * ld, row, ld * sizeof *row);
        if (old[1] == 0)
            draw_start(w, w->id[k], row);
        net_to_grain(ld, row);
        net_narrow(w, ld, row, net_numbers_of(w, w->w, w->place[k]));
    }
    return err;
}

strads_err net_give_parameters(net_worker *w, uint32_t staleness)
{
    const uint64_t ld = w->sizes.width;
    strads_err err = STRADS_OK;
    if (w->groups == 1)
        return STRADS_OK;
    if (w->group == 0) {
        double *start = malloc(w->n_id * ld * sizeof *start);
        if (!start)
            return strads_fail(STRADS_ENOMEM, "no memory for start values");
        err = strads_session_read_rows(w->session, NET_MODEL, w->n_id, w->id,
                                       staleness, start);
        if (!err) /* all rows are listed, in order of position */
            err = net_push_parameters(w, w->w, start, w->member == 0);
        free(start);
    }
    return err ? err : strads_session_clock(w->session);
}

/* ---- checkpoints --------------------------------------------------------- */

/* Header of a partition's packed state; weights, sums and best are byte
 * counts. */
typedef struct packed_head {
    double loss, correct;
    uint64_t seen, weights, sums, best;
    net_stop stop;
} packed_head;

/* Bytes of packed weights. R = 1: all weights, with m and v. Otherwise: the
 * parameters that the current batch has read, because the table may change. */
static uint64_t own_weights(const net_worker *w)
{
    const uint64_t read = w->sums ? w->n_id : 0;
    const uint64_t own = (w->columns + net_upper(&w->sizes)) *
                         (net_uses_adam(&w->options) ? 3 : 1);
    return (w->groups > 1 ? read : own) * w->sizes.width * w->arithmetic->bytes;
}

static uint64_t own_best(const net_worker *w)
{
    return w->best && w->stop.best_epoch > 0
               ? (w->columns + net_upper(&w->sizes)) * w->sizes.width *
                     w->arithmetic->bytes
               : 0;
}

static uint64_t own_sums(const net_worker *w)
{
    return w->member > 0
               ? 0
               : (uint64_t)w->batch_max * w->sizes.width * sizeof(double);
}

strads_err net_pack(const void *local, strads_bytes *out)
{
    const net_worker *w = local;
    if (!w->trains)
        return STRADS_OK;
    const packed_head head = {.loss = w->loss,
                              .correct = w->correct,
                              .seen = w->seen,
                              .weights = own_weights(w),
                              .sums = own_sums(w),
                              .best = own_best(w),
                              .stop = w->stop};
    strads_err err = strads_bytes_append(out, &head, sizeof head);
    if (!err && head.best)
        err = strads_bytes_append(out, w->best, head.best);
    for (int turn = 0; !err && head.sums && turn < 2; turn++)
        err = strads_bytes_append(out, w->old[turn], head.sums);
    if (!err && w->groups == 1)
        err = strads_bytes_append(out, w->w, head.weights);
    const uint64_t row = w->sizes.width * w->arithmetic->bytes;
    for (uint64_t k = 0; !err && w->groups > 1 && k < head.weights / row; k++)
        err =
            strads_bytes_append(out, net_numbers_of(w, w->w, w->place[k]), row);
    return err;
}

strads_err net_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local)
{
    strads_err err = net_open(task, local);
    net_worker *w = *local;
    if (!err)
        err = net_reserve_array(size, 1, &w->packed);
    if (!err) {
        memcpy(w->packed, bytes, size);
        w->packed_size = size;
        return STRADS_OK;
    }
    net_close(w);
    *local = NULL;
    return err;
}

strads_err net_go_on(net_worker *w, uint64_t *step, bool *summed)
{
    const uint64_t begin = w->groups > 1 ? 2 : 1; /* clocks for classes and
                                                   * start values */
    const uint64_t clock = strads_session_now(w->session) - begin;
    const uint64_t sums = own_sums(w), most = w->packed_size;
    char *from = w->packed;
    packed_head head = {0};
    if (most >= sizeof head)
        memcpy(&head, from, sizeof head);
    w->stop = head.stop;
    if (head.sums != sums || head.best != own_best(w) ||
        most < sizeof head + 2 * sums + head.best ||
        head.weights != most - sizeof head - 2 * sums - head.best ||
        (w->groups == 1 && head.weights != own_weights(w)))
        return of_other_data(w);
    from += sizeof head;
    if (head.best)
        memcpy(w->best, from, head.best);
    from += head.best;
    for (int turn = 0; sums && turn < 2; turn++)
        memcpy(w->old[turn], from + (size_t)turn * sums, sums);
    from += 2 * sums;
    *summed = w->groups > 1 ? clock % 2 == 1 : clock > 0;
    *step = w->groups > 1 ? clock / 2 : clock - *summed;
    w->loss = head.loss;
    w->correct = head.correct;
    w->seen = head.seen;
    if (w->groups > 1 && *summed) { /* kept for net_fetch_packed */
        memmove(w->packed, from, head.weights);
        w->packed_size = head.weights;
        return STRADS_OK;
    }
    if (w->groups == 1)
        memcpy(w->w, from, head.weights);
    forget_packed(w);
    return STRADS_OK;
}
