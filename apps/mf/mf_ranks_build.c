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
    *r = (mf_ranks){0};
}

static strads_err make_room(mf_local *l, uint64_t ratings)
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
                              8 * ratings +
                                  4 * l->stride * (l->users + l->items));
}

static strads_err fill(mf_local *l, const strads_task *task, mf_split *split)
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
    strads_err err = make_room(l, task->share->by_row.nnz);

    if (!err)
        err = mf_split_open(l, task, &split);
    if (!err)
        err = fill(l, task, &split);
    mf_split_close(&split);
    if (err)
        return err;
    for (uint32_t i = 0; i < l->items; i++)
        if (l->item_n[i] > 0)
            mf_draw(&l->options, task->seed, MF_DRAW_ITEM, i,
                    l->ranks.q + (size_t)i * l->stride);
    return STRADS_OK;
}
