/* Numbers alone. Child r begins S(r, levels) after its parent: so many are the
 * parent and the children before it. */
#include "engine/round/tree.h"

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
typedef struct stretch {
    uint64_t s[LEVELS + 1];
} stretch;

/* S(r + 1, d) = S(r, d) + S(r, d - 1), as binomials do. */
static void next_child(stretch *of)
{
    for (uint32_t d = LEVELS; d > 0; d--)
        of->s[d] += of->s[d - 1];
}

sti_place sti_tree_find(const sti_tree *tree, uint32_t index)
{
    static const stretch first = {{1, 1, 1, 1}};
    sti_place place = {.levels = tree->levels};
    uint64_t at = 0, end = tree->n;
    while (at != index) {
        stretch next = first;
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
    stretch child = first;
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
