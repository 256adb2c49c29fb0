/* engine/round/ring_plan.h - the plan of a RING: where each block goes next. */
#ifndef STI_RING_PLAN_H
#define STI_RING_PLAN_H

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"
#include "strads/plan.h"

/* Routes of the blocks of a RING: by the run's plan, or, without one, in a
 * circle from their owners. */

/* The plan as tables by block and partition. K partitions, B blocks. */
typedef struct sti_route {
    uint32_t partitions, blocks;
    uint32_t *order; /* [K x B] the blocks of a partition, in its order */
    uint32_t *met;   /* [B x K] partitions that a block has visited before p */
    /* [B x K] the partition after p; after the last, the home */
    uint32_t *next;
    uint32_t *home; /* [B] where its sweeps start and end */
} sti_route;

strads_err sti_route_new(const strads_plan *plan, sti_route **out);
void sti_route_free(sti_route *route);

/* The number of partitions that a block has visited before p in its sweep, and
 * the partition after p. sti_ring_settle has accepted `block`. */
static inline uint32_t sti_ring_met(const sti_run *run,
                                    const strads_block *block, uint32_t p)
{
    uint32_t K = run->partitions;
    return run->route ? run->route->met[block->id * K + p]
                      : (p + K - block->owner) % K;
}

static inline uint32_t sti_ring_next(const sti_run *run,
                                     const strads_block *block, uint32_t p)
{
    uint32_t K = run->partitions;
    return run->route ? run->route->next[block->id * K + p] : (p + 1) % K;
}

/* Gives n blocks of a RING their owners by the plan. STRADS_EINVAL: the plan
 * lacks a block, or a block occurs twice. */
strads_err sti_ring_settle(const sti_run *run, uint32_t n,
                           strads_block *blocks);

/* The indices of a dispatch's blocks in the order in which partition p
 * processes them: order[n_blocks]. STRADS_ENOMEM. */
strads_err sti_ring_order(const sti_run *run, const sti_dispatch *dispatch,
                          uint32_t p, uint32_t *order);

#endif
