/* Numbers alone. Child r begins S(r, levels) after its parent: so many are the
 * parent and the children before it. */
#include "engine/round/tree.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "engine/round/partials.h"

enum { LEVELS = 3, FEW_CHILDREN = 8, FEW_PARTITIONS = 16 };

/* S(turns, levels); r < 2^17, so that it fits. */
static uint64_t reach(uint64_t r, uint32_t levels)
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

sti_tree sti_tree_of_partials(uint32_t partitions)
{
    return (sti_tree){.n = partitions, .levels = LEVELS};
}

sti_tree sti_tree_of_dispatches(uint32_t n)
{
    uint32_t levels = 1;
    while (levels < LEVELS && reach(FEW_CHILDREN, levels) < n)
        levels++;
    return (sti_tree){.n = n, .levels = levels};
}

sti_tree sti_tree_of_pieces(uint32_t rows)
{
    return (sti_tree){.n = rows, .levels = 2};
}

/* S(r, 0) .. S(r, LEVELS) of one r, from 0 on. */
typedef struct turns_reach {
    uint64_t s[LEVELS + 1];
} turns_reach;

/* S(r + 1, d) = S(r, d) + S(r, d - 1), as binomials do. */
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
    return index + (uint32_t)reach(rank, place->levels);
}

sti_place sti_tree_climb(uint32_t partitions, uint32_t partition)
{
    if (partitions <= FEW_PARTITIONS) {
        const sti_tree tree = sti_tree_of_partials(partitions);
        return sti_tree_find(&tree, partition);
    }
    const sti_tree tree = sti_tree_of_partials(partitions + 1);
    sti_place place = sti_tree_find(&tree, partition + 1);
    place.parent = place.parent > 0 ? place.parent - 1 : partition;
    return place;
}

uint32_t sti_tree_heads(uint32_t partitions)
{
    if (partitions <= FEW_PARTITIONS)
        return 1;
    const sti_tree tree = sti_tree_of_partials(partitions + 1);
    return sti_tree_find(&tree, 0).n_children;
}

/* Numbers alone. Who holds a stretch's sum of a slice is found from above:
 * level by level the slice's number says whose stretch of those below, of those
 * that there are. */

enum {
    LEVELS_PAIRED = 4, /* up to so many levels partitions meet in pairs */
    LEVELS_WIDE = 3,   /* of more partitions than these join */
    BYTES_BY_ROOT = 128
};

static bool may_be_cut(const sti_run *run, const sti_dispatch *d)
{
    if (d->phase >= run->n_phases || run->partitions < STI_SLICES_FROM)
        return false;
    const strads_phase *phase = &run->phases[d->phase];
    return phase->to == STRADS_TO_ALL && phase->merge == STRADS_MERGE_SUM;
}

/* Whether n slices are not too many for so many bytes. Of many partitions what
 * is small goes whole, as a hop less takes it there; n is 8 from 8 KB on, 16
 * from 32 KB, 32 from 128 KB, 64 from 512 KB. */
static bool may_be_so_many(uint32_t partitions, uint32_t n, size_t bytes)
{
    if (partitions <= UINT32_C(1) << LEVELS_PAIRED)
        return n <= bytes / STI_SLICE_BYTES;
    return bytes >= STI_SLICE_BYTES / 2 &&
           (size_t)n * n <= bytes / BYTES_BY_ROOT;
}

sti_slices sti_slices_of(const sti_run *run, const sti_dispatch *d)
{
    sti_slices slices = {.n = 1, .partitions = run->partitions};
    if (!may_be_cut(run, d))
        return slices;
    const size_t numbers = d->partial_at[d->n_blocks];
    slices.head = sti_totals_bytes(run);
    slices.bytes = slices.head + numbers;
    while (2 * slices.n <= STI_SLICES_MAX && 2 * slices.n <= run->partitions &&
           may_be_so_many(run->partitions, 2 * slices.n, numbers))
        slices.n *= 2;
    return slices;
}

size_t sti_slices_begin(const sti_slices *s, uint32_t slice)
{
    if (slice == 0)
        return 0;
    if (slice >= s->n)
        return s->bytes;
    const size_t at = s->head + (s->bytes - s->head) / s->n * slice;
    return (at + STI_SLICE_ALIGN - 1) / STI_SLICE_ALIGN * STI_SLICE_ALIGN;
}

/* ---- places ------------------------------------------------------------ */

/* Level l + 1 joins 2^bits[l] stretches of level l, the lower levels more. */
typedef struct levels {
    uint32_t n;
    uint32_t bits[LEVELS_PAIRED];
} levels;

static levels levels_of(uint32_t partitions)
{
    uint32_t all = 0;
    while ((uint64_t)1 << all < partitions)
        all++;
    levels of = {.n = all <= LEVELS_PAIRED ? all : LEVELS_WIDE};
    for (uint32_t l = 0; l < of.n; l++) {
        of.bits[l] = (all + of.n - l - 1) / (of.n - l);
        all -= of.bits[l];
    }
    return of;
}

