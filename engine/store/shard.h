/* engine/store/shard.h - the role that keeps rows. It takes the pushes of each
 * client in the order of their numbers, each once, acknowledges them, and
 * answers requests for rows (S1 to S3 of the protocol, docs/consistency.md).
 *
 * Its state: its rows of the tables, the progress of each client's stream, each
 * worker's clock, and snapshots of exact clocks. Only pushes change it, so the
 * same pushes in the same order give the same state.
 *
 * Belongs to one thread at a time. */
#ifndef STI_STORE_SHARD_H
#define STI_STORE_SHARD_H

#include "engine/base/role.h"
#include "engine/store/local_store.h"

typedef struct sti_shard sti_shard;

/* The clock of a worker that has left, and of a shard that all workers have
 * left. */
#define STI_CLOCK_GONE UINT64_MAX

typedef struct sti_shard_setup {
    uint32_t shard, shards;          /* its number, and the number of shards */
    uint32_t clients;                /* numbered from STI_CLIENT_0: streams */
    uint32_t workers;                /* of all clients */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    uint64_t memory_limit; /* of rows and snapshots; 0: the free memory */
    /* approximate size of a piece of an answer; 0: 256 KB */
    uint64_t piece_bytes;
} sti_shard_setup;

/* STRADS_EINVAL: a table's spec is invalid. STRADS_ENOMEM. */
strads_err sti_shard_new(const sti_shard_setup *setup, sti_shard **out);
void sti_shard_free(sti_shard *shard);

/* Takes n events in order and appends effects: MESSAGE (PUSH, ASK_ROWS). It
 * sends ACK, ROWS, and FAIL to the coordinator if its work has failed or a
 * client broke a rule; then it stops. */
void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out);

/* Whether there is work. *bytes: the size of the pushes that would be applied;
 * 0: rows are read. */
bool sti_shard_has_work(const sti_shard *shard, uint64_t *bytes);

/* Does the work: answers, with one piece each, all requests for clocks that
 * have been reached; otherwise applies the waiting pushes. */
void sti_shard_work(sti_shard *shard, uint64_t now, sti_effects *out);

/* ---- from outside of the protocol -------------------------------------- */

/* Treats a worker of a lost node as one that has left. */
void sti_shard_lose(sti_shard *shard, uint32_t worker);

/* Adds the shard's rows of all tables of `from`, before the first push.
 * STRADS_ENOMEM. */
strads_err sti_shard_fill(sti_shard *shard, const strads_store *from);

/* Adds its rows of a dense table to those of `to`. STRADS_ENOMEM. */
strads_err sti_shard_read_out(const sti_shard *shard, uint32_t table,
                              strads_store *to);

#endif
