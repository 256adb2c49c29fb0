/* Parameters and blocks that the priority policy has drawn and not yet
 * dispatched or put back. The batch outlives a request that asks for probes.
 * The sampler hides all items of the batch. */
#ifndef STI_BATCH_H
#define STI_BATCH_H

#include "schedulers/block_table.h"
#include "schedulers/weighted_sampler.h"
#include "strads/policy.h"

/* A list of numbers of parameters or of blocks. */
typedef struct sti_numbers {
    uint32_t *at;
    uint32_t n, capacity;
} sti_numbers;

strads_err sti_numbers_push(sti_numbers *numbers, uint32_t number);

typedef struct sti_batch {
    sti_numbers block; /* entries of the table, in the order drawn */
    sti_numbers pool;  /* parameters without a block, to be packed into some */
    double pool_weight;
    uint64_t pool_id; /* the id to probe the pool under */
    bool pool_first;  /* the first draw went to the pool */
    bool checked;     /* drawn with a check for dependencies */
    bool open;        /* there is a batch */
} sti_batch;

/* Sources of a batch. */
typedef struct sti_batch_source {
    const strads_policy_setup *setup;
    sti_sampler *sampler;
    sti_block_table *table;
    double floor; /* sti_sampler_floor */
    uint32_t due; /* an entry that comes first without a draw; or none */
    double total; /* weight of all parameters: a block that should have this
                   * much work takes all active parameters */
} sti_batch_source;

/* Draws a batch. With `check`, it draws more than is wanted, because some
 * will depend on each other. Dissolves blocks that are mostly inactive; joins
 * blocks that have become too small for their round. STRADS_ENOMEM. */
strads_err sti_batch_draw(sti_batch *batch, const sti_batch_source *from,
                          const strads_choice_request *request, bool check);

/* Puts everything back and closes the batch. */
void sti_batch_return(sti_batch *batch, const sti_batch_source *to);

void sti_batch_free(sti_batch *batch);

#endif
