/* engine/net/node_store.h - a node's part of a distributed store: its shards,
 * its client, and on node 0 the engine's client, which writes start values and
 * reads the model.
 *
 * The placement of roles depends only on the numbers of nodes and shards
 * (sti_run_node_of). */
#ifndef STI_NODE_STORE_H
#define STI_NODE_STORE_H

#include "engine/base/trace.h"
#include "engine/round/run_context.h"
#include "strads/store.h"

typedef struct sti_node_store sti_node_store;

typedef struct sti_node_store_setup {
    const sti_run *run;              /* its nodes, shards, partitions */
    uint32_t node;                   /* this one's number */
    uint32_t first_worker, workers;  /* of this node; one for each partition */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    sti_trace *trace; /* for the shards' work; its time 0 is zero_ns; or NULL */
    uint64_t zero_ns;
    /* Sends to another node; takes over the reference. */
    strads_err (*send)(void *arg, const sti_msg *msg);
    /* Whether a message of so many bytes can be sent without waiting. */
    bool (*has_capacity)(void *arg, sti_address to, uint64_t bytes);
    /* The store has failed. The callee ends the run with this error and calls
     * sti_node_store_abort, but no other function of the store. Any thread. */
    void (*failed)(void *arg, strads_err err, const char *text);
    void *arg;
} sti_node_store_setup;

/* Makes the store and starts its thread. STRADS_EINVAL, STRADS_ELIMIT: a
 * table's spec. STRADS_ENOMEM. STRADS_EIO: the thread cannot be started. */
strads_err sti_node_store_open(const sti_node_store_setup *setup,
                               sti_node_store **out);

/* Node `node` is lost; its last message was delivered before. Returns whether
 * the run can continue without it: the program uses peers (strads/peers.h), and
 * the node had no shard. Its workers are then treated as having left. Any
 * thread; does not block. */
bool sti_node_store_lose(sti_node_store *store, uint32_t node);

/* Stops the store's thread and the processing of shards. From now on only calls
 * of workers send messages. */
void sti_node_store_stop(sti_node_store *store);

/* Stops and frees the store. Requires that no call is in progress and that no
 * message is delivered any more. NULL is allowed. */
void sti_node_store_close(sti_node_store *store);

/* Delivers a message of another node to a shard or client of this one; takes
 * over the reference. Any thread; does not block. */
void sti_node_store_deliver(sti_node_store *store, const sti_msg *msg);

/* Ends all waiting and later calls with this error. Any thread; does not
 * block. */
void sti_node_store_abort(sti_node_store *store, strads_err err,
                          const char *text);

/* Opens the session of one of this node's workers, at clock 0.
 * STRADS_ENOMEM. */
strads_err sti_node_store_session(sti_node_store *store, uint32_t worker,
                                  strads_session **out);

/* Waits until the shards have acknowledged all pushes of this node's
 * workers. */
strads_err sti_node_store_settle(sti_node_store *store);

/* Node 0: adds the values in the tables of `from` to the distributed tables,
 * and waits until the shards have them. Call once, before any worker's clock
 * ends. */
strads_err sti_node_store_put(sti_node_store *store, const strads_store *from);

/* Node 0, after sti_node_store_put: reads n rows as the shards hold them
 * now. */
strads_err sti_node_store_get(sti_node_store *store, uint32_t table, uint32_t n,
                              const uint32_t *rows, void *out);

#endif
