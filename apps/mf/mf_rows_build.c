/* What solving by row needs before its first sweep: the ratings by item and by
 * user, which replace the share's, and room for one row. */
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
static bool room_for_row(mf_local *l, uint64_t most)
{
    mf_rows *r = &l->rows;

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
    free(r->user_start);
    free(r->user_item);
    free(r->user_item_wide);
    free(r->user_value);
    free(r->q);
    free(r->gram);
    free(r->index);
    free(r->target);
    free(r->weight);
    free(r->error);
    mf_room_close(&r->room);
    free(r->items_gram);
    *r = (mf_rows){0};
}

/* ---- ratings by item and by user --------------------------------------- */

static void count(mf_local *l, const strads_task *task, const mf_split *split)
{
    mf_rows *r = &l->rows;

    for (uint64_t u = 0; u < l->users; u++) {
        const uint64_t n = mf_split_count(split, l, task, u);
        r->user_start[u + 1] = r->user_start[u] + n;
        for (uint64_t k = 0; k < n; k++)
            r->item_start[split->item[k] + 1]++;
    }
    for (uint32_t i = 0; i < l->items; i++)
        r->item_start[i + 1] += r->item_start[i];
}

/* Users come in order, so each item's do. */
static void fill_user(mf_local *l, const strads_task *task, mf_split *split,
                      uint64_t u, uint64_t *item_at)
{
    mf_rows *r = &l->rows;
    const uint64_t n = mf_split_take(split, l, task, u);
    const uint64_t first = r->user_start[u];

    for (uint64_t k = 0; k < n; k++) {
        const uint32_t i = split->item[k];
        const uint64_t at = item_at[i]++;
        r->item_user[at] = (uint32_t)u;
        r->item_value[at] = split->left[k];
        if (r->user_item)
            r->user_item[first + k] = (uint16_t)i;
        else
            r->user_item_wide[first + k] = i;
    }
    memcpy(r->user_value + first, split->left, sizeof(float) * n);
}

static strads_err fill(mf_local *l, const strads_task *task, mf_split *split)
{
    const size_t bytes = sizeof(uint64_t) * (l->items + 1);
    uint64_t *item_at = malloc(bytes), spent = 0;

    if (!item_at)
        return mf_no_memory("items", bytes);
    memcpy(item_at, l->rows.item_start, bytes);
    for (uint64_t u = 0; u < l->users; u++) {
        fill_user(l, task, split, u, item_at);
        spent = mf_spend(task->share, spent, u + 1);
    }
    free(item_at);
    return STRADS_OK;
}

static bool room_for_ratings(mf_local *l)
{
    mf_rows *r = &l->rows;
    const uint64_t n = r->user_start[l->users];

    r->item_user = malloc(sizeof(*r->item_user) * (n + 1));
    r->item_value = malloc(sizeof(*r->item_value) * (n + 1));
    r->user_value = malloc(sizeof(*r->user_value) * (n + 1));
    if (l->items <= UINT16_MAX + 1)
        r->user_item = malloc(sizeof(*r->user_item) * (n + 1));
    else
        r->user_item_wide = malloc(sizeof(*r->user_item_wide) * (n + 1));
    return r->item_user && r->item_value && r->user_value &&
           (r->user_item || r->user_item_wide);
}

static strads_err lay_out(mf_local *l, const strads_task *task, mf_split *split)
{
    mf_rows *r = &l->rows;

    r->item_start = calloc((uint64_t)l->items + 1, sizeof(*r->item_start));
    r->user_start = calloc(l->users + 1, sizeof(*r->user_start));
    if (!r->item_start || !r->user_start)
        return mf_no_memory("users and items", 8 * (l->users + l->items));
    count(l, task, split);
    if (!room_for_ratings(l) || !room_for_factors(l) ||
        !room_for_row(l, split->most))
        return mf_no_memory("the ratings, twice, and all factors",
                            16 * r->user_start[l->users] +
                                4 * l->stride * (l->users + l->items));
    const strads_err err = mf_split_counted(split, l);
    return err ? err : fill(l, task, split);
}

strads_err mf_rows_build(strads_task *task)
{
    mf_local *l = task->local;
    mf_split split = {0};
    strads_err err = mf_split_open(l, task, &split);

    if (!err)
        err = lay_out(l, task, &split);
    mf_split_close(&split);
    if (err)
        return err;
    mf_draw_users(l, task);
    return STRADS_OK;
}
