/* What the priority policy has drawn and not yet dispatched or put back. It
 * outlives a request that asks for probes. Everything in it is hidden in the
 * sampler. */
#ifndef STI_BATCH_H
#define STI_BATCH_H

#include "schedulers/block_table.h"
#include "schedulers/weighted_sampler.h"
#include "strads/policy.h"

/* Numbers of parameters or of blocks. */
typedef struct sti_numbers {
    uint32_t *at;
    uint32_t n, capacity;
} sti_numbers;

strads_err sti_numbers_push(sti_numbers *numbers, uint32_t number);

typedef struct sti_batch {
    sti_numbers block; /* entries of the table, in the order drawn */
    sti_numbers pool;  /* parameters in no block, to be packed into some */
    double pool_weight;
    uint64_t pool_id; /* the id to probe the pool under */
    bool pool_first;  /* the very first draw went to the pool */
    bool checked;     /* it was drawn to be checked for dependencies */
    bool open;        /* there is one */
} sti_batch;

/* What a batch is drawn from. */
typedef struct sti_batch_source {
    const strads_policy_setup *setup;
    sti_sampler *sampler;
    sti_block_table *table;
    double floor; /* sti_sampler_floor */
    uint32_t due; /* an entry that comes first, undrawn; or none */
    double total; /* weight of all parameters: a block that should have as much
                     work takes all that moves */
} sti_batch_source;

/* Draws one: with `check`, more than is wanted, for some will depend on each
 * other; without, just what is wanted. A block that has come to rest for the
 * most part is dissolved; blocks that have grown too small for their round are
 * put together. STRADS_ENOMEM. */
strads_err sti_batch_draw(sti_batch *batch, const sti_batch_source *from,
                          const strads_choice_request *request, bool check);

/* Puts everything back and closes the batch. */
void sti_batch_return(sti_batch *batch, const sti_batch_source *to);

void sti_batch_free(sti_batch *batch);

#endif
