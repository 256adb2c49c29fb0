/* engine/net/stream.h - the bytes of one connection, in both directions and in
 * order: a table of calls with an implementation for each kind of transport. A
 * link sends its frames through it, plain or as TLS (link_io.c).
 *
 * Threads: one thread receives, another one sends. Any thread may call `end`,
 * once or repeatedly; all calls are over before `free`. */
#ifndef STI_STREAM_H
#define STI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "engine/net/socket.h"
#include "strads/error.h"

typedef struct sti_stream sti_stream;

typedef struct sti_stream_calls {
    /* Performs what precedes the first byte; the receiving thread calls it
     * first. May block until `end`. NULL: nothing. STRADS_EIO, STRADS_EPEER:
     * the peer has not answered, or not as this transport requires. */
    strads_err (*open)(sti_stream *stream);

    /* Waits for bytes and receives up to the size of the pieces. Returns their
     * number; 0: the peer has closed its direction; -1 with errno. */
    ssize_t (*receive)(sti_stream *stream, const struct iovec *pieces,
                       size_t count);

    /* Sends the first bytes of the pieces, as many as fit. Returns their
     * number. If none fits, it waits for space if `may_wait`. -1 with errno:
     * EAGAIN: nothing fits now; otherwise the connection is broken. The bytes
     * that were not sent are the first ones of the next call. */
    ssize_t (*send)(sti_stream *stream, const struct iovec *pieces,
                    size_t count, bool may_wait);

    /* Ends both directions, or only the one to the peer. A thread that waits
     * in `receive`, `send` or `open` returns. Does not block. */
    void (*end)(sti_stream *stream, bool sending_only);

    /* Writes the addresses of both ends. Those of a proxy, if there is one. */
    void (*addresses)(const sti_stream *stream, sti_ends *out);

    void (*free)(sti_stream *stream);
} sti_stream_calls;

/* The first member of each implementation. */
struct sti_stream {
    const sti_stream_calls *calls;
};

/* Makes a stream of a connected socket, which it owns, also on failure.
 * STRADS_ENOMEM. */
strads_err sti_stream_of_socket(int fd, sti_stream **out);

#endif
