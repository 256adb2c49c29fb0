/* engine/net/mesh.h - the nodes of a run and the links between all of them.
 *
 * Coming together: node 0 listens; the others dial it with HELLO, get numbers
 * in the order in which they came, and with WELCOME hear where everybody
 * listens; node i then dials 1 .. i - 1. When a node has all its links and its
 * share of the data, it says READY; when all have, messages may flow, each
 * straight to the node that hosts the receiver. When a node's roles have ended
 * it says DONE, and may leave. */
#ifndef STI_MESH_H
#define STI_MESH_H

#include "engine/base/cursor.h"
#include "engine/net/link.h"
#include "engine/exec/node.h"
#include "strads/engine.h"
#include "strads/version.h"

typedef struct sti_mesh sti_mesh;

/* A run that goes on without a node that is lost has generations, and each of
 * them a mesh of its own, whose links are dialled anew: so nothing that was
 * sent in one is read in another. In one that has a number, losing a node is
 * STRADS_EREGROUP instead of STRADS_EPEER. */
typedef struct sti_mesh_options {
    const char *url; /* where it listens; NULL, of a node that joins: on the
                        interface that reaches node 0, when it does */
    const sti_trust *trust;    /* or NULL */
    const volatile bool *stop; /* or NULL; ends every wait with
                                  STRADS_ECANCELED */
    double window; /* seconds that a broken link may stay so; 0: 10 */

    /* Node 0. */
    bool takes_shards;   /* nodes without workers may join */
    uint32_t generation; /* 1, 2, ..; 0: the run has none */
    bool misses;         /* nodes of earlier generations are missing */
    uint32_t workers;    /* the others may have that many together; 0: any */
    /* One with so many workers wants to join, and has been told to come
     * again. */
    void (*late)(void *arg, uint32_t workers);
    /* A node's pace, each second, its own too. */
    void (*paced)(void *arg, uint32_t node, uint64_t pace);

    /* Another node. */
    bool outlives; /* it can do without node 0 */
    /* Is asked, while it joins, whether it has the run's program. What this
     * returns other than STRADS_OK ends the joining with that, before this node
     * counts: the run goes on without it. NULL: it has any. */
    strads_err (*accepts)(void *arg, const char *program);

    /* Of a run with generations, asked each second: how long a partition of
     * this node computes, in ns for each second of the generation; 0: too early
     * to say. NULL: that is not known. */
    uint64_t (*pace)(void *arg);
    /* All but `accepts` are called while a host is attached, with a lock of the
     * mesh held. */
    void *arg;
} sti_mesh_options;

/* Opens this process's end. Errors as sti_net_open. */
strads_err sti_mesh_open(const sti_mesh_options *options, sti_mesh **out);

/* Says goodbye to all, waiting until what was sent has been read, and frees;
 * unless `failed` is STRADS_OK the others are told first that the run, or with
 * STRADS_EREGROUP this generation of it, has failed with the thread's error
 * text. NULL is fine. */
void sti_mesh_close(sti_mesh *mesh, strads_err failed);

/* Another node, when node 0 has told: the window of its links; 0: none. */
void sti_mesh_set_window(sti_mesh *mesh, double seconds);
/* How many others are there now, or come to the next generation. */
uint32_t sti_mesh_others(sti_mesh *mesh);
/* Whether another node has said that the run has failed. */
bool sti_mesh_failed(sti_mesh *mesh);
/* Whether another node has asked for the end of the run. */
bool sti_mesh_stop_was_asked(sti_mesh *mesh);

/* The URL that this node listens on, with the real port. */
const char *sti_mesh_url(const sti_mesh *mesh);

/* Node 0: waits until nodes - 1 others have joined. One that is of another
 * version, comes twice or too late is told so and not counted; the place of one
 * that leaves meanwhile goes to the next: so does one that hears that the run
 * is of `program` and does not have it. From then on nobody may leave.
 * STRADS_EIO: `wait_ns` (UINT64_MAX: any time) was not enough; who was there,
 * *joined of them, is told to join again. A node that is alone waits for
 * nobody. */
strads_err sti_mesh_gather(sti_mesh *mesh, uint32_t nodes, const char *program,
                           uint64_t wait_ns, uint32_t *joined);

/* Worker threads of a node, and its pace, as its HELLO said; node 0's are not
 * known here. */
uint32_t sti_mesh_workers(const sti_mesh *mesh, uint32_t node);
uint64_t sti_mesh_pace(const sti_mesh *mesh, uint32_t node);

/* Node 0: welcomes all, with the run's options (JSON). */
strads_err sti_mesh_welcome(sti_mesh *mesh, const char *options, uint64_t seed);

/* What node 0 tells in its WELCOME. */
typedef struct sti_mesh_terms {
    char *options; /* the caller's to free */
    uint64_t seed;
} sti_mesh_terms;

