/* engine/net/link.h - this process's connections to other nodes.
 *
 * A net listens on one URL and holds any number of links. A link is one
 * connection that carries frames in both directions, in order. If the net has
 * certificates or a token, the connection begins with a handshake of TLS,
 * which authenticates both ends (tls.h). The dialling side then sends HELLO as
 * its first frame. Until then the connection is a *stranger* to the accepting
 * side, which drops it if another frame arrives or if the HELLO is late. Idle
 * links carry PINGs. A link is lost if its connection closes or if nothing
 * arrives for dead_ns. Bytes from a peer never end the process, and never make
 * it allocate more than the frame limit (STI_HELLO_LIMIT for a stranger).
 *
 * Threads. Every function may be called from any thread and from callbacks,
 * except sti_net_close, sti_net_dial and sti_net_probe: these block and must
 * not be called from a callback. Callbacks run on threads of the transport: one
 * at a time and in the order of events for one link, concurrently for different
 * links. While `received` runs, the transport does not read from that link. A
 * slow receiver thus slows the sender down. `received` may compute, but must
 * not wait for anything that depends on other frames.
 *
 * A link is identified by a number that is never reused. A call for a link that
 * has ended returns STRADS_EPEER, so that callers need no synchronisation with
 * its end. */
#ifndef STI_LINK_H
#define STI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "engine/net/socket.h"
#include "engine/net/trust.h"
#include "strads/error.h"

typedef struct sti_net sti_net;
typedef uint64_t sti_link; /* 0 is no link */

enum {
    STI_PARTS_MAX = 4,       /* payload parts of one frame */
    STI_SEND_COPY_MAX = 4096 /* payloads of up to this size are copied */
};

/* Callbacks to the net's owner. All except `received` may be NULL. The first
 * argument is `arg` of the options. */
typedef struct sti_net_events {
    /* A checked frame arrived: HELLO, WELCOME, REJECT or a message. The callee
     * owns the frame. The first frame of an accepted link is a HELLO. After it
     * the owner calls sti_net_bind or sti_net_part. */
    void (*received)(void *arg, sti_link link, sti_frame *frame);

    /* A link that was dialled, or that delivered its HELLO, has ended. Called
     * once, after the link's last `received`, whichever side ended it. `why`:
     * STRADS_OK: both sides sent BYE, and everything sent was read. STRADS_EIO:
     * the connection broke, or nothing arrived for dead_ns; a new connection
     * may succeed. STRADS_EPEER: the peer broke a rule, or did not answer BYE.
     * STRADS_ECANCELED: dropped by this side. STRADS_ENOMEM. `text` gives the
     * reason in a sentence and is valid during the call. */
    void (*lost)(void *arg, sti_link link, strads_err why, const char *text);

    /* A connection was dropped before its HELLO; for the log. */
    void (*stranger)(void *arg, const char *text);

    /* A connection cannot be accepted, for example because file descriptors are
     * exhausted. Repeated while the condition lasts. */
    void (*troubled)(void *arg, const char *text);
} sti_net_events;

typedef struct sti_net_options {
    const char *listen_url; /* NULL: tcp://127.0.0.1:0; "": do not listen yet */
    uint64_t frame_limit;   /* payload bytes; 0: 1 GiB */
    /* The payload limit of one kind, if below frame_limit. NULL: frame_limit
     * for all kinds. */
    uint64_t (*limit_of)(void *arg, uint16_t kind);
    uint64_t heartbeat_ns; /* silence before a PING; 0: 1 s */
    uint64_t dead_ns;      /* silence before a link is lost; at least
                              2 x heartbeat; 0: 5 x heartbeat */
    uint64_t hello_ns;     /* time for a stranger's HELLO; 0: 1 s */
    /* Which peers are accepted; copied. NULL: peers of the same user, over ipc
     * or the loopback only. */
    const sti_trust *trust;
    uint32_t node; /* this node's id; STI_NODE_NONE: not known yet
                      (sti_net_set_node) */
    /* Called between attempts to dial; true stops them. NULL: never stop. */
    bool (*gives_up)(void *arg);
    void *arg;
    sti_net_events events;
} sti_net_options;

/* Opens a net and starts to listen. The caller closes *out. STRADS_EINVAL: an
 * invalid option or URL, a URL of an unknown scheme, or a URL that other
 * machines can reach although there is no token. STRADS_EIO: cannot listen on
 * the URL, for example because the port is in use. STRADS_ENOMEM. Does not
 * block, except to resolve a host name. */
strads_err sti_net_open(const sti_net_options *options, sti_net **out);

/* Starts to listen, once, if the net was opened with "". Errors as
 * sti_net_open. */
strads_err sti_net_listen(sti_net *net, const char *url);

/* Returns the URL that the net listens on, with the actual port; "" if it does
 * not listen. Valid until sti_net_close. */
const char *sti_net_url(const sti_net *net);

