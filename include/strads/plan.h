/* strads/plan.h - plans: who holds which block when, fixed before the run.
 *
 * A RING phase sends blocks from partition to partition. A plan says in which
 * order: partition x step -> blocks. One pass, a lap, is over when every block
 * has met every partition once. Steps order what each partition does and where
 * each block goes next; they are no barrier: a partition goes on as soon as its
 * next block is there.
 *
 * Several blocks in one entry are sub-blocks: while the second is computed on,
 * the first is on its way. With more blocks than partitions a block's working
 * set gets smaller. A plan comes from a planner below, from a file, or is
 * written by hand; it is checked before it is used. */
#ifndef STRADS_PLAN_H
#define STRADS_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* K partitions, B blocks, S steps. The blocks that partition p takes in step t,
 * in this order, are block[start[t K + p]] .. block[start[t K + p + 1] - 1];
 * none: it idles. */
typedef struct strads_plan {
    uint32_t partitions, blocks, steps;
    const uint32_t *start;          /* [S K + 1], from 0 to K B */
    const uint32_t *block;          /* [K B] */
    const double *block_weight;     /* [B] work of a block in one lap, in any
                                       unit, >= 0; NULL: 1 each */
    const double *partition_weight; /* [K] share of that work which falls on a
                                       partition, any scale; NULL: equal */
} strads_plan;

/* Copies a plan that is complete. *out has both weights, and is the caller's to
 * free. STRADS_EINVAL: strads_plan_check; STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_plan_new(const strads_plan *draft,
                                      strads_plan **out);
/* Frees what a function of this header made; NULL is fine. */
STRADS_API void strads_plan_free(strads_plan *plan);

/* Whether every block meets every partition exactly once, no block is in two
 * places in one step, and in no step the busiest partition has more than
 * `balance` times the work of the mean one (0: as it comes). STRADS_EINVAL: the
 * sentence names the step, the block and the partition. */
STRADS_API strads_err strads_plan_check(const strads_plan *plan,
                                        double balance);

/* What the busiest partition of each step has to do, summed over steps, by
 * what the mean one has: 1 is perfect. */
STRADS_API double strads_plan_imbalance(const strads_plan *plan);

/* ---- planners ---------------------------------------------------------- */

/* Block b starts at partition b mod K and moves on by one each step, K steps
 * (DSGD's strata: Gemulla et al., KDD 2011). STRADS_EINVAL: none of either, or
 * more than 2^20. STRADS_ENOMEM. */
STRADS_API strads_err strads_plan_rotation(uint32_t partitions, uint32_t blocks,
                                           strads_plan **out);

/* A rotation whose blocks are grouped by work, so that all partitions have
 * about the same to do in each step: blocks go by falling weight, each to the
 * group with the least work so far. Weights as in strads_plan, or NULL.
 * STRADS_EINVAL: a weight below 0, or not finite. */
STRADS_API strads_err strads_plan_weighted(uint32_t partitions, uint32_t blocks,
                                           const double *block_weight,
                                           const double *partition_weight,
                                           strads_plan **out);

/* ---- files ------------------------------------------------------------- */

/* Reads a plan as strads_plan_write (and docs/static-engine.md) has it, and
 * checks it. STRADS_EIO; STRADS_EFORMAT: not such a file; STRADS_EINVAL: a
 * plan that breaks a rule. Sentences begin with the path. */
STRADS_API strads_err strads_plan_read(const char *path, strads_plan **out);

/* Writes it aside, then renames it. STRADS_EIO, STRADS_ENOMEM. */
STRADS_API strads_err strads_plan_write(const strads_plan *plan,
                                        const char *path);

/* ---- cutting parameters into blocks ------------------------------------ */

/* Parameters in blocks of about equal work. */
typedef struct strads_cut {
    uint32_t blocks;
    strads_block *block; /* [blocks]: id b, owner b mod partitions */
    uint32_t *param;     /* [parameters] that the blocks point into */
    double *weight;      /* [blocks] work of each */
} strads_cut;

/* Deals parameters 0 .. n - 1 by falling weight to the blocks in snake order,
 * 0, 1, ..., B - 1, B - 1, ..., 1, 0, 0, ...: as many for each, and about as
 * much work. Within a block they ascend. weight[n] >= 0; NULL: 1 each.
 * Weights alone decide, so every node deals alike. *out is the caller's to
 * free. STRADS_EINVAL: no blocks, or a weight that is none. STRADS_ENOMEM. */
STRADS_API strads_err strads_cut_deal(uint32_t n, const double *weight,
                                      uint32_t blocks, uint32_t partitions,
                                      strads_cut **out);
/* NULL is fine. */
STRADS_API void strads_cut_free(strads_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
