/* What one hop costs: the round trip of a 64-byte message and the one-way
 * throughput of 64 KB and 1 MB messages, over tcp loopback and ipc, for raw
 * sockets (the floor), bare nng byte streams, nng PAIR1 message sockets, and
 * the engine's links (frames with checksums, over those byte streams).
 * docs/wire-format.md says what was decided from it.
 *
 *   bench_transport [--rounds N] [--json]
 *
 * Each case runs in two fresh processes, as nodes do (and as nng demands: it
 * does not survive a fork), the cases take turns, and each cell is the median
 * of the rounds. Owns nothing beyond main: a case's processes end with it. */
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/pair1/pair.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measuring.h"
#include "engine/runtime/link.h"

enum { PING_BYTES = 64, PINGS = 2000, WARM_UP = 200, ROUNDS_MAX = 99 };

static const size_t bulk_bytes[2] = {65536, 1048576};
static const int bulk_count[2] = {4000, 400};

typedef struct channel {
    int fd;             /* raw */
    nng_socket socket;  /* pair1 */
    nng_stream *stream; /* stream */
    nng_aio *aio;
    sti_net *net; /* link */
    sti_link link;
    int received[2]; /* bulk frames of each size */
    double started;  /* when the latest ping left */
    double *samples; /* [PINGS] */
    int pings;       /* that have come back */
    bool done;       /* guarded by lock: what `wait_done` waits for */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} channel;

/* How one transport opens and moves messages. `path` is NULL for tcp; the
 * server tells its port, the client uses it. `answer` sends each ping back and
 * takes the bulk; `ask` measures: microseconds, then twice GB/s. */
typedef struct method {
    const char *name;
    void (*serve)(channel *c, const char *path, int tell);
    void (*dial)(channel *c, const char *path, int port);
    void (*send)(channel *c, const void *bytes, size_t count);
    void (*recv)(channel *c, void *bytes, size_t count);
    void (*answer)(const struct method *m, channel *c, char *buffer);
    void (*ask)(const struct method *m, channel *c, char *buffer,
                double *figures);
} method;

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_transport: %s failed (errno %d)\n", what, errno);
        _exit(1);
    }
}

static void must_nng(int rv, const char *what)
{
    if (rv != 0) {
        fprintf(stderr, "bench_transport: %s: %s\n", what, nng_strerror(rv));
        _exit(1);
    }
}

static void tell_port(int tell, int port)
{
    must(write(tell, &port, sizeof port) == sizeof port, "telling the port");
}

static void make_url(char url[160], const char *path, int port)
{
    if (path != NULL)
        (void)snprintf(url, 160, "ipc://%s", path);
    else
        (void)snprintf(url, 160, "tcp://127.0.0.1:%d", port);
}

/* ---- raw sockets ---- */

static int raw_socket(const char *path)
{
    int fd = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    must(fd >= 0, "socket");
    if (path == NULL) {
        int on = 1;
        must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0,
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
    must(bind(listener, (struct sockaddr *)&at, length) == 0, "bind");
    must(listen(listener, 1) == 0, "listen");
    struct sockaddr_in in = {0};
    length = sizeof in;
    if (path == NULL)
        must(getsockname(listener, (struct sockaddr *)&in, &length) == 0,
             "getsockname");
    tell_port(tell, ntohs(in.sin_port));
    c->fd = accept(listener, NULL, NULL);
    must(c->fd >= 0, "accept");
}

static void raw_dial(channel *c, const char *path, int port)
{
    struct sockaddr_storage at;
    socklen_t length = raw_address(&at, path, port);
    c->fd = raw_socket(path);
    must(connect(c->fd, (struct sockaddr *)&at, length) == 0, "connect");
}

static void raw_send(channel *c, const void *bytes, size_t count)
{
    for (const char *at = bytes; count > 0;) {
        ssize_t n = write(c->fd, at, count);
        must(n > 0, "write");
        at += n;
        count -= (size_t)n;
    }
}

static void raw_recv(channel *c, void *bytes, size_t count)
{
    for (char *at = bytes; count > 0;) {
        ssize_t n = read(c->fd, at, count);
        must(n > 0, "read");
        at += n;
        count -= (size_t)n;
    }
}

/* ---- nng byte streams ---- */

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
    make_url(url, path, 0);
    must_nng(nng_aio_alloc(&c->aio, NULL, NULL), "aio");
    must_nng(nng_stream_listener_alloc(&listener, url), "listener");
    must_nng(nng_stream_listener_listen(listener), "listen");
    if (path == NULL)
        must_nng(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT,
                                             &port),
                 "bound port");
    tell_port(tell, port);
    nng_stream_listener_accept(listener, c->aio);
    nng_aio_wait(c->aio);
    must_nng(nng_aio_result(c->aio), "accept");
    stream_opened(c);
}

