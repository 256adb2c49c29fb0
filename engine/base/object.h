/* engine/base/object.h - reference-counted objects that messages carry, buffers
 * among them, and the pool of large blocks for buffers.
 *
 * Every holder of a reference owns the object together with the others. An
 * object is immutable once a message with it has been sent. Any thread may keep
 * and drop. */
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

/* NULL is allowed. */
static inline void sti_object_drop(void *object)
{
    sti_object *o = object;
    if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->destroy(o);
}

/* Bytes with a size, 64-byte aligned, for example a partial. */
typedef struct sti_buffer {
    sti_object head;
    size_t size; /* in use */
    size_t capacity;
    unsigned char *bytes;
    bool embedded; /* `bytes` follow the header, in its allocation */
    /* the object that owns `bytes`, or NULL: this buffer does */
    sti_object *backing;
} sti_buffer;

/* A buffer of `size` bytes, not initialised. STRADS_ENOMEM. */
strads_err sti_buffer_new(size_t size, sti_buffer **out);

/* A buffer over the bytes of another object; it holds a reference to that
 * object. */
strads_err sti_buffer_over(sti_object *backing, void *bytes, size_t size,
                           sti_buffer **out);

/* Makes space for `size` bytes and sets `size`; the bytes in use keep their
 * content. The caller holds the only reference. STRADS_ENOMEM. */
strads_err sti_buffer_resize(sti_buffer *buffer, size_t size);

/* A block of at least `size` bytes, 64-byte aligned, not initialised; *capacity
 * is its true size. NULL: no memory. Any thread. */
void *sti_buffer_pool_take(size_t size, size_t *capacity);

/* Returns a block to the pool, which keeps up to 32 MB per process and frees
 * the remainder. NULL is allowed. Any thread. */
void sti_buffer_pool_give(void *memory, size_t capacity);

#endif
