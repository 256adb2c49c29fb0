/* engine/round/job.h - computations that roles ask for and runtimes carry out.
 *
 * A role fills a job, emits COMPUTE, and does not touch it until DONE. Jobs of
 * one role are carried out one at a time, in the order they were asked; a
 * worker's so for each of its partitions. Every callback of a program or a
 * policy runs inside a job, on a thread that the runtime chose. */
#ifndef STI_JOB_H
#define STI_JOB_H

#include <math.h>

#include "engine/round/dispatch.h"
#include "engine/base/role.h"
#include "engine/round/run_context.h"

/* ---- worker's jobs ----------------------------------------------------- */

/* A RING block on its way. */
typedef struct sti_ring_step {
    sti_object head;
    struct sti_ring_step *behind; /* the holder's: a list of those back home */
    uint32_t index;               /* block in the dispatch */
    uint32_t number;              /* of the step: partitions that it has met */
    sti_buffer *partial;          /* merged over the holders so far */
    double *values;               /* [n x width] */
    size_t n_values;
    void *object;                  /* NULL: none, or packed */
    sti_buffer *packed;            /* the object's bytes, between nodes */
    const strads_payload *payload; /* closes `object` when the step is lost */
} sti_ring_step;

strads_err sti_ring_step_new(uint32_t index, size_t n_values,
                             size_t partial_bytes, sti_ring_step **out);

typedef struct sti_worker_job {
    sti_job job;
    uint32_t partition;
    uint64_t seq;       /* the worker's slot */
    uint64_t behind_ns; /* set by the runtime: so long its thread had computed
                           for this round before */
    sti_dispatch *dispatch;
    sti_buffer *partial; /* WORK: to fill; MERGE: into */
    sti_buffer *from;    /* MERGE */
    uint32_t chunk;      /* MERGE: which part of the partial `from` is */
    sti_ring_step *step; /* RING_STEP */
    bool leaves;         /* RING_STEP: pack the object for another node */
    bool home;           /* RING_STEP: the lap is over, keep the record */
    bool last;           /* RING_STEP: of this partition's in this lap */
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
    sti_decision decision; /* out, and below */
    uint32_t decided_phase;
    uint32_t n_blocks;
    strads_block *blocks; /* the receiver's to free */
} sti_schedule_job;

typedef struct sti_prepare_job {
    sti_job job;
    sti_dispatch_parts parts;
    bool check;             /* a policy chose: see sti_job_release */
    bool again;             /* after a probe that the last check asked for */
    sti_buffer *packed;     /* out; NULL: it goes down whole */
    sti_dispatch *dispatch; /* out; NULL: it may not leave, because */
    strads_block *unknown;  /* out: [2] these have to be probed, or NULL: of */
                            /* something in flight; the receiver's to free */
} sti_prepare_job;

/* Priorities on their way to a scheduler. */
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
/* Deals priorities out to the schedulers: moved[schedulers], NULL as long as
 * there is nothing for one. From here on parameters have the numbers that they
 * have within the scheduler's range. */
strads_err sti_priorities_deal(const sti_run *run, sti_priorities **priorities,
                               uint32_t n, const uint32_t *param,
                               const double *priority);
strads_err sti_priorities_rest(const sti_run *run, sti_priorities **priorities,
                               double rest);

