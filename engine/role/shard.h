/* engine/role/shard.h - the role that keeps the tables: it takes in pushes in
 * the order of their numbers, each once, and says how far it is. */
#ifndef STI_SHARD_H
#define STI_SHARD_H

#include "engine/role/job.h"

typedef struct sti_shard sti_shard;

/* STRADS_ENOMEM. `run` outlives the role. */
strads_err sti_shard_new(sti_run *run, sti_shard **out);
void sti_shard_free(sti_shard *shard);

/* Takes n events in order, appends effects. It ends when the run does: there is
 * no END of its own. */
void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out);

#endif
