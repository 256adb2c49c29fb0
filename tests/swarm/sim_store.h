/* tests/swarm/sim_store.h - a store spread over simulated nodes, in
 * virtual time, where everything goes wrong that may go wrong.
 *
 * Shard s is alone on node s; client c is on node shards + c with its
 * workers. A worker is a thread that holds the run token (sim_run_token.h): it runs a
 * body as a program's worker does, and its calls return when they are through,
 * in virtual time. All else is events of one queue, and messages are frames of
 * a network that loses, doubles, damages and delays (sim_store_net.h). Links
 * are cut, connections broken, nodes slowed and paused, as the setup plans it.
 * The same setup gives the same run, event for event. */
#ifndef STI_SIM_STORE_H
#define STI_SIM_STORE_H

#include <stdio.h>

#include "engine/store/client.h"
#include "engine/store/shard.h"
#include "tests/swarm/sim_store_net.h"

typedef struct sti_sim_store sti_sim_store;
typedef struct sti_sim_worker sti_sim_worker;

typedef enum sti_sim_fault_kind {
    STI_SIM_PAUSE = 0, /* `node` does nothing for `lasts` */
    STI_SIM_SLOW = 1,  /* `node` takes `factor` times as long */
    STI_SIM_CUT = 2,   /* nothing comes through between `node` and `other` */
    STI_SIM_ISLE = 3,  /* the same, between `node` and all others */
    STI_SIM_BREAK = 4, /* as CUT, and what is on its way is lost */
    STI_SIM_FAULTS
} sti_sim_fault_kind;

typedef struct sti_sim_fault {
    sti_sim_fault_kind kind;
    uint32_t node, other, factor;
    uint64_t at, lasts; /* ns */
} sti_sim_fault;

enum { STI_SIM_WORKERS_MAX = 64 }; /* of a client */

typedef struct sti_sim_store_setup {
    uint64_t seed;
    uint32_t shards, clients, workers_each;
    const strads_table_spec *tables;
    uint32_t n_tables;
    uint64_t cache_bytes, max_bytes, resend_ns; /* as in client.h */
    uint64_t piece_bytes, window_bytes;         /* pieces: in shard.h, too */
    uint64_t around_bytes;                      /* as in pending.h */
    uint32_t max_pushes;
    uint64_t job_ns; /* a shard's job takes that, up to twice that */
    sti_sim_weather weather;
    const sti_sim_fault *faults;
    uint32_t n_faults;
    uint64_t calm_at; /* from then on the network loses nothing */
    /* The run is stuck when it has not ended by then. */
    uint64_t limit_ns, limit_events;

    /* A worker's life; it leaves the store before it returns. */
    void (*body)(void *arg, sti_sim_worker *worker);
    /* NULL, or: what a role sends, as it does; it may be changed on its way. */
    void (*sends)(void *arg, sti_msg *msg);
    void *arg;

    FILE *tell;         /* NULL, or where events are told, a line each, */
    uint64_t tell_from; /* from this one on */
} sti_sim_store_setup;

typedef struct sti_sim_store_outcome {
    uint64_t events, now, digest; /* XXH3-64 of all events in order */
    uint64_t frames, bytes, lost, doubled, damaged;
    uint64_t resent;     /* pushes, more than once */
    uint64_t kept_reads; /* answered by what a worker had kept */
} sti_sim_store_outcome;

/* STRADS_ENOMEM, STRADS_EINVAL. What the setup points to outlives the
 * simulation. */
strads_err sti_sim_store_new(const sti_sim_store_setup *setup,
                             sti_sim_store **out);
void sti_sim_store_free(sti_sim_store *sim);

/* Runs until all workers have left, all pushes are acknowledged and all shards
 * know that all have left. Its error is a role's, or what sti_sim_store_stop was told; STRADS_ELIMIT: stuck. */
strads_err sti_sim_store_run(sti_sim_store *sim);

/* From a body or `sends`: ends the run with this error, and the sentence that
 * was recorded last. The first one counts. */
void sti_sim_store_stop(sti_sim_store *sim, strads_err err);

void sti_sim_store_outcome_of(const sti_sim_store *sim,
                              sti_sim_store_outcome *out);

/* What a shard keeps, after a run that ended well. */
const sti_shard *sti_sim_store_shard(const sti_sim_store *sim, uint32_t shard);

/* A line of the tale, from a body. */
void sti_sim_store_tell(sti_sim_store *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- a worker's calls, from its body ------------------------------------
 *
 * Each returns STRADS_ECANCELED when the run has ended meanwhile: then the body
 * returns at once. */

uint32_t sti_sim_worker_number(const sti_sim_worker *worker);
uint64_t sti_sim_worker_clock(const sti_sim_worker *worker);
sti_sim_store *sti_sim_worker_store(const sti_sim_worker *worker);

/* For all calls but the two below. It must not be closed. */
strads_session *sti_sim_worker_session(const sti_sim_worker *worker);

/* What STRADS_STALENESS_ADAPTIVE is in the next read of a table. */
uint32_t sti_sim_worker_staleness(const sti_sim_worker *worker, uint32_t table);

/* As strads_session_read_row and _read_rows, or an exact read as
 * strads_session_read_snapshot; *as_of: the least clock that the rows are as of.
 */
strads_err sti_sim_worker_read(sti_sim_worker *worker,
                               const sti_client_read *read, void *values,
                               uint64_t *as_of);

/* What closing its session does. */
strads_err sti_sim_worker_leave(sti_sim_worker *worker);

/* Time passes, more on a slow node. */
strads_err sti_sim_worker_compute(sti_sim_worker *worker, uint64_t ns);

#endif
