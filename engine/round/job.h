/* engine/round/job.h - computations that a role requests and the runtime
 * carries out.
 *
 * A role fills a job, emits COMPUTE, and does not touch the job until DONE. The
 * jobs of one role run one at a time, in the order of the requests. For a
 * worker this holds for each of its partitions. Every callback of a program or
 * a policy runs inside a job, on a thread that the runtime chose. */
#ifndef STI_JOB_H
#define STI_JOB_H

#include <math.h>

#include "engine/round/dispatch.h"
#include "engine/base/role.h"
#include "engine/round/run_context.h"

/* ---- worker's jobs ----------------------------------------------------- */

/* A RING block in transit. */
typedef struct sti_ring_step {
    sti_object head;
    /* the holder's list of blocks that are back home */
    struct sti_ring_step *behind;
    uint32_t index;      /* block in the dispatch */
    uint32_t number;     /* of the step: number of partitions visited */
    sti_buffer *partial; /* merged over the holders so far */
    double *values;      /* [n x width] */
    size_t n_values;
    void *object;                  /* NULL: none, or packed */
    sti_buffer *packed;            /* the object's bytes, between nodes */
    const strads_payload *payload; /* closes `object` if the step is lost */
} sti_ring_step;

strads_err sti_ring_step_new(uint32_t index, size_t n_values,
                             size_t partial_bytes, sti_ring_step **out);

typedef struct sti_worker_job {
    sti_job job;
    uint32_t partition;
    uint64_t seq; /* the worker's slot */
    /* set by the runtime: time that its thread had already computed for this
     * round */
    uint64_t behind_ns;
    sti_dispatch *dispatch;
    sti_buffer *partial; /* WORK: to fill; MERGE: destination */
    sti_buffer *from;    /* MERGE */
    uint32_t chunk;      /* MERGE: the chunk of the partial that `from` is */
    sti_ring_step *step; /* RING_STEP */
    bool leaves;         /* RING_STEP: pack the object for another node */
    bool home;           /* RING_STEP: the sweep is complete; keep the record */
    bool last;           /* RING_STEP: this partition's last one of the sweep */
} sti_worker_job;

/* ---- coordinator's jobs ------------------------------------------------ */

typedef struct sti_begin_job {
    sti_job job;
    sti_update *start; /* out: start values as a change, or NULL */
} sti_begin_job;

typedef enum sti_decision {
    STI_DECIDE_NOTHING = 0,
    STI_DECIDE_DISPATCH = 1,
    STI_DECIDE_POLICY = 2,
    STI_DECIDE_WAIT = 3,
    STI_DECIDE_STOP = 4
} sti_decision;

typedef struct sti_schedule_job {
    sti_job job;
    strads_turn turn;
    sti_run *run;
    sti_decision decision; /* out, also the fields below */
    uint32_t decided_phase;
    uint32_t n_blocks;
    strads_block *blocks; /* the receiver frees it */
} sti_schedule_job;

typedef struct sti_prepare_job {
    sti_job job;
    sti_dispatch_parts parts;
    bool check; /* a policy chose the blocks: check that they may be sent */
    bool again; /* after a probe that the last check requested */
    sti_buffer *packed;     /* out; NULL: the dispatch is sent whole */
    sti_dispatch *dispatch; /* out; NULL: it must not be sent yet, */
    /* out: because this pair must be probed first, or, if NULL, */
    strads_block *unknown;
    /* because of a block in flight; the receiver frees
                             * it */
} sti_prepare_job;

/* Priorities for a scheduler, in transit. */
typedef struct sti_priorities {
    sti_object head;
    size_t n, capacity;
    uint32_t *param;
    double *priority;
    double rest; /* negative: unchanged */
} sti_priorities;

strads_err sti_priorities_new(sti_priorities **out);
strads_err sti_priorities_add(sti_priorities *priorities, uint32_t n,
                              const uint32_t *param, const double *priority);
/* Distributes priorities to the schedulers: priorities[schedulers], NULL for a
 * scheduler without any. From here on parameters are numbered within the
 * scheduler's range. */
