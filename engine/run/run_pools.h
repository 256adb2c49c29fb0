/* engine/run/run_pools.h - which partitions share a pool. */
#ifndef STI_RUN_POOLS_H
#define STI_RUN_POOLS_H

#include "engine/run/run_setup.h"

/* Sets run->pools, and run->peer where the program is pooled; its program,
 * workers and partitions are set. `asked`: the option, 0: one pool a node.
 * STRADS_EINVAL: a program without pools, or one that is not on one node. */
strads_err sti_pools_take(sti_run *run, const sti_layout *layout,
                          uint32_t asked);

#endif
