/* engine/round/pair_cache.h - merged probe values of pairs of parameters.
 *
 * A scheduler reads from it how strongly parameters depend on each other; the
 * commit takes a block's Gram entries from it. Probed parameters get slots in
 * the order of their first probe. Values are in tiles of slots x slots that are
 * made at the first write. Used by one thread at a time. */
#ifndef STI_PAIR_CACHE_H
#define STI_PAIR_CACHE_H

#include <stdbool.h>

#include "strads/program.h"

typedef struct sti_pairs sti_pairs;

/* The limit of all caches of one kind together. */
#define STI_PAIRS_BYTES ((size_t)1 << 30)

/* The limit where the option `memory` leaves `spare` bytes: a quarter of
 * them. */
static inline size_t sti_pairs_limit(uint64_t spare)
{
    return spare / 4 < STI_PAIRS_BYTES ? (size_t)(spare / 4) : STI_PAIRS_BYTES;
}

/* For parameters 0 .. parameters - 1; keeps about `limit` bytes.
 * STRADS_ENOMEM. */
strads_err sti_pairs_new(uint64_t parameters, size_t limit, sti_pairs **out);
void sti_pairs_free(sti_pairs *pairs);

/* Stores value[a->n x b->n], pair by pair, both ways. STRADS_ENOMEM. */
strads_err sti_pairs_put(sti_pairs *pairs, const strads_block *a,
                         const strads_block *b, const double *value);

/* The value of a pair; NaN if it was not probed. O(1). */
double sti_pairs_get(const sti_pairs *pairs, uint32_t i, uint32_t j);

/* |v_ij| / sqrt(v_ii v_jj), at most 1; 0 if a diagonal is 0; NaN if one of the
 * three is unknown. O(1). */
double sti_pairs_dependency(const sti_pairs *pairs, uint32_t i, uint32_t j);

/* Whether all pairs between two blocks are known; cached by their ids. */
bool sti_pairs_known(sti_pairs *pairs, const strads_block *a,
                     const strads_block *b);

/* The strongest dependency between two blocks with known pairs; computed once
 * and cached by their ids. */
double sti_pairs_strongest(sti_pairs *pairs, const strads_block *a,
                           const strads_block *b);

/* All pairs in a block as [n x n], cached by the block's id; NULL if a pair is
 * unknown or memory runs out. */
const double *sti_pairs_square(sti_pairs *pairs, const strads_block *block);

/* Drops all values if they exceed the limit. Call it only while no block is in
 * flight, because blocks rely on known pairs. */
void sti_pairs_trim(sti_pairs *pairs);

#endif