strads_err sti_priorities_deal(const sti_run *run, sti_priorities **priorities,
                               uint32_t n, const uint32_t *param,
                               const double *priority);
strads_err sti_priorities_rest(const sti_run *run, sti_priorities **priorities,
                               double rest);

typedef struct sti_aggregate_job {
    sti_job job;
    sti_run *run;
    sti_dispatch *dispatch;
    sti_buffer *partial; /* in; if it came in chunks: out, a reference */
    uint32_t n_chunks;
    sti_buffer **chunks; /* [n_chunks] taken over; 0: it came whole */
    bool ask_objective;
    bool by_policy; /* the policy chose these blocks */
    /* All changes that partitions may not have known; grows as blocks are
     * committed. The array belongs to the coordinator. */
    strads_change *recent;
    size_t n_recent, cap_recent;
    /* Out. */
    sti_update **updates; /* [n_updates], references for the receiver */
    uint32_t n_updates, cap_updates;
    sti_priorities **priorities; /* [schedulers] for each of them, or NULL */
    double rest;                 /* the level reported last */
    bool routed; /* the policy's blocks have another phase from now on */
    uint32_t route_phase;
    double route_work;
    uint32_t
        /* a pool's blocks are distributed over so many; 0: over all */
        max_partitions;
    bool reported;
    strads_report report;
    uint64_t coordinates, coordinates_other;
    /* The block that is being committed. */
    sti_buffer *scratch;  /* value, change and priority */
    sti_buffer *gathered; /* CONCAT: the pieces of its partial */
    double *total_change; /* of the shared totals, or NULL */
    uint32_t *also_param;
    double *also_change;
    uint32_t n_also, cap_also;
} sti_aggregate_job;

typedef struct sti_checkpoint_position {
    uint64_t next; /* number of the next dispatch; of a loop: its clock */
    uint64_t laps, version;
    strads_progress progress;
} sti_checkpoint_position;

/* Two of these jobs make a checkpoint; between them the partitions pack their
 * parts. */
typedef struct sti_checkpoint_job {
    sti_job job;
    bool whole;                 /* false: only `state` */
    sti_checkpoint_position at; /* whole: the position of the run */
    sti_buffer *state; /* out: empty if the program declines; whole: in */
    sti_buffer *parts; /* whole: in, or NULL */
} sti_checkpoint_job;

/* ---- scheduler's job --------------------------------------------------- */

/* The answer to an ASK. */
typedef struct sti_choice {
    sti_object head;
    strads_choice_kind kind;
    uint32_t n;
    strads_block *blocks; /* BLOCKS; PROBE: block and against */
    double remaining;     /* remaining priority of the range; 0: unknown */
} sti_choice;

strads_err sti_choice_new(sti_choice **out);

/* The result of a probe that a scheduler requested. */
typedef struct sti_found {
    struct sti_found *next;
    strads_block *pair; /* the two blocks */
    const double *value;
    sti_buffer *values; /* holds `value` */
} sti_found;

/* A request to a scheduler: the blocks in flight of the scheduler and the
 * program, and the news since the last request. */
typedef struct sti_ask {
    sti_object head;
    uint32_t n_in_flight;
    strads_block *in_flight;
    double work;
    uint32_t
        /* a pool's blocks are distributed over so many; 0: over all */
        max_partitions;
    uint32_t n_priorities, cap_priorities;
    sti_priorities **priorities; /* in order of commits */
    sti_found *found; /* only with several schedulers, in order of commits */
} sti_ask;

strads_err sti_ask_new(sti_ask **out);
/* Takes over the reference, also on failure. NULL adds nothing. */
strads_err sti_ask_add_priorities(sti_ask *ask, sti_priorities *priorities);
/* Copies the pair and takes over the reference, also on failure. */
strads_err sti_ask_add_found(sti_ask *ask, const strads_block *pair,
                             sti_buffer *values, const double *value);

