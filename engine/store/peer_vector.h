/* engine/store/peer_vector.h - vectors that peers (strads/peers.h) send each
 * other, and the queue that holds them until they are read. The lock that
 * guards the receiver's clocks guards the queue: in a store of one process, or
 * in a node's client. */
#ifndef STI_STORE_PEER_VECTOR_H
#define STI_STORE_PEER_VECTOR_H

#include "engine/base/object.h"
#include "strads/peers.h"

/* A packed vector is a buffer: this header, then value[n] and, if sparse,
 * index[n]. */
typedef struct sti_peer_vector {
    uint32_t sender; /* its rank */
    uint32_t n;
    uint32_t sparse; /* 0 or 1 */
    uint32_t queue;  /* as in strads_peers_options */
    /* STI_PEER_LEFT: the last message of this sender; STI_PEER_LOST: the same,
     * because the sender failed */
    uint64_t iteration;
} sti_peer_vector;

#define STI_PEER_LEFT UINT64_MAX
#define STI_PEER_LOST (UINT64_MAX - 1)

static inline const sti_peer_vector *
sti_peer_vector_of(const sti_buffer *packed)
{
    return (const sti_peer_vector *)(const void *)packed->bytes;
}

/* Whether the whole buffer is a valid packed vector. */
bool sti_peer_vector_fits(const sti_buffer *packed);

/* The part of a receiver's queue that belongs to one sender. */
typedef struct sti_receive_slot {
    uint64_t reached; /* 1 + the newest iteration received; 0: none */
    bool lost;
    uint32_t n;
    sti_buffer *unread[STRADS_PEERS_QUEUE_MAX]; /* [n] oldest first */
} sti_receive_slot;

/* The queue of one receiver; zeroed: empty. */
typedef struct sti_receive_queue {
    uint32_t senders;
    sti_receive_slot *slot; /* [senders] */
    uint32_t n_lost;        /* number of lost senders */
    bool waits;             /* the receiver waits for the next vector */
} sti_receive_queue;

/* Adds a vector; takes over the reference, also on failure. STRADS_EPEER: the
 * sender is not below `senders`. STRADS_ENOMEM. */
strads_err sti_receive_queue_put(sti_receive_queue *received, uint32_t senders,
                                 sti_buffer *packed);
void sti_receive_queue_free(sti_receive_queue *received);

/* A gather: all unread vectors of n senders. */
typedef struct sti_collect {
    uint32_t n;
    const uint32_t *from; /* [n] */
    /* [n] the gather does not wait for this sender's first vector */
    const bool *late;
    /* the gather waits for this iteration or a later one of each sender */
    uint64_t needs;
    bool *left; /* [n] whether the sender has left */
    /* [n x STRADS_PEERS_QUEUE_MAX] owned by the caller afterwards */
    sti_buffer **packed;
    uint32_t n_vectors;
    bool *lost; /* [senders] */
    uint32_t n_lost;
} sti_collect;

/* False: the caller must wait; nothing has been taken. */
bool sti_receive_queue_take(sti_receive_queue *received, sti_collect *collect);

/* The session closes: notifies all peers. */
void sti_peers_leave(strads_peers *peers);

#endif
