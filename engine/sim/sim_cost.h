/* engine/sim/sim_cost.h - the virtual times of a simulated run: from
 * strads_sim_options and, with jitter, from the run's seed. */
#ifndef STI_SIM_COST_H
#define STI_SIM_COST_H

#include "engine/round/job.h"

/* The largest virtual time, about 146 years. */
#define STI_SIM_TIME_MAX (UINT64_C(1) << 62)

typedef struct sti_sim_cost {
    const sti_run *run;
    strads_sim_options options;
    uint64_t jobs; /* number priced so far; each has its own jitter */
    /* [parameters + 1] prefix sums of the weights; NULL at first */
    double *work_sum;
} sti_sim_cost;

/* STRADS_EINVAL: a time is negative or too large. */
strads_err sti_sim_cost_check(const strads_sim_options *options);

/* `options` are copied; `run` outlives *cost. */
void sti_sim_cost_init(sti_sim_cost *cost, const sti_run *run,
                       const strads_sim_options *options);
void sti_sim_cost_free(sti_sim_cost *cost);

/* The entries that a worker's job reads in its blocks, and in its updates. Call
 * them after sti_sim_cost_job has priced the job. */
double sti_sim_cost_entries(const sti_sim_cost *cost,
                            const sti_worker_job *job);
double sti_sim_cost_updates(const sti_sim_cost *cost,
                            const sti_worker_job *job);

/* The next job's time in ns. Call it after BEGIN has set the weights.
 * STRADS_ENOMEM. */
strads_err sti_sim_cost_job(sti_sim_cost *cost, const sti_job *job,
                            uint64_t *ns);

/* The time of clock `number` of a loop's partition, in ns: update_cost, and
 * entry_cost for each entry of the partition. */
uint64_t sti_sim_cost_clock(const sti_sim_cost *cost, uint32_t partition,
                            uint64_t number);

/* The times of a message's stages, in ns. */
typedef struct sti_sim_message_time {
    uint64_t send, bytes, latency, receive;
} sti_sim_message_time;

/* The times of message `number` of `bytes` bytes. */
sti_sim_message_time sti_sim_cost_message(const sti_sim_cost *cost,
                                          uint64_t number, uint64_t bytes);

/* Adds times; saturates. */
static inline uint64_t sti_sim_after(uint64_t time, uint64_t ns)
{
    return time + ns < time ? UINT64_MAX : time + ns;
}

#endif
