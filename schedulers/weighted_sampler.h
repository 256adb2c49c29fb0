/* What the priority policy draws from: J parameters with priorities >= 0, each
 * drawn in proportion to its priority plus a floor. The members of one block
 * are drawn together: an item is a parameter in no block, or a block, which is
 * named by its first member and weighs what its members weigh together.
 *
 * The floor is 0.01 x the mean of the positive priorities. It is for the
 * parameters that have had a positive priority since all of them were last set
 * at once: none of those starves, while the many that a scan of everything
 * found at rest cost nothing until a scan finds otherwise.
 *
 * A hidden item is neither drawn nor counted, and keeps its weight. */
#ifndef STI_WEIGHTED_SAMPLER_H
#define STI_WEIGHTED_SAMPLER_H

#include "schedulers/block_table.h"

#define STI_DRAW_NONE UINT32_MAX
#define STI_DRAW_AGAIN (UINT32_MAX - 1)

enum { STI_SAMPLER_FAN = 8, STI_SAMPLER_LEVELS = 12 };

typedef struct sti_sampler {
    sti_block_table *table; /* which parameter is in which block */
    uint32_t n;             /* J */
    uint32_t levels;
    double *level[STI_SAMPLER_LEVELS]; /* a tree of sums. 0: items, hidden ones
                                          negated; 0 for all members of a block
                                          but the first */
    double sum;                        /* of all that is shown */
    double *priority;                  /* [J] */
    uint32_t positive;                 /* parameters with a positive one */
    bool *has_floor;                   /* [J] */
    uint32_t *floor;                   /* [n_floor] the same as a list */
    uint32_t n_floor;
    uint32_t *change; /* [n_change] items that the sums do not follow yet */
    uint32_t n_change, change_size; /* n_change above size: all items */
} sti_sampler;

/* Opens with J >= 1 parameters of priority 1, as many as the table is for, all
 * of them in no block. STRADS_ENOMEM. */
strads_err sti_sampler_open(uint32_t n, sti_block_table *table,
                            sti_sampler *sampler);
void sti_sampler_close(sti_sampler *sampler);

/* Sets priorities of n parameters; what is not positive (NaN too) counts as 0.
 * `all`: these are all parameters, and only those above 0 have the floor from
 * now on. */
void sti_sampler_set(sti_sampler *sampler, uint32_t n, const uint32_t *param,
                     const double *priority, bool all);

/* Hides or shows an item; one that is so already stays so. O(1): the sums
 * follow when they are asked for, O(log J) an item and O(J) at most. */
void sti_sampler_hide(sti_sampler *sampler, uint32_t item);
void sti_sampler_show(sti_sampler *sampler, uint32_t item);
bool sti_sampler_is_hidden(const sti_sampler *sampler, uint32_t item);

/* Entry e has just been added to the table, of parameters that were hidden: it
 * is one hidden item from now on. */
void sti_sampler_join(sti_sampler *sampler, uint32_t e);

/* Entry e is about to be dissolved: its members are shown items again. */
void sti_sampler_split(sti_sampler *sampler, uint32_t e);

/* The sum of the priorities of all that is shown; all blocks are up to date
 * afterwards. */
double sti_sampler_sum(sti_sampler *sampler);

/* What an item weighs, shown or hidden. */
double sti_sampler_weight(sti_sampler *sampler, uint32_t item);

/* The floor, when hidden items weigh so much. */
double sti_sampler_floor(sti_sampler *sampler, double hidden);

/* Draws a parameter, by a random number in [0, 1). STI_DRAW_AGAIN: the floor
 * fell upon a hidden one. STI_DRAW_NONE: nothing shown has a positive priority.
 * O(log J). */
uint32_t sti_sampler_draw(sti_sampler *sampler, double floor, double unit);

/* The item that a parameter belongs to. */
static inline uint32_t sti_sampler_item(const sti_sampler *sampler, uint32_t i)
{
    uint32_t e = sampler->table->of[i];
    return e == STI_BLOCK_NONE ? i : sampler->table->entry[e].param[0];
}

#endif
