/* The distribution of partitions over nodes, given each node's time for one, is
 * compared with all possible distributions. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/run/node_spread.h"

enum { NODES = 4 };

static double lap_of(const sti_pace *nodes, const uint32_t *parts, uint32_t n)
{
    double longest = 0;
    for (uint32_t k = 0; k < n; k++)
        if (nodes[k].workers) {
            const uint32_t w = nodes[k].workers;
            const double lap =
                (double)nodes[k].pace * (double)((parts[k] + w - 1) / w);
            longest = lap > longest ? lap : longest;
        }
    return longest;
}

static double shortest(const sti_pace *nodes, uint32_t *parts, uint32_t k,
                       uint32_t n, uint32_t left)
{
    if (k == n)
        return left ? 1e300 : lap_of(nodes, parts, n);
    double best = 1e300;
    for (uint32_t m = nodes[k].workers; m <= (nodes[k].workers ? left : 0);
         m++) {
        parts[k] = m;
        const double lap = shortest(nodes, parts, k + 1, n, left - m);
        best = lap < best ? lap : best;
    }
    return best;
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

Test(nodes_spread, none_is_shorter_by_much_than_the_one_that_is_found)
{
    uint64_t state = 5;
    unsigned moved = 0;
    for (unsigned trial = 0; trial < 3000; trial++) {
        const uint32_t n = 2 + draw(&state, NODES - 1);
        sti_pace nodes[NODES] = {{0}};
        uint32_t before[NODES], after[NODES], scratch[NODES], all = 0, sum = 0;
        for (uint32_t k = 0; k < n; k++) {
            nodes[k].workers =
                k && draw(&state, 5) == 0 ? 0 : 1 + draw(&state, 3);
            nodes[k].parts =
                nodes[k].workers ? nodes[k].workers + draw(&state, 4) : 0;
            nodes[k].pace = 100 + draw(&state, 900);
            before[k] = nodes[k].parts;
            all += nodes[k].parts;
        }
        const double was = lap_of(nodes, before, n);
        const double best = shortest(nodes, scratch, 0, n, all);
        const bool moves = sti_node_spread(nodes, n);
        for (uint32_t k = 0; k < n; k++) {
            after[k] = nodes[k].parts;
            sum += after[k];
            cr_assert(after[k] >= nodes[k].workers);
            cr_assert(nodes[k].workers || !after[k]);
            cr_assert(moves || after[k] == before[k]);
        }
        const double is = lap_of(nodes, after, n);
        cr_assert_eq(sum, all);
        cr_assert(!moves || is <= 0.8 * was);
        cr_assert(moves || best > 0.8 * was - 1e-9, "trial %u: %g, was %g",
                  trial, best, was);
        cr_assert(!moves || is <= best * (1 + 1e-9), "trial %u: %g, found %g",
                  trial, best, is);
        moved += moves;
    }
    cr_expect(moved > 300 && moved < 2700, "%u", moved);
}

Test(nodes_spread, a_new_node_counts_as_an_average_one)
{
    sti_pace nodes[] = {{1, 3, 100}, {1, 3, 400}, {1, 1, 0}};
    cr_assert(sti_node_spread(nodes, 3));
    cr_expect_eq(nodes[1].parts, 1);
    cr_expect_eq(nodes[0].parts + nodes[2].parts, 6);
    sti_pace strangers[] = {{1, 3, 0}, {1, 1, 0}};
    cr_expect(!sti_node_spread(strangers, 2), "nothing is known of any");
}
