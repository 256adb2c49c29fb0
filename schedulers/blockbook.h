/* The blocks that a policy has made so far: who is in which, under ids that
 * never come back. A parameter is in one block at most. */
#ifndef STI_BLOCKBOOK_H
#define STI_BLOCKBOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/program.h"

#define STI_BLOCK_NONE UINT32_MAX

typedef struct sti_blockbook_entry {
    strads_block block;   /* id 0: this entry is free */
    uint32_t *param;      /* [block.n], ascending; what block.param points at */
    float *member_weight; /* [block.n], behind them */
    double weight;        /* their sum */
    /* Notes of urn.c: */
    double live;  /* weight of the members that move */
    bool changed; /* a member has a new priority */
    /* Notes of batch.c: */
    double wasted;  /* work done on members at rest, while they were many */
    double tried;   /* the work that a block should have had when it was */
    uint32_t tries; /* taken for too light so often */
    bool light;     /* it is, in the batch that it is in */
    /* Of priority.c: */
    uint32_t skipped; /* drawn in vain so often since it was dispatched */
} sti_blockbook_entry;

typedef struct sti_blockbook {
    uint32_t *of; /* [J] the entry that a parameter is in, or none */
    sti_blockbook_entry *entry;
    uint32_t n, capacity;
    uint32_t *free_entry; /* [capacity], a stack of n_free */
    uint32_t n_free;
    uint64_t last_id;
} sti_blockbook;

/* Opens for J parameters, all of them in no block. */
strads_err sti_blockbook_open(uint32_t parameters, sti_blockbook *book);
void sti_blockbook_close(sti_blockbook *book);

/* An id that has never been used. */
uint64_t sti_blockbook_id(sti_blockbook *book);

/* Makes a block of n parameters that are in none, copied; its entry comes
 * out. */
strads_err sti_blockbook_add(sti_blockbook *book, uint64_t id, uint32_t n,
                             const uint32_t *param, const float *weight,
                             uint32_t *entry);

/* Its members are in no block again. */
void sti_blockbook_dissolve(sti_blockbook *book, uint32_t entry);

#endif
