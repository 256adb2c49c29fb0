/* engine/store/message.h - messages between clients and shards of a store, and
 * their encoding: pushes (C2), requests for rows (C5), rows (S3).
 *
 * Rows are distributed round robin over the shards; table t starts at shard t.
 * Neighbouring rows are often hot together (words ordered by frequency, blocks
 * as ranges); round robin spreads them, ranges would put them all on one shard.
 * The offset t keeps tables of one row from all using shard 0. A division
 * numbers the rows of a shard without gaps, so no hash lookup is needed. Every
 * node computes the location of a row from the same three numbers. */
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

/* The first row of a table that a shard may hold: below `shards`. */
static inline uint32_t sti_row_first(uint32_t table, uint32_t shard,
                                     uint32_t shards)
{
    return (shard + shards - table % shards) % shards;
}

/* The number of a table's rows that a shard holds. */
static inline uint64_t sti_rows_held(uint64_t rows, uint32_t table,
                                     uint32_t shard, uint32_t shards)
{
    uint32_t first = sti_row_first(table, shard, shards);
    return rows > first ? (rows - 1 - first) / shards + 1 : 0;
}

/* The index of a row among those that its shard holds, and back. */
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
 * A push is a buffer of parts in the order of their creation. The increments of
 * one part are one commit. */

typedef enum sti_push_kind {
    STI_PUSH_ROWS = 2,  /* cells[n x cols of the table] to rows[n] */
    STI_PUSH_COLS = 3,  /* cells[n] to the columns cols[n] of one row */
    STI_PUSH_MARK = 4,  /* ends the parts of `worker` at `clock`; see `end` */
    STI_PUSH_PACKED = 5 /* as ROWS, each row packed by sti_cells_pack */
} sti_push_kind;

/* What a worker does beside pushing. */
typedef enum sti_push_end {
    STI_PUSH_FLUSH = 0, /* its clock continues */
    /* its clock ends: the worker is at clock + 1 from then on */
    STI_PUSH_CLOCK = 1,
    /* the worker leaves; other workers no longer wait for it */
    STI_PUSH_LEAVE = 2
} sti_push_end;

/* A decoded part; its pointers refer to the push's buffer. */
typedef struct sti_push_part {
    sti_push_kind kind;
    uint32_t table;
    uint32_t n;
    uint32_t row;           /* COLS */
    const uint32_t *places; /* ROWS: rows[n]; COLS: cols[n] */
    const void *cells;
    size_t cell_bytes;
    uint32_t worker; /* MARK, also the two fields below */
    sti_push_end end;
    uint64_t clock;
} sti_push_part;

/* Appends a part and copies the data that it refers to. STRADS_ENOMEM: nothing
 * is appended. */
strads_err sti_push_append(sti_buffer *push, const sti_push_part *part);

/* Appends a COLS part: a sparse row; `cell` is the size of its cells. */
strads_err sti_push_append_row(sti_buffer *push, uint32_t table,
                               const sti_row_delta *row, size_t cell);

/* Appends a ROWS or PACKED part; the caller then fills in its cells[n x
 * row_bytes], which are valid until the buffer grows. STRADS_ENOMEM: nothing is
 * appended. */
strads_err sti_push_reserve(sti_buffer *push, sti_push_kind kind,
                            uint32_t table, uint32_t n, const uint32_t *rows,
                            size_t row_bytes, char **cells);

/* Makes a part around cells that already exist, at a multiple of 8.
 * sti_push_put_head writes the part's head before the cells, where
 * sti_push_head_bytes(n) bytes must be free, and pads the cells with at most 7
 * bytes. */
size_t sti_push_head_bytes(uint32_t n);
void sti_push_put_head(char *cells, sti_push_kind kind, uint32_t table,
                       uint32_t n, const uint32_t *rows, size_t row_bytes);

/* Whether the cells of a part with rows have the table's cell size, its rows
 * and columns exist in the table, and the shard holds all of the rows. */
bool sti_push_fits(const strads_table_spec *spec, const sti_push_part *part,
                   uint32_t shard, uint32_t shards);

/* Reads the part at *at and advances; false at the end. If a part exceeds its
 * buffer (a peer sent it), returns false and sets *err to STRADS_EPEER. */
bool sti_push_next(const sti_buffer *push, size_t *at, sti_push_part *out,
                   strads_err *err);

/* For a part with rows: the number of rows; and the increments of row k. */
uint32_t sti_part_rows(const sti_push_part *part);
sti_row_delta sti_part_row_at(const strads_table_spec *spec,
                              const sti_push_part *part, uint32_t k);

/* ---- row requests and answers ------------------------------------------ */

/* ASK_ROWS (C5). A request for no rows waits for the clock alone (a
 * barrier). */
typedef struct sti_row_ask {
    sti_object head;
    uint64_t id;     /* starts at 1 and grows for each worker */
    uint64_t needs;  /* answered once the shard's clock is at least this */
    uint32_t worker; /* the worker that waits, among all workers of the run */
    uint32_t table;
    bool exact; /* rows of the snapshot of clock `needs` */
    uint32_t n;
    uint32_t rows[]; /* [n], all of this shard */
} sti_row_ask;

/* Makes a request for n rows; the caller fills in rows[]. STRADS_ENOMEM. */
strads_err sti_row_ask_new(uint32_t n, sti_row_ask **out);

/* ROWS (S3): parts ROWS (dense tables) or COLS (sparse tables); the cells are
 * the rows' values. `as_of` is the shard's clock: the values hold every update
 * of the clocks below it. From the receiving client's stream they hold exactly
 * the pushes up to `applied`. A large answer is sent in pieces, in the order of
 * the request: one message each. */
typedef struct sti_row_answer {
    sti_object head;
    uint64_t id;
    uint64_t as_of, applied;
    uint64_t parked_ns; /* time that the request waited for the clock */
    uint32_t worker;    /* the worker that asked */
    uint32_t table;
    uint32_t first;    /* index of the first row in the request */
    bool exact;        /* rows of a snapshot, not the shard's current rows */
    bool gone;         /* the snapshot was not kept, or has been dropped */
    sti_buffer *parts; /* NULL: none */
} sti_row_answer;

strads_err sti_row_answer_new(sti_row_answer **out);

/* ---- encoding ---------------------------------------------------------- */

/* Encodes the payload of a store message. `rest` as in sti_msg_encode
 * (engine/round/message_codec.h); NULL: everything goes into the writer. */
void sti_store_encode(const sti_msg *msg, sti_writer *w, sti_part *rest);

/* Decodes a payload and checks that every reference stays inside it.
 * STRADS_EPEER. */
strads_err sti_store_decode(sti_reader *r, sti_object *backing, sti_msg *msg);

#endif
