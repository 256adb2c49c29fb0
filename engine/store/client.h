/* engine/store/client.h - a node's client of a store that is spread over shards
 * (C1 to C6 of the protocol, docs/consistency.md): the row cache that its
 * workers share, and its unacknowledged pushes.
 *
 * A state machine like the roles, with calls besides events. Workers (threads)
 * make the calls. The runtime serialises calls and steps, for example with one
 * lock, and carries out the effects of both. A call that must wait sets *wait;
 * after the effect WAKE for its worker it is repeated with the same arguments.
 * A WAKE may be spurious: the repeated call then sets *wait again. A worker has
 * one call at a time. If it makes another call instead of repeating the waiting
 * one, the waiting one is dropped.
 *
 * A worker's increments since its last push (C1) are its own and need no lock:
 * a sti_pending for each table and shard (pending.h), [n_tables x shards]. Only
 * the worker adds to them; reads receive them, pushes empty them. */
#ifndef STI_STORE_CLIENT_H
#define STI_STORE_CLIENT_H

#include <stdatomic.h>

#include "engine/base/role.h"
#include "engine/store/session.h"

typedef struct sti_client sti_client;

/* Unacknowledged pushes per shard. A worker with more pushes waits, so a slow
 * shard slows a run down instead of growing its memory. */
enum { STI_PUSHES_MAX = 64 };

/* Approximate bytes of rows in one push: a piece is sent while the next one is
 * made. */
enum { STI_PIECE_BYTES = 256 << 10 };

typedef struct sti_client_setup {
    uint32_t client; /* its address is STI_CLIENT_0 + client */
    uint32_t shards;
    uint32_t first_worker, workers;  /* this node's workers, and */
    uint32_t peers;                  /* all workers of the run */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    uint64_t cache_bytes; /* for rows that are not pinned; 0: 256 MB */
    uint32_t max_pushes;  /* unacknowledged, per shard; 0: 64 */
    /* unacknowledged, per shard; 0: 2 MB, or 256 MB if max_pushes is set */
    uint64_t max_bytes;
    uint64_t piece_bytes; /* 0: STI_PIECE_BYTES */
    /* approximate bytes of rows requested at once; 0: 8 MB */
    uint64_t window_bytes;
    uint64_t resend_ns; /* C4, C5; 0: 0.5 s */
} sti_client_setup;

/* STRADS_EINVAL: a table's spec is invalid. STRADS_ENOMEM. */
strads_err sti_client_new(const sti_client_setup *setup, sti_client **out);
void sti_client_free(sti_client *client);

/* Takes n events in order and appends effects: MESSAGE (ACK, ROWS of any
 * shard), TIMER. It emits SEND (PUSH, ASK_ROWS; FAIL to the coordinator if a
 * shard broke a rule or memory ran out), TIMER, WAKE. */
void sti_client_step(sti_client *client, const sti_event *events, size_t n,
                     sti_effects *out);

/* ---- a worker's calls -------------------------------------------------- */

typedef struct sti_client_read {
    uint32_t worker, table;
    uint32_t n;
    const uint32_t *rows;          /* [n] */
    uint32_t staleness;            /* or STRADS_STALENESS_INFINITE */
    bool exact;                    /* see below; staleness is then ignored */
    const strads_session *session; /* for its pending increments; NULL: none */
    uint64_t now;
} sti_client_read;

/* C5 READ: copies n rows to values[n x cols], in the table's type, sparse rows
 * in full. Each row is as of clock c - staleness or later, c being the worker's
 * clock, and includes all pushes of this node and the session's pending
 * increments. While the call waits, rows may arrive in `values`; the caller
 * must repeat or forget the call before it frees that memory. `exact`: rows as
 * of the last clock T <= c at which the table keeps a snapshot
 * (spec.snapshot_every), without updates of clock T or later and without
 * pending increments. The snapshot is available until this worker reaches the
 * next such clock. STRADS_EINVAL: no such table, row or snapshot.
 * STRADS_ESTATE: the snapshot was not kept, because a worker was too far ahead.
 * STRADS_ENOMEM. */
strads_err sti_client_read_rows(sti_client *client, const sti_client_read *read,
                                void *values, bool *wait, sti_effects *out);

/* Requests rows as of the worker's next clock; a read of the same rows then
 * waits for these answers. A worker has one prefetch at a time; a new one
 * replaces it. STRADS_ENOMEM. */
strads_err sti_client_prefetch(sti_client *client, const sti_client_read *read,
                               sti_effects *out);

/* Reads rows that are all in the cache and fresh. False: they are not, or the
 * read needs a message; call sti_client_read_rows. */
bool sti_client_read_cached(sti_client *client, const sti_client_read *read,
                            void *values);

/* A counter that grows whenever a cached row or its as-of clock changes. While
 * it is unchanged, repeating a read in the same clock returns the same values.
 * Valid as long as the client. Any thread. */
