/* engine/store/store_message.h - what clients ask shards of a store, and what
 * these answer. */
#ifndef STI_STORE_MESSAGE_H
#define STI_STORE_MESSAGE_H

#include "engine/base/role.h"

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

/* ROWS (S4): parts ROWS (dense tables) or COLS (sparse ones) as in push.h,
 * whose cells are the rows' values. Its sender's clock is `as_of`: the values
 * hold every update of clocks below, and pushes up to `applied` of the stream
 * of the client that it goes to, and none above. An answer of many rows comes
 * in pieces, in the order of the ask: a message for each.
 *
 * id 0: nobody asked; the table is eager. What the client has read of this
 * table from this shard, and what changed since its clock moved to `since`, is
 * in here: other rows as of `since` or later are as of `as_of` now. */
typedef struct sti_row_answer {
    sti_object head;
    uint64_t id;
    uint64_t as_of, applied;
    uint64_t since;
    uint64_t parked_ns; /* so long it waited for the clock */
    uint32_t worker;    /* who asked; 0 with id 0 */
    uint32_t table;
    uint32_t first;    /* of the ask's rows; with id 0: 0 */
    bool exact;        /* of a snapshot: not what the shard holds now */
    bool gone;         /* that snapshot is not, or no more, kept */
    bool again;        /* the rows are lost: they are to be asked for again */
    bool in_place;     /* its cells lie where its call wants them, if that still
                          waits, and not in `parts` */
    sti_buffer *parts; /* NULL: none */
    /* What `parts` ends with, in the shard's own memory: as long as the shard
     * does nothing else. Whoever keeps the answer for longer owns it first. */
    const void *lent;
    size_t lent_bytes; /* a multiple of 8 */
} sti_row_answer;

strads_err sti_row_answer_new(sti_row_answer **out);

/* Copies what is lent. STRADS_ENOMEM: then it is still lent. */
strads_err sti_row_answer_own(sti_row_answer *answer);

/* What is sent instead of a message whose rows were lent and did not arrive,
 * as they may be others by now: an answer without rows, they are to be asked
 * for again (S4); or a client's question where its stream stands, which has
 * what is missing sent again, as it is then (C4). It has no reference of its
 * own, and may refer to *again. False: nothing of the message is lent. */
bool sti_store_instead(const sti_msg *msg, sti_row_answer *again, sti_msg *out);

#endif
