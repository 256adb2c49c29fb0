/* engine/exec/job_names.h - the names of jobs in a trace: "update scan",
 * "aggregate scan", "schedule". */
#ifndef STI_JOB_NAMES_H
#define STI_JOB_NAMES_H

#include "engine/base/trace.h"
#include "engine/round/job.h"

/* Records a job, if there is a trace, which must be closed before the run's
 * program is freed. */
void sti_job_span(const sti_run *run, const sti_job *job, sti_trace *trace,
                  uint32_t track, uint64_t begin_ns, uint64_t end_ns);

/* Whether the job runs a callback of the program or the policy. */
bool sti_job_is_callback(const sti_job *job);

#endif
