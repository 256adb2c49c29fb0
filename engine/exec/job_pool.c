/* A partition has at most one active job, which is ready or running; its other
 * jobs wait in order. */
#include "engine/exec/job_pool.h"

#include <stdlib.h>

/* The expected time of a job of a kind that has not run yet: long enough that
 * other threads are woken for it. */
enum { CALLS = STI_CALL_CHECKPOINT + 1, UNKNOWN_NS = 1000 * 1000 };

/* ---- a queue ------------------------------------------------------------- */

void sti_job_queue_put(sti_job_queue *queue, sti_job *job)
{
    job->next = NULL;
    if (queue->first)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
}

sti_job *sti_job_queue_take(sti_job_queue *queue)
{
    sti_job *job = queue->first;
    if (job)
        queue->first = job->next;
    return job;
}

/* ---- the pool ------------------------------------------------------------ */

strads_err sti_job_pool_init(sti_job_pool *pool, const sti_run *run,
                             uint32_t first_worker, uint32_t n_workers)
{
    const uint32_t first = sti_run_first(run, first_worker);
    const uint32_t n = sti_run_first(run, first_worker + n_workers) - first;
    const size_t kinds = CALLS * ((size_t)run->n_phases + 1);
    *pool = (sti_job_pool){.first = first,
                           .n_partitions = n,
                           .n_workers = n_workers,
                           .n_phases = run->n_phases};
    pool->partitions = calloc(n + (size_t)1, sizeof *pool->partitions);
    pool->ready = calloc(n_workers, sizeof *pool->ready);
    pool->usual_ns = malloc(kinds * sizeof *pool->usual_ns);
    if (!pool->partitions || !pool->ready || !pool->usual_ns) {
        sti_job_pool_free(pool);
        return strads_fail(STRADS_ENOMEM, "no memory for a node's jobs");
    }
    for (uint32_t w = 0; w < n_workers; w++)
        for (uint32_t p = sti_run_first(run, first_worker + w);
             p < sti_run_first(run, first_worker + w + 1); p++)
            pool->partitions[p - first].worker = w;
    for (size_t k = 0; k < kinds; k++)
        pool->usual_ns[k] = UNKNOWN_NS;
    return STRADS_OK;
}

void sti_job_pool_free(sti_job_pool *pool)
{
    free(pool->partitions);
    free(pool->ready);
    free(pool->usual_ns);
    *pool = (sti_job_pool){0};
}

static uint64_t *find_usual_ns(const sti_job_pool *pool, const sti_job *job)
{
    const uint32_t phase =
        job->phase < pool->n_phases ? job->phase : pool->n_phases;
    return &pool->usual_ns[job->call * (pool->n_phases + (size_t)1) + phase];
}

static void make_ready(sti_job_pool *pool, sti_job *job, uint32_t worker)
{
    job->elapsed_ns = *find_usual_ns(pool, job);
    sti_job_queue_put(&pool->ready[worker], job);
    pool->n_ready++;
    pool->ready_ns += job->elapsed_ns;
}

void sti_job_pool_put(sti_job_pool *pool, sti_worker_job *job)
{
    sti_partition_jobs *p = &pool->partitions[job->partition - pool->first];
    if (p->active)
        sti_job_queue_put(&p->waiting, &job->job);
    else
        make_ready(pool, &job->job, p->worker);
    p->active = true;
}

sti_worker_job *sti_job_pool_take(sti_job_pool *pool, uint32_t worker)
{
    sti_job *job = NULL;
    for (uint32_t k = 0; k < pool->n_workers && pool->n_ready && !job; k++)
        job = sti_job_queue_take(&pool->ready[(worker + k) % pool->n_workers]);
    if (!job)
        return NULL;
    pool->n_ready--;
    pool->ready_ns -= job->elapsed_ns;
    return (sti_worker_job *)job;
}

void sti_job_pool_finish(sti_job_pool *pool, const sti_worker_job *job)
{
    sti_partition_jobs *p = &pool->partitions[job->partition - pool->first];
    uint64_t *usual = find_usual_ns(pool, &job->job);
    *usual = (7 * *usual + job->job.elapsed_ns) / 8;
    sti_job *next = sti_job_queue_take(&p->waiting);
    p->active = next != NULL;
    if (next)
        make_ready(pool, next, p->worker);
}
