/* engine/round/owned_policy.h - a policy for each pool of partitions, where
 * parameters are owned.
 *
 * A program whose parameters belong to partitions (program.h, `owned`) has its
 * policy opened once for each pool of them (`pooled`; otherwise a pool is one
 * partition), on that pool's parameters alone. A choice is what all of these
 * choose, side by side: blocks that different partitions may work on at once.
 * A pool's policy chooses for its partitions together, with as much work as all
 * of them should have; each block is dealt out among them. */
#ifndef STI_OWNED_POLICY_H
#define STI_OWNED_POLICY_H

#include "engine/round/run_context.h"

/* Opens run->policy on each pool's parameters; run->weight is set. *out is
 * to be freed also when this fails. STRADS_EPROGRAM: ranges that overlap or
 * reach beyond the parameters. STRADS_ENOMEM, and the policy's own errors. */
strads_err sti_owned_open(const sti_run *run, sti_owned **out);
void sti_owned_free(sti_owned *owned);

/* As a policy's slots of the same names; what nobody owns is passed over.
 * `want` and `work` count for each partition. A pool's blocks are dealt out
 * among its first `max_partitions` partitions, 0: among all. All are at rest when the
 * priorities left in each sum to at most its share of `rest`. */

/* Whether some partition owns parameter j. */
bool sti_owned_has(const sti_owned *owned, uint32_t j);
/* Whether some of the n parameters from `first` on may be owned. */
bool sti_owned_meets(const sti_owned *owned, uint32_t first, uint32_t n);

#endif
