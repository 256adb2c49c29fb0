/* engine/runtime/mesh_state.h - what the files of the mesh share.
 *
 * One lock guards the queue of arrivals, the table of peers and the
 * attachment. Until the nodes are together the transport's threads only put
 * into the queue, and whoever waits (gather, join) takes from it on the
 * caller's thread, which alone changes the table. Once `settled` is set the
 * table stays as it is: who comes is refused, who goes has failed the run, and
 * messages go to the attached node.
 *
 * Who may go. A node whose roles have ended well says DONE to all, behind all
 * else that it has sent: whoever has read it needs nothing more of that node,
 * and does not mind how it goes. The others may be far from that: each judges
 * by its own link alone, so that no two links race. A goodbye without DONE is a
 * loss like any other. */
#ifndef STI_MESH_STATE_H
#define STI_MESH_STATE_H

#include <pthread.h>

#include "engine/runtime/mesh.h"

enum {
    STI_KIND_READY = STI_KIND_FIRST_MESSAGE,    /* sti_hello: the data's mark */
    STI_KIND_DONE = STI_KIND_FIRST_MESSAGE + 1, /* "my roles have ended" */
    STI_KIND_ROLE = STI_KIND_FIRST_MESSAGE + 16 /* + sti_msg_kind */
};

/* The largest payloads; DISPATCH, PARTIAL and HOP have the transport's. */
enum {
    STI_SENTENCE_LIMIT = 4096,  /* REJECT, FAIL */
    STI_NOTE_LIMIT = 128,       /* LOOP, ACK and what is as small */
    STI_WELCOME_LIMIT = 4 << 20 /* the URLs of STI_NODES_MAX, and options */
};

/* Transfers to one node that are told apart on a trace. */
enum { STI_LANES_MAX = 32 };

#define STI_SECOND UINT64_C(1000000000)

/* What came while the nodes are not yet together, and READY. */
typedef struct sti_arrival {
    struct sti_arrival *next;
    sti_link link;
    sti_frame *frame; /* NULL: the link was lost */
    strads_err why;
    char text[512];
} sti_arrival;

/* A place that nobody has taken, or that was left again, is all zero. */
typedef struct sti_peer {
    sti_link link;
    char url[STI_URL_MAX + 1];
    uint32_t workers;
    bool said_ready; /* its READY has come */
    bool said_done;  /* its DONE has come: it may go */
    uint32_t busy;   /* a bit for each lane with a transfer under way */
    uint32_t lanes;  /* lanes that have a track .. */
    uint32_t lane_track[STI_LANES_MAX]; /* .. of the attachment's trace */
} sti_peer;

struct sti_mesh {
    sti_net *net;
    const volatile bool *stop;
    bool joins; /* one of the others: without node 0 there is no run */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t arrived;
    pthread_cond_t delivered; /* `delivering` became 0 */
    uint32_t node, nodes;
    sti_peer *peers; /* [nodes], own entry unused */
    sti_arrival *first, **last;
    bool settled; /* who takes part is known for good */
    bool closing; /* node 0 has sent CLOSE: others may be through */
    bool loops;   /* a data-parallel program was attached */
    bool leaving;
    strads_err failure; /* of another node, the first that was heard of */
    char failure_text[1024];
    const sti_run *run;
    sti_mesh_host host; /* while `attached` */
    bool attached;
    sti_trace *trace;
    uint32_t delivering; /* messages on their way to the host */
};

/* ---- mesh.c ---- */

/* The number of the node at the other end; STI_NODE_NONE. */
uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link);

/* This node's number, and room for so many peers. */
strads_err sti_mesh_number(sti_mesh *mesh, uint32_t node, uint32_t nodes);

/* What this node says of itself, but for data and workers. */
sti_hello sti_mesh_hello(const sti_mesh *mesh);

/* ---- mesh_arrival.c ---- */

/* The transport's callbacks. */
void sti_mesh_received(void *mesh, sti_link link, sti_frame *frame);
void sti_mesh_lost(void *mesh, sti_link link, strads_err why, const char *text);
uint64_t sti_mesh_limit(void *mesh, uint16_t kind);
/* The user has stopped, or another node has failed. */
bool sti_mesh_gives_up(void *mesh);

/* Waits for an arrival as long as it takes; *out is NULL only on an error.
 * STRADS_ECANCELED, or how another node has failed. */
strads_err sti_mesh_await(sti_mesh *mesh, sti_arrival **out);
void sti_mesh_free_arrival(sti_arrival *arrival);
/* Puts one back, behind all others. */
void sti_mesh_requeue(sti_mesh *mesh, sti_arrival *arrival);

/* How another node has failed, as this thread's error; STRADS_OK. */
strads_err sti_mesh_failure(sti_mesh *mesh);

/* Settles the mesh if nothing is left to look at. */
bool sti_mesh_settle(sti_mesh *mesh);

/* The error that a REJECT carries, as this thread's. */
strads_err sti_mesh_rejected(const sti_frame *frame);

/* Answers a HELLO with this thread's error, which stays that; never waits. */
void sti_mesh_reject(sti_mesh *mesh, sti_link link, strads_err code);

/* Tells who says HELLO to a node that takes nobody (any more) why. */
void sti_mesh_turn_away(sti_mesh *mesh, sti_link link, const sti_frame *frame);

/* ---- mesh_send.c ---- */

/* Sends a payload of the coming together, waiting for room up to `wait_ns`. */
strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w,
                                 uint64_t wait_ns);

#endif
