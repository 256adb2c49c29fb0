/* engine/round/slices.h - how a large partial goes up in slices.
 *
 * One tree brings all of a partial to one place, and whoever is near its root
 * receives and adds all of it several times over. So what is large is cut into
 * slices. They share one shape of sum: a binary tree whose nodes are stretches
 * of 2^l partitions,
 *
 *     sum(l, i) = sum(l - 1, 2 i) + sum(l - 1, 2 i + 1),
 *
 * but not the place where it is formed: of the two who hold the halves the left
 * one gets the other's in one half of all slices, the right one in the other
 * half (a reduce-scatter by recursive halving). All partitions then receive and
 * add about one partial's worth, whatever their number; partitions that are
 * neighbours meet first, so of several on a node one half leaves it at most;
 * and each slice's root sends it to the coordinator.
 *
 * As a + b = b + a bit by bit, the bits are those of the shape, wherever a sum
 * is formed. Whether a partial goes in slices follows from the number of
 * partitions and from what the dispatch says of its size. Slices are of numbers
 * that merge one by one (SUM, MAX) in phases to ALL. */
#ifndef STI_SLICES_H
#define STI_SLICES_H

#include "engine/role/dispatch.h"
#include "engine/role/run_context.h"
#include "engine/round/tree.h"

enum {
    STI_SLICES_MAX = 64,
    STI_SLICES_FROM = 5,         /* partitions; fewer have short trees */
    STI_SLICE_BYTES = 16 * 1024, /* at least, so that a message pays */
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

/* The k-th slice that a partition looks at, k < n: first those that it gives
 * away at once, of these first those that go farthest, last its own. */
uint32_t sti_slices_turn(const sti_slices *slices, uint32_t partition,
                         uint32_t k);

/* The other way round: when a partition looks at a slice. */
uint32_t sti_slices_when(const sti_slices *slices, uint32_t partition,
                         uint32_t slice);

#endif
