/* engine/round/worker.h - the role that hosts partitions: it passes dispatches
 * on down a tree of workers, has its partitions work, and merges partials up
 * the tree of partitions. */
#ifndef STI_WORKER_H
#define STI_WORKER_H

#include "engine/round/job.h"

typedef struct sti_worker sti_worker;

/* Worker `index` of run->workers. STRADS_ENOMEM. `run` outlives the role. */
strads_err sti_worker_new(sti_run *run, uint32_t index, sti_worker **out);
void sti_worker_free(sti_worker *worker);

/* Takes n events in order, appends effects; END after the CLOSE dispatch. */
void sti_worker_step(sti_worker *worker, const sti_event *events, size_t n,
                     sti_effects *out);

#endif