const sti_change_count *sti_client_changes(const sti_client *client);

/* Raises that counter, which invalidates all earlier reads. Any thread. */
void sti_client_outdate(sti_client *client);

/* Drops a waiting call that is not going to be repeated. */
void sti_client_discard(sti_client *client, uint32_t worker);

/* sti_client_parked: how long the answers to the worker's last call waited for
 * clocks. sti_client_as_of: the least as-of clock of the rows of its last
 * read. */
uint64_t sti_client_parked(const sti_client *client, uint32_t worker);
uint64_t sti_client_as_of(const sti_client *client, uint32_t worker);

/* C2 PUSH: sends the pending increments to the shards concerned; CLOCK and
 * LEAVE go to all shards. With CLOCK, filters of the table specs may keep some
 * increments pending. More than one piece is sent as several pushes; the last
 * one ends the clock. *wait: a window is full; the remaining increments stay
 * pending. The same holds after STRADS_ENOMEM and STRADS_ELIMIT (a push beyond
 * 1 GiB). */
strads_err sti_client_push(sti_client *client, uint32_t worker,
                           sti_push_end end, sti_pending *pending, uint64_t now,
                           bool *wait, sti_effects *out);

/* C2 before the clock ends: sends a piece of one table's pending increments for
 * one shard, the rows added last. *wait: a window is full; the rows stay
 * pending. The same holds after STRADS_ENOMEM and STRADS_ELIMIT. */
strads_err sti_client_push_early(sti_client *client, uint32_t worker,
                                 sti_pending *pending, uint64_t now, bool *wait,
                                 sti_effects *out);

/* The worker's next CLOCK ends all its clocks below `clock`; it has nothing
 * more to add in them. No effect if the worker is at `clock` or beyond. */
void sti_client_skip(sti_client *client, uint32_t worker, uint64_t clock);

/* Waits until all workers that have not left are at this worker's clock. */
strads_err sti_client_barrier(sti_client *client, uint32_t worker, uint64_t now,
                              bool *wait, sti_effects *out);

/* Sends a peer's vector to peer `to` at its client's address `home`;
 * takes over the reference. Does not wait. */
strads_err sti_client_post(sti_client *client, uint32_t to, sti_address home,
                           sti_buffer *packed, sti_effects *out);

/* Marks a peer of another client as lost. */
strads_err sti_client_lose(sti_client *client, uint32_t peer, sti_effects *out);

/* Takes the vectors from peers, once all vectors that the gather needs have
 * arrived. */
void sti_client_collect(sti_client *client, uint32_t worker,
                        sti_collect *collect, bool *wait);

uint64_t sti_client_clock(const sti_client *client, uint32_t worker);

/* Whether all pushes have been acknowledged. */
bool sti_client_settled(const sti_client *client);

/* ---- its workers' sessions (client_session.c) -------------------------- */

/* The runtime of a client, as the session of one of its workers uses it. A call
 * begins, is tried, waits and is tried again, and ends. From `begin` to `end`,
 * except in `wait`, the client is the worker's alone. `worker` is the worker's
 * number. */
typedef struct sti_client_host {
    sti_client *client;
    sti_effects *effects; /* receives the effects of calls */
    const strads_table_spec *tables;
    uint32_t n_tables, shards;
    /* size of an early push of rows to a shard; 0: no early pushes */
    uint64_t piece;
    /* Fails with the error that ended the run; `end` follows also then. */
    strads_err (*begin)(struct sti_client_host *host, uint32_t worker);
    /* Carries the effects out and lets others use the client until the worker
     * is woken. Fails as `begin`. */
    strads_err (*wait)(struct sti_client_host *host, uint32_t worker);
    /* May be NULL. Called before `begin` when the worker has computed and ends
     * a clock; fails as `begin`. */
    strads_err (*computed)(struct sti_client_host *host, uint32_t worker);
    /* Carries the effects out; with `more`, the worker's next call follows at
     * once and may do it. */
    void (*end)(struct sti_client_host *host, uint32_t worker, bool more);
    /* The address of the client of a worker. */
    sti_address (*home)(const struct sti_client_host *host, uint32_t worker);
    /* ns, as events' `now`; it starts zero_ns after the zero of the sessions'
     * times. */
    uint64_t (*now)(const struct sti_client_host *host);
    uint64_t zero_ns;
    atomic_bool has_peers; /* a worker of this node has sent a vector */
} sti_client_host;

/* A session of one of the client's workers, at the worker's clock.
 * STRADS_ENOMEM. */
strads_err sti_client_session(sti_client_host *host, uint32_t worker,
                              uint32_t workers, strads_session **out);

/* Drops all cached rows, while no call waits; the next reads ask the shards. */
void sti_client_discard_rows(sti_client *client);

#endif
