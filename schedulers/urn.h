/* What the priority policy draws from: J parameters with priorities >= 0, each
 * drawn in proportion to its priority plus a floor. Members of one block are
 * drawn together: the urn holds items, and an item is a parameter in no block,
 * or a block, which bears the name of its first member and weighs what its
 * members weigh together.
 *
 * The floor is 0.01 x the mean of the positive priorities. It is for the
 * parameters that have had a positive priority since all of them were last set
 * at once: so none of those starves, while the many that a scan of everything
 * found at rest cost nothing until a scan finds otherwise. */
#ifndef STI_URN_H
#define STI_URN_H

#include "schedulers/blockbook.h"
#include "schedulers/sumtree.h"

#define STI_URN_NONE UINT32_MAX
#define STI_URN_AGAIN (UINT32_MAX - 1)

typedef struct sti_urn {
    sti_blockbook *book; /* who is in which block */
    sti_sumtree tree;    /* weights of items; 0 for all members but the first */
    double *priority;    /* [J] */
    uint32_t positive;   /* parameters with a positive one */
    bool *touched;       /* [J] the floor is for it */
    uint32_t *floor;     /* [n_floor] the same as a list */
    uint32_t n_floor;
    uint32_t *change; /* [room_change] items that sums are to follow */
    uint32_t n_change, room_change; /* more than there is room for: all of it */
    bool loose; /* sums are not kept up: between the two calls below */
} sti_urn;

/* Opens with J parameters of priority 1, as many as the book is for, all of
 * them in no block. */
strads_err sti_urn_open(uint32_t n, sti_blockbook *book, sti_urn *urn);
void sti_urn_close(sti_urn *urn);

/* Sets priorities of n parameters; what is not positive (NaN too) counts as 0.
 * `all`: they are all there are, and what is 0 now has not moved since. */
void sti_urn_set(sti_urn *urn, uint32_t n, const uint32_t *param,
                 const double *priority, bool all);

/* A hidden item is not drawn and not counted, until it is shown. Both may be
 * told what is so already. O(log J). */
void sti_urn_hide(sti_urn *urn, uint32_t item);
void sti_urn_show(sti_urn *urn, uint32_t item);

/* Between these two many items are hidden and shown at the cost of O(1) each,
 * which is made good at the end for those alone; meanwhile nothing may be
 * drawn, and no sum is right. */
void sti_urn_loosen(sti_urn *urn);
void sti_urn_tighten(sti_urn *urn);

/* Entry e has just been added to the book, of parameters that were hidden: it
 * is one hidden item from now on. */
void sti_urn_join(sti_urn *urn, uint32_t e);

/* Entry e is about to be dissolved: its members are shown items again. */
void sti_urn_part(sti_urn *urn, uint32_t e);

/* Those that have moved, the k-th of urn->n_floor: whoever has a positive
 * priority is among them. */
static inline uint32_t sti_urn_moved(sti_urn *urn, uint32_t k)
{
    urn->tree.steps++;
    return urn->floor[k];
}

/* The floor, when hidden items weigh so much. */
double sti_urn_floor(const sti_urn *urn, double hidden);

/* Draws a parameter, by a random number in [0, 1); its item stays in the urn.
 * STI_URN_AGAIN when the floor fell upon a hidden one: draw again. STI_URN_NONE
 * when nothing shown has a positive priority. */
uint32_t sti_urn_draw(sti_urn *urn, double floor, double unit);

static inline double sti_urn_sum(const sti_urn *urn)
{
    return urn->tree.sum;
}

/* The item that a parameter belongs to. */
static inline uint32_t sti_urn_item(const sti_urn *urn, uint32_t i)
{
    uint32_t e = urn->book->of[i];
    return e == STI_BLOCK_NONE ? i : urn->book->entry[e].param[0];
}

/* What an item weighs, shown or hidden. */
static inline double sti_urn_weight(const sti_urn *urn, uint32_t item)
{
    return sti_sumtree_weight(&urn->tree, item);
}

#endif
