/* engine/round/coordinator.h - the role that runs the rounds: it decides what
 * is dispatched next, keeps up to depth + 1 dispatches in flight, commits what
 * comes back, and ends the run. */
#ifndef STI_COORDINATOR_H
#define STI_COORDINATOR_H

#include "engine/round/job.h"

typedef struct sti_coordinator sti_coordinator;

/* STRADS_ENOMEM. `run` outlives the role. */
strads_err sti_coordinator_new(sti_run *run, sti_coordinator **out);
void sti_coordinator_free(sti_coordinator *c);

/* Takes n events in order, appends effects. The first event is START; END
 * comes once, with the error that ended the run or STRADS_OK. */
void sti_coordinator_step(sti_coordinator *c, const sti_event *events, size_t n,
                          sti_effects *out);

/* Counts so far; time, bytes and callback seconds are the runtime's. */
const strads_progress *sti_coordinator_progress(const sti_coordinator *c);

/* Why the run ended; meaningful after END with STRADS_OK. */
strads_end sti_coordinator_end(const sti_coordinator *c);

#endif
