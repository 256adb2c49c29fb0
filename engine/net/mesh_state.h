/* engine/net/mesh_state.h - private to the files of the mesh.
 *
 * One lock guards the queue of arrivals, the table of peers and the attached
 * host. In the join phase the transport's threads only append to the queue. The
 * thread that calls gather or join takes arrivals from it and changes the
 * table. Once `settled` is set, the membership is fixed: new nodes are refused,
 * a node that leaves fails the run, and messages go to the attached host.
 *
 * Leaving. When a node's roles have ended well, it sends DONE to all nodes as
 * its last message. A node that has received it needs no more messages from the
 * sender; how their link ends no longer matters to it. Other nodes may receive
 * their DONE later: each node judges by its own link only, so that the order
 * among links does not matter. A goodbye without DONE is a loss, and the link
 * is not restored.
 *
 * Broken links. If a link of a settled mesh breaks without a goodbye, the side
 * that dialled it dials again, for up to window_ns (mesh_reconnect.c). Frames
 * for that node meanwhile stay in its retransmit queue; the layers above notice
 * nothing. */
#ifndef STI_MESH_STATE_H
#define STI_MESH_STATE_H

#include <pthread.h>

#include "engine/net/mesh.h"
#include "engine/net/retransmit.h"

enum {
    STI_KIND_READY = STI_KIND_FIRST_MESSAGE,       /* the data's mark */
    STI_KIND_DONE = STI_KIND_FIRST_MESSAGE + 1,    /* the roles have ended */
    STI_KIND_SEEN = STI_KIND_FIRST_MESSAGE + 2,    /* acknowledges frames */
    STI_KIND_PROGRAM = STI_KIND_FIRST_MESSAGE + 3, /* from node 0: its name */
    STI_KIND_ACCEPT = STI_KIND_FIRST_MESSAGE + 4,  /* the node has it */
    STI_KIND_STOP = STI_KIND_FIRST_MESSAGE + 5,    /* to node 0: end the run */
    STI_KIND_GIVE =
        STI_KIND_FIRST_MESSAGE + 6, /* to node 0: see sti_exchange */
    STI_KIND_TELL = STI_KIND_FIRST_MESSAGE + 7, /* node 0's answer to GIVE */
    STI_KIND_PACE =
        STI_KIND_FIRST_MESSAGE + 8, /* to node 0: sti_mesh_options */
    STI_KIND_ROLE = STI_KIND_FIRST_MESSAGE + 16 /* + sti_msg_kind */
};

#define STI_SECOND UINT64_C(1000000000)

/* An event for the caller of gather, join or an exchange: a frame or a loss. */
typedef struct sti_arrival {
    struct sti_arrival *next;
    sti_link link;
    sti_frame *frame; /* NULL: the link was lost */
    strads_err why;
    char text[512];
} sti_arrival;

/* Another node. All zero: no node has this number, or it has left before the
 * mesh was settled. */
typedef struct sti_peer {
    sti_link link; /* once settled: 0 while the link is broken */
    char url[STI_URL_MAX + 1];
    uint32_t workers;
    uint64_t pace;    /* node 0: of the previous generation, from its HELLO */
    bool accepted;    /* node 0: it has the run's program */
    bool has_met;     /* join phase: it has answered this node's HELLO */
    bool is_ready;    /* its READY has arrived */
    bool has_given;   /* its GIVE has arrived and is not answered yet */
    bool is_done;     /* its DONE has arrived: it may leave */
    bool gone;        /* it has left or is lost, for good */
    bool parted;      /* it left with a goodbye */
    uint64_t left_ns; /* when it left without a reason; 0: it did not, or node 0
                         has not explained it in time */
    bool comes_again; /* it will join the next generation */

    /* Numbered frames received over all links, and those not yet acknowledged
     * with SEEN. */
    uint64_t received;
    uint64_t received_bytes; /* headers included */
    uint32_t unseen;
    uint64_t unseen_bytes;

    /* Reconnecting, see mesh_reconnect.c. */
    bool dialled;    /* by this node, which also dials it again */
    bool unanswered; /* join phase: to be dialled again, because its link broke
                        before it answered HELLO */
    sti_link trying; /* dialled again, HELLO sent, not answered yet */
    bool replaced;   /* its link was dropped in favour of a new one */
    sti_link next;   /* a new link that came before the loss of the old one */
    uint64_t next_seen; /* with it: frames of ours that the peer has received */
    uint64_t broken_ns; /* since when the link is broken; 0: it is not */
    uint64_t futile_ns; /* since when reconnecting has delivered no frame */
    uint64_t mended_ns; /* when the link was last restored */
    uint64_t probed_ns; /* when the peer was last probed */
    char why[512];      /* reason of the break */

    sti_trace_lanes lanes; /* of transfers there, on the attachment's trace */
} sti_peer;