/* Another node: joins the run at `url` with so many workers, at the pace that
 * it had in the generation before, 0: in none, and links up with all others;
 * waits as long as node 0 waits for them. STRADS_EMISMATCH, or what else the
 * coordinator says; STRADS_EREGROUP: to come again in a moment, on a new mesh;
 * STRADS_EIO: nobody answers for `timeout_ns`. */
strads_err sti_mesh_join(sti_mesh *mesh, const char *url, uint32_t workers,
                         uint64_t pace, uint64_t timeout_ns,
                         sti_mesh_terms *terms);

uint32_t sti_mesh_node(const sti_mesh *mesh);
uint32_t sti_mesh_nodes(const sti_mesh *mesh);

/* What messages of other nodes go to. Any thread, but for `clock`. */
typedef struct sti_mesh_host {
    void (*deliver)(void *arg, const sti_msg *msg); /* takes the reference */
    void (*abort)(void *arg, strads_err err, const char *text);
    uint64_t (*clock)(const void *arg); /* ns, for the trace */
    /* Node 0: the user of another one wants the run to end. With a lock of the
     * mesh held. */
    void (*stop)(void *arg);
    /* Another node is lost, behind its last message. True: the run goes on
     * without it, and nothing that is sent there is missed. With a lock of the
     * mesh held. May be NULL: none can. */
    bool (*lost)(void *arg, uint32_t node);
    void *arg;
} sti_mesh_host;

/* From now on messages go to `host`, decoded by `run`'s sizes, and transfers
 * are put on the trace (or NULL). A failure that was told before ends `host`
 * at once. */
void sti_mesh_attach(sti_mesh *mesh, const sti_run *run,
                     const sti_mesh_host *host, sti_trace *trace);
/* And from now on they are dropped: before the host is freed and the trace
 * closed. Waits for those on their way. */
void sti_mesh_detach(sti_mesh *mesh);

/* One step of agreeing on something, by all nodes in the same order, after the
 * WELCOMEs: each gives, node 0 takes what the others give, in any order, then
 * tells, and they hear. All on the caller's thread. */
typedef struct sti_exchange {
    const char *what; /* for sentences */
    bool ready;       /* the last one, READY: nobody is told anything */
    void (*give)(void *arg, sti_writer *w);
    strads_err (*take)(void *arg, uint32_t node, sti_reader *r);
    strads_err (*settle)(void *arg); /* when all have given; may be NULL */
    void (*tell)(void *arg, sti_writer *w);
    strads_err (*hear)(void *arg, sti_reader *r);
    void *arg;
} sti_exchange;

/* Waits for all. An error is what another node has failed with, when that is
 * known. STRADS_EMISMATCH: another one is ready without it. */
strads_err sti_mesh_agree(sti_mesh *mesh, const sti_exchange *exchange);

/* What all nodes must have the same of. */
typedef struct sti_data_mark {
    uint64_t rows, cols, nnz, checksum;
    uint64_t value_bytes; /* 4 or 8; 0: this node keeps no values */
} sti_data_mark;

/* After attach: this node is ready. Node 0 waits until all are.
 * STRADS_EMISMATCH: one has other data; it is told, too. Otherwise errors as
 * sti_mesh_agree. */
strads_err sti_mesh_ready(sti_mesh *mesh, const sti_data_mark *mark);

/* Sends a message to the node that hosts the receiver; takes over its
 * reference. Any thread. */
strads_err sti_mesh_send(sti_mesh *mesh, const sti_msg *msg);

/* Would a message of so many bytes leave without waiting? Half of what is kept
 * for a node is left to those who may wait. Any thread. */
bool sti_mesh_has_capacity(sti_mesh *mesh, sti_address to, uint64_t bytes);

/* Another node: asks node 0 to end the run with what there is. Waits for a
 * second at most; that it is lost shows elsewhere. Any thread. */
void sti_mesh_ask_stop(sti_mesh *mesh);

/* Tells all others at once that the run has failed. Any thread. */
void sti_mesh_say_failed(sti_mesh *mesh, strads_err err, const char *text);

/* When this node's part of the run has ended well: tells all others that it
 * owes them nothing more and may go. Who goes without that has failed the run
 * for those who are not through. May wait for room in a link's queue. */
void sti_mesh_say_done(sti_mesh *mesh);

/* Another node, after sti_mesh_say_done: waits until node 0 closes its mesh,
 * which it does when its result is safe. STRADS_EREGROUP: node 0 was lost
 * before. STRADS_OK also when the user stops this node. */
strads_err sti_mesh_await_goodbye(sti_mesh *mesh);

/* What went over the links so far. */
void sti_mesh_count(const sti_mesh *mesh, uint64_t *sent, uint64_t *received);

/* The same by node, and who is there: out[sti_mesh_nodes(mesh)]. URLs are the
 * mesh's. */
void sti_mesh_states(sti_mesh *mesh, strads_node_state *out);

#endif
