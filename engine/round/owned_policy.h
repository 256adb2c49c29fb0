/* engine/round/owned_policy.h - a policy for each pool of partitions, for owned
 * parameters.
 *
 * If parameters belong to partitions (program.h, `owned`), the policy is opened
 * once for each pool of partitions, on that pool's parameters alone (`pooled`;
 * otherwise a pool is one partition). A choice combines the choices of all
 * these policies: blocks that different partitions may process at once. A
 * pool's policy chooses for all its partitions, with the work of all of them;
 * each block is then distributed over the partitions. */
#ifndef STI_OWNED_POLICY_H
#define STI_OWNED_POLICY_H

#include "engine/round/run_context.h"

/* Opens run->policy on each pool's parameters; run->weight is set. The caller
 * frees *out also after a failure. STRADS_EPROGRAM: ranges that overlap or
 * exceed the parameters. STRADS_ENOMEM, and the policy's own errors. */
strads_err sti_owned_open(const sti_run *run, sti_owned **out);
void sti_owned_free(sti_owned *owned);

/* Whether a partition owns parameter j. */
bool sti_owned_has(const sti_owned *owned, uint32_t j);
/* Whether some of the n parameters from `first` on may be owned. */
bool sti_owned_meets(const sti_owned *owned, uint32_t first, uint32_t n);

#endif
