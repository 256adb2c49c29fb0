/* engine/round/run_context.h - state that the roles of one node and their jobs
 * share: the program, its sizes, and the state for callbacks. engine/run fills
 * it in before the first event. Roles read only the constants. A comment below
 * names the jobs that write the other fields. */
#ifndef STI_RUN_CONTEXT_H
#define STI_RUN_CONTEXT_H

#include <stdbool.h>

#include "engine/base/role.h"
#include "engine/round/pair_cache.h"
#include "strads/store.h"
#include "strads/engine.h"

/* A RING block's payload at its home, between sweeps; NULL while it travels. */
typedef struct sti_parked {
    uint64_t block;
    void *object;
} sti_parked;

/* State of one partition. Only its jobs access it, one at a time. */
typedef struct sti_partition {
    const strads_share *share;
    void *local;
    bool opened;
    sti_parked *parked;
    uint32_t n_parked, cap_parked;
    uint32_t parked_last; /* index of the last lookup */
    /* Shared totals: this partition's view, and by dispatch its additions that
     * may not be committed yet. */
    double *total; /* [totals], or NULL */
    double *added; /* [window x totals] by dispatch number */
} sti_partition;

/* How a loop's tables are spread, from the run's options: strads/engine.h. */
typedef struct sti_tuning {
    double hold_below;
    uint64_t push_bytes, cache_bytes;
    uint32_t window;
} sti_tuning;
/* owned_policy.h */
typedef struct sti_owned sti_owned;

/* One scheduler's state for its range of the parameters. Only its jobs access
 * it. Its policy numbers the parameters from 0. */
typedef struct sti_range {
    void *policy;  /* the policy's state; NULL before the first request */
    float *weight; /* [its parameters]; NULL if the run has them */
    /* results of its own probes; NULL: none, or the only scheduler uses the
     * run's */
    sti_pairs *pairs;
} sti_range;

typedef struct sti_run {
    /* Constants. */
    const strads_program *program;
    const void *config;
    const strads_data *data;
    strads_shape shape;
    const strads_phase *phases; /* the program's, or `simple` */
    uint32_t n_phases;
    strads_phase simple;
    uint32_t probe_phase; /* n_phases when there is none */
    uint64_t seed;
    const volatile bool *stop; /* the user of this process asks; or NULL */
    uint32_t depth, want, partitions, workers;
    const uint32_t *node_of; /* [workers] */
    /* [workers + 1] partitions, if nodes differ in speed; NULL: evenly
     * spread */
    const uint32_t *first;
    uint32_t nodes, shards; /* of a run on several nodes */
    sti_tuning tuning;      /* the same */
    uint32_t schedulers;    /* 1 .. parameters */
    /* 1 .. partitions; = partitions if the program is not pooled */
    uint32_t pools;
    bool deterministic;
    double tolerance, threshold, time_limit;
    uint64_t max_rounds;
    /* Nodes that host shards of a loop and no worker. If there are any, they
     * host all shards; otherwise all nodes host shards in turn. */
    const uint32_t *hosts; /* [n_hosts] */
    uint32_t n_hosts;
    const struct sti_route *route; /* of the plan; NULL: no plan */
    const struct sti_checkpoints
        *checkpoints; /* checkpoint.h; NULL: no checkpoints */
    uint64_t n_start;
    const uint32_t *start_param;
    const double *start_value;

    sti_partition *partition; /* [partitions]; share NULL: hosted elsewhere */
    /* [partitions] of a pooled program: set when the partition opens, before
     * any update; otherwise NULL */
    strads_peer *peer;
    const strads_policy *policy;
    sti_range *range; /* [schedulers] */

    /* The coordinator's node. Its jobs (begin, schedule, prepare, aggregate)
     * run one at a time, and never beside those of an only scheduler. Callbacks
     * see `store`, and the model is made from it. */
    strads_store *store;
    void *state;
    bool begun;
    sti_pairs *pairs; /* NULL without a PROBE phase */
    uint32_t totals;  /* table of the shared totals, if there are any */
    /* replaces the policies of ranges if partitions own parameters; there is
     * one scheduler then */
    sti_owned *owned;
    float *weight; /* [parameters]; constant after BEGIN */
    /* received; written by the schedulers' jobs */
    uint64_t priorities[STRADS_PRIORITY_BINS];
} sti_run;

