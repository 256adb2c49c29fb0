/* engine/store/pending_push.h - what is pending becomes pushes: which rows, by
 * the table's filters, and to which shard. */
#ifndef STI_STORE_PENDING_PUSH_H
#define STI_STORE_PENDING_PUSH_H

#include "engine/store/pending_rows.h"
#include "engine/store/push.h"

/* The rows that may leave now, as their places, ascending; of size
 * pending->n, the caller's to free. `all`: no filter holds anything back.
 * STRADS_ENOMEM. */
strads_err sti_pending_choose(const sti_pending *pending, bool all, uint32_t *n,
                              uint32_t **places);

/* Does a filter choose which rows leave? */
static inline bool sti_pending_is_filtered(const sti_pending *pending)
{
    return pending->spec->hold_below > 0 || pending->spec->push_bytes;
}

/* The places of the last rows of at most *bytes, one at least, as above; takes
 * what they have from *bytes. What leaves from the end leaves the others where
 * they are. STRADS_ENOMEM. */
strads_err sti_pending_last(const sti_pending *pending, uint64_t *bytes,
                            uint32_t *n, uint32_t **places);

/* Appends the rows at places[n] of a table's pending increments to the pushes
 * of the shards that hold them: pushes[shards], made where one is NULL. They
 * stay pending, and as they are, until sti_pending_forget: a push of all of
 * them may have been made around them, where they lie, and rows that are lent
 * may be the rest of one. STRADS_ENOMEM. */
strads_err sti_pending_split(const sti_pending *pending, uint32_t table,
                             uint32_t n, const uint32_t *places,
                             uint32_t shards, sti_buffer **pushes);

#endif
