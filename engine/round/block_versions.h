/* engine/round/block_versions.h - what blocks of a RING carry, kept in the
 * store as of the end of a lap.
 *
 * Table "block versions": i64, sparse, a row for each block id below
 * shape.blocks. Column 0 holds the round of the lap, column 1 the size of the
 * packed object in bytes, and from column 2 on its bytes, eight a number, as
 * they lie in memory on a little-endian machine, the last filled up with 0. A
 * row is changed by one commit; columns beyond the size are 0. */
#ifndef STI_BLOCK_VERSIONS_H
#define STI_BLOCK_VERSIONS_H

#include "engine/round/job.h"
#include "engine/round/records.h"

/* What was committed last, to know what changes: coordinator only. */
typedef struct sti_versions sti_versions;

/* The table, when the run keeps versions and its blocks carry objects. */
strads_err sti_versions_create(sti_run *run);
void sti_versions_free(sti_versions *versions);

/* Holder: packs an object into a record behind those of the blocks. */
strads_err sti_versions_pack(const sti_hop *hop, uint32_t n_blocks,
                             sti_buffer *records);

/* Coordinator: takes such a record in. STRADS_EPEER: nobody asked for it. */
strads_err sti_versions_commit(sti_run *run, const sti_dispatch *dispatch,
                               const sti_record *record);

/* A block's version: its round, and the bytes, to be dropped. STRADS_EINVAL:
 * there is none. */
strads_err sti_versions_read(const strads_store *store, uint32_t block,
                             uint64_t *round, sti_buffer **out);

#endif
