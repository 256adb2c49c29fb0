/* CCD++ (Yu, Hsieh, Si and Dhillon, ICDM 2012): one rank after another. With R
 * the scaled ratings less the products of all ranks except t, and p, q the
 * factors of t,
 *
 *     p_u = sum_i R_ui q_i / (penalty_u + sum_i q_i^2)
 *     q_i = sum_u R_ui p_u / (penalty_i + sum_u p_u^2)
 *
 * Each is the exact minimum for the other. A partition keeps R for its users.
 * One phase updates one rank, in one pass over R: it subtracts the product of
 * the previous rank, adds that of this rank, solves for each user and adds the
 * user's terms to the items' sums. The sums are merged, and each partition
 * computes the quotients itself: all partitions have all items' factors, and
 * only sums travel. A sweep ends with
 *
 *     fill     RING: the items' factors into their blocks, errors held out
 *
 * so that tests and results are computed as for the other methods. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>

void mf_ranks_free(mf_ranks *r)
{
    free(r->start);
    free(r->item);
    free(r->left);
    free(r->q);
    free(r->pair);
    *r = (mf_ranks){0};
}

static strads_err allocate_ranks(mf_local *l, uint64_t ratings)
{
    mf_ranks *r = &l->ranks;

    r->swap = mf_rank_swap_choose();
    r->start = calloc(l->users + 1, sizeof(*r->start));
    r->item = malloc(sizeof(*r->item) * (ratings + 1));
    r->left = malloc(sizeof(*r->left) * (ratings + 1));
    r->q = mf_floats((uint64_t)l->items * l->stride);
    r->pair = mf_large_floats(2 * (uint64_t)l->items);
    l->p = mf_floats(l->users * l->stride);
    return r->start && r->item && r->left && r->q && r->pair && l->p
               ? STRADS_OK
               : mf_no_memory("the ratings and all factors",
                              8 * ratings + 4 * (size_t)l->stride *
                                                (l->users + l->items));
}

static strads_err fill_ranks(mf_local *l, const strads_task *task,
                             mf_split *split)
{
    mf_ranks *r = &l->ranks;
    uint64_t spent = 0;

    for (uint64_t u = 0; u < l->users; u++)
        (void)mf_split_count(split, l, task, u);
    const strads_err err = mf_split_counted(split, l);
    for (uint64_t u = 0; u < l->users && !err; u++) {
        const uint64_t at = r->start[u], n = mf_split_take(split, l, task, u);
        memcpy(r->item + at, split->item, n * sizeof(*r->item));
        memcpy(r->left + at, split->left, n * sizeof(*r->left));
        r->start[u + 1] = at + n;
        spent = mf_spend(task->share, spent, u + 1);
    }
    return err;
}

strads_err mf_ranks_build(strads_task *task)
{
    mf_local *l = task->local;
    mf_split split = {0};
    strads_err err = allocate_ranks(l, task->share->by_row.nnz);

    if (!err)
        err = mf_split_open(l, task, &split);
    if (!err)
        err = fill_ranks(l, task, &split);
    mf_split_close(&split);
    if (err)
        return err;
    for (uint32_t i = 0; i < l->items; i++)
        if (l->item_n[i] > 0)
            mf_draw(&l->options, task->seed, MF_DRAW_ITEM, i,
                    l->ranks.q + (size_t)i * l->stride);
    return STRADS_OK;
}

/* ---- a rank ------------------------------------------------------------ */

static uint32_t rank_before(uint32_t t, uint32_t rank)
{
    return t ? t - 1 : rank - 1;
}

/* 0 without ratings and penalty. */
static float solve_rank(bool nonnegative, double side, double square,
                        double penalty)
{
    const double p = square + penalty > 0 ? side / (square + penalty) : 0;

    return (float)(nonnegative ? fmax(p, 0) : p);
}

/* Interleaves the factors of the previous rank and of this one. */
static void pair_factors(mf_local *l)
{
    mf_ranks *r = &l->ranks;
    const uint32_t before = rank_before(r->rank, l->options.rank);

    for (uint32_t i = 0; i < l->items; i++) {
        const float *q = r->q + (size_t)i * l->stride;
        r->pair[2 * (size_t)i] = q[before];
        r->pair[2 * (size_t)i + 1] = q[r->rank];
    }
}

size_t mf_partial_rank(const strads_task *task)
{
    return MF_SOLVED + 2 * (size_t)task->shape->cols;
}

strads_err mf_update_rank(strads_task *task)
{
    mf_local *l = task->local;
    mf_ranks *r = &l->ranks;
    const uint32_t t = r->rank, before = rank_before(t, l->options.rank);

    pair_factors(l);
    for (uint64_t u = 0; u < l->users; u++) {
        const uint64_t first = r->start[u];
        const mf_rank_line line = {.item = r->item + first,
                                   .left = r->left + first,
                                   .n = (uint32_t)(r->start[u + 1] - first)};
        const double penalty = mf_row_penalty(&l->options, &l->steps, line.n);
        float *p = l->p + u * l->stride;
        const mf_rank_sums sum = r->swap(&line, r->pair, p[before], p[t]);
        p[t] = solve_rank(l->options.nonnegative, (double)sum.side,
                          (double)sum.square, penalty);
        mf_rank_add(&line, p[t], task->partial + MF_SOLVED);
        task->partial[MF_LOSS] += (double)sum.left;
        task->partial[MF_PENALTY] += penalty * (double)p[t] * (double)p[t];
    }
    return STRADS_OK;
}

