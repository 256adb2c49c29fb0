/* engine/net/link_state.h - what link.c and link_io.c share; nobody else
 * includes it.
 *
 * A connection has two threads. Its reader receives frames and hands them over;
 * it lives from the connection's birth to its end, and then reports `lost`. A
 * sender writes to the socket itself, as much as the kernel takes at once; the
 * rest is left to the connection's writer, which is started when it is first
 * needed. A connection dies once (sti_conn_end): that shuts the socket down,
 * which ends both threads. The net's
 * housekeeping thread, the only one that frees connections, then reaps it.
 *
 * Locks: net->lock before conn->lock; neither is held while a callback of the
 * owner runs or bytes are moved. */
#ifndef STI_LINK_STATE_H
#define STI_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "engine/net/link.h"

enum {
    STI_AHEAD_BYTES = 16384, /* read in one go beside a frame's payload */
    STI_WHERE_MAX = 320,
    STI_TEXT_MAX = 640,
    /* Connections accepted that have not sent a HELLO: in all, and from one
     * address. A run of more nodes (sti_net_expect) allows as many. One more
     * connection evicts the oldest. */
    STI_STRANGERS_MAX = 64,
    STI_STRANGERS_EACH = 16,
    STI_LINKS_MAX = 16384
};

/* A frame on its way out. `iov` says what is left of it. Its header is encoded when
 * the frame joins the queue and gets its number. Where frames have tags,
 * that of the header lies behind it, and that of the payload at the end. */
typedef struct sti_queued {
    struct sti_queued *next;
    uint16_t kind;
    unsigned iov_count;
    struct iovec iov[2 + STI_PARTS_MAX];
    void (*sent)(void *sent_arg);
    void *sent_arg;
    unsigned char bytes[]; /* the header, and the payload where it is copied */
} sti_queued;

/* What a connection waits for before HELLO; STI_OPEN: nothing, or no more. */
typedef enum sti_stage {
    STI_OPEN,
    STI_STARTS, /* its reader, and TLS's handshake */
    STI_AWAITS_KNOCK,
    STI_AWAITS_CHALLENGE,
    STI_AWAITS_PROOF,
    STI_AWAITS_GRANT
} sti_stage;

typedef struct sti_conn {
    sti_net *net;
    sti_link id;
    bool dialled;
    char where[STI_WHERE_MAX];   /* the peer's address, for sentences */
    char host[STI_HOST_MAX + 1]; /* its host alone; "" over ipc */
    int fd;                      /* closed when the connection is reaped */
    sti_tls *tls;                /* over it; NULL: none */
    pthread_t reader, writer;
    bool has_reader;

    unsigned users; /* guarded by net->lock: calls that hold this pointer */
    bool finished;  /* guarded by net->lock: reported; may be reaped */
    bool stranger;  /* guarded by net->lock: counts among the strangers */

    pthread_mutex_t lock; /* guards what follows, down to the queue */
    pthread_cond_t moved; /* stuck, dead or stage has changed, or writing
                                 has ended */
    bool has_writer;
    sti_stage stage;
    sti_tagger *sends; /* NULL: frames have no tags */
    uint32_t node;     /* whose frames these are, once bound */
    bool introduced;   /* HELLO came (accepted) or a frame went (dialled) */
    bool bound;
    bool parting;      /* our BYE is queued or written */
    bool bye_written;  /* .. written to the last byte */
    bool bye_acked;    /* .. and read by the peer */
    bool bye_received; /* the peer's BYE came */
    bool ack_written;  /* .. and it was told so */
    bool dead;         /* the socket is shut down; why and text are set */
    bool left;         /* .. because the peer closed it after its BYE */
    bool writing;      /* some thread writes, or is about to */
    bool stuck;        /* .. and that is now the writer's to do */
    strads_err why;
    char text[STI_TEXT_MAX];
    uint64_t parted_ns; /* when parting began .. */
    uint64_t part_by;   /* .. and when it must have ended; only sti_net_close
                           sets a time */
    sti_queued *first;
    sti_queued **last;
    uint32_t frames_queued; /* the number of the next one, see sti_header */

    /* Of the net's clock. */
    uint64_t born_ns;
    _Atomic uint64_t heard_ns, said_ns;
    /* Since when the reader waits for the rest of a frame that has begun, and the
     * bytes that came since; 0: it is between two frames. */
    _Atomic uint64_t rest_ns, rest_bytes;
    atomic_bool delivering; /* the owner's callback runs: silence is ours */

    /* Touched by the reader alone, once it runs. */
    sti_handshake handshake;
    bool is_own; /* there is more than the address to trust, or the other end is
                    this user's */
    sti_tagger *receives;
    uint32_t frames_begun; /* received: the number of the next one */
    sti_frame *frame;      /* the one whose payload is not complete */
    uint64_t filled;
    size_t ahead_begin, ahead_end;
    unsigned char ahead[STI_AHEAD_BYTES];
} sti_conn;

