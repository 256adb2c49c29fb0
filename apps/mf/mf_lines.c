/* A partition's training ratings for methods by rows, twice: by item, and by
 * user in place of the share's rows. 14 or 16 bytes for each rating.
 *
 * On disk, each block of items and each chunk of users is a block of the
 * scratch file, values first. While users come in order, a rating is added to
 * its block of items as SGD's are, with the last 16 bits of its user; l->cell
 * has the ends of ranges of 65,536 users. Then each block is sorted by item.
 * So the lines are those of a run in memory. */
#include "mf_parts.h"

#include <string.h>

enum { USER_BITS = 16, CHUNK_STEP = MF_CONJUGATE_ROWS };

void mf_lines_free(mf_rows *r)
{
    mf_side *side[] = {&r->by_item, &r->by_user};

    for (int k = 0; k < 2; k++) {
        free(side[k]->start);
        if (r->on_disk)
            continue;
        free(side[k]->value);
        free(side[k]->other);
        free(side[k]->narrow);
    }
    free(r->block_line);
    free(r->chunk_user);
}

/* ---- counting ---------------------------------------------------------- */

static strads_err allocate_counts(mf_local *l)
{
    mf_rows *r = &l->rows;
    uint64_t cells = 0;

    r->by_item.start = calloc((uint64_t)l->items + 1, sizeof(uint64_t));
    r->by_user.start = calloc(l->users + 1, sizeof(uint64_t));
    r->block_line = calloc((size_t)l->blocks + 1, sizeof(*r->block_line));
    l->first = calloc((size_t)l->blocks + 1, sizeof(*l->first));
    if (r->on_disk) {
        l->micro = USER_BITS;
        l->micros = (uint32_t)(l->users >> USER_BITS) + 1;
        cells = (uint64_t)l->blocks * (l->micros + 1);
        l->cell = calloc(cells + 1, sizeof(*l->cell));
    }
    return r->by_item.start && r->by_user.start && r->block_line && l->first &&
                   (!r->on_disk || l->cell)
               ? STRADS_OK
               : mf_no_memory("users, items and blocks",
                              8 * (l->users + l->items) + 4 * cells);
}

static uint32_t find_line(const mf_local *l, uint32_t item)
{
    return l->rows.block_line[l->item_block[item]] + l->item_at[item];
}

static void count_user(mf_local *l, const strads_task *task,
                       const mf_split *split, uint64_t u)
{
    mf_rows *r = &l->rows;
    const uint64_t n = mf_split_count(split, l, task, u);

    r->by_user.start[u + 1] = r->by_user.start[u] + n;
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t i = split->item[k];
        r->by_item.start[find_line(l, i) + 1]++;
        if (r->on_disk)
            l->cell[(uint64_t)l->item_block[i] * (l->micros + 1) +
                    (u >> USER_BITS) + 1]++;
    }
}

/* Makes counts of lines and cells ends, and finds where blocks begin. */
static void sum_counts(mf_local *l)
{
    mf_rows *r = &l->rows;

    for (uint32_t k = 0; k < l->items; k++)
        r->by_item.start[k + 1] += r->by_item.start[k];
    for (uint32_t b = 0; b < l->blocks; b++)
        l->first[b + 1] = r->by_item.start[r->block_line[b + 1]];
    for (uint32_t b = 0; b < l->blocks && r->on_disk; b++) {
        uint32_t *cell = l->cell + (uint64_t)b * (l->micros + 1);
        for (uint32_t m = 0; m < l->micros; m++)
            cell[m + 1] += cell[m];
    }
}

/* A chunk has at most as many ratings as the largest block, or is one step of
 * users. Conjugate gradients have the batches of a run in memory. A partition
 * without users has one empty chunk. */
static strads_err find_chunks(mf_local *l)
{
    mf_rows *r = &l->rows;
    const uint64_t *start = r->by_user.start;
    const uint64_t steps = (l->users + CHUNK_STEP - 1) / CHUNK_STEP;
    const uint64_t most_chunks = r->on_disk && steps > 0 ? steps : 1;
    uint64_t most = 0, from = 0;

    r->chunk_user = calloc(most_chunks + 1, sizeof(*r->chunk_user));
    if (!r->chunk_user)
        return mf_no_memory("chunks of users", 8 * most_chunks);
    for (uint32_t b = 0; b < l->blocks; b++)
        if (l->first[b + 1] - l->first[b] > most)
            most = l->first[b + 1] - l->first[b];
    for (uint64_t u = 0; u < l->users && r->on_disk; u += CHUNK_STEP) {
        const uint64_t end =
            u + CHUNK_STEP < l->users ? u + CHUNK_STEP : l->users;
        if (start[end] - start[from] > most && u > from) {
            r->chunk_user[++r->chunks] = u;
            from = u;
        }
    }
    r->chunk_user[++r->chunks] = l->users;
    return STRADS_OK;
}

