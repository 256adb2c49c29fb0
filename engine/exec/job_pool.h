/* engine/exec/job_pool.h - a worker's jobs that wait for a thread: its own,
 * or one that has nothing to do.
 *
 * A worker may host several partitions. While its thread is slow, or its share
 * is the larger one, others of the same process take waiting jobs off its
 * hands: a slow worker is relieved. What a partition does stays in order and
 * one at a time, so it makes no difference to any bit who carried it out. */
#ifndef STI_JOB_POOL_H
#define STI_JOB_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/exec/job_queue.h"

typedef struct sti_job_pool {
    bool shared;            /* other threads look in */
    uint32_t first, n;      /* partitions of the worker */
    pthread_mutex_t lock;   /* where shared: all below */
    sti_job_queue waiting;  /* in the order in which they were asked for */
    sti_job_queue relieved; /* carried out by others */
    bool *busy;             /* [partitions of the worker] a job is out */
    atomic_uint n_waiting, n_relieved; /* to look at without the lock */
} sti_job_pool;

/* Of the partitions first .. first + n - 1. STRADS_ENOMEM. */
strads_err sti_job_pool_init(sti_job_pool *pool, uint32_t first, uint32_t n,
                             bool shared);
/* One that is all zero is fine. */
void sti_job_pool_free(sti_job_pool *pool);

/* Owner. STRADS_ENOMEM. */
strads_err sti_job_pool_put(sti_job_pool *pool, sti_worker_job *job);

/* The first job whose partition has none under way; NULL: there is none. Any
 * thread. The owner tells sti_job_pool_end when the role is about to hear of
 * it, another thread calls sti_job_pool_give_back. */
sti_worker_job *sti_job_pool_take(sti_job_pool *pool);

/* Owner: the partition's next job may be taken. */
void sti_job_pool_end(sti_job_pool *pool, const sti_worker_job *job);

/* Another thread: the job has been carried out. STRADS_ENOMEM. */
strads_err sti_job_pool_give_back(sti_job_pool *pool, sti_worker_job *job);

/* Owner: a job that another thread has carried out, ended; NULL: none. */
sti_worker_job *sti_job_pool_take_relieved(sti_job_pool *pool);

#endif
