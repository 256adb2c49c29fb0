/* engine/exec/desk.h - what a thread of a node works at: a worker, and
 * other roles where they are on that thread, their events, mail and jobs.
 *
 * Each thread has a desk of its own and is at it as long as it is awake. While
 * it sleeps, or has not been started, another may be there, for a turn: where
 * jobs are shorter than waking a thread takes, who would wait for it does its
 * work instead. While it is at a job of its worker another may be there to hear
 * what has come. */
#ifndef STI_DESK_H
#define STI_DESK_H

#include <pthread.h>

#include "engine/round/worker.h"
#include "engine/exec/inbox.h"
#include "engine/exec/job_pool.h"
#include "engine/exec/job_times.h"

struct sti_waiting_event {
    sti_address to;
    sti_event event;
};

/* A ring that grows. */
struct sti_event_queue {
    struct sti_waiting_event *at;
    size_t first, n, room; /* room is a power of two */
};

typedef struct sti_desk {
    uint32_t index;
    bool ready;                   /* to be freed */
    sti_inbox inbox;              /* anybody; taken from by who is here */
    sti_job_pool pool;            /* the worker's jobs */
    sti_job_times times;          /* what they take */
    atomic_uint_least64_t job_ns; /* of its callbacks any, smoothed */
    pthread_mutex_t held;         /* by who is here: all below */
    struct sti_event_queue events;
    sti_job_queue urgent; /* the coordinator's, a scheduler's */
    sti_worker *worker;
    bool worker_ended;
    sti_msg *taken; /* spare array to swap with the inbox */
    size_t room_taken;
} sti_desk;

/* Desk `index` of `n` on a node, of worker `worker`. STRADS_ENOMEM. */
strads_err sti_desk_init(sti_desk *desk, sti_run *run, uint32_t index,
                         uint32_t n, uint32_t worker);
/* One that is all zero is fine. */
void sti_desk_free(sti_desk *desk);

/* An event for a role of the desk; STRADS_ENOMEM: it is dropped, with the
 * reference of its message. Who is here, or before there are threads. */
strads_err sti_desk_push(sti_desk *desk, sti_address to,
                         const sti_event *event);

/* The next event; false: there is none. Who is here. */
bool sti_desk_pop(sti_desk *desk, struct sti_waiting_event *out);

/* Whether something is left to do that who is here knows of. */
bool sti_desk_has_more(const sti_desk *desk);

/* A WORK or a HOP has been carried out, here or elsewhere. Who is here. */
void sti_desk_note(sti_desk *desk, const sti_job *job);

/* What messages to it are expected to cost; see sti_job_times_expect. */
uint64_t sti_desk_expect(const sti_desk *desk, const sti_msg *msg);

#endif
