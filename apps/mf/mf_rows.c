/* Alternating least squares and descent by row. With y the scaled ratings, n
 * how many a row has (1 where the penalty is unweighted) and s a slab of the
 * factors,
 *
 *     (sum q_s q_s' + lambda n I) p_s = sum (y - p_r'q_r) q_s
 *
 * where r are the factors outside the slab: one row's exact minimum over these.
 * als takes all factors as one slab (Zhou et al. 2008), cd one tile after the
 * other (descent on blocks of coordinates). Implicit feedback has all pairs,
 * 0 where nothing was seen, with confidence 1 and 1 + alpha r (Hu, Koren and
 * Volinsky 2008):
 *
 *     (Q'Q + sum alpha r q q' + lambda I) p = sum (1 + alpha r) q
 *
 *     meet     RING: a block's items, their equations summed from partition to
 *              partition, solved by the last one; a lap for each slab
 *     spread   RING: to every partition's copy of all items
 *     solve    each partition's users, from that copy
 *
 * Users are solved for last: at the end each one is exact for the items. */
#include <math.h>
#include <string.h>

#include "mf_parts.h"

/* ---- one row ------------------------------------------------------------- */

static mf_ridge ridge_of(const mf_local *l, const float *gram, double n)
{
    return (mf_ridge){.penalty = mf_row_penalty(&l->options, &l->course, n),
                      .gram = gram,
                      .nonnegative = l->options.nonnegative,
                      .whole = l->rows.room.slab == l->stride};
}

/* What a row leaves of its ratings, in r->error. */
static void find_error(mf_local *l, mf_line *line, const float *row)
{
    mf_rows *r = &l->rows;

    memcpy(r->error, line->target, sizeof(float) * line->n);
    r->room.equations->subtract(line, 0, l->stride, row, r->error);
    line->target = r->error;
}

/* Target and weight of implicit ratings: of r = 0 nothing is known. */
static void weigh(mf_local *l, const float *rating, mf_line *line)
{
    mf_rows *r = &l->rows;

    for (uint32_t k = 0; k < line->n; k++) {
        r->weight[k] = (float)l->options.alpha * rating[k];
        r->target[k] = rating[k] > 0 ? 1 + r->weight[k] : 0;
    }
    line->weight = r->weight;
    line->target = r->target;
}

/* ---- items ------------------------------------------------------------- */

static mf_line item_line(mf_local *l, uint32_t i)
{
    const mf_rows *r = &l->rows;
    const uint64_t first = r->item_start[i];
    mf_line line = {.factor = l->p,
                    .stride = l->stride,
                    .n = (uint32_t)(r->item_start[i + 1] - first),
                    .index = r->item_user + first,
                    .target = r->item_value + first};

    if (l->options.implicit)
        weigh(l, r->item_value + first, &line);
    return line;
}

/* Item i, the k-th of its block, meets this partition's users. */
static void meet_item(mf_local *l, mf_items *items, uint32_t k, uint32_t i,
                      bool last)
{
    mf_rows *r = &l->rows;
    const size_t square = (size_t)r->room.slab * r->room.slab;
    const uint32_t from = items->slab * r->room.slab;
    const mf_ridge ridge = ridge_of(l, r->gram, l->item_n[i]);
    float *q = items->q + (size_t)k * l->stride;
    float *matrix = r->room.matrix, *side = r->room.side;
    mf_line line = item_line(l, i);

    if (items->system) {
        matrix = items->system + k * (square + r->room.slab);
        side = matrix + square;
    } else {
        mf_room_clear(&r->room);
    }
    if (!ridge.whole)
        find_error(l, &line, q);
    r->room.equations->gather(&line, from, r->room.slab, matrix, side);
    if (!last)
        return;
    if (l->item_n[i] > 0)
        (void)mf_settle(&r->room, &ridge, matrix, side, q + from);
    else
        memset(q + from, 0, sizeof(float) * r->room.slab);
}

strads_err mf_update_meet(strads_task *task)
{
    mf_local *l = task->local;
    mf_items *items = task->object;
    const uint64_t each = (uint64_t)l->rows.room.slab * (l->rows.room.slab + 1);
    const bool last = task->step + 1 == task->share->partitions;

    if (task->step == 0 && !last) {
        strads_err err = mf_items_equations(items, task->block.n * each);
        if (err)
            return err;
    }
    for (uint32_t k = 0; k < task->block.n; k++)
        meet_item(l, items, k, strads_block_param(&task->block, k), last);
    if (last) {
        free(items->system);
        items->system = NULL;
        items->system_floats = 0;
        items->slab = (items->slab + 1) % (l->stride / l->rows.room.slab);
    }
    return STRADS_OK;
}

strads_err mf_update_spread(strads_task *task)
{
    mf_local *l = task->local;
    const mf_items *items = task->object;

    for (uint32_t k = 0; k < task->block.n; k++)
        memcpy(l->rows.q +
                   (size_t)strads_block_param(&task->block, k) * l->stride,
               items->q + (size_t)k * l->stride, sizeof(float) * l->stride);
    return STRADS_OK;
}

/* ---- users ------------------------------------------------------------- */

