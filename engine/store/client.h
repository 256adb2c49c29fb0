/* engine/store/client.h - a node's end of a store that is spread over shards (C1
 * to C6 of the protocol, docs/consistency.md): the cache of rows that its
 * workers share, and its pushes that are not acknowledged yet.
 *
 * A state machine as roles are, with calls besides events: workers (threads)
 * make them, the runtime sees to it that calls and steps come one at a time
 * (one lock, say), and carries out the effects of both. A call that has to wait
 * says so in *wait; after an effect WAKE for its worker it is repeated, with
 * the same arguments. A WAKE may come without need: then the call says again to
 * wait. A worker is at one call at a time; when it makes another call instead
 * of repeating the one that waits, that one is forgotten.
 *
 * A worker's increments since its last push (C1) are its own, without any lock:
 * a sti_pending of each table and shard (pending.h), [n_tables x shards]. It
 * adds to them alone, reads are given them, pushes empty them. */
#ifndef STI_STORE_CLIENT_H
#define STI_STORE_CLIENT_H

#include <stdatomic.h>

#include "engine/base/role.h"
#include "engine/store/session.h"

typedef struct sti_client sti_client;

/* Pushes that may be unacknowledged, of each shard: who pushes more waits, so
 * that a slow shard slows a run instead of growing it. */
enum { STI_PUSHES_MAX = 64 };

/* Of rows in one push, about: they leave while the next ones are made. */
enum { STI_PIECE_BYTES = 256 << 10 };

typedef struct sti_client_setup {
    uint32_t client; /* its address is STI_CLIENT_0 + client */
    uint32_t shards;
    uint32_t first_worker, workers;  /* its own, .. */
    uint32_t peers;                  /* .. of all workers of the run */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    uint64_t cache_bytes;  /* rows that nobody is about to read; 0: 256 MB */
    uint32_t max_pushes;   /* unacknowledged, for each shard; 0: 64 */
    uint64_t max_bytes;    /* the same; 0: 2 MB, with max_pushes 256 MB */
    uint64_t piece_bytes;  /* 0: STI_PIECE_BYTES */
    uint64_t window_bytes; /* of rows asked for at once, about; 0: 8 MB */
    uint64_t resend_ns;    /* C4, C5; 0: 0.5 s */
} sti_client_setup;

/* STRADS_EINVAL: a table's spec. STRADS_ENOMEM. */
strads_err sti_client_new(const sti_client_setup *setup, sti_client **out);
void sti_client_free(sti_client *client);

/* Takes n events in order, appends effects: MESSAGE (ACK, ROWS of any
 * shard), TIMER. It emits SEND (PUSH, ASK_ROWS; FAIL to the
 * coordinator when a shard broke a rule or memory ran out), TIMER, WAKE. */
void sti_client_step(sti_client *client, const sti_event *events, size_t n,
                     sti_effects *out);

/* ---- a worker's calls -------------------------------------------------- */

typedef struct sti_client_read {
    uint32_t worker, table;
    uint32_t n;
    const uint32_t *rows; /* [n] */
    uint32_t staleness;   /* or STRADS_STALENESS_INFINITE */
    bool exact;           /* see below; staleness does not matter then */
    const strads_session *session; /* what it has pending; NULL: nothing */
    uint64_t now;
} sti_client_read;

/* C5 READ: n rows into values[n x cols] (of the table's type, sparse rows
 * written out in full; while the call waits some may come there, and it has to
 * be repeated, or forgotten, before the memory goes away), each of them as of
 * clock c - staleness or later, c being the worker's clock; with all pushes of
 * this node, and what is pending.
 * `exact`: as of the last clock T <= c at which the table keeps a snapshot
 * (spec.snapshot_every), with no update of clock T or later, and nothing
 * pending. Until this worker reaches the next such clock it can be had.
 * STRADS_EINVAL: no such table, row or snapshot. STRADS_ESTATE: the snapshot
 * was not kept, because some worker was too far ahead. STRADS_ENOMEM. */
strads_err sti_client_read_rows(sti_client *client, const sti_client_read *read,
                                void *values, bool *wait, sti_effects *out);

/* Asks for rows as the worker's next clock needs them; a read of the same rows
 * then waits for these answers. One at a time for each worker: of what is on its
 * way a later ask of the worker takes the place. STRADS_ENOMEM. */
strads_err sti_client_prefetch(sti_client *client, const sti_client_read *read,
                               sti_effects *out);

/* The same of rows that are in the cache and fresh, all of the table; false:
 * they are not, or something is to be sent besides. Then sti_client_read_rows
 * is to be called. */
bool sti_client_read_cached(sti_client *client, const sti_client_read *read,
                            void *values);

