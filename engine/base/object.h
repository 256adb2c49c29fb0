/* engine/base/object.h - counted objects that messages carry, buffers among
 * them, and the pool of large blocks that buffers are made of.
 *
 * An object belongs to whoever holds a reference; it is immutable once a
 * message with it has been sent. Any thread may keep and drop. */
#ifndef STI_OBJECT_H
#define STI_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct sti_object {
    atomic_uint refs;
    void (*destroy)(struct sti_object *object);
} sti_object;

static inline void sti_object_init(sti_object *object,
                                   void (*destroy)(sti_object *))
{
    atomic_init(&object->refs, 1);
    object->destroy = destroy;
}

static inline void *sti_object_keep(void *object)
{
    if (object)
        atomic_fetch_add_explicit(&((sti_object *)object)->refs, 1,
                                  memory_order_relaxed);
    return object;
}

/* NULL is fine. */
static inline void sti_object_drop(void *object)
{
    sti_object *o = object;
    if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->destroy(o);
}

/* Bytes with a size, 64-byte aligned: a partial, say. */
typedef struct sti_buffer {
    sti_object head;
    size_t size; /* in use */
    size_t capacity;
    unsigned char *bytes;
    bool embedded;       /* `bytes` lie behind the buffer, in its allocation */
    sti_object *backing; /* what `bytes` lies in, when not its own */
} sti_buffer;

/* A buffer of `size` bytes, not initialised. STRADS_ENOMEM. */
strads_err sti_buffer_new(size_t size, sti_buffer **out);

/* A buffer over bytes of another object, which it keeps a reference of. */
strads_err sti_buffer_over(sti_object *backing, void *bytes, size_t size,
                           sti_buffer **out);

/* Makes space for `size` bytes in a buffer that nobody else has seen yet; what
 * was in use stays, `size` is set. STRADS_ENOMEM. */
strads_err sti_buffer_resize(sti_buffer *buffer, size_t size);

/* A block of at least `size` bytes, 64-byte aligned, not initialised; *capacity is
 * how many it has. NULL: no memory. Any thread. */
void *sti_buffer_pool_take(size_t size, size_t *capacity);

/* Gives a block back: it is kept for the next one, within 32 MB for the
 * process, or freed. NULL is fine. Any thread. */
void sti_buffer_pool_give(void *memory, size_t capacity);

#endif
