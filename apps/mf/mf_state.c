/* Memory of a partition and of the coordinator. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

strads_err mf_no_memory(const char *what, uint64_t bytes)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s need %llu bytes, which are not available", what,
                       (unsigned long long)bytes);
}

float *mf_floats(uint64_t n)
{
    const uint64_t bytes = (n * sizeof(float) + MF_ALIGN) / MF_ALIGN * MF_ALIGN;
    float *x = aligned_alloc(MF_ALIGN, bytes);

    return x ? memset(x, 0, bytes) : NULL;
}

void *mf_large(uint64_t bytes)
{
    enum { PAGE = 2 << 20, LEAST = PAGE / 8 };
    const uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE;

    if (bytes < LEAST)
        return aligned_alloc(MF_ALIGN,
                             (bytes + MF_ALIGN) / MF_ALIGN * MF_ALIGN);
    void *x = aligned_alloc(PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (x)
        (void)madvise(x, whole, MADV_HUGEPAGE); /* small pages work, too */
#endif
    return x;
}

float *mf_large_floats(uint64_t n)
{
    float *x = mf_large(n * sizeof(float));

    return x ? memset(x, 0, n * sizeof(float)) : NULL;
}

/* ---- a partition ------------------------------------------------------- */

static mf_step_schedule steps_of(const strads_mf_options *o)
{
    return (mf_step_schedule){.first_step = o->step,
                              .fixed_lambda = o->lambda,
                              .sweeps = o->sweeps,
                              .descends = mf_by_rows(o) || mf_by_ranks(o),
                              .drawn = mf_by_pairs(o),
                              .stop_after = o->stop_after,
                              .lifts = o->nonnegative && !o->no_biases &&
                                       mf_rank(o) > 0,
                              .patience = o->patience};
}

static bool allocate_local(mf_local *l)
{
    l->item_bias = calloc(l->items + 1, sizeof(*l->item_bias));
    l->user_bias = calloc(l->users + 1, sizeof(*l->user_bias));
    l->item_n = calloc(l->items + 1, sizeof(*l->item_n));
    l->item_block = malloc(sizeof(*l->item_block) * (l->items + 1));
    l->item_at = malloc(sizeof(*l->item_at) * (l->items + 1));
    l->q_good = calloc(l->blocks + 1, sizeof(*l->q_good));
    l->best.block = calloc(l->blocks + 1, sizeof(*l->best.block));
    return l->item_bias && l->user_bias && l->item_n && l->item_block &&
           l->item_at && l->q_good && l->best.block;
}

strads_err mf_open(const strads_task *task, void **local)
{
    mf_local *l = calloc(1, sizeof(*l));

    if (!l)
        return mf_no_memory("a partition", sizeof(*l));
    strads_err err = mf_options_resolve(task->config, &l->options);
    l->stride = mf_stride(mf_rank(&l->options));
    l->users = task->share->rows.end - task->share->rows.begin;
    l->items = (uint32_t)task->shape->cols;
    l->blocks = task->shape->blocks;
    l->steps = steps_of(&l->options);
    l->damping = mf_damping_first;
    l->kernel = l->stride ? mf_kernel_choose(l->stride) : NULL;
    if (!err && !allocate_local(l))
        err = mf_no_memory("biases", 24ULL * l->items + 4 * l->users);
    if (err) {
        mf_close(l);
        return err;
    }
    *local = l;
    return STRADS_OK;
}

strads_err mf_best_keep(mf_local *l, const float *q)
{
    mf_best *best = &l->best;
    const uint64_t users = l->users * l->stride;
    const uint64_t items = (uint64_t)l->items * l->stride;

    if (isnan(l->steps.held) || !l->steps.is_best)
        return STRADS_OK;
    if (!best->p)
        best->p = mf_large_floats(users);
    if (!best->q)
        best->q = mf_large_floats(items);
    if (!best->p || !best->q)
        return mf_no_memory("the best sweep's factors", 4 * (users + items));
    memcpy(best->p, l->p, sizeof(float) * users);
    memcpy(best->q, q, sizeof(float) * items);
    return STRADS_OK;
}

const float *mf_best_items(const mf_local *l, const strads_task *task,
                           uint32_t k)
{
    const mf_items *items = task->object;
    const float *block = l->best.block[task->block.id];

    if (l->best.q)
        return l->best.q +
               (size_t)strads_block_param(&task->block, k) * l->stride;
    return (block ? block : items->q) + (size_t)k * l->stride;
}

void mf_forget_ratings(mf_local *l)
{
    if (l->best.p) {
        free(l->p);
        l->p = l->best.p;
        l->best.p = NULL;
    }
    free(l->rating);
    free(l->p_good);
    mf_scratch_free(l->scratch);
    l->rating = NULL;
    l->scratch = NULL;
    l->p_good = NULL;
    mf_rows_free(&l->rows);
    mf_ranks_free(&l->ranks);
    mf_pairs_free(&l->pairs);
}

void mf_close(void *local)
{
    mf_local *l = local;

    for (uint32_t b = 0; l->q_good && b < l->blocks; b++)
        free(l->q_good[b]);
    for (uint32_t b = 0; l->best.block && b < l->blocks; b++)
        free(l->best.block[b]);
    free(l->q_good);
    free(l->best.block);
    free(l->best.q);
    mf_forget_ratings(l);
    free(l->p);
    free(l->order);
    free(l->cell);
    free(l->paired);
    free(l->first);
    free(l->held.start);
    free(l->held.sample);
    free(l->test.start);
    free(l->test.sample);
    free(l->item_block);
    free(l->item_at);
    free(l->item_n);
    free(l->item_bias);
    free(l->user_bias);
    free(l->held_after);
    strads_cut_free(l->cut);
    free(l);
}

