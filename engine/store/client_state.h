/* engine/store/client_state.h - the state that the halves of a store's client
 * share: client.c pushes and keeps time, client_read.c reads. */
#ifndef STI_STORE_CLIENT_STATE_H
#define STI_STORE_CLIENT_STATE_H

#include "engine/store/client.h"
#include "engine/store/row_cache.h"

/* The ordered pushes to one shard: numbered, kept until acknowledged, bounded,
 * and sent again if they may be lost. Pushes acknowledged + 1 .. pushed are in
 * the ring; push n is at n modulo `capacity`. */
typedef struct sti_push_stream {
    uint64_t pushed, acknowledged; /* numbers; they only grow */
    sti_buffer **ring;             /* [capacity] */
    uint32_t capacity;             /* 0 or a power of two */
    uint64_t bytes;                /* of the unacknowledged pushes */
    /* time of the last acknowledgement, of a push into an empty stream, or of a
     * resend */
    uint64_t moved_at;
} sti_push_stream;

/* Unacknowledged push n; borrowed. */
static inline sti_buffer **sti_stream_at(const sti_push_stream *s, uint64_t n)
{
    return &s->ring[n & (s->capacity - 1)];
}

/* The part of a call that one shard answers. */
typedef struct sti_call_ask {
    sti_row_ask *ask; /* not completely answered; NULL: none */
    uint32_t *places; /* [ask->n] indices of the rows in the call */
    uint32_t got;     /* number of rows that have arrived, in order */
} sti_call_ask;

/* A worker's call that waits for rows, or only for a clock (no rows). Cached
 * rows that it has found are pinned, so that the repeated call finds them. */
typedef struct sti_waiting_call {
    bool used;
    bool exact;
    bool passes; /* rows go only to the caller and are not cached */
    bool gone;   /* the snapshot is gone */
    uint32_t table, n;
    uint32_t *rows; /* [n] the rows of the call */
    /* [n] NULL: not arrived, or only the caller has it */
    sti_cached_row **found;
    uint32_t capacity; /* of both arrays */
    uint32_t next;     /* rows from here on have not been requested */
    uint64_t id, needs;
    uint64_t sent_at;   /* ns of the last request */
    sti_call_ask *asks; /* [shards] */
    uint32_t n_asks;
    char *values; /* [n x row_bytes] owned by the caller */
} sti_waiting_call;

/* Rows that were requested before the clock that needs them. The answers go to
 * the cache, until a call for exactly these rows takes over the requests. */
typedef struct sti_prefetch {
    uint32_t table, n, capacity;
    uint32_t *rows; /* [n] */
    uint64_t needs;
    sti_call_ask *asks; /* [shards] */
} sti_prefetch;

typedef struct sti_client_worker {
    uint64_t clock;
    uint64_t last_id;   /* of its requests */
    uint64_t parked_ns; /* of the answers to its last call */
    uint64_t as_of;     /* of its last read: the least of the rows */
    bool wants_window;  /* one of its pushes waits */
    sti_waiting_call call;
    sti_prefetch ahead;
    sti_receive_queue received;
} sti_client_worker;

/* How a table is read: only rows that are read again are worth caching. */
typedef struct sti_reuse {
    uint64_t brought; /* the highest as-of of rows received */
    /* number of consecutive calls that needed more than that, so that no
     * earlier rows were of use */
    uint32_t once;
} sti_reuse;

struct sti_client {
    sti_client_setup setup; /* with defaults filled in */
    /* [n_tables] each with its own copy of the name */
    strads_table_spec *tables;
    uint32_t n_tables;
    uint32_t n_workers;
    sti_push_stream *streams;   /* [shards] */
    sti_client_worker *workers; /* [n_workers] */
    sti_row_cache cache;
    uint64_t *newest; /* [shards] the highest as-of of the shard's answers */
    sti_reuse *reuse; /* [n_tables] */
    uint64_t stamp;   /* of the last answer or push */
    sti_change_count changes;
    sti_buffer **draft; /* [shards] workspace: pushes that are sent together, */
    uint32_t *leaves;   /* [shards x n_tables] and their numbers of rows */
    bool timed;         /* a TIMER is pending */
    bool failed;
};

static inline sti_client_worker *sti_client_worker_of(const sti_client *client,
                                                      uint32_t worker)
{
    return &client->workers[worker - client->setup.first_worker];
}

static inline size_t sti_client_row_bytes(const sti_client *client,
                                          uint32_t table)
{
    const strads_table_spec *spec = &client->tables[table];
    return sti_cell_size(spec->type) * (size_t)spec->cols;
}

/* ---- client.c ---------------------------------------------------------- */

/* Requests a TIMER if a message may have to be resent and no TIMER is
 * pending. */
void sti_client_time(sti_client *client, uint64_t now, sti_effects *out);

/* Reports the last recorded error to the coordinator; the client then stops. */
void sti_client_fail(sti_client *client, strads_err err, sti_effects *out);

/* ---- client_read.c ----------------------------------------------------- */

void sti_call_discard(sti_client *client, sti_client_worker *worker);
void sti_call_free(sti_waiting_call *call);
/* No call waits for the answers any more. */
void sti_prefetch_discard(sti_client *client, sti_client_worker *worker);

/* C4, C5: resends an unanswered request to one shard. */
void sti_call_resend(sti_client *client, sti_client_worker *worker,
                     uint32_t shard, uint64_t now, sti_effects *out);

/* C2: adds a push of this node to the cached rows. */
void sti_client_join_push(sti_client *client, const sti_buffer *push);

/* C6 CACHE: takes an answer; takes over the reference. */
void sti_client_take_rows(sti_client *client, uint32_t shard,
                          sti_row_answer *answer, uint64_t now,
                          sti_effects *out);

#endif
