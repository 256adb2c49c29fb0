/* Streams over sockets: tcp and ipc. The kernel keeps all state. */
#include "engine/net/stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct socket_stream {
    sti_stream stream;
    int fd;
} socket_stream;

static ssize_t socket_receive(sti_stream *stream, const struct iovec *pieces,
                              size_t count)
{
    const socket_stream *s = (const socket_stream *)stream;
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                             .msg_iovlen = count};
    ssize_t n;
    do
        n = recvmsg(s->fd, &message, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t socket_send(sti_stream *stream, const struct iovec *pieces,
                           size_t count, bool may_wait)
{
    const socket_stream *s = (const socket_stream *)stream;
    const struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                                   .msg_iovlen = count};
    ssize_t n;
    do
        n = sendmsg(s->fd, &message,
                    MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    return n;
}

static void socket_end(sti_stream *stream, bool sending_only)
{
    const socket_stream *s = (const socket_stream *)stream;
    (void)shutdown(s->fd, sending_only ? SHUT_WR : SHUT_RDWR);
}

static void socket_addresses(const sti_stream *stream, sti_ends *out)
{
    sti_socket_ends(((const socket_stream *)stream)->fd, out);
}

static void socket_free(sti_stream *stream)
{
    socket_stream *s = (socket_stream *)stream;
    (void)close(s->fd);
    free(s);
}

static const sti_stream_calls socket_calls = {
    .receive = socket_receive,
    .send = socket_send,
    .end = socket_end,
    .addresses = socket_addresses,
    .free = socket_free,
};

strads_err sti_stream_of_socket(int fd, sti_stream **out)
{
    socket_stream *s = calloc(1, sizeof *s);
    if (!s) {
        (void)close(fd);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    s->stream.calls = &socket_calls;
    s->fd = fd;
    sti_socket_tune(fd);
    *out = &s->stream;
    return STRADS_OK;
}
