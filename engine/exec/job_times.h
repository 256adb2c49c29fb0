/* engine/exec/job_times.h - how long a worker's jobs of each kind have
 * taken lately, and so what a message to it is about to cost. */
#ifndef STI_JOB_TIMES_H
#define STI_JOB_TIMES_H

#include <stdatomic.h>

#include "engine/round/job.h"

typedef struct sti_job_times {
    uint32_t n_phases;
    uint64_t guess_ns; /* of one that there has not been yet */
    /* [n_phases] of WORK; [n_phases] of HOP; [calls]; 0: none yet. */
    atomic_uint_least64_t *ns;
} sti_job_times;

/* `entries`: of the data of one of the worker's partitions. STRADS_ENOMEM. */
strads_err sti_job_times_init(sti_job_times *times, uint32_t n_phases,
                              uint64_t entries);
/* One that is all zero is fine. */
void sti_job_times_free(sti_job_times *times);

/* A job has been carried out, and elapsed_ns says how long it took. Whoever
 * drives the worker. */
void sti_job_times_note(sti_job_times *times, const sti_job *job);

/* What the jobs that a message brings to a worker of n partitions are to take,
 * in ns; UINT64_MAX: it is for no worker. Any thread. */
uint64_t sti_job_times_expect(const sti_job_times *times, const sti_msg *msg,
                              uint32_t n_partitions);

#endif
