/* engine/round/roles.h - the three roles of a run in rounds. */
#ifndef STI_ROLES_H
#define STI_ROLES_H

#include "engine/round/job.h"

/* The role that runs the rounds. It decides the next dispatch, keeps up to
 * depth + 1 dispatches in flight, commits their results, and ends the run. */

typedef struct sti_coordinator sti_coordinator;

/* STRADS_ENOMEM. `run` outlives the role. */
strads_err sti_coordinator_new(sti_run *run, sti_coordinator **out);
void sti_coordinator_free(sti_coordinator *c);

/* Takes n events in order and appends effects. The first event is START. END is
 * emitted once, with the error that ended the run or STRADS_OK. */
void sti_coordinator_step(sti_coordinator *c, const sti_event *events, size_t n,
                          sti_effects *out);

/* The counts so far; the runtime adds time, bytes and callback seconds. */
const strads_progress *sti_coordinator_progress(const sti_coordinator *c);

/* The position of the run's next checkpoint, also after END with an error.
 * False: its tables do not hold the start values yet. */
bool sti_coordinator_position(const sti_coordinator *c,
                              sti_checkpoint_position *out);

/* Why the run ended; meaningful after END with STRADS_OK. */
strads_end sti_coordinator_end(const sti_coordinator *c);

/* The role that runs a policy over its range of the parameters. It answers the
 * coordinator's requests one at a time. */

typedef struct sti_scheduler sti_scheduler;

/* Scheduler `number` of the run, which outlives the role. STRADS_ENOMEM. */
strads_err sti_scheduler_new(sti_run *run, uint32_t number,
                             sti_scheduler **out);
void sti_scheduler_free(sti_scheduler *scheduler);

/* Takes n events in order and appends effects. */
void sti_scheduler_step(sti_scheduler *scheduler, const sti_event *events,
                        size_t n, sti_effects *out);

/* The role that hosts partitions. It forwards dispatches down a tree of
 * workers, lets its partitions work, and merges partials up the tree of
 * partitions. */

typedef struct sti_worker sti_worker;

/* Worker `index` of run->workers. STRADS_ENOMEM. `run` outlives the role. */
strads_err sti_worker_new(sti_run *run, uint32_t index, sti_worker **out);
void sti_worker_free(sti_worker *worker);

/* Takes n events in order and appends effects; END after the CLOSE dispatch. */
void sti_worker_step(sti_worker *worker, const sti_event *events, size_t n,
                     sti_effects *out);

#endif
