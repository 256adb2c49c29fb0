/* strads/plan.h - plans: which partition holds which block at which step, fixed
 * before the run.
 *
 * A RING phase sends blocks from partition to partition. A plan is a table
 * partition x step -> blocks. A sweep is complete when every block has visited
 * every partition once. Steps order the blocks of each partition and the
 * partitions of each block. They are not barriers: a partition continues as
 * soon as its next block arrives.
 *
 * An entry may list several blocks: the first travels while the partition works
 * on the second. More blocks than partitions make a block's working set
 * smaller. A planner below makes a plan, or a file, or the user. The engine
 * checks a plan before it uses it. */
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
    const double *block_weight;     /* [B] work of a block in one sweep, in any
                                       unit, >= 0; NULL: 1 each */
    const double *partition_weight; /* [K] share of the work of each partition,
                                       in any scale; NULL: equal */
} strads_plan;

/* Copies a plan; *out has both weights. The caller frees it. STRADS_EINVAL: the
 * plan fails strads_plan_check. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_plan_new(const strads_plan *draft,
                                      strads_plan **out);
/* Frees a plan made by a function of this header. NULL is allowed. */
STRADS_API void strads_plan_free(strads_plan *plan);

/* Checks that every block visits every partition exactly once, that no block is
 * in two places in one step, and that in no step the busiest partition has more
 * than `balance` times the mean work (0: not checked). STRADS_EINVAL: the
 * sentence names the step, the block and the partition. */
STRADS_API strads_err strads_plan_check(const strads_plan *plan,
                                        double balance);

/* Returns the work of the busiest partition of each step, summed over steps,
 * divided by the mean work: 1 is perfect. */
STRADS_API double strads_plan_imbalance(const strads_plan *plan);

/* ---- planners ---------------------------------------------------------- */

/* Makes a rotation: block b starts at partition b mod K and moves to the next
 * partition in each of K steps (the strata of DSGD: Gemulla et al., KDD 2011).
 * STRADS_EINVAL: no partitions or no blocks, or more than 2^20.
 * STRADS_ENOMEM. */
STRADS_API strads_err strads_plan_rotation(uint32_t partitions, uint32_t blocks,
                                           strads_plan **out);

/* Makes a rotation with balanced work in each step: blocks, in order of falling
 * weight, join the group with the least work so far. Weights as in strads_plan,
 * or NULL. STRADS_EINVAL: a weight below 0 or not finite. */
STRADS_API strads_err strads_plan_weighted(uint32_t partitions, uint32_t blocks,
                                           const double *block_weight,
                                           const double *partition_weight,
                                           strads_plan **out);

/* ---- files ------------------------------------------------------------- */

/* Reads and checks a plan in the format of strads_plan_write
 * (docs/static-engine.md). STRADS_EIO. STRADS_EFORMAT: not a plan file.
 * STRADS_EINVAL: the plan breaks a rule. Sentences begin with the path. */
STRADS_API strads_err strads_plan_read(const char *path, strads_plan **out);

/* Writes a plan atomically (by rename). STRADS_EIO, STRADS_ENOMEM. */
STRADS_API strads_err strads_plan_write(const strads_plan *plan,
                                        const char *path);

/* ---- cutting parameters into blocks ------------------------------------ */

/* Parameters in blocks of about equal work. */
typedef struct strads_cut {
    uint32_t blocks;
    strads_block *block; /* [blocks]: id b, owner b mod partitions */
    uint32_t *param;     /* [parameters] the storage of the blocks */
    double *weight;      /* [blocks] work of each */
} strads_cut;

/* Deals parameters 0 .. n - 1 to blocks, in order of falling weight, in snake
 * order 0, 1, ..., B - 1, B - 1, ..., 1, 0, 0, ...: blocks have equal numbers
 * of parameters and about equal work. Within a block parameters ascend.
 * weight[n] >= 0; NULL: 1 each. The result depends on the weights only, so
 * every node makes the same one. The caller frees *out. STRADS_EINVAL: no
 * blocks, or an invalid weight. STRADS_ENOMEM. */
STRADS_API strads_err strads_cut_deal(uint32_t n, const double *weight,
                                      uint32_t blocks, uint32_t partitions,
                                      strads_cut **out);
/* Frees the blocks. NULL is allowed. */
STRADS_API void strads_cut_free(strads_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
