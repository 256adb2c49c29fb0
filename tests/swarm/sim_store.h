/* tests/swarm/sim_store.h - a store spread over simulated nodes, in virtual
 * time, under all kinds of faults.
 *
 * Shard s is alone on node s; client c is on node shards + c with its workers.
 * A worker is a thread that takes turns by the run token (sim_run_token.h). It
 * runs a body like a program's worker, and its calls return in virtual time.
 * Everything else is events of one queue. Messages are frames of a network that
 * loses, duplicates, damages and delays (sim_store_net.h). The setup plans when
 * links are cut, connections broken, and nodes slowed or paused. The same setup
 * gives the same run, event for event. */
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
    STI_SIM_CUT = 2,   /* no frame passes between `node` and `other` */
    STI_SIM_ISLE = 3,  /* the same, between `node` and all others */
    STI_SIM_BREAK = 4, /* as CUT, and frames in flight are lost */
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
    uint64_t piece_bytes, window_bytes;         /* pieces: as in shard.h, too */
    uint64_t around_bytes;                      /* as in pending.h */
    uint32_t max_pushes;
    uint64_t job_ns; /* a shard's job takes this long, up to twice that */
    sti_sim_weather weather;
    const sti_sim_fault *faults;
    uint32_t n_faults;
    uint64_t calm_at; /* from then on the network loses no frames */
    /* A run that has not ended by then is stuck. */
    uint64_t limit_ns, limit_events;

    /* The code of a worker; it leaves the store before it returns. */
    void (*body)(void *arg, sti_sim_worker *worker);
    /* May be NULL. Called for every message that a role sends; it may change
     * the message. */
    void (*sends)(void *arg, sti_msg *msg);
    void *arg;

    FILE *tell;         /* NULL, or the output of the event log, a line each, */
    uint64_t tell_from; /* from this event on */
} sti_sim_store_setup;

typedef struct sti_sim_store_outcome {
    uint64_t events, now, digest; /* XXH3-64 of all events in order */
    uint64_t frames, bytes, lost, doubled, damaged;
    uint64_t resent;     /* pushes sent more than once */
    uint64_t kept_reads; /* answered by a worker's recent rows */
} sti_sim_store_outcome;

/* STRADS_ENOMEM, STRADS_EINVAL. The objects in the setup outlive the
 * simulation. */
strads_err sti_sim_store_new(const sti_sim_store_setup *setup,
                             sti_sim_store **out);
void sti_sim_store_free(sti_sim_store *sim);

/* Runs until all workers have left, all pushes are acknowledged and all shards
 * know that all have left. Returns a role's error, or the argument of
 * sti_sim_store_stop; STRADS_ELIMIT: stuck. */
strads_err sti_sim_store_run(sti_sim_store *sim);

/* From a body or `sends`: ends the run with this error and the last recorded
 * sentence. The first one counts. */
void sti_sim_store_stop(sti_sim_store *sim, strads_err err);

void sti_sim_store_outcome_of(const sti_sim_store *sim,
                              sti_sim_store_outcome *out);

/* A shard's final state, after a run without an error. */
const sti_shard *sti_sim_store_shard(const sti_sim_store *sim, uint32_t shard);

/* Writes a line of the event log, from a body. */
void sti_sim_store_log(sti_sim_store *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- a worker's calls, from its body ------------------------------------
 *
 * Each returns STRADS_ECANCELED if the run has ended; the body must then return
 * at once. */

uint32_t sti_sim_worker_number(const sti_sim_worker *worker);
uint64_t sti_sim_worker_clock(const sti_sim_worker *worker);
sti_sim_store *sti_sim_worker_store(const sti_sim_worker *worker);

/* For all calls except sti_sim_worker_read and _leave. The body must not close
 * it. */
strads_session *sti_sim_worker_session(const sti_sim_worker *worker);

/* The value of STRADS_STALENESS_ADAPTIVE in the next read of a table. */
uint32_t sti_sim_worker_staleness(const sti_sim_worker *worker, uint32_t table);

/* As strads_session_read_row and _read_rows, or, if exact, as
 * strads_session_read_snapshot; *as_of: the least as-of clock of the rows. */
strads_err sti_sim_worker_read(sti_sim_worker *worker,
                               const sti_client_read *read, void *values,
                               uint64_t *as_of);

/* Leaves the store, as closing the session does. */
strads_err sti_sim_worker_leave(sti_sim_worker *worker);

/* Lets time pass; more on a slow node. */
strads_err sti_sim_worker_compute(sti_sim_worker *worker, uint64_t ns);

#endif