static void stream_dial(channel *c, const char *path, int port)
{
    nng_stream_dialer *dialer = NULL;
    char url[160];
    make_url(url, path, port);
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

/* ---- nng PAIR1 ---- */

static void pair_serve(channel *c, const char *path, int tell)
{
    nng_listener listener;
    char url[160];
    int port = 0;
    make_url(url, path, 0);
    must_nng(nng_pair1_open(&c->socket), "pair1");
    must_nng(nng_listen(c->socket, url, &listener, 0), "listen");
    if (path == NULL)
        must_nng(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port),
                 "bound port");
    tell_port(tell, port);
}

static void pair_dial(channel *c, const char *path, int port)
{
    char url[160];
    make_url(url, path, port);
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
    must(nng_msg_len(msg) == count, "message length");
    memcpy(bytes, nng_msg_body(msg), count < 64 ? count : 64);
    nng_msg_free(msg);
}

/* ---- asking and answering where calls block ---- */

static void answer(const method *m, channel *c, char *buffer)
{
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        m->recv(c, buffer, PING_BYTES);
        m->send(c, buffer, PING_BYTES);
    }
    for (int size = 0; size < 2; size++) {
        for (int i = 0; i < bulk_count[size]; i++)
            m->recv(c, buffer, bulk_bytes[size]);
        m->send(c, buffer, PING_BYTES);
    }
    m->recv(c, buffer, PING_BYTES); /* the other side has what it waited for */
}

static void ask(const method *m, channel *c, char *buffer, double *figures)
{
    double samples[PINGS];
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        double start = bench_wall();
        m->send(c, buffer, PING_BYTES);
        m->recv(c, buffer, PING_BYTES);
        samples[i < WARM_UP ? 0 : i - WARM_UP] = bench_wall() - start;
    }
    figures[0] = 1e6 * bench_median(samples, PINGS);
    for (int size = 0; size < 2; size++) {
        double start = bench_wall();
        for (int i = 0; i < bulk_count[size]; i++)
            m->send(c, buffer, bulk_bytes[size]);
        m->recv(c, buffer, PING_BYTES);
        figures[1 + size] = 1e-9 * (double)bulk_bytes[size] * bulk_count[size] /
                            (bench_wall() - start);
    }
    m->send(c, buffer, PING_BYTES);
}

/* ---- links: callbacks answer, and ask ---- */

enum { KIND_PING = STI_KIND_FIRST_MESSAGE, KIND_BULK };

static void keep(void *bytes)
{
    (void)bytes; /* the buffer stays as it is: nothing to give back */
}

static void link_send(channel *c, uint16_t kind, const void *bytes,
                      size_t count)
{
    const sti_outgoing frame = {.header = {.kind = kind, .tag = count},
                                .parts = {{bytes, count}},
                                .part_count = 1,
                                .sent = keep,
                                .wait_ns = kind == KIND_BULK ? 60000000000 : 0};
    must(sti_net_send(c->net, c->link, &frame) == STRADS_OK,
         strads_error_text());
}

