/* engine/store/peer_vector.h - what peers (strads/peers.h) send each other, and the
 * queue where it lies until it is read. The queue belongs to whoever guards the
 * receiver's clocks: a store of one process, or a node's client. */
#ifndef STI_STORE_PEER_VECTOR_H
#define STI_STORE_PEER_VECTOR_H

#include "engine/base/object.h"
#include "strads/peers.h"

/* Packed, it is a buffer: this, then value[n] and, of sparse ones, index[n]. */
typedef struct sti_peer_vector {
    uint32_t sender; /* its rank */
    uint32_t n;
    uint32_t sparse;    /* 0 or 1 */
    uint32_t queue;     /* as in strads_peers_options */
    uint64_t iteration; /* STI_PEER_LEFT: nothing more will come; STI_PEER_LOST:
                           nor was it its will */
} sti_peer_vector;

#define STI_PEER_LEFT UINT64_MAX
#define STI_PEER_LOST (UINT64_MAX - 1)

static inline const sti_peer_vector *
sti_peer_vector_of(const sti_buffer *packed)
{
    return (const sti_peer_vector *)(const void *)packed->bytes;
}

/* Is it one, in all its bytes? */
bool sti_peer_vector_fits(const sti_buffer *packed);

/* A sender's part of a receiver's queue. */
typedef struct sti_receive_slot {
    uint64_t reached; /* 1 + the iteration of the newest that came; 0: none */
    bool lost;
    uint32_t n;
    sti_buffer *unread[STRADS_PEERS_QUEUE_MAX]; /* [n] oldest first */
} sti_receive_slot;

/* Of one receiver; zeroed: empty. */
typedef struct sti_receive_queue {
    uint32_t senders;
    sti_receive_slot *slot; /* [senders] */
    uint32_t n_lost;        /* of the senders */
    bool waits;             /* the receiver, for what comes next */
} sti_receive_queue;

/* Takes over the reference, whatever happens. STRADS_EPEER: a sender that is not
 * below `senders`. STRADS_ENOMEM. */
strads_err sti_receive_queue_put(sti_receive_queue *received, uint32_t senders,
                                 sti_buffer *packed);
void sti_receive_queue_free(sti_receive_queue *received);

/* What a gather wants: all unread of n senders. */
typedef struct sti_collect {
    uint32_t n;
    const uint32_t *from; /* [n] */
    const bool *late;     /* [n] it needs nothing of it before its first */
    uint64_t needs;       /* of each, this iteration or a later one */
    bool *left;           /* [n] has it? */
    sti_buffer **packed;  /* [n x STRADS_PEERS_QUEUE_MAX] the caller's then */
    uint32_t n_vectors;
    bool *lost; /* [senders] */
    uint32_t n_lost;
} sti_collect;

/* False: it is to wait, and nothing has been taken. */
bool sti_receive_queue_take(sti_receive_queue *received, sti_collect *collect);

/* The session is closed: all are told. */
void sti_peers_leave(strads_peers *peers);

#endif