/* sum (R - p q)^2 = sum R^2 - sum_i (2 q sum_u R p - q^2 sum_u p^2) */
static mf_rank_end rank_settle(const mf_rank_sum *rank, float *q)
{
    const double *sum = rank->partial + MF_SOLVED;
    mf_rank_end end = {.loss = rank->partial[MF_LOSS],
                       .penalty = rank->partial[MF_PENALTY]};

    for (uint32_t i = 0; i < rank->items; i++) {
        const double side = sum[2 * (size_t)i], square = sum[2 * (size_t)i + 1];
        const double penalty =
            mf_row_penalty(rank->options, rank->steps, rank->item_n[i]);
        const float x =
            solve_rank(rank->options->nonnegative, side, square, penalty);
        const double y = (double)x;
        end.loss -= y * (2 * side - y * square);
        end.penalty += penalty * y * y;
        if (q)
            q[(size_t)i * rank->stride] = x;
    }
    return end;
}

strads_err mf_receive_rank(strads_task *task)
{
    mf_local *l = task->local;
    mf_ranks *r = &l->ranks;
    const mf_rank_sum rank = {.options = &l->options,
                              .steps = &l->steps,
                              .items = l->items,
                              .stride = l->stride,
                              .item_n = l->item_n,
                              .partial = task->partial};

    (void)rank_settle(&rank, r->q + r->rank);
    r->rank = (r->rank + 1) % l->options.rank;
    return STRADS_OK;
}

/* ---- the end of a sweep ------------------------------------------------ */

/* The exact loss, and the sum of the errors. rank_settle computes the loss as a
 * difference of sums, which has rounding errors and may fall below 0. */
static void add_left_loss(const mf_local *l, double *sum)
{
    const mf_ranks *r = &l->ranks;
    const uint32_t last = rank_before(r->rank, l->options.rank);

    for (uint64_t u = 0; u < l->users; u++) {
        const float p = l->p[u * l->stride + last];
        for (uint64_t e = r->start[u]; e < r->start[u + 1]; e++) {
            const float q = r->q[(size_t)r->item[e] * l->stride + last];
            const double error = (double)(r->left[e] - p * q);
            sum[MF_LOSS] += error * error;
            sum[MF_LEFT] += error;
        }
    }
}

strads_err mf_update_fill(strads_task *task)
{
    mf_local *l = task->local;
    mf_items *items = task->object;
    const size_t row = sizeof(float) * l->stride;

    mf_lift_update(&l->steps);
    for (uint32_t k = 0; k < task->block.n && task->step == 0; k++)
        memcpy(items->q + (size_t)k * l->stride,
               l->ranks.q +
                   (size_t)strads_block_param(&task->block, k) * l->stride,
               row);
    task->partial[MF_HELD_LOSS] = mf_samples_loss(l, &l->held, task);
    if (task->block.id == 0)
        add_left_loss(l, task->partial);
    return STRADS_OK;
}

strads_err mf_receive_fill(strads_task *task)
{
    mf_local *l = task->local;

    if (l->told == 0)
        l->sum[MF_LOSS] = l->sum[MF_LEFT] = l->sum[MF_HELD_LOSS] = 0;
    l->sum[MF_LOSS] += task->partial[MF_LOSS];
    l->sum[MF_LEFT] += task->partial[MF_LEFT];
    l->sum[MF_HELD_LOSS] += task->partial[MF_HELD_LOSS];
    l->told = (l->told + 1) % l->blocks;
    if (l->told > 0)
        return STRADS_OK;
    mf_step_schedule_follow(&l->steps,
                            mf_fit_error(&l->steps, l->sum, l->scale.n),
                            l->sum[MF_HELD_LOSS] / l->sum[MF_HELD_N]);
    return mf_best_keep(l, l->ranks.q);
}

/* ---- the coordinator --------------------------------------------------- */

strads_err mf_ranked(strads_commit *commit)
{
    mf_state *s = commit->state;
    const mf_rank_sum rank = {.options = &s->options,
                              .steps = &s->steps,
                              .items = s->items,
                              .item_n = s->item_n,
                              .partial = commit->partial};
    const mf_rank_end end = rank_settle(&rank, NULL);

    mf_lap_ends(s);
    s->penalty = (s->slab ? s->penalty : 0) + end.penalty;
    s->slab = (s->slab + 1) % s->options.rank;
    if (s->slab)
        return STRADS_OK;
    if (!isfinite(end.loss))
        return strads_fail(STRADS_ELIMIT,
                           "the factors have no finite values: the ratings "
                           "are too large");
    s->added = 0;
    s->sum[MF_LOSS] = s->sum[MF_LEFT] = s->sum[MF_HELD_LOSS] = 0;
    s->next = MF_FILL;
    return STRADS_OK;
}

strads_err mf_filled(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->sum[MF_LOSS] += commit->partial[MF_LOSS];
    s->sum[MF_LEFT] += commit->partial[MF_LEFT];
    s->sum[MF_HELD_LOSS] += commit->partial[MF_HELD_LOSS];
    if (++s->added < s->blocks)
        return STRADS_OK;
    mf_lap_ends(s);
    s->objective = s->scale.sd * s->scale.sd * (s->sum[MF_LOSS] + s->penalty);
    mf_lift_update(&s->steps);
    mf_step_schedule_follow(&s->steps,
                            mf_fit_error(&s->steps, s->sum, s->scale.n),
                            s->sum[MF_HELD_LOSS] / s->sum[MF_HELD_N]);
    s->next = s->options.test ? MF_TEST : MF_REPORT;
    return STRADS_OK;
}
