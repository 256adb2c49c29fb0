/* engine/base/role.h - what roles send each other, and the events and
 * effects by which a runtime drives a role. */
#ifndef STI_ROLE_H
#define STI_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/object.h"
#include "strads/error.h"

/* Where a role lives in a run. One coordinator, any number of the store's
 * shards, of schedulers, of the store's clients (one on each node that uses
 * it), and of workers; the runtime knows which node and thread each of them is
 * on. In a run of the dynamic or static engine coordinator and shard are on one
 * node, and the schedulers on the first ones (sti_run_node_of). */
typedef uint32_t sti_address;
enum {
    STI_COORDINATOR = 0,
    STI_SHARD_0 = 2,
    STI_SCHEDULER_0 = 0x4000,
    STI_CLIENT_0 = 0x8000,
    STI_WORKER_0 = 0x10000
};

typedef enum sti_msg_kind {
    STI_MSG_DISPATCH = 1, /* coordinator, then worker to worker: sti_dispatch */
    STI_MSG_PARTIAL = 2,  /* up the merge tree, at last to the coordinator */
    STI_MSG_RING_STEP = 3, /* RING: a block to its next holder: sti_ring_step */
    STI_MSG_ASK = 4,       /* coordinator to a scheduler: sti_ask */
    STI_MSG_CHOICE = 5,    /* a scheduler to the coordinator: sti_choice */
    STI_MSG_FAIL = 6,      /* any role to the coordinator: sti_failure */
    /* Of the store; a client is a sti_client of engine/store/client.h. */
    STI_MSG_PUSH = 7,        /* client to shard: increments, as in message.h */
    STI_MSG_ACK = 8,         /* shard to client: pushes up to `round` are in */
    STI_MSG_ASK_ROWS = 9,    /* client to shard: sti_row_ask */
    STI_MSG_ROWS = 10,       /* shard to client: sti_row_answer */
    STI_MSG_LOOP = 14,       /* between the nodes of a data-parallel program:
                              sti_loop_note */
    STI_MSG_PEER_VECTOR = 15 /* client to client: a sti_peer_vector for the
                              peer
                              `partition` */
} sti_msg_kind;

/* A message: small, passed by value, with at most one reference. */
typedef struct sti_msg {
    sti_msg_kind kind;
    sti_address from, to;
    uint32_t
        partition;  /* PARTIAL: whose; RING_STEP, PEER_VECTOR: to whom; CHOICE:
                           number of the scheduler; DISPATCH: in how many
                           pieces, 0: whole */
    uint16_t slice; /* PARTIAL: which chunk of it; DISPATCH: which piece */
    uint64_t round; /* number of the dispatch; of the push */
    uint64_t busy_ns;   /* PARTIAL: the longest computing below it */
    sti_object *object; /* PARTIAL, PUSH, PEER_VECTOR, a DISPATCH's piece: a
                           sti_buffer */
} sti_msg;

/* A role's failure: the first ends the run with this sentence. */
typedef struct sti_failure {
    sti_object head;
    strads_err err;
    char text[1024];
} sti_failure;

/* NULL without memory: a FAIL without an object says just that. */
sti_object *sti_failure_object(strads_err err, const char *text);

/* ---- jobs: computations that roles ask for and runtimes carry out.
 *
 * A role fills a job, emits COMPUTE, and does not touch it until DONE. Jobs of
 * one role are carried out one at a time, in the order they were asked; a
 * worker's so for each of its partitions. */

typedef enum sti_call {
    STI_CALL_OPEN = 0, /* worker: a partition's `open` */
    STI_CALL_WORK = 1, /* worker: updates, then the updates of a partition */
    STI_CALL_RING_STEP = 2, /* worker: one RING block on a partition */
    STI_CALL_MERGE = 3,     /* worker: one partial into another */
    STI_CALL_CLOSE = 4,     /* worker: a partition's `close` */
    STI_CALL_BEGIN = 5,     /* coordinator: `begin`, start values, the policy */
    STI_CALL_SCHEDULE = 6,
    STI_CALL_PREPARE = 7,   /* coordinator: makes a dispatch, if it may leave */
    STI_CALL_AGGREGATE = 8, /* coordinator: commits a dispatch */
    STI_CALL_REPORT = 9,    /* coordinator: `objective` alone */
    STI_CALL_CHOOSE = 10,   /* scheduler: priorities, then the policy */
    STI_CALL_PACK = 11,     /* worker: what a partition adds to a cut */
    STI_CALL_CUT = 12       /* coordinator: its state, or the whole cut */
} sti_call;

/* A failed job's sentence. It is kept by the role (a worker has one for each
 * partition), not by each job: a job is cleared and looked at every round, and
 * is to be a few lines of cache. */
typedef struct sti_job_text {
    char text[1024];
} sti_job_text;

/* What the runtime knows of every job. After it ran, `err` tells, and `said`
 * has the sentence when it failed. */
typedef struct sti_job {
    sti_call call;
    sti_address role; /* who asked */
    uint32_t phase;   /* for the trace and the cost model */
    uint64_t round;
    uint64_t elapsed_ns; /* set by the runtime */
    strads_err err;
    sti_job_text *said;   /* the role's; until its next job fails */
    struct sti_job *next; /* the runtime's, while it waits */
} sti_job;

typedef enum sti_event_kind {
    STI_EVENT_MESSAGE = 0, /* msg; the role takes over its reference */
    STI_EVENT_DONE = 1,    /* a COMPUTE of this role has been carried out */
    STI_EVENT_START = 2,   /* first event of a coordinator */
    STI_EVENT_CANCEL = 3,  /* coordinator: end the run soon, keep the model */
    STI_EVENT_TIMER = 4    /* what an effect TIMER asked for; early is fine */
} sti_event_kind;

typedef struct sti_event {
    sti_event_kind kind;
    uint64_t now; /* ns since the run started */
    sti_msg msg;
    sti_job *job;
} sti_event;

typedef enum sti_effect_kind {
    STI_EFFECT_SEND = 0,    /* msg, with its reference */
    STI_EFFECT_COMPUTE = 1, /* carry out job, then DONE */
    STI_EFFECT_REPORT = 2,  /* tell the user: the coordinator's progress */
    STI_EFFECT_END = 3,     /* this role is done; err says how */
    STI_EFFECT_TIMER = 4,   /* give this role a TIMER event once `now` is `at`;
                               a role has asked for one at a time */
    STI_EFFECT_WAKE = 5     /* worker `worker` may repeat the call that was
                               told to wait (engine/store/client.h) */
} sti_effect_kind;

typedef struct sti_effect {
    sti_effect_kind kind;
    sti_msg msg;
    sti_job *job;
    strads_err err;  /* END; the sentence is the thread's error text */
    uint64_t at;     /* TIMER: ns since the run started, as `now` is */
    uint32_t worker; /* WAKE */
} sti_effect;

/* A batch of effects that grows. When memory runs out `lost` is set: the
 * runtime ends the run with STRADS_ENOMEM. */
typedef struct sti_effects {
    sti_effect *at;
    size_t n, capacity;
    bool lost;
} sti_effects;

void sti_effect_send(sti_effects *out, sti_msg msg);
void sti_effect_compute(sti_effects *out, sti_job *job);
void sti_effect_report(sti_effects *out);
void sti_effect_end(sti_effects *out, strads_err err);
void sti_effect_timer(sti_effects *out, uint64_t at);
void sti_effect_wake(sti_effects *out, uint32_t worker);
void sti_effects_free(sti_effects *out);

#endif
