/* engine/round/tree.h - broadcast and reduction tree. One tree shape serves
 * both: dispatches are broadcast down, partials are reduced up. Large messages
 * travel in chunks.
 *
 * 0 is the root. A node with d levels below it has children of d - 1 levels
 * each. Child r heads a range of S(r, d - 1) numbers, where
 *
 *     S(r, d) = C(r, 0) + C(r, 1) + ... + C(r, d)
 *
 * is the number of nodes that one message at a time reaches in r turns and d
 * hops. So for at most d levels the number of turns is minimal, a node has at
 * most about (d! n)^(1/d) children, and with enough levels the tree is the
 * binomial tree. The numbers below a node follow its own without gaps, child
 * after child. Sums in the order of children are therefore sums in the order of
 * numbers.
 *
 * A node's parent depends only on its number and the levels; n cuts the tree
 * off.
 *
 * Nodes near the root receive, add or send a whole message several times. Large
 * messages are therefore split into chunks, and the tree of each chunk is
 * rotated over the n members: in chunk c of m
 *
 *     number x is member (x + c n / m) mod n
 *
 * Each chunk has other members near its root, so all members send and receive
 * about the same amount for any n, and a chunk travels up while the next one is
 * summed. The bits of a result depend on the number of partitions and on the
 * partial's size in the dispatch, which also determine the chunks. */
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
    uint32_t rank;   /* its index among its parent's children */
    uint32_t levels; /* levels below it */
    uint32_t n_children;
} sti_place;

/* For reductions: 3 levels, so that 8 partitions share the work as evenly as
 * possible and 1,024 are 3 hops away. */
sti_tree sti_tree_up(uint32_t n);

/* For broadcasts, where few hops matter more than few turns: at most 8
 * children, unless that takes more than 3 levels. */
sti_tree sti_tree_down(uint32_t n);

/* index < tree->n. */
sti_place sti_tree_find(const sti_tree *tree, uint32_t index);

/* The child of that rank of the node `index`. */
uint32_t sti_tree_child(uint32_t index, const sti_place *place, uint32_t rank);

/* ---- reduction: partials, by partitions -------------------------------- */

/* Partials that are merged by addition (SUM) in phases to ALL are split into
 * chunks. */
enum {
    STI_CHUNKS_MAX = 64,
    STI_CHUNKS_FROM = 5,    /* partitions; fewer have short trees */
    STI_CHUNK_LEAST = 1024, /* smallest chunk in bytes, on many partitions */
    STI_CHUNK_SHARE = 256 << 10, /* smallest chunk times partitions, on few */
    STI_CHUNK_ALIGN = 64
};

typedef struct sti_chunks {
    uint32_t n; /* 1: whole */
    uint32_t partitions;
    size_t head;  /* bytes of shared totals, all in chunk 0 */
    size_t bytes; /* of a partial with totals; not set if n == 1 */
} sti_chunks;

sti_chunks sti_chunks_of(const sti_run *run, const sti_dispatch *dispatch);

/* The offset of a chunk in a partial; chunk == n gives the end. n > 1. */
size_t sti_chunks_begin(const sti_chunks *chunks, uint32_t chunk);

/* A partition's place in the tree of a chunk; the parent is given as a
 * partition. The root is its own parent and sends the chunk to the
 * coordinator. */
sti_place sti_chunks_place(const sti_chunks *chunks, uint32_t chunk,
                           uint32_t partition);

/* ---- broadcast: dispatches, by workers ---------------------------------- */

/* A small dispatch is sent whole: the coordinator is number 0, worker w is w +
 * 1. A dispatch with large updates is packed and split into n pieces. The
 * coordinator sends piece i to one worker, and from there it travels down the
 * tree of workers, rotated by i. Such a DISPATCH message has `partition` n,
 * `slice` i and a buffer. A worker with all pieces unpacks them and proceeds as
 * with a whole dispatch, so results do not depend on the split. */
enum {
    STI_PIECES_MAX = 16,
    STI_PIECES_FROM = 8, /* nodes; with fewer, pieces save no sends */
    STI_PIECE_BYTES = 1024
};

/* Packs a dispatch that is sent in pieces; NULL: it is sent whole. */
strads_err sti_broadcast_pack(const sti_run *run, sti_dispatch *dispatch,
                              sti_buffer **out);

/* Sends the coordinator's dispatch; `packed` may be NULL. Takes over no
 * reference. */
strads_err sti_broadcast_begin(const sti_run *run, sti_dispatch *dispatch,
                               sti_buffer *packed, sti_effects *out);

/* Forwards a worker's DISPATCH to its children. */
void sti_broadcast_pass_on(const sti_run *run, uint32_t worker,
                           const sti_msg *msg, sti_effects *out);

/* The pieces of one dispatch that a worker has received. */
typedef struct sti_pieces {
    uint32_t n, came;
    sti_buffer *piece[STI_PIECES_MAX];
} sti_pieces;

/* Takes over the reference to a piece; *pieces may be NULL. False: a broken
 * peer sent it, or memory ran out. */
bool sti_pieces_take(sti_pieces **pieces, const sti_msg *msg);
/* Joins all pieces into the dispatch. STRADS_EPEER, STRADS_ENOMEM. */
strads_err sti_pieces_join(const sti_run *run, const sti_pieces *pieces,
                           uint64_t seq, sti_dispatch **out);
void sti_pieces_free(sti_pieces *pieces);

#endif
