/* engine/round/coordinator_state.h - what the files of the coordinator share:
 * coordinator.c turns events into calls and decides what is next,
 * coordinator_choose.c asks the schedulers, coordinator_commit.c sends
 * dispatches, takes in what comes back and commits it. */
#ifndef STI_COORDINATOR_STATE_H
#define STI_COORDINATOR_STATE_H

#include "engine/round/cut.h"
#include "engine/round/roles.h"
#include "engine/round/tree.h"

/* A dispatch that is not yet committed. */
typedef struct sti_inflight {
    bool used, arrived, by_policy, alone;
    bool finalises; /* dispatched after the run's end: no round of the user's */
    uint32_t scheduler; /* by_policy, and a probe that one asked for: whose */
    strads_block
        *parts;       /* [n_parts] of a joint block, its schedulers'; owned */
    uint32_t n_parts; /* 0: all blocks are the scheduler's */
    sti_dispatch *dispatch;
    sti_buffer *partial;
    sti_buffer **chunks; /* [n_chunks] of a partial that comes in chunks */
    uint32_t n_chunks, n_came;
    uint64_t sent_at;
    uint64_t alone_ns; /* since it was sent, or the one before arrived */
    uint64_t busy_ns;  /* of it, the longest computing */
} sti_inflight;

/* A dispatch that is decided and not yet made. */
typedef struct sti_plan {
    bool set, by_policy;
    uint32_t phase;
    uint32_t n_blocks;
    strads_block *blocks; /* owned; PROBE: the second one is `against` */
    bool probe;
    bool again; /* after a probe, for what was not known of it */
    bool finalises;
    uint32_t scheduler;
    strads_block *parts; /* as an in-flight round's */
    uint32_t n_parts;
} sti_plan;

#define STI_SCHEDULER_NONE UINT32_MAX

/* What the coordinator knows of a scheduler. It changes at the scheduler's turn
 * and when rounds land, whenever answers come: so the run can be repeated. */
typedef enum sti_scheduler_standing {
    STI_SCHEDULER_IDLE = 0,  /* has no question */
    STI_SCHEDULER_ASKED = 1, /* `choice` is its answer, once that is here */
    STI_SCHEDULER_WAITS = 2, /* for something to land */
    STI_SCHEDULER_RESTS = 3  /* until there is something new for it */
} sti_scheduler_standing;

typedef struct sti_scheduler_state {
    sti_scheduler_standing state;
    uint32_t in_flight; /* rounds of its blocks */
    sti_ask *ask;       /* gathers what is new for the next question */
    sti_choice *choice;
    bool outdated;      /* something that it was told of has landed since */
    double remaining;   /* by its last answer that was looked at; 0: unknown */
    double credit;      /* turns that it has to come */
    uint64_t probed[2]; /* 1 + ids of the pair probed for it last */
} sti_scheduler_state;

/* A block that is being put together of what several schedulers chose. */
typedef struct sti_joint {
    bool open;
    uint32_t from, looked; /* schedulers looked at, and the first of them */
    double wanted;         /* work that it should have */
    double weight;         /* work that it has */
    uint32_t n;            /* parameters in it */
    uint32_t n_parts;
    strads_block **part; /* [schedulers] one block, owned, or NULL */
} sti_joint;

/* What a joint block was made of: the ids of its parts. */
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
    uint64_t next_round;    /* numbers everything that is committed */
    uint64_t next_seq;      /* numbers what workers are sent */
    sti_inflight *inflight; /* [window] by seq modulo window */
    sti_inflight own;       /* of a phase to NOBODY: never really in flight */
    sti_inflight *committing;
    uint64_t last_arrival; /* when a partial came last */
    uint32_t in_flight;
    sti_plan plan;
    sti_plan kept; /* a policy's, until a probe or a commit lets it leave */
    sti_scheduler_state *schedulers; /* [schedulers] */
    uint32_t turn;                   /* whose it is, or STI_CHOOSER_NONE */
    uint32_t awaited; /* 1 + whose answer nothing goes on without */
    sti_joint joint;
    sti_joint_id joint_id[STI_JOINT_IDS]; /* of those made last */
    uint64_t joints;                      /* made so far */
    bool looking;       /* the default schedule's REST phases are due, */
    uint32_t look_next; /* from this one on */
    bool wants_choice;  /* the policy is to choose, for choice_phase */
    uint32_t choice_phase;
    uint32_t policy_phase; /* where the policy's blocks go by default */
    double policy_work;    /* entries in each; 0: as measured */
    uint32_t probing;      /* probes in flight: nothing else is decided */
    uint64_t probed[2];    /* 1 + ids of the pair probed for `kept` last */
    uint64_t laps;         /* dispatches to a RING */
    bool waiting;          /* nothing before the next commit */
    bool at_rest;
    uint64_t chosen_since_rest;
    bool stopping;
    bool fresh_report; /* nothing was committed after it */
    bool looked_last;  /* the REST phases have run once more, for the report */
    bool finalised;    /* the schedule has stopped the run */
    uint32_t finalise_turns; /* how often it was asked after the run's end */
    strads_end end;
    /* Updates for the next dispatch, and changes not known to all in flight. */
    sti_update **updates;
    uint32_t n_updates, cap_updates;
    sti_update **history; /* of the changes in aggregate.recent; those of a
                           commit that failed are not here */
    size_t n_history;
    uint64_t version;
    uint64_t since_report;
    bool flight_told; /* the most rounds in flight were reported: count anew */
    double overhead_ns, entries_per_ns; /* of policy rounds, smoothed */
    strads_progress progress;
    sti_job_text said;
    sti_begin_job begin;
    sti_schedule_job schedule;
    sti_prepare_job prepare;
    sti_aggregate_job aggregate;
    sti_cut_job cut;
    bool begun;             /* the store holds what the run starts from */
    bool cutting, last_cut; /* one is being made; the run's last is due */
    uint64_t cut_at;        /* when the next one is due */
    uint64_t cut_declined;  /* before this dispatch the state was not packed */
    strads_block *flying;   /* scratch for prepare */
    size_t cap_flying;
};

