/* Numbers alone. Child r begins S(r, levels) after its parent: so many are the
 * parent and the children before it. */
#include "engine/role/tree.h"

enum { LEVELS = 3, FEW_CHILDREN = 8 };

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

sti_tree sti_tree_of_dispatches(uint32_t workers)
{
    uint32_t levels = 1;
    while (levels < LEVELS && reach(FEW_CHILDREN, levels) < workers)
        levels++;
    return (sti_tree){.n = workers, .levels = levels};
}

sti_place sti_tree_find(const sti_tree *tree, uint32_t index)
{
    sti_place place = {.levels = tree->levels};
    uint64_t at = 0, end = tree->n;
    while (at != index) {
        uint32_t rank = 0;
        while (at + reach(rank + UINT64_C(1), place.levels) <= index)
            rank++;
        uint64_t next = at + reach(rank + UINT64_C(1), place.levels);
        end = next < end ? next : end;
        place.parent = (uint32_t)at;
        place.rank = rank;
        at += reach(rank, place.levels);
        place.levels--;
    }
    while (place.levels > 0 && at + reach(place.n_children, place.levels) < end)
        place.n_children++;
    return place;
}

uint32_t sti_tree_child(uint32_t index, const sti_place *place, uint32_t rank)
{
    return index + (uint32_t)reach(rank, place->levels);
}
