/* The tree reaches every worker once, in few hops and with few children, and
 * keeps the order of numbers. A large message costs each worker about one
 * message of traffic. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/tree.h"

static const uint32_t sizes[] = {1,    2,    3,    4,    5,   7,    8,
                                 9,    10,   15,   16,   37,  38,   64,
                                 100,  255,  256,  820,  999, 1023, 1024,
                                 1025, 1111, 4096, 65536};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Follows children from the root; counts visits and the deepest level. */
static void visit(const sti_tree *tree, uint32_t index, uint32_t depth,
                  uint32_t *visits, uint32_t *deepest)
{
    sti_place place = sti_tree_find(tree, index);
    visits[index]++;
    *deepest = depth > *deepest ? depth : *deepest;
    for (uint32_t rank = 0; rank < place.n_children; rank++) {
        uint32_t child = sti_tree_child(index, &place, rank);
        cr_assert_lt(child, tree->n);
        sti_place its = sti_tree_find(tree, child);
        cr_assert_eq(its.parent, index);
        cr_assert_eq(its.rank, rank);
        visit(tree, child, depth + 1, visits, deepest);
    }
}

static void check(sti_tree tree)
{
    uint32_t *visits = calloc(tree.n, sizeof *visits), deepest = 0;
    cr_assert(visits);
    visit(&tree, 0, 0, visits, &deepest);
    for (uint32_t k = 0; k < tree.n; k++)
        cr_assert_eq(visits[k], 1, "%u of %u: %u visits", k, tree.n, visits[k]);
    cr_assert(deepest <= 3, "%u levels for %u", deepest, tree.n);
    free(visits);
}

Test(role_tree, everybody_is_reached_once_within_three_levels)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        check(sti_tree_up(sizes[k]));
        check(sti_tree_down(sizes[k]));
    }
}

/* A depth-first walk, children in order, visits numbers in ascending order, as
 * CONCAT requires. */
static uint32_t walk(const sti_tree *tree, uint32_t index)
{
    sti_place place = sti_tree_find(tree, index);
    uint32_t next = index + 1;
    for (uint32_t rank = 0; rank < place.n_children; rank++) {
        cr_assert_eq(sti_tree_child(index, &place, rank), next);
        next = walk(tree, next);
    }
    return next;
}

Test(role_tree, a_walk_meets_the_numbers_in_order)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        sti_tree tree = sti_tree_up(sizes[k]);
        cr_assert_eq(walk(&tree, 0), sizes[k]);
    }
}

Test(role_tree, up_to_eight_partials_go_up_a_binomial_tree)
{
    for (uint32_t n = 1; n <= 8; n++)
        for (uint32_t p = 1; p < n; p++) {
            sti_tree tree = sti_tree_up(n);
            cr_assert_eq(sti_tree_find(&tree, p).parent, p & (p - 1));
        }
}

/* Returns the largest number of children in a tree. */
static uint32_t widest(sti_tree tree)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < tree.n; k++) {
        uint32_t n = sti_tree_find(&tree, k).n_children;
        most = n > most ? n : most;
    }
    return most;
}

Test(role_tree, no_node_has_many_children)
{
    cr_assert_eq(widest(sti_tree_up(8)), 3);
    cr_assert_eq(widest(sti_tree_up(64)), 7);
    cr_assert_eq(widest(sti_tree_up(1024)), 19);
    cr_assert_eq(widest(sti_tree_down(9)), 8);
    cr_assert_eq(widest(sti_tree_down(37)), 8);
    cr_assert_eq(widest(sti_tree_down(64)), 7);
    cr_assert_eq(widest(sti_tree_down(1024)), 19);
}

Test(role_tree, a_parent_depends_on_the_number_alone)
{
    sti_tree small = sti_tree_up(600);
    sti_tree large = sti_tree_up(65536);
    for (uint32_t p = 1; p < 600; p++)
        cr_assert_eq(sti_tree_find(&small, p).parent,
                     sti_tree_find(&large, p).parent);
}

/* ---- reduce in chunks --------------------------------------------------- */

/* Returns the chunks of a dispatch with one phase and a partial of `bytes`
 * bytes. */