struct sti_net {
    sti_net_options options; /* defaults filled in, listen_url not used */
    sti_trust trust;
    sti_tls_config *tls; /* NULL: no tls+tcp:// */
    char url[STI_URL_MAX + 1];
    sti_url listens_at;
    int bell; /* an eventfd that wakes the housekeeping thread; -1: none */
    pthread_t housekeeper;
    bool has_housekeeper;

    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t reaped; /* a connection was */
    int listener;          /* -1: none */
    sti_conn **slots;      /* [STI_LINKS_MAX]; a link is serial * MAX + slot */
    uint32_t slots_used;   /* the highest slot in use, plus one */
    uint64_t serial;
    uint32_t conns;
    uint32_t strangers;
    uint32_t expected; /* peers that may dial at the same time */
    bool closing;      /* nobody is accepted or dialled any more */
    bool stops;        /* the housekeeping thread is to end */
    bool unclean;      /* while closing, a link did not end in good order .. */
    char unclean_text[STI_TEXT_MAX]; /* .. and what it said */

    /* Counts only time in which the housekeeping thread ran: when the process
     * was stopped, or the machine slept, two ticks pass and not an hour, so
     * that no peer is taken for dead because this node did not listen. */
    _Atomic uint64_t clock_ns;
    _Atomic uint32_t node;
    _Atomic uint64_t frames_sent, bytes_sent, frames_received, bytes_received;
    _Atomic uint64_t strangers_dropped;
};

/* ---- link.c ------------------------------------------------------------ */

/* The connection behind a link, held until sti_conn_release; NULL when gone. */
sti_conn *sti_conn_acquire(sti_net *net, sti_link link);
void sti_conn_release(sti_conn *conn);

/* Ends a connection: the first reason stays. */
void sti_conn_end(sti_conn *conn, strads_err why, const char *text);
bool sti_conn_is_dead(sti_conn *conn);

/* The reader has ended: waits for the writer, reports, leaves the rest to the
 * housekeeping thread. */
void sti_conn_finish(sti_conn *conn);

/* It counts among the strangers no more. */
void sti_conn_is_known(sti_conn *conn);

/* The housekeeping thread has something to do. */
void sti_net_ring(sti_net *net);

/* ---- link_io.c --------------------------------------------------------- */

void *sti_conn_read_all(void *conn);    /* the reader */
void *sti_conn_write_stuck(void *conn); /* the writer */

/* Queues a frame of the transport's own behind all else: PING, BYE, BYE_ACK, or
 * one of the handshake, with its payload. STRADS_ENOMEM. */
strads_err sti_conn_send_control(sti_conn *conn, uint16_t kind,
                                 const void *bytes, uint64_t size);

/* Starts to part; `by` is of the net's clock. */
void sti_conn_part(sti_conn *conn, uint64_t by);

/* What is queued never leaves: calls `sent` of each. */
void sti_queue_free(sti_queued *first);

#endif