/* Bits of a slice's number. */
static uint32_t bits(const sti_slices *s)
{
    return (uint32_t)__builtin_ctz(s->n);
}

/* Stretches of one level, of which one comes to be. */
typedef struct group {
    uint32_t first, bits; /* of a partition's number: which stretch of these */
    uint32_t at;          /* that of the partition in question */
    uint32_t size;        /* those that exist */
} group;

static group group_of(const sti_slices *s, const levels *of, uint32_t level,
                      uint32_t partition)
{
    group g = {.bits = of->bits[level]};
    for (uint32_t l = 0; l < level; l++)
        g.first += of->bits[l];
    const uint64_t most = (uint64_t)1 << g.bits, stretch = partition >> g.first;
    const uint64_t begin = stretch & ~(most - 1);
    const uint64_t left = ((s->partitions - 1) >> g.first) + 1 - begin;
    g.at = (uint32_t)(stretch - begin);
    g.size = (uint32_t)(left < most ? left : most);
    return g;
}

/* The stretch whose holder takes the others' sums in: by the slice's number,
 * from the first bit that no level below has looked at. */
static uint32_t taker(const sti_slices *s, uint32_t slice, const group *g)
{
    const uint32_t past = g->first % bits(s);
    const uint32_t turned = slice >> past | slice << (bits(s) - past);
    return (turned & (s->n - 1)) % g->size;
}

/* Who holds the stretch of level `level` that begins at `begin`. */
static uint32_t holder(const sti_slices *s, const levels *of, uint32_t slice,
                       uint32_t level, uint32_t begin)
{
    while (level-- > 0) {
        const group g = group_of(s, of, level, begin);
        begin += taker(s, slice, &g) << g.first;
    }
    return begin;
}

/* How many others' sums a partition has taken in where it holds a stretch. */
static uint32_t taken_in(const sti_slices *s, const levels *of, uint32_t level,
                         uint32_t partition)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < level; l++)
        n += group_of(s, of, l, partition).size - 1;
    return n;
}

/* Behind its own sum a taker adds the next stretch's and so on, round to the
 * one before it. */
static sti_place place_of_slice(const sti_slices *s, uint32_t slice,
                                uint32_t partition)
{
    const levels of = levels_of(s->partitions);
    sti_place place = {.parent = partition};
    uint32_t l = 0;
    for (; l < of.n; l++) {
        const group g = group_of(s, &of, l, partition);
        const uint32_t to = taker(s, slice, &g);
        if (to == g.at)
            continue;
        const uint32_t begin = ((partition >> g.first) - g.at + to) << g.first;
        place.parent = holder(s, &of, slice, l, begin);
        place.rank = taken_in(s, &of, l, place.parent) +
                     (g.at + g.size - to) % g.size - 1;
        break;
    }
    place.n_children = taken_in(s, &of, l, partition);
    return place;
}

sti_place sti_slices_place(const sti_slices *s, uint32_t slice,
                           uint32_t partition)
{
    if (s->n > 1)
        return place_of_slice(s, slice, partition);
    return sti_tree_climb(s->partitions, partition);
}

uint32_t sti_slices_children_max(uint32_t partitions)
{
    const levels of = levels_of(partitions);
    uint32_t most = 0;
    for (uint32_t l = 0; l < of.n; l++)
        most += (UINT32_C(1) << of.bits[l]) - 1;
    return most;
}

static uint32_t reverse(const sti_slices *s, uint32_t number)
{
    uint32_t reversed = 0;
    for (uint32_t b = 0; b < bits(s); b++)
        reversed = reversed << 1 | (number >> b & 1);
    return reversed;
}

/* Counted down in reverse order of bits, from all ones, a number's lowest bits
 * say whether partition and slice part at level 0, and so on. */
uint32_t sti_slices_turn(const sti_slices *s, uint32_t partition, uint32_t k)
{
    return (partition ^ ~reverse(s, k)) & (s->n - 1);
}

uint32_t sti_slices_when(const sti_slices *s, uint32_t partition,
                         uint32_t slice)
{
    return reverse(s, ~(partition ^ slice));
}

/* Numbers in trees, and pieces. Who has most below it is sent to first: it has
 * the longest way to go. */

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
    const uint32_t row = worker / of.n, own = worker % of.n;
    const sti_address from = STI_WORKER_0 + worker;
    if (row >= of.full || own != msg->slice)
        return;
    const sti_tree tree = sti_tree_of_pieces(of.full);
    const sti_place place = sti_tree_find(&tree, row);
    for (uint32_t rank = place.n_children; rank-- > 0;) {
        const uint32_t child = sti_tree_child(row, &place, rank);
        send_copy(msg, from, STI_WORKER_0 + child * of.n + own, out);
    }
    for (uint32_t k = 1; k < of.n; k++)
        send_copy(msg, from, STI_WORKER_0 + row * of.n + (own + k) % of.n, out);
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
