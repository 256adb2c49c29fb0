/* engine/sim/sim_loop.h - data-parallel loops on simulated nodes, in
 * virtual time: the shards, clients and messages of a run over nodes, on a
 * network that loses nothing, unless it is told to, and takes the time that it is
 * said to take.
 *
 * Each partition is a thread that holds the run token (sim_run_token.h) while it
 * computes: that really happens, and takes no virtual time but what a clock is
 * priced at, when it ends. Where roles live is what sti_run_node_of says. */
#ifndef STI_SIM_LOOP_H
#define STI_SIM_LOOP_H

#include "engine/base/trace.h"
#include "engine/round/run_context.h"

typedef struct sti_sim_loop sti_sim_loop;

typedef struct sti_sim_loop_setup {
    const sti_run *run;              /* its nodes, shards, partitions */
    const strads_sim_options *costs; /* a clock costs what an update does */
    const strads_table_spec *tables; /* [n_tables], outlive the simulation */
    uint32_t n_tables;
    sti_trace *trace; /* of messages and shards' jobs, in virtual time, or NULL;
                         outlives the simulation */
    void (*body)(void *arg, uint32_t partition); /* a partition's life */
    void (*visit)(void *arg); /* on the caller's thread: see _visit */
    void *arg;
    /* Whether a message between nodes gets lost, for good; NULL: none does. */
    bool (*loses)(void *arg, const sti_msg *msg);
    void *loses_arg;
} sti_sim_loop_setup;

/* Starts with what is in the tables of `start`, which is not needed after.
 * STRADS_ENOMEM, STRADS_EINVAL. */
strads_err sti_sim_loop_new(const sti_sim_loop_setup *setup,
                            const strads_store *start, sti_sim_loop **out);
void sti_sim_loop_free(sti_sim_loop *sim);

/* Runs until all bodies have returned and all pushes are in. STRADS_ESTATE:
 * they wait for what does not come. */
strads_err sti_sim_loop_run(sti_sim_loop *sim);

/* Adds the first `n` tables, all of them dense, as the shards hold them to those
 * of `to`. */
strads_err sti_sim_loop_tables(sti_sim_loop *sim, uint32_t n, strads_store *to);

void sti_sim_loop_outcome(const sti_sim_loop *sim, strads_sim_outcome *out);

/* ---- from a body ------------------------------------------------------- */

/* The session of this partition; closed before the body returns. */
strads_err sti_sim_loop_session(sti_sim_loop *sim, uint32_t partition,
                                strads_session **out);

/* Virtual ns since the start; what computing really took, by the processor. */
uint64_t sti_sim_loop_now(const sti_sim_loop *sim);
uint64_t sti_sim_loop_spent(const sti_sim_loop *sim);

/* The partition's turn does not come before all are woken. STRADS_ECANCELED: the
 * run is over. */
strads_err sti_sim_loop_pause(sti_sim_loop *sim, uint32_t partition);
void sti_sim_loop_wake(sti_sim_loop *sim);

/* While all others pause: time goes on until all pushes are in. STRADS_ESTATE:
 * one is lost. */
strads_err sti_sim_loop_settle(sti_sim_loop *sim);

/* Has the caller's thread call `visit`, and waits for it. No time passes. */
void sti_sim_loop_visit(sti_sim_loop *sim, uint32_t partition);

#endif