static sti_chunks chunks_of(uint32_t partitions, uint32_t totals, size_t bytes,
                            strads_phase phase)
{
    size_t at[] = {0, bytes / 3 / 8 * 8, bytes};
    const sti_dispatch d = {.n_blocks = 2, .partial_at = at};
    const sti_run run = {.phases = &phase,
                         .n_phases = 1,
                         .partitions = partitions,
                         .shape.totals = totals};
    return sti_chunks_of(&run, &d);
}

static const uint32_t counts[] = {5, 6, 7, 8, 16, 31, 33, 100, 256, 1024};
enum { COUNTS = sizeof counts / sizeof *counts };

Test(role_tree, chunks_leave_nothing_out_and_are_even)
{
    const size_t lengths[] = {131072, 131080, 1600024, 16000024};
    for (uint32_t k = 0; k < COUNTS; k++)
        for (uint32_t l = 0; l < 4; l++)
            for (uint32_t totals = 0; totals <= 77; totals += 77) {
                const sti_chunks s =
                    chunks_of(counts[k], totals, lengths[l], (strads_phase){0});
                cr_assert(s.n > 1 && s.n <= counts[k]);
                cr_assert_leq(s.n, STI_CHUNKS_MAX);
                cr_assert_eq(s.bytes, lengths[l] + totals * sizeof(double));
                cr_assert_eq(sti_chunks_begin(&s, 0), 0);
                cr_assert_eq(sti_chunks_begin(&s, s.n), s.bytes);
                cr_assert_geq(sti_chunks_begin(&s, 1), s.head);
                for (uint32_t c = 0; c < s.n; c++) {
                    const size_t begin = sti_chunks_begin(&s, c);
                    const size_t size = sti_chunks_begin(&s, c + 1) - begin;
                    cr_assert_eq(begin % STI_CHUNK_ALIGN, 0);
                    cr_assert_leq(size, (s.bytes - s.head) / s.n + s.head +
                                            STI_CHUNK_ALIGN + s.n);
                }
            }
}

Test(role_tree, small_messages_and_unsummed_ones_are_not_split)
{
    const size_t large = 1 << 20;
    const strads_phase whole[] = {{.merge = STRADS_MERGE_CONCAT},
                                  {.merge = STRADS_MERGE_OWN},
                                  {.to = STRADS_TO_OWNER},
                                  {.to = STRADS_TO_RING}};
    cr_assert_gt(chunks_of(8, 0, large, (strads_phase){0}).n, 1);
    cr_assert_eq(chunks_of(8, 0, 32760, (strads_phase){0}).n, 1);
    cr_assert_eq(chunks_of(4, 0, large, (strads_phase){0}).n, 1);
    for (uint32_t k = 0; k < 4; k++)
        cr_assert_eq(chunks_of(8, 0, large, whole[k]).n, 1);
}

/* Every chunk has one root, few hops from all partitions. Over all chunks, a
 * partition receives little more than one partial. */
Test(role_tree, no_node_receives_much_more_than_one_partial)
{
    for (uint32_t k = 0; k < COUNTS; k++) {
        const uint32_t n = counts[k];
        const sti_chunks s = chunks_of(n, 0, 4 << 20, (strads_phase){0});
        double most = 0;
        for (uint32_t c = 0; c < s.n; c++) {
            uint32_t roots = 0, hops = 0;
            for (uint32_t p = 0; p < n; p++) {
                roots += sti_chunks_place(&s, c, p).parent == p;
                hops = 0;
                for (uint32_t at = p; sti_chunks_place(&s, c, at).parent != at;
                     hops++)
                    at = sti_chunks_place(&s, c, at).parent;
                cr_assert_leq(hops, 3);
            }
            cr_assert_eq(roots, 1);
        }
        for (uint32_t p = 0; p < n; p++) {
            uint32_t children = 0;
            for (uint32_t c = 0; c < s.n; c++)
                children += sti_chunks_place(&s, c, p).n_children;
            most = fmax(most, (double)children / s.n);
        }
        cr_log_info("%4u partitions: %u chunks, %.2f partials", n, s.n, most);
        cr_assert_leq(most, 1.7);
    }
}

/* ---- broadcast ---------------------------------------------------------- */

enum { WORKERS_MAX = 1111 };

/* A dispatch with `changed` parameters to workers on one node each. */
typedef struct broadcast {
    strads_program program;
    sti_run run;
    uint32_t node_of[WORKERS_MAX];
    sti_dispatch *dispatch;
    sti_buffer *packed;
} broadcast;

