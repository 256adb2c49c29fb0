/* Packs parameters into blocks: those that depend on each other into the same
 * one, and all blocks to about the same work. */
#ifndef STI_PACKING_H
#define STI_PACKING_H

#include <stdint.h>

#include "strads/error.h"

/* What is to be packed. */
typedef struct sti_packing {
    uint32_t n;
    const double *weight;    /* [n] */
    const float *dependency; /* [n x n] symmetric dependencies, or NULL: none */
    const float
        *busy; /* [n] dependency on something outside, or NULL: none. Those
 above the threshold share blocks with their like only */
    double threshold;   /* dependencies above it bind */
    double work;        /* weight that a block should have */
    uint32_t block_max; /* members of a block at most */
} sti_packing;

/* bin[i], out, is the block that i goes to, 0 .. bins - 1; each has a member.
 * Parameters bound by dependencies, directly or through others, share a block as long
 * as that has at most block_max members and at most 2 x work; where it would
 * have more, the strongest dependencies hold. O(n^2 + n log n). STRADS_ENOMEM. */
strads_err sti_packing_run(const sti_packing *packing, uint32_t *bin,
                           uint32_t *bins);

#endif
