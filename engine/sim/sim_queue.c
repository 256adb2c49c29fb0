/* A binary heap of keys. Times and sequence numbers order all items, so the
 * output depends only on the input. The first n entries of the heap are in use,
 * and the last capacity - n of `idle`. */
#include "engine/sim/sim_queue.h"

#include <stdlib.h>

static bool is_before(const sti_sim_key *a, const sti_sim_key *b)
{
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static strads_err grow_queue(sti_sim_queue *queue)
{
    size_t capacity = queue->capacity ? 2 * (size_t)queue->capacity : 64;
    sti_sim_key *heap = NULL;
    sti_sim_item *at = NULL;
    uint32_t *idle = NULL;
    if (capacity <= UINT32_MAX)
        heap = realloc(queue->heap, sizeof *heap * capacity);
    if (heap) {
        queue->heap = heap;
        at = realloc(queue->at, sizeof *at * capacity);
    }
    if (at) {
        queue->at = at;
        idle = realloc(queue->idle, sizeof *idle * capacity);
    }
    if (!idle)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a simulation's %zu events", capacity);
    queue->idle = idle;
    for (uint32_t k = queue->capacity; k < capacity; k++)
        idle[k] = k;
    queue->capacity = (uint32_t)capacity;
    return STRADS_OK;
}

strads_err sti_sim_queue_push(sti_sim_queue *queue, const sti_sim_item *item)
{
    strads_err err =
        queue->n == queue->capacity ? grow_queue(queue) : STRADS_OK;
    if (err)
        return err;
    uint32_t k = queue->n++;
    const sti_sim_key fresh = {.time = item->time,
                               .sequence = queue->pushed++,
                               .place = queue->idle[k]};
    queue->at[fresh.place] = *item;
    while (k > 0 && is_before(&fresh, &queue->heap[(k - 1) / 2])) {
        queue->heap[k] = queue->heap[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    queue->heap[k] = fresh;
    return STRADS_OK;
}

/* Sifts the last key down from the root, which is free. */
static void sift_down(sti_sim_queue *queue)
{
    const sti_sim_key last = queue->heap[queue->n];
    uint32_t k = 0;
    for (uint32_t child = 1; child < queue->n; child = 2 * k + 1) {
        if (child + 1 < queue->n &&
            is_before(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!is_before(&queue->heap[child], &last))
            break;
        queue->heap[k] = queue->heap[child];
        k = child;
    }
    queue->heap[k] = last;
}

bool sti_sim_queue_pop(sti_sim_queue *queue, sti_sim_item *out)
{
    if (queue->n == 0)
        return false;
    uint32_t place = queue->heap[0].place;
    *out = queue->at[place];
    queue->idle[--queue->n] = place;
    if (queue->n > 0) {
        sift_down(queue);
        __builtin_prefetch(&queue->at[queue->heap[0].place]);
    }
    return true;
}

void sti_sim_queue_free(sti_sim_queue *queue)
{
    free(queue->heap);
    free(queue->at);
    free(queue->idle);
    *queue = (sti_sim_queue){0};
}
