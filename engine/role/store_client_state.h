/* engine/role/store_client_state.h - what the files of a store's client share:
 * store_client.c pushes and keeps time, store_client_read.c asks and reads,
 * store_client_cache.c takes rows in. */
#ifndef STI_STORE_CLIENT_STATE_H
#define STI_STORE_CLIENT_STATE_H

#include "engine/role/push_stream.h"
#include "engine/role/store_client.h"
#include "engine/role/store_message.h"
#include "engine/store/adaptive_staleness.h"
#include "engine/store/row_cache.h"

/* A call of a worker that waits for rows, or for a clock alone (no rows). */
typedef struct sti_waiting_call {
    bool used;
    bool exact;
    uint32_t table, n;
    uint32_t *rows; /* [n] what the call named */
    uint64_t id, needs;
    uint64_t since, sent_at; /* ns: when it began, asked last */
    sti_row_ask **asks;      /* [shards] not answered yet; NULL: none */
    uint32_t n_asks;
    sti_cached_row **pinned; /* [n_pinned] what it is to find when repeated */
    uint32_t n_pinned, room_pinned;
    char *values; /* exact: [n x row_bytes] */
    bool gone;    /* exact */
} sti_waiting_call;

typedef struct sti_client_worker {
    uint64_t clock;
    uint64_t last_id;  /* of its asks */
    bool wants_window; /* a push of it waits */
    sti_waiting_call call;
    sti_adaptive adaptive;
} sti_client_worker;

/* Eager rows: those of a table on a shard that are as of `from` or later, and
 * that no later message named, are as of `to`. */
typedef struct sti_eager_chain {
    uint64_t from, to;
} sti_eager_chain;

struct sti_client {
    uint32_t client, shards, first_worker, n_workers;
    uint64_t resend_ns;
    strads_table_spec *tables; /* [n_tables], each with a name of its own */
    uint32_t n_tables;
    uint32_t adaptive_most;     /* the largest staleness_max that was read by */
    sti_push_stream *streams;   /* [shards] */
    sti_client_worker *workers; /* [n_workers] */
    sti_row_cache cache;
    sti_eager_chain *chains; /* [n_tables x shards] */
    uint64_t *newest;        /* [shards] the highest as-of of their answers */
    uint64_t stamp;          /* of the last answer */
    bool timed;              /* a TIMER is under way */
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

/* ---- store_client.c ---------------------------------------------------- */

/* Sees to it that a TIMER comes while something may have to be sent again. */
void sti_client_time(sti_client *client, uint64_t now, sti_effects *out);

/* Tells the coordinator, with the sentence recorded last; goes no further. */
void sti_client_fail(sti_client *client, strads_err err, sti_effects *out);

/* ---- store_client_read.c ----------------------------------------------- */

void sti_call_forget(sti_client *client, sti_client_worker *worker);

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

/* Fills rows from an answer, adding own pushes above its `applied`: all rows,
 * pinned for `call`; with NULL only those that are cached already. An answer
 * that is older than what was acknowledged must not come here. STRADS_ENOMEM.
 */
strads_err sti_client_fill(sti_client *client, uint32_t shard,
                           const sti_row_answer *answer,
                           sti_waiting_call *call);

/* Eager rows have been filled in: those not named in it are newer, too. */
void sti_client_told(sti_client *client, uint32_t shard,
                     const sti_row_answer *answer);

/* C2: a push of this node becomes part of the cached rows. */
void sti_client_add_push(sti_client *client, const sti_buffer *push,
                         uint64_t stamp);

/* Notes that `call` is to find this row. STRADS_ENOMEM. */
strads_err sti_call_pin(sti_client *client, sti_waiting_call *call,
                        sti_cached_row *row);

#endif
