/* engine/net/mesh_state.h - what the files of the mesh share.
 *
 * One lock guards the queue of arrivals, the table of peers and the attachment.
 * Until the nodes are together the transport's threads only put into the queue,
 * and whoever waits (gather, join) takes from it on the caller's thread, which
 * alone changes the table. Once `settled` is set the table stays as it is: who
 * comes is refused, who goes has failed the run, and messages go to the
 * attached node.
 *
 * Who may go. A node whose roles have ended well says DONE to all, behind all
 * else that it has sent: whoever has read it needs nothing more of that node,
 * and does not mind how it goes. The others may be far from that: each judges
 * by its own link alone, so that no two links race. A goodbye without DONE is a
 * loss that no new link heals.
 *
 * What breaks. A settled node's link that breaks without a goodbye is made anew
 * by whoever made it, for window_ns (mesh_reconnect.c); meanwhile what is sent
 * stays in that node's retransmit, so nobody above notices. */
#ifndef STI_MESH_STATE_H
#define STI_MESH_STATE_H

#include <pthread.h>

#include "engine/net/mesh.h"
#include "engine/net/retransmit.h"

enum {
    STI_KIND_READY = STI_KIND_FIRST_MESSAGE,       /* the data's mark */
    STI_KIND_DONE = STI_KIND_FIRST_MESSAGE + 1,    /* "my roles have ended" */
    STI_KIND_SEEN = STI_KIND_FIRST_MESSAGE + 2,    /* "I have that many" */
    STI_KIND_PROGRAM = STI_KIND_FIRST_MESSAGE + 3, /* node 0, to who joins */
    STI_KIND_ACCEPT = STI_KIND_FIRST_MESSAGE + 4, /* .. "I have that program" */
    STI_KIND_STOP = STI_KIND_FIRST_MESSAGE + 5,   /* to node 0: end the run */
    STI_KIND_GIVE =
        STI_KIND_FIRST_MESSAGE + 6, /* to node 0: see sti_exchange */
    STI_KIND_TELL = STI_KIND_FIRST_MESSAGE + 7, /* .. and its answer */
    STI_KIND_PACE = STI_KIND_FIRST_MESSAGE + 8, /* to node 0: how fast it is */
    STI_KIND_ROLE = STI_KIND_FIRST_MESSAGE + 16 /* + sti_msg_kind */
};

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
    sti_link link; /* once settled: 0 while it is broken, or gone */
    char url[STI_URL_MAX + 1];
    uint32_t workers;
    uint64_t pace; /* node 0: of the generation before, as its HELLO said */
    bool accepted; /* node 0: it has the run's program */
    bool has_met;  /* dialled while the nodes come together, it has answered */
    bool said_ready;  /* its READY has come */
    bool has_given;   /* its GIVE has come, and is not answered yet */
    bool said_done;   /* its DONE has come: it may go */
    bool gone;        /* for good .. */
    bool parted;      /* .. with a goodbye */
    bool comes_again; /* to the next generation */

    /* Frames of its that were received, but for SEEN, over all links; and what
     * came since it was told so. */
    uint64_t received;
    uint64_t received_bytes; /* of those, heads included */
    uint32_t untold;
    uint64_t untold_bytes;

    /* Mending, see mesh_reconnect.c. */
    bool dialled;       /* by this node, which dials it again */
    bool unanswered;    /* .. because its link broke before it answered HELLO,
                        while the nodes join */
    sti_link trying;    /* dialled, HELLO is said, no answer yet */
    bool replaced;      /* its link is dropped for another */
    sti_link next;      /* it has dialled again before the loss showed .. */
    uint64_t next_seen; /* .. and has so many frames of this node's */
    uint64_t broken_ns; /* since when; 0: it is not */
    uint64_t futile_ns; /* .. and since when mending has brought no frame */
    uint64_t mended_ns; /* when it was made anew last */
    uint64_t probed_ns; /* when it was last looked for */
    char why[512];      /* how it broke */

    sti_trace_lanes lanes; /* of transfers there, on the attachment's trace */
} sti_peer;