static void set_done(channel *c)
{
    pthread_mutex_lock(&c->lock);
    c->done = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void wait_done(channel *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->done)
        pthread_cond_wait(&c->changed, &c->lock);
    c->done = false;
    pthread_mutex_unlock(&c->lock);
}

static void link_serving(void *arg, sti_link link, sti_frame *frame)
{
    channel *c = arg;
    const int size = frame->header.tag == bulk_bytes[1];
    if (frame->header.kind == STI_KIND_HELLO) {
        c->link = link;
        must(sti_net_bind(c->net, link, 0) == STRADS_OK, "bind");
        link_send(c, STI_KIND_WELCOME, NULL, 0);
    } else if (frame->header.kind == KIND_PING) {
        link_send(c, KIND_PING, frame->payload, PING_BYTES);
    } else if (++c->received[size] == bulk_count[size]) {
        link_send(c, KIND_BULK, NULL, 0);
    }
    sti_frame_free(frame);
}

static void link_asking(void *arg, sti_link link, sti_frame *frame)
{
    channel *c = arg;
    const double at = bench_wall();
    (void)link;
    if (frame->header.kind == KIND_PING) {
        int i = c->pings++ - WARM_UP;
        c->samples[i < 0 ? 0 : i] = at - c->started;
    }
    if (frame->header.kind == KIND_PING && c->pings < PINGS + WARM_UP) {
        c->started = bench_wall();
        link_send(c, KIND_PING, frame->payload, PING_BYTES);
    } else {
        set_done(c);
    }
    sti_frame_free(frame);
}

static void link_open(channel *c, const char *url,
                      void (*received)(void *, sti_link, sti_frame *))
{
    const sti_net_options options = {.listen_url = url,
                                     .arg = c,
                                     .events = {.received = received}};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    must(sti_net_open(&options, &c->net) == STRADS_OK, strads_error_text());
}

static void link_serve(channel *c, const char *path, int tell)
{
    char url[160];
    make_url(url, path, 0);
    link_open(c, url, link_serving);
    tell_port(tell,
              path != NULL ? 0 : atoi(strrchr(sti_net_url(c->net), ':') + 1));
}

static void link_dial(channel *c, const char *path, int port)
{
    char url[160];
    make_url(url, path, port);
    link_open(c, "", link_asking);
    must(sti_net_dial(c->net, url, 5000000000, &c->link) == STRADS_OK,
         strads_error_text());
    link_send(c, STI_KIND_HELLO, NULL, 0);
    wait_done(c);
}

static void link_answer(const method *m, channel *c, char *buffer)
{
    (void)m;
    (void)buffer;
    wait_done(c); /* never: the callbacks work until this process is ended */
}

static void link_ask(const method *m, channel *c, char *buffer, double *figures)
{
    static double samples[PINGS];
    (void)m;
    c->samples = samples;
    c->started = bench_wall();
    link_send(c, KIND_PING, buffer, PING_BYTES);
    wait_done(c);
    figures[0] = 1e6 * bench_median(samples, PINGS);
    for (int size = 0; size < 2; size++) {
        double start = bench_wall();
        for (int i = 0; i < bulk_count[size]; i++)
            link_send(c, KIND_BULK, buffer, bulk_bytes[size]);
        wait_done(c);
        figures[1 + size] = 1e-9 * (double)bulk_bytes[size] * bulk_count[size] /
                            (bench_wall() - start);
    }
}

/* ---- the measurement ---- */

static const method methods[] = {
    {"raw", raw_serve, raw_dial, raw_send, raw_recv, answer, ask},
    {"nng stream", stream_serve, stream_dial, stream_send, stream_recv, answer,
     ask},
    {"nng pair1", pair_serve, pair_dial, pair_send, pair_recv, answer, ask},
    {"link", link_serve, link_dial, NULL, NULL, link_answer, link_ask},
};
enum { METHODS = sizeof methods / sizeof *methods, FIGURES = 3 };

