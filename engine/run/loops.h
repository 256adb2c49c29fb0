/* engine/run/loops.h - a program's `run`: a data-parallel loop for each
 * partition, with its own thread and store session. loops.c: threads and the
 * calls of a loop. loop_nodes.c: notes between nodes. loop_checkpoint.c:
 * checkpoints. simulate.c: loops in virtual time. */
#ifndef STI_LOOPS_H
#define STI_LOOPS_H

#include <pthread.h>

#include "engine/base/trace.h"
#include "engine/net/mesh.h"
#include "engine/run/run_setup.h"
#include "engine/round/loop_message.h"

/* The loop of one partition. "Guarded" means by all->lock. */
typedef struct sti_loop {
    struct sti_loops *all;
    uint32_t partition;
    pthread_t thread;
    strads_session *session;
    double begun;       /* seconds */
    double seconds;     /* since `begun`, at the last report: guarded */
    strads_times times; /* the session's part of `seconds`: guarded */
    uint64_t clock;     /* clocks ended by then: guarded */
    bool told;          /* has learned of the run's end; own thread only: */
    uint64_t asked_at;  /* 1 + the clock of the last question; 0: never asked */
    uint64_t reach;     /* current clock, or the one it is advancing to:
                         * guarded */
    uint32_t unasked;   /* clocks ended since the run's end without asking */
    bool cut_off;       /* stopped because it never asks */
    strads_err err;
    char text[1024];
} sti_loop;

/* Checkpoints of loops, see loop_checkpoint.c. All fields but the first three
 * are guarded. */
typedef struct sti_loop_checkpoint {
    bool keeps;        /* checkpoints are enabled */
    uint64_t step;     /* checkpoints are at multiples of this clock */
    uint64_t final;    /* the last possible clock */
    uint64_t at;       /* no loop passes this clock; UINT64_MAX: none */
    bool agreed;       /* all nodes agreed on `at`: loops there may pack */
    bool under_way;    /* a due checkpoint was started */
    bool over;         /* no more checkpoints */
    bool ends;         /* the run ends after the next checkpoint */
    strads_end end;    /* the reason for that end */
    uint64_t due_ns;   /* time of the next checkpoint; 0: none */
    bool declined;     /* a partition packed nothing: abandon this one */
    uint32_t declines; /* abandoned in a row */
    uint32_t arrived;  /* partitions of this process that have packed */
    sti_buffer *parts; /* their packed state; NULL: none yet */
} sti_loop_checkpoint;

typedef struct sti_loops {
    sti_setup *setup;
    double wall, cpu;             /* when the run began */
    sti_trace *trace;             /* NULL: none */
    uint64_t zero_ns;             /* start of the trace's time */
    uint32_t first, count;        /* the partitions of this process */
    sti_loop *loop;               /* [count] */
    struct sti_loop_nodes *nodes; /* NULL: one process */
    struct sti_sim_loop *sim;     /* NULL: real time */
    double most_spent;            /* measuring: limit in seconds of computing;
                                   * 0: none */
    uint64_t start;               /* first clock; > 0 when resumed */
    const sti_buffer *from;       /* partitions' packed state when resumed, or
                                   * NULL */
    pthread_mutex_t lock;         /* guards the fields below */
    pthread_cond_t moved;         /* one of them changed */
    uint32_t running;
    bool failed;
    bool ends;      /* all loops have to end */
    strads_end end; /* the reason for the end */
    bool counted;   /* a loop reached max_rounds */
    bool reported;  /* `report` has not been passed on yet */
    strads_report report;
    strads_progress progress;
    strads_worker_time *time; /* [count], in the progress for the user */
    sti_loop_times others;    /* last known times of other nodes' loops */
    sti_loop_checkpoint checkpoint;
} sti_loops;

/* Nanoseconds, real or virtual. */
uint64_t sti_loops_now(const sti_loops *all);

/* Initialises the guarded fields and opens the trace, if there is one. Closing
 * frees them and returns `err`, or else the trace's own error. */
strads_err sti_loops_open(sti_loops *all);
strads_err sti_loops_close(sti_loops *all, strads_err err);

/* Runs one partition, from opening its session to closing it. */
void sti_loop_live(sti_loop *loop);

/* The specs of the run's tables with the run's options filled in. The caller
 * frees *specs; the names belong to run->store. STRADS_ENOMEM. */
strads_err sti_loops_specs(const sti_run *run, strads_table_spec **specs,
                           uint32_t *n);

/* If the run is resumed, takes clock, progress and packed state from its
 * checkpoint. */
void sti_loops_go_on(sti_loops *all);

/* Resets the loops of partitions 0 .. count - 1. */
void sti_loops_prepare(sti_loops *all);

/* Starts one thread for each partition, and returns how many could be started.
 * Joining waits for them and returns the first error, by partition, or
 * STRADS_EIO if some threads could not be started. */
uint32_t sti_loops_start(sti_loops *all);
strads_err sti_loops_join(sti_loops *all, uint32_t started);

/* Functions that end with _locked are called with the lock held.
 * sti_loops_end_soon_locked is for time limits and stop requests: if
 * checkpoints are enabled, the run first makes a last one. */
