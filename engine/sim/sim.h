/* engine/sim/sim.h - a whole run with all its nodes, on one thread in virtual
 * time.
 *
 * Events come from one queue, ordered by virtual time. Callbacks really run,
 * when their job starts, and take the virtual time of sim_cost.h. Worker w is
 * alone on node w; the coordinator, the scheduler and the shard are on a node
 * of their own, number `workers`. Every role has its own core, which runs its
 * jobs one after the other. Messages within a node arrive at once, in order;
 * between nodes they go through sim_wire.h. The same seed and options give the
 * same run, event for event. */
#ifndef STI_SIM_H
#define STI_SIM_H

#include "engine/base/trace.h"
#include "engine/round/job.h"
#include "engine/round/run_context.h"
#include "engine/sim/sim_meter.h"

typedef struct sti_sim sti_sim;

typedef struct sti_sim_options {
    sti_run *run; /* with one worker on each node: node_of[w] = w */
    const strads_sim_options *costs;
    sti_trace *trace;          /* or NULL */
    sti_sim_meter *meter;      /* not NULL: jobs take their measured time */
    const volatile bool *stop; /* or NULL; checked before each event */
    void (*report)(void *arg, const strads_progress *progress);
    /* Whether a message between nodes is lost; NULL: never. */
    bool (*loses)(void *arg, const sti_msg *msg);
    void *arg;
} sti_sim_options;

/* STRADS_ENOMEM. The objects that `options` points to outlive the
 * simulation. */
strads_err sti_sim_new(const sti_sim_options *options, sti_sim **out);
void sti_sim_free(sti_sim *sim);

/* Runs until the run ends or fails; returns its error. STRADS_ESTATE: no event
 * is left before its end. STRADS_ELIMIT: virtual time overflows. */
strads_err sti_sim_run(sti_sim *sim);

/* Progress in virtual time: `seconds` since the start, `cpu_seconds` of busy
 * cores, `callback_seconds` of that in callbacks. */
void sti_sim_progress(const sti_sim *sim, strads_progress *out);
strads_end sti_sim_end(const sti_sim *sim);
/* As sti_coordinator_position, also after an error. */
bool sti_sim_position(const sti_sim *sim, sti_checkpoint_position *out);
void sti_sim_outcome(const sti_sim *sim, strads_sim_outcome *out);

#endif
