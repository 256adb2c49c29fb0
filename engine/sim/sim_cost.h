/* engine/sim/sim_cost.h - how long things seem to take in a simulated
 * run: from strads_sim_options and, with jitter, from the run's seed. */
#ifndef STI_SIM_COST_H
#define STI_SIM_COST_H

#include "engine/round/job.h"

/* Virtual times end here, some 146 years in. */
#define STI_SIM_TIME_MAX (UINT64_C(1) << 62)

typedef struct sti_sim_cost {
    const sti_run *run;
    strads_sim_options options;
    uint64_t jobs;    /* priced so far: each draws jitter of its own */
    double *work_sum; /* [parameters + 1] weights summed up, or NULL as yet */
} sti_sim_cost;

/* Whether times are numbers from 0 up, within reason: STRADS_EINVAL. */
strads_err sti_sim_cost_check(const strads_sim_options *options);

/* `options` are copied; `run` outlives *cost. */
void sti_sim_cost_init(sti_sim_cost *cost, const sti_run *run,
                       const strads_sim_options *options);
void sti_sim_cost_free(sti_sim_cost *cost);

/* Entries that a worker's job reads in its blocks, and in what its updates have
 * changed. Only after sti_sim_cost_job has priced it. */
double sti_sim_cost_entries(const sti_sim_cost *cost,
                            const sti_worker_job *job);
double sti_sim_cost_updates(const sti_sim_cost *cost,
                            const sti_worker_job *job);

/* The next job's time in ns. Only after BEGIN has weighed the parameters.
 * STRADS_ENOMEM. */
strads_err sti_sim_cost_job(sti_sim_cost *cost, const sti_job *job,
                            uint64_t *ns);

/* The time of clock `number` of a loop's partition, in ns: update_cost, and
 * entry_cost for each entry that the partition holds. */
uint64_t sti_sim_cost_clock(const sti_sim_cost *cost, uint32_t partition,
                            uint64_t number);

/* What the parts of a message's way take, in ns. */
typedef struct sti_sim_message_time {
    uint64_t send, bytes, latency, receive;
} sti_sim_message_time;

/* Of message `number`, of so many bytes. */
sti_sim_message_time sti_sim_cost_message(const sti_sim_cost *cost,
                                          uint64_t number, uint64_t bytes);

/* Times added up; what would wrap stays at the largest. */
static inline uint64_t sti_sim_after(uint64_t time, uint64_t ns)
{
    return time + ns < time ? UINT64_MAX : time + ns;
}

#endif