/* ---- the coordinator --------------------------------------------------- */

strads_err mf_begin(const void *config, const strads_data *data,
                    const strads_shape *shape, void **state)
{
    mf_state *s = calloc(1, sizeof(*s));

    (void)data;
    if (!s)
        return mf_no_memory("the state", sizeof(*s));
    strads_err err = mf_options_resolve(config, &s->options);
    const uint64_t each = mf_piece_users(mf_rank(&s->options));
    s->users = shape->rows;
    s->items = (uint32_t)shape->cols;
    s->blocks = shape->blocks;
    s->partitions = shape->partitions;
    s->pieces = (uint32_t)((s->users + each - 1) / each);
    s->steps = steps_of(&s->options);
    s->damping = mf_damping_first;
    if (err) {
        mf_end(s);
        return err;
    }
    *state = s;
    return STRADS_OK;
}

void mf_end(void *state)
{
    mf_state *s = state;

    strads_cut_free(s->cut);
    free(s->user);
    free(s->item_n);
    free(s);
}

/* ---- objects that travel ------------------------------------------------- */

/* The object of a block: its items' factors and, during a pass of mf_rows.c,
 * their equations. */

static strads_err items_new(uint64_t floats, mf_items **out)
{
    mf_items *items = calloc(1, sizeof(*items));

    if (items)
        items->q = mf_large_floats(floats);
    if (!items || !items->q) {
        free(items);
        return mf_no_memory("items' factors", 4 * floats);
    }
    items->floats = floats;
    *out = items;
    return STRADS_OK;
}

/* The factors of items without ratings stay 0. */
static strads_err items_open(strads_task *task, void **object)
{
    const mf_local *l = task->local;
    mf_items *items = NULL;
    strads_err err = items_new((uint64_t)task->block.n * l->stride, &items);

    for (uint32_t k = 0; k < task->block.n && !err; k++) {
        const uint32_t i = strads_block_param(&task->block, k);
        if (l->item_n[i] > 0)
            mf_draw(&l->options, task->seed, MF_DRAW_ITEM, i,
                    items->q + (size_t)k * l->stride);
    }
    *object = items;
    return err;
}

static void items_close(void *object)
{
    mf_items *items = object;

    free(items->q);
    free(items->system);
    free(items);
}

/* Packs the lengths first, because unpacking needs them. */
static strads_err items_pack(const void *object, strads_bytes *out)
{
    const mf_items *items = object;
    const uint64_t head[] = {items->floats, items->system_floats, items->slab};
    strads_err err = strads_bytes_append(out, head, sizeof(head));

    if (!err)
        err = strads_bytes_append(out, items->q, sizeof(float) * items->floats);
    if (!err && items->system)
        err = strads_bytes_append(out, items->system,
                                  sizeof(float) * items->system_floats);
    return err;
}

static strads_err items_unpack(const void *bytes, size_t size, void **object)
{
    uint64_t head[3];
    mf_items *items = NULL;

    if (size < sizeof(head))
        return strads_fail(STRADS_EFORMAT, "a block of items has no header");
    memcpy(head, bytes, sizeof(head));
    const char *at = (const char *)bytes + sizeof(head);
    const uint64_t capacity = (size - sizeof(head)) / sizeof(float);
    if (head[0] > capacity || head[1] != capacity - head[0])
        return strads_fail(
            STRADS_EFORMAT,
            "a block of items has another length than its header gives");
    strads_err err = items_new(head[0], &items);
    if (err)
        return err;
    memcpy(items->q, at, sizeof(float) * head[0]);
    items->slab = (uint32_t)head[2];
    err = head[1] ? mf_items_equations(items, head[1]) : STRADS_OK;
    if (err) {
        items_close(items);
        return err;
    }
    if (items->system)
        memcpy(items->system, at + sizeof(float) * head[0],
               sizeof(float) * head[1]);
    *object = items;
    return STRADS_OK;
}

strads_err mf_items_equations(mf_items *items, uint64_t floats)
{
    items->system = mf_floats(floats);
    if (!items->system)
        return mf_no_memory("items' equations", 4 * floats);
    items->system_floats = floats;
    return STRADS_OK;
}

const strads_payload mf_payload = {.open = items_open,
                                   .close = items_close,
                                   .pack = items_pack,
                                   .unpack = items_unpack};

/* p'q gets standard deviation 0.1. Each row has its own stream. Two factors use
 * 64 bits of it, because all rows together need many bits. */
void mf_draw(const strads_mf_options *o, uint64_t seed, uint64_t purpose,
             uint64_t row, float *out)
{
    const uint32_t rank = mf_rank(o);
    const float most = rank ? (float)sqrt(.3 / sqrt(rank)) : 0;
    uint64_t stream = strads_random_bits(seed, purpose, row, 0), bits = 0;

    for (uint32_t k = 0; k < rank; k++) {
        bits = k % 2 ? bits << 32 : mf_next_bits(&stream);
        const float x = 0x1p-23F * (float)(bits >> 40) - 1;
        out[k] = most * (o->nonnegative ? fabsf(x) : x);
    }
}
