/* engine/net/link.h - this process's connections to other nodes.
 *
 * A net listens on one URL and holds any number of links, each one connection
 * over which frames travel both ways, in order. Over tls+tcp:// both ends first
 * show certificates (tls.h). Where there is a token, both
 * ends prove that they have it, and from then on each frame is tagged
 * (secret.h). Whoever dials then sends HELLO as its first frame; whoever accepts drops a stranger that sends anything else,
 * or nothing in time. Idle links carry PINGs; a link on which nothing arrives
 * for dead_ns, or whose connection closes, is lost. No byte that a peer sends
 * ends the process, and none makes it allocate more than the frame limit
 * (STI_HELLO_LIMIT for a stranger).
 *
 * Threads. Every function may be called from any thread, also from the
 * callbacks, except sti_net_close, sti_net_dial and sti_net_probe, which block
 * and must not be called from a callback. Callbacks run on threads of the
 * transport: for one link never two at once and in the order of events, for
 * different links concurrently. While `received` runs nothing more is read from
 * that link, which is how a slow receiver holds a fast sender back: it may
 * work, but must not wait for anything that other frames bring.
 *
 * A link is named by a number that is never used twice; a call on one that is
 * gone returns STRADS_EPEER, so that no caller has to win a race. */
#ifndef STI_LINK_H
#define STI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "engine/net/secret.h"
#include "engine/net/socket.h"
#include "strads/error.h"

typedef struct sti_net sti_net;
typedef uint64_t sti_link; /* 0 is no link */

enum {
    STI_PARTS_MAX = 4,       /* payload parts of one frame */
    STI_SEND_COPY_MAX = 4096 /* payloads up to here are always copied */
};

/* What a net tells its owner; each slot but `received` may be NULL. `arg` of
 * the options comes first. */
typedef struct sti_net_events {
    /* A frame arrived: HELLO, WELCOME, REJECT or a message, checked. The
     * callee owns one reference. The first of an accepted link is a HELLO;
     * after it the owner binds, or parts with, the link. */
    void (*received)(void *arg, sti_link link, sti_frame *frame);

    /* A link that the owner knows (dialled, or its HELLO was received) is
     * gone, whoever ended it; called once, after its last `received`. `why` is
     * STRADS_OK when both sides said BYE (everything sent was read), otherwise
     * STRADS_EIO (the connection broke, or nothing came for dead_ns: it may be
     * worth another one), STRADS_EPEER (the peer broke a rule, or did not
     * answer a goodbye), STRADS_ECANCELED (dropped here) or STRADS_ENOMEM;
     * `text` says it in a sentence and is valid during the call. */
    void (*lost)(void *arg, sti_link link, strads_err why, const char *text);

    /* A connection that never said HELLO was dropped; for the log. */
    void (*stranger)(void *arg, const char *text);

    /* Somebody cannot be accepted, for want of file descriptors, say. Comes
     * again as long as it lasts. */
    void (*troubled)(void *arg, const char *text);
} sti_net_events;

typedef struct sti_net_options {
    const char *listen_url; /* NULL: tcp://127.0.0.1:0; "": do not listen yet */
    uint64_t frame_limit;   /* payload bytes; 0: 1 GiB */
    /* Of one kind; less than frame_limit counts. NULL: frame_limit for all. */
    uint64_t (*limit_of)(void *arg, uint16_t kind);
    uint64_t heartbeat_ns; /* a PING after so much silence; 0: 1 s */
    uint64_t dead_ns;      /* lost after so much; 0: 5 x heartbeat; at least
                              2 x heartbeat */
    uint64_t hello_ns;     /* a stranger's time to say HELLO; 0: 1 s */
    /* Who is let in, copied. NULL: whoever reaches an address of this machine
     * alone, and no address of another kind. */
    const sti_trust *trust;
    uint32_t node; /* this node's id; STI_NODE_NONE when a WELCOME
                              will tell (sti_net_set_node) */
    /* Asked between two tries to dial whether to stop trying. NULL: never. */
    bool (*gives_up)(void *arg);
    void *arg;
    sti_net_events events;
} sti_net_options;

/* Opens a net and starts to listen; *out is the caller's to close.
 * STRADS_EINVAL: an option, or a URL that is none or of another scheme (the
 * sentence says which are known), or one that other machines reach without a
 * token. STRADS_EIO: the URL cannot be listened on,
 * for one because the port is in use. STRADS_ENOMEM. Does not block, but for
 * resolving a host name. */
strads_err sti_net_open(const sti_net_options *options, sti_net **out);

/* Starts to listen, once, where the net does not yet. Errors as above. */
strads_err sti_net_listen(sti_net *net, const char *url);

