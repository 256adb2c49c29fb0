/* engine/store/row_cache.h - rows of a spread store that a node has read, with
 * the clocks that they are as of. Belongs to one thread at a time. */
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
    uint32_t pins; /* somebody is about to read it: it is not evicted */
    bool used;     /* since the hand passed it last */
    uint64_t as_of;
    uint64_t stamp; /* the user's: of what changed it last */
    uint64_t asked; /* the user's: clock of the last refresh */
    size_t bytes;   /* of the values */
    _Alignas(16) char values[];
} sti_cached_row;

typedef struct sti_row_cache {
    uint64_t limit, bytes; /* may exceed the limit by rows that are pinned */
    sti_cached_row **bucket;
    uint32_t capacity; /* of `bucket`: 0 or a power of two */
    uint32_t n, pinned;
    sti_cached_row *hand;
} sti_row_cache;

void sti_cache_free(sti_row_cache *cache);

/* NULL: not there. Notes that it is used. */
sti_cached_row *sti_cache_find(sti_row_cache *cache, uint32_t table,
                               uint32_t row);

/* The same; when it is not there, a new one as of clock 0, whose values are
 * still to be filled in. For it others are evicted until the limit holds: by
 * the hand of a clock, those not used since it passed them, none that is
 * pinned. STRADS_ENOMEM. */
strads_err sti_cache_place(sti_row_cache *cache, uint32_t table, uint32_t row,
                           size_t bytes, sti_cached_row **out);

/* Takes a row out that is not pinned, and frees it. */
void sti_cache_forget(sti_row_cache *cache, sti_cached_row *row);

void sti_cache_pin(sti_row_cache *cache, sti_cached_row *row);
void sti_cache_unpin(sti_row_cache *cache, sti_cached_row *row);

#endif
