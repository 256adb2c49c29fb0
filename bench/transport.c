/* Code common to all transports, and plain sockets with blocking calls. */
#include "bench/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bench/measuring.h"

const size_t transport_bulk_bytes[2] = {65536, 1048576};
const int transport_bulk_count[2] = {4000, 400};

void transport_must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_transport: %s failed (errno %d)\n", what, errno);
        _exit(1);
    }
}

pid_t transport_server;

double transport_cpu(void)
{
    clockid_t clock;
    struct timespec at;
    transport_must(clock_getcpuclockid(transport_server, &clock) == 0 &&
                       clock_gettime(clock, &at) == 0,
                   "reading the server's clock");
    return bench_cpu() + (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

void transport_tell_port(int tell, int port)
{
    transport_must(write(tell, &port, sizeof port) == sizeof port,
                   "telling the port");
}

void transport_note_bulk(double *figures, int size, double wall, double cpu)
{
    const double gb =
        1e-9 * (double)transport_bulk_bytes[size] * transport_bulk_count[size];
    figures[RATES + size] = gb / wall;
    if (size == 0)
        figures[CPU] = cpu / gb;
}

/* ---- sockets ------------------------------------------------------------- */

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
    const double start = bench_wall();
    c->fd = raw_socket(path);
    transport_must(connect(c->fd, (struct sockaddr *)&at, length) == 0,
                   "connect");
    c->connects = 1e3 * (bench_wall() - start);
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

static void raw_answer(channel *c, char *buffer)
{
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        raw_recv(c, buffer, PING_BYTES);
        raw_send(c, buffer, PING_BYTES);
    }
    for (int size = 0; size < 2; size++) {
        for (int i = 0; i < transport_bulk_count[size]; i++)
            raw_recv(c, buffer, transport_bulk_bytes[size]);
        raw_send(c, buffer, PING_BYTES);
    }
    raw_recv(c, buffer, PING_BYTES); /* the other side is done waiting */
}

static void raw_ask(channel *c, char *buffer, double *figures)
{
    double samples[PINGS];
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        double start = bench_wall();
        raw_send(c, buffer, PING_BYTES);
        raw_recv(c, buffer, PING_BYTES);
        samples[i < WARM_UP ? 0 : i - WARM_UP] = bench_wall() - start;
    }
    figures[ROUND_TRIP] = 1e6 * bench_median(samples, PINGS);
    for (int size = 0; size < 2; size++) {
        const double start = bench_wall(), cpu = transport_cpu();
        for (int i = 0; i < transport_bulk_count[size]; i++)
            raw_send(c, buffer, transport_bulk_bytes[size]);
        raw_recv(c, buffer, PING_BYTES);
        transport_note_bulk(figures, size, bench_wall() - start,
                            transport_cpu() - cpu);
    }
    raw_send(c, buffer, PING_BYTES);
}

const method transport_raw = {.name = "raw",
                              .serve = raw_serve,
                              .dial = raw_dial,
                              .answer = raw_answer,
                              .ask = raw_ask};
