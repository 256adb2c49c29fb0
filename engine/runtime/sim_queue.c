/* A binary heap of items by value. Times and sequence numbers order all items,
 * so what comes out depends on what was put in alone. */
#include "engine/runtime/sim_queue.h"

#include <stdlib.h>

static bool before(const sti_sim_item *a, const sti_sim_item *b)
{
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

strads_err sti_sim_queue_push(sti_sim_queue *queue, const sti_sim_item *item)
{
    if (queue->n == queue->room) {
        size_t room = queue->room ? 2 * queue->room : 64;
        sti_sim_item *at = realloc(queue->at, sizeof *at * room);
        if (!at)
            return strads_fail(STRADS_ENOMEM,
                               "no memory for a simulation's %zu events", room);
        queue->at = at;
        queue->room = room;
    }
    sti_sim_item fresh = *item;
    fresh.sequence = queue->pushed++;
    size_t k = queue->n++;
    while (k > 0 && before(&fresh, &queue->at[(k - 1) / 2])) {
        queue->at[k] = queue->at[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    queue->at[k] = fresh;
    return STRADS_OK;
}

bool sti_sim_queue_pop(sti_sim_queue *queue, sti_sim_item *out)
{
    if (queue->n == 0)
        return false;
    *out = queue->at[0];
    const sti_sim_item last = queue->at[--queue->n];
    size_t k = 0;
    for (;;) {
        size_t child = 2 * k + 1;
        if (child >= queue->n)
            break;
        if (child + 1 < queue->n &&
            before(&queue->at[child + 1], &queue->at[child]))
            child++;
        if (!before(&queue->at[child], &last))
            break;
        queue->at[k] = queue->at[child];
        k = child;
    }
    queue->at[k] = last;
    return true;
}

void sti_sim_queue_free(sti_sim_queue *queue)
{
    free(queue->at);
    *queue = (sti_sim_queue){0};
}
