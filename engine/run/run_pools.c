/* Which partitions share a pool: those that may work on each other's owned
 * parameters, so that a pool is on one node (program.h, `pooled`). */
#include "engine/run/run_pools.h"

#include <stdlib.h>

static uint32_t node_of(const sti_run *run, const sti_layout *layout,
                        uint32_t partition)
{
    return layout->node_of ? layout->node_of[sti_run_host(run, partition)] : 0;
}

/* The first partition that is on another node than the pool's first one, or K
 * when every pool is on one node. */
static uint32_t find_split(const sti_run *run, const sti_layout *layout,
                           uint32_t pools)
{
    const strads_shape cut = {.partitions = run->partitions, .pools = pools};

    for (uint32_t p = 0; p < run->partitions; p++) {
        const uint32_t first = strads_pool_first(&cut, strads_pool_of(&cut, p));
        if (node_of(run, layout, p) != node_of(run, layout, first))
            return p;
    }
    return run->partitions;
}

static strads_err check(const sti_run *run, const sti_layout *layout,
                        uint32_t pools)
{
    if (!run->program->pooled)
        return strads_fail(STRADS_EINVAL,
                           "%u pools for program %s, whose partitions work on "
                           "their own share alone: leave pools out",
                           pools, run->program->name);
    if (pools > run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "%u pools for %u partitions: expected 1 to %u",
                           pools, run->partitions, run->partitions);
    const uint32_t split = find_split(run, layout, pools);
    if (split < run->partitions)
        return strads_fail(STRADS_EINVAL,
                           "%u pools: partition %u is not on the node of its "
                           "pool's others; give one pool or more a node",
                           pools, split);
    return STRADS_OK;
}

/* One a node, where partitions are spread evenly enough for it. */
static uint32_t usual(const sti_run *run, const sti_layout *layout)
{
    uint32_t nodes = 1;

    if (!run->program->pooled)
        return run->partitions;
    for (uint32_t p = 1; p < run->partitions; p++)
        nodes += node_of(run, layout, p) != node_of(run, layout, p - 1);
    return find_split(run, layout, nodes) == run->partitions ? nodes
                                                             : run->partitions;
}

strads_err sti_pools_take(sti_run *run, const sti_layout *layout,
                          uint32_t asked)
{
    const strads_err err = asked ? check(run, layout, asked) : STRADS_OK;

    run->pools = asked ? asked : usual(run, layout);
    if (err || !run->program->pooled)
        return err;
    run->peer = calloc(run->partitions, sizeof *run->peer);
    return run->peer ? STRADS_OK
                     : strads_fail(STRADS_ENOMEM, "no memory for %u partitions",
                                   run->partitions);
}