static pid_t start(void (*side)(const method *, const char *, const int[2]),
                   const method *m, const char *path, const int pipes[2])
{
    (void)fflush(stdout);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        side(m, path, pipes);
        _exit(0);
    }
    return pid;
}

static void server_side(const method *m, const char *path, const int port[2])
{
    channel c = {0};
    char *buffer = calloc(1, bulk_bytes[1]);
    must(buffer != NULL, "memory");
    m->serve(&c, path, port[1]);
    m->answer(m, &c, buffer);
}

static int case_result[2];

static void client_side(const method *m, const char *path, const int port[2])
{
    channel c = {0};
    double figures[FIGURES];
    int number = 0;
    char *buffer = calloc(1, bulk_bytes[1]);
    must(buffer != NULL, "memory");
    must(read(port[0], &number, sizeof number) == sizeof number, "port");
    m->dial(&c, path, number);
    m->ask(m, &c, buffer, figures);
    must(write(case_result[1], figures, sizeof figures) == sizeof figures,
         "result");
    usleep(20000); /* pair1 has no linger: let the last message leave */
}

static void run_case(const method *m, bool ipc, double figures[FIGURES])
{
    int port[2], status = 0;
    char folder[] = "/tmp/bench-transport-XXXXXX", path[64];
    must(mkdtemp(folder) != NULL, "mkdtemp");
    (void)snprintf(path, sizeof path, "%s/s", folder);
    must(pipe(port) == 0 && pipe(case_result) == 0, "pipe");
    pid_t server = start(server_side, m, ipc ? path : NULL, port);
    pid_t client = start(client_side, m, ipc ? path : NULL, port);
    close(port[0]);
    close(port[1]);
    close(case_result[1]);
    ssize_t n = read(case_result[0], figures, FIGURES * sizeof *figures);
    must(n == (ssize_t)(FIGURES * sizeof *figures), "a case");
    close(case_result[0]);
    must(waitpid(client, &status, 0) == client && status == 0, "the client");
    kill(server, SIGKILL);
    waitpid(server, &status, 0);
    unlink(path);
    rmdir(folder);
}

static double seen[METHODS][2][FIGURES][ROUNDS_MAX];

static void measure(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (size_t m = 0; m < METHODS; m++)
            for (int ipc = 0; ipc < 2; ipc++) {
                double figures[FIGURES];
                run_case(&methods[m], ipc != 0, figures);
                for (int f = 0; f < FIGURES; f++)
                    seen[m][ipc][f][round] = figures[f];
            }
}

static void print_results(int rounds, bool json)
{
    double load = 0;
    (void)getloadavg(&load, 1);
    if (!json)
        printf("medians of %d rounds, load %.2f\n"
               "%-12s %-4s %12s %12s %12s\n",
               rounds, load, "transport", "over", "64 B us", "64 KB GB/s",
               "1 MB GB/s");
    for (int ipc = 0; ipc < 2; ipc++)
        for (size_t m = 0; m < METHODS; m++) {
            double at[FIGURES];
            for (int f = 0; f < FIGURES; f++)
                at[f] = bench_median(seen[m][ipc][f], (size_t)rounds);
            printf(json ? "{\"bench\": \"transport\", \"transport\": \"%s\", "
                          "\"over\": \"%s\", \"round_trip_us\": %.2f, "
                          "\"gb_s_64k\": %.3f, \"gb_s_1m\": %.3f}\n"
                        : "%-12s %-4s %12.1f %12.2f %12.2f\n",
                   methods[m].name, ipc ? "ipc" : "tcp", at[0], at[1], at[2]);
        }
}

int main(int argc, char **argv)
{
    int rounds = 5;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
    }
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench_transport: --rounds takes 1 to 99\n");
        return 2;
    }
    measure(rounds);
    print_results(rounds, json);
    return 0;
}
