/* engine/run/loop_nodes.h - a program's `run` on the partitions of several
 * nodes, with a store that is spread over them. */
#ifndef STI_LOOP_NODES_H
#define STI_LOOP_NODES_H

#include "engine/run/run_setup.h"
#include "engine/net/mesh.h"

typedef struct sti_loop_nodes_setup {
    sti_setup *setup;
    sti_mesh *mesh;
    uint32_t first, count; /* the partitions of this node; 0: shards alone */
    uint32_t with_loops;   /* nodes that have partitions */
    const char *journal;   /* of this node's shards; NULL: none */
    bool again;            /* this node was started again */
    sti_data_mark mark;
    /* Node 0, on the caller's thread. */
    void (*progress)(void *arg, const strads_progress *progress);
    void *arg;
} sti_loop_nodes_setup;

/* Runs this node's part: one thread a partition. *out is node 0's, and NULL on
 * the others. The first failure of any node is that of all. */
strads_err sti_loop_nodes_run(const sti_loop_nodes_setup *setup,
                              strads_result **out);

#endif
