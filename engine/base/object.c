/* Buffers: the counted bytes that messages carry. Owns nothing but what it
 * hands out. */
#include "engine/base/object.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/spare_memory.h"

/* Few bytes lie behind their buffer, in the same allocation: most messages
 * are small. */
enum { ALIGN = 64, NEAR_BYTES = 448 };

typedef struct near_buffer {
    sti_buffer head;
    _Alignas(ALIGN) unsigned char bytes[];
} near_buffer;

static void give_bytes(sti_buffer *buffer)
{
    if (buffer->backing)
        sti_object_drop(buffer->backing);
    else if (!buffer->near)
        sti_spare_give(buffer->bytes, buffer->room);
}

static void buffer_destroy(sti_object *object)
{
    sti_buffer *buffer = (sti_buffer *)object;
    give_bytes(buffer);
    free(buffer);
}

static strads_err no_memory(size_t size)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for a buffer of %zu bytes; use fewer or "
                       "smaller partitions",
                       size);
}

static sti_buffer *new_near(size_t size)
{
    const size_t room = (size + ALIGN - 1) / ALIGN * ALIGN;
    near_buffer *buffer = aligned_alloc(ALIGN, sizeof *buffer + room);
    if (!buffer)
        return NULL;
    buffer->head = (sti_buffer){.size = size,
                                .room = room,
                                .bytes = buffer->bytes,
                                .near = true};
    return &buffer->head;
}

strads_err sti_buffer_new(size_t size, sti_buffer **out)
{
    const bool near = size > 0 && size <= NEAR_BYTES;
    sti_buffer *buffer = near ? new_near(size) : calloc(1, sizeof *buffer);
    if (!buffer)
        return no_memory(size);
    sti_object_init(&buffer->head, buffer_destroy);
    strads_err err = near ? STRADS_OK : sti_buffer_resize(buffer, size);
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
        give_bytes(buffer);
        buffer->near = false;
        buffer->backing = NULL;
        buffer->bytes = bytes;
        buffer->room = room;
    }
    buffer->size = size;
    return STRADS_OK;
}
