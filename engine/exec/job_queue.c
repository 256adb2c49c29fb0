/* The first n places from `first` on, around the end, are in use. */
#include "engine/exec/job_queue.h"

#include <stdlib.h>

static sti_job **place(const sti_job_queue *queue, size_t k)
{
    return &queue->at[(queue->first + k) & (queue->room - 1)];
}

strads_err sti_job_queue_put(sti_job_queue *queue, sti_job *job)
{
    if (queue->n == queue->room) {
        size_t room = queue->room ? 2 * queue->room : 8;
        sti_job **at = malloc(sizeof(sti_job *) * room);
        if (!at)
            return strads_fail(STRADS_ENOMEM, "no memory for waiting jobs");
        for (size_t k = 0; k < queue->n; k++)
            at[k] = *place(queue, k);
        free(queue->at);
        *queue = (sti_job_queue){.at = at, .n = queue->n, .room = room};
    }
    *place(queue, queue->n++) = job;
    return STRADS_OK;
}

sti_job *sti_job_queue_look(const sti_job_queue *queue, size_t k)
{
    return *place(queue, k);
}

sti_job *sti_job_queue_take(sti_job_queue *queue, size_t k)
{
    sti_job *job = *place(queue, k);
    for (; k > 0; k--)
        *place(queue, k) = *place(queue, k - 1);
    queue->first = (queue->first + 1) & (queue->room - 1);
    queue->n--;
    return job;
}

void sti_job_queue_free(sti_job_queue *queue)
{
    free(queue->at);
    *queue = (sti_job_queue){0};
}
