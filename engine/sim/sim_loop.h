/* engine/sim/sim_loop.h - data-parallel loops on simulated nodes, in virtual
 * time: the shards, clients and messages of a run over nodes. The network loses
 * messages only if `loses` is set, and takes the times of `costs`.
 *
 * Each partition is a thread that holds the run token (sim_run_token.h) while
 * it computes. The computation is real; its virtual time is the price of a
 * clock, which passes when the clock ends. sti_run_node_of gives the nodes of
 * the roles. */
#ifndef STI_SIM_LOOP_H
#define STI_SIM_LOOP_H

#include "engine/base/trace.h"
#include "engine/round/run_context.h"

typedef struct sti_sim_loop sti_sim_loop;

typedef struct sti_sim_loop_setup {
    const sti_run *run;              /* its nodes, shards, partitions */
    const strads_sim_options *costs; /* a clock costs as much as an update */
    const strads_table_spec *tables; /* [n_tables], outlive the simulation */
    uint32_t n_tables;
    /* of messages and shards' jobs, in virtual time, or NULL; outlives the
     * simulation */
    sti_trace *trace;
    void (*body)(void *arg, uint32_t partition); /* the loop of a partition */
    /* on the caller's thread: see sti_sim_loop_visit */
    void (*visit)(void *arg);
    void *arg;
    /* Whether a message between nodes is lost for good; NULL: never. */
    bool (*loses)(void *arg, const sti_msg *msg);
    void *loses_arg;
} sti_sim_loop_setup;

/* Starts with the contents of `start`, which may be freed afterwards.
 * STRADS_ENOMEM, STRADS_EINVAL. */
strads_err sti_sim_loop_new(const sti_sim_loop_setup *setup,
                            const strads_store *start, sti_sim_loop **out);
void sti_sim_loop_free(sti_sim_loop *sim);

/* Runs until all bodies have returned and all pushes are applied.
 * STRADS_ESTATE: bodies wait for messages that never come. */
strads_err sti_sim_loop_run(sti_sim_loop *sim);

/* Adds the shards' contents of the first `n` tables, all dense, to the tables
 * of `to`. */
strads_err sti_sim_loop_tables(sti_sim_loop *sim, uint32_t n, strads_store *to);

void sti_sim_loop_outcome(const sti_sim_loop *sim, strads_sim_outcome *out);

/* ---- calls of a body --------------------------------------------------- */

/* The session of this partition; close it before the body returns. */
strads_err sti_sim_loop_session(sti_sim_loop *sim, uint32_t partition,
                                strads_session **out);

/* Virtual ns since the start; and the processor time really spent computing. */
uint64_t sti_sim_loop_now(const sti_sim_loop *sim);
uint64_t sti_sim_loop_spent(const sti_sim_loop *sim);

/* Waits until sti_sim_loop_wake wakes all partitions. STRADS_ECANCELED: the run
 * is over. */
strads_err sti_sim_loop_pause(sti_sim_loop *sim, uint32_t partition);
void sti_sim_loop_wake(sti_sim_loop *sim);

/* While all others pause: lets time pass until all pushes are applied.
 * STRADS_ESTATE: one is lost. */
strads_err sti_sim_loop_settle(sti_sim_loop *sim);

/* Calls `visit` on the caller's thread and waits for it. No virtual time
 * passes. */
void sti_sim_loop_visit(sti_sim_loop *sim, uint32_t partition);

#endif
