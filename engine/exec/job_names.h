/* engine/exec/job_names.h - what a job is called on a trace: "update scan",
 * "aggregate scan", "choose". */
#ifndef STI_JOB_NAMES_H
#define STI_JOB_NAMES_H

#include "engine/base/trace.h"
#include "engine/round/job.h"

/* Records a job, when there is a trace, which is closed before the run's program
 * goes. */
void sti_job_span(const sti_run *run, const sti_job *job, sti_trace *trace,
                  uint32_t track, uint64_t begin_ns, uint64_t end_ns);

/* Whether a callback of the program's or the policy's runs in it. */
bool sti_job_is_callback(const sti_job *job);

#endif
