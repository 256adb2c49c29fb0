/* engine/round/scheduler.h - the role that runs a policy over its range of the
 * parameters, and answers the coordinator's questions one at a time. */
#ifndef STI_SCHEDULER_H
#define STI_SCHEDULER_H

#include "engine/round/job.h"

typedef struct sti_scheduler sti_scheduler;

/* Scheduler `number` of the run, which outlives the role. STRADS_ENOMEM. */
strads_err sti_scheduler_new(sti_run *run, uint32_t number,
                             sti_scheduler **out);
void sti_scheduler_free(sti_scheduler *scheduler);

/* Takes n events in order, appends effects. */
void sti_scheduler_step(sti_scheduler *scheduler, const sti_event *events,
                        size_t n, sti_effects *out);

#endif
