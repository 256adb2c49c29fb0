/* engine/round/tree.h - how a round spreads and comes together: the trees,
 * large partials on their way up in slices, dispatches on their way down. */
#ifndef STI_TREE_H
#define STI_TREE_H

#include <stdint.h>

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"

/* the trees by which a round spreads and comes together.
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

/* how a large partial goes up in slices.
 *
 * One tree brings all of a partial to one place, and whoever is near its root
 * receives and adds all of it several times over. So what is large is cut into
 * slices. All are summed over the same stretches of partitions: of 2^b partials
 * that are neighbours, then of 2^b' of these stretches, and so on,
 *
 *     sum(l, i) = sum(l - 1, i 2^b) + ... + sum(l - 1, i 2^b + 2^b - 1),
 *
 * but not in the same place: each of those who hold the parts takes in the
 * others' in its share of all slices (a reduce-scatter by recursive halving,
 * where b is 1). All partitions then receive and add about one partial's worth,
 * whatever their number; neighbours meet first, so of several on a node one
 * half leaves it at most; and each slice's root sends it to the coordinator.
 *
 * A taker of many partitions' slices waits for the price of each message and
 * for its bytes; so n slices are best where n is as the root of the bytes.
 *
 * Up to 16 partitions b is 1: there all slices are sums of one shape. More join
 * in 3 levels, so that 1,024 are as few hops away as in the tree: whoever takes
 * in adds to its own sum, so that a slice's number decides where a sum begins.
 * Either way bits follow from the number of partitions and from what the
 * dispatch says of the partial's size, which also say whether and how it is
 * cut. Slices are of numbers that merge one by one (SUM, MAX) in phases to
 * ALL. */

enum {
    STI_SLICES_MAX = 64,
    STI_SLICES_FROM = 5,         /* partitions; fewer have short trees */
    STI_SLICE_BYTES = 16 * 1024, /* at least, of up to 16 partitions */
    STI_SLICE_ALIGN = 64
};

typedef struct sti_slices {
    uint32_t n; /* a power of 2; 1: whole, up the tree of partials */
    uint32_t partitions;
    size_t head;  /* bytes of shared totals, in front, all of slice 0's */
    size_t bytes; /* of a partial, totals included; n == 1: not told */
} sti_slices;

sti_slices sti_slices_of(const sti_run *run, const sti_dispatch *dispatch);

/* Where a slice begins in a partial; slice == n gives the end. n > 1. */
size_t sti_slices_begin(const sti_slices *slices, uint32_t slice);

/* A partition's place on the way of a slice; the root is its own parent. */
sti_place sti_slices_place(const sti_slices *slices, uint32_t slice,
                           uint32_t partition);

/* The most children that a place of a slice has. */
uint32_t sti_slices_children_max(uint32_t partitions);

/* The k-th slice that a partition looks at, k < n: first those that it gives
 * away at once, of these first those that go farthest, last its own. */
uint32_t sti_slices_turn(const sti_slices *slices, uint32_t partition,
                         uint32_t k);

/* The other way round: when a partition looks at a slice. */
uint32_t sti_slices_when(const sti_slices *slices, uint32_t partition,
                         uint32_t slice);

/* how a dispatch goes down.
 *
 * Whole, it takes a tree whose root is the coordinator, 0, and where worker w
 * is w + 1 (tree.h). Whoever is near the root sends all of it many times over,
 * one after the other. So what is large, by what news it brings, is packed and
 * cut into n pieces, and the workers are n groups:
 *
 *     worker w is of group w modulo n, in row w / n
 *
 * The coordinator sends piece i to the first one of group i; it goes down a
 * tree over the group; and whoever has it so sends it to the others in its row
 * (a scatter, and an all-gather in each row). So everybody sends about what it
 * receives, one dispatch's worth. A worker that has all pieces unpacks them,
 * and goes on as with a whole one: nothing that is computed depends on it. */

enum {
    STI_PIECES_MAX = 16,
    STI_PIECES_FROM = 8, /* nodes; to fewer all is sent as often anyway */
    STI_PIECE_BYTES = 1024
};

/* The pieces of one dispatch at one worker, as they come. */
typedef struct sti_pieces {
    uint32_t n, came;
    sti_buffer *piece[STI_PIECES_MAX];
} sti_pieces;

/* Packs a dispatch that is to go down in pieces; NULL: it goes whole. */
strads_err sti_descent_pack(const sti_run *run, sti_dispatch *dispatch,
                            sti_buffer **out);

/* The coordinator's: `packed` may be NULL, `root` is its place in the tree.
 * Takes over no reference. */
strads_err sti_descent_begin(const sti_run *run, const sti_place *root,
                             sti_dispatch *dispatch, sti_buffer *packed,
                             sti_effects *out);

/* The place of an address in the tree of whole dispatches. */
sti_place sti_descent_place(const sti_run *run, sti_address address);

/* Sends a worker's DISPATCH, or PIECE, on to those below it. */
void sti_descent_pass_on(uint32_t worker, const sti_place *place,
                         const sti_msg *msg, sti_effects *out);
void sti_descent_pass_piece_on(const sti_run *run, uint32_t worker,
                               const sti_msg *msg, sti_effects *out);

/* Takes the reference of a PIECE; *pieces may be NULL. False: only a broken
 * peer sends this one, or there is no memory. */
bool sti_pieces_take(sti_pieces **pieces, const sti_msg *msg);
/* All have come: the dispatch. STRADS_EPEER, STRADS_ENOMEM. */
strads_err sti_pieces_join(const sti_run *run, const sti_pieces *pieces,
                           uint64_t seq, sti_dispatch **out);
void sti_pieces_free(sti_pieces *pieces);

#endif
