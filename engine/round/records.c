/* Records in a buffer: a header of 16 bytes, the partial rounded up to 8, the
 * values. Every record starts at a multiple of 8. */
#include "engine/round/records.h"

#include <string.h>

typedef struct header {
    uint32_t block;
    uint32_t n_values;
    uint64_t partial_bytes;
} header;

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

strads_err sti_records_append(sti_buffer *buffer, uint32_t block,
                              size_t partial_bytes, uint32_t n_values,
                              sti_record *out)
{
    size_t at = buffer->size;
    size_t body = padded(partial_bytes) + sizeof(double) * n_values;
    strads_err err = sti_buffer_resize(buffer, at + sizeof(header) + body);
    if (err)
        return err;
    header h = {block, n_values, partial_bytes};
    memcpy(buffer->bytes + at, &h, sizeof h);
    unsigned char *partial = buffer->bytes + at + sizeof h;
    memset(partial, 0, body);
    *out = (sti_record){
        .block = block,
        .n_values = n_values,
        .partial_bytes = partial_bytes,
        .partial = (double *)(void *)partial,
        .values = (double *)(void *)(partial + padded(partial_bytes)),
    };
    return STRADS_OK;
}

void sti_records_shrink(sti_buffer *buffer, const sti_record *last,
                        size_t partial_bytes)
{
    unsigned char *partial = (unsigned char *)last->partial;
    header h = {last->block, 0, partial_bytes};
    memcpy(partial - sizeof h, &h, sizeof h);
    buffer->size = (size_t)(partial - buffer->bytes) + padded(partial_bytes);
}

bool sti_records_next(const sti_buffer *buffer, size_t *at, sti_record *out,
                      strads_err *err)
{
    *err = STRADS_OK;
    size_t left = buffer->size - *at;
    if (left == 0)
        return false;
    header h;
    if (left < sizeof h)
        goto fail;
    memcpy(&h, buffer->bytes + *at, sizeof h);
    left -= sizeof h;
    size_t values = sizeof(double) * h.n_values;
    if (h.partial_bytes > left || padded(h.partial_bytes) > left ||
        values > left - padded(h.partial_bytes))
        goto fail;
    unsigned char *partial = buffer->bytes + *at + sizeof h;
    *out = (sti_record){
        .block = h.block,
        .n_values = h.n_values,
        .partial_bytes = h.partial_bytes,
        .partial = (double *)(void *)partial,
        .values = (double *)(void *)(partial + padded(h.partial_bytes)),
    };
    *at += sizeof h + padded(h.partial_bytes) + values;
    return true;
fail:
    *err = strads_fail(STRADS_EPEER,
                       "a node sent records that end in the middle: it runs "
                       "another version or is broken");
    return false;
}
