/* engine/round/ring_plan.h - the plan of a RING: where each block goes next. */
#ifndef STI_RING_PLAN_H
#define STI_RING_PLAN_H

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"
#include "strads/plan.h"

/* where the blocks of a RING go: by the run's plan,
 * or without one round and round from their owners. */

/* A plan read the other way round. K partitions, B blocks. */
typedef struct sti_route {
    uint32_t partitions, blocks;
    uint32_t *order; /* [K x B] the blocks of a partition, as it takes them */
    uint32_t *met;   /* [B x K] partitions that a block has met before p */
    uint32_t *next;  /* [B x K] who has it after p; its home after the last */
    uint32_t *home;  /* [B] where its laps start and end */
} sti_route;

strads_err sti_route_new(const strads_plan *plan, sti_route **out);
void sti_route_free(sti_route *route);

/* Partitions that a block has met before p in its lap, and who has it next.
 * `block` was seen by sti_ring_settle. */
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

/* Gives n blocks of a RING the owners that the plan has for them.
 * STRADS_EINVAL: the plan has no such block, or the same is there twice. */
strads_err sti_ring_settle(const sti_run *run, uint32_t n,
                           strads_block *blocks);

/* The places of a dispatch's blocks in the order in which partition p takes
 * them: order[n_blocks]. STRADS_ENOMEM. */
strads_err sti_ring_order(const sti_run *run, const sti_dispatch *dispatch,
                          uint32_t p, uint32_t *order);

#endif
