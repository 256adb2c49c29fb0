/* strads/block.h - blocks of parameters, and what commits change. */
#ifndef STRADS_BLOCK_H
#define STRADS_BLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of parameters that is scheduled as one. The same id always names the
 * same parameters in the same order, so what is costly to know about a block
 * may be kept under its id. A program's own blocks have ids below
 * STRADS_ALL_PARAMETERS; policies number theirs from 2^63 on. */
#define STRADS_ALL_PARAMETERS ((UINT64_C(1) << 63) - 1)
typedef struct strads_block {
    uint64_t id;
    uint32_t n;            /* parameters in it; 0 for scalars alone */
    uint32_t first;        /* where `param` is NULL: first .. first + n - 1 */
    const uint32_t *param; /* [n], or NULL for a contiguous range */
    uint32_t owner;        /* OWNER: the partition it goes to; RING: the
                              partition where its lap starts and ends, which a
                              run's plan (strads/plan.h) replaces by its own */
} strads_block;

/* Parameter k of a block, k < block->n. */
static inline uint32_t strads_block_param(const strads_block *block, uint32_t k)
{
    return block->param ? block->param[k] : block->first + k;
}

/* What one commit changed: parameter param[k] moved by
 * change[k * width .. (k + 1) * width - 1]. */
typedef struct strads_change {
    uint64_t version; /* 1, 2, 3, ...: the order of commits */
    uint32_t n;
    const uint32_t *param; /* [n] */
    const double *change;  /* [n x width] */
} strads_change;

#ifdef __cplusplus
}
#endif

#endif
