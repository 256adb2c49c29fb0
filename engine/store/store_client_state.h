/* engine/store/store_client_state.h - what the files of a store's client share:
 * store_client.c keeps time, store_client_push.c pushes, store_client_read.c
 * reads, store_client_call.c asks and takes answers, store_client_cache.c takes
 * rows in. */
#ifndef STI_STORE_CLIENT_STATE_H
#define STI_STORE_CLIENT_STATE_H

#include "engine/store/push_stream.h"
#include "engine/store/store_client.h"
#include "engine/store/store_message.h"
#include "engine/store/adaptive_staleness.h"
#include "engine/store/row_cache.h"

/* A part of a call that one shard has to answer. */
typedef struct sti_call_ask {
    sti_row_ask *ask; /* not answered in full yet; NULL: none */
    uint32_t *places; /* [ask->n] which of the call's rows they are */
    uint32_t got;     /* so many have come, in order */
} sti_call_ask;

/* A row of a call: pinned, so that the call finds it when it is repeated, and
 * copied to the caller's values when it bore that stamp. */
typedef struct sti_found_row {
    sti_cached_row *row; /* NULL: not yet, or only the caller has it */
    uint64_t stamp;
} sti_found_row;

/* A call of a worker that waits for rows, or for a clock alone (no rows). */
typedef struct sti_waiting_call {
    bool used;
    bool exact;
    uint32_t table, n;
    uint32_t *rows;       /* [n] what the call named */
    sti_found_row *found; /* [n], not of an exact one */
    uint32_t room;        /* of both */
    uint32_t next;        /* rows from here on were not asked for yet */
    uint64_t id, needs;
    uint64_t since, sent_at; /* ns: when it began, asked last */
    bool passes;        /* rows go to the caller alone, and are not cached .. */
    uint64_t as_of;     /* .. the least clock that those are as of */
    sti_call_ask *asks; /* [shards] */
    uint32_t n_asks;
    char *values; /* [n x row_bytes] the caller's; exact: its own */
    const sti_pending *pending; /* the caller's; NULL: none */
    bool gone;                  /* exact */
} sti_waiting_call;

typedef struct sti_client_worker {
    uint64_t clock;
    uint64_t last_id;  /* of its asks */
    bool wants_window; /* a push of it waits */
    bool wants_rows;   /* it waits for rows that it has lent */
    sti_waiting_call call;
    sti_adaptive adaptive;
} sti_client_worker;

/* Eager rows: those of a table on a shard that are as of `from` or later, and
 * that no later message named, are as of `to`. */
typedef struct sti_eager_chain {
    uint64_t from, to;
} sti_eager_chain;

/* How a table is read: only rows that are read again are worth caching. */
typedef struct sti_reuse {
    uint64_t brought; /* the highest as-of of rows that have come */
    uint32_t once;    /* so many calls in a row needed more than that: nothing
                         that came before one of them was of use to it */
} sti_reuse;

struct sti_client {
    uint32_t client, shards, first_worker, n_workers;
    uint64_t piece_bytes, window_bytes;
    uint64_t resend_ns;
    uint64_t life;             /* when it came back; 0: its first */
    strads_table_spec *tables; /* [n_tables], each with a name of its own */
    uint32_t n_tables;
    uint32_t adaptive_most;     /* the largest staleness_max that was read by */
    sti_push_stream *streams;   /* [shards] */
    sti_client_worker *workers; /* [n_workers] */
    sti_row_cache cache;
    sti_eager_chain *chains; /* [n_tables x shards] */
    uint64_t *newest;        /* [shards] the highest as-of of their answers */
    uint32_t *stalest;       /* [n_tables] the largest staleness of a read */
    sti_reuse *reuse;        /* [n_tables] */
    uint64_t stamp;          /* of the last answer, or push */
    sti_change_count changes;
    bool timed; /* a TIMER is under way */
    bool failed;
};

static inline sti_client_worker *sti_client_worker_of(const sti_client *client,
                                                      uint32_t worker)
{
    return &client->workers[worker - client->first_worker];
}

static inline size_t sti_client_row_bytes(const sti_client *client,
                                          uint32_t table)
{
    const strads_table_spec *spec = &client->tables[table];
    return (spec->type == STRADS_F64 || spec->type == STRADS_I64 ? 8 : 4) *
           (size_t)spec->cols;
}