typedef struct sti_aggregate_job {
    sti_job job;
    sti_run *run;
    sti_dispatch *dispatch;
    sti_buffer *partial; /* in; of one that came in chunks: out, a reference */
    uint32_t n_chunks;
    sti_buffer **chunks; /* [n_chunks] taken over; 0: it came whole */
    bool ask_objective;
    bool by_policy; /* the policy chose these blocks */
    /* All changes of which partitions may not have known; grows as blocks are
     * committed. The coordinator's array, lent. */
    strads_change *recent;
    size_t n_recent, cap_recent;
    /* Out. */
    sti_update **updates; /* [n_updates], references for the taker */
    uint32_t n_updates, cap_updates;
    sti_priorities **priorities; /* [schedulers] for each of them, or NULL */
    double rest;                 /* the level that was told last */
    bool routed; /* the policy's blocks go elsewhere from now on */
    uint32_t route_phase;
    double route_work;
    uint32_t
        max_partitions; /* a pool's blocks are dealt out among; 0: among all */
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

typedef struct sti_cut_position {
    uint64_t next; /* number of the next dispatch; of a loop: its clock */
    uint64_t laps, version;
    strads_progress progress;
} sti_cut_position;

/* Two of them make a cut, with what the partitions have packed between them. */
typedef struct sti_cut_job {
    sti_job job;
    bool whole;          /* false: `state` alone */
    sti_cut_position at; /* whole: where the run is */
    sti_buffer *state;   /* out: empty when it declines; whole: in */
    sti_buffer *parts;   /* whole: in, or NULL */
} sti_cut_job;

/* ---- scheduler's job --------------------------------------------------- */

/* The answer to an ASK. */
typedef struct sti_choice {
    sti_object head;
    strads_choice_kind kind;
    uint32_t n;
    strads_block *blocks; /* BLOCKS; PROBE: block and against */
    double remaining;     /* >= 0: what the range has left; 0: not known */
} sti_choice;

strads_err sti_choice_new(sti_choice **out);

/* What a probe that a scheduler has asked for has found. */
typedef struct sti_found {
    struct sti_found *next;
    strads_block *pair; /* the two blocks */
    const double *value;
    sti_buffer *values; /* what `value` lies in */
} sti_found;

/* The question: what is in flight of the scheduler's own blocks and of the
 * program's, and what is new since the last one. */
typedef struct sti_ask {
    sti_object head;
    uint32_t n_in_flight;
    strads_block *in_flight;
    double work;
    uint32_t
        max_partitions; /* a pool's blocks are dealt out among; 0: among all */
    uint32_t n_priorities, cap_priorities;
    sti_priorities **priorities; /* in order of commits */
    sti_found *found; /* for one of several schedulers, in order of commits */
} sti_ask;

strads_err sti_ask_new(sti_ask **out);
/* Takes over the reference, also when it fails. NULL: nothing. */
strads_err sti_ask_add_priorities(sti_ask *ask, sti_priorities *priorities);
/* Copies the pair, and takes over the reference, also when it fails. */
strads_err sti_ask_add_found(sti_ask *ask, const strads_block *pair,
                             sti_buffer *values, const double *value);

typedef struct sti_choose_job {
    sti_job job;
    sti_run *run;
    uint32_t scheduler;
    sti_ask *ask;
    uint64_t draw;
    double rest;
    bool probed;        /* the answer before was a probe */
    sti_choice *choice; /* out: the answer */
} sti_choose_job;

/* ---- carrying out ------------------------------------------------------ */

/* Carries out a job on the calling thread. A shard's needs no run: NULL. */
void sti_job_run(sti_run *run, sti_job *job);

/* The parts of sti_job_run, one for each role; a worker's job begins with
 * `job` as all do. */
strads_err sti_job_worker(sti_run *run, sti_worker_job *job);
strads_err sti_job_begin(sti_run *run, sti_begin_job *job);
strads_err sti_job_schedule(sti_run *run, sti_schedule_job *job);
strads_err sti_job_prepare(sti_run *run, sti_prepare_job *job);
/* The first half of PREPARE: whether what a policy chose may leave now. */
strads_err sti_job_aggregate(sti_run *run, sti_aggregate_job *job);
strads_err sti_job_report(sti_run *run, sti_aggregate_job *job);
strads_err sti_job_cut(sti_run *run, sti_cut_job *job);

/* Progress before the first report. */
static inline void sti_progress_begin(strads_progress *progress)
{
    progress->objective = progress->gap = (double)NAN;
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        progress->measure[k] = (double)NAN;
}
strads_err sti_job_choose(sti_run *run, sti_choose_job *job);

/* Parts of BEGIN: run->store with the table of the parameters, and with the
 * program's own. */
strads_err sti_job_make_parameters(sti_run *run);
strads_err sti_job_make_tables(sti_run *run);

/* A ring step's object as bytes; the object stays. */
strads_err sti_payload_pack(const sti_ring_step *step, sti_buffer **out);

/* What a worker's callback is told: of its partition, and of one block. */
strads_task sti_job_task(const sti_run *run, const sti_worker_job *job);
strads_task sti_job_block_task(const sti_run *run, const sti_worker_job *job,
                               uint32_t index);

/* Parks a block's payload on a partition. STRADS_ENOMEM. */
strads_err sti_park(sti_partition *part, uint64_t block, void *object);
/* Frees the payloads that are parked on a partition. */
void sti_parked_free(const sti_run *run, sti_partition *part);

/* Whether a phase's updates get their blocks' values. */
static inline bool sti_phase_takes_values(const sti_run *run, uint32_t phase)
{
    const strads_phase *p = phase < run->n_phases ? &run->phases[phase] : NULL;
    return p && !p->ignores_values && p->when != STRADS_WHEN_PROBE &&
           p->to != STRADS_TO_NOBODY;
}
/* Work in one update of parameters first .. first + n - 1, to be freed: the
 * program's word, or the entries of the column; at least 1. */
strads_err sti_job_weigh(const sti_run *run, uint32_t first, uint32_t n,
                         float **out);

/* Whether a dispatch's partials are records (partials.h) instead of numbers
 * that are merged place by place. */
static inline bool sti_phase_keeps_records(const strads_phase *phase)
{
    return phase->to == STRADS_TO_OWNER || phase->to == STRADS_TO_RING ||
           phase->merge == STRADS_MERGE_CONCAT;
}

/* What a block's partial takes, in bytes, as the phase says. */
size_t sti_phase_partial_bytes(const sti_run *run, uint32_t phase,
                               const strads_block *block,
                               const strads_block *against);

/* The same of a block of a dispatch, whose space for it was rounded up to 8. */
size_t sti_partial_bytes(const sti_run *run, const sti_dispatch *dispatch,
                         uint32_t index);

/* into += from, both `bytes` bytes, for SUM, MAX and OWN. */
void sti_phase_merge(const strads_phase *phase, void *into, const void *from,
                     size_t bytes);

#endif
