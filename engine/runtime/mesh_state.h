/* engine/runtime/mesh_state.h - what the files of the mesh share.
 *
 * One lock guards the queue of arrivals, the table of peers and the
 * attachment. The transport's threads only put into the queue, or hand
 * messages to the attached node; whoever waits (gather, join, await_ready)
 * takes from it on the caller's thread, which alone changes the table. */
#ifndef STI_MESH_STATE_H
#define STI_MESH_STATE_H

#include <pthread.h>

#include "engine/runtime/mesh.h"

enum {
    STI_KIND_READY = STI_KIND_FIRST_MESSAGE,    /* sti_hello: the data's mark */
    STI_KIND_ROLE = STI_KIND_FIRST_MESSAGE + 16 /* + sti_msg_kind */
};

#define STI_SECOND UINT64_C(1000000000)

/* What came while the nodes are not yet together. */
typedef struct sti_arrival {
    struct sti_arrival *next;
    sti_link link;
    sti_frame *frame; /* NULL: the link was lost */
    strads_err why;
    char text[512];
} sti_arrival;

typedef struct sti_peer {
    sti_link link;
    char url[STI_URL_MAX + 1];
    uint32_t workers;
    bool ready;
} sti_peer;

struct sti_mesh {
    sti_net *net;
    const volatile bool *stop;
    uint32_t node, nodes;
    sti_peer *peers; /* [nodes], own entry unused */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    sti_arrival *first, **last;
    const sti_run *run;
    sti_node *target; /* NULL: not attached */
    bool leaving;
};

/* The number of the node at the other end; STI_NODE_NONE. */
uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link);

/* Waits for an arrival as long as it takes; *out is NULL only on an error.
 * STRADS_ECANCELED. */
strads_err sti_mesh_await(sti_mesh *mesh, sti_arrival **out);
void sti_mesh_free_arrival(sti_arrival *arrival);
/* Puts one back, behind all others. */
void sti_mesh_requeue(sti_mesh *mesh, sti_arrival *arrival);

/* This node's number, and room for so many peers. */
strads_err sti_mesh_number(sti_mesh *mesh, uint32_t node, uint32_t nodes);

/* The error that a REJECT carries, as this thread's. */
strads_err sti_mesh_rejected(const sti_frame *frame);

/* What this node says of itself, but for data and workers. */
sti_hello sti_mesh_hello(const sti_mesh *mesh);

/* Sends a payload of the coming together. */
strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w);

#endif
