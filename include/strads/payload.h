/* strads/payload.h - what travels with a block of a RING phase. */
#ifndef STRADS_PAYLOAD_H
#define STRADS_PAYLOAD_H

#include <stddef.h>

#include "strads/error.h"
#include "strads/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that grow, for `pack`: adds `size` bytes, copied. Within `pack` only.
 * STRADS_ENOMEM. */
typedef struct strads_bytes strads_bytes;
STRADS_API strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                                          size_t size);

/* A RING block's payload: an object of the program's that travels with its
 * block. On one node the pointer travels; between nodes pack's bytes do. They
 * are also a block's version in the store, where the run keeps versions. */
typedef struct strads_payload {
    /* Makes a block's object when its first lap starts, on the partition where
     * it does (task->block; no partial, no value). The object rests there
     * between laps: all laps of a block start at the same owner. */
    strads_err (*open)(strads_task *task, void **object);
    void (*close)(void *object);
    strads_err (*pack)(const void *object, strads_bytes *out);
    strads_err (*unpack)(const void *bytes, size_t size, void **object);
} strads_payload;

#ifdef __cplusplus
}
#endif

#endif
