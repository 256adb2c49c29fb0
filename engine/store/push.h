/* engine/store/push.h - a batch of what a store was told to do, as bytes.
 *
 * A push is a buffer of parts, in the order in which they were made: a table
 * that is new, increments of one table's rows, or whose increments follow, and
 * where the clock of that worker is. What is in one part is one commit. */
#ifndef STI_STORE_PUSH_H
#define STI_STORE_PUSH_H

#include <stdbool.h>

#include "engine/base/object.h"
#include "strads/store.h"

typedef enum sti_push_kind {
    STI_PUSH_TABLE = 1, /* a new table: spec */
    STI_PUSH_ROWS = 2,  /* cells[n x cols of the table] to rows[n] */
    STI_PUSH_COLS = 3,  /* cells[n] to the columns cols[n] of one row */
    STI_PUSH_MARK = 4   /* what follows is of `worker` at `clock`; see `end` */
} sti_push_kind;

/* What a worker does besides pushing. */
typedef enum sti_push_end {
    STI_PUSH_FLUSH = 0, /* its clock goes on */
    STI_PUSH_CLOCK = 1, /* its clock is ended: it is at clock + 1 then */
    STI_PUSH_LEAVE = 2  /* nobody waits for it any more */
} sti_push_end;

/* A part where it lies in its buffer. */
typedef struct sti_push_part {
    sti_push_kind kind;
    uint32_t table;
    uint32_t n;
    uint32_t row;           /* COLS */
    const uint32_t *places; /* ROWS: rows[n]; COLS: cols[n] */
    const void *cells;
    size_t cell_bytes;
    strads_table_spec spec; /* TABLE; its name lies in the buffer */
    uint32_t worker;        /* MARK, and below */
    sti_push_end end;
    uint64_t clock;
} sti_push_part;

/* Appends a part, copying what it refers to. STRADS_ENOMEM: nothing is
 * appended. */
strads_err sti_push_append(sti_buffer *push, const sti_push_part *part);

/* Appends a part ROWS of n rows whose rows and cells are still to be filled in;
 * they are valid until the buffer grows. STRADS_ENOMEM: nothing is appended. */
typedef struct sti_push_room {
    uint32_t *rows; /* [n] */
    char *cells;    /* [n x row_bytes] */
} sti_push_room;
strads_err sti_push_reserve(sti_buffer *push, uint32_t table, uint32_t n,
                            size_t row_bytes, sti_push_room *out);

/* The same for cells that lie somewhere already, at a multiple of 8: writes all
 * that comes before them to where they begin, so many bytes, and what rounds
 * them up behind them, at most 7. */
size_t sti_push_head_bytes(uint32_t n);
void sti_push_put_head(char *cells, uint32_t table, uint32_t n,
                       const uint32_t *rows, size_t row_bytes);

/* The same for the push's last part, whose cells, a multiple of 8 bytes, stay
 * where they are: they become its rest. STRADS_ENOMEM: nothing is appended. */
strads_err sti_push_refer(sti_buffer *push, uint32_t table, uint32_t n,
                          const uint32_t *rows, size_t row_bytes,
                          const void *cells);

/* Do the cells of a part ROWS or COLS have the size that the table asks for,
 * and are all of its rows and columns in it? */
bool sti_push_fits(const strads_table_spec *spec, const sti_push_part *part);

/* Reads the part at *at and moves on; false at the end. A part that does not
 * fit its buffer (a peer's) is STRADS_EPEER in *err, and false. */
bool sti_push_next(const sti_buffer *push, size_t *at, sti_push_part *out,
                   strads_err *err);

/* Carries out all parts in order; a mark concerns no table. STRADS_EPEER: a
 * part that is broken, or that does not fit the store's tables; STRADS_ENOMEM.
 * Parts before a failing one have been carried out. Any thread. */
strads_err sti_push_apply(const sti_buffer *push, strads_store *store);

#endif
