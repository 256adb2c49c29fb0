/* engine/runtime/node_state.h - what the two files of a node share: node.c has
 * the process's side, node_thread.c what each thread does. */
#ifndef STI_NODE_STATE_H
#define STI_NODE_STATE_H

#include <pthread.h>

#include "engine/runtime/inbox.h"
#include "engine/runtime/job_names.h"
#include "engine/runtime/job_pool.h"
#include "engine/runtime/node.h"

struct sti_waiting_event {
    sti_address to;
    sti_event event;
};

/* A ring that grows. */
struct sti_event_queue {
    struct sti_waiting_event *at;
    size_t first, n, room; /* room is a power of two */
};

typedef struct sti_thread {
    sti_node *node;
    uint32_t index;
    pthread_t handle;
    sti_inbox inbox;
    struct sti_event_queue events;
    sti_job_queue urgent; /* the coordinator's, a scheduler's, the shard's */
    sti_job_pool pool;    /* the worker's */
    atomic_uint_least64_t job_ns; /* what its callbacks take, smoothed */
    atomic_bool idle;
    sti_effects effects;
    sti_msg *taken; /* spare array to swap with the inbox */
    size_t room_taken;
    sti_worker *worker;
    bool worker_ended;
    uint64_t now; /* last reading, since the start */
    uint32_t track;
    atomic_uint_least64_t callback_ns;
} sti_thread;

struct sti_node {
    sti_node_options options;
    sti_thread *threads;
    sti_coordinator *coordinator;
    sti_scheduler **schedulers; /* [run->schedulers]; NULL: another node's */
    uint32_t *scheduler_track;
    sti_shard *shard;
    bool coordinator_ended;
    sti_job_names *names;
    uint32_t coordinator_track, shard_track;
    uint32_t spins;
    uint64_t started_ns, cpu_started_ns;
    bool told_cancel;
    atomic_bool aborted;
    pthread_mutex_t lock;
    strads_err err;  /* lock; the first one */
    char text[1024]; /* lock */
};

/* An event for a role of this thread; without memory the run ends. The thread
 * itself, or before it runs. */
void sti_thread_push(sti_thread *th, sti_address to, const sti_event *event);

/* The thread of this node that hosts a role; NULL: another node's. */
sti_thread *sti_thread_of(sti_node *node, sti_address role);

/* Steps roles and carries out jobs until the thread's roles have ended, or the
 * run has failed. `thread` as pthread_create has it. */
void *sti_thread_drive(void *thread);

#endif
