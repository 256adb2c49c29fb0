/* engine/exec/job_names.h - what a job is called on a trace: "update scan",
 * "aggregate scan", "choose". */
#ifndef STI_JOB_NAMES_H
#define STI_JOB_NAMES_H

#include "engine/round/job.h"

typedef struct sti_job_names sti_job_names;

strads_err sti_job_names_new(const sti_run *run, sti_job_names **out);
void sti_job_names_free(sti_job_names *names);

/* Lasts as long as `names`, which may be NULL for a shard's jobs. */
const char *sti_job_name(const sti_job_names *names, const sti_job *job);

/* Whether a callback of the program's or the policy's runs in it. */
bool sti_job_is_callback(const sti_job *job);

#endif
