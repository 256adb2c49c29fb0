/* engine/exec/job_queue.h - jobs that wait, first come first served: a ring
 * that grows. Owns none of them. Zero-initialised it is empty and ready. */
#ifndef STI_JOB_QUEUE_H
#define STI_JOB_QUEUE_H

#include "engine/round/job.h"

typedef struct sti_job_queue {
    sti_job **at;
    size_t first, n, room; /* room is a power of two */
} sti_job_queue;

/* STRADS_ENOMEM. */
strads_err sti_job_queue_put(sti_job_queue *queue, sti_job *job);

/* The k-th that waits, k < n. */
sti_job *sti_job_queue_look(const sti_job_queue *queue, size_t k);

/* Takes the k-th out, k < n; the others keep their order. */
sti_job *sti_job_queue_take(sti_job_queue *queue, size_t k);

void sti_job_queue_free(sti_job_queue *queue);

#endif
