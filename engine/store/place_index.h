/* engine/store/place_index.h - where in an array of ids an id is.
 *
 * A hash table beside an array of distinct ids: it holds places, the array
 * holds the ids, in the order in which they came. */
#ifndef STI_STORE_PLACE_INDEX_H
#define STI_STORE_PLACE_INDEX_H

#include <stdint.h>

#define STI_NO_PLACE UINT32_MAX

/* `slots` has `size` entries, a power of two, more than there are ids; 0: free,
 * else place + 1. All 0 at first. */
uint32_t sti_index_find(const uint32_t *slots, uint32_t size,
                        const uint32_t *ids, uint32_t id);

/* Notes that ids[place] is there; it was not before. */
void sti_index_put(uint32_t *slots, uint32_t size, const uint32_t *ids,
                   uint32_t place);

/* Forgets ids[place], of all that are there the one that was put in last. */
void sti_index_remove_last(uint32_t *slots, uint32_t size, const uint32_t *ids,
                           uint32_t place);

#endif