void sti_loops_end_locked(sti_loops *all, strads_end end);
void sti_loops_end_soon_locked(sti_loops *all, strads_end end);
/* Ends the run if its time limit is over or the user has asked to stop. */
void sti_loops_look_locked(sti_loops *all);
/* Wakes threads that wait for `moved`, and loops that pause in virtual time. */
void sti_loops_moved_locked(sti_loops *all);
/* Times of this process's loops so far. */
sti_loop_times sti_loops_times_locked(const sti_loops *all);

/* Updates the times in `progress`. */
void sti_loops_sum_locked(sti_loops *all);

/* The progress to report, with this process's loops. It is valid until the next
 * call; only one thread may call this. */
strads_progress sti_loops_progress_locked(sti_loops *all);

/* Copies a report into `progress`, which may end the run. */
void sti_loops_take_locked(sti_loops *all, const strads_report *report);

/* ---- checkpoints: loop_checkpoint.c -------------------------------------- */

/* Enables checkpoints up to clock `last` (0: no bound). Before the loops
 * start. */
void sti_loop_checkpoints_open(sti_loops *all, uint64_t last);

/* Hooks of a session; `loop` is its sti_loop. */
bool sti_loop_boundary(void *loop, uint64_t *clock);
strads_err sti_loop_arrive(void *loop);

bool sti_loop_checkpoint_is_due_locked(const sti_loops *all);
/* Asking returns a clock that no loop has reached, and makes loops wait there
 * until a clock is chosen, which is `least` or later. */
uint64_t sti_loop_checkpoint_ask_locked(sti_loops *all);
void sti_loop_checkpoint_choose_locked(sti_loops *all, uint64_t least);
/* Ends a checkpoint that is made or abandoned. */
void sti_loop_checkpoint_release_locked(sti_loops *all);
/* Schedules a last checkpoint and the run's end after it. False: the run ends
 * without one. */
bool sti_loop_checkpoint_end_locked(sti_loops *all, strads_end end);
/* Makes a checkpoint of the tables in run->store. */
strads_err sti_loop_checkpoint_make(const sti_loops *all,
                                    const sti_buffer *parts, uint64_t clock);

/* ---- in virtual time: simulate.c ---------------------------------------- */

/* Runs a program's loop on simulated nodes, with checkpoints if the setup's run
 * has them. With `spent` (measuring), stops after *spent seconds of computing
 * and returns in *spent the seconds of one clock. `loses` is as in
 * sti_sim_loop_setup, or NULL. The caller frees *out, also after an error. */
strads_err sti_simulate_loop(sti_setup *setup, const strads_sim_options *costs,
                             double *spent,
                             bool (*loses)(void *arg, const sti_msg *msg),
                             void *loses_arg, strads_result **out,
                             strads_sim_outcome *outcome);

/* ---- in one process ----------------------------------------------------- */

/* Runs one thread for each partition until all have returned; progress is
 * reported on the caller's thread. Returns the first error, by partition. The
 * caller frees *out, also after an error. */
strads_err sti_loop_run(sti_setup *setup, strads_result **out);

/* ---- on several nodes: loop_nodes.c ------------------------------------- */

typedef struct sti_loop_nodes_setup {
    sti_setup *setup;
    sti_mesh *mesh;
    uint32_t first, count; /* this node's partitions; count 0: only shards */
    uint32_t with_loops;   /* nodes that run loops */
    sti_data_mark mark;
    /* Node 0: the user has asked to stop, so the run ends with its first
     * checkpoint. */
    bool stopped;
    /* Called on the caller's thread. `begun`: all nodes are ready. On node 0
     * only: `progress` for each report, and `add` to add the traffic of the
     * links and the totals of earlier epochs. */
    void (*begun)(void *arg, struct sti_loop_nodes *nodes);
    void (*progress)(void *arg, const strads_progress *progress);
    void (*add)(const void *arg, strads_progress *progress);
    void *arg;
} sti_loop_nodes_setup;

/* Runs this node's part, one thread for each partition. *out and the final
 * *progress are set on node 0; *out is NULL on other nodes. The first failure
 * of any node is returned on all nodes. */
strads_err sti_loop_nodes_run(const sti_loop_nodes_setup *setup,
                              strads_progress *progress, strads_result **out);

/* Ends the membership epoch on all nodes with STRADS_EREGROUP. On node 0, from
 * `begun` on, without the lock. */
void sti_loop_nodes_regroup(struct sti_loop_nodes *nodes, const char *text);

/* Nanoseconds that this node's loops have computed so far. Any thread, from
 * `begun` on. */
uint64_t sti_loop_nodes_busy(struct sti_loop_nodes *nodes);

/* Opens the session of a partition of this node. */
strads_err sti_loop_nodes_session(struct sti_loop_nodes *nodes,
                                  uint32_t partition, strads_session **out);

/* Reports a failed loop, so that no thread waits for it. Any thread, without
 * the lock. */
void sti_loop_nodes_fail(struct sti_loop_nodes *nodes, strads_err err,
                         const char *text);

/* True on nodes other than node 0: they do not decide when the run ends. */
bool sti_loop_nodes_follows(const struct sti_loop_nodes *nodes);

#endif
