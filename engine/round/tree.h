/* engine/round/tree.h - how a round spreads and comes together: one tree, down
 * which dispatches are broadcast and up which partials are reduced, and what is
 * large in chunks.
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
 * what is not there.
 *
 * Whoever is near the root receives, adds or sends all of a message several
 * times over. So what is large is cut into chunks, and each takes the tree
 * turned by its share of the n members: in chunk c of m
 *
 *     number x is member (x + c n / m) mod n
 *
 * Other members are near the root of each chunk, so all of them send and
 * receive about as much, whatever their number, and a chunk is on its way up
 * while the next one is still summed. Bits follow from the number of partitions
 * and from what the dispatch says of the partial's size, which also say whether
 * and how it is cut. */
#ifndef STI_TREE_H
#define STI_TREE_H

#include <stdint.h>

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"

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

/* To reduce: 3 levels, so that 8 partitions still share the work as evenly as
 * can be, and 1,024 are 3 hops away. */
sti_tree sti_tree_up(uint32_t n);

/* To broadcast: few hops count more than few turns. At most 8 children, unless
 * that takes more than 3 levels. */
sti_tree sti_tree_down(uint32_t n);

/* index < tree->n. */
sti_place sti_tree_find(const sti_tree *tree, uint32_t index);

/* The child of that rank of the one at `index`. */
uint32_t sti_tree_child(uint32_t index, const sti_place *place, uint32_t rank);

/* ---- reduce: partials, by partitions ------------------------------------ */

/* Numbers that merge one by one (SUM) in phases to ALL are cut. */
enum {
    STI_CHUNKS_MAX = 64,
    STI_CHUNKS_FROM = 5,         /* partitions; fewer have short trees */
    STI_CHUNK_LEAST = 1024,      /* bytes of one, on many partitions */
    STI_CHUNK_SHARE = 256 << 10, /* of one times partitions, on few */
    STI_CHUNK_ALIGN = 64
};

typedef struct sti_chunks {
    uint32_t n; /* 1: whole */
    uint32_t partitions;
    size_t head;  /* bytes of shared totals, in front, all of chunk 0's */
    size_t bytes; /* of a partial, totals included; n == 1: not told */
} sti_chunks;

sti_chunks sti_chunks_of(const sti_run *run, const sti_dispatch *dispatch);

/* Where a chunk begins in a partial; chunk == n gives the end. n > 1. */
size_t sti_chunks_begin(const sti_chunks *chunks, uint32_t chunk);

/* A partition's place in the tree of a chunk, its parent told as a partition.
 * The root, its own parent, sends the chunk to the coordinator. */
sti_place sti_chunks_place(const sti_chunks *chunks, uint32_t chunk,
                           uint32_t partition);

/* ---- broadcast: dispatches, by workers ---------------------------------- */

/* A dispatch that is small goes whole: the coordinator is number 0, worker w is
 * w + 1. One whose updates are large is packed and cut into n pieces: piece i
 * goes from the coordinator to one worker, and from there down the tree of
 * workers turned by i. Such a DISPATCH message has `partition` n, `slice` i and
 * a buffer. A worker that has all pieces unpacks them, and goes on as with a
 * whole one: nothing that is computed depends on it. */
enum {
    STI_PIECES_MAX = 16,
    STI_PIECES_FROM = 8, /* nodes; to fewer all is sent as often anyway */
    STI_PIECE_BYTES = 1024
};

/* Packs a dispatch that is to go down in pieces; NULL: it goes whole. */
strads_err sti_broadcast_pack(const sti_run *run, sti_dispatch *dispatch,
                              sti_buffer **out);

/* The coordinator's: `packed` may be NULL. Takes over no reference. */
strads_err sti_broadcast_begin(const sti_run *run, sti_dispatch *dispatch,
                               sti_buffer *packed, sti_effects *out);

/* Sends a worker's DISPATCH on to those below it. */
void sti_broadcast_pass_on(const sti_run *run, uint32_t worker,
                           const sti_msg *msg, sti_effects *out);

/* The pieces of one dispatch at one worker, as they come. */
typedef struct sti_pieces {
    uint32_t n, came;
    sti_buffer *piece[STI_PIECES_MAX];
} sti_pieces;

/* Takes the reference of a piece; *pieces may be NULL. False: only a broken
 * peer sends this one, or there is no memory. */
bool sti_pieces_take(sti_pieces **pieces, const sti_msg *msg);
/* All have come: the dispatch. STRADS_EPEER, STRADS_ENOMEM. */
strads_err sti_pieces_join(const sti_run *run, const sti_pieces *pieces,
                           uint64_t seq, sti_dispatch **out);
void sti_pieces_free(sti_pieces *pieces);

#endif