/* The worker that hosts partition p: contiguous ranges, as even as possible or
 * as `first` gives them. */
static inline uint32_t sti_run_host(const sti_run *run, uint32_t p)
{
    uint32_t w = (uint32_t)((uint64_t)p * run->workers / run->partitions);
    if (run->first) {
        while (run->first[w] > p)
            w--;
        while (run->first[w + 1] <= p)
            w++;
    }
    return w;
}

/* The first partition of worker w; w == workers gives the end. */
static inline uint32_t sti_run_first(const sti_run *run, uint32_t w)
{
    if (run->first)
        return run->first[w];
    return (uint32_t)(((uint64_t)w * run->partitions + run->workers - 1) /
                      run->workers);
}

/* The first parameter of scheduler s. Each scheduler has a contiguous range, as
 * even as possible; s == schedulers gives the end. */
static inline uint32_t sti_run_range(const sti_run *run, uint32_t s)
{
    return (uint32_t)((s * run->shape.parameters + run->schedulers - 1) /
                      run->schedulers);
}

static inline uint32_t sti_run_scheduler(const sti_run *run, uint32_t param)
{
    return (uint32_t)((uint64_t)param * run->schedulers /
                      run->shape.parameters);
}

/* Every policy numbers its blocks from STRADS_POLICY_BLOCK_IDS on, with
 * STI_RANGE_IDS ids. In a run, scheduler s adds s x STI_RANGE_IDS, so every id
 * names one block. The ids after the last scheduler's belong to joint blocks.
 * An only scheduler's policy has all ids. */
#define STI_RANGE_IDS (UINT64_C(1) << 52)
enum { STI_SCHEDULERS_MAX = 256 };

/* The scheduler of a block. `schedulers` or above: a joint block of several;
 * UINT32_MAX: the program's block. */
static inline uint32_t sti_run_scheduler_of(const sti_run *run, uint64_t id)
{
    if (id < STRADS_POLICY_BLOCK_IDS)
        return UINT32_MAX;
    return run->schedulers > 1
               ? (uint32_t)((id - STRADS_POLICY_BLOCK_IDS) / STI_RANGE_IDS)
               : 0;
}

/* Shard s of a loop's store is on host s, modulo the number of hosts. */
static inline uint32_t sti_run_shard_host(const sti_run *run, uint32_t s)
{
    return run->n_hosts ? run->hosts[s % run->n_hosts] : s % run->nodes;
}

/* Scheduler s is on node s, modulo the number of nodes. Each node has the
 * client of its own number; node 0 also has the client after the last, which is
 * the engine's. Shards of a loop: see above; a run of rounds has neither.
 * UINT32_MAX: there is no such address. */
static inline uint32_t sti_run_node_of(const sti_run *run, sti_address a)
{
    if (a >= STI_WORKER_0)
        return a - STI_WORKER_0 < run->workers ? run->node_of[a - STI_WORKER_0]
                                               : UINT32_MAX;
    if (!run->program->run && a >= STI_SCHEDULER_0)
        return a - STI_SCHEDULER_0 < run->schedulers
                   ? (a - STI_SCHEDULER_0) % run->nodes
                   : UINT32_MAX;
    if (!run->program->run)
        return 0;
    if (a >= STI_CLIENT_0 && a - STI_CLIENT_0 <= run->nodes)
        return (a - STI_CLIENT_0) % run->nodes;
    if (a < STI_SHARD_0)
        return 0;
    return a - STI_SHARD_0 < run->shards
               ? sti_run_shard_host(run, a - STI_SHARD_0)
               : UINT32_MAX;
}

/* The maximal number of rounds in flight. */
static inline uint32_t sti_run_window(const sti_run *run)
{
    return run->depth + 1;
}

#endif
