/* engine/store/shard.h - the role that keeps rows: it takes in pushes of each
 * client in the order of their numbers, each once, says how far it is, and
 * answers who asks for rows (S1 to S3 of the protocol, docs/consistency.md).
 *
 * What it keeps is one state: its rows of the tables, how far each client's
 * stream and each worker's clock is, and snapshots of exact clocks. It changes
 * by pushes alone, in one order, so the same pushes in the same order give the
 * same state.
 *
 * Belongs to one thread at a time. */
#ifndef STI_STORE_SHARD_H
#define STI_STORE_SHARD_H

#include "engine/base/role.h"
#include "engine/store/local_store.h"

typedef struct sti_shard sti_shard;

/* The clock of a worker that has left; of a shard whose workers all have. */
#define STI_CLOCK_GONE UINT64_MAX

typedef struct sti_shard_setup {
    uint32_t shard, shards;          /* its number, of how many */
    uint32_t clients;                /* from STI_CLIENT_0 on: streams */
    uint32_t workers;                /* of all clients */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    uint64_t memory_limit; /* of rows and snapshots; 0: what is free */
    uint64_t piece_bytes;  /* of an answer, about; 0: 256 KB */
} sti_shard_setup;

/* STRADS_EINVAL: a table's spec. STRADS_ENOMEM. */
strads_err sti_shard_new(const sti_shard_setup *setup, sti_shard **out);
void sti_shard_free(sti_shard *shard);

/* Takes n events in order, appends effects: MESSAGE (PUSH, ASK_ROWS). It sends
 * ACK, ROWS, and FAIL to the coordinator when its work has failed or a client
 * broke a rule; then it goes no further. */
void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out);

/* Is there something to be done? *bytes: so many of pushes would be taken in;
 * 0: rows are read. */
bool sti_shard_has_work(const sti_shard *shard, uint64_t *bytes);

/* Does it: takes in the pushes that wait, or answers all whose clock has come
 * with one piece each. */
void sti_shard_work(sti_shard *shard, uint64_t now, sti_effects *out);

/* ---- from outside of the protocol -------------------------------------- */

/* A worker whose node is lost has left. */
void sti_shard_lose(sti_shard *shard, uint32_t worker);

/* Adds the shard's rows of all tables of `from`, before any push has come.
 * STRADS_ENOMEM. */
strads_err sti_shard_fill(sti_shard *shard, const strads_store *from);

/* Adds its rows of a dense table to those of `to`. STRADS_ENOMEM. */
strads_err sti_shard_read_out(const sti_shard *shard, uint32_t table,
                              strads_store *to);

#endif
