/* engine/store/client_state.h - what the two halves of a store's client share:
 * client.c pushes and keeps time, client_read.c reads. */
#ifndef STI_STORE_CLIENT_STATE_H
#define STI_STORE_CLIENT_STATE_H

#include "engine/store/client.h"
#include "engine/store/row_cache.h"

/* The ordered pushes to one shard: numbered, kept until they are acknowledged,
 * bounded, and sent again when they may be lost. Pushes acknowledged + 1 ..
 * pushed are in the ring, number n at n modulo `capacity`. */
typedef struct sti_push_stream {
    uint64_t pushed, acknowledged; /* numbers; neither ever goes back */
    sti_buffer **ring;             /* [capacity] */
    uint32_t capacity;             /* 0 or a power of two */
    uint64_t bytes;                /* of those unacknowledged */
    uint64_t moved_at; /* when one was acknowledged, sent as the only one, or
                          all were sent again */
} sti_push_stream;

/* Push n of those unacknowledged; borrowed. */
static inline sti_buffer **sti_stream_at(const sti_push_stream *s, uint64_t n)
{
    return &s->ring[n & (s->capacity - 1)];
}

/* A part of a call that one shard has to answer. */
typedef struct sti_call_ask {
    sti_row_ask *ask; /* not answered in full yet; NULL: none */
    uint32_t *places; /* [ask->n] which of the call's rows they are */
    uint32_t got;     /* so many have come, in order */
} sti_call_ask;

/* A call of a worker that waits for rows, or for a clock alone (no rows). A
 * cached row that it has found is pinned, so that it is there when the call is
 * repeated, whatever else goes through the cache. */
typedef struct sti_waiting_call {
    bool used;
    bool exact;
    bool passes; /* rows go to the caller alone, and are not cached */
    bool gone;   /* the snapshot is */
    uint32_t table, n;
    uint32_t *rows;         /* [n] what the call named */
    sti_cached_row **found; /* [n] NULL: not yet, or only the caller has it */
    uint32_t capacity;      /* of both */
    uint32_t next;          /* rows from here on were not asked for yet */
    uint64_t id, needs;
    uint64_t sent_at;   /* ns: when it asked last */
    sti_call_ask *asks; /* [shards] */
    uint32_t n_asks;
    char *values; /* [n x row_bytes] the caller's */
} sti_waiting_call;

/* Rows that were asked for ahead of the clock that needs them. Their answers go to
 * the cache, until a call for just these rows takes over the asks. */
typedef struct sti_prefetch {
    uint32_t table, n, capacity;
    uint32_t *rows; /* [n] */
    uint64_t needs;
    sti_call_ask *asks; /* [shards] */
} sti_prefetch;

typedef struct sti_client_worker {
    uint64_t clock;
    uint64_t last_id;   /* of its asks */
    uint64_t parked_ns; /* of the answers to its last call */
    uint64_t as_of;     /* of its last read, the least of the rows */
    bool wants_window;  /* a push of it waits */
    sti_waiting_call call;
    sti_prefetch ahead;
    sti_receive_queue received;
} sti_client_worker;

/* How a table is read: only rows that are read again are worth caching. */
typedef struct sti_reuse {
    uint64_t brought; /* the highest as-of of rows that have come */
    uint32_t once;    /* so many calls in a row needed more than that: nothing
                         that came before one of them was of use to it */
} sti_reuse;

struct sti_client {
    sti_client_setup setup;    /* with its defaults filled in; .. */
    strads_table_spec *tables; /* [n_tables] .. each with a name of its own */
    uint32_t n_tables;
    uint32_t n_workers;
    sti_push_stream *streams;   /* [shards] */
    sti_client_worker *workers; /* [n_workers] */
    sti_row_cache cache;
    uint64_t *newest; /* [shards] the highest as-of of their answers */
    sti_reuse *reuse; /* [n_tables] */
    uint64_t stamp;   /* of the last answer, or push */
    sti_change_count changes;
    sti_buffer **draft; /* [shards] scratch: pushes that are made together, */
    uint32_t *leaves;   /* [shards x n_tables] and how many rows are in each */
    bool timed;         /* a TIMER is under way */
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

/* Sees to it that a TIMER comes while something may have to be sent again. */
void sti_client_time(sti_client *client, uint64_t now, sti_effects *out);

/* Tells the coordinator, with the sentence recorded last; goes no further. */
void sti_client_fail(sti_client *client, strads_err err, sti_effects *out);

/* ---- client_read.c ----------------------------------------------------- */

void sti_call_forget(sti_client *client, sti_client_worker *worker);
void sti_call_free(sti_waiting_call *call);
/* Nobody waits for the answers any more. */
void sti_prefetch_forget(sti_client *client, sti_client_worker *worker);

/* C4, C5: an ask that is not answered, again: of one shard. */
void sti_call_resend(sti_client *client, sti_client_worker *worker,
                     uint32_t shard, uint64_t now, sti_effects *out);

/* C2: a push of this node becomes part of the cached rows. */
void sti_client_join_push(sti_client *client, const sti_buffer *push);

/* C6 CACHE: takes over the reference. */
void sti_client_take_rows(sti_client *client, uint32_t shard,
                          sti_row_answer *answer, uint64_t now,
                          sti_effects *out);

#endif
