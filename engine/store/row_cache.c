/* Rows in buckets by (table, row), and all of them in a ring with a clock hand
 * (Corbato's clock). Invariant: `bytes` counts the memory of all rows in the
 * ring. Above `limit` there are only pinned rows and the row placed last. */
#include "engine/store/row_cache.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static uint32_t find_bucket(const sti_row_cache *cache, uint32_t table,
                            uint32_t row)
{
    uint64_t key = (uint64_t)table << 32 | row;
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           (cache->capacity - 1);
}

void sti_cache_free(sti_row_cache *cache)
{
    for (uint32_t b = 0; b < cache->capacity; b++)
        for (sti_cached_row *row = cache->bucket[b]; row;) {
            sti_cached_row *next = row->next;
            free(row);
            row = next;
        }
    free(cache->bucket);
}

sti_cached_row *sti_cache_find(sti_row_cache *cache, uint32_t table,
                               uint32_t row)
{
    if (cache->n == 0)
        return NULL;
    sti_cached_row *at = cache->bucket[find_bucket(cache, table, row)];
    while (at && (at->row != row || at->table != table))
        at = at->next;
    if (at)
        at->used = true;
    return at;
}

/* ---- evicting ---------------------------------------------------------- */

void sti_cache_discard(sti_row_cache *cache, sti_cached_row *row)
{
    sti_cached_row **at =
        &cache->bucket[find_bucket(cache, row->table, row->row)];
    while (*at != row)
        at = &(*at)->next;
    *at = row->next;
    row->before->behind = row->behind;
    row->behind->before = row->before;
    cache->hand = row->behind == row ? NULL : row->behind;
    cache->n--;
    cache->bytes -= sizeof *row + row->bytes;
    free(row);
}

/* The hand visits each row at most twice: the first visit only clears
 * `used`. */
static void evict_for(sti_row_cache *cache, uint64_t bytes)
{
    while (cache->n > cache->pinned && cache->bytes + bytes > cache->limit) {
        sti_cached_row *row = cache->hand;
        if (row->pins == 0 && !row->used) {
            sti_cache_discard(cache, row);
        } else {
            row->used = false;
            cache->hand = row->behind;
        }
    }
}

/* ---- placing ----------------------------------------------------------- */

static strads_err no_cache_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to cache rows: reduce the "
                                      "size of the cache");
}

static strads_err grow_buckets(sti_row_cache *cache)
{
    sti_row_cache more = *cache;
    more.capacity = cache->capacity ? 2 * cache->capacity : FIRST_CAPACITY;
    more.bucket = calloc(more.capacity, sizeof(sti_cached_row *));
    if (!more.bucket)
        return no_cache_memory();
    for (uint32_t b = 0; b < cache->capacity; b++)
        for (sti_cached_row *row = cache->bucket[b]; row;) {
            sti_cached_row *next = row->next;
            uint32_t to = find_bucket(&more, row->table, row->row);
            row->next = more.bucket[to];
            more.bucket[to] = row;
            row = next;
        }
    free(cache->bucket);
    *cache = more;
    return STRADS_OK;
}

/* Inserts a row behind the hand, where the hand comes last. */
static void insert_row(sti_row_cache *cache, sti_cached_row *row)
{
    sti_cached_row **first =
        &cache->bucket[find_bucket(cache, row->table, row->row)];
    row->next = *first;
    *first = row;
    row->behind = cache->hand ? cache->hand : row;
    row->before = cache->hand ? cache->hand->before : row;
    row->before->behind = row;
    row->behind->before = row;
    if (!cache->hand)
        cache->hand = row;
    cache->n++;
    cache->bytes += sizeof *row + row->bytes;
}

strads_err sti_cache_place(sti_row_cache *cache, uint32_t table, uint32_t row,
                           size_t bytes, sti_cached_row **out)
{
    *out = sti_cache_find(cache, table, row);
    if (*out)
        return STRADS_OK;
    evict_for(cache, sizeof(sti_cached_row) + bytes);
    strads_err err =
        cache->n < cache->capacity ? STRADS_OK : grow_buckets(cache);
    if (err)
        return err;
    size_t align = _Alignof(sti_cached_row);
    size_t size = (sizeof(sti_cached_row) + bytes + align - 1) / align * align;
    sti_cached_row *fresh = aligned_alloc(align, size);
    if (!fresh)
        return no_cache_memory();
    *fresh = (sti_cached_row){.table = table,
                              .row = row,
                              .used = true,
                              .bytes = bytes};
    insert_row(cache, fresh);
    *out = fresh;
    return STRADS_OK;
}

void sti_cache_pin(sti_row_cache *cache, sti_cached_row *row)
{
    cache->pinned += row->pins++ == 0;
}

void sti_cache_unpin(sti_row_cache *cache, sti_cached_row *row)
{
    cache->pinned -= --row->pins == 0;
}
