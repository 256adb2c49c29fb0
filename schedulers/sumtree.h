/* Weights of n items under a tree of their sums: set one and draw one in
 * proportion to its weight, each in O(log n). An item can be hidden: it keeps
 * its weight, but is neither drawn nor counted. */
#ifndef STI_SUMTREE_H
#define STI_SUMTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"

enum { STI_SUMTREE_FAN = 8, STI_SUMTREE_LEVELS = 12 };

typedef struct sti_sumtree {
    uint32_t n;
    uint32_t levels;                   /* leaves included */
    double *level[STI_SUMTREE_LEVELS]; /* 0: leaves, hidden ones negated */
    double sum;                        /* of all that is shown */
    uint64_t steps;                    /* nodes summed or searched so far */
} sti_sumtree;

/* Opens with all n >= 1 weights equal to `weight`, none hidden. */
strads_err sti_sumtree_open(uint32_t n, double weight, sti_sumtree *t);
void sti_sumtree_close(sti_sumtree *t);

/* Changes one item: its weight, >= 0, or whether it is hidden. The sums follow
 * when all that was changed is settled; until then only weights and what is
 * hidden may be asked for. */
void sti_sumtree_put(sti_sumtree *t, uint32_t i, double weight);
void sti_sumtree_hide(sti_sumtree *t, uint32_t i);
void sti_sumtree_show(sti_sumtree *t, uint32_t i);

/* Brings the sums up to date: O(log n) an item, and less where items are in
 * ascending order and share nodes; O(n) in all at most. */
void sti_sumtree_settle(sti_sumtree *t, uint32_t n, const uint32_t *item);

/* The same, whatever was changed. */
void sti_sumtree_rebuild(sti_sumtree *t);

double sti_sumtree_weight(const sti_sumtree *t, uint32_t i);
bool sti_sumtree_hidden(const sti_sumtree *t, uint32_t i);

/* The item at `place` in [0, sum) of the weights laid end to end; its weight
 * is positive. The sum must be positive. */
uint32_t sti_sumtree_find(sti_sumtree *t, double place);

#endif
