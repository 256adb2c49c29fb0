/* engine/round/coordinator_state.h - state that the files of the coordinator
 * share. coordinator.c turns events into calls and decides the next step,
 * coordinator_choose.c asks the schedulers, coordinator_commit.c sends
 * dispatches, receives partials and commits them. */
#ifndef STI_COORDINATOR_STATE_H
#define STI_COORDINATOR_STATE_H

#include "engine/round/checkpoint.h"
#include "engine/round/roles.h"
#include "engine/round/tree.h"

/* A dispatch that is not yet committed. */
typedef struct sti_inflight {
    bool used, arrived, by_policy, alone;
    bool finalises; /* dispatched after the run's end; not counted as a round */
    /* of a policy's round or a requested probe: its scheduler */
    uint32_t scheduler;
    strads_block
        *parts; /* [n_parts] the schedulers' parts of a joint block; owned */
    uint32_t n_parts; /* 0: all blocks are the scheduler's */
    sti_dispatch *dispatch;
    sti_buffer *partial;
    sti_buffer **chunks; /* [n_chunks] of a partial that arrives in chunks */
    uint32_t n_chunks, n_came;
    uint64_t sent_at;
    uint64_t alone_ns; /* since it was sent, or since the previous arrival */
    uint64_t busy_ns;  /* the longest computation in that time */
} sti_inflight;

/* A dispatch that is decided and not yet made. */
typedef struct sti_plan {
    bool set, by_policy;
    uint32_t phase;
    uint32_t n_blocks;
    strads_block *blocks; /* owned; PROBE: the second one is `against` */
    bool probe;
    bool again; /* repeated after a probe of its unknown pairs */
    bool finalises;
    uint32_t scheduler;
    strads_block *parts; /* as in sti_inflight */
    uint32_t n_parts;
} sti_plan;

#define STI_SCHEDULER_NONE UINT32_MAX

/* A scheduler as the coordinator sees it. The state changes only at the
 * scheduler's turn and when rounds land, not when answers arrive, so a run is
 * repeatable. */
typedef enum sti_scheduler_standing {
    STI_SCHEDULER_IDLE = 0,  /* not asked */
    STI_SCHEDULER_ASKED = 1, /* `choice` is its answer once that has arrived */
    STI_SCHEDULER_WAITS = 2, /* for a round to land */
    STI_SCHEDULER_RESTS = 3  /* until it gets new priorities */
} sti_scheduler_standing;

typedef struct sti_scheduler_state {
    sti_scheduler_standing state;
    uint32_t in_flight; /* rounds of its blocks */
    sti_ask *ask;       /* collects input for the next request */
    sti_choice *choice;
    bool outdated;      /* a round that it was told about has landed since */
    double remaining;   /* from its last answer that was used; 0: unknown */
    double credit;      /* turns that it is owed */
    uint64_t probed[2]; /* 1 + ids of the last pair probed for it */
} sti_scheduler_state;

/* A block that is composed of several schedulers' choices. */
typedef struct sti_joint {
    bool open;
    uint32_t from, looked; /* the first scheduler, and how many were checked */
    double wanted;         /* the work that it should have */
    double weight;         /* the work that it has */
    uint32_t n;            /* its number of parameters */
    uint32_t n_parts;
    strads_block **part; /* [schedulers] one block, owned, or NULL */
} sti_joint;

/* The ids of the parts of a joint block. */
enum { STI_JOINT_IDS = 16 };
typedef struct sti_joint_id {
    uint64_t id;
    uint32_t n;
    uint64_t *part; /* [n] */
} sti_joint_id;

typedef enum sti_stage {
    STI_STAGE_NEW,
    STI_STAGE_OPENING,
    STI_STAGE_RUNNING,
    STI_STAGE_CLOSING,
    STI_STAGE_ENDED
} sti_stage;

struct sti_coordinator {
    sti_run *run;
    sti_stage stage;
    uint64_t now;
    bool busy;
    uint64_t next_round;    /* number of the next committed dispatch */
    uint64_t next_seq;      /* number of the next dispatch to workers */
    sti_inflight *inflight; /* [window] by seq modulo window */
    sti_inflight own; /* a phase to NOBODY: committed without being sent */
    sti_inflight *committing;
    uint64_t last_arrival; /* arrival time of the last partial */
    uint32_t in_flight;
    sti_plan plan;
    sti_plan kept; /* a policy's plan that waits for a probe or a commit */
    sti_scheduler_state *schedulers; /* [schedulers] */
    uint32_t turn; /* the scheduler that has the turn, or STI_SCHEDULER_NONE */
    /* 1 + the scheduler with the answer that the coordinator waits for */
    uint32_t awaited;
    sti_joint joint;
    sti_joint_id joint_id[STI_JOINT_IDS]; /* of the last joint blocks */
    uint64_t joints;                      /* number of joint blocks made */
    bool looking;       /* REST phases of the default schedule are due, */
    uint32_t look_next; /* starting with this one */
    bool wants_choice;  /* the policy must choose, for choice_phase */
    uint32_t choice_phase;
    uint32_t policy_phase; /* the default phase of the policy's blocks */
    double policy_work;    /* entries per block; 0: as measured */
    uint32_t probing;      /* probes in flight; no decisions meanwhile */
    uint64_t probed[2];    /* 1 + ids of the last pair probed for `kept` */
    uint64_t laps;         /* number of dispatches to a RING */
    bool waiting;          /* decide nothing before the next commit */
    bool idle;
    uint64_t chosen_since_idle;
    bool stopping;
    bool fresh_report; /* nothing was committed after it */
    bool looked_last;  /* the REST phases have run again for the final report */
    bool finalised;    /* the schedule has stopped the run */
    uint32_t finalise_turns; /* how often it was asked after the run's end */
    strads_end end;
    /* Updates for the next dispatch, and changes that some in-flight rounds do
     * not know. */
    sti_update **updates;
    uint32_t n_updates, cap_updates;
    /* of the changes in aggregate.recent, except those of a failed commit */
    sti_update **history;
    size_t n_history;
    uint64_t version;
    uint64_t since_report;
    bool
        flight_reported; /* the maximum of in_flight was reported; restart it */
    double overhead_ns, entries_per_ns; /* of policy rounds, smoothed */
    strads_progress progress;
    sti_job_text said;
    sti_begin_job begin;
    sti_schedule_job schedule;
    sti_prepare_job prepare;
    sti_aggregate_job aggregate;
    sti_checkpoint_job checkpoint;
    bool begun; /* the store holds the start values */
    /* a checkpoint is in progress; the run's last is due */
    bool checkpointing, last_checkpoint;
    uint64_t checkpoint_at; /* when the next checkpoint is due */
    /* the state declined to be packed before this dispatch */
    uint64_t checkpoint_declined;
    strads_block *flying; /* workspace of prepare */
    size_t cap_flying;
};