/* Whether the net has certificates, so that nodes dial tls+tcp:// addresses. */
bool sti_net_has_certificates(const sti_net *net);

/* Sets header.from of PINGs and BYEs that the transport sends. */
void sti_net_set_node(sti_net *net, uint32_t node);

/* Raises the limits for strangers, so that `peers` nodes can dial this net at
 * the same time from one address. A smaller value than before has no effect. */
void sti_net_expect(sti_net *net, uint32_t peers);

/* Connects to another net's URL and performs TLS's handshake, if any. Retries
 * until `timeout_ns` has passed: the other process may start later, or evict
 * this connection because too many arrive at once. A refused handshake is
 * repeated twice, because a bit may have changed on the way. The caller sends
 * HELLO next.
 * Events of the link may arrive before this returns. Blocks. STRADS_EINVAL: an
 * invalid URL, a URL that needs a token, or ws:// without nng. STRADS_EIO: no
 * answer; the sentence names URL and cause. STRADS_EMISMATCH: the tokens
 * differ, one side has none, or one side does not accept the other's
 * certificate (of wss://, a proxy's). STRADS_ECANCELED: `gives_up` returned
 * true. STRADS_ESTATE: the net is closing. STRADS_ENOMEM. */
strads_err sti_net_dial(sti_net *net, const char *url, uint64_t timeout_ns,
                        sti_link *out);

/* Checks whether a process listens at a URL: connects once and sends nothing.
 * STRADS_EPEER: the machine refused the connection, or the ipc file is gone.
 * Over ws and wss it is not known then: STRADS_EIO. STRADS_EIO: no answer
 * within 2 s, or another failure. STRADS_EINVAL. Blocks. */
strads_err sti_net_probe(const char *url);

/* Declares that the peer of a link is `node`. From now on it may send messages
 * (an accepted link), and a frame with another header.from is a breach.
 * STRADS_EPEER: the link has ended. */
strads_err sti_net_bind(sti_net *net, sti_link link, uint32_t node);

/* A frame to send. The payload is copied if `sent` is NULL or if it has at most
 * STI_SEND_COPY_MAX bytes. Otherwise its parts must not change until `sent` was
 * called with `sent_arg`. If sti_net_send succeeds, `sent` is called once, also
 * if the link is lost: on any thread, possibly before sti_net_send returns. If
 * sti_net_send fails, `sent` is not called. The transport fills in header.size
 * and header.checksum. */
typedef struct sti_outgoing {
    sti_header header;
    sti_part parts[STI_PARTS_MAX];
    unsigned part_count;
    void (*sent)(void *sent_arg);
    void *sent_arg;
} sti_outgoing;

/* Queues a frame. Frames that one thread sends on a link arrive in order. The
 * queue is unbounded: the owner limits the amount that it sends. STRADS_ELIMIT:
 * the payload exceeds the frame limit. STRADS_EPEER: the link has ended or is
 * being closed. STRADS_EINVAL: too many parts, or a kind that is reserved for
 * the transport. STRADS_ENOMEM. Does not block. */
strads_err sti_net_send(sti_net *net, sti_link link, const sti_outgoing *frame);

/* Closes a link gracefully, for example after a REJECT: sends the queued frames
 * and BYE, waits for the peer's BYE (5 x hello_ns without progress), then calls
 * `lost`. Has no effect if the link has ended. Does not block. */
void sti_net_part(sti_net *net, sti_link link);

/* Ends a link at once and discards queued frames. `lost` reports `text`. Has no
 * effect if the link has ended. Does not block. */
void sti_net_drop(sti_net *net, sti_link link, const char *text);

/* Writes `url` as reachable from this node: a wildcard host (0.0.0.0 or [::])
 * is replaced by the address of the link's peer. `out` has STI_URL_MAX + 1
 * bytes. STRADS_EPEER: the link has ended. STRADS_EINVAL. */
strads_err sti_net_seen_url(sti_net *net, sti_link link, const char *url,
                            char *out);

/* Writes the local address of the link's socket; "" over ipc. `host` has
 * STI_HOST_MAX + 1 bytes. STRADS_EPEER: the link has ended. */
strads_err sti_net_own_host(sti_net *net, sti_link link, char *host);

/* Counts of all links so far, including headers and PINGs. */
typedef struct sti_net_counts {
    uint64_t frames_sent, bytes_sent;
    uint64_t frames_received, bytes_received;
    uint64_t strangers; /* dropped before HELLO */
} sti_net_counts;
void sti_net_count(const sti_net *net, sti_net_counts *out);

/* Stops accepting, closes every link as sti_net_part does, so that nothing that
 * either side has sent is lost, and frees the net. After timeout_ns it drops
 * the remaining links and returns STRADS_EPEER; the net is freed nevertheless.
 * `received` and `lost` are called while it runs, but not after it has
 * returned: it waits for running callbacks. NULL is allowed. Blocks for about
 * timeout_ns at most. */
strads_err sti_net_close(sti_net *net, uint64_t timeout_ns);

#endif