strads_err mf_lines_count(mf_local *l, const strads_task *task,
                          const mf_split *split)
{
    mf_rows *r = &l->rows;
    uint64_t seen = 0;

    r->on_disk = l->options.scratch;
    const strads_err err = allocate_counts(l);
    if (err)
        return err;
    for (uint32_t b = 0; b < l->blocks; b++)
        r->block_line[b + 1] = r->block_line[b] + l->cut->block[b].n;
    for (uint64_t u = 0; u < l->users; u++) {
        mf_evict(task->share, &seen, u);
        count_user(l, task, split, u);
    }
    sum_counts(l);
    return find_chunks(l);
}

/* ---- ratings in memory or in a block on disk ----------------------------- */

/* Items of users have 16 bits if possible. */
static bool is_narrow(const mf_local *l)
{
    return l->items <= UINT16_MAX + 1 && !mf_conjugates(&l->options);
}

static uint64_t chunk_ratings(const mf_rows *r, uint32_t c)
{
    return r->by_user.start[r->chunk_user[c + 1]] -
           r->by_user.start[r->chunk_user[c]];
}

static uint64_t chunk_bytes(const mf_local *l, uint32_t c)
{
    const size_t other = is_narrow(l) ? sizeof(uint16_t) : sizeof(uint32_t);

    return (sizeof(float) + other) * chunk_ratings(&l->rows, c);
}

static strads_err allocate_side(mf_side *side, uint64_t n, bool narrow)
{
    side->value = malloc(sizeof(*side->value) * (n + 1));
    if (narrow)
        side->narrow = malloc(sizeof(*side->narrow) * (n + 1));
    else
        side->other = malloc(sizeof(*side->other) * (n + 1));
    return side->value && (side->narrow || side->other)
               ? STRADS_OK
               : mf_no_memory("the ratings", 8 * n);
}

static strads_err open_scratch(mf_local *l)
{
    const mf_rows *r = &l->rows;
    uint64_t *bytes = malloc(sizeof(*bytes) * ((size_t)r->chunks + 1));

    if (!bytes)
        return mf_no_memory("chunks of users", 8ULL * r->chunks);
    for (uint32_t c = 0; c < r->chunks; c++)
        bytes[c] = chunk_bytes(l, c);
    const strads_err err = mf_scratch_open(l, r->chunks, bytes);
    free(bytes);
    return err;
}

static strads_err allocate_ratings(mf_local *l)
{
    mf_rows *r = &l->rows;
    const uint64_t n = r->by_user.start[l->users];

    if (r->on_disk)
        return open_scratch(l);
    const strads_err err = allocate_side(&r->by_item, n, false);
    return err ? err : allocate_side(&r->by_user, n, is_narrow(l));
}

/* Sets a side to a block of the file with n ratings from `first` on. */
static strads_err take_side(mf_local *l, mf_side *side, uint32_t file_block,
                            uint64_t first, uint64_t n)
{
    void *bytes = NULL;
    const strads_err err = mf_scratch_take(l->scratch, file_block, &bytes);

    if (err)
        return err;
    side->first = first;
    side->value = bytes;
    if (side == &l->rows.by_user && is_narrow(l))
        side->narrow = (uint16_t *)(void *)(side->value + n);
    else
        side->other = (uint32_t *)(void *)(side->value + n);
    return STRADS_OK;
}

strads_err mf_lines_take_block(mf_local *l, uint32_t b)
{
    mf_rows *r = &l->rows;

    return r->on_disk ? take_side(l, &r->by_item, b, l->first[b],
                                  l->first[b + 1] - l->first[b])
                      : STRADS_OK;
}

strads_err mf_lines_take_chunk(mf_local *l, uint32_t c)
{
    mf_rows *r = &l->rows;

    return r->on_disk ? take_side(l, &r->by_user, l->blocks + c,
                                  r->by_user.start[r->chunk_user[c]],
                                  chunk_ratings(r, c))
                      : STRADS_OK;
}