/* Grows whenever a cached row, or the clock that it is as of, changes: while it
 * stands still a worker that has read a row would read the same again in its
 * clock. Valid as long as the client. Any thread. */
const sti_change_count *sti_client_changes(const sti_client *client);

/* Lets it grow: nothing that was read before is to be used again. Any thread.
 */
void sti_client_outdate(sti_client *client);

/* What waits is not going to be repeated. */
void sti_client_forget(sti_client *client, uint32_t worker);

/* Of a worker's last call: how long the answers to it had waited for clocks; of
 * its last read, the least clock that its rows are as of. */
uint64_t sti_client_parked(const sti_client *client, uint32_t worker);
uint64_t sti_client_as_of(const sti_client *client, uint32_t worker);

/* C2 PUSH: what is pending, to all shards that it concerns; CLOCK and LEAVE
 * tell all shards. With CLOCK filters of the tables' specs may keep some of it
 * pending. More than a piece leaves as several pushes, of which the last one
 * ends the clock. *wait: a window is full, and what has not been pushed is
 * pending still. STRADS_ENOMEM, STRADS_ELIMIT (a push beyond 1 GiB): so, too.
 */
strads_err sti_client_push(sti_client *client, uint32_t worker,
                           sti_push_end end, sti_pending *pending, uint64_t now,
                           bool *wait, sti_effects *out);

/* C2, before the clock ends: a piece of what is pending in one table for one
 * shard leaves now, the last that was added to. *wait: a window is full, and it
 * is pending still. STRADS_ENOMEM, STRADS_ELIMIT: so, too. */
strads_err sti_client_push_early(sti_client *client, uint32_t worker,
                                 sti_pending *pending, uint64_t now, bool *wait,
                                 sti_effects *out);

/* The worker's next CLOCK ends all its clocks below `clock`, not its own alone:
 * it has no more to add in them. At `clock` or beyond it nothing changes. */
void sti_client_skip(sti_client *client, uint32_t worker, uint64_t clock);

/* Waits until all workers that have not left are at this worker's clock. */
strads_err sti_client_barrier(sti_client *client, uint32_t worker, uint64_t now,
                              bool *wait, sti_effects *out);

/* A vector of a peer to another one, whose client has that address; takes over the
 * reference. Does not wait. */
strads_err sti_client_post(sti_client *client, uint32_t to, sti_address home,
                           sti_buffer *packed, sti_effects *out);

/* Peer `peer` of another client is lost. */
strads_err sti_client_lose(sti_client *client, uint32_t peer, sti_effects *out);

/* What has come from peers, when all that is needed of it has. */
void sti_client_collect(sti_client *client, uint32_t worker,
                        sti_collect *collect, bool *wait);

uint64_t sti_client_clock(const sti_client *client, uint32_t worker);

/* Have all pushes been acknowledged? */
bool sti_client_settled(const sti_client *client);

/* ---- its workers' sessions (client_session.c) -------------------------- */

/* Who runs a client, as a session of one of its workers sees it. A call begins,
 * is tried, waits and is tried again, and ends; meanwhile nobody else is at the
 * client but while it waits. `worker` is the worker's number. */
typedef struct sti_client_host {
    sti_client *client;
    sti_effects *effects; /* where calls' effects go */
    const strads_table_spec *tables;
    uint32_t n_tables, shards;
    uint64_t piece; /* bytes of rows for a shard that may leave early; 0: none
                       do */
    /* Fails with what has ended the run; `end` follows all the same. */
    strads_err (*begin)(struct sti_client_host *host, uint32_t worker);
    /* Effects are carried out, and others go on until the worker is woken. Fails
     * as `begin`. */
    strads_err (*wait)(struct sti_client_host *host, uint32_t worker);
    /* NULL, or: a clock of the worker ends, for which it has computed. Before
     * `begin`; fails as that. */
    strads_err (*computed)(struct sti_client_host *host, uint32_t worker);
    /* Effects are carried out; with `more` they may be left to the worker's next
     * call, which follows at once. */
    void (*end)(struct sti_client_host *host, uint32_t worker, bool more);
    /* The client of a worker of the run. */
    sti_address (*home)(const struct sti_client_host *host, uint32_t worker);
    /* ns, as events' `now`; zero_ns after what sessions' times count from. */
    uint64_t (*now)(const struct sti_client_host *host);
    uint64_t zero_ns;
    atomic_bool has_peers; /* some worker here has sent a vector */
} sti_client_host;

/* A session of one of the client's workers, at the clock at which that is.
 * STRADS_ENOMEM. */
strads_err sti_client_session(sti_client_host *host, uint32_t worker,
                              uint32_t workers, strads_session **out);

/* Forgets all cached rows, while no call waits: the next reads ask shards. */
void sti_client_forget_rows(sti_client *client);

#endif
