/* engine/exec/job_pool.h - a node's jobs that wait for a thread.
 *
 * Jobs of one partition are carried out in order and one at a time, so it makes
 * no difference to any bit which thread does it. A thread takes jobs of its own
 * worker's partitions first, then anybody's. The pool has no lock of its own. */
#ifndef STI_JOB_POOL_H
#define STI_JOB_POOL_H

#include "engine/round/job.h"

/* First come, first served, by the jobs' `next`. It owns none of them.
 * Zero-initialised it is empty and ready. */
typedef struct sti_job_queue {
    sti_job *first, *last; /* last: while there is a first one */
} sti_job_queue;

void sti_job_queue_put(sti_job_queue *queue, sti_job *job);
/* The first that waits; NULL: none. */
sti_job *sti_job_queue_take(sti_job_queue *queue);

typedef struct sti_partition_jobs {
    uint32_t worker;       /* counted from the pool's first */
    bool active;           /* one of its jobs is ready or under way */
    sti_job_queue waiting; /* those behind it */
} sti_partition_jobs;

typedef struct sti_job_pool {
    uint32_t first, n_partitions, n_workers, n_phases;
    sti_partition_jobs *partitions; /* [n_partitions] */
    sti_job_queue *ready;           /* [n_workers] jobs that may be taken */
    uint32_t n_ready;
    uint64_t ready_ns;  /* what those are expected to take */
    uint64_t *usual_ns; /* [calls x n_phases] what jobs have taken lately */
} sti_job_pool;

/* For workers first_worker .. first_worker + n_workers - 1 of a run.
 * STRADS_ENOMEM. */
strads_err sti_job_pool_init(sti_job_pool *pool, const sti_run *run,
                             uint32_t first_worker, uint32_t n_workers);
/* One that is all zero is fine. */
void sti_job_pool_free(sti_job_pool *pool);

void sti_job_pool_put(sti_job_pool *pool, sti_worker_job *job);

/* A job that is ready, of this worker's (counted from the pool's first) or
 * otherwise of another's; NULL: none. Its elapsed_ns says how long it is
 * expected to take. */
sti_worker_job *sti_job_pool_take(sti_job_pool *pool, uint32_t worker);

/* A job has been carried out in elapsed_ns: its partition's next may be taken. */
void sti_job_pool_finish(sti_job_pool *pool, const sti_worker_job *job);

#endif