typedef struct sti_choose_job {
    sti_job job;
    sti_run *run;
    uint32_t scheduler;
    sti_ask *ask;
    uint64_t draw;
    double rest;
    bool probed;        /* the previous answer was a probe */
    sti_choice *choice; /* out: the answer */
} sti_choose_job;

/* ---- execution --------------------------------------------------------- */

/* Carries out a job on the calling thread. A shard's job needs no run: NULL. */
void sti_job_run(sti_run *run, sti_job *job);

/* The parts of sti_job_run, one for each role. A worker's job begins with
 * `job`, as all jobs do. */
strads_err sti_job_worker(sti_run *run, sti_worker_job *job);
strads_err sti_job_begin(sti_run *run, sti_begin_job *job);
strads_err sti_job_schedule(sti_run *run, sti_schedule_job *job);
strads_err sti_job_prepare(sti_run *run, sti_prepare_job *job);
strads_err sti_job_aggregate(sti_run *run, sti_aggregate_job *job);
strads_err sti_job_report(sti_run *run, sti_aggregate_job *job);
/* STRADS_EPROGRAM: the run has diverged, so that its model cannot be used: the
 * objective is infinite or a parameter is not finite. */
strads_err sti_job_check_finite(const sti_run *run, double objective);
strads_err sti_job_checkpoint(sti_run *run, sti_checkpoint_job *job);

/* Progress before the first report. */
static inline void sti_progress_begin(strads_progress *progress)
{
    progress->objective = progress->gap = (double)NAN;
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        progress->measure[k] = (double)NAN;
}
strads_err sti_job_choose(sti_run *run, sti_choose_job *job);

/* Parts of BEGIN: make run->store with the table of the parameters, and the
 * program's own tables. */
strads_err sti_job_make_parameters(sti_run *run);
strads_err sti_job_make_tables(sti_run *run);

/* Packs a ring step's object; the object stays. */
strads_err sti_payload_pack(const sti_ring_step *step, sti_buffer **out);

/* The arguments of a worker's callback: for its partition, and for one
 * block. */
strads_task sti_job_task(const sti_run *run, const sti_worker_job *job);
strads_task sti_job_block_task(const sti_run *run, const sti_worker_job *job,
                               uint32_t index);

/* Parks a block's payload on a partition. STRADS_ENOMEM. */
strads_err sti_park(sti_partition *part, uint64_t block, void *object);
/* Frees the payloads parked on a partition. */
void sti_parked_free(const sti_run *run, sti_partition *part);

/* Whether a phase's updates receive their blocks' values. */
static inline bool sti_phase_takes_values(const sti_run *run, uint32_t phase)
{
    const strads_phase *p = phase < run->n_phases ? &run->phases[phase] : NULL;
    return p && !p->ignores_values && p->when != STRADS_WHEN_PROBE &&
           p->to != STRADS_TO_NOBODY;
}
/* The work in one update of each of the parameters first .. first + n - 1, in
 * an array that the caller frees: the program's weight, or the entries of the
 * column; at least 1. */
strads_err sti_job_weigh(const sti_run *run, uint32_t first, uint32_t n,
                         float **out);

/* Whether a dispatch's partials are records (partials.h) instead of numbers
 * that are merged element by element. */
static inline bool sti_phase_keeps_records(const strads_phase *phase)
{
    return phase->to == STRADS_TO_OWNER || phase->to == STRADS_TO_RING ||
           phase->merge == STRADS_MERGE_CONCAT;
}

/* The size of a block's partial in bytes, as the phase defines it. */
size_t sti_phase_partial_bytes(const sti_run *run, uint32_t phase,
                               const strads_block *block,
                               const strads_block *against);

/* The same for a block of a dispatch, which rounds the space up to 8. */
size_t sti_partial_bytes(const sti_run *run, const sti_dispatch *dispatch,
                         uint32_t index);

/* into += from, both of `bytes` bytes, for SUM, MAX and OWN. */
void sti_phase_merge(const strads_phase *phase, void *into, const void *from,
                     size_t bytes);

#endif
