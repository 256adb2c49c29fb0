/* engine/net/retransmit.h - the frames for one other node, each kept until that
 * node has said that it has it: so a link may break, and the next one goes on
 * where the receiver is, with nothing lost and nothing twice.
 *
 * Frames are numbered 1, 2, 3, ... by their order alone: the receiver counts
 * what comes, over all links that it has had with this node. What is kept is
 * bounded; who wants to send more waits.
 *
 * Any thread, also in the transport's callbacks but for what waits. Its lock is
 * taken before the mesh's, and held while a frame is handed to the transport,
 * so that frames leave in the order of their numbers. */
#ifndef STI_RETRANSMIT_H
#define STI_RETRANSMIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/object.h"
#include "engine/net/link.h"
#include "engine/base/cursor.h"

enum {
    STI_RETRANSMIT_BYTES_MAX = 1 << 28
}; /* kept; a larger frame goes alone */

/* A frame. Allocated with malloc, perhaps as the head of something larger;
 * freed with its payload by whoever lets go of it last. */
typedef struct sti_retained {
    struct sti_retained *next;
    atomic_uint holders; /* the retransmit, and each sending under way */
    sti_header header;
    sti_writer payload; /* first this .. */
    sti_part rest;      /* .. then that, which lies .. */
    sti_object *object; /* .. in here; NULL: there is none */
    uint64_t size; /* set by the retransmit: header and payload, as it came */
    /* The transport has done with it: written, or its link was lost. Once for
     * each time that it was sent. May be NULL. */
    void (*written)(struct sti_retained *retained);
} sti_retained;

typedef struct sti_retransmit {
    sti_net *net;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* there is more room, or none any more */
    sti_link link;        /* 0: none yet; it may be one that is lost */
    bool closed;          /* the node is gone for good */
    sti_retained *first, **last;
    uint64_t bytes;     /* of those */
    uint64_t put;       /* the number of the last one */
    uint64_t put_bytes; /* of all of them */
    uint64_t seen;      /* the receiver has those up to this one */
} sti_retransmit;

void sti_retransmit_init(sti_retransmit *box, sti_net *net);
/* When nothing is sent any more, and the net is closed. */
void sti_retransmit_destroy(sti_retransmit *box);

/* Takes over a retained, whose holders it sets, and sends it, now or over the
 * next link. Waits for room up to `wait_ns`. STRADS_EPEER: the node is gone for
 * good. STRADS_ELIMIT: no room. Or what the transport says of a frame that it
 * does not take. */
strads_err sti_retransmit_put(sti_retransmit *box, sti_retained *retained,
                              uint64_t wait_ns);

/* Of all that was put. */
uint64_t sti_retransmit_put_bytes(sti_retransmit *box);

/* What is kept now. */
uint64_t sti_retransmit_bytes(sti_retransmit *box);

/* The receiver has all up to `seen`. False: that cannot be. */
bool sti_retransmit_seen(sti_retransmit *box, uint64_t seen);

/* Goes on over a link, behind frame number `seen`; `first`, unless it is NULL,
 * is sent before. False: that cannot be. A link older than the one that is used
 * is left alone. */
bool sti_retransmit_go_on(sti_retransmit *box, sti_link link, uint64_t seen,
                          const sti_outgoing *first);

/* Nothing is sent any more, and nobody waits. */
void sti_retransmit_close(sti_retransmit *box);

/* Waits until the receiver has everything, or is gone, or so long. */
void sti_retransmit_drain(sti_retransmit *box, uint64_t wait_ns);

#endif
