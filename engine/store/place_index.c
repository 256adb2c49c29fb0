/* Open addressing with linear probing. Invariant: a free slot exists, and none
 * lies between an id's home and its slot; nothing is taken out but what was put
 * in last, which no other id has passed by. */
#include "engine/store/place_index.h"

/* Fibonacci hashing, Knuth 6.4; the high bits are the good ones. */
static uint32_t home(uint32_t id, uint32_t size)
{
    uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & (size - 1);
}

uint32_t sti_index_find(const uint32_t *slots, uint32_t size,
                        const uint32_t *ids, uint32_t id)
{
    for (uint32_t s = home(id, size); slots[s]; s = (s + 1) & (size - 1))
        if (ids[slots[s] - 1] == id)
            return slots[s] - 1;
    return STI_NO_PLACE;
}

void sti_index_put(uint32_t *slots, uint32_t size, const uint32_t *ids,
                   uint32_t place)
{
    uint32_t s = home(ids[place], size);
    while (slots[s])
        s = (s + 1) & (size - 1);
    slots[s] = place + 1;
}

void sti_index_remove_last(uint32_t *slots, uint32_t size, const uint32_t *ids,
                           uint32_t place)
{
    uint32_t s = home(ids[place], size);
    while (slots[s] != place + 1)
        s = (s + 1) & (size - 1);
    slots[s] = 0;
}
