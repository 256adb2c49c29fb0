/* A desk's parts, made and freed; its queue of events; what its jobs take. */
#include "engine/exec/desk.h"

#include <stdlib.h>

strads_err sti_desk_init(sti_desk *desk, sti_run *run, uint32_t index,
                         uint32_t n, uint32_t worker)
{
    const uint32_t first = sti_run_first(run, worker);
    const uint64_t entries = run->data ? strads_data_nnz(run->data) : 0;
    strads_err err = sti_inbox_init(&desk->inbox);
    if (err)
        return err;
    if (pthread_mutex_init(&desk->held, NULL)) {
        sti_inbox_free(&desk->inbox);
        return strads_fail(STRADS_ENOMEM, "no memory for a worker");
    }
    desk->index = index;
    desk->ready = true;
    atomic_init(&desk->inbox.asleep, index > 0); /* nobody is there yet */
    err = sti_worker_new(run, worker, &desk->worker);
    if (!err)
        err = sti_job_times_init(&desk->times, run->n_phases,
                                 entries / run->partitions);
    return err ? err
               : sti_job_pool_init(&desk->pool, first,
                                   sti_run_first(run, worker + 1) - first,
                                   n > 1);
}

void sti_desk_free(sti_desk *desk)
{
    struct sti_waiting_event left;
    if (!desk->ready)
        return;
    while (sti_desk_pop(desk, &left))
        if (left.event.kind == STI_EVENT_MESSAGE)
            sti_object_drop(left.event.msg.object);
    free(desk->events.at);
    sti_job_queue_free(&desk->urgent);
    sti_job_pool_free(&desk->pool);
    sti_job_times_free(&desk->times);
    free(desk->taken);
    sti_inbox_free(&desk->inbox);
    pthread_mutex_destroy(&desk->held);
    sti_worker_free(desk->worker);
}

static bool make_room(struct sti_event_queue *q)
{
    if (q->n < q->room)
        return true;
    size_t room = q->room ? 2 * q->room : 64;
    struct sti_waiting_event *at = malloc(sizeof *at * room);
    if (!at)
        return false;
    for (size_t k = 0; k < q->n; k++)
        at[k] = q->at[(q->first + k) & (q->room - 1)];
    free(q->at);
    *q = (struct sti_event_queue){.at = at, .n = q->n, .room = room};
    return true;
}

strads_err sti_desk_push(sti_desk *desk, sti_address to, const sti_event *event)
{
    struct sti_event_queue *q = &desk->events;
    if (make_room(q)) {
        q->at[(q->first + q->n++) & (q->room - 1)] =
            (struct sti_waiting_event){to, *event};
        return STRADS_OK;
    }
    if (event->kind == STI_EVENT_MESSAGE)
        sti_object_drop(event->msg.object);
    return strads_fail(STRADS_ENOMEM, "no memory for a node's queues");
}

bool sti_desk_pop(sti_desk *desk, struct sti_waiting_event *out)
{
    struct sti_event_queue *q = &desk->events;
    if (q->n == 0)
        return false;
    *out = q->at[q->first];
    q->first = (q->first + 1) & (q->room - 1);
    q->n--;
    return true;
}

bool sti_desk_has_more(const sti_desk *desk)
{
    return desk->events.n > 0 || desk->urgent.n > 0 ||
           atomic_load_explicit(&desk->pool.n_waiting, memory_order_relaxed) >
               0;
}

void sti_desk_note(sti_desk *desk, const sti_job *job)
{
    const uint64_t usual =
        atomic_load_explicit(&desk->job_ns, memory_order_relaxed);
    sti_job_times_note(&desk->times, job);
    if (job->call == STI_CALL_WORK || job->call == STI_CALL_HOP)
        atomic_store_explicit(&desk->job_ns, (7 * usual + job->elapsed_ns) / 8,
                              memory_order_relaxed);
}

uint64_t sti_desk_expect(const sti_desk *desk, const sti_msg *msg)
{
    return sti_job_times_expect(&desk->times, msg, desk->pool.n);
}