/* ---- coordinator.c ----------------------------------------------------- */

void sti_coord_end(sti_coordinator *c, strads_err err, sti_effects *out);
void sti_coord_fail_job(sti_coordinator *c, const sti_job *job,
                        sti_effects *out);
void sti_coord_start_job(sti_coordinator *c, sti_job *job, sti_call call,
                         uint64_t round, uint32_t phase, sti_effects *out);
/* Drops what an in-flight round holds. */
void sti_coord_clear_inflight(sti_inflight *f);
sti_inflight *sti_coord_inflight(sti_coordinator *c, uint64_t seq);
void sti_coord_stop(sti_coordinator *c, strads_end end);
strads_err sti_coord_no_memory(void);
strads_err sti_coord_keep_update(sti_coordinator *c, sti_update *update);
void sti_coord_drop_updates(sti_update **updates, size_t n);

/* A dispatch of the engine's own: OPEN or CLOSE. */
/* All policies are at rest. */
void sti_coord_rest(sti_coordinator *c);

/* ---- coordinator_choose.c ------------------------------------------------ */

/* The next choice, of whose turn it is, and of those who join it: a plan, a
 * question, or nothing as long as all of them wait or rest. False: nothing can
 * be chosen now. */
bool sti_coord_choose(sti_coordinator *c, sti_effects *out);
/* Asks who has nothing in flight ahead of its turn. False: the run is over. */
bool sti_coord_ask_ahead(sti_coordinator *c, sti_effects *out);
void sti_coord_take_choice(sti_coordinator *c, const sti_msg *msg,
                           sti_effects *out);
/* A round of blocks that a policy chose has left. */
void sti_coord_count_chosen(sti_coordinator *c, const sti_plan *plan);
/* A round of this in-flight round has landed. */
void sti_coord_wake(sti_coordinator *c, const sti_inflight *f);
/* Has a pair of blocks probed; not the last one again, or the run fails. */
void sti_coord_plan_probe(sti_coordinator *c, uint64_t last[2],
                          strads_block *pair, uint32_t scheduler,
                          sti_effects *out);
/* Whether a scheduler has yet to answer. */
bool sti_coord_is_asking(const sti_coordinator *c);
/* Priorities for each scheduler; takes over the references. */
strads_err sti_coord_tell_schedulers(sti_coordinator *c,
                                     sti_priorities **priorities);
/* The values of a probe for who has asked for it. */
strads_err sti_coord_tell_found(sti_coordinator *c, const sti_inflight *f);
strads_err sti_coord_make_schedulers(sti_coordinator *c);
void sti_coord_free_schedulers(sti_coordinator *c);

/* The block, and its parts if there are several; the caller's to free. False:
 * no memory. */
void sti_coord_join_drop(sti_coordinator *c);

/* ---- coordinator_commit.c ------------------------------------------------ */

/* Blocks in flight, probes apart, into c->flying; `scheduler`: its own and the
 * program's, or all of them by STI_CHOOSER_NONE. SIZE_MAX: no memory. */
size_t sti_coord_gather_flying(sti_coordinator *c, uint32_t scheduler);
bool sti_coord_plan_may_leave(sti_coordinator *c);
void sti_coord_prepare(sti_coordinator *c, sti_effects *out);
void sti_coord_prepared(sti_coordinator *c, sti_effects *out);

/* A PARTIAL; an in-flight round takes over its reference. */
void sti_coord_take_partial(sti_coordinator *c, const sti_msg *msg,
                            sti_effects *out);

/* Starts to commit one that has arrived; false when none may be. */
bool sti_coord_commit_next(sti_coordinator *c, sti_effects *out);
void sti_coord_committed(sti_coordinator *c, sti_effects *out);
void sti_coord_take_report(sti_coordinator *c, sti_effects *out);

/* ---- coordinator.c: cuts ------------------------------------------------- */

/* The partitions have packed their parts. */
void sti_coord_cut_parts(sti_coordinator *c, sti_buffer *parts,
                         sti_effects *out);

#endif
