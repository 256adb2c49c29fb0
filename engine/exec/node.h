/* engine/exec/node.h - one process's threads, and the roles on them.
 *
 * A node drives its roles: it turns messages and finished jobs into events, and
 * effects into messages and jobs. It has a thread for each of its workers.
 * Thread 0 is the caller's; only there the coordinator and the schedulers step
 * and run their jobs. A thread takes jobs of its own worker first, then of any
 * worker. Messages to other nodes are passed to `send`. Without other nodes
 * this is the local runtime, and with one thread it takes no lock. */
#ifndef STI_NODE_H
#define STI_NODE_H

#include "engine/base/trace.h"
#include "engine/round/roles.h"

typedef struct sti_node sti_node;

typedef struct sti_node_options {
    sti_run *run;
    uint32_t node; /* its number */
    uint32_t first_worker, threads;
    bool coordinates;
    sti_trace *trace;          /* or NULL */
    const volatile bool *stop; /* or NULL; checked at intervals */
    /* On the coordinating node, on the caller's thread. */
    void (*report)(void *arg, const strads_progress *progress);
    /* Sends a message to another node and takes over its reference. An error
     * ends the run. Called by any thread of the node, one at a time. */
    strads_err (*send)(void *arg, const sti_msg *msg);
    /* On any node but the coordinating one, on the caller's thread, when its
     * user has stopped it: asks the coordinating node to end the run. May block
     * for a moment. */
    void (*ask_stop)(void *arg);
    void *arg;
} sti_node_options;

strads_err sti_node_new(const sti_node_options *options, sti_node **out);
void sti_node_free(sti_node *node);

/* Runs until the run ends or fails; returns its error. Blocks. */
strads_err sti_node_run(sti_node *node);

/* Delivers a message from another node to a role of this one; takes over the
 * reference. Any thread, before, during and after the run. */
void sti_node_deliver(sti_node *node, const sti_msg *msg);

/* Ends the run with an error. Any thread. */
void sti_node_abort(sti_node *node, strads_err err, const char *text);

/* On the coordinating node: another node asks to end the run, as the stop flag
 * does. Any thread, at any time. */
void sti_node_stop(sti_node *node);

/* ns since the run began. Any thread, once it has begun. */
uint64_t sti_node_clock(const sti_node *node);

/* ns in callbacks, summed over the node's threads. Any thread. */
uint64_t sti_node_busy(const sti_node *node);

/* Progress with times; on the coordinating node, after the run. */
void sti_node_progress(const sti_node *node, strads_progress *out);
strads_end sti_node_end(const sti_node *node);

/* As sti_coordinator_position, on the coordinating node after the run. */
bool sti_node_position(const sti_node *node, sti_checkpoint_position *out);

#endif