/* ---- filling ----------------------------------------------------------- */

/* Users come in order, so the users of each item do, too. at[line]: position
 * of the item's next rating, if it is in memory. */
static strads_err fill_user(mf_local *l, const strads_task *task,
                            mf_split *split, uint64_t u, uint64_t *at)
{
    mf_side *users = &l->rows.by_user, *items = &l->rows.by_item;
    const uint64_t n = mf_split_take(split, l, task, u);
    const uint64_t first = users->start[u] - users->first;
    const float times =
        mf_conjugates(&l->options) ? (float)l->options.alpha : 1;
    strads_err err = STRADS_OK;

    for (uint64_t k = 0; k < n && !err; k++) {
        const uint32_t i = split->item[k];
        const float value = split->left[k] * times;
        users->value[first + k] = value;
        if (users->narrow)
            users->narrow[first + k] = (uint16_t)i;
        else
            users->other[first + k] = i;
        if (l->rows.on_disk) {
            err = mf_scratch_add(l->scratch, l->item_block[i],
                                 (mf_rating){(uint16_t)u,
                                             (uint16_t)l->item_at[i], value});
            continue;
        }
        const uint64_t to = at[find_line(l, i)]++;
        items->value[to] = value;
        items->other[to] = (uint32_t)u;
    }
    return err;
}

static strads_err fill_users(mf_local *l, const strads_task *task,
                             mf_split *split, uint64_t *at)
{
    const mf_rows *r = &l->rows;
    strads_err err = STRADS_OK;
    uint64_t spent = 0;

    for (uint32_t c = 0; c < r->chunks && !err; c++) {
        const uint64_t end = r->chunk_user[c + 1];
        err = mf_lines_take_chunk(l, c);
        for (uint64_t u = r->chunk_user[c]; u < end && !err; u++) {
            err = fill_user(l, task, split, u, at);
            spent = mf_spend(task->share, spent, u + 1);
        }
        if (!err && r->on_disk)
            mf_scratch_changed(l->scratch, chunk_bytes(l, c));
    }
    return err;
}

/* Sorts the ratings of block b by item, from a copy of them. at[line]: as
 * fill_user. */
static void sort_block(mf_local *l, uint32_t b, const mf_rating *copy,
                       uint64_t *at)
{
    const mf_side *side = &l->rows.by_item;
    const uint32_t *cell = l->cell + (uint64_t)b * (l->micros + 1);
    const uint32_t line = l->rows.block_line[b];

    for (uint32_t m = 0; m < l->micros; m++)
        for (uint32_t k = cell[m]; k < cell[m + 1]; k++) {
            const uint64_t to = at[line + copy[k].item]++ - side->first;
            side->value[to] = copy[k].value;
            side->other[to] = m << USER_BITS | copy[k].user;
        }
}

static strads_err sort_blocks(mf_local *l, uint64_t *at)
{
    uint64_t most = 0;
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < l->blocks; b++)
        if (l->first[b + 1] - l->first[b] > most)
            most = l->first[b + 1] - l->first[b];
    mf_rating *copy = malloc(sizeof(*copy) * (most + 1));
    if (!copy)
        return mf_no_memory("a block's ratings", sizeof(*copy) * most);
    for (uint32_t b = 0; b < l->blocks && !err; b++) {
        const size_t bytes = sizeof(*copy) * (l->first[b + 1] - l->first[b]);
        err = mf_lines_take_block(l, b);
        if (err)
            break;
        memcpy(copy, l->rows.by_item.value, bytes);
        sort_block(l, b, copy, at);
        mf_scratch_changed(l->scratch, bytes);
    }
    free(copy);
    return err;
}

strads_err mf_lines_fill(mf_local *l, const strads_task *task, mf_split *split)
{
    const size_t bytes = sizeof(uint64_t) * ((size_t)l->items + 1);
    uint64_t *at = malloc(bytes);

    if (!at)
        return mf_no_memory("items", bytes);
    memcpy(at, l->rows.by_item.start, bytes);
    strads_err err = allocate_ratings(l);
    if (!err)
        err = fill_users(l, task, split, at);
    if (!err && l->rows.on_disk)
        err = mf_scratch_added(l->scratch, l->blocks);
    if (!err && l->rows.on_disk)
        err = sort_blocks(l, at);
    free(at);
    return err;
}
