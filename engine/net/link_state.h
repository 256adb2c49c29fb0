/* engine/net/link_state.h - private to link.c and link_io.c.
 *
 * A connection has up to two threads. The reader runs from the connection's
 * start to its end: it receives frames, delivers them, and finally reports
 * `lost`. A sending thread writes to the stream directly, as much as fits
 * without blocking. The connection's writer sends the remainder; it is started
 * when it is first needed. sti_conn_end ends a connection once: it ends the
 * stream, which ends both threads. The net's housekeeping thread then reaps the
 * connection; only that thread frees connections.
 *
 * Locks: net->lock before conn->lock. Neither is held while a callback of the
 * owner runs or bytes are read or written. */
#ifndef STI_LINK_STATE_H
#define STI_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "engine/base/system.h"
#include "engine/net/link.h"
#include "engine/net/stream.h"
#include "engine/net/tls.h"

enum {
    STI_AHEAD_BYTES = 16384, /* read buffer for bytes after a payload */
    STI_WHERE_MAX = 320,
    STI_TEXT_MAX = 640,
    /* Accepted connections without a HELLO: in total, and from one address.
     * sti_net_expect raises both. A connection beyond the limit evicts the
     * oldest. */
    STI_STRANGERS_MAX = 64,
    STI_STRANGERS_EACH = 16,
    /* Evicted connections whose threads have not ended. No connection is
     * accepted beyond that. */
    STI_EVICTED_MAX = 64,
    STI_LINKS_MAX = 16384
};

/* A queued frame. `iov` points to the unsent bytes. The header is encoded when
 * the frame joins the queue and receives its number. */
typedef struct sti_queued {
    struct sti_queued *next;
    uint16_t kind;
    unsigned iov_count;
    struct iovec iov[1 + STI_PARTS_MAX];
    void (*sent)(void *sent_arg);
    void *sent_arg;
    unsigned char bytes[]; /* the header, and the payload if it is copied */
} sti_queued;

typedef struct sti_conn {
    sti_net *net;
    sti_link id;
    bool dialled;
    char where[STI_WHERE_MAX];   /* the peer's address, for sentences */
    char host[STI_HOST_MAX + 1]; /* the peer's host only; "" over ipc */
    sti_stream *stream;          /* freed when the connection is reaped */
    sti_tls *tls;                /* NULL: no TLS */
    pthread_t reader, writer;
    bool has_reader;

    /* Guarded by net->lock. */
    unsigned users; /* calls that hold this pointer */
    bool finished;  /* its end was reported; may be reaped */
    bool stranger;  /* counts among the strangers */
    bool evicted;   /* counts among the evicted */

    pthread_mutex_t lock; /* guards the fields down to frames_queued */
    pthread_cond_t moved; /* stuck, dead or open has changed, or writing
                                 has ended */
    bool has_writer;
    bool open;       /* TLS's handshake is complete, or there is no TLS */
    uint32_t node;   /* the peer, once bound */
    bool introduced; /* HELLO received (accepted) or a frame sent (dialled) */
    bool bound;
    bool parting;      /* our BYE is queued or written */
    bool bye_written;  /* our BYE is written completely */
    bool bye_acked;    /* the peer has acknowledged our BYE */
    bool bye_received; /* the peer's BYE arrived */
    bool ack_written;  /* our BYE_ACK is written completely */
    bool dead;         /* the stream is ended; why and text are set */
    bool left;         /* the peer closed the connection after its BYE */
    bool writing;      /* a thread writes, or is about to */
    bool stuck;        /* the writer has to send the remainder */
    strads_err why;
    char text[STI_TEXT_MAX];
    uint64_t parted_ns; /* when parting began */
    uint64_t part_by;   /* deadline of parting, set by sti_net_close only */
    sti_queued *first;
    sti_queued **last;
    uint32_t
        frames_queued; /* number of the next frame to send, see sti_header */

    /* Times of the net's clock. */
    uint64_t born_ns;
    _Atomic uint64_t received_ns, sent_ns;
    /* When the reader began to wait for the remainder of a frame, and the bytes
     * received since; 0: it is between two frames. */
    _Atomic uint64_t rest_ns, rest_bytes;
    atomic_bool delivering; /* the owner's callback runs: nothing is read */

    /* Used by the reader only, once it runs. */
    bool is_own; /* the peer is trusted: TLS, `insecure`, or the same user
                    (sti_ends_are_own) */
    uint32_t frames_begun; /* number of the next frame to receive */
    sti_frame *frame;      /* the frame with an incomplete payload */
    uint64_t filled;
    size_t ahead_begin, ahead_end;
    unsigned char ahead[STI_AHEAD_BYTES];
} sti_conn;

struct sti_net {
    sti_net_options options; /* defaults filled in, listen_url not used */
    sti_trust trust;
    sti_tls_context *tls; /* NULL: no certificates and no token */
    char url[STI_URL_MAX + 1];
    sti_url listens_at;
    sti_bell bell; /* wakes the housekeeping thread */
    pthread_t housekeeper;
    bool has_housekeeper;

    pthread_mutex_t lock;  /* guards the fields down to unclean_text */
    pthread_cond_t reaped; /* a connection was reaped */
    int listener;          /* -1: none */
    sti_conn **slots;      /* [STI_LINKS_MAX]; a link is serial * MAX + slot */
    uint32_t slots_used;   /* the highest slot in use, plus one */
    uint64_t serial;
    uint32_t conns;
    uint32_t strangers;
    uint32_t evicted;
    uint32_t expected; /* peers that may dial at the same time */
    bool closing;      /* no connection is added any more */
    bool stops;        /* the housekeeping thread shall end */
    bool unclean;      /* while closing, a link failed to close gracefully */
    char unclean_text[STI_TEXT_MAX]; /* the reason of that failure */

    /* Counts only time in which the housekeeping thread runs. If the process
     * was stopped or the machine slept, it advances by two ticks at most, so
     * that peers are not declared dead while this node did not read. */
    _Atomic uint64_t clock_ns;
    _Atomic uint32_t node;
    _Atomic uint64_t frames_sent, bytes_sent, frames_received, bytes_received;
    _Atomic uint64_t strangers_dropped;
};

/* ---- link.c ------------------------------------------------------------ */

/* Returns a link's connection and holds it until sti_conn_release; NULL if the
 * link has ended. */
sti_conn *sti_conn_acquire(sti_net *net, sti_link link);
void sti_conn_release(sti_conn *conn);

/* Ends a connection; the first reason is kept. */
void sti_conn_end(sti_conn *conn, strads_err why, const char *text);
bool sti_conn_is_dead(sti_conn *conn);

/* Last call of the reader: waits for the writer, reports the end, and lets the
 * housekeeping thread reap the connection. */
void sti_conn_finish(sti_conn *conn);

/* Removes a connection from the count of strangers. */
void sti_conn_is_known(sti_conn *conn);

/* Wakes the housekeeping thread. */
void sti_net_ring(sti_net *net);

/* ---- link_io.c --------------------------------------------------------- */

void *sti_conn_read_all(void *conn);    /* the reader's thread */
void *sti_conn_write_stuck(void *conn); /* the writer's thread */

/* Appends a frame of the transport to the queue: PING, BYE, BYE_ACK or REJECT.
 * STRADS_ENOMEM. */
strads_err sti_conn_send_control(sti_conn *conn, uint16_t kind,
                                 const void *bytes, uint64_t size);

/* Starts to part; `by` is a time of the net's clock. */
void sti_conn_part(sti_conn *conn, uint64_t by);

/* Frees queued frames after calling `sent` of each. */
void sti_queue_free(sti_queued *first);

#endif
