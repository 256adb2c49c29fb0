/* engine/store/message.h - what clients and shards of a store tell each other,
 * and all of it as bytes: pushes (C2), asks for rows (C5), rows (S3).
 *
 * Rows of a table go round robin over the shards, table t from shard t on. Rows
 * that are neighbours are often hot together (words by how frequent they are,
 * blocks as ranges), and so they are spread, where ranges would give all of
 * them to one shard; tables of one row do not all meet on shard 0; and a shard's
 * rows are numbered without gaps by a division, so that a hash's look-up is not
 * needed. All nodes compute the same from the same three numbers: nobody is
 * told where a row is. */
#ifndef STI_STORE_MESSAGE_H
#define STI_STORE_MESSAGE_H

#include "engine/base/cursor.h"
#include "engine/base/role.h"
#include "engine/store/peer_vector.h"
#include "engine/store/table.h"
#include "strads/store.h"

static inline uint32_t sti_row_shard(uint32_t table, uint32_t row,
                                     uint32_t shards)
{
    return shards == 1 ? 0 : (uint32_t)(((uint64_t)row + table) % shards);
}

/* The first row that a shard may hold of a table: below `shards`. */
static inline uint32_t sti_row_first(uint32_t table, uint32_t shard,
                                     uint32_t shards)
{
    return (shard + shards - table % shards) % shards;
}

/* How many of a table's rows a shard holds. */
static inline uint64_t sti_rows_held(uint64_t rows, uint32_t table,
                                     uint32_t shard, uint32_t shards)
{
    uint32_t first = sti_row_first(table, shard, shards);
    return rows > first ? (rows - 1 - first) / shards + 1 : 0;
}

/* The number of a row among those that its shard holds, and back. */
static inline uint32_t sti_row_place(uint32_t row, uint32_t shards)
{
    return row / shards;
}

static inline uint32_t sti_row_at(uint32_t place, uint32_t table,
                                  uint32_t shard, uint32_t shards)
{
    return place * shards + sti_row_first(table, shard, shards);
}

/* ---- pushes ------------------------------------------------------------
 *
 * A buffer of parts, in the order in which they were made. Increments of one
 * part are one commit. */

typedef enum sti_push_kind {
    STI_PUSH_ROWS = 2,  /* cells[n x cols of the table] to rows[n] */
    STI_PUSH_COLS = 3,  /* cells[n] to the columns cols[n] of one row */
    STI_PUSH_MARK = 4,  /* what follows is of `worker` at `clock`; see `end` */
    STI_PUSH_PACKED = 5 /* as ROWS, each row as sti_cells_pack makes it */
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
    uint32_t worker; /* MARK, and below */
    sti_push_end end;
    uint64_t clock;
} sti_push_part;

/* Appends a part, copying what it refers to. STRADS_ENOMEM: nothing is
 * appended. */
strads_err sti_push_append(sti_buffer *push, const sti_push_part *part);

/* Appends a part COLS: a row with its columns, whose cells have that size. */
strads_err sti_push_append_row(sti_buffer *push, uint32_t table,
                               const sti_row_delta *row, size_t cell);

/* Appends a part ROWS, or PACKED, whose cells[n x row_bytes] are still to be filled in; they
 * are valid until the buffer grows. STRADS_ENOMEM: nothing is appended. */
strads_err sti_push_reserve(sti_buffer *push, sti_push_kind kind,
                            uint32_t table, uint32_t n, const uint32_t *rows,
                            size_t row_bytes, char **cells);

/* The same for cells that lie somewhere already, at a multiple of 8: writes all
 * that comes before them to where they begin, so many bytes, and what rounds
 * them up behind them, at most 7. */
size_t sti_push_head_bytes(uint32_t n);
void sti_push_put_head(char *cells, sti_push_kind kind, uint32_t table,
                       uint32_t n, const uint32_t *rows, size_t row_bytes);

/* Do the cells of a part with rows have the size that the table asks for,
 * are all of its rows and columns in it, and does the shard hold all of them?
 */
bool sti_push_fits(const strads_table_spec *spec, const sti_push_part *part,
                   uint32_t shard, uint32_t shards);

/* Reads the part at *at and moves on; false at the end. A part that does not
 * fit its buffer (a peer's) is STRADS_EPEER in *err, and false. */
bool sti_push_next(const sti_buffer *push, size_t *at, sti_push_part *out,
                   strads_err *err);

/* Of a part with rows: how many it has increments of; and one of them. */
uint32_t sti_part_rows(const sti_push_part *part);
sti_row_delta sti_part_row_at(const strads_table_spec *spec,
                              const sti_push_part *part, uint32_t k);

/* ---- asks and answers -------------------------------------------------- */

/* ASK_ROWS (C5). With no rows it asks for the clock alone (a barrier). */
typedef struct sti_row_ask {
    sti_object head;
    uint64_t id;     /* from 1 on, growing for each worker */
    uint64_t needs;  /* answered when the shard's clock is that, or later */
    uint32_t worker; /* who waits, of all workers of the run */
    uint32_t table;
    bool exact; /* rows of the snapshot of clock `needs` */
    uint32_t n;
    uint32_t rows[]; /* [n], all of this shard */
} sti_row_ask;

/* An ask for n rows, which are still to be filled in. STRADS_ENOMEM. */
strads_err sti_row_ask_new(uint32_t n, sti_row_ask **out);

/* ROWS (S3): parts ROWS (dense tables) or COLS (sparse ones), whose cells are
 * the rows' values. Its sender's clock is `as_of`: the values hold every update
 * of clocks below, and pushes up to `applied` of the stream of the client that
 * it goes to, and none above. An answer of many rows comes in pieces, in the
 * order of the ask: a message for each. */
typedef struct sti_row_answer {
    sti_object head;
    uint64_t id;
    uint64_t as_of, applied;
    uint64_t parked_ns; /* so long it waited for the clock */
    uint32_t worker;    /* who asked */
    uint32_t table;
    uint32_t first;    /* of the ask's rows */
    bool exact;        /* of a snapshot: not what the shard holds now */
    bool gone;         /* that snapshot is not, or no more, kept */
    sti_buffer *parts; /* NULL: none */
} sti_row_answer;

strads_err sti_row_answer_new(sti_row_answer **out);

/* ---- as bytes ---------------------------------------------------------- */

/* The payload of one of the store's messages. `rest` as in
 * sti_msg_encode (engine/round/message_codec.h); NULL: all goes into the
 * writer. */
void sti_store_encode(const sti_msg *msg, sti_writer *w, sti_part *rest);

/* STRADS_EPEER: nothing in a payload can lead out of it. */
strads_err sti_store_decode(sti_reader *r, sti_object *backing, sti_msg *msg);

#endif
