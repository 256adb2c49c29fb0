/* engine/exec/job_pool.h - a node's jobs that wait for a thread.
 *
 * The jobs of one partition run in order and one at a time, so no bit depends
 * on the thread that runs them. A thread takes jobs of its own worker's
 * partitions first, then of any worker's. The pool has no lock of its own. */
#ifndef STI_JOB_POOL_H
#define STI_JOB_POOL_H

#include "engine/round/job.h"

/* A first-in, first-out list through the jobs' `next`. It owns no job.
 * Zero-initialised it is empty and ready. */
typedef struct sti_job_queue {
    sti_job *first, *last; /* last: undefined while `first` is NULL */
} sti_job_queue;

void sti_job_queue_put(sti_job_queue *queue, sti_job *job);
/* Removes and returns the first job; NULL: none. */
sti_job *sti_job_queue_take(sti_job_queue *queue);

typedef struct sti_partition_jobs {
    uint32_t worker;       /* counted from the pool's first worker */
    bool active;           /* one of its jobs is ready or running */
    sti_job_queue waiting; /* its later jobs */
} sti_partition_jobs;

typedef struct sti_job_pool {
    uint32_t first, n_partitions, n_workers, n_phases;
    sti_partition_jobs *partitions; /* [n_partitions] */
    sti_job_queue *ready;           /* [n_workers] jobs that may be taken */
    uint32_t n_ready;
    uint64_t ready_ns;  /* their expected total time */
    uint64_t *usual_ns; /* [calls x n_phases] recent mean time of a kind */
} sti_job_pool;

/* For workers first_worker .. first_worker + n_workers - 1 of a run.
 * STRADS_ENOMEM. */
strads_err sti_job_pool_init(sti_job_pool *pool, const sti_run *run,
                             uint32_t first_worker, uint32_t n_workers);
/* A zeroed pool is allowed. */
void sti_job_pool_free(sti_job_pool *pool);

void sti_job_pool_put(sti_job_pool *pool, sti_worker_job *job);

/* Takes a ready job of this worker (counted from the pool's first), or else of
 * another one; NULL: none. Its elapsed_ns is the expected time. */
sti_worker_job *sti_job_pool_take(sti_job_pool *pool, uint32_t worker);

/* Call when a job has run for elapsed_ns: the partition's next job becomes
 * ready. */
void sti_job_pool_finish(sti_job_pool *pool, const sti_worker_job *job);

#endif
