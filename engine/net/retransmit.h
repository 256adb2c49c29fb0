/* engine/net/retransmit.h - retransmit queue of one other node. It keeps each
 * frame until the node acknowledges it. If a link breaks, the next link resumes
 * after the receiver's last frame, so that no frame is lost or repeated.
 *
 * A frame's number is its position in the queue's history: 1, 2, 3, ... It is
 * not transmitted. The receiver counts the frames of all its links with this
 * node. The kept bytes are bounded; a sender waits when the queue is full.
 *
 * Any thread. Calls that do not wait are allowed in the transport's callbacks.
 * The queue's lock is taken before the mesh's. It is held while a frame is
 * passed to the transport, so that frames leave in the order of their
 * numbers. */
#ifndef STI_RETRANSMIT_H
#define STI_RETRANSMIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/object.h"
#include "engine/net/link.h"
#include "engine/base/cursor.h"

enum {
    STI_RETRANSMIT_BYTES_MAX = 1 << 28
}; /* kept bytes; a larger frame is accepted when the queue is empty */

/* A kept frame. Allocated with malloc, possibly as the first member of a larger
 * struct. The last holder frees it with its payload. */
typedef struct sti_retained {
    struct sti_retained *next;
    atomic_uint holders; /* the queue, and each send in progress */
    sti_header header;
    sti_writer payload; /* first part of the payload */
    sti_part rest;      /* second part, which lies in `object` */
    sti_object *object; /* NULL: no second part */
    uint64_t size;      /* of header and payload; set by the queue */
    /* Called each time the transport is finished with the frame: it was
     * written, or its link was lost. May be NULL. */
    void (*written)(struct sti_retained *retained);
} sti_retained;

typedef struct sti_retransmit {
    sti_net *net;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t moved; /* frames were freed, or the queue was closed */
    sti_link link;        /* 0: none yet; it may have been lost */
    bool closed;          /* the node is lost for good */
    sti_retained *first, **last;
    uint64_t bytes;     /* of the kept frames */
    uint64_t put;       /* number of the last frame */
    uint64_t put_bytes; /* of all frames so far */
    uint64_t seen;      /* number of the last acknowledged frame */
} sti_retransmit;

void sti_retransmit_init(sti_retransmit *box, sti_net *net);
/* Requires that sending has ended and the net is closed. */
void sti_retransmit_destroy(sti_retransmit *box);

/* Takes over `retained`, sets its holders, and sends it, now or over the next
 * link. If the queue is full, it waits up to `wait_ns`. STRADS_EPEER: the node
 * is lost for good. STRADS_ELIMIT: the queue is still full. Otherwise errors as
 * sti_net_send. */
strads_err sti_retransmit_put(sti_retransmit *box, sti_retained *retained,
                              uint64_t wait_ns);

/* Returns the bytes of all frames so far. */
uint64_t sti_retransmit_put_bytes(sti_retransmit *box);

/* Returns the bytes of the kept frames. */
uint64_t sti_retransmit_bytes(sti_retransmit *box);

/* Frees the frames up to number `seen`. False: `seen` is below an earlier
 * acknowledgement, or above the last frame. */
bool sti_retransmit_seen(sti_retransmit *box, uint64_t seen);

/* Resumes over a link after frame number `seen`; sends `first`, if not NULL,
 * before. False: as sti_retransmit_seen, or the transport has failed. A link
 * that is older than the current one is ignored. */
bool sti_retransmit_go_on(sti_retransmit *box, sti_link link, uint64_t seen,
                          const sti_outgoing *first);

/* Frees all frames and refuses new ones; waiting senders return. */
void sti_retransmit_close(sti_retransmit *box);

/* Waits until the receiver has acknowledged all frames, the queue is closed, or
 * wait_ns has passed. */
void sti_retransmit_drain(sti_retransmit *box, uint64_t wait_ns);

#endif
