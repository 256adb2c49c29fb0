/* tests/toy_roles.h - drives workers' state machines by hand: messages wait
 * in a bag and are taken out in a random order given by a seed; jobs run
 * immediately. The test plays the coordinator. */
#ifndef TESTS_TOY_ROLES_H
#define TESTS_TOY_ROLES_H

#include "engine/round/job.h"
#include "engine/round/roles.h"

enum { TOY_PARTITIONS = 13, TOY_WORKERS = 16, TOY_BAG = 512 };

typedef struct toy_roles {
    sti_run run;
    strads_program program;
    sti_partition partition[TOY_PARTITIONS];
    strads_share share[TOY_PARTITIONS];
    uint32_t node_of[TOY_WORKERS];
    sti_worker *worker[TOY_WORKERS];
    sti_effects effects;
    uint64_t seed, draws;
    sti_msg bag[TOY_BAG]; /* sent and not yet delivered */
    sti_job *job[TOY_BAG];
    uint32_t n_bag, n_jobs;
    sti_msg got[TOY_BAG]; /* messages for the coordinator, in order */
    uint32_t n_got;
    uint32_t n_fails, n_ended;
    char text[1024]; /* of the first FAIL */
} toy_roles;

/* K partitions on `workers` workers. The caller owns the phases; refresh may
 * be NULL. */
typedef struct toy_roles_setup {
    const strads_phase *phases;
    uint32_t n_phases, partitions, workers, depth;
    uint64_t seed;
    bool spread; /* one node per worker */
    const void *config;
    strads_err (*refresh)(strads_task *task, const strads_change *changes,
                          uint32_t n);
} toy_roles_setup;

strads_err toy_roles_open(toy_roles *r, const toy_roles_setup *setup);
void toy_roles_close(toy_roles *r);

/* A dispatch with sequence number and round `seq`; updates[n] may be NULL. */
strads_err toy_roles_dispatch(toy_roles *r, uint64_t seq, uint32_t phase,
                              uint32_t n, const strads_block *blocks,
                              uint32_t n_updates, sti_update *const *updates,
                              sti_dispatch **out);

/* Sends a dispatch to the workers, as the coordinator does, in pieces if it
 * is large; takes over the reference. */
void toy_roles_begin(toy_roles *r, sti_dispatch *dispatch);

/* Puts a message into the bag; takes over its reference. */
void toy_roles_send(toy_roles *r, sti_msg msg);

/* Delivers one message or runs one job, drawn from all that wait; false if
 * there is none. */
bool toy_roles_step(toy_roles *r);

/* Drops the messages for the coordinator. A worker may reuse its partial
 * once the coordinator sends the round that follows it in the window. */
void toy_roles_forget(toy_roles *r);

/* Delivers a message at once, and runs the jobs that follow. */
void toy_roles_deliver(toy_roles *r, sti_msg msg);

#endif
