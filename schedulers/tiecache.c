/* A hash table with open addressing, at most half full. Ids are never used
 * again, so what belongs to blocks that are gone is never asked for; it stays
 * until the table is full at its largest size, and then everything goes: what
 * is asked for again is compared again. */
#include "schedulers/tiecache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1 << 10, LAST_SIZE = 1 << 21 };

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* Where the pair is, or the empty place where it belongs. */
static sti_tie *place(const sti_tiecache *cache, uint64_t a, uint64_t b)
{
    uint32_t mask = cache->size - 1;
    uint32_t at = (uint32_t)mix(mix(a) + b) & mask;
    while (cache->tie[at].b && (cache->tie[at].a != a || cache->tie[at].b != b))
        at = (at + 1) & mask;
    return &cache->tie[at];
}

static strads_err make_room(sti_tiecache *cache)
{
    if (cache->used < cache->size / 2)
        return STRADS_OK;
    if (cache->size == LAST_SIZE) {
        memset(cache->tie, 0, cache->size * sizeof *cache->tie);
        cache->used = 0;
        return STRADS_OK;
    }
    sti_tiecache old = *cache;
    uint32_t size = old.size ? 2 * old.size : FIRST_SIZE;
    sti_tie *tie = calloc(size, sizeof *tie);
    if (!tie)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to keep how %u pairs of blocks depend "
                           "on each other",
                           size / 2);
    cache->tie = tie;
    cache->size = size;
    for (uint32_t i = 0; i < old.size; i++)
        if (old.tie[i].b)
            *place(cache, old.tie[i].a, old.tie[i].b) = old.tie[i];
    free(old.tie);
    return STRADS_OK;
}

void sti_tiecache_close(sti_tiecache *cache)
{
    free(cache->tie);
    memset(cache, 0, sizeof *cache);
}

double sti_tiecache_find(const sti_tiecache *cache, uint64_t a, uint64_t b)
{
    if (!cache->size)
        return NAN;
    const sti_tie *tie = a < b ? place(cache, a, b) : place(cache, b, a);
    return tie->b ? tie->value : NAN;
}

strads_err sti_tiecache_put(sti_tiecache *cache, uint64_t a, uint64_t b,
                            double value)
{
    strads_err err = make_room(cache);
    if (err)
        return err;
    if (a > b) {
        uint64_t swap = a;
        a = b;
        b = swap;
    }
    sti_tie *tie = place(cache, a, b);
    cache->used += !tie->b;
    *tie = (sti_tie){.a = a, .b = b, .value = value};
    return STRADS_OK;
}
