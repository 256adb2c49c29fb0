/* Buffers, and the pool that supplies their large blocks. Fresh memory costs a
 * page fault every 4 KB, more than copying the content does. The pool is a
 * stack, because the last block returned is still in the processor's cache.
 * Invariant: pooled_bytes is the sum of the capacities in `pooled`. */
#include "engine/base/object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A small buffer's bytes follow its header in the same allocation, because most
 * messages are small. This file aligns them itself: aligned_alloc searches the
 * heap, malloc has small blocks ready. */
enum { ALIGN = 64, SMALL_BYTES = 448 };

enum {
    /* sizes are multiples of it; smaller blocks are not pooled */
    GRAIN = 1 << 16,
    LARGEST = 4 << 20, /* larger blocks are not pooled */
    POOL_BLOCKS = 128,
    POOL_BYTES = 32 << 20
};

typedef struct pool_block {
    void *memory;
    size_t capacity;
} pool_block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pool_block pooled[POOL_BLOCKS];
static unsigned n_pooled;
static size_t pooled_bytes;

/* A sanitizer must see uses of a block after its return. */
static bool is_pooled(size_t capacity)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)capacity;
    return false;
#else
    return capacity >= GRAIN && capacity <= LARGEST;
#endif
}

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* Takes a block that fits and has at most twice the size. */
static void *take_pooled(size_t size, size_t *capacity)
{
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned k = n_pooled; k-- > 0 && !found;) {
        if (pooled[k].capacity < size || pooled[k].capacity > 2 * size)
            continue;
        found = pooled[k].memory;
        *capacity = pooled[k].capacity;
        pooled_bytes -= *capacity;
        n_pooled--;
        for (unsigned i = k; i < n_pooled; i++)
            pooled[i] = pooled[i + 1];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void *sti_buffer_pool_take(size_t size, size_t *capacity)
{
    if (size > (size_t)-1 / 2)
        return NULL;
    *capacity = size < GRAIN ? round_up(size ? size : 1, ALIGN)
                             : round_up(size, size <= LARGEST ? GRAIN : ALIGN);
    void *found =
        is_pooled(*capacity) ? take_pooled(*capacity, capacity) : NULL;
    return found ? found : aligned_alloc(ALIGN, *capacity);
}

void sti_buffer_pool_give(void *memory, size_t capacity)
{
    bool kept = false;
    if (memory && is_pooled(capacity)) {
        pthread_mutex_lock(&lock);
        kept = n_pooled < POOL_BLOCKS && pooled_bytes + capacity <= POOL_BYTES;
        if (kept) {
            pooled[n_pooled++] = (pool_block){memory, capacity};
            pooled_bytes += capacity;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!kept)
        free(memory);
}

static void give_bytes(sti_buffer *buffer)
{
    if (buffer->backing)
        sti_object_drop(buffer->backing);
    else if (!buffer->embedded)
        sti_buffer_pool_give(buffer->bytes, buffer->capacity);
}

static void buffer_destroy(sti_object *object)
{
    sti_buffer *buffer = (sti_buffer *)object;
    give_bytes(buffer);
    free(buffer);
}

static strads_err no_buffer_memory(size_t size)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for a buffer of %zu bytes; use fewer or "
                       "smaller partitions",
                       size);
}

static sti_buffer *new_small(size_t size)
{
    const size_t capacity = (size + ALIGN - 1) / ALIGN * ALIGN;
    sti_buffer *buffer = malloc(sizeof *buffer + ALIGN - 1 + capacity);
    if (!buffer)
        return NULL;
    const uintptr_t behind = (uintptr_t)(buffer + 1);
    *buffer = (sti_buffer){.size = size,
                           .capacity = capacity,
                           .bytes = (unsigned char *)(buffer + 1) +
                                    (ALIGN - behind % ALIGN) % ALIGN,
                           .embedded = true};
    return buffer;
}

strads_err sti_buffer_new(size_t size, sti_buffer **out)
{
    const bool small = size > 0 && size <= SMALL_BYTES;
    sti_buffer *buffer = small ? new_small(size) : calloc(1, sizeof *buffer);
    if (!buffer)
        return no_buffer_memory(size);
    sti_object_init(&buffer->head, buffer_destroy);
    strads_err err = small ? STRADS_OK : sti_buffer_resize(buffer, size);
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
        return no_buffer_memory(sizeof *buffer);
    *buffer = (sti_buffer){.size = size,
                           .capacity = size,
                           .bytes = bytes,
                           .backing = sti_object_keep(backing)};
    sti_object_init(&buffer->head, buffer_destroy);
    *out = buffer;
    return STRADS_OK;
}

strads_err sti_buffer_resize(sti_buffer *buffer, size_t size)
{
    if (size > buffer->capacity || !buffer->bytes) {
        size_t more = buffer->capacity + buffer->capacity / 2, capacity;
        unsigned char *bytes =
            sti_buffer_pool_take(size > more ? size : more, &capacity);
        if (!bytes)
            return no_buffer_memory(size);
        if (buffer->size)
            memcpy(bytes, buffer->bytes, buffer->size);
        give_bytes(buffer);
        buffer->embedded = false;
        buffer->backing = NULL;
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    buffer->size = size;
    return STRADS_OK;
}
