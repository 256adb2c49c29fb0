/* engine/round/run_context.h - what the roles of one node and their jobs share:
 * the program, its sizes, and the state that callbacks work on. Filled in by
 * engine/run before the first event. Roles read the constants alone; what jobs
 * write is named below with who may run it. */
#ifndef STI_RUN_CONTEXT_H
#define STI_RUN_CONTEXT_H

#include <stdbool.h>

#include "engine/base/role.h"
#include "engine/round/pair_cache.h"
#include "strads/store.h"
#include "strads/engine.h"

/* A RING block's payload at its home, between laps; NULL while it travels. */
typedef struct sti_parked {
    uint64_t block;
    void *object;
} sti_parked;

/* State of one partition: its jobs alone touch it, and never two at once. */
typedef struct sti_partition {
    const strads_share *share;
    void *local;
    bool opened;
    sti_parked *parked;
    uint32_t n_parked, cap_parked;
    uint32_t parked_last; /* place of the one that was looked up last */
    /* Shared totals: as this partition sees them, and by dispatch what it added
     * that may not be among the committed ones. */
    double *total; /* [totals], or NULL */
    double *added; /* [window x totals] by number of the dispatch */
} sti_partition;

/* How a loop's tables are spread, by the run's options: strads/engine.h. */
typedef struct sti_tuning {
    double hold_below;
    uint64_t push_bytes, cache_bytes;
    uint32_t window;
} sti_tuning;
/* owned_policy.h */
typedef struct sti_owned sti_owned;

/* What one scheduler keeps of its range of the parameters; its jobs alone touch
 * it. Its policy numbers them from 0 on. */
typedef struct sti_range {
    void *policy;     /* the policy's state; NULL until it is first asked */
    float *weight;    /* [its parameters]; NULL where the run's are at hand */
    sti_pairs *pairs; /* what it was told of probes; NULL: none, or it is the
                         only one and looks at the run's */
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
    uint32_t depth, want, partitions, workers;
    const uint32_t *node_of; /* [workers] */
    const uint32_t *first;   /* [workers + 1] partitions, where nodes differ in
                                pace; NULL: spread evenly */
    uint32_t nodes, shards;  /* of a run on several nodes */
    sti_tuning tuning;       /* the same */
    uint32_t schedulers;     /* 1 .. parameters */
    uint32_t pools;          /* 1 .. partitions, which is what a program has
                                that is not pooled */
    bool deterministic;
    double tolerance, threshold, time_limit;
    uint64_t max_rounds;
    /* Nodes that host a loop's shards and no worker, when there are any: all
     * shards are there. Otherwise nodes host them in turn. */
    const uint32_t *hosts; /* [n_hosts] */
    uint32_t n_hosts;
    const struct sti_route *route; /* of the plan; NULL: no plan */
    const struct sti_cuts *cuts;   /* cut.h; NULL: none are made or read */
    uint64_t n_start;
    const uint32_t *start_param;
    const double *start_value;

    sti_partition *partition; /* [partitions]; share NULL: not hosted here */
    strads_peer *peer; /* [partitions] of a pooled program: set when one opens,
                          before any update; otherwise NULL */
    const strads_policy *policy;
    sti_range *range; /* [schedulers] */

    /* Coordinator's node: its jobs (begin, schedule, prepare, aggregate) never
     * run two at once, nor beside those of an only scheduler. `store` is
     * what callbacks see, and what the model is made from. */
    strads_store *store;
    void *state;
    bool begun;
    sti_pairs *pairs; /* NULL without a PROBE phase */
    uint32_t totals;  /* table of the shared totals, if there are any */
    sti_owned *owned; /* instead of policies of ranges, where partitions own
                         parameters: there is one scheduler then */
    float *weight;    /* [parameters]; constant once BEGIN has run */
    uint64_t priorities[STRADS_PRIORITY_BINS]; /* told; the schedulers' jobs */
} sti_run;

/* The worker that hosts partition p: contiguous, as even as possible, or as the
 * run says. */
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

/* Scheduler s has a contiguous range of the parameters, as even as possible:
 * the first one of it; s == schedulers gives the end. */
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

/* Every policy numbers its blocks from STRADS_POLICY_BLOCK_IDS on, below that
 * plus STI_RANGE_IDS; in a run scheduler s adds s x STI_RANGE_IDS, so that no
 * id names two blocks; those behind the last one's are joint blocks'. An only
 * scheduler's policy has all of them. */
#define STI_RANGE_IDS (UINT64_C(1) << 52)
enum { STI_SCHEDULERS_MAX = 256 };

/* Whose policy has made a block; `schedulers` and above: it was put together of
 * several ones'; UINT32_MAX: the program. */
static inline uint32_t sti_run_scheduler_of(const sti_run *run, uint64_t id)
{
    if (id < STRADS_POLICY_BLOCK_IDS)
        return UINT32_MAX;
    return run->schedulers > 1
               ? (uint32_t)((id - STRADS_POLICY_BLOCK_IDS) / STI_RANGE_IDS)
               : 0;
}

/* Shard s of a loop's store is on its s-th host, and so on in turn. */
static inline uint32_t sti_run_shard_host(const sti_run *run, uint32_t s)
{
    return run->n_hosts ? run->hosts[s % run->n_hosts] : s % run->nodes;
}

/* Scheduler s is on node s, and so on in turn. Each node has the client of its
 * own number, and node 0 the one behind the last, which is the engine's. Where
 * a loop's shards are, see above; a run of rounds has neither. UINT32_MAX:
 * nobody has this address. */
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

/* Rounds that may be in flight at once. */
static inline uint32_t sti_run_window(const sti_run *run)
{
    return run->depth + 1;
}

#endif