struct sti_mesh {
    sti_net *net;
    sti_mesh_options options;
    char advertised[STI_URL_MAX + 1]; /* in full; empty: none */
    bool joins;                       /* this is not node 0 */
    uint64_t run_id;    /* random number of this generation; 0: not known yet */
    uint64_t window_ns; /* time in which a broken link must be restored */
    const char *program;        /* node 0: the run's; the caller's memory */
    uint32_t generation;        /* 0: the run has none */
    sti_retransmit *retransmit; /* [nodes], own entry unused */
    bool is_done;               /* DONE was sent; used by the closing thread */
    uint64_t put_off_ns; /* node 0: last answer to a late HELLO; 0: none */
    bool is_ready; /* another node: READY was sent; used by the same thread */
    pthread_t reconnector; /* mesh_reconnect.c */
    bool has_reconnector;

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t
        mend; /* a link has broken, or the reconnecting thread shall stop */
    bool reconnect_stops;
    pthread_cond_t arrived;
    pthread_cond_t delivered; /* `delivering` became 0 */
    uint32_t node, nodes;
    sti_peer *peers; /* [nodes], own entry unused */
    sti_arrival *first, **last;
    bool settled;      /* the membership is fixed */
    bool hears;        /* another node: it waits for a TELL */
    bool dispensable;  /* another node: node 0 has refused it, and continues */
    bool stop_asked;   /* node 0: another node wants the run to end */
    bool closing;      /* node 0 has sent CLOSE: other nodes may send DONE */
    bool loops;        /* a data-parallel program was attached */
    bool asks;         /* a run with several schedulers was attached */
    char trouble[512]; /* why connections cannot be accepted; "": they can */
    bool leaving;
    strads_err failure; /* the first failure that was reported */
    char failure_text[1024];
    const sti_run *run;
    sti_mesh_host host; /* while `attached` */
    bool attached;
    sti_trace *trace;
    uint32_t delivering; /* messages being delivered to the host */
};

/* ---- mesh.c ---- */

/* Returns the node at the other end of a link, or STI_NODE_NONE. */
uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link);

/* Sets this node's number and allocates the table of peers. */
strads_err sti_mesh_number(sti_mesh *mesh, uint32_t node, uint32_t nodes);

/* Returns this node's HELLO, without workers. */
sti_hello sti_mesh_hello(const sti_mesh *mesh);

/* Sends a frame through the retransmit queue of a node. Takes over the payload,
 * also on failure. */
strads_err sti_mesh_put(sti_mesh *mesh, uint32_t node, sti_header header,
                        sti_writer *payload, uint64_t wait_ns);

/* Sends this node's pace, if known, to node 0, or reports node 0's own. Called
 * by the reconnecting thread. */
void sti_mesh_send_pace(sti_mesh *mesh);

/* Settles the mesh if no arrival is queued. From now on the retransmit queues
 * use the links of the table. */
bool sti_mesh_settle(sti_mesh *mesh);

/* With the lock held: `node` has left or is lost for good. Unless the run does
 * not need it any more, the run fails. */
