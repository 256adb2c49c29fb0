/* The object that travels with a block: the factors of its items, and between
 * the partitions of a lap of mf_rows.c their equations. */
#include <math.h>
#include <string.h>

#include "mf_parts.h"

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

/* Items without a rating stay at 0. */
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

/* Counts first: they tell what follows. */
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
        return strads_fail(STRADS_EFORMAT, "a block of items has no head");
    memcpy(head, bytes, sizeof(head));
    const char *at = (const char *)bytes + sizeof(head);
    const uint64_t room = (size - sizeof(head)) / sizeof(float);
    if (head[0] > room || head[1] != room - head[0])
        return strads_fail(STRADS_EFORMAT,
                           "a block of items has another length than it says");
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

/* p'q gets deviation 0.1. A row names its stream; two factors come from 64 of
 * its bits, since all rows together want many of them. */
void mf_draw(const strads_mf_options *o, uint64_t seed, uint64_t purpose,
             uint64_t row, float *out)
{
    const float most = (float)sqrt(.3 / sqrt(o->rank));
    uint64_t stream = strads_random_bits(seed, purpose, row, 0), bits = 0;

    for (uint32_t k = 0; k < o->rank; k++) {
        bits = k % 2 ? bits << 32 : mf_next_bits(&stream);
        const float x = 0x1p-23F * (float)(bits >> 40) - 1;
        out[k] = most * (o->nonnegative ? fabsf(x) : x);
    }
}
