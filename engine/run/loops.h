/* engine/run/loops.h - a program's `run`: a data-parallel loop on every
 * partition, each with a thread and a session of the store. loops.c has the
 * threads and what loops say and ask, loop_nodes.c what nodes tell each other,
 * simulate.c the loops in virtual time. */
#ifndef STI_LOOPS_H
#define STI_LOOPS_H

#include <pthread.h>

#include "engine/base/trace.h"
#include "engine/net/mesh.h"
#include "engine/run/run_setup.h"
#include "engine/round/loop_message.h"

/* One partition's. */
typedef struct sti_loop {
    struct sti_loops *all;
    uint32_t partition;
    pthread_t thread;
    strads_session *session;
    double begun;       /* seconds */
    double seconds;     /* since then, as far as it has told: guarded */
    strads_times times; /* the part of them in its session: guarded */
    uint64_t clock;     /* clocks that it has ended by then: guarded */
    bool told;          /* that the run ends; its own thread's, as these: */
    uint64_t asked_at;  /* 1 + the clock in which it asked last; 0: never */
    uint64_t reach;     /* the clock that it is at or on its way to: guarded */
    uint32_t unasked;   /* clocks ended since the run's end */
    bool cut;           /* it does not ask, and was stopped */
    strads_err err;
    char text[1024];
} sti_loop;

/* Cuts of loops, see loop_cut.c. Guarded, but for the first three. */
typedef struct sti_loop_cut {
    bool keeps;        /* the run has cuts */
    uint64_t step;     /* they are of multiples of this clock, */
    uint64_t final;    /* of none after this one */
    uint64_t at;       /* nobody passes this clock; UINT64_MAX: they may */
    bool agreed;       /* by all nodes: who is there packs */
    bool under_way;    /* chosen because it was due */
    bool over;         /* no more are made */
    bool ends;         /* when the next one is there the run ends, */
    strads_end end;    /* for that reason */
    uint64_t due_ns;   /* the next one; 0: none is */
    bool declined;     /* a partition has packed nothing: it cannot be made, */
    uint32_t declines; /* so many in a row */
    uint32_t arrived;  /* partitions of this process that are there, */
    sti_buffer *parts; /* and what they have packed; NULL: nothing */
} sti_loop_cut;

typedef struct sti_loops {
    sti_setup *setup;
    double wall, cpu;             /* when the run began */
    sti_trace *trace;             /* NULL: none; its times count from */
    uint64_t zero_ns;             /* here on */
    uint32_t first, count;        /* the partitions of this process */
    sti_loop *loop;               /* [count] */
    struct sti_loop_nodes *nodes; /* NULL: one process */
    struct sti_sim_loop *sim;     /* not NULL: in virtual time */
    double most_spent;            /* measuring: seconds of computing; 0 */
    uint64_t start;               /* the clock that it begins at: of a cut */
    const sti_buffer *from;       /* .. and what partitions packed there */
    pthread_mutex_t lock;         /* guards all below */
    pthread_cond_t moved;         /* any of them changed */
    uint32_t running;
    bool failed;
    bool ends;      /* for all of them, */
    strads_end end; /* for that reason; without one: */
    bool counted;   /* a loop came to max_rounds */
    bool reported;  /* waits to be told: */
    strads_report report;
    strads_progress progress;
    strads_worker_time *time; /* [count], in the progress that is told */
    sti_loop_times others;    /* of other nodes' loops, as far as known */
    sti_loop_cut cut;
} sti_loops;

/* ns, real or virtual. */
uint64_t sti_loops_now(const sti_loops *all);

/* Makes what is guarded, and a trace where one is asked for; frees it. Closing
 * passes an error on, or says why the trace is not there. */
strads_err sti_loops_open(sti_loops *all);
strads_err sti_loops_close(sti_loops *all, strads_err err);

/* The life of a partition, from its session's opening to its closing. */
void sti_loop_live(sti_loop *loop);

/* The specs of the run's tables, as the run's options have them: *specs is the
 * caller's to free; names lie in run->store. STRADS_ENOMEM. */
strads_err sti_loops_specs(const sti_run *run, strads_table_spec **specs,
                           uint32_t *n);

/* Goes on from the run's cut, where it has one: clock, progress, parts. */
void sti_loops_go_on(sti_loops *all);

/* Begins with partition 0 .. count - 1 that have done nothing yet. */
void sti_loops_prepare(sti_loops *all);

/* Starts a thread for each partition, as many as can be: they are returned.
 * Then waits for them: the first error of a loop, by partition; STRADS_EIO when
 * some could not be started. */
uint32_t sti_loops_start(sti_loops *all);
strads_err sti_loops_join(sti_loops *all, uint32_t started);

/* Those that end with _locked are called with the lock held. The second one is
 * for bounds and users: where cuts are kept the last one is made before. */
