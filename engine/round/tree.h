/* engine/round/tree.h - the trees by which a round spreads and comes together.
 *
 * 0 is the root. Who has d levels below it has children of d - 1 levels each;
 * child r heads a stretch of S(r, d - 1) numbers, where
 *
 *     S(r, d) = C(r, 0) + C(r, 1) + ... + C(r, d)
 *
 * is what one message at a time can reach in r turns and d hops. So with d
 * levels at most nothing takes fewer turns, nobody has more than about
 * (d! n)^(1/d) children, and while there are levels enough it is the binomial
 * tree. The numbers below anyone follow its own, without a gap and child after
 * child: sums that are formed in the order of children are in order of numbers.
 *
 * Who is whose parent depends on the number and the levels alone; n cuts off
 * what is not there. */
#ifndef STI_TREE_H
#define STI_TREE_H

#include <stdint.h>

typedef struct sti_tree {
    uint32_t n;
    uint32_t levels; /* below the root, 1 .. 3 */
} sti_tree;

typedef struct sti_place {
    uint32_t parent; /* of the root: itself */
    uint32_t rank;   /* which child of its parent: 0, 1, ... */
    uint32_t levels; /* left below it */
    uint32_t n_children;
} sti_place;

/* Of partials, by partitions: 3 levels, so that 8 partitions still share the
 * work as evenly as can be, and 1,024 are 3 hops away. */
sti_tree sti_tree_of_partials(uint32_t partitions);

/* How a whole partial climbs. Of few partitions 0 is the root, and sends what
 * comes together to the coordinator, which is on its node. Of more than 16, the
 * coordinator itself is the root, number 0, and partition p number p + 1: the
 * heads, its children, are their own parents here, and `rank` is the place of
 * what they send in the coordinator's sum. */
sti_place sti_tree_climb(uint32_t partitions, uint32_t partition);

/* How many partials reach the coordinator. */
uint32_t sti_tree_heads(uint32_t partitions);

/* Of dispatches, by the n who hear of them, who sends them first included:
 * small messages, so few hops count more than few turns. At most 8 children,
 * unless that takes more than 3 levels. */
sti_tree sti_tree_of_dispatches(uint32_t n);

/* Of a dispatch's pieces, by rows of workers: 2 levels, as each of the few
 * hops costs more than many small messages. */
sti_tree sti_tree_of_pieces(uint32_t rows);

/* index < tree->n. */
sti_place sti_tree_find(const sti_tree *tree, uint32_t index);

/* The child of that rank of the one at `index`. */
uint32_t sti_tree_child(uint32_t index, const sti_place *place, uint32_t rank);

#endif
