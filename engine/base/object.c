/* Buffers: the counted bytes that messages carry. Owns nothing but what it
 * hands out. */
#include "engine/base/object.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/spare_memory.h"

/* Few bytes lie behind their buffer, in the same allocation: most messages
 * are small. It is aligned here: malloc has small pieces at hand, for
 * aligned_alloc the C library looks for some. */
enum { ALIGN = 64, NEAR_BYTES = 448 };

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
    sti_buffer *buffer = malloc(sizeof *buffer + ALIGN - 1 + room);
    if (!buffer)
        return NULL;
    const uintptr_t behind = (uintptr_t)(buffer + 1);
    *buffer = (sti_buffer){.size = size,
                           .room = room,
                           .bytes = (unsigned char *)(buffer + 1) +
                                    (ALIGN - behind % ALIGN) % ALIGN,
                           .near = true};
    return buffer;
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
    sti_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return no_memory(sizeof *buffer);
    *buffer = (sti_buffer){.size = size,
                           .room = size,
                           .bytes = bytes,
                           .backing = sti_object_keep(backing)};
    sti_object_init(&buffer->head, buffer_destroy);
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

strads_err sti_buffer_own(sti_buffer *buffer)
{
    const size_t before = buffer->size;
    if (!buffer->rest_bytes)
        return STRADS_OK;
    strads_err err = sti_buffer_resize(buffer, sti_buffer_whole(buffer));
    if (err)
        return err;
    memcpy(buffer->bytes + before, buffer->rest, buffer->rest_bytes);
    buffer->rest = NULL;
    buffer->rest_bytes = 0;
    return STRADS_OK;
}

strads_err sti_buffer_copy(const sti_buffer *buffer, sti_buffer **out)
{
    strads_err err = sti_buffer_new(sti_buffer_whole(buffer), out);
    if (err)
        return err;
    memcpy((*out)->bytes, buffer->bytes, buffer->size);
    if (buffer->rest_bytes)
        memcpy((*out)->bytes + buffer->size, buffer->rest, buffer->rest_bytes);
    return STRADS_OK;
}
