/* The trees of dispatches and partials: everybody is reached once, nobody is
 * far away or has many children, and the order of numbers is kept. */
#include <criterion/criterion.h>
#include <stdlib.h>

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
        check(sti_tree_of_partials(sizes[k]));
        check(sti_tree_of_dispatches(sizes[k]));
        check(sti_tree_of_pieces(sizes[k]));
    }
}

/* Numbers in the order in which a depth-first walk meets them, children in
 * order: what CONCAT relies on. */
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
        sti_tree tree = sti_tree_of_partials(sizes[k]);
        cr_assert_eq(walk(&tree, 0), sizes[k]);
    }
}

Test(role_tree, up_to_eight_partials_climb_a_binomial_tree)
{
    for (uint32_t n = 1; n <= 8; n++)
        for (uint32_t p = 1; p < n; p++) {
            sti_tree tree = sti_tree_of_partials(n);
            cr_assert_eq(sti_tree_find(&tree, p).parent, p & (p - 1));
        }
}

/* Largest number of children in a tree. */
static uint32_t widest(sti_tree tree)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < tree.n; k++) {
        uint32_t n = sti_tree_find(&tree, k).n_children;
        most = n > most ? n : most;
    }
    return most;
}

/* The coordinator's sum: heads in their order, each of a stretch of partitions
 * that begins where the one before it ends. */
Test(role_tree, partials_reach_the_coordinator_in_order)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        const uint32_t n = sizes[k];
        uint32_t head = 0, heads = 0, deepest = 0;
        for (uint32_t p = 0; p < n; p++) {
            uint32_t hops = 1, at = p;
            sti_place place = sti_tree_climb(n, p);
            if (place.parent == p) {
                cr_assert_eq(n > 16 ? place.rank : 0, heads);
                head = p;
                heads++;
            }
            for (; place.parent != at; hops++) {
                at = place.parent;
                place = sti_tree_climb(n, at);
            }
            cr_assert_eq(at, head, "%u of %u goes to %u", p, n, at);
            deepest = hops > deepest ? hops : deepest;
        }
        cr_assert_eq(heads, sti_tree_heads(n));
        cr_assert_eq(heads == 1, n <= 16);
        cr_assert_leq(deepest, n <= 16 ? 4 : 3);
    }
}

Test(role_tree, nobody_has_many_children)
{
    cr_assert_eq(widest(sti_tree_of_partials(8)), 3);
    cr_assert_eq(widest(sti_tree_of_partials(64)), 7);
    cr_assert_eq(widest(sti_tree_of_partials(1024)), 19);
    cr_assert_eq(widest(sti_tree_of_dispatches(9)), 8);
    cr_assert_eq(widest(sti_tree_of_dispatches(37)), 8);
    cr_assert_eq(widest(sti_tree_of_dispatches(64)), 7);
    cr_assert_eq(widest(sti_tree_of_dispatches(1024)), 19);
}

Test(role_tree, a_parent_depends_on_the_number_alone)
{
    sti_tree small = sti_tree_of_partials(600);
    sti_tree large = sti_tree_of_partials(65536);
    for (uint32_t p = 1; p < 600; p++)
        cr_assert_eq(sti_tree_find(&small, p).parent,
                     sti_tree_find(&large, p).parent);
}
