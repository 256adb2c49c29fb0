/* Numbers in trees, and pieces. Who has most below it is sent to first: it has
 * the longest way to go. */
#include "engine/round/descent.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/message_codec.h"

static void send_copy(const sti_msg *msg, sti_address from, sti_address to,
                      sti_effects *out)
{
    sti_msg copy = *msg;
    copy.from = from;
    copy.to = to;
    sti_object_keep(copy.object);
    sti_effect_send(out, copy);
}

/* ---- whole ------------------------------------------------------------- */

/* The coordinator is number 0 of the tree, worker w is w + 1. */
sti_place sti_descent_place(const sti_run *run, sti_address address)
{
    const sti_tree tree = sti_tree_of_dispatches(run->workers + 1);
    return sti_tree_find(&tree, address < STI_WORKER_0
                                    ? 0
                                    : address - STI_WORKER_0 + 1);
}

static void send_whole(uint32_t number, const sti_place *place,
                       const sti_msg *msg, sti_effects *out)
{
    const sti_address from =
        number ? STI_WORKER_0 + number - 1 : STI_COORDINATOR;
    for (uint32_t rank = place->n_children; rank-- > 0;)
        send_copy(msg, from,
                  STI_WORKER_0 + sti_tree_child(number, place, rank) - 1, out);
}

void sti_descent_pass_on(uint32_t worker, const sti_place *place,
                         const sti_msg *msg, sti_effects *out)
{
    send_whole(worker + 1, place, msg, out);
}

/* ---- in pieces --------------------------------------------------------- */

/* Row r of the workers is r n .. r n + n - 1, and the i-th of each row is of
 * group i. Those behind the last full row, fewer than n, have a row each that
 * gives them its pieces too: `guest` of row r is the r-th of them. */
typedef struct rows {
    uint32_t n, full, guests;
} rows;

static rows rows_of(const sti_run *run, uint32_t n)
{
    return (rows){.n = n, .full = run->workers / n, .guests = run->workers % n};
}

/* Down the group's tree, then to the others in the row, each beginning with
 * the one behind itself. */
void sti_descent_pass_piece_on(const sti_run *run, uint32_t worker,
                               const sti_msg *msg, sti_effects *out)
{
    const rows of = rows_of(run, msg->partition);
    const uint32_t row = worker / of.n, group = worker % of.n;
    const sti_address from = STI_WORKER_0 + worker;
    if (row >= of.full || group != msg->slice)
        return;
    const sti_tree tree = sti_tree_of_pieces(of.full);
    const sti_place place = sti_tree_find(&tree, row);
    for (uint32_t rank = place.n_children; rank-- > 0;) {
        const uint32_t child = sti_tree_child(row, &place, rank);
        send_copy(msg, from, STI_WORKER_0 + child * of.n + group, out);
    }
    for (uint32_t k = 1; k < of.n; k++)
        send_copy(msg, from, STI_WORKER_0 + row * of.n + (group + k) % of.n,
                  out);
    for (uint32_t guest = row; guest < of.guests; guest += of.full)
        send_copy(msg, from, STI_WORKER_0 + of.full * of.n + guest, out);
}

/* ---- the coordinator's ------------------------------------------------- */

/* The nodes are numbered in the order of their workers. */
static uint32_t nodes_of(const sti_run *run)
{
    return run->node_of[run->workers - 1] + 1;
}

/* Bytes of what grows: the news, and their blocks' parameters. */
static size_t news_bytes(const sti_dispatch *d)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < d->n_news; k++) {
        const sti_news *news = d->news[k];
        if (news->kind == STI_NEWS_CHANGE)
            bytes +=
                news->change.n * (sizeof(uint32_t) + sizeof(double) * d->width);
        else
            bytes += news->partial->size;
    }
    return bytes;
}

/* No more than there are workers. */
static uint32_t pieces_of(const sti_run *run, size_t bytes)
{
    const size_t most =
        run->workers < STI_PIECES_MAX ? run->workers : STI_PIECES_MAX;
    const size_t n = bytes / STI_PIECE_BYTES;
    return (uint32_t)(n < most ? n : most);
}

strads_err sti_descent_pack(const sti_run *run, sti_dispatch *d,
                            sti_buffer **out)
{
    *out = NULL;
    if (d->n_news == 0 || d->phase == STI_PHASE_CLOSE ||
        nodes_of(run) < STI_PIECES_FROM || pieces_of(run, news_bytes(d)) < 2)
        return STRADS_OK;
    sti_writer w = {0};
    const sti_msg msg = {.kind = STI_MSG_DISPATCH, .object = &d->head};
    strads_err err = sti_msg_encode(&msg, &w);
    if (!err)
        err = sti_buffer_new(w.size, out);
    if (!err)
        memcpy((*out)->bytes, w.bytes, w.size);
    sti_writer_free(&w);
    return err;
}

static strads_err begin_pieces(const sti_run *run, uint64_t seq,
                               sti_buffer *packed, sti_effects *out)
{
    const uint32_t n = pieces_of(run, packed->size);
    size_t begin = 0;
    for (uint32_t i = 0; i < n; i++) {
        const size_t end = packed->size * (i + 1) / n;
        sti_buffer *piece;
        strads_err err = sti_buffer_over(&packed->head, packed->bytes + begin,
                                         end - begin, &piece);
        if (err)
            return err;
        const sti_msg msg = {.kind = STI_MSG_PIECE,
                             .partition = n,
                             .slice = (uint16_t)i,
                             .round = seq,
                             .object = &piece->head};
        send_copy(&msg, STI_COORDINATOR, STI_WORKER_0 + i, out);
        sti_object_drop(piece);
        begin = end;
    }
    return STRADS_OK;
}

strads_err sti_descent_begin(const sti_run *run, const sti_place *root,
                             sti_dispatch *dispatch, sti_buffer *packed,
                             sti_effects *out)
{
    if (packed)
        return begin_pieces(run, dispatch->seq, packed, out);
    const sti_msg msg = {.kind = STI_MSG_DISPATCH,
                         .round = dispatch->seq,
                         .object = &dispatch->head};
    send_whole(0, root, &msg, out);
    return STRADS_OK;
}

/* ---- a worker's pieces ------------------------------------------------- */

/* Whether a piece fits to those that have come. */
static bool fits(const sti_pieces *pieces, const sti_msg *msg)
{
    const uint32_t n = msg->partition;
    return msg->object && n > 1 && n <= STI_PIECES_MAX && msg->slice < n &&
           (!pieces || (pieces->n == n && !pieces->piece[msg->slice]));
}

bool sti_pieces_take(sti_pieces **pieces, const sti_msg *msg)
{
    if (!fits(*pieces, msg))
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
