/* Lists of blocks as items of a payload. A block that was read points into the
 * payload. */
#include "engine/round/block_codec.h"

#include <stdlib.h>

void sti_put_block(sti_writer *w, const strads_block *block)
{
    sti_write_u64(w, block->id);
    sti_write_u32(w, block->n);
    sti_write_u32(w, block->first);
    sti_write_u32(w, block->owner);
    sti_write_u32(w, block->param != NULL);
    if (block->param)
        sti_write_u32s(w, block->param, block->n);
}

void sti_put_blocks(sti_writer *w, uint32_t n, const strads_block *blocks)
{
    sti_write_u32(w, n);
    for (uint32_t k = 0; k < n; k++)
        sti_put_block(w, &blocks[k]);
}

strads_err sti_refuse(const char *what)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a message with %s: it runs another version "
                       "or other options",
                       what);
}

static strads_err check_block(const sti_run *run, const strads_block *block)
{
    uint64_t parameters = run->shape.parameters;
    if (block->owner >= run->partitions)
        return sti_refuse("a block for a partition that is not there");
    if (!block->param && (uint64_t)block->first + block->n > parameters)
        return sti_refuse("a block of parameters that are not there");
    for (uint32_t k = 0; block->param && k < block->n; k++)
        if (block->param[k] >= parameters)
            return sti_refuse("a parameter that is not there");
    return STRADS_OK;
}

strads_err sti_get_block(const sti_run *run, sti_reader *r, strads_block *block)
{
    *block = (strads_block){.id = sti_read_u64(r)};
    block->n = sti_read_u32(r);
    block->first = sti_read_u32(r);
    block->owner = sti_read_u32(r);
    if (sti_read_u32(r)) {
        uint64_t count;
        block->param = sti_read_u32s(r, &count);
        if (!r->err && count != block->n)
            return sti_refuse("a block of another size than its parameters");
    }
    return r->err ? r->err : check_block(run, block);
}

/* At most as many as the payload could hold, so that a number alone cannot
 * make us allocate. */
strads_err sti_get_blocks(const sti_run *run, sti_reader *r, uint32_t *n,
                          strads_block **out)
{
    enum { LEAST = 24 };
    *n = sti_read_u32(r);
    if (r->err)
        return r->err;
    if (*n > (r->size - r->at) / LEAST)
        return sti_refuse("more blocks than it holds");
    strads_block *blocks = malloc(sizeof *blocks * (*n + 1));
    if (!blocks)
        return strads_fail(STRADS_ENOMEM, "no memory for a dispatch");
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < *n && !err; k++)
        err = sti_get_block(run, r, &blocks[k]);
    if (err)
        free(blocks);
    else
        *out = blocks;
    return err;
}
