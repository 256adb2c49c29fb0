/* engine/net/link_state.h - what the link_*.c files share; nobody else
 * includes it.
 *
 * A connection has two activities. Reading runs from its birth to its end, on
 * a thread of its own that receives and takes what came. Writing runs while the
 * queue holds what is not lazy, on the thread of who filled it, for as long as
 * the kernel takes it at once; what it does not take so is left to a second
 * thread of the connection, which is there from the first time on. A connection
 * dies once (sti_conn_end), which shuts the socket down, which ends both
 * activities; the later one of the two reports `lost` and leaves the rest to
 * the keeper, the only one that closes and frees.
 *
 * Locks: net->lock before conn->lock, and no lock is held while a callback of
 * the owner runs or bytes are moved. */
#ifndef STI_LINK_STATE_H
#define STI_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "engine/net/link.h"
#include "engine/net/shared_ring.h"

enum {
    STI_AHEAD_BYTES = 16384, /* read in one go beside a frame's payload */
    STI_IOV_MAX = 16,        /* pieces written in one go */
    STI_WHERE_MAX = 320,
    STI_TEXT_MAX = 640,
    STI_STRANGERS_MAX = 64, /* more of them wait in the kernel's queue */
    STI_LINKS_MAX = 16384
};

typedef struct sti_url {
    bool tcp;
    char host[STI_URL_MAX + 1]; /* with brackets if it had any; or the path */
    unsigned port;
} sti_url;

/* A frame on its way out. `iov` says what is left of it. */
typedef struct sti_queued {
    struct sti_queued *next;
    uint64_t size; /* header and payload */
    uint16_t kind;
    unsigned iov_count;
    struct iovec iov[1 + STI_PARTS_MAX];
    void (*sent)(void *sent_arg);
    void *sent_arg;
    bool lent;          /* what `iov` says may change when its sender returns */
    unsigned char *own; /* a copy of what was left of it then, or NULL */
    size_t own_room;
    unsigned char bytes[]; /* the header, and the payload where it is copied */
} sti_queued;

/* May a payload be put into the ring of this end? */
typedef enum sti_sharing {
    STI_SHARE_NOT_YET, /* none was offered */
    STI_SHARE_NOT,     /* the peer has not answered, or has not opened it */
    STI_SHARE_FREE,
    STI_SHARE_BUSY /* a thread puts, until its frame is queued */
} sti_sharing;

typedef struct sti_conn {
    sti_net *net;
    sti_link id;
    bool dialled;
    char where[STI_WHERE_MAX]; /* the peer's address, for sentences */
    char host[64];             /* its host alone; "" over ipc */
    uint64_t machine; /* of both ends, as far as this one sees; 0: not one */
    atomic_bool near; /* .. and as both have said: see link_near.c */
    int fd;           /* closed, and the threads joined, at the burial */
    pthread_t reader, writer;
    bool has_reader;

    unsigned users; /* guarded by net->lock: calls that hold this pointer */
    bool finished;  /* guarded by net->lock: reported; may be buried */

    pthread_mutex_t lock; /* guards what follows, down to the queue */
    pthread_cond_t room;  /* the queue became shorter, or the end has come */
    uint32_t node;        /* whose frames these are, once bound */
    bool introduced;      /* HELLO came (accepted) or a frame went (dialled) */
    bool bound;
    bool parting;      /* our BYE is queued or written */
    bool bye_written;  /* .. written to the last byte */
    bool bye_acked;    /* .. and read by the peer */
    bool bye_received; /* the peer's BYE came */
    bool ack_written;  /* .. and it was told so */
    bool dead;         /* the stream is closed; why and text are set */
    bool left;         /* .. because the peer closed it after its BYE */
    bool reading, writing, reported;
    bool has_writer;
    bool stuck, buried;     /* the writer is to go on, or to leave */
    pthread_cond_t unstuck; /* one of these is set */
    strads_err why;
    char text[STI_TEXT_MAX];
    uint64_t parted_ns; /* when parting began .. */
    uint64_t part_by;   /* .. and when it must have ended; a time is set only
                             by sti_net_close */
    sti_queued *first;
    sti_queued **last;
    uint64_t queue_bytes;

    /* Payloads that leave through shared memory, see link_shared.c. */
    sti_sharing sharing;
    sti_shared_ring *ring_out;
    uint64_t ring_mark; /* of the offer that was not answered; 0: none */

    /* Of the keeper's clock, see link_keeper.c. */
    uint64_t born_ns;
    _Atomic uint64_t heard_ns, said_ns;
    atomic_bool delivering; /* the owner's callback runs: silence is ours */

    /* Touched by the reading activity alone. */
    bool holds;          /* it has queued what is held back .. */
    uint64_t held_bytes; /* .. and has received so much since */
    sti_frame *frame;    /* the one whose payload is not complete */
    uint64_t filled;
    sti_berthing berthing;    /* where it goes; none: to the frame alone */
    sti_shared_ring *ring_in; /* the peer's, NULL: none */
    bool offered;             /* it has offered one */
    size_t ahead_begin, ahead_end;
    unsigned char ahead[STI_AHEAD_BYTES];
} sti_conn;