/* An answer, or a push, is about to change cached rows. */
static inline void sti_client_stamp(sti_client *client)
{
    client->stamp++;
    sti_client_outdate(client);
}

/* ---- store_client.c ---------------------------------------------------- */

/* Sees to it that a TIMER comes while something may have to be sent again. */
void sti_client_time(sti_client *client, uint64_t now, sti_effects *out);

/* Tells the coordinator, with the sentence recorded last; goes no further. */
void sti_client_fail(sti_client *client, strads_err err, sti_effects *out);

/* ---- store_client_call.c ----------------------------------------------- */

/* Is this the call that waits, repeated? */
bool sti_call_is(const sti_waiting_call *call, const sti_client_read *read,
                 const void *values, uint64_t needs);

/* `values` is the caller's, or of an exact read one that the call frees, also
 * when it fails. STRADS_ENOMEM. */
strads_err sti_call_begin(sti_client_worker *worker,
                          const sti_client_read *read, void *values,
                          uint64_t needs);
void sti_call_forget(sti_client *client, sti_client_worker *worker);
void sti_call_free(sti_waiting_call *call);

/* Takes from the cache what is fresh there and asks for the rest, a window at
 * a time; with no ask out afterwards all rows are there. STRADS_ENOMEM. */
strads_err sti_call_go_on(sti_client *client, uint32_t worker, uint64_t now,
                          sti_effects *out);

/* Asks a shard to say when its clock is what the call needs. STRADS_ENOMEM. */
strads_err sti_call_ask_clock(sti_client *client, uint32_t worker,
                              uint32_t shard, uint64_t now, sti_effects *out);

/* Asks once, and does not wait: rows that may be as old as they like are
 * renewed so, once a clock. STRADS_ENOMEM. */
strads_err sti_client_renew(sti_client *client, uint32_t worker, uint32_t table,
                            uint32_t n, const uint32_t *rows, sti_effects *out);

/* A cached row as of `needs` or later; NULL: there is none. */
sti_cached_row *sti_client_fresh(sti_client *client, uint32_t table,
                                 uint32_t row, uint64_t needs);

/* C4, C5: asks that are not answered, again: of one shard. */
void sti_call_resend(sti_client *client, sti_client_worker *worker,
                     uint32_t shard, uint64_t now, sti_effects *out);

/* C6 CACHE: takes over the reference. */
void sti_client_take_rows(sti_client *client, uint32_t shard,
                          sti_row_answer *answer, uint64_t now,
                          sti_effects *out);

/* ---- store_client_cache.c ---------------------------------------------- */

/* The clock that a cached row is as of, with what eager messages say. */
uint64_t sti_client_as_of(const sti_client *client, const sti_cached_row *row);

/* Do all parts of an answer fit the tables and the shard? STRADS_EPEER. */
strads_err sti_answer_check(const sti_client *client, uint32_t shard,
                            const sti_row_answer *answer);

/* How many rows an answer has. */
uint32_t sti_answer_rows(const sti_row_answer *answer);

/* Fills rows from an answer, adding own pushes above its `applied`: all rows,
 * pinned for the call, whose rows at `places` they are; with NULL only those
 * that are cached already. An answer that is older than what was acknowledged
 * must not come here. STRADS_ENOMEM; STRADS_EPEER: not the rows of the call. */
strads_err sti_client_fill(sti_client *client, uint32_t shard,
                           const sti_row_answer *answer, sti_waiting_call *call,
                           const uint32_t *places);

/* Row `place` of a call is this one: pinned, and copied to where the caller
 * wants it, with what is pending. */
void sti_call_take(sti_client *client, sti_waiting_call *call, uint32_t place,
                   sti_cached_row *row);
void sti_call_copy(const sti_client *client, sti_waiting_call *call,
                   uint32_t place);

/* Eager rows have been filled in: those not named in it are newer, too. */
void sti_client_told(sti_client *client, uint32_t shard,
                     const sti_row_answer *answer);

/* C2: a push of this node becomes part of the cached rows. Of those that no
 * reader at `clock` or later will want it only says that they are spent. */
void sti_client_join_push(sti_client *client, const sti_buffer *push,
                          uint64_t clock);

#endif
