/* The sampler of the priority policy: J parameters with priorities >= 0,
 * each drawn in proportion to its priority plus a floor. The members of one
 * block are drawn together: an item is either a parameter without a block, or a
 * block. A block is named by its first member and weighs the sum of its
 * members.
 *
 * The floor is 0.01 x the mean of the positive priorities. Parameters have it
 * if their priority was positive at some time since all priorities were last
 * set at once. So none of these starves, while the many parameters that a scan
 * of everything found inactive cost nothing until the next scan.
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
    double *level[STI_SAMPLER_LEVELS]; /* a tree of sums. 0: items, hidden
                                        * ones negated; 0 for all members of a
                                        * block except the first */
    double sum;                        /* of all shown items */
    double *priority;                  /* [J] */
    uint32_t positive;                 /* parameters with a positive priority */
    bool *has_floor;                   /* [J] */
    uint32_t *floor;                   /* [n_floor] the same as a list */
    uint32_t n_floor;
    uint32_t *change; /* [n_change] items that the sums do not include yet */
    uint32_t n_change, change_size; /* n_change above size: all items */
} sti_sampler;

/* Opens with J >= 1 parameters of priority 1, as many as in the table, all
 * of them without a block. STRADS_ENOMEM. */
strads_err sti_sampler_open(uint32_t n, sti_block_table *table,
                            sti_sampler *sampler);
void sti_sampler_close(sti_sampler *sampler);

/* Sets priorities of n parameters; values that are not positive (including
 * NaN) count as 0. `all`: these are all parameters, and from now on only those
 * above 0 have the floor. */
void sti_sampler_set(sti_sampler *sampler, uint32_t n, const uint32_t *param,
                     const double *priority, bool all);

/* Hides or shows an item; has no effect if it is already hidden or shown.
 * O(1): sums are updated when they are needed, in O(log J) per item and at most
 * O(J). */
void sti_sampler_hide(sti_sampler *sampler, uint32_t item);
void sti_sampler_show(sti_sampler *sampler, uint32_t item);
bool sti_sampler_is_hidden(const sti_sampler *sampler, uint32_t item);

/* Call after entry e was added to the table, with hidden parameters: they
 * become one hidden item. */
void sti_sampler_join(sti_sampler *sampler, uint32_t e);

/* Call before entry e is dissolved: its members become shown items again. */
void sti_sampler_split(sti_sampler *sampler, uint32_t e);

/* The sum of the priorities of all shown items; updates all blocks. */
double sti_sampler_sum(sti_sampler *sampler);

/* The weight of an item, shown or hidden. */
double sti_sampler_weight(sti_sampler *sampler, uint32_t item);

/* The floor if hidden items have this weight. */
double sti_sampler_floor(sti_sampler *sampler, double hidden);

/* Draws a parameter, by a random number in [0, 1). STI_DRAW_AGAIN: the floor
 * selected a hidden one. STI_DRAW_NONE: no shown item has a positive priority.
 * O(log J). */
uint32_t sti_sampler_draw(sti_sampler *sampler, double floor, double unit);

/* The item of a parameter. */
static inline uint32_t sti_sampler_item(const sti_sampler *sampler, uint32_t i)
{
    uint32_t e = sampler->table->of[i];
    return e == STI_BLOCK_NONE ? i : sampler->table->entry[e].param[0];
}

#endif
