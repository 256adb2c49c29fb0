/* engine/run/node_spread.h - which nodes have how many partitions, by how fast
 * they are. Pure; engine/run/nodes.c asks it at the start of a generation and,
 * while one runs, whether another one would be worth it. */
#ifndef STI_NODE_SPREAD_H
#define STI_NODE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sti_pace {
    uint32_t workers; /* of the node; 0: it has no partitions */
    uint32_t parts;   /* partitions that it has */
    uint64_t pace;    /* ns that one of them computes in a second; 0: not known,
                         and taken for the median of the others */
} sti_pace;

/* Moves partitions from nodes[].parts of slow nodes to quick ones, as long as
 * the slowest node's share becomes less work than it was; each worker keeps one.
 * False: all of it would not bring a fifth, and nothing is moved. */
bool sti_node_spread(sti_pace *nodes, uint32_t n);

#endif
