/* engine/net/mesh.h - the nodes of a run and the links between all of them.
 *
 * Join phase: node 0 listens. The other nodes dial it and send HELLO. Node 0
 * numbers them in order of arrival and sends each a WELCOME with all URLs. Node
 * i then dials nodes 1 .. i - 1. When a node has all its links and its share of
 * the data, it sends READY. After all nodes have sent READY, messages flow;
 * each goes directly to the node that hosts the receiver. When a node's roles
 * have ended, it sends DONE and may leave. */
#ifndef STI_MESH_H
#define STI_MESH_H

#include "engine/base/cursor.h"
#include "engine/net/link.h"
#include "engine/exec/node.h"
#include "strads/engine.h"
#include "strads/version.h"

typedef struct sti_mesh sti_mesh;

/* A run that survives the loss of a node has generations, that is, membership
 * epochs. Each generation has its own mesh with new links, so that no frame of
 * one generation is received in another. In a generation with a number, the
 * loss of a node is STRADS_EREGROUP instead of STRADS_EPEER. */
typedef struct sti_mesh_options {
    const char *url; /* where it listens; NULL, of a node that joins: on the
                        interface that reaches node 0 */
    const char *advertise;  /* NULL, or the URL at which other nodes reach this
                              one, if that is not `url` */
    const sti_trust *trust; /* or NULL */
    const volatile bool *stop; /* or NULL; ends every wait with
                                  STRADS_ECANCELED */
    double window; /* seconds in which a broken link must be restored; 0: 10 */

    /* Node 0. */
    bool takes_shards;   /* nodes without workers may join */
    uint32_t generation; /* 1, 2, ..; 0: the run has none */
    bool misses;         /* nodes of earlier generations are missing */
    uint32_t workers;    /* most workers of the others in total; 0: any */
    /* A node with so many workers wants to join a generation that has begun; it
     * was asked to retry. */
    void (*late)(void *arg, uint32_t workers);
    /* A node's pace, once a second; also called for node 0. */
    void (*paced)(void *arg, uint32_t node, uint64_t pace);

    /* Another node. */
    bool outlives; /* continues after the loss of node 0 */
    /* Checks, while the node joins, whether it has the run's program. An error
     * ends the join with this error, before node 0 counts the node. NULL: any
     * program is accepted. */
    strads_err (*accepts)(void *arg, const char *program);

    /* Only in a run with generations, called once a second: the computing time
     * of a partition of this node in ns per second of the generation; 0: not
     * known yet. NULL: not known. */
    uint64_t (*pace)(void *arg);
    /* All callbacks except `accepts` are called while a host is attached, with
     * a lock of the mesh held. */
    void *arg;
} sti_mesh_options;

/* Opens this process's end. STRADS_EINVAL: `advertise` cannot be dialled, or
 * there is no `url`. Other errors as sti_net_open. */
strads_err sti_mesh_open(const sti_mesh_options *options, sti_mesh **out);

/* Closes all links gracefully, so that everything sent is read, and frees the
 * mesh. If `failed` is not STRADS_OK, it first reports to the other nodes that
 * the run has failed, or with STRADS_EREGROUP that this generation has; the
 * sentence is the thread's error text. NULL is allowed. */
void sti_mesh_close(sti_mesh *mesh, strads_err failed);

/* Another node, after node 0 has sent the value: sets the time in which a
 * broken link must be restored; 0: broken links are not restored. */
void sti_mesh_set_window(sti_mesh *mesh, double seconds);
/* Returns the number of other nodes that are linked, or that will join the next
 * generation. */
uint32_t sti_mesh_others(sti_mesh *mesh);
/* Whether a failure of the run is known. */
bool sti_mesh_failed(sti_mesh *mesh);
/* Whether another node has asked for the end of the run. */
bool sti_mesh_stop_was_asked(sti_mesh *mesh);

/* Returns the URL that this node listens on, with the actual port. */
const char *sti_mesh_own_url(const sti_mesh *mesh);
/* Returns the URL at which other nodes reach this one: `advertise` or the
 * above. */
const char *sti_mesh_url(const sti_mesh *mesh);

/* Node 0: waits until nodes - 1 others have joined. A node of another version,
 * one that joins twice, and one that comes too late are refused and not
 * counted. If a node leaves meanwhile, for example because it does not have
 * `program`, its number goes to the next node. After the return no node may
 * leave. STRADS_EIO: nodes are missing after `wait_ns` (UINT64_MAX: no limit);
 * the *joined nodes that had come are asked to join again. With nodes = 1 it
 * does not wait. */
strads_err sti_mesh_gather(sti_mesh *mesh, uint32_t nodes, const char *program,
                           uint64_t wait_ns, uint32_t *joined);

/* Return the worker threads of another node and its pace, from its HELLO. */
uint32_t sti_mesh_workers(const sti_mesh *mesh, uint32_t node);
uint64_t sti_mesh_pace(const sti_mesh *mesh, uint32_t node);

/* Node 0: sends every other node a WELCOME with the run's options (JSON). */
strads_err sti_mesh_welcome(sti_mesh *mesh, const char *options, uint64_t seed);

/* Contents of a WELCOME. */
typedef struct sti_mesh_terms {
    char *options; /* the caller frees it */
    uint64_t seed;
} sti_mesh_terms;

