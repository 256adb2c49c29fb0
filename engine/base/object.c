/* Buffers: the counted bytes that messages carry. Owns nothing but what it
 * hands out. */
#include "engine/base/object.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/spare_memory.h"

static void buffer_destroy(sti_object *object)
{
    sti_buffer *buffer = (sti_buffer *)object;
    if (buffer->backing)
        sti_object_drop(buffer->backing);
    else
        sti_spare_give(buffer->bytes, buffer->room);
    free(buffer);
}

static strads_err no_memory(size_t size)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for a buffer of %zu bytes; use fewer or "
                       "smaller partitions",
                       size);
}

strads_err sti_buffer_new(size_t size, sti_buffer **out)
{
    sti_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return no_memory(size);
    sti_object_init(&buffer->head, buffer_destroy);
    strads_err err = sti_buffer_resize(buffer, size);
    if (err) {
        free(buffer);
        return err;
    }
    *out = buffer;
    return STRADS_OK;
}

strads_err sti_buffer_over(sti_object *backing, void *bytes, size_t size,
                           sti_buffer **out)
{
    sti_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return no_memory(sizeof *buffer);
    sti_object_init(&buffer->head, buffer_destroy);
    buffer->size = buffer->room = size;
    buffer->bytes = bytes;
    buffer->backing = sti_object_keep(backing);
    *out = buffer;
    return STRADS_OK;
}

strads_err sti_buffer_resize(sti_buffer *buffer, size_t size)
{
    if (size > buffer->room || !buffer->bytes) {
        size_t more = buffer->room + buffer->room / 2, room;
        unsigned char *bytes = sti_spare_take(size > more ? size : more, &room);
        if (!bytes)
            return no_memory(size);
        if (buffer->size)
            memcpy(bytes, buffer->bytes, buffer->size);
        sti_spare_give(buffer->bytes, buffer->room);
        buffer->bytes = bytes;
        buffer->room = room;
    }
    buffer->size = size;
    return STRADS_OK;
}
