/* The blocks that a policy has made so far: which parameter is in which, under
 * ids that never come back. A parameter is in one block at most. */
#ifndef STI_BLOCK_TABLE_H
#define STI_BLOCK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/program.h"

#define STI_BLOCK_NONE UINT32_MAX

typedef struct sti_block_entry {
    strads_block block;   /* id 0: this entry is free */
    uint32_t *param;      /* [block.n], ascending; what block.param points at */
    float *member_weight; /* [block.n], behind them */
    double weight;        /* their sum */
    /* Of the weighted sampler: */
    double active; /* weight of the members with a positive priority */
    bool changed;  /* a member has a new priority */
    /* Of batch.c: */
    double wasted;  /* work done on members at rest, while they were many */
    double tried;   /* the work that a block should have had when it was */
    uint32_t tries; /* taken for too light so often */
    bool light;     /* it is, in the batch that it is in */
    /* Of priority.c: */
    uint32_t skipped; /* passed over so often since it was dispatched */
} sti_block_entry;

typedef struct sti_block_table {
    uint32_t *of; /* [J] the entry that a parameter is in, or none */
    sti_block_entry *entry;
    uint32_t n, capacity;
    uint32_t *free_entry; /* [capacity], a stack of n_free */
    uint32_t n_free;
    uint64_t last_id;
} sti_block_table;

/* Opens for J parameters, all of them in no block. STRADS_ENOMEM. */
strads_err sti_block_table_open(uint32_t parameters, sti_block_table *table);
void sti_block_table_close(sti_block_table *table);

/* An id that has never been used. */
uint64_t sti_block_table_id(sti_block_table *table);

/* Makes a block of n parameters that are in none, copied; its entry comes
 * out. STRADS_ENOMEM. */
strads_err sti_block_table_add(sti_block_table *table, uint64_t id, uint32_t n,
                               const uint32_t *param, const float *weight,
                               uint32_t *entry);

/* Its members are in no block again. */
void sti_block_table_dissolve(sti_block_table *table, uint32_t entry);

#endif