static mf_line user_line(mf_local *l, uint64_t u)
{
    const mf_rows *r = &l->rows;
    const uint64_t first = r->user_start[u];
    mf_line line = {.factor = r->q,
                    .stride = l->stride,
                    .n = (uint32_t)(r->user_start[u + 1] - first),
                    .index = r->index,
                    .target = r->user_value + first};

    if (r->user_item)
        for (uint32_t k = 0; k < line.n; k++)
            r->index[k] = r->user_item[first + k];
    else
        line.index = r->user_item_wide + first;
    if (l->options.implicit)
        weigh(l, r->user_value + first, &line);
    return line;
}

/* Returns the sum of squares that is left; with implicit feedback that of all
 * pairs, weighed: sum (1 + alpha r) is what there is at p = 0. */
static double solve_user(mf_local *l, mf_line *line, float *p)
{
    mf_rows *r = &l->rows;
    const mf_ridge ridge = ridge_of(l, r->items_gram, line->n);
    const bool implicit = l->options.implicit;
    double left = 0;

    if (line->n == 0) {
        memset(p, 0, sizeof(float) * l->stride);
        return 0;
    }
    if (!ridge.whole)
        find_error(l, line, p);
    for (uint32_t k = 0; k < line->n && ridge.whole; k++) {
        const double y = (double)line->target[k];
        left += implicit ? y : y * y;
    }
    for (uint32_t from = 0; from < l->stride; from += r->room.slab) {
        mf_room_clear(&r->room);
        r->room.equations->gather(line, from, r->room.slab, r->room.matrix,
                                  r->room.side);
        left +=
            mf_settle(&r->room, &ridge, r->room.matrix, r->room.side, p + from);
        if (!ridge.whole)
            r->room.equations->subtract(line, from, r->room.slab, r->room.step,
                                        r->error);
    }
    if (!ridge.whole)
        left = 0;
    for (uint32_t k = 0; k < line->n && !ridge.whole; k++)
        left += (double)r->error[k] * (double)r->error[k];
    return left;
}

static double square_of(const float *row, uint32_t n)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += (double)row[k] * (double)row[k];
    return sum;
}

/* lambda n |q|^2 of all items, which partition 0 tells. */
static double items_penalty(const mf_local *l)
{
    double sum = 0;

    for (uint32_t i = 0; i < l->items; i++)
        sum += ridge_of(l, NULL, l->item_n[i]).penalty *
               square_of(l->rows.q + (size_t)i * l->stride, l->stride);
    return sum;
}

static double held_loss(const mf_local *l)
{
    double loss = 0;

    for (uint32_t b = 0; b < l->blocks; b++)
        for (uint64_t k = l->held.start[b]; k < l->held.start[b + 1]; k++) {
            const mf_sample *s = &l->held.sample[k];
            const uint32_t i = strads_block_param(&l->cut->block[b], s->item);
            const float *p = l->p + (size_t)s->user * l->stride;
            const float *q = l->rows.q + (size_t)i * l->stride;
            double e = (double)s->value;
            for (uint32_t j = 0; j < l->stride; j++)
                e -= (double)p[j] * (double)q[j];
            loss += e * e;
        }
    return loss;
}

size_t mf_partial_solve(const strads_task *task)
{
    const strads_mf_options *o = task->config;
    const size_t stride = mf_stride(task->width - 1);

    return MF_SOLVED + (o->implicit ? stride * stride : 0);
}

strads_err mf_update_solve(strads_task *task)
{
    mf_local *l = task->local;
    mf_rows *r = &l->rows;
    double *gram = task->partial + MF_SOLVED;
    const size_t square = (size_t)l->stride * l->stride;

    if (l->options.implicit)
        mf_gram(&r->room, r->q, l->items, l->stride, r->items_gram);
    for (uint64_t u = 0; u < l->users; u++) {
        float *p = l->p + u * l->stride;
        mf_line line = user_line(l, u);
        task->partial[MF_LOSS] += solve_user(l, &line, p);
        task->partial[MF_PENALTY] +=
            ridge_of(l, NULL, line.n).penalty * square_of(p, l->stride);
    }
    if (task->share->partition == 0)
        task->partial[MF_PENALTY] += items_penalty(l);
    task->partial[MF_HELD_LOSS] = held_loss(l);
    if (l->options.implicit) {
        mf_gram(&r->room, l->p, l->users, l->stride, r->gram);
        for (size_t k = 0; k < square; k++)
            gram[k] = (double)r->gram[k];
    }
    return STRADS_OK;
}

strads_err mf_receive_solve(strads_task *task)
{
    mf_local *l = task->local;
    const double *gram = task->partial + MF_SOLVED;
    const size_t square = (size_t)l->stride * l->stride;

    for (size_t k = 0; k < square && l->options.implicit; k++)
        l->rows.gram[k] = (float)gram[k];
    if (l->rows.began)
        mf_course_follow(&l->course, task->partial[MF_LOSS] / l->scale.n,
                         task->partial[MF_HELD_LOSS] / l->sum[MF_HELD_N]);
    l->rows.began = true;
    return STRADS_OK;
}
