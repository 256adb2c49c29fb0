/* What solving by row needs before its first sweep: the ratings by item beside
 * those by user, which the share has, and room for one row. */
#include <math.h>
#include <string.h>

#include "mf_parts.h"

/* ---- room -------------------------------------------------------------- */

static bool room_for_factors(mf_local *l)
{
    mf_rows *r = &l->rows;
    const uint64_t square = (uint64_t)l->stride * l->stride;

    l->p = mf_large_floats(l->users * l->stride);
    r->q = mf_large_floats((uint64_t)l->items * l->stride);
    if (l->options.implicit) {
        r->gram = mf_floats(square);
        r->items_gram = mf_floats(square);
        if (!r->gram || !r->items_gram)
            return false;
    }
    return l->p && r->q && mf_room_open(&r->room, mf_slab(&l->options));
}

/* For the longest row of either side. */
static bool room_for_row(mf_local *l, const strads_sparse *x)
{
    mf_rows *r = &l->rows;
    uint64_t most = 0;

    for (uint64_t u = 0; u < l->users; u++)
        if (x->start[u + 1] - x->start[u] > most)
            most = x->start[u + 1] - x->start[u];
    for (uint32_t i = 0; i < l->items; i++)
        if (r->item_start[i + 1] - r->item_start[i] > most)
            most = r->item_start[i + 1] - r->item_start[i];
    r->index = malloc(sizeof(*r->index) * (most + 1));
    r->target = mf_floats(most);
    r->weight = mf_floats(most);
    r->error = mf_floats(most);
    return r->index && r->target && r->weight && r->error;
}

void mf_rows_free(mf_rows *r)
{
    free(r->item_start);
    free(r->item_user);
    free(r->item_value);
    free(r->q);
    free(r->gram);
    free(r->index);
    free(r->target);
    free(r->weight);
    free(r->error);
    mf_room_close(&r->room);
    free(r->items_gram);
}

/* ---- ratings by item --------------------------------------------------- */

static void count(mf_local *l, const strads_task *task)
{
    const strads_sparse *x = &task->share->by_row;

    for (uint64_t u = 0; u < l->users; u++) {
        const uint64_t salt =
            mf_hold_salt(task->seed, task->share->rows.begin + u);
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const uint32_t i = x->index[e];
            if (mf_is_held(salt, i, l->held_below))
                l->held.start[l->item_block[i] + 1]++;
            else
                l->rows.item_start[i + 1]++;
        }
    }
    for (uint32_t i = 0; i < l->items; i++)
        l->rows.item_start[i + 1] += l->rows.item_start[i];
    for (uint32_t b = 0; b < l->blocks; b++)
        l->held.start[b + 1] += l->held.start[b];
}

/* Users come in order, so each item's do. */
static void fill_user(mf_local *l, const strads_task *task, uint64_t u,
                      uint64_t *item_at, uint64_t *held_at)
{
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = mf_hold_salt(task->seed, task->share->rows.begin + u);
    const float mean = (float)l->scale.mean, per = 1 / (float)l->scale.sd;
    const float bias = mf_user_bias(l, task->share, task->seed, u);

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
            const uint64_t at = item_at[i]++;
            l->rows.item_user[at] = (uint32_t)u;
            l->rows.item_value[at] = value;
            task->partial[MF_LOSS] += square;
        }
    }
}

static strads_err fill(mf_local *l, const strads_task *task)
{
    const size_t items = sizeof(uint64_t) * (l->items + 1);
    const size_t blocks = sizeof(uint64_t) * (l->blocks + 1);
    uint64_t *item_at = malloc(items), *held_at = malloc(blocks);
    const bool there = item_at && held_at;

    if (there) {
        memcpy(item_at, l->rows.item_start, items);
        memcpy(held_at, l->held.start, blocks);
        for (uint64_t u = 0; u < l->users; u++)
            fill_user(l, task, u, item_at, held_at);
    }
    free(item_at);
    free(held_at);
    return there ? STRADS_OK : mf_no_memory("items", items + blocks);
}

strads_err mf_rows_build(strads_task *task)
{
    mf_local *l = task->local;
    mf_rows *r = &l->rows;
    const strads_sparse *x = &task->share->by_row;

    r->item_start = calloc((uint64_t)l->items + 1, sizeof(*r->item_start));
    l->held.start = calloc((uint64_t)l->blocks + 1, sizeof(*l->held.start));
    if (!r->item_start || !l->held.start)
        return mf_no_memory("items", 8ULL * l->items);
    mf_place_items(l);
    count(l, task);
    r->item_user = malloc(sizeof(*r->item_user) * (x->nnz + 1));
    r->item_value = malloc(sizeof(*r->item_value) * (x->nnz + 1));
    if (!r->item_user || !r->item_value || !room_for_factors(l) ||
        !room_for_row(l, x))
        return mf_no_memory("the ratings by item and all factors",
                            8 * x->nnz + 4 * l->stride * (l->users + l->items));
    strads_err err = mf_samples_alloc(&l->held, l->blocks);
    if (!err)
        err = fill(l, task);
    if (err)
        return err;
    mf_draw_users(l, task);
    return l->options.test ? mf_test_read(l, task->share) : STRADS_OK;
}