struct sti_mesh {
    sti_net *net;
    sti_mesh_options options;
    bool joins;          /* one of the others: without node 0 there is no run */
    uint64_t run_id;     /* its number; 0: not known yet */
    uint64_t window_ns;  /* how long a broken link may stay so */
    const char *program; /* node 0: the run's; the caller's memory */
    uint32_t generation; /* 0: the run has none */
    sti_retransmit *retransmit; /* [nodes], own entry unused */
    bool said_done;             /* to all, by the thread that closes */
    uint64_t
        put_off_ns; /* node 0: when it last answered a late HELLO; 0: never */
    bool is_ready;  /* another node: its READY is sent; by the same thread */
    pthread_t reconnector; /* mesh_reconnect.c */
    bool has_reconnector;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t
        mend; /* a link has broken, or the reconnecting thread is to stop */
    bool reconnect_stops;
    pthread_cond_t arrived;
    pthread_cond_t delivered; /* `delivering` became 0 */
    uint32_t node, nodes;
    sti_peer *peers; /* [nodes], own entry unused */
    sti_arrival *first, **last;
    bool settled;      /* who takes part is known for good */
    bool hears;        /* another node: it waits for a TELL */
    bool rejected;     /* another node: node 0 has refused its READY */
    bool stop_asked;   /* node 0: another node wants the run to end */
    bool closing;      /* node 0 has sent CLOSE: others may be through */
    bool loops;        /* a data-parallel program was attached */
    bool asks;         /* a run with several schedulers was */
    char trouble[512]; /* why nobody can be accepted, if so */
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

/* Sends over the retransmit of a node; the payload is taken over, on errors
 * too. */
strads_err sti_mesh_put(sti_mesh *mesh, uint32_t node, sti_header header,
                        sti_writer *payload, uint64_t wait_ns);

/* Tells node 0 this node's pace, if there is one; by the reconnecting
 * thread. */
void sti_mesh_tell_pace(sti_mesh *mesh);

/* Settles the mesh if nothing is left to look at: from now on its retransmit
 * queues use the links that the table has. */
bool sti_mesh_settle(sti_mesh *mesh);

/* With the lock held: node `node` is gone for good. It may have been free to
 * go; otherwise the run has failed. */
void sti_mesh_lose(sti_mesh *mesh, uint32_t node, strads_err why,
                   const char *text);

/* ---- mesh_join.c ---- */

/* The user has stopped, or another node has failed. */
bool sti_mesh_gives_up(void *mesh);

/* Waits for an arrival until `until` of the monotonic clock; UINT64_MAX: as
 * long as it takes. *out is NULL only on an error. STRADS_ECANCELED, how
 * another node has failed, or STRADS_EIO: it became too late. */
strads_err sti_mesh_await(sti_mesh *mesh, uint64_t until, sti_arrival **out);
void sti_mesh_free_arrival(sti_arrival *arrival);
/* Puts one behind all others: with the lock held. */
void sti_mesh_queue(sti_mesh *mesh, sti_arrival *arrival);

/* With the lock held: this node dials `node` again, whose link broke before it
 * answered HELLO. */
void sti_mesh_redial(sti_mesh *mesh, uint32_t node);

/* With the lock held: another node has failed. The first one counts. */
void sti_mesh_note_failure(sti_mesh *mesh, strads_err err, const char *text);

/* How another node has failed, as this thread's error; STRADS_OK. */
strads_err sti_mesh_failure(sti_mesh *mesh);

/* That failure, where `err` may be its consequence; else `err`. */
strads_err sti_mesh_or_failure(sti_mesh *mesh, strads_err err);

/* The error that a REJECT carries, as this thread's. */
strads_err sti_mesh_rejected(const sti_frame *frame);

/* Answers a HELLO or a READY with this thread's error, which stays that; never
 * waits. */
void sti_mesh_reject(sti_mesh *mesh, sti_link link, strads_err code);

/* Tells who says HELLO to a node that takes nobody (any more) why. */
void sti_mesh_turn_away(sti_mesh *mesh, sti_link link, const sti_frame *frame);

/* ---- mesh_reconnect.c ---- */

strads_err sti_reconnect_start(sti_mesh *mesh);
void sti_reconnect_stop(sti_mesh *mesh);

/* With the lock held: a link of the run is lost. False: that is final. */
bool sti_reconnect_broke(sti_mesh *mesh, uint32_t node, strads_err why,
                         const char *text);
/* Behind it, without the lock: the node may have dialled again already. */
void sti_reconnect_take_next(sti_mesh *mesh, uint32_t node);

/* With the lock held: another link is lost; perhaps it was to become one. */
void sti_reconnect_forget(sti_mesh *mesh, sti_link link);

/* A HELLO to a settled mesh. False: it is of nobody who belongs here. */
bool sti_reconnect_meet(sti_mesh *mesh, sti_link link, const sti_frame *frame);

/* SEEN: a node has so many frames; on a new link it is the answer to HELLO,
 * which says that the link is bound there. */
void sti_reconnect_seen(sti_mesh *mesh, sti_link link,
                        const sti_header *header);

/* Behind each frame of a node but SEEN: it is told now and then. */
void sti_reconnect_count(sti_mesh *mesh, sti_link link,
                         const sti_header *header);

/* Sends a payload of the coming together. */
strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w);

#endif
