/* engine/run/loop_nodes_state.h - what the files of loops on several nodes
 * share: loop_nodes.c is a node's part, loop_nodes_drive.c its caller's thread,
 * loop_nodes_note.c what nodes tell each other. */
#ifndef STI_LOOP_NODES_STATE_H
#define STI_LOOP_NODES_STATE_H

#include "engine/run/loop_nodes.h"
#include "engine/run/loop_state.h"
#include "engine/net/node_store.h"

/* Another node, as node 0 knows it. */
typedef struct sti_other_node {
    bool reported; /* not told yet: */
    strads_report report;
    bool done;
    sti_loop_times times;
} sti_other_node;

struct sti_loop_nodes {
    const sti_loop_nodes_setup *setup;
    sti_loops all;
    uint32_t node, n_nodes;
    sti_node_store *store;
    /* Guarded by all.lock; `all.moved` when they change. */
    sti_other_node *others; /* [n_nodes]; node 0's */
    uint32_t n_others;      /* that have loops */
    uint32_t n_done;
    bool went, closed;      /* node 0: GO, CLOSE are said */
    bool may_go, may_leave; /* another node: GO, CLOSE have come */
    bool handed_over;       /* its report is with node 0 */
    strads_err err;         /* the first failure */
    char text[1024];
    bool is_own;       /* it was here, and */
    bool said_failure; /* the others know it */
};

/* ---- loop_nodes_note.c ------------------------------------------------- */

/* Records a failure, the first one; `is_own`: it was here. */
void sti_loop_nodes_note(struct sti_loop_nodes *nodes, strads_err err,
                         const char *text, bool is_own);
/* What was recorded, as this thread's error; STRADS_OK. */
strads_err sti_loop_nodes_failure(struct sti_loop_nodes *nodes);

strads_err sti_loop_nodes_send(void *nodes, const sti_msg *msg);
void sti_loop_nodes_say(struct sti_loop_nodes *nodes, sti_address to,
                        const sti_loop_note *note);
void sti_loop_nodes_say_all(struct sti_loop_nodes *nodes, sti_loop_word word);

/* Of the mesh's host: messages, and a node that was started again. */
void sti_loop_nodes_deliver(void *nodes, const sti_msg *msg);
void sti_loop_nodes_say_again(void *nodes, uint32_t node);

/* ---- loop_nodes_drive.c ------------------------------------------------ */

/* Waits until it is true, or something has failed. */
strads_err sti_loop_nodes_wait(struct sti_loop_nodes *nodes, const bool *flag);
/* Runs the loops of this node, until the shards have all of their pushes. */
strads_err sti_loop_nodes_drive(struct sti_loop_nodes *nodes);

#endif
