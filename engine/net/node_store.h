/* engine/net/node_store.h - a node's part of a store that is spread over
 * shards: the shards that live here, the node's client, and on node 0 a client
 * of the engine's own, which puts start values in and gets the model out.
 *
 * Where roles live is a function of the numbers of nodes and shards
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
    uint32_t first_worker, workers;  /* of this node; a partition is one */
    const strads_table_spec *tables; /* copied; the same on all nodes */
    uint32_t n_tables;
    sti_trace *trace; /* of shards' jobs, from zero_ns on; NULL: none */
    uint64_t zero_ns;
    /* To another node; takes over the reference. */
    strads_err (*send)(void *arg, const sti_msg *msg);
    /* Can a message of so many bytes be sent there without waiting? */
    bool (*has_capacity)(void *arg, sti_address to, uint64_t bytes);
    /* Something failed; the run is to end with that, and sti_node_store_abort
     * to be called. Any thread; must not call the store otherwise. */
    void (*failed)(void *arg, strads_err err, const char *text);
    void *arg;
} sti_node_store_setup;

/* Makes it and starts its thread. STRADS_EINVAL, STRADS_ELIMIT: a table's spec.
 * STRADS_ENOMEM, STRADS_EIO. */
strads_err sti_node_store_open(const sti_node_store_setup *setup,
                               sti_node_store **out);

/* Node `node` is lost, behind its last message: can the run do without it? That
 * is so where peers learn from each other (strads/peers.h) and none of its
 * shards was there. True: its workers have left. Any thread; does not block. */
bool sti_node_store_lose(sti_node_store *store, uint32_t node);

/* Stops the thread, and who drives shards: from now on nothing is sent but by
 * who calls. */
void sti_node_store_stop(sti_node_store *store);

/* Stops and frees; when nobody calls and nothing is delivered any more. NULL is
 * fine. */
void sti_node_store_close(sti_node_store *store);

/* A message from another node, for a shard or a client of this one; takes over
 * the reference. Any thread; does not block. */
void sti_node_store_deliver(sti_node_store *store, const sti_msg *msg);

/* Ends every call that waits, and those to come, with this error. Any thread;
 * does not block. */
void sti_node_store_abort(sti_node_store *store, strads_err err,
                          const char *text);

/* A session of one of this node's workers, at clock 0. STRADS_ENOMEM. */
strads_err sti_node_store_session(sti_node_store *store, uint32_t worker,
                                  strads_session **out);

/* Waits until the shards have all that this node's workers have pushed. */
strads_err sti_node_store_settle(sti_node_store *store);

/* Node 0: adds what is in the tables of `from` to those of the shards, which
 * have it when this returns. Once, before any worker's clock ends. */
strads_err sti_node_store_put(sti_node_store *store, const strads_store *from);

/* Node 0, after sti_node_store_put: n rows as the shards hold them now. */
strads_err sti_node_store_get(sti_node_store *store, uint32_t table, uint32_t n,
                              const uint32_t *rows, void *out);

#endif
