/* The blocks that a policy has made: which parameter is in which block,
 * under ids that are never reused. A parameter is in at most one block. */
#ifndef STI_BLOCK_TABLE_H
#define STI_BLOCK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/program.h"

#define STI_BLOCK_NONE UINT32_MAX

typedef struct sti_block_entry {
    strads_block block;   /* id 0: this entry is free */
    uint32_t *param;      /* [block.n], ascending; block.param points to it */
    float *member_weight; /* [block.n], behind param */
    double weight;        /* their sum */
    /* Used by the weighted sampler: */
    double active; /* weight of the members with a positive priority */
    bool changed;  /* a member has a new priority */
    /* Used by batch.c: */
    double wasted;  /* work on inactive members, while they were the majority */
    double tried;   /* the wanted work of a block when it was */
    uint32_t tries; /* found too light this many times */
    bool light;     /* light in its current batch */
    /* Used by priority.c: */
    uint32_t skipped; /* times skipped since its last dispatch */
} sti_block_entry;

typedef struct sti_block_table {
    uint32_t *of; /* [J] the entry of each parameter, or none */
    sti_block_entry *entry;
    uint32_t n, capacity;
    uint32_t *free_entry; /* [capacity], a stack of n_free */
    uint32_t n_free;
    uint64_t last_id;
} sti_block_table;

/* Opens a table for J parameters without blocks. STRADS_ENOMEM. */
strads_err sti_block_table_open(uint32_t parameters, sti_block_table *table);
void sti_block_table_close(sti_block_table *table);

/* Returns an id that was never used. */
uint64_t sti_block_table_id(sti_block_table *table);

/* Makes a block of n parameters without blocks. Copies the arrays and
 * returns the new entry. STRADS_ENOMEM. */
strads_err sti_block_table_add(sti_block_table *table, uint64_t id, uint32_t n,
                               const uint32_t *param, const float *weight,
                               uint32_t *entry);

/* Dissolves a block: its members have no block afterwards. */
void sti_block_table_dissolve(sti_block_table *table, uint32_t entry);

#endif
