/* engine/store/row_cache.h - rows of a spread store that a node has read, each
 * with its as-of clock. Belongs to one thread at a time. */
#ifndef STI_STORE_ROW_CACHE_H
#define STI_STORE_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct sti_cached_row {
    struct sti_cached_row *next;            /* of the same bucket */
    struct sti_cached_row *before, *behind; /* the ring of all rows */
    uint32_t table, row;
    /* calls that are about to read it; a pinned row is not evicted */
    uint32_t pins;
    bool used; /* since the last visit of the hand */
    uint64_t as_of;
    uint64_t stamp; /* the user's: identifies the last change */
    uint64_t asked; /* the user's: clock of the last refresh */
    size_t bytes;   /* of the values */
    _Alignas(16) char values[];
} sti_cached_row;

typedef struct sti_row_cache {
    uint64_t limit, bytes; /* pinned rows may exceed the limit */
    sti_cached_row **bucket;
    uint32_t capacity; /* of `bucket`: 0 or a power of two */
    uint32_t n, pinned;
    sti_cached_row *hand;
} sti_row_cache;

void sti_cache_free(sti_row_cache *cache);

/* NULL: not cached. Marks the row as used. */
sti_cached_row *sti_cache_find(sti_row_cache *cache, uint32_t table,
                               uint32_t row);

/* The same, but adds a missing row as of clock 0; the caller fills in its
 * values. Evicts rows until the limit holds: a clock hand removes unpinned rows
 * that were not used since its last visit. STRADS_ENOMEM. */
strads_err sti_cache_place(sti_row_cache *cache, uint32_t table, uint32_t row,
                           size_t bytes, sti_cached_row **out);

/* Removes and frees a row that is not pinned. */
void sti_cache_discard(sti_row_cache *cache, sti_cached_row *row);

void sti_cache_pin(sti_row_cache *cache, sti_cached_row *row);
void sti_cache_unpin(sti_row_cache *cache, sti_cached_row *row);

#endif
