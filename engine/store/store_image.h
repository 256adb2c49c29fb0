/* engine/store/store_image.h - a store's tables as bytes, and back. What a
 * checkpoint of a shard or of a run holds of a store. */
#ifndef STI_STORE_STORE_IMAGE_H
#define STI_STORE_STORE_IMAGE_H

#include <stddef.h>

#include "strads/store.h"

/* Where bytes go to, in order. Embed it in what takes them. */
typedef struct sti_sink {
    strads_err (*put)(struct sti_sink *sink, const void *bytes, size_t size);
} sti_sink;

/* Puts out all tables: specs, versions, values. The image is a multiple of 8
 * bytes long and is put out as it lies in the tables, without a copy of all.
 * While nobody commits. Passes on what the sink returns. */
strads_err sti_store_image_write(const strads_store *store, sti_sink *sink);

/* Fills an empty store from the image at `bytes` (8-byte aligned, at most
 * `size` bytes); how long the image is goes to *used. Nothing is allocated or
 * indexed by a number that was not held against `size` and the store's memory
 * limit before. STRADS_ESTATE: the store has tables or is followed.
 * STRADS_EFORMAT: not an image, or a damaged one. STRADS_EMISMATCH: of another
 * version. STRADS_ENOMEM. After an error the store is fit to be freed only.
 * While nobody else uses the store. */
strads_err sti_store_image_read(const void *bytes, size_t size,
                                strads_store *store, size_t *used);

#endif