void sti_loops_end_locked(sti_loops *all, strads_end end);
void sti_loops_end_soon_locked(sti_loops *all, strads_end end);
/* Is it to end by now: a time limit, the user? */
void sti_loops_look_locked(sti_loops *all);
/* Who waits for `moved`, or pauses in virtual time, looks again. */
void sti_loops_moved_locked(sti_loops *all);
/* This process's loops, so far. */
sti_loop_times sti_loops_times_locked(const sti_loops *all);

/* Times up to now into the progress. */
void sti_loops_sum_locked(sti_loops *all);

/* The progress as it is told, with this process's loops: by one thread, and
 * until it tells the next one. */
strads_progress sti_loops_told_locked(sti_loops *all);

/* A report becomes the progress that is told next, and may end the run. */
void sti_loops_take_locked(sti_loops *all, const strads_report *report);

/* ---- cuts: loop_cut.c --------------------------------------------------- */

/* Before the loops start: they keep cuts, up to clock `last` (0: no bound). */
void sti_loop_cuts_open(sti_loops *all, uint64_t last);

/* Hooks of a session; `loop` is its sti_loop. */
bool sti_loop_boundary(void *loop, uint64_t *clock);
strads_err sti_loop_arrive(void *loop);

bool sti_loop_cut_is_due_locked(const sti_loops *all);
/* Stops all that come to a clock that none has reached, which is returned, until
 * one is chosen: no earlier one. */
uint64_t sti_loop_cut_ask_locked(sti_loops *all);
void sti_loop_cut_choose_locked(sti_loops *all, uint64_t least);
/* It has been made, or given up. */
void sti_loop_cut_release_locked(sti_loops *all);
/* Whether the run ends with a cut, which is due then. */
bool sti_loop_cut_end_locked(sti_loops *all, strads_end end);
/* Writes it, of what is in run->store. */
strads_err sti_loop_cut_make(const sti_loops *all, const sti_buffer *parts,
                             uint64_t clock);

/* ---- in virtual time: simulate.c ---------------------------------------- */

/* A loop's run on simulated nodes; with cuts, where the setup's run has them.
 * With `spent` (measuring): until so many seconds were computed; and *spent is
 * what a clock took. `loses` as sti_sim_loop_setup's, or NULL. *out is to be freed
 * with an error, too. */
strads_err sti_simulate_loop(sti_setup *setup, const strads_sim_options *costs,
                             double *spent,
                             bool (*loses)(void *arg, const sti_msg *msg),
                             void *loses_arg, strads_result **out,
                             strads_sim_outcome *outcome);

/* ---- in one process ----------------------------------------------------- */

/* Runs one thread a partition until all have returned; progress is told on the
 * caller's. The first error, by partition, is the run's. The result is as that
 * of any run; with an error it is to be freed all the same. */
strads_err sti_loop_run(sti_setup *setup, strads_result **out);

/* ---- on several nodes: loop_nodes.c ------------------------------------- */

typedef struct sti_loop_nodes_setup {
    sti_setup *setup;
    sti_mesh *mesh;
    uint32_t first, count; /* the partitions of this node; 0: shards alone */
    uint32_t with_loops;   /* nodes that have partitions */
    sti_data_mark mark;
    /* Node 0: the run is to end with its first cut, as its user wants. */
    bool stopped;
    /* On the caller's thread. All are ready; and of node 0 alone: a report; what
     * the links and earlier generations add to a progress that is this one's. */
    void (*begun)(void *arg, struct sti_loop_nodes *nodes);
    void (*progress)(void *arg, const strads_progress *progress);
    void (*add)(const void *arg, strads_progress *progress);
    void *arg;
} sti_loop_nodes_setup;

/* Runs this node's part: one thread a partition. *out is node 0's, and NULL on
 * the others; so is what the run came to in *progress, whatever ends it. The
 * first failure of any node is that of all. */
strads_err sti_loop_nodes_run(const sti_loop_nodes_setup *setup,
                              strads_progress *progress, strads_result **out);

/* Ends the generation for all nodes: STRADS_EREGROUP. Node 0, from `begun` on;
 * without the lock. */
void sti_loop_nodes_regroup(struct sti_loop_nodes *nodes, const char *text);

/* ns that this node's loops have computed so far. Any thread, from `begun` on. */
uint64_t sti_loop_nodes_busy(struct sti_loop_nodes *nodes);

/* The session of a partition of this node. */
strads_err sti_loop_nodes_session(struct sti_loop_nodes *nodes,
                                  uint32_t partition, strads_session **out);

/* A loop has failed: nobody is to wait for it. Any thread, without the lock. */
void sti_loop_nodes_fail(struct sti_loop_nodes *nodes, strads_err err,
                         const char *text);

/* Is this a node that is told when the run ends, and does not judge? */
bool sti_loop_nodes_is_told(const struct sti_loop_nodes *nodes);

#endif
