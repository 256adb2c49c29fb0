/* engine/exec/node_state.h - what the two files of a node share: node.c has
 * the process's side, node_thread.c what each thread does. */
#ifndef STI_NODE_STATE_H
#define STI_NODE_STATE_H

#include <pthread.h>

#include "engine/exec/desk.h"
#include "engine/exec/job_names.h"
#include "engine/exec/node.h"

typedef struct sti_thread {
    sti_node *node;
    uint32_t index;
    pthread_t handle;
    atomic_bool started; /* changed under the node's lock */
    sti_desk *own;       /* held while it is awake, but for jobs */
    sti_desk *at;        /* where it is: its own, or one whose thread sleeps */
    atomic_bool idle;
    sti_effects effects;
    uint64_t now;             /* last reading, since the start */
    uint64_t round, round_ns; /* so long it has computed for this round */
    uint32_t track;
    atomic_uint_least64_t callback_ns;
} sti_thread;

struct sti_node {
    sti_node_options options;
    sti_thread *threads; /* [options.threads] and so below */
    sti_desk *desks;     /* thread t's is desks[t] */
    sti_coordinator *coordinator;
    sti_scheduler **schedulers; /* [run->schedulers]; NULL: another node's */
    uint32_t *scheduler_track;
    bool coordinator_ended;
    sti_job_names *names;
    uint32_t coordinator_track;
    uint32_t spins;
    bool wakes_always; /* STRADS_WAKE=always: whatever comes, for tests */
    uint64_t started_ns, cpu_started_ns;
    bool told_cancel;
    atomic_bool aborted;
    pthread_mutex_t lock;
    strads_err err;  /* lock; the first one */
    char text[1024]; /* lock */
    bool closed;     /* lock: no thread is started any more */
};

/* Starts the thread of a desk that has been called there, if it has not been
 * yet. Any thread. */
void sti_node_attend(sti_node *node, const sti_desk *desk);

/* The desk of this node where a role is; NULL: another node's. */
sti_desk *sti_desk_of(sti_node *node, sti_address role);

/* Steps roles and carries out jobs until the thread's roles have ended, or the
 * run has failed. `thread` as pthread_create has it. */
void *sti_thread_drive(void *thread);

#endif
