/* What CCD++ needs before its first sweep: the ratings by user, without those
 * held out, whose values become what the model leaves of them. At first that is
 * all, the users' factors being 0. What has been taken over is given back of
 * the share, so a rating costs 8 bytes. */
#include <math.h>
#include <string.h>

#include "mf_parts.h"

void mf_ranks_free(mf_ranks *r)
{
    free(r->start);
    free(r->item);
    free(r->left);
    free(r->q);
    free(r->pair);
}

static strads_err make_room(mf_local *l, uint64_t ratings)
{
    mf_ranks *r = &l->ranks;

    r->swap = mf_rank_swap_choose();
    r->start = calloc(l->users + 1, sizeof(*r->start));
    l->held.start = calloc((uint64_t)l->blocks + 1, sizeof(*l->held.start));
    r->item = malloc(sizeof(*r->item) * (ratings + 1));
    r->left = malloc(sizeof(*r->left) * (ratings + 1));
    r->q = mf_floats((uint64_t)l->items * l->stride);
    r->pair = mf_large_floats(2 * (uint64_t)l->items);
    l->p = mf_floats(l->users * l->stride);
    return r->start && l->held.start && r->item && r->left && r->q && r->pair &&
                   l->p
               ? STRADS_OK
               : mf_no_memory("the ratings and all factors",
                              8 * ratings +
                                  4 * l->stride * (l->users + l->items));
}

static void count_held(mf_local *l, const strads_task *task)
{
    const strads_sparse *x = &task->share->by_row;

    for (uint64_t u = 0; u < l->users; u++) {
        const uint64_t salt =
            mf_hold_salt(task->seed, task->share->rows.begin + u);
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++)
            if (mf_is_held(salt, x->index[e], l->held_below))
                l->held.start[l->item_block[x->index[e]] + 1]++;
    }
    for (uint32_t b = 0; b < l->blocks; b++)
        l->held.start[b + 1] += l->held.start[b];
}

static void fill_user(mf_local *l, const strads_task *task, uint64_t u,
                      uint64_t *held_at)
{
    mf_ranks *r = &l->ranks;
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = mf_hold_salt(task->seed, task->share->rows.begin + u);
    const float mean = (float)l->scale.mean, per = 1 / (float)l->scale.sd;
    const float bias = mf_user_bias(l, task->share, task->seed, u);
    uint64_t at = r->start[u];

    l->user_bias[u] = bias;
    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
        const uint32_t i = x->index[e];
        const float value =
            (mf_value(x, e) - mean) * per - bias - l->item_bias[i];
        const double square = (double)value * (double)value;
        if (mf_is_held(salt, i, l->held_below)) {
            l->held.sample[held_at[l->item_block[i]]++] =
                (mf_sample){(uint32_t)u, l->item_at[i], value};
            task->partial[MF_HELD_LOSS] += square;
            task->partial[MF_HELD_N]++;
        } else {
            r->item[at] = i;
            r->left[at++] = value;
            task->partial[MF_LOSS] += square;
        }
    }
    r->start[u + 1] = at;
}

static strads_err fill(mf_local *l, const strads_task *task)
{
    const size_t bytes = sizeof(uint64_t) * (l->blocks + 1);
    uint64_t *held_at = malloc(bytes), spent = 0;

    if (!held_at)
        return mf_no_memory("blocks", bytes);
    memcpy(held_at, l->held.start, bytes);
    for (uint64_t u = 0; u < l->users; u++) {
        fill_user(l, task, u, held_at);
        spent = mf_spend(task->share, spent, u + 1);
    }
    free(held_at);
    return STRADS_OK;
}

strads_err mf_ranks_build(strads_task *task)
{
    mf_local *l = task->local;
    strads_err err = make_room(l, task->share->by_row.nnz);

    if (err)
        return err;
    mf_place_items(l);
    count_held(l, task);
    err = mf_samples_alloc(&l->held, l->blocks);
    if (!err)
        err = fill(l, task);
    if (err)
        return err;
    for (uint32_t i = 0; i < l->items; i++)
        if (l->item_n[i] > 0)
            mf_draw(&l->options, task->seed, MF_DRAW_ITEM, i,
                    l->ranks.q + (size_t)i * l->stride);
    return l->options.test ? mf_test_read(l, task->share) : STRADS_OK;
}