/* ---- coordinator.c ----------------------------------------------------- */

void sti_coord_end(sti_coordinator *c, strads_err err, sti_effects *out);
void sti_coord_fail_job(sti_coordinator *c, const sti_job *job,
                        sti_effects *out);
void sti_coord_start_job(sti_coordinator *c, sti_job *job, sti_call call,
                         uint64_t round, uint32_t phase, sti_effects *out);
/* Releases the contents of an in-flight round. */
void sti_coord_clear_inflight(sti_inflight *f);
sti_inflight *sti_coord_inflight(sti_coordinator *c, uint64_t seq);
void sti_coord_stop(sti_coordinator *c, strads_end end);
strads_err sti_coord_no_memory(void);
strads_err sti_coord_keep_update(sti_coordinator *c, sti_update *update);
void sti_coord_drop_updates(sti_update **updates, size_t n);

/* Marks the policies as idle. */
void sti_coord_set_idle(sti_coordinator *c);

/* ---- coordinator_choose.c ------------------------------------------------ */

/* Makes the next choice, by the scheduler that has the turn and those that join
 * its block: a plan, a request, or nothing while all schedulers wait or are
 * idle. False: nothing can be chosen now. */
bool sti_coord_choose(sti_coordinator *c, sti_effects *out);
/* Asks the schedulers that have nothing in flight ahead of their turn. False:
 * the run has ended. */
bool sti_coord_ask_ahead(sti_coordinator *c, sti_effects *out);
void sti_coord_take_choice(sti_coordinator *c, const sti_msg *msg,
                           sti_effects *out);
/* Counts a dispatched round of a policy's blocks. */
void sti_coord_count_chosen(sti_coordinator *c, const sti_plan *plan);
/* Marks the schedulers of a landed round as due. */
void sti_coord_wake(sti_coordinator *c, const sti_inflight *f);
/* Plans a probe of a pair of blocks. If `last` is the same pair, the run
 * fails. */
void sti_coord_plan_probe(sti_coordinator *c, uint64_t last[2],
                          strads_block *pair, uint32_t scheduler,
                          sti_effects *out);
/* Whether a scheduler has not answered yet. */
bool sti_coord_is_asking(const sti_coordinator *c);
/* Priorities for each scheduler; takes over the references. */
strads_err sti_coord_update_schedulers(sti_coordinator *c,
                                       sti_priorities **priorities);
/* Passes the values of a probe to the scheduler that requested it. */
strads_err sti_coord_report_found(sti_coordinator *c, const sti_inflight *f);
strads_err sti_coord_make_schedulers(sti_coordinator *c);
void sti_coord_free_schedulers(sti_coordinator *c);

/* Drops the parts of the joint block. */
void sti_coord_join_drop(sti_coordinator *c);

/* ---- coordinator_commit.c ------------------------------------------------ */

/* Collects the blocks in flight except probes in c->flying: those of
 * `scheduler` and the program, or all for STI_SCHEDULER_NONE. SIZE_MAX: no
 * memory. */
size_t sti_coord_gather_flying(sti_coordinator *c, uint32_t scheduler);
bool sti_coord_plan_may_leave(sti_coordinator *c);
void sti_coord_prepare(sti_coordinator *c, sti_effects *out);
void sti_coord_prepared(sti_coordinator *c, sti_effects *out);

/* A PARTIAL; an in-flight round takes over its reference. */
void sti_coord_take_partial(sti_coordinator *c, const sti_msg *msg,
                            sti_effects *out);

/* Starts to commit a round that has arrived; false if none can be committed. */
bool sti_coord_commit_next(sti_coordinator *c, sti_effects *out);
void sti_coord_committed(sti_coordinator *c, sti_effects *out);
void sti_coord_take_report(sti_coordinator *c, sti_effects *out);

/* ---- coordinator.c: checkpoints
 * ------------------------------------------- */

/* Receives the packed parts of the partitions. */
void sti_coord_checkpoint_parts(sti_coordinator *c, sti_buffer *parts,
                                sti_effects *out);

#endif
