/* Packs parameters into blocks: dependent ones into the same block, and all
 * blocks to about the same work. */
#ifndef STI_PACKING_H
#define STI_PACKING_H

#include <stdint.h>

#include "strads/error.h"

/* Input of the packing. */
typedef struct sti_packing {
    uint32_t n;
    const double *weight;    /* [n] */
    const float *dependency; /* [n x n] symmetric dependencies, or NULL: none */
    const float *busy;  /* [n] dependency on parameters outside, or NULL: none.
                * Parameters above the threshold share blocks only with each
                * other */
    double threshold;   /* dependencies above it keep parameters together */
    double work;        /* wanted weight of a block */
    uint32_t block_max; /* largest number of members of a block */
} sti_packing;

/* Output: bin[i] is the block of i, 0 .. bins - 1; each block has a member.
 * Parameters connected by dependencies, directly or through others, share a
 * block as long as it has at most block_max members and at most 2 x work;
 * beyond that, the strongest dependencies are kept. O(n^2 + n log n).
 * STRADS_ENOMEM. */
strads_err sti_packing_run(const sti_packing *packing, uint32_t *bin,
                           uint32_t *bins);

#endif
