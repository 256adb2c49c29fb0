/* Child r begins S(r, levels) after its parent, the size of the parent and its
 * earlier children. */
#include "engine/round/tree.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "engine/round/partials.h"

enum { LEVELS = 3, FEW_CHILDREN = 8 };

/* S(r, levels); r < 2^17, so that it fits. */
static uint64_t subtree_size(uint64_t r, uint32_t levels)
{
    uint64_t sum = 1;
    if (levels > 0)
        sum += r;
    if (levels > 1 && r > 1)
        sum += r * (r - 1) / 2;
    if (levels > 2 && r > 2)
        sum += r * (r - 1) * (r - 2) / 6;
    return sum;
}

sti_tree sti_tree_up(uint32_t n)
{
    return (sti_tree){.n = n, .levels = LEVELS};
}

sti_tree sti_tree_down(uint32_t n)
{
    uint32_t levels = 1;
    while (levels < LEVELS && subtree_size(FEW_CHILDREN, levels) < n)
        levels++;
    return (sti_tree){.n = n, .levels = levels};
}

/* S(r, 0) .. S(r, LEVELS) of one r. */
typedef struct turns_reach {
    uint64_t s[LEVELS + 1];
} turns_reach;

/* S(r + 1, d) = S(r, d) + S(r, d - 1), as for binomials. */
static void next_child(turns_reach *of)
{
    for (uint32_t d = LEVELS; d > 0; d--)
        of->s[d] += of->s[d - 1];
}

sti_place sti_tree_find(const sti_tree *tree, uint32_t index)
{
    static const turns_reach first = {{1, 1, 1, 1}};
    sti_place place = {.levels = tree->levels};
    uint64_t at = 0, end = tree->n;
    while (at != index) {
        turns_reach next = first;
        uint64_t begins;
        place.parent = (uint32_t)at;
        place.rank = 0;
        for (;; place.rank++) {
            begins = next.s[place.levels];
            next_child(&next);
            if (at + next.s[place.levels] > index)
                break;
        }
        if (at + next.s[place.levels] < end)
            end = at + next.s[place.levels];
        at += begins;
        place.levels--;
    }
    turns_reach child = first;
    while (place.levels > 0 && at + child.s[place.levels] < end) {
        place.n_children++;
        next_child(&child);
    }
    return place;
}

uint32_t sti_tree_child(uint32_t index, const sti_place *place, uint32_t rank)
{
    return index + (uint32_t)subtree_size(rank, place->levels);
}

/* The rotation of chunk c of m in the tree of n members. */
static uint32_t rotation_of(uint32_t n, uint32_t c, uint32_t m)
{
    return (uint32_t)((uint64_t)c * n / m);
}

/* ---- reduction ---------------------------------------------------------- */

sti_chunks sti_chunks_of(const sti_run *run, const sti_dispatch *d)
{
    const uint32_t K = run->partitions;
    sti_chunks chunks = {.n = 1, .partitions = K};
    if (K < STI_CHUNKS_FROM || d->phase >= run->n_phases ||
        run->phases[d->phase].to != STRADS_TO_ALL ||
        run->phases[d->phase].merge != STRADS_MERGE_SUM)
        return chunks;
    const size_t numbers = d->partial_at[d->n_blocks];
    size_t least = STI_CHUNK_SHARE / K;
    least = least > STI_CHUNK_LEAST ? least : STI_CHUNK_LEAST;
    size_t n = K < STI_CHUNKS_MAX ? K : STI_CHUNKS_MAX;
    n = numbers / least < n ? numbers / least : n;
    chunks.n = n > 1 ? (uint32_t)n : 1;
    chunks.head = sti_totals_bytes(run);
    chunks.bytes = chunks.head + numbers;
    return chunks;
}

size_t sti_chunks_begin(const sti_chunks *chunks, uint32_t chunk)
{
    if (chunk == 0)
        return 0;
    if (chunk >= chunks->n)
        return chunks->bytes;
    const size_t at =
        chunks->head + (chunks->bytes - chunks->head) / chunks->n * chunk;
    return (at + STI_CHUNK_ALIGN - 1) / STI_CHUNK_ALIGN * STI_CHUNK_ALIGN;
}

sti_place sti_chunks_place(const sti_chunks *chunks, uint32_t chunk,
                           uint32_t partition)
{
    const uint32_t K = chunks->partitions,
                   turn = rotation_of(K, chunk, chunks->n);
    const sti_tree tree = sti_tree_up(K);
    sti_place place = sti_tree_find(&tree, (partition + K - turn) % K);
    place.parent = (place.parent + turn) % K;
    return place;
}

/* ---- broadcast ---------------------------------------------------------- */

static void send_copy(const sti_msg *msg, sti_address from, sti_address to,
                      sti_effects *out)
{
    sti_msg copy = *msg;
    copy.from = from;
    copy.to = to;
    sti_object_keep(copy.object);
    sti_effect_send(out, copy);
}

/* Sends to the child with the most below it first, because its way is the
 * longest. */
static void send_whole(const sti_run *run, uint32_t number, const sti_msg *msg,
                       sti_effects *out)
{
    const sti_address from =
        number ? STI_WORKER_0 + number - 1 : STI_COORDINATOR;
    const sti_tree tree = sti_tree_down(run->workers + 1);
    const sti_place place = sti_tree_find(&tree, number);
    for (uint32_t rank = place.n_children; rank-- > 0;)
        send_copy(msg, from,
                  STI_WORKER_0 + sti_tree_child(number, &place, rank) - 1, out);
}

