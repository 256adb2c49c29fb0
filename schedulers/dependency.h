/* Which blocks depend on each other, and the probes needed for that. A
 * comparison that lacks a probe records it in `ask`; the caller then returns
 * STRADS_CHOOSE_PROBE. */
#ifndef STI_DEPENDENCY_H
#define STI_DEPENDENCY_H

#include "strads/policy.h"

/* The value of a pair of blocks. */
typedef struct sti_dependency_pair {
    uint64_t a, b; /* ids, a < b; both 0 in an empty place */
    double value;
} sti_dependency_pair;

typedef struct sti_dependency {
    const strads_choice_request *request; /* the current one */
    double threshold;
    sti_dependency_pair *pair; /* [pairs_size] a hash table of known values */
    uint32_t pairs_size;       /* a power of two, or 0 */
    uint32_t n_pairs;
    bool missing;            /* a probe is needed: */
    strads_block ask, about; /* of these two blocks */
    uint64_t *asked;         /* [2 x n_asked] ids of requested probes */
    uint32_t n_asked, asked_size;
} sti_dependency;

/* Starts to answer a request. */
void sti_dependency_begin(sti_dependency *d,
                          const strads_choice_request *request);

/* Clears the list of requested probes: a new batch begins. */
void sti_dependency_discard_asked(sti_dependency *d);
void sti_dependency_close(sti_dependency *d);

/* *depend: two blocks must not be in flight together. STRADS_ENOMEM. */
strads_err sti_dependency_check(sti_dependency *d, const strads_block *a,
                                const strads_block *b, bool *depend);

/* Fills value[n x n] with the dependencies within a pool, including the
 * diagonal. STRADS_ENOMEM. */
strads_err sti_dependency_within(sti_dependency *d, const strads_block *pool,
                                 float *value);

/* Raises value[n] to the strongest dependency between each of a pool's
 * parameters and a block. STRADS_ENOMEM. */
strads_err sti_dependency_across(sti_dependency *d, const strads_block *pool,
                                 const strads_block *block, float *value);

#endif
