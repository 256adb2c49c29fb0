/* strads/peers.h - peers without a server: workers of a data-parallel program
 * that send their vectors to each other along a graph, and fold what has come
 * into their own (MALT: Li, Kadav, Kruus, Ungureanu, EuroSys 2015).
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
 * A peer is the session of one worker, its rank the worker's number, its
 * iteration the session's clock. Vectors go from peer to peer: a copy in one
 * process, a message between nodes; of the store the clocks alone are used. Of
 * each sender a receiver keeps the newest vectors that it has not read, one
 * unless it asks for more; none is ever seen in part.
 *
 * Where a node is lost and the run has a cut, it goes back to that, with all its
 * peers, on the nodes that are left. Without one the lost node's peers and rows
 * are lost, and the others go on from where they are: nothing rolls back. A peer hears of it in a gather; from then on whoever sent to
 * a lost peer sends to those that it sent to, so that all still reach all. Node 0,
 * which has the result, and nodes with shards cannot be missed. */
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

/* What a gather waits for, at iteration c. */
typedef enum strads_peers_mode {
    STRADS_PEERS_ASYNC = 0, /* nothing */
    STRADS_PEERS_SSP = 1,   /* a vector of iteration c - staleness or later from
                               each in-neighbour */
    STRADS_PEERS_BSP = 2 /* that of iteration c from each; and a scatter waits
                               until all peers have ended iteration c, so that
                               runs have the same bits wherever the peers are */
} strads_peers_mode;

#define STRADS_PEERS_QUEUE_MAX 8

typedef struct strads_peers_options {
    size_t size;
    /* Who sends to whom, the same for all peers; with N of them rank r sends to
     * r + o mod N, for the offsets o of
     *   "all"          1, 2, ..., N - 1
     *   "exponential"  1, 2, 4, ... below N (NULL means that)
     *   "halton"       N times 1/2, 1/4, 3/4, 1/8, 5/8, ..., rounded down: the
     *                  first ceil(log2 N) that differ and are not 0. Where these
     *                  leave some peers out of reach (N = 8: 4, 2, 6), the last
     *                  one is replaced by the next of the sequence with which
     *                  they do not (4, 2, 1)
     *   "ring"         1
     * or the path of a file of lines `FROM TO`, ranks from 0; `#` begins a
     * comment. */
    const char *graph;
    uint32_t length; /* numbers in a vector, at least 1 */
    bool sparse;     /* vectors are indices and values */
    uint32_t
        queue; /* vectors of a sender that wait to be read, at most: a newer
                        one replaces the oldest; 0: 1 */
    strads_peers_mode mode;
    uint32_t staleness; /* SSP: iterations */
} strads_peers_options;

/* Opens a peer on a session, which must outlive it; one a session, with the same
 * options on each. *out is the caller's to close. Does not block. STRADS_EINVAL:
 * an option, or a graph in which some peer cannot reach another one, by name.
 * STRADS_EIO, STRADS_EFORMAT: the graph's file. STRADS_ESTATE: the session has
 * peers. STRADS_ENOMEM. */
STRADS_API strads_err strads_peers_open(strads_session *session,
                                        const strads_peers_options *options,
                                        strads_peers **out);

/* Nobody waits for this peer any more; so it is, too, when its session is closed
 * or its loop fails. NULL is fine. */
STRADS_API void strads_peers_close(strads_peers *peers);

/* Sends a vector to all out-neighbours, as of this session's clock: value[length]
 * of dense peers; n values, those of index[n] below length, of sparse ones, each
 * index at most once. Copied. Blocks in BSP, and while a link's queue is full.
 * STRADS_EINVAL: the other kind of peers, an index. STRADS_ENOMEM; and over nodes
 * what has ended the run. */
STRADS_API strads_err strads_peers_scatter(strads_peers *peers,
                                           const double *value);
STRADS_API strads_err strads_peers_scatter_sparse(strads_peers *peers,
                                                  uint32_t n,
                                                  const uint32_t *index,
                                                  const double *value);

/* What another peer has sent. */
typedef struct strads_peers_vector {
    uint32_t peer;         /* its rank */
    uint64_t iteration;    /* its clock then */
    uint32_t n;            /* dense: length */
    const uint32_t *index; /* [n]; dense: NULL */
    const double *value;   /* [n] */
} strads_peers_vector;

/* Folds n vectors into into[length], by rank, a peer's in the order in which it
 * sent them. */
typedef strads_err (*strads_peers_fold)(void *arg, double *into, uint32_t n,
                                        const strads_peers_vector *in);

/* Folds all that has come and was not read into into[length]. NULL: by the mean,
 * each number that of into[j] and of the vectors that have j. How many there were
 * goes to *n (may be NULL). Blocks as the mode says, but for peers that have
 * left. Errors of `fold`; STRADS_EPEER: a vector of another length or kind;
 * STRADS_ENOMEM; and over nodes what has ended the run. */
STRADS_API strads_err strads_peers_gather(strads_peers *peers,
                                          strads_peers_fold fold, void *arg,
                                          double *into, uint32_t *n);

/* Whether a peer may still send something: false for one that was lost, or an
 * in-neighbour that had left, by the last gather. A barrier of all peers is
 * strads_session_barrier. */
STRADS_API bool strads_peers_alive(const strads_peers *peers, uint32_t rank);

/* The out-neighbours, ascending; their number goes to *n. Valid until the next
 * gather. */
STRADS_API const uint32_t *strads_peers_targets(const strads_peers *peers,
                                                uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
