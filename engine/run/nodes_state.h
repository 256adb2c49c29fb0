/* engine/run/nodes_state.h - what the files of strads_engine share:
 * nodes_listen.c is node 0 until all are there, nodes_join.c the others,
 * nodes_run.c the run. */
#ifndef STI_NODES_STATE_H
#define STI_NODES_STATE_H

#include "engine/run/run_setup.h"
#include "engine/run/welcome_json.h"
#include "engine/net/mesh.h"

struct strads_engine {
    sti_mesh *mesh;                /* NULL after a run that failed */
    strads_engine_options options; /* a joined node: what it was told */
    bool joined;
    bool together;       /* all nodes have joined */
    bool ran;            /* once is enough */
    bool failed;         /* the others are to be told */
    sti_run_terms terms; /* config: the caller's on node 0 */
    sti_config_strings strings;
    uint32_t workers;  /* of all nodes */
    uint32_t *node_of; /* [workers] */
    uint32_t *hosts;   /* [n_hosts] nodes without workers */
    uint32_t n_hosts;
    const char *journal; /* of this node's shards, or NULL */
    bool again;          /* this node was started again */
};

/* ---- nodes_listen.c ---------------------------------------------------- */

strads_err sti_nodes_no_memory(void);
/* Who has which workers, and which nodes have none. STRADS_EINVAL: too few
 * partitions. STRADS_ENOMEM. */
strads_err sti_nodes_spread(strads_engine *engine);
/* Node 0: waits until all have joined, and tells them the terms. */
strads_err sti_nodes_gather(strads_engine *engine);

#endif