/* Another node: joins the run at `url` with so many workers and links to all
 * other nodes. `pace` is that of the previous generation; 0: none. After its
 * HELLO was answered, it waits as long as node 0 waits for other nodes.
 * STRADS_EMISMATCH and other errors: node 0 refuses this node. STRADS_EREGROUP:
 * join again in a moment, with a new mesh. STRADS_EIO: no answer within
 * `timeout_ns`. */
strads_err sti_mesh_join(sti_mesh *mesh, const char *url, uint32_t workers,
                         uint64_t pace, uint64_t timeout_ns,
                         sti_mesh_terms *terms);

uint32_t sti_mesh_node(const sti_mesh *mesh);
uint32_t sti_mesh_nodes(const sti_mesh *mesh);

/* Receives the messages of other nodes. Any thread calls it, except `clock`. */
typedef struct sti_mesh_host {
    void (*deliver)(void *arg, const sti_msg *msg); /* takes the reference */
    void (*abort)(void *arg, strads_err err, const char *text);
    uint64_t (*clock)(const void *arg); /* ns, for the trace */
    /* Node 0: the user of another node wants the run to end. A lock of the mesh
     * is held. */
    void (*stop)(void *arg);
    /* Another node is lost; its last message was delivered before. True: the
     * run continues without it, and messages to it may be dropped. A lock of
     * the mesh is held. NULL: no node may be lost. */
    bool (*lost)(void *arg, uint32_t node);
    void *arg;
} sti_mesh_host;

/* From now on messages go to `host`, decoded by `run`'s sizes, and transfers
 * are recorded on the trace (or NULL). If a failure is known already, it aborts
 * `host` at once. */
void sti_mesh_attach(sti_mesh *mesh, const sti_run *run,
                     const sti_mesh_host *host, sti_trace *trace);
/* From now on messages are dropped. Waits for deliveries in progress. Call it
 * before the host is freed and the trace is closed. */
void sti_mesh_detach(sti_mesh *mesh);

/* One exchange after the WELCOMEs; all nodes perform the same exchanges in the
 * same order. The other nodes send with `give`. Node 0 reads each with `take`,
 * in any order, calls `settle`, and answers with `tell`, which the others read
 * with `hear`. All callbacks run on the caller's thread. */
typedef struct sti_exchange {
    const char *what; /* for sentences */
    bool ready;       /* the last exchange, READY, which has no answer */
    void (*give)(void *arg, sti_writer *w);
    strads_err (*take)(void *arg, uint32_t node, sti_reader *r);
    strads_err (*settle)(void *arg); /* after the last `take`; may be NULL */
    void (*tell)(void *arg, sti_writer *w);
    strads_err (*hear)(void *arg, sti_reader *r);
    void *arg;
} sti_exchange;

/* Performs an exchange. Node 0 waits for all nodes, the others for its answer.
 * If another node has failed, its error is returned. STRADS_EMISMATCH: one node
 * has read the data itself, the other one holds a part of it. */
strads_err sti_mesh_agree(sti_mesh *mesh, const sti_exchange *exchange);

/* Properties of the data that must be equal on all nodes. */
typedef struct sti_data_mark {
    uint64_t rows, cols, nnz, checksum;
    uint64_t value_bytes; /* 4 or 8; 0: this node keeps no values */
} sti_data_mark;

/* After attach: sends READY; node 0 waits until all nodes are ready.
 * STRADS_EMISMATCH: a node has other data; it receives the same error.
 * Otherwise errors as sti_mesh_agree. */
strads_err sti_mesh_ready(sti_mesh *mesh, const sti_data_mark *mark);

/* Sends a message to the node that hosts the receiver; takes over its
 * reference. Any thread. */
strads_err sti_mesh_send(sti_mesh *mesh, const sti_msg *msg);

/* Whether a message of so many bytes can be sent without waiting. Half of a
 * retransmit queue is reserved for threads that may wait. Any thread. */
bool sti_mesh_has_capacity(sti_mesh *mesh, sti_address to, uint64_t bytes);

/* Another node: asks node 0 to end the run with its present result. Waits a
 * second at most and reports no error. Any thread. */
void sti_mesh_ask_stop(sti_mesh *mesh);

/* Reports to all other nodes that the run has failed. Any thread; does not
 * wait. */
void sti_mesh_report_failed(sti_mesh *mesh, strads_err err, const char *text);

/* Sends DONE to all other nodes, after this node's part of the run has ended
 * well: it may then leave. If a node leaves without DONE, the run fails on all
 * nodes that have not finished. Waits while a link's queue is full. */
void sti_mesh_report_done(sti_mesh *mesh);

/* Another node, after sti_mesh_report_done: waits until node 0 closes its mesh,
 * which it does when its result is safe. STRADS_EREGROUP: node 0 was lost
 * before. STRADS_OK also if the user stops this node. */
strads_err sti_mesh_await_goodbye(sti_mesh *mesh);

/* Returns the bytes sent and received over all links so far. */
void sti_mesh_count(const sti_mesh *mesh, uint64_t *sent, uint64_t *received);

/* Fills in the state of each node: out[sti_mesh_nodes(mesh)]. The mesh owns the
 * URLs. */
void sti_mesh_states(sti_mesh *mesh, strads_node_state *out);

#endif