struct sti_net {
    sti_net_options options; /* defaults filled in, listen_url not used */
    char url[STI_URL_MAX + 1];
    sti_url listens_at;
    int listener;    /* -1: none */
    int accept_bell; /* an eventfd, -1: none */
    pthread_t acceptor;
    bool accepts;

    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t wake;    /* the keeper has something to do */
    pthread_cond_t changed; /* a connection was buried */
    sti_conn **slots;       /* [STI_LINKS_MAX]; a link is serial * MAX + slot */
    uint32_t slots_used;    /* the highest slot in use, plus one */
    uint64_t serial;
    uint32_t conns;
    uint32_t strangers;
    bool accept_paused;
    bool accept_stops;
    bool closing;
    bool keeper_called; /* since it last went to sleep */
    bool keeper_stops;
    bool unclean; /* while closing, a link did not end in good order .. */
    char unclean_text[STI_TEXT_MAX]; /* .. and what it said */

    pthread_t keeper;
    bool keeper_runs;
    _Atomic uint64_t clock_ns; /* the keeper's */
    _Atomic uint32_t node;
    _Atomic uint64_t frames_sent, bytes_sent, frames_received, bytes_received;
    _Atomic uint64_t strangers_dropped;
    _Atomic uint32_t rings; /* of shared memory, that were offered */
};

/* ---- link.c: connections by number ---- */

/* The connection behind a link, held until sti_conn_release; NULL when gone. */
sti_conn *sti_conn_acquire(sti_net *net, sti_link link);
sti_conn *sti_conn_acquire_slot(sti_net *net, uint32_t slot);
void sti_conn_release(sti_conn *conn);

/* Makes a connection of a socket, which it owns from now on, also on failure,
 * and starts to read. `where` is NULL for an accepted one. */
strads_err sti_conn_start(sti_net *net, int fd, const char *where,
                          sti_link *out);

/* Ends a connection: the first reason stays. */
void sti_conn_end(sti_conn *conn, strads_err why, const char *text);
bool sti_conn_is_dead(sti_conn *conn);

/* Called whenever an activity has ended: the last one reports. */
void sti_conn_rest(sti_conn *conn);

/* Frees a connection that is finished and that nobody holds. */
void sti_conn_bury(sti_conn *conn);

/* ---- link_queue.c ---- */

/* `header` is all but the checksum; of a payload that is shared, all.
 * STRADS_ENOMEM. */
strads_err sti_queued_make(const sti_outgoing *frame, sti_header header,
                           sti_queued **out);

/* Copies what is left of a frame that is lent. STRADS_ENOMEM. */
strads_err sti_queued_own(sti_queued *queued);

/* It never leaves, and its sender is told otherwise. NULL is fine. */
void sti_queued_forget(sti_queued *queued);

/* It has left, or never will: calls `sent`. A list of them. */
void sti_queued_free(sti_queued *queued);
void sti_queue_free(sti_queued *first);

/* ---- link_send.c ---- */

/* Queues PING, BYE or BYE_ACK behind all else, whatever the queue's limit. */
strads_err sti_conn_send_control(sti_conn *conn, uint16_t kind);
/* .. OFFER or ANSWER; from and to are filled in. */
strads_err sti_conn_send_header(sti_conn *conn, const sti_header *header);
void sti_conn_join_writer(sti_conn *conn); /* at its burial */

/* The reader sends what it has held back. */
void sti_conn_let_go(sti_conn *conn);

/* The writing activity ends: what it was about to write never leaves. */
void sti_conn_stop_writing(sti_conn *conn);

/* Starts to part; `by` is of the keeper's clock. */
void sti_conn_part(sti_conn *conn, uint64_t by);

/* Ends the connection when both sides have said and heard BYE. */
void sti_conn_part_if_done(sti_conn *conn);

/* ---- link_receive.c ---- */

/* Into `count` pieces of memory and then ahead, for which iov has one more
 * place; how many bytes, as recvmsg says it. */
