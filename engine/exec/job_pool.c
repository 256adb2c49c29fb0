/* Jobs of one partition wait in order, so the first of them in the queue is
 * its next; `busy` keeps it there while the one before is under way. */
#include "engine/exec/job_pool.h"

#include <stdlib.h>

strads_err sti_job_pool_init(sti_job_pool *pool, uint32_t first, uint32_t n,
                             bool shared)
{
    *pool = (sti_job_pool){.first = first, .n = n};
    pool->busy = calloc(n + (size_t)1, sizeof *pool->busy);
    if (!pool->busy || (shared && pthread_mutex_init(&pool->lock, NULL))) {
        free(pool->busy);
        pool->busy = NULL;
        return strads_fail(STRADS_ENOMEM, "no memory for a worker's jobs");
    }
    pool->shared = shared;
    return STRADS_OK;
}

void sti_job_pool_free(sti_job_pool *pool)
{
    if (pool->shared)
        pthread_mutex_destroy(&pool->lock);
    sti_job_queue_free(&pool->waiting);
    sti_job_queue_free(&pool->relieved);
    free(pool->busy);
}

static void enter(sti_job_pool *pool)
{
    if (pool->shared)
        pthread_mutex_lock(&pool->lock);
}

static void leave(sti_job_pool *pool)
{
    atomic_store_explicit(&pool->n_waiting, (unsigned)pool->waiting.n,
                          memory_order_relaxed);
    atomic_store_explicit(&pool->n_relieved, (unsigned)pool->relieved.n,
                          memory_order_relaxed);
    if (pool->shared)
        pthread_mutex_unlock(&pool->lock);
}

strads_err sti_job_pool_put(sti_job_pool *pool, sti_worker_job *job)
{
    enter(pool);
    strads_err err = sti_job_queue_put(&pool->waiting, &job->job);
    leave(pool);
    return err;
}

sti_worker_job *sti_job_pool_take(sti_job_pool *pool)
{
    if (!atomic_load_explicit(&pool->n_waiting, memory_order_relaxed))
        return NULL;
    sti_worker_job *job = NULL;
    enter(pool);
    for (size_t k = 0; k < pool->waiting.n && !job; k++) {
        job = (sti_worker_job *)sti_job_queue_look(&pool->waiting, k);
        if (pool->busy[job->partition - pool->first]) {
            job = NULL;
            continue;
        }
        (void)sti_job_queue_take(&pool->waiting, k);
        pool->busy[job->partition - pool->first] = true;
    }
    leave(pool);
    return job;
}

void sti_job_pool_end(sti_job_pool *pool, const sti_worker_job *job)
{
    enter(pool);
    pool->busy[job->partition - pool->first] = false;
    leave(pool);
}

strads_err sti_job_pool_give_back(sti_job_pool *pool, sti_worker_job *job)
{
    enter(pool);
    strads_err err = sti_job_queue_put(&pool->relieved, &job->job);
    leave(pool);
    return err;
}

sti_worker_job *sti_job_pool_take_relieved(sti_job_pool *pool)
{
    if (!atomic_load_explicit(&pool->n_relieved, memory_order_relaxed))
        return NULL;
    sti_worker_job *job = NULL;
    enter(pool);
    if (pool->relieved.n) {
        job = (sti_worker_job *)sti_job_queue_take(&pool->relieved, 0);
        pool->busy[job->partition - pool->first] = false;
    }
    leave(pool);
    return job;
}