void sti_mesh_lose(sti_mesh *mesh, uint32_t node, strads_err why,
                   const char *text);

enum { HEAR_NS = 1000000000 /* for node 0 to say why a run has ended */ };

/* ---- mesh_join.c ---- */

/* Whether the user has stopped, or the run has failed. */
bool sti_mesh_gives_up(void *mesh);

/* Waits for an arrival until `until` of the monotonic clock; UINT64_MAX: no
 * limit. *out is NULL only on an error. STRADS_ECANCELED: the user has stopped.
 * STRADS_EIO: too late. Or the failure of another node. */
strads_err sti_mesh_await(sti_mesh *mesh, uint64_t until, sti_arrival **out);
void sti_mesh_free_arrival(sti_arrival *arrival);
/* With the lock held: appends an arrival to the queue. */
void sti_mesh_queue(sti_mesh *mesh, sti_arrival *arrival);

/* With the lock held: lets this node dial `node` again, because the link broke
 * before `node` answered HELLO. */
void sti_mesh_redial(sti_mesh *mesh, uint32_t node);

/* With the lock held: records that the run has failed. The first failure is
 * kept. */
void sti_mesh_note_failure(sti_mesh *mesh, strads_err err, const char *text);

/* Returns the recorded failure as this thread's error, or STRADS_OK. */
strads_err sti_mesh_failure(sti_mesh *mesh);

/* Waits, at most HEAR_NS, until a failure is recorded, if node 0 may still
 * report one to this node. */
void sti_mesh_hear_reason(sti_mesh *mesh);

/* Returns the failure of another node if `err` may be its consequence; else
 * `err`. Waits as sti_mesh_hear_reason. */
strads_err sti_mesh_or_failure(sti_mesh *mesh, strads_err err);

/* Returns the error of a REJECT as this thread's error. */
strads_err sti_mesh_rejected(const sti_frame *frame);

/* Answers a HELLO or a READY with this thread's error, and keeps that error.
 * Does not wait. */
void sti_mesh_reject(sti_mesh *mesh, sti_link link, strads_err code);

/* Refuses a HELLO to a node that accepts no nodes, or no more, and sends the
 * reason. */
void sti_mesh_turn_away(sti_mesh *mesh, sti_link link, const sti_frame *frame);

/* ---- mesh_reconnect.c ---- */

strads_err sti_reconnect_start(sti_mesh *mesh);
void sti_reconnect_stop(sti_mesh *mesh);

/* With the lock held: the link to `node` is lost. False: it will not be
 * restored. */
bool sti_reconnect_broke(sti_mesh *mesh, uint32_t node, strads_err why,
                         const char *text);
/* With the lock held: `node` has left without a reason. Node 0 knows it, and
 * tells all nodes what ended the run; a node that leaves while it joins cannot.
 * False: no word of node 0 will come. */
bool sti_reconnect_left(sti_mesh *mesh, uint32_t node);
/* After sti_reconnect_broke, without the lock: uses the node's new link if it
 * has dialled again already. */
void sti_reconnect_take_next(sti_mesh *mesh, uint32_t node);

/* With the lock held: a link that is not in the table of peers is lost. */
void sti_reconnect_discard(sti_mesh *mesh, sti_link link);

/* Handles a HELLO to a settled mesh. False: the sender does not belong to the
 * run. */
bool sti_reconnect_meet(sti_mesh *mesh, sti_link link, const sti_frame *frame);

/* Handles a SEEN, which acknowledges frames. On a new link it answers HELLO:
 * the peer has bound the link. */
void sti_reconnect_seen(sti_mesh *mesh, sti_link link,
                        const sti_header *header);

/* Counts a numbered frame that has arrived; sends SEEN when one is due. */
void sti_reconnect_count(sti_mesh *mesh, sti_link link,
                         const sti_header *header);

/* Sends a frame without a number, of the join phase or to restore a link. */
strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w);

#endif
