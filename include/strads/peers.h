/* strads/peers.h - peers without a server: workers of a data-parallel program
 * send their vectors to each other along a graph and fold received vectors into
 * their own (MALT: Li, Kadav, Kruus, Ungureanu, EuroSys 2015).
 *
 *     strads_peers_open(session, &options, &peers);
 *     while (!strads_loop_ends(task)) {
 *         ... some examples change w ...
 *         strads_session_clock(session);
 *         strads_peers_scatter(peers, w);
 *         strads_peers_gather(peers, NULL, NULL, w, NULL);
 *     }
 *     strads_peers_close(peers);
 *
 * A peer is the session of one worker: its rank is the worker's number, its
 * iteration the session's clock. A vector travels from peer to peer, by a copy
 * within a process and by a message between nodes. A receiver keeps the newest
 * unread vectors of each sender, one by default. A vector is always seen whole.
 *
 * If a node is lost and the run has a checkpoint, all peers continue from it on
 * the remaining nodes. Without a checkpoint the lost node's peers and rows are
 * lost, and the others continue from their present state. A peer learns of the
 * loss in a gather. From then on, a peer that sent to a lost one sends to the
 * lost one's targets, so that every peer still reaches every other. Node 0,
 * which has the result, and nodes with shards must survive. */
#ifndef STRADS_PEERS_H
#define STRADS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strads_peers strads_peers;

/* The condition that a gather waits for, at iteration c. */
typedef enum strads_peers_mode {
    STRADS_PEERS_ASYNC = 0, /* nothing */
    STRADS_PEERS_SSP = 1,   /* a vector of iteration c - staleness or later from
                               each in-neighbour */
    STRADS_PEERS_BSP = 2 /* the vector of iteration c from each in-neighbour; a
                               scatter waits until all peers have ended
                               iteration c, so that the bits do not depend on
                               where the peers are */
} strads_peers_mode;

#define STRADS_PEERS_QUEUE_MAX 8

typedef struct strads_peers_options {
    size_t size;
    /* The graph, equal on all peers. With N peers, rank r sends to r + o mod N
     * for the offsets o of
     *   "all"          1, 2, ..., N - 1
     *   "exponential"  1, 2, 4, ... below N (the default, NULL)
     *   "halton"       N times 1/2, 1/4, 3/4, 1/8, 5/8, ..., rounded down: the
     *                  first ceil(log2 N) distinct ones above 0. If some peers
     *                  are then unreachable (N = 8: 4, 2, 6), the next element
     *                  of the sequence that connects all replaces the last one
     *                  (4, 2, 1)
     *   "ring"         1
     * or the path of a file with lines `FROM TO`, ranks from 0; `#` starts a
     * comment. */
    const char *graph;
    uint32_t length; /* numbers in a vector, at least 1 */
    bool sparse;     /* vectors are indices and values */
    /* The most unread vectors of a sender; a newer one replaces the oldest.
     * 0: 1. */
    uint32_t queue;
    strads_peers_mode mode;
    uint32_t staleness; /* SSP: iterations */
} strads_peers_options;

/* Opens a peer on a session, which must outlive it: one peer a session, with
 * equal options on all. The caller closes *out. Does not block. STRADS_EINVAL:
 * an option, or a graph in which a peer cannot reach another; the sentence
 * names both. STRADS_EIO, STRADS_EFORMAT: the graph's file. STRADS_ESTATE: the
 * session has a peer. STRADS_ENOMEM. */
STRADS_API strads_err strads_peers_open(strads_session *session,
                                        const strads_peers_options *options,
                                        strads_peers **out);

/* Closes a peer: other peers no longer wait for it. The end of its session and
 * a failure of its loop have the same effect. NULL is allowed. */
STRADS_API void strads_peers_close(strads_peers *peers);

/* Send a vector to all out-neighbours, stamped with this session's clock: dense
 * peers send value[length], sparse peers n values at index[n], below length,
 * each index at most once. The arrays are copied. Blocks in BSP mode, and while
 * a link's queue is full. STRADS_EINVAL: the wrong kind of peer, or an index.
 * STRADS_ENOMEM. On several nodes also the error that ended the run. */
STRADS_API strads_err strads_peers_scatter(strads_peers *peers,
                                           const double *value);
STRADS_API strads_err strads_peers_scatter_sparse(strads_peers *peers,
                                                  uint32_t n,
                                                  const uint32_t *index,
                                                  const double *value);

/* A vector from another peer. */
typedef struct strads_peers_vector {
    uint32_t peer;         /* its rank */
    uint64_t iteration;    /* its clock then */
    uint32_t n;            /* dense: length */
    const uint32_t *index; /* [n]; dense: NULL */
    const double *value;   /* [n] */
} strads_peers_vector;

/* Folds n vectors into into[length]. They are ordered by rank, and those of a
 * peer in the order of sending. */
typedef strads_err (*strads_peers_fold)(void *arg, double *into, uint32_t n,
                                        const strads_peers_vector *in);

/* Folds all unread vectors into into[length]. Without `fold` (NULL) each number
 * becomes the mean of into[j] and of the vectors that have j. The number of
 * vectors goes to *n (may be NULL). Blocks as the mode states, except for peers
 * that have left. Returns errors of `fold`. STRADS_EPEER: a vector of another
 * length or kind. STRADS_ENOMEM. On several nodes also the error that ended the
 * run. */
STRADS_API strads_err strads_peers_gather(strads_peers *peers,
                                          strads_peers_fold fold, void *arg,
                                          double *into, uint32_t *n);

/* Returns whether a peer may still send vectors: false if it was lost, or if it
 * is an in-neighbour that had left by the last gather. strads_session_barrier
 * is a barrier of all peers. */
STRADS_API bool strads_peers_alive(const strads_peers *peers, uint32_t rank);

/* Returns the out-neighbours, ascending; their number goes to *n. Valid until
 * the next gather. */
STRADS_API const uint32_t *strads_peers_targets(const strads_peers *peers,
                                                uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
