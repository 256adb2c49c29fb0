/* engine/run/node_spread.h - assigns partitions to nodes by their speed. Pure
 * functions. engine/run/nodes.c calls them at the start of a membership epoch
 * and, during one, to check whether another spread would be worth a new
 * epoch. */
#ifndef STI_NODE_SPREAD_H
#define STI_NODE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sti_pace {
    uint32_t workers; /* workers of the node; 0: it has no partitions */
    uint32_t parts;   /* partitions of the node */
    uint64_t pace;    /* ns of computing for one partition in a second; 0:
                       * unknown, the median of the other nodes is used */
} sti_pace;

/* Moves partitions in nodes[].parts from slow to fast nodes while this shortens
 * the slowest node's round. Each worker keeps at least one. False: all moves
 * together would save less than a fifth, and nothing is moved. */
bool sti_node_spread(sti_pace *nodes, uint32_t n);

#endif
