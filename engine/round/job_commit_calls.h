/* engine/round/job_commit_calls.h - what the commit's job shares with the calls
 * of strads/program.h that `aggregate` may make. */
#ifndef STI_JOB_COMMIT_CALLS_H
#define STI_JOB_COMMIT_CALLS_H

#include "engine/round/job.h"

/* Deals n priorities out to the schedulers. A policy indexes by parameter and
 * sums priorities: what it gets is checked here, once for all policies.
 * STRADS_EPROGRAM, STRADS_ENOMEM. */
strads_err sti_commit_prioritise(sti_aggregate_job *job, uint32_t n,
                                 const uint32_t *param, const double *priority);

#endif
