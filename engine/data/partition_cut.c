/* Cuts lines into partitions, the same way in every process: the result depends
 * on the counts alone. */
#include "engine/data/partition_cut.h"

#include <stddef.h>

/* all x p / parts without overflow. */
static uint64_t fraction(uint64_t all, uint32_t p, uint32_t parts)
{
    return (uint64_t)((unsigned __int128)all * p / parts);
}

static uint64_t sum_of(const uint32_t *nnz, uint64_t lines)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < lines; k++)
        sum += nnz[k];
    return sum;
}

void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds)
{
    uint64_t all = nnz != NULL ? sum_of(nnz, lines) : 0;
    bounds[0] = 0;
    bounds[parts] = lines;
    if (all == 0) {
        for (uint32_t p = 1; p < parts; p++)
            bounds[p] = fraction(lines, p, parts);
        return;
    }
    uint64_t line = 0;
    uint64_t before = 0; /* entries of the lines before `line` */
    for (uint32_t p = 1; p < parts; p++) {
        uint64_t target = fraction(all, p, parts);
        while (line < lines && before + nnz[line] <= target)
            before += nnz[line++];
        /* The target lies within `line`: take it if most of it fits. */
        uint64_t over = line < lines ? before + nnz[line] - target : 0;
        if (line < lines && over < target - before)
            before += nnz[line++];
        bounds[p] = line;
    }
}
