/* engine/store/pending.h - a worker's increments that wait for their clock,
 * added up row by row: those of one table that go to one shard. Belongs to one
 * thread.
 *
 * What leaves leaves from the end, so that the other rows stay where they are;
 * and where all of it leaves, the push is made around the rows, without a copy.
 */
#ifndef STI_STORE_PENDING_H
#define STI_STORE_PENDING_H

#include "engine/base/object.h"
#include "engine/store/table.h"

/* What row rows[i] is to be changed by: cells i x cols of `dense`, or
 * sparse[i], as the table is. `dense` lies in `block` so that a push can be
 * made around it: such a push keeps the block, and pending rows get another. */
typedef struct sti_pending {
    const strads_table_spec *spec; /* the table's, which outlives this */
    uint32_t table;                /* its number */
    uint32_t shards;               /* that its filters are shared by */
    size_t cell, row_bytes;        /* of a number, of a row in full */
    uint32_t n, capacity;          /* room: 0 or a power of two */
    uint32_t *rows;                /* [capacity] */
    uint32_t *slots;               /* [2 room] index of rows */
    sti_buffer *block;             /* what `dense` lies in, or NULL */
    char *dense;                   /* [capacity x cols] cells, or NULL */
    sti_sparse_row *sparse;        /* [capacity], or NULL */
    sti_budget unbounded;          /* for sparse: it is no part of the tables */
    size_t around_bytes; /* a push of all rows is made around them from then on
                           */
    uint64_t added;      /* bytes that were added since, each time they were */
    uint64_t piece; /* so many are worth a push of their own; 0: none are */
    uint64_t next_early; /* `added` when that is tried next */
    uint32_t early_row;  /* the first one that left early in this clock .. */
    bool was_early;      /* .. if any did */
    struct sti_pending
        *errors;  /* spec.push_bits: what rounding left over of rows
                                   that have left; of one that is pending 0 */
    void *packed; /* of errors: scratch for a row */
} sti_pending;

void sti_pending_init(sti_pending *pending, const strads_table_spec *spec,
                      uint32_t table, uint32_t shards);
void sti_pending_free(sti_pending *pending);

/* Adds a delta that fits the table. STRADS_ENOMEM: nothing has changed. */
strads_err sti_pending_add(sti_pending *pending, const sti_row_delta *delta);

/* Adds what is pending for a row to out[cols]. */
void sti_pending_apply(const sti_pending *pending, uint32_t row, void *out);

/* Adds everything to the table, as one commit; nothing has changed on
 * STRADS_ENOMEM. */
strads_err sti_pending_add_to(const sti_pending *pending, sti_table *table);

/* The same, and is empty then. On STRADS_ENOMEM all of it stays pending. */
strads_err sti_pending_commit(sti_pending *pending, sti_table *table);

/* ---- what leaves ------------------------------------------------------- */

/* Does a filter choose which rows leave at the end of a clock? */
static inline bool sti_pending_is_filtered(const sti_pending *pending)
{
    return pending->spec->hold_below > 0 || pending->spec->push_bytes ||
           pending->spec->push_bits;
}

/* Sees to it that those rows which filters let go are the last ones, and says
 * how many these are; where they leave packed, there is room for their errors
 * then. STRADS_ENOMEM. */
strads_err sti_pending_choose(sti_pending *pending, uint32_t *n);

/* How many of the last rows have at most *bytes together, one at least if there
 * are any; takes what they have from *bytes. */
uint32_t sti_pending_fit(const sti_pending *pending, uint64_t *bytes);

/* Appends the last n rows to a push, which it may replace; `packed`: in as few bits
 * as the table says. They stay pending, and as they are, until
 * sti_pending_forget. STRADS_ENOMEM. */
strads_err sti_pending_put(const sti_pending *pending, uint32_t n, bool packed,
                           sti_buffer **push);

/* Forgets the last n rows; of those that left packed it keeps the errors. */
void sti_pending_forget(sti_pending *pending, uint32_t n, bool packed);

/* Errors become pending again, to leave in full. STRADS_ENOMEM: those that are
 * not pending are kept. */
strads_err sti_pending_take_errors(sti_pending *pending);

/* ---- before the clock ends --------------------------------------------- */

/* Before increments of all of `row` are added: may a piece be pending without
 * it, which had better leave at once, while it is in the processor's cache?
 * Never more leaves than was added: each row must have got as many bytes as it
 * has. And nothing leaves early where rows come again in the same clock, which
 * is seen by the first one that does. */
static inline bool sti_pending_is_due(const sti_pending *pending)
{
    return pending->piece && pending->added >= pending->next_early;
}
bool sti_pending_may_leave(const sti_pending *pending, uint32_t row);

/* A push was tried; the clock has ended. */
void sti_pending_tried(sti_pending *pending);
void sti_pending_clock(sti_pending *pending);

#endif
