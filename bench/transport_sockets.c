/* Sockets, nng's streams and its message sockets, as bench_transport measures
 * them: calls that block. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nng/nng.h>
#include <nng/protocol/pair1/pair.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/transport.h"

static void must_nng(int rv, const char *what)
{
    if (rv != 0) {
        fprintf(stderr, "bench_transport: %s: %s\n", what, nng_strerror(rv));
        _exit(1);
    }
}

/* ---- raw sockets ------------------------------------------------------ */

static int raw_socket(const char *path)
{
    int fd = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    transport_must(fd >= 0, "socket");
    if (path == NULL) {
        int on = 1;
        transport_must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
                                  sizeof on) == 0,
                       "TCP_NODELAY");
    }
    return fd;
}

static socklen_t raw_address(struct sockaddr_storage *to, const char *path,
                             int port)
{
    memset(to, 0, sizeof *to);
    if (path != NULL) {
        struct sockaddr_un *un = (struct sockaddr_un *)to;
        un->sun_family = AF_UNIX;
        (void)snprintf(un->sun_path, sizeof un->sun_path, "%s", path);
        return sizeof *un;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)to;
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port);
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof *in;
}

static void raw_serve(channel *c, const char *path, int tell)
{
    struct sockaddr_storage at;
    socklen_t length = raw_address(&at, path, 0);
    int listener = raw_socket(path);
    transport_must(bind(listener, (struct sockaddr *)&at, length) == 0, "bind");
    transport_must(listen(listener, 1) == 0, "listen");
    struct sockaddr_in in = {0};
    length = sizeof in;
    if (path == NULL)
        transport_must(getsockname(listener, (struct sockaddr *)&in, &length) ==
                           0,
                       "getsockname");
    transport_tell_port(tell, ntohs(in.sin_port));
    c->fd = accept(listener, NULL, NULL);
    transport_must(c->fd >= 0, "accept");
}

static void raw_dial(channel *c, const char *path, int port)
{
    struct sockaddr_storage at;
    socklen_t length = raw_address(&at, path, port);
    c->fd = raw_socket(path);
    transport_must(connect(c->fd, (struct sockaddr *)&at, length) == 0,
                   "connect");
}

static void raw_send(channel *c, const void *bytes, size_t count)
{
    for (const char *at = bytes; count > 0;) {
        ssize_t n = write(c->fd, at, count);
        transport_must(n > 0, "write");
        at += n;
        count -= (size_t)n;
    }
}

static void raw_recv(channel *c, void *bytes, size_t count)
{
    for (char *at = bytes; count > 0;) {
        ssize_t n = read(c->fd, at, count);
        transport_must(n > 0, "read");
        at += n;
        count -= (size_t)n;
    }
}

const method transport_raw = {.name = "raw",
                              .serve = raw_serve,
                              .dial = raw_dial,
                              .send = raw_send,
                              .recv = raw_recv,
                              .answer = transport_answer,
                              .ask = transport_ask};

/* ---- nng byte streams -------------------------------------------------- */

static void stream_opened(channel *c)
{
    c->stream = nng_aio_get_output(c->aio, 0);
    /* nng's streams start with Nagle's delay on, its sockets with it off. */
    (void)nng_stream_set_bool(c->stream, NNG_OPT_TCP_NODELAY, true);
}

static void stream_serve(channel *c, const char *path, int tell)
{
    nng_stream_listener *listener = NULL;
    char url[160];
    int port = 0;
    transport_make_url(url, path, 0);
    must_nng(nng_aio_alloc(&c->aio, NULL, NULL), "aio");
    must_nng(nng_stream_listener_alloc(&listener, url), "listener");
    must_nng(nng_stream_listener_listen(listener), "listen");
    if (path == NULL)
        must_nng(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT,
                                             &port),
                 "bound port");
    transport_tell_port(tell, port);
    nng_stream_listener_accept(listener, c->aio);
    nng_aio_wait(c->aio);
    must_nng(nng_aio_result(c->aio), "accept");
    stream_opened(c);
}

static void stream_dial(channel *c, const char *path, int port)
{
    nng_stream_dialer *dialer = NULL;
    char url[160];
    transport_make_url(url, path, port);
    must_nng(nng_aio_alloc(&c->aio, NULL, NULL), "aio");
    must_nng(nng_stream_dialer_alloc(&dialer, url), "dialer");
    nng_stream_dialer_dial(dialer, c->aio);
    nng_aio_wait(c->aio);
    must_nng(nng_aio_result(c->aio), "dial");
    stream_opened(c);
}

static void stream_move(channel *c, nng_iov iov,
                        void (*move)(nng_stream *, nng_aio *))
{
    while (iov.iov_len > 0) {
        must_nng(nng_aio_set_iov(c->aio, 1, &iov), "iov");
        move(c->stream, c->aio);
        nng_aio_wait(c->aio);
        must_nng(nng_aio_result(c->aio), "stream");
        size_t n = nng_aio_count(c->aio);
        iov.iov_buf = (char *)iov.iov_buf + n;
        iov.iov_len -= n;
    }
}

static void stream_send(channel *c, const void *bytes, size_t count)
{
    stream_move(c, (nng_iov){(void *)(uintptr_t)bytes, count}, nng_stream_send);
}

static void stream_recv(channel *c, void *bytes, size_t count)
{
    stream_move(c, (nng_iov){bytes, count}, nng_stream_recv);
}

const method transport_stream = {.name = "nng stream",
                                 .serve = stream_serve,
                                 .dial = stream_dial,
                                 .send = stream_send,
                                 .recv = stream_recv,
                                 .answer = transport_answer,
                                 .ask = transport_ask};

/* ---- nng PAIR1 --------------------------------------------------------- */

static void pair_serve(channel *c, const char *path, int tell)
{
    nng_listener listener;
    char url[160];
    int port = 0;
    transport_make_url(url, path, 0);
    must_nng(nng_pair1_open(&c->socket), "pair1");
    must_nng(nng_listen(c->socket, url, &listener, 0), "listen");
    if (path == NULL)
        must_nng(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port),
                 "bound port");
    transport_tell_port(tell, port);
}

static void pair_dial(channel *c, const char *path, int port)
{
    char url[160];
    transport_make_url(url, path, port);
    must_nng(nng_pair1_open(&c->socket), "pair1");
    must_nng(nng_dial(c->socket, url, NULL, 0), "dial");
}

/* Filled in place, as a message socket would be used at its best. */
static void pair_send(channel *c, const void *bytes, size_t count)
{
    nng_msg *msg = NULL;
    (void)bytes;
    must_nng(nng_msg_alloc(&msg, count), "message");
    must_nng(nng_sendmsg(c->socket, msg, 0), "sendmsg");
}

static void pair_recv(channel *c, void *bytes, size_t count)
{
    nng_msg *msg = NULL;
    must_nng(nng_recvmsg(c->socket, &msg, 0), "recvmsg");
    transport_must(nng_msg_len(msg) == count, "message length");
    memcpy(bytes, nng_msg_body(msg), count < 64 ? count : 64);
    nng_msg_free(msg);
}

const method transport_pair = {.name = "nng pair1",
                               .serve = pair_serve,
                               .dial = pair_dial,
                               .send = pair_send,
                               .recv = pair_recv,
                               .answer = transport_answer,
                               .ask = transport_ask};
