/* Greedy: moves one partition at a time from the slowest node to the node that
 * finishes it first. */
#include "engine/run/node_spread.h"

#include <stdlib.h>

static const double WORTH =
    0.8; /* A new spread has to save a fifth of the time, because reading data
          * again costs time. */

/* Time of a node's round: its busiest worker's partitions times the pace. */
static double round_time(const sti_pace *node, uint32_t parts, double usual)
{
    if (!node->workers)
        return 0;
    const uint32_t turns = (parts + node->workers - 1) / node->workers;
    return (node->pace ? (double)node->pace : usual) * turns;
}

static int compare_paces(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The median of the known paces, or 0. */
static double median_pace(const sti_pace *nodes, uint32_t n)
{
    uint32_t known = 0;
    uint64_t *pace = calloc(n, sizeof *pace);
    for (uint32_t k = 0; pace && k < n; k++)
        if (nodes[k].workers && nodes[k].pace)
            pace[known++] = nodes[k].pace;
    if (known)
        qsort(pace, known, sizeof *pace, compare_paces);
    const double middle = known ? (double)pace[known / 2] : 0;
    free(pace);
    return middle;
}

static uint32_t find_slowest(const sti_pace *nodes, const uint32_t *parts,
                             uint32_t n, double usual)
{
    uint32_t most = 0;
    for (uint32_t k = 1; k < n; k++)
        if (round_time(&nodes[k], parts[k], usual) >
            round_time(&nodes[most], parts[most], usual))
            most = k;
    return most;
}

/* The node that would finish one more partition first; n if all
 * other nodes lack workers. */
static uint32_t find_quickest(const sti_pace *nodes, const uint32_t *parts,
                              uint32_t n, uint32_t but, double usual)
{
    uint32_t least = n;
    for (uint32_t k = 0; k < n; k++)
        if (k != but && nodes[k].workers &&
            (least == n ||
             round_time(&nodes[k], parts[k] + 1, usual) <
                 round_time(&nodes[least], parts[least] + 1, usual)))
            least = k;
    return least;
}

/* A round may only get shorter after several partitions have moved, so keep the
 * best spread on the way. */
static double improve_spread(const sti_pace *nodes, uint32_t *parts,
                             uint32_t *best, uint32_t n, double usual)
{
    uint32_t from = find_slowest(nodes, parts, n, usual);
    double lap = round_time(&nodes[from], parts[from], usual);
    for (;;) {
        const uint32_t to = find_quickest(nodes, parts, n, from, usual);
        if (to == n || parts[from] <= nodes[from].workers ||
            round_time(&nodes[to], parts[to] + 1, usual) >= lap)
            return lap;
        parts[from]--;
        parts[to]++;
        const uint32_t next = find_slowest(nodes, parts, n, usual);
        const double now = round_time(&nodes[next], parts[next], usual);
        if (now < lap) {
            lap = now;
            from = next;
            for (uint32_t k = 0; k < n; k++)
                best[k] = parts[k];
        }
    }
}

bool sti_node_spread(sti_pace *nodes, uint32_t n)
{
    const double usual = median_pace(nodes, n);
    uint32_t *parts = calloc(2 * (size_t)n, sizeof *parts);
    if (!parts || usual <= 0) {
        free(parts);
        return false;
    }
    uint32_t *best = parts + n;
    for (uint32_t k = 0; k < n; k++)
        parts[k] = best[k] = nodes[k].parts;
    const uint32_t first = find_slowest(nodes, parts, n, usual);
    const double before = round_time(&nodes[first], parts[first], usual);
    const bool worth =
        improve_spread(nodes, parts, best, n, usual) <= WORTH * before;
    for (uint32_t k = 0; worth && k < n; k++)
        nodes[k].parts = best[k];
    free(parts);
    return worth;
}
