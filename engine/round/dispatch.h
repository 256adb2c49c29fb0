/* engine/round/dispatch.h - messages from the coordinator to the workers: a
 * phase, its blocks, and the updates since the previous dispatch. Immutable
 * once made. */
#ifndef STI_DISPATCH_H
#define STI_DISPATCH_H

#include "engine/base/object.h"
#include "strads/program.h"

/* The engine's own phases, beside the program's 0 .. n - 1. */
#define STI_PHASE_PACK UINT32_C(0xfffffffd)
#define STI_PHASE_OPEN UINT32_C(0xfffffffe)
#define STI_PHASE_CLOSE UINT32_C(0xffffffff)

/* An update that every partition receives once, in order: a commit's change
 * (refresh), or a merged partial (receive). The packed parts of a checkpoint
 * arrive as the result of STI_PHASE_PACK when the partitions open. */
typedef enum sti_update_kind {
    STI_UPDATE_CHANGE = 0,
    STI_UPDATE_RESULT = 1
} sti_update_kind;

typedef struct sti_update {
    sti_object head;
    sti_update_kind kind;
    strads_change change; /* CHANGE */
    uint32_t phase;       /* RESULT, also the fields below */
    strads_block block;
    sti_buffer *partial;
} sti_update;

/* A change of n parameters, `width` numbers each. The caller fills in the
 * arrays through the pointers before it shares the object. */
strads_err sti_update_change(uint64_t version, uint32_t n, uint32_t width,
                             sti_update **out);

/* A merged partial of one block; copies the block, keeps the partial. */
strads_err sti_update_result(uint32_t phase, const strads_block *block,
                             sti_buffer *partial, sti_update **out);

typedef struct sti_dispatch {
    sti_object head;
    uint64_t round; /* its number among committed dispatches */
    uint64_t seq;   /* its number among dispatches to workers */
    uint32_t phase;
    uint32_t width; /* numbers per parameter */
    uint64_t known; /* version of the last change that the updates contain */
    /* totals include the additions of dispatches below this seq */
    uint64_t settled;
    uint32_t n_blocks;
    strads_block *blocks;
    bool has_against; /* PROBE */
    strads_block against;
    uint32_t n_in_flight;
    strads_block *in_flight;
    double *totals; /* [n_totals] the committed shared totals */
    uint32_t n_totals;
    double *values;     /* the values of all blocks in order, or NULL */
    size_t *value_at;   /* [n_blocks + 1] offsets in `values` */
    size_t *partial_at; /* [n_blocks + 1] byte offsets in a partial */
    uint32_t n_updates;
    sti_update **updates; /* a reference to each */
    void *memory;         /* holds the blocks and their parameters */
} sti_dispatch;

/* The input of sti_dispatch_new, which copies it and keeps the updates. */
typedef struct sti_dispatch_parts {
    uint64_t round, seq;
    uint32_t phase;
    uint32_t width;
    uint64_t known, settled;
    uint32_t n_blocks;
    const strads_block *blocks;
    const strads_block *against; /* or NULL */
    uint32_t n_in_flight;
    const strads_block *in_flight;
    uint32_t n_updates;
    sti_update *const *updates;
    size_t n_values; /* number of elements of `values` */
    uint32_t n_totals;
} sti_dispatch_parts;

/* STRADS_ENOMEM. value_at and partial_at are zero; sti_job_prepare fills them
 * in. */
strads_err sti_dispatch_new(const sti_dispatch_parts *parts,
                            sti_dispatch **out);

/* Copies blocks into one allocation; the caller frees it with free(*out). */
strads_err sti_blocks_copy(uint32_t n, const strads_block *blocks,
                           strads_block **out);

#endif
