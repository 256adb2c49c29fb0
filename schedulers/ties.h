/* What is known of dependencies, and what to ask for next. Comparisons that
 * lack a probe note it in `ask`; the caller then answers with PROBE. */
#ifndef STI_TIES_H
#define STI_TIES_H

#include "schedulers/batch.h"
#include "schedulers/tiecache.h"

typedef struct sti_ties {
    const strads_choice_request *request; /* the one being answered */
    double threshold;
    sti_tiecache cache; /* of pairs of blocks */
    uint64_t epoch;
    bool missing;            /* a probe is needed: */
    strads_block ask, about; /* of these two */
    uint64_t *asked;         /* [2 x n_asked] ids of probes asked already */
    uint32_t n_asked, asked_size;
} sti_ties;

/* Starts to answer a request. */
void sti_ties_begin(sti_ties *ties, const strads_choice_request *request);

/* Forgets which probes have been asked for: a new batch begins. */
void sti_ties_forget_asked(sti_ties *ties);
void sti_ties_close(sti_ties *ties);

/* Whether two blocks may not be in flight together. */
strads_err sti_ties_depend(sti_ties *ties, const strads_block *a,
                           const strads_block *b, bool *depend);

/* Fills tie[n x n] with the dependencies within a pool, diagonal included. */
strads_err sti_ties_within(sti_ties *ties, const strads_block *pool,
                           float *tie);

/* Raises tie[n] to the strongest dependency of each of a pool's parameters on
 * any of a block. */
strads_err sti_ties_across(sti_ties *ties, const strads_block *pool,
                           const strads_block *block, float *tie);

#endif
