/* What the priority policy draws from: J parameters with priorities >= 0, each
 * drawn in proportion to its priority plus a floor.
 *
 * The floor is 0.01 x the mean of the positive priorities. It is for the
 * parameters that have had a positive priority since all of them were last set
 * at once: so none of those starves, while the many that a scan of everything
 * found at rest cost nothing until a scan finds otherwise. */
#ifndef STI_URN_H
#define STI_URN_H

#include "schedulers/sumtree.h"

#define STI_URN_NONE UINT32_MAX

typedef struct sti_urn {
    sti_sumtree tree;
    uint32_t positive; /* shown parameters with a positive priority */
    uint32_t n_floor;  /* shown parameters that the floor is for */
    uint32_t *floor;   /* [n_floor] which */
    uint32_t *place;   /* [J] where in `floor`, or one of two marks */
} sti_urn;

/* Opens with J parameters of priority 1. */
strads_err sti_urn_open(uint32_t n, sti_urn *urn);
void sti_urn_close(sti_urn *urn);

/* Sets priorities of n parameters. `all`: they are all there
 * are, and what is 0 now has not moved since. */
void sti_urn_set(sti_urn *urn, uint32_t n, const uint32_t *param,
                 const double *priority, bool all);

/* A hidden parameter is not drawn and not counted, until it is shown. Both may
 * be told what is so already; ascending numbers are fastest. */
void sti_urn_hide(sti_urn *urn, uint32_t n, const uint32_t *param);
void sti_urn_show(sti_urn *urn, uint32_t n, const uint32_t *param);

/* Draws one, by a random number in [0, 1); it stays in the urn. STI_URN_NONE
 * when no shown parameter has a positive priority. */
uint32_t sti_urn_draw(sti_urn *urn, double unit);

static inline double sti_urn_sum(const sti_urn *urn)
{
    return urn->tree.sum;
}

static inline double sti_urn_priority(const sti_urn *urn, uint32_t i)
{
    return sti_sumtree_weight(&urn->tree, i);
}

static inline bool sti_urn_hidden(const sti_urn *urn, uint32_t i)
{
    return sti_sumtree_hidden(&urn->tree, i);
}

#endif
