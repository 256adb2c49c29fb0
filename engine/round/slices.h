/* engine/round/slices.h - how a large partial goes up in slices.
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
#ifndef STI_SLICES_H
#define STI_SLICES_H

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"
#include "engine/round/tree.h"

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

#endif
