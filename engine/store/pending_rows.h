/* engine/store/pending_rows.h - increments of one table that wait for their
 * clock, added up row by row. Belongs to one thread. */
#ifndef STI_STORE_PENDING_ROWS_H
#define STI_STORE_PENDING_ROWS_H

#include "engine/base/object.h"
#include "engine/store/row_table.h"

/* What row rows[i] is to be changed by: cells i x cols of `dense`, or
 * sparse[i], as the table is. `dense` lies in `block` so that a push can be
 * made around it: such a push keeps the block, and pending rows get another. */
typedef struct sti_pending {
    const strads_table_spec *spec; /* the table's, which outlives this */
    size_t cell, row_bytes;        /* of a number, of a row in full */
    uint32_t n, room;              /* room: 0 or a power of two */
    uint32_t *rows;                /* [room] */
    uint32_t *slots;               /* [2 room] place index of rows */
    sti_buffer *block;             /* what `dense` lies in, or NULL */
    char *dense;                   /* [room x cols] cells, or NULL .. */
    bool lent; /* .. or the n rows' own ones, which somebody else has */
    sti_sparse_row *sparse; /* [room], or NULL */
    sti_budget unbounded;   /* for sparse: it is no part of the tables */
    size_t lend_bytes; /* a push of all rows is made around them from then on */
    uint64_t added;    /* bytes that were added since, each time they were */
    uint64_t piece;    /* so many are worth a push of their own; 0: none are */
    uint64_t next_early; /* `added` when that is tried next */
    uint32_t early_row;  /* the first one that left early in this clock .. */
    bool was_early;      /* .. if any did */
} sti_pending;

void sti_pending_init(sti_pending *pending, const strads_table_spec *spec);
void sti_pending_free(sti_pending *pending);

/* Room for so many rows, of which none is pending yet. STRADS_ENOMEM. */
strads_err sti_pending_make_room(sti_pending *pending, uint32_t n);

/* Takes n rows[n] of a dense table, of which nothing is pending, as they lie:
 * cells[n x cols] stay as they are until the rows have been forgotten, and all
 * pushes that sti_pending_split has made of them, or sti_pending_own was
 * called. *lent is false when a row is named twice: nothing has changed then.
 * STRADS_ENOMEM: so, too. (pending_lent.c) */
strads_err sti_pending_lend(sti_pending *pending, uint32_t n,
                            const uint32_t *rows, const void *cells,
                            bool *lent);

/* Copies what is lent, if anything is; pushes that were made of it keep what
 * they have. STRADS_ENOMEM: nothing has changed. (pending_lent.c) */
strads_err sti_pending_own(sti_pending *pending);

/* Where rows of its own lie; without a block it gets one. STRADS_ENOMEM. */
strads_err sti_pending_make_block(sti_pending *pending, char **cells);

/* Adds a delta that fits the table. STRADS_ENOMEM: nothing has changed. */
strads_err sti_pending_add(sti_pending *pending, const sti_row_delta *delta);

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

/* A push was tried. */
void sti_pending_tried(sti_pending *pending);

/* The clock has ended. */
void sti_pending_clock(sti_pending *pending);

/* In front of `dense`: for the head of a push of all rows, and a mark. */
size_t sti_pending_head_room(const sti_pending *pending);

/* Adds what is pending for a row to out[cols]. */
void sti_pending_apply(const sti_pending *pending, uint32_t row, void *out);

/* Adds everything to the table, as one commit; nothing has changed on
 * STRADS_ENOMEM. */
strads_err sti_pending_add_to(const sti_pending *pending, sti_table *table);

/* Commits everything to the table, as one commit, and is empty then. On
 * STRADS_ENOMEM all of it stays pending. */
strads_err sti_pending_commit(sti_pending *pending, sti_table *table);

/* Forgets the increments of the rows at `places`: of the first n of them, which
 * ascend. The others keep their order. */
void sti_pending_forget(sti_pending *pending, uint32_t n,
                        const uint32_t *places);

#endif