static void open_broadcast(broadcast *t, uint32_t workers, uint32_t changed)
{
    *t = (broadcast){.run = {.program = &t->program,
                             .shape = {.width = 1},
                             .workers = workers,
                             .node_of = t->node_of}};
    for (uint32_t w = 0; w < workers; w++)
        t->node_of[w] = w;
    sti_update *update;
    cr_assert_eq(sti_update_change(1, changed, 1, &update), STRADS_OK);
    const sti_dispatch_parts parts = {.phase = STI_PHASE_OPEN,
                                      .width = 1,
                                      .n_updates = 1,
                                      .updates = &update};
    memset((void *)(uintptr_t)update->change.param, 0, 4 * (size_t)changed);
    memset((void *)(uintptr_t)update->change.change, 0, 8 * (size_t)changed);
    cr_assert_eq(sti_dispatch_new(&parts, &t->dispatch), STRADS_OK);
    cr_assert_eq(sti_broadcast_pack(&t->run, t->dispatch, &t->packed),
                 STRADS_OK);
    sti_object_drop(update);
}

static void close_broadcast(broadcast *t)
{
    sti_object_drop(t->dispatch);
    sti_object_drop(t->packed);
}

/* Passes every message on, and checks that each worker receives each piece
 * once, after at most four hops. Returns the largest amount that one worker
 * sends, in whole dispatches. */
static double most_sent(broadcast *t, uint32_t *pieces)
{
    static uint32_t hops[WORKERS_MAX][STI_PIECES_MAX];
    uint32_t sent[WORKERS_MAX] = {0}, most = 0;
    memset(hops, 0, sizeof hops);
    sti_effects out = {0};
    cr_assert_eq(sti_broadcast_begin(&t->run, t->dispatch, t->packed, &out),
                 STRADS_OK);
    *pieces = 1;
    for (size_t k = 0; k < out.n; k++) {
        const sti_msg msg = out.at[k].msg;
        const uint32_t to = msg.to - STI_WORKER_0;
        cr_assert(to < t->run.workers && !msg.partition == !t->packed);
        cr_assert_eq(hops[to][msg.slice], 0, "%u hears twice", to);
        hops[to][msg.slice] = 1;
        if (msg.from >= STI_WORKER_0) {
            sent[msg.from - STI_WORKER_0]++;
            hops[to][msg.slice] += hops[msg.from - STI_WORKER_0][msg.slice];
        }
        cr_assert_leq(hops[to][msg.slice], 4);
        *pieces = msg.partition ? msg.partition : 1;
        sti_broadcast_pass_on(&t->run, to, &msg, &out);
        sti_object_drop(msg.object);
    }
    for (uint32_t w = 0; w < t->run.workers; w++) {
        for (uint32_t i = 0; i < *pieces; i++)
            cr_assert_gt(hops[w][i], 0, "%u misses %u", w, i);
        most = sent[w] > most ? sent[w] : most;
    }
    out.n = 0; /* the messages were dropped above */
    sti_effects_free(&out);
    return (double)most / *pieces;
}

Test(role_tree, a_dispatch_reaches_every_node_once_whole_or_in_pieces)
{
    const uint32_t workers[] = {1,  2,   7,   8,    9,    16,  17,
                                37, 100, 257, 1000, 1024, 1111};
    for (uint32_t k = 0; k < sizeof workers / sizeof *workers; k++)
        for (uint32_t changed = 100; changed < 10000; changed *= 3) {
            broadcast t;
            uint32_t pieces;
            open_broadcast(&t, workers[k], changed);
            const double most = most_sent(&t, &pieces);
            cr_assert_eq(pieces > 1,
                         workers[k] >= STI_PIECES_FROM && changed > 200);
            cr_assert_leq(most, pieces >= 10 ? 5 : 18,
                          "%g of %u workers, %u pieces", most, workers[k],
                          pieces);
            close_broadcast(&t);
        }
}

Test(role_tree, workers_of_few_nodes_are_sent_it_whole)
{
    broadcast t;
    open_broadcast(&t, 64, 5000);
    cr_assert_not_null(t.packed);
    sti_object_drop(t.packed);
    for (uint32_t w = 0; w < 64; w++)
        t.node_of[w] = w * (STI_PIECES_FROM - 1) / 64;
    cr_assert_eq(sti_broadcast_pack(&t.run, t.dispatch, &t.packed), STRADS_OK);
    cr_assert_null(t.packed);
    close_broadcast(&t);
}
