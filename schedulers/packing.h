/* Packs parameters into blocks: those that depend on each other into the same
 * one, and all blocks to about the same work. */
#ifndef STI_PACKING_H
#define STI_PACKING_H

#include <stdint.h>

#include "strads/error.h"

/* What is to be packed. */
typedef struct sti_packing {
    uint32_t n;
    const double *weight; /* [n] */
    const float *tie;     /* [n x n] symmetric dependencies, or NULL: none */
    const float *busy;    /* [n] tie to something outside, or NULL: none. Who
                             is above the threshold here shares a block with
                             others who are, and with no one else */
    double threshold;     /* ties above it bind */
    double work;          /* weight that a block should have */
    uint32_t block_max;   /* members of a block at most */
} sti_packing;

/* bin[i], out, is the block that i goes to, 0 .. bins - 1; each has a member.
 * Parameters bound by ties, directly or through others, share a block as long
 * as that has at most block_max members and at most 2 x work; where it would
 * have more, the strongest ties hold. O(n^2 + n log n). STRADS_ENOMEM. */
strads_err sti_packing_run(const sti_packing *packing, uint32_t *bin,
                           uint32_t *bins);

#endif