/* The URL that it really listens on (the port filled in); "" when it does not.
 * Valid until sti_net_close. */
const char *sti_net_url(const sti_net *net);

/* What a PING or BYE of this process says in `from`, once it is known. */
void sti_net_set_node(sti_net *net, uint32_t node);

/* So many peers may dial this net at the same time, all from one address: its
 * limits for connections without a HELLO allow for that. The largest counts. */
void sti_net_expect(sti_net *net, uint32_t peers);

/* Connects to another net's URL, trying again until `timeout_ns` has passed
 * (the other process may start later, or evict this connection because too many
 * arrive at once), and proves the token if there is one. The caller sends HELLO
 * next. Events of the link may come before this returns.
 * Blocks.
 * STRADS_EINVAL: the URL, or one that needs a token. STRADS_EIO: nobody
 * answered; the sentence names URL and cause. STRADS_EMISMATCH: it has another
 * token, or none, or the certificate of one end is not acceptable to the other.
 * STRADS_ECANCELED: the owner gave up. STRADS_ESTATE: the net is
 * closing. STRADS_ENOMEM. */
strads_err sti_net_dial(sti_net *net, const char *url, uint64_t timeout_ns,
                        sti_link *out);

/* Does anybody listen at a URL? One try, without a word. STRADS_EPEER: that
 * machine says that nobody does. STRADS_EIO: no answer for some seconds, or no
 * way there. STRADS_EINVAL, STRADS_ENOMEM. Blocks. */
strads_err sti_net_probe(const char *url);

/* Says that the peer of a link is `node`: from now on it may send messages (an
 * accepted link), and a frame whose header.from is another node is a breach.
 * STRADS_EPEER: the link is gone. */
strads_err sti_net_bind(sti_net *net, sti_link link, uint32_t node);

/* A frame to be sent. Where `sent` is NULL, and up to STI_SEND_COPY_MAX bytes,
 * the payload is copied; otherwise its parts must stay as they are until `sent`
 * has been called with `sent_arg`. It is called once, on any thread, also when
 * the link is lost, also before sti_net_send returns; never when that fails.
 * header.size and header.checksum are filled in. */
typedef struct sti_outgoing {
    sti_header header;
    sti_part parts[STI_PARTS_MAX];
    unsigned part_count;
    void (*sent)(void *sent_arg);
    void *sent_arg;
} sti_outgoing;

/* Queues a frame. Frames that one thread sends on a link arrive in order. The
 * queue has no limit: the owner bounds what it sends.
 * STRADS_ELIMIT: the payload is over the frame limit. STRADS_EPEER: the link is
 * gone or parting. STRADS_EINVAL: too many parts or a kind that the transport
 * keeps. STRADS_ENOMEM. Does not block. */
strads_err sti_net_send(sti_net *net, sti_link link, const sti_outgoing *frame);

/* Ends a link in good order: what is queued is sent, then BYE, and the peer's
 * BYE is awaited (5 x hello_ns); then `lost` comes. After a REJECT,
 * say. A link that is gone already is fine. Does not block. */
void sti_net_part(sti_net *net, sti_link link);

/* Ends a link at once; `text` is what `lost` reports. What is queued is thrown
 * away. A link that is gone already is fine. Does not block. */
void sti_net_drop(sti_net *net, sti_link link, const char *text);

/* `url` as seen from this node: where its host is a wildcard (0.0.0.0 or
 * [::]), the address from which the link's peer came. `out` has
 * STI_URL_MAX + 1 bytes. STRADS_EPEER: the link is gone. STRADS_EINVAL. */
strads_err sti_net_seen_url(sti_net *net, sti_link link, const char *url,
                            char *out);

/* The address of this machine that the link goes out from, "" over ipc. `host`
 * has STI_HOST_MAX + 1 bytes. STRADS_EPEER: the link is gone. */
strads_err sti_net_own_host(sti_net *net, sti_link link, char *host);

/* What went over all links so far, headers and PINGs included. */
typedef struct sti_net_counts {
    uint64_t frames_sent, bytes_sent;
    uint64_t frames_received, bytes_received;
    uint64_t strangers; /* dropped before HELLO */
} sti_net_counts;
void sti_net_count(const sti_net *net, sti_net_counts *out);

/* Shuts down in good order: stops accepting, parts with every link as
 * sti_net_part does, so that nothing that either side has sent is lost, and
 * frees the net. Links that have not finished after timeout_ns are dropped:
 * STRADS_EPEER then, the net is freed all the same. `received` and `lost` are
 * still called while it runs, and never after it has returned; it waits for
 * callbacks that run. NULL is fine. Blocks for about timeout_ns at most. */
strads_err sti_net_close(sti_net *net, uint64_t timeout_ns);

#endif
