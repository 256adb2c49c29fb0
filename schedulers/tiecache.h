/* How strongly two blocks depend on each other, kept by their ids: a pair is
 * compared parameter by parameter once, and looked up afterwards. */
#ifndef STI_TIECACHE_H
#define STI_TIECACHE_H

#include <stdint.h>

#include "strads/error.h"

typedef struct sti_tie {
    uint64_t a, b; /* ids, a < b; both 0 in an empty place */
    double value;
} sti_tie;

/* Zeroed is empty. */
typedef struct sti_tiecache {
    sti_tie *tie;
    uint32_t size; /* places, a power of two, or 0 */
    uint32_t used;
} sti_tiecache;

void sti_tiecache_close(sti_tiecache *cache);

/* The value kept for a pair of blocks, or NaN. */
double sti_tiecache_find(const sti_tiecache *cache, uint64_t a, uint64_t b);

strads_err sti_tiecache_put(sti_tiecache *cache, uint64_t a, uint64_t b,
                            double value);

#endif
