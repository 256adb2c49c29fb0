/* engine/base/role.h - messages between roles, and the events and effects
 * through which a runtime drives a role. */
#ifndef STI_ROLE_H
#define STI_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/object.h"
#include "strads/error.h"

/* The address of a role in a run. There is one coordinator, and any number of
 * store shards, schedulers, store clients (one on each node that uses the
 * store) and workers. The runtime maps each to a node and a thread. With the
 * dynamic or static engine, the coordinator and the shard share a node, and the
 * schedulers are on the first nodes (sti_run_node_of). */
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
    STI_MSG_PARTIAL = 2,  /* up the merge tree to the coordinator */
    STI_MSG_RING_STEP = 3, /* RING: a block to its next holder: sti_ring_step */
    STI_MSG_ASK = 4,       /* coordinator to a scheduler: sti_ask */
    STI_MSG_CHOICE = 5,    /* a scheduler to the coordinator: sti_choice */
    STI_MSG_FAIL = 6,      /* any role to the coordinator: sti_failure */
    /* Messages of the store; a client is a sti_client of client.h. */
    STI_MSG_PUSH = 7, /* client to shard: increments, as in message.h */
    STI_MSG_ACK = 8, /* shard to client: all pushes up to `round` are applied */
    STI_MSG_ASK_ROWS = 9, /* client to shard: sti_row_ask */
    STI_MSG_ROWS = 10,    /* shard to client: sti_row_answer */
    /* between nodes of a data-parallel program: sti_loop_note */
    STI_MSG_LOOP = 14,
    /* client to client: a sti_peer_vector for the peer `partition` */
    STI_MSG_PEER_VECTOR = 15
} sti_msg_kind;

/* A message: small, passed by value, with at most one reference. */
typedef struct sti_msg {
    sti_msg_kind kind;
    sti_address from, to;
    /* PARTIAL: the partition it comes from; RING_STEP, PEER_VECTOR: the
     * partition it goes to; CHOICE: the scheduler's number; DISPATCH: the
     * number of pieces, 0 if whole */
    uint32_t partition;
    uint16_t slice; /* PARTIAL: the chunk; DISPATCH: the piece */
    uint64_t round; /* number of the dispatch, or of the push */
    /* PARTIAL: the longest computation below it in the tree */
    uint64_t busy_ns;
    /* PARTIAL, PUSH, PEER_VECTOR, a DISPATCH's piece: a sti_buffer */
    sti_object *object;
} sti_msg;

/* A role's failure. The first one ends the run with this sentence. */
typedef struct sti_failure {
    sti_object head;
    strads_err err;
    char text[1024];
} sti_failure;

/* NULL without memory; a FAIL without an object means exactly that. */
sti_object *sti_failure_object(strads_err err, const char *text);

/* ---- jobs: computations that a role requests and the runtime carries out.
 *
 * A role fills a job, emits COMPUTE, and does not touch the job until DONE. The
 * jobs of one role run one at a time, in the order of the requests. For a
 * worker this holds for each of its partitions. */

typedef enum sti_call {
    STI_CALL_OPEN = 0, /* worker: a partition's `open` */
    STI_CALL_WORK = 1, /* worker: takes commits, then updates a partition */
    STI_CALL_RING_STEP = 2, /* worker: one RING block on a partition */
    STI_CALL_MERGE = 3,     /* worker: merges one partial into another */
    STI_CALL_CLOSE = 4,     /* worker: a partition's `close` */
    STI_CALL_BEGIN = 5,     /* coordinator: `begin`, start values, the policy */
    STI_CALL_SCHEDULE = 6,
    STI_CALL_PREPARE = 7, /* coordinator: makes a dispatch, if it may be sent */
    STI_CALL_AGGREGATE = 8, /* coordinator: commits a dispatch */
    STI_CALL_REPORT = 9,    /* coordinator: `objective` alone */
    STI_CALL_CHOOSE = 10,   /* scheduler: priorities, then the policy */
    STI_CALL_PACK = 11,     /* worker: a partition's share of a checkpoint */
    STI_CALL_CHECKPOINT =
        12 /* coordinator: its state, or the whole checkpoint */
} sti_call;

/* A failed job's sentence. The role keeps it (a worker keeps one for each
 * partition) instead of the job: a job is cleared and read every round, so it
 * must fit into a few cache lines. */
typedef struct sti_job_text {
    char text[1024];
} sti_job_text;

/* The part of every job that the runtime knows. After the job ran, `err` is its
 * result; if it failed, `said` has the message. */
typedef struct sti_job {
    sti_call call;
    sti_address role; /* the role that requested it */
    uint32_t phase;   /* for the trace and the cost model */
    uint64_t round;
    uint64_t elapsed_ns; /* set by the runtime */
    strads_err err;
    sti_job_text *said; /* owned by the role; valid until its next job fails */
    struct sti_job *next; /* the runtime's queue, while the job waits */
} sti_job;

typedef enum sti_event_kind {
    STI_EVENT_MESSAGE = 0, /* msg; the role takes over its reference */
    STI_EVENT_DONE = 1,    /* a COMPUTE of this role has finished */
    STI_EVENT_START = 2,   /* first event of a coordinator */
    STI_EVENT_CANCEL = 3,  /* coordinator: end the run soon, keep the model */
    STI_EVENT_TIMER = 4    /* the answer to a TIMER effect; early is allowed */
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
    STI_EFFECT_REPORT = 2,  /* report the coordinator's progress to the user */
    STI_EFFECT_END = 3,     /* this role is done; err is the result */
    /* send this role a TIMER event once `now` is `at`; a role has one timer at
     * a time */
    STI_EFFECT_TIMER = 4,
    /* worker `worker` may retry the call that had to wait
     * (engine/store/client.h) */
    STI_EFFECT_WAKE = 5
} sti_effect_kind;

typedef struct sti_effect {
    sti_effect_kind kind;
    sti_msg msg;
    sti_job *job;
    strads_err err;  /* END; the sentence is the thread's error text */
    uint64_t at;     /* TIMER: ns since the run started, as `now` is */
    uint32_t worker; /* WAKE */
} sti_effect;

/* A batch of effects that grows. If memory runs out, `lost` is set and the
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
