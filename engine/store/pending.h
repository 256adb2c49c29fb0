/* engine/store/pending.h - a worker's increments to one table and shard, summed
 * by row until its clock ends. Belongs to one thread.
 *
 * Rows are sent from the end of the arrays, so that the other rows stay in
 * place. If all rows are sent, the push is made around them, without a copy. */
#ifndef STI_STORE_PENDING_H
#define STI_STORE_PENDING_H

#include "engine/base/object.h"
#include "engine/store/table.h"

/* The increments of row rows[i] are cells i x cols of `dense`, or sparse[i],
 * depending on the table. `dense` lies in `block`, so that a push can be made
 * around it. Such a push keeps the block; pending rows get another one. */
typedef struct sti_pending {
    const strads_table_spec *spec; /* the table's spec, which outlives this */
    uint32_t table;                /* its number */
    uint32_t shards; /* number of shards that share the table's push_bytes */
    size_t cell, row_bytes; /* bytes of a cell, of a dense row */
    uint32_t n, capacity;   /* capacity: 0 or a power of two */
    uint32_t *rows;         /* [capacity] */
    uint32_t *slots;        /* [2 capacity] index of rows */
    sti_buffer *block;      /* holds `dense`; NULL: none */
    char *dense;            /* [capacity x cols] cells, or NULL */
    sti_sparse_row *sparse; /* [capacity], or NULL */
    /* for sparse; these rows do not count as table memory */
    sti_budget unbounded;
    /* from this size on, a push of all rows is made around them */
    size_t around_bytes;
    /* bytes added in this clock; repeated additions count again */
    uint64_t added;
    uint64_t piece;      /* size worth a push of its own; 0: none is */
    uint64_t next_early; /* the value of `added` at the next such try */
    uint32_t early_row;  /* the first row that was sent early in this clock, */
    bool was_early;      /* if was_early */
    struct sti_pending
        /* spec.push_bits: rounding errors of rows that were sent; 0 for a
         * pending row */
        *errors;
    void *packed; /* of errors: workspace for one row */
} sti_pending;

void sti_pending_init(sti_pending *pending, const strads_table_spec *spec,
                      uint32_t table, uint32_t shards);
void sti_pending_free(sti_pending *pending);

/* Adds a delta that fits the table. STRADS_ENOMEM: nothing has changed. */
strads_err sti_pending_add(sti_pending *pending, const sti_row_delta *delta);

/* Adds the pending increments of a row to out[cols]. */
void sti_pending_apply(const sti_pending *pending, uint32_t row, void *out);

/* Adds all pending increments to the table as one commit. STRADS_ENOMEM:
 * nothing has changed. */
strads_err sti_pending_add_to(const sti_pending *pending, sti_table *table);

/* The same, and empties `pending`. STRADS_ENOMEM: all increments stay
 * pending. */
strads_err sti_pending_commit(sti_pending *pending, sti_table *table);

/* ---- sending ----------------------------------------------------------- */

/* Whether a filter chooses the rows that are sent at the end of a clock. */
static inline bool sti_pending_is_filtered(const sti_pending *pending)
{
    return pending->spec->hold_below > 0 || pending->spec->push_bytes ||
           pending->spec->push_bits;
}

/* Moves the rows that the filters pass to the end and returns their number in
 * *n. If rows are sent packed, also reserves space for their errors.
 * STRADS_ENOMEM. */
strads_err sti_pending_choose(sti_pending *pending, uint32_t *n);

/* Returns how many of the last rows have at most *bytes together, but at least
 * one if there are any, and subtracts their bytes from *bytes. */
uint32_t sti_pending_fit(const sti_pending *pending, uint64_t *bytes);

/* Appends the last n rows to a push, which it may replace; `packed`: with the
 * table's push_bits. The rows stay pending and unchanged until
 * sti_pending_discard. STRADS_ENOMEM. */
strads_err sti_pending_put(const sti_pending *pending, uint32_t n, bool packed,
                           sti_buffer **push);

/* Drops the last n rows; keeps the rounding errors of rows that were sent
 * packed. */
void sti_pending_discard(sti_pending *pending, uint32_t n, bool packed);

/* Makes the errors pending again, to be sent in full. STRADS_ENOMEM: errors
 * that could not be added are kept. */
strads_err sti_pending_take_errors(sti_pending *pending);

/* ---- early pushes ------------------------------------------------------ */

/* Call it before increments of a whole `row` are added: may a piece that does
 * not contain the row be sent now, while it is in the processor's cache? A
 * clock never sends more bytes than were added: each row must have received as
 * many bytes as it holds. Rows that repeat within the clock stop early pushes;
 * the first repeated row shows it. */
static inline bool sti_pending_is_due(const sti_pending *pending)
{
    return pending->piece && pending->added >= pending->next_early;
}
bool sti_pending_may_leave(const sti_pending *pending, uint32_t row);

/* Note that a push was tried, and that the clock has ended. */
void sti_pending_tried(sti_pending *pending);
void sti_pending_clock(sti_pending *pending);

#endif