void sti_broadcast_pass_on(const sti_run *run, uint32_t worker,
                           const sti_msg *msg, sti_effects *out)
{
    const uint32_t n = run->workers;
    if (!msg->partition) {
        send_whole(run, worker + 1, msg, out);
        return;
    }
    const uint32_t turn = rotation_of(n, msg->slice, msg->partition);
    const uint32_t number = (worker + n - turn) % n;
    const sti_tree tree = sti_tree_down(n);
    const sti_place place = sti_tree_find(&tree, number);
    for (uint32_t rank = place.n_children; rank-- > 0;)
        send_copy(msg, STI_WORKER_0 + worker,
                  STI_WORKER_0 +
                      (sti_tree_child(number, &place, rank) + turn) % n,
                  out);
}

/* The nodes are numbered in the order of their workers. */
static uint32_t count_nodes(const sti_run *run)
{
    return run->node_of[run->workers - 1] + 1;
}

/* Bytes of the parts that grow: changes, and partials of results. */
static size_t updates_bytes(const sti_dispatch *d)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < d->n_updates; k++) {
        const sti_update *update = d->updates[k];
        if (update->kind == STI_UPDATE_CHANGE)
            bytes += update->change.n *
                     (sizeof(uint32_t) + sizeof(double) * d->width);
        else
            bytes += update->partial->size;
    }
    return bytes;
}

/* The number of pieces, at most the number of workers. */
static uint32_t count_pieces_of(const sti_run *run, size_t bytes)
{
    const size_t most =
        run->workers < STI_PIECES_MAX ? run->workers : STI_PIECES_MAX;
    const size_t n = bytes / STI_PIECE_BYTES;
    return (uint32_t)(n < most ? n : most);
}

strads_err sti_broadcast_pack(const sti_run *run, sti_dispatch *d,
                              sti_buffer **out)
{
    *out = NULL;
    if (d->n_updates == 0 || d->phase == STI_PHASE_CLOSE ||
        count_nodes(run) < STI_PIECES_FROM ||
        count_pieces_of(run, updates_bytes(d)) < 2)
        return STRADS_OK;
    sti_writer w = {0};
    const sti_msg msg = {.kind = STI_MSG_DISPATCH, .object = &d->head};
    strads_err err = sti_msg_encode(&msg, &w, NULL);
    if (!err)
        err = sti_buffer_new(w.size, out);
    if (!err)
        memcpy((*out)->bytes, w.bytes, w.size);
    sti_writer_free(&w);
    return err;
}

/* Sends each piece to the root of its tree. */
static strads_err send_pieces(const sti_run *run, uint64_t seq,
                              sti_buffer *packed, sti_effects *out)
{
    const uint32_t n = count_pieces_of(run, packed->size);
    size_t begin = 0;
    for (uint32_t i = 0; i < n; i++) {
        const size_t end = packed->size * (i + 1) / n;
        sti_buffer *piece;
        strads_err err = sti_buffer_over(&packed->head, packed->bytes + begin,
                                         end - begin, &piece);
        if (err)
            return err;
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_DISPATCH,
                                       .from = STI_COORDINATOR,
                                       .to = STI_WORKER_0 +
                                             rotation_of(run->workers, i, n),
                                       .partition = n,
                                       .slice = (uint16_t)i,
                                       .round = seq,
                                       .object = &piece->head});
        begin = end;
    }
    return STRADS_OK;
}

strads_err sti_broadcast_begin(const sti_run *run, sti_dispatch *dispatch,
                               sti_buffer *packed, sti_effects *out)
{
    if (packed)
        return send_pieces(run, dispatch->seq, packed, out);
    const sti_msg msg = {.kind = STI_MSG_DISPATCH,
                         .round = dispatch->seq,
                         .object = &dispatch->head};
    send_whole(run, 0, &msg, out);
    return STRADS_OK;
}

/* ---- a worker's pieces ------------------------------------------------- */

/* Whether a piece matches those that have arrived. */
static bool fits_pieces(const sti_pieces *pieces, const sti_msg *msg)
{
    const uint32_t n = msg->partition;
    return msg->object && n > 1 && n <= STI_PIECES_MAX && msg->slice < n &&
           (!pieces || (pieces->n == n && !pieces->piece[msg->slice]));
}

bool sti_pieces_take(sti_pieces **pieces, const sti_msg *msg)
{
    if (!fits_pieces(*pieces, msg))
        return false;
    if (!*pieces)
        *pieces = calloc(1, sizeof **pieces);
    if (!*pieces)
        return false;
    (*pieces)->n = msg->partition;
    (*pieces)->came++;
    (*pieces)->piece[msg->slice] = (sti_buffer *)msg->object;
    return true;
}

void sti_pieces_free(sti_pieces *pieces)
{
    for (uint32_t i = 0; pieces && i < pieces->n; i++)
        sti_object_drop(pieces->piece[i]);
    free(pieces);
}

strads_err sti_pieces_join(const sti_run *run, const sti_pieces *pieces,
                           uint64_t seq, sti_dispatch **out)
{
    size_t size = 0, at = 0;
    for (uint32_t i = 0; i < pieces->n; i++)
        size += pieces->piece[i]->size;
    sti_buffer *packed;
    strads_err err = sti_buffer_new(size, &packed);
    if (err)
        return err;
    for (uint32_t i = 0; i < pieces->n; i++) {
        const sti_buffer *piece = pieces->piece[i];
        memcpy(packed->bytes + at, piece->bytes, piece->size);
        at += piece->size;
    }
    sti_msg msg = {.kind = STI_MSG_DISPATCH, .round = seq};
    err = sti_msg_decode(run, packed->bytes, size, &packed->head, &msg);
    sti_object_drop(packed);
    if (!err)
        *out = (sti_dispatch *)msg.object;
    return err;
}