ssize_t sti_conn_receive_into(sti_conn *conn, struct iovec *iov, unsigned count,
                              bool may_wait);

/* Is this the connection's reader? */
bool sti_conn_reads(const sti_conn *conn);

/* Starts the connection's thread; where there is none the connection ends. */
void sti_conn_start_reading(sti_conn *conn);

/* ---- link_near.c ---- */

/* The kernel's mark of this boot, never 0 but where it tells none. */
uint64_t sti_near_machine(void);

/* A connection's sockets are there: may both ends be on one machine? */
void sti_conn_look_near(sti_conn *conn);

/* Fills in what a header says of that. */
void sti_conn_say_near(const sti_conn *conn, sti_header *header);

/* What a header that came says of it. STRADS_EPEER: more than it may. */
strads_err sti_conn_hear_near(sti_conn *conn, const sti_header *header);

/* ---- link_shared.c ---- */

/* Puts a payload of so many bytes into the ring, if it may go there, there is
 * one, and nothing is being written; offers a ring to the peer where there is
 * none yet. True: it lies at *place, and sti_conn_shared comes next. */
bool sti_conn_share(sti_conn *conn, const sti_outgoing *frame, uint64_t size,
                    uint64_t *place);

/* The frame of what was put is queued, or will not be: with conn->lock held. */
void sti_conn_shared(sti_conn *conn);

/* The reader has an offer of the peer's, or its answer. STRADS_EPEER: it may
 * not come. */
strads_err sti_conn_take_offer(sti_conn *conn, const sti_header *header);
strads_err sti_conn_take_answer(sti_conn *conn, const sti_header *header);

void sti_conn_free_rings(sti_conn *conn); /* at its burial */

/* Copies the payload of the reader's frame to where it is wanted.
 * STRADS_EPEER: it cannot lie where its header says. */
strads_err sti_conn_take_shared(sti_conn *conn);

/* ---- link_berth.c ---- */

/* So much has come behind the first `skip` bytes that are wanted there. */
void sti_conn_copy_to_berth(sti_conn *conn, uint64_t skip,
                            const unsigned char *from, uint64_t size);

/* The first bytes of a large frame are there: asks where the rest is wanted. */
void sti_conn_look_for_berth(sti_conn *conn);
void sti_conn_leave_berth(sti_conn *conn);

/* What is there at once, to the berth; *left: it was left. */
ssize_t sti_conn_receive_at_berth(sti_conn *conn, bool *left);

/* Nobody wants it any more: it is received for its length alone. */
void sti_conn_lose_rest(sti_conn *conn);

/* All of a frame has come. Of one that was lost nobody looks at a byte.
 * STRADS_EPEER: it was damaged. */
strads_err sti_conn_verify(sti_conn *conn, sti_frame *frame);

/* ---- link_keeper.c ---- */

strads_err sti_keeper_start(sti_net *net);

/* Something is to be done at once; the caller holds net->lock. */
void sti_keeper_call(sti_net *net);
void sti_keeper_stop(sti_net *net);

/* ---- link_listen.c ---- */

/* Listens and accepts; fills in net->url. STRADS_EINVAL, STRADS_EIO. */
strads_err sti_net_listen(sti_net *net, const char *url);
void sti_net_stop_listening(sti_net *net);
void sti_net_close_door(sti_net *net); /* the first half of it */
void sti_net_accept(sti_net *net);     /* looks whether it may accept again */

/* ---- link_url.c ---- */

/* Takes a URL apart. STRADS_EINVAL: not one of ours. */
strads_err sti_url_parse(const char *url, sti_url *out);
void sti_url_write(const sti_url *url, char out[STI_URL_MAX + 1]);

/* ---- link_socket.c: errors are errno's, or getaddrinfo's ---- */

const char *sti_socket_text(int error);

/* Within `ms`. Blocks. */
int sti_socket_dial(const sti_url *url, unsigned ms, int *fd);

/* Fills in the port. A file that a dead process has left is taken over. */
int sti_socket_listen(sti_url *url, int *fd);

void sti_socket_no_delay(int fd);
void sti_socket_no_pacing(int fd);

/* Waits for so many bytes at once, or the stream's end; no longer than `ms`, as
 * a full buffer may hold less. */
void sti_socket_await(int fd, int bytes, int ms);

/* The peer's address as text; "" over ipc. Its process there; 0: not known. */
void sti_socket_peer(int fd, char host[64], unsigned *port);
int sti_socket_process(int fd);

/* Did the peer come, or was it reached, over ipc or a loopback address? */
bool sti_socket_is_local(int fd);

#endif
