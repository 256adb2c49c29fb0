/* engine/round/descent.h - how a dispatch goes down.
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
#ifndef STI_DESCENT_H
#define STI_DESCENT_H

#include "engine/round/dispatch.h"
#include "engine/round/run_context.h"
#include "engine/round/tree.h"

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
