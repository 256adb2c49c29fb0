/* The engine's links for bench_transport: the receiving thread answers a ping
 * and sends the next one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measuring.h"
#include "bench/transport.h"

enum { KIND_PING = STI_KIND_FIRST_MESSAGE, KIND_BULK, DIALS = 21 };

static void keep(void *bytes)
{
    (void)bytes; /* the buffer stays: nothing to release */
}

static void link_send(channel *c, uint16_t kind, const void *bytes,
                      size_t count)
{
    const sti_outgoing frame = {.header = {.kind = kind, .tag = count},
                                .parts = {{bytes, count}},
                                .part_count = 1,
                                .sent = keep};
    transport_must(sti_net_send(c->net, c->link, &frame) == STRADS_OK,
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
    const int size = frame->header.tag == transport_bulk_bytes[1];
    if (frame->header.kind == STI_KIND_HELLO) {
        c->link = link;
        transport_must(sti_net_bind(c->net, link, 0) == STRADS_OK, "bind");
        link_send(c, STI_KIND_WELCOME, NULL, 0);
    } else if (frame->header.kind == KIND_PING) {
        link_send(c, KIND_PING, frame->payload, PING_BYTES);
    } else if (++c->received[size] == transport_bulk_count[size]) {
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
                                     .trust = c->trust,
                                     .arg = c,
                                     .events = {.received = received}};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    transport_must(sti_net_open(&options, &c->net) == STRADS_OK,
                   strads_error_text());
}

static void make_url(const channel *c, char url[160], const char *path,
                     int port)
{
    const bool tls = c->trust != NULL && c->trust->tls.cert != NULL;
    if (path != NULL)
        (void)snprintf(url, 160, "ipc://%s", path);
    else if (c->web)
        (void)snprintf(url, 160, "ws://127.0.0.1:%d/run", port);
    else
        (void)snprintf(url, 160, "%stcp://127.0.0.1:%d", tls ? "tls+" : "",
                       port);
}

static void link_serve(channel *c, const char *path, int tell)
{
    char url[160];
    make_url(c, url, path, 0);
    link_open(c, url, link_serving);
    transport_tell_port(
        tell, path != NULL ? 0 : atoi(strrchr(sti_net_url(c->net), ':') + 1));
}

static void link_dial(channel *c, const char *path, int port)
{
    char url[160];
    make_url(c, url, path, port);
    double samples[DIALS];
    link_open(c, "", link_asking);
    for (int i = 0; i < DIALS; i++) {
        const double start = bench_wall();
        if (i > 0)
            sti_net_drop(c->net, c->link, "it was a measurement");
        transport_must(sti_net_dial(c->net, url, 5000000000, &c->link) ==
                           STRADS_OK,
                       strads_error_text());
        samples[i] = 1e3 * (bench_wall() - start);
    }
    c->connects = bench_median(samples, DIALS);
    link_send(c, STI_KIND_HELLO, NULL, 0);
    wait_done(c);
}

static void link_answer(channel *c, char *buffer)
{
    (void)buffer;
    /* never returns: the callbacks work until this process ends */
    wait_done(c);
}

static void link_ask(channel *c, char *buffer, double *figures)
{
    static double samples[PINGS];
    c->samples = samples;
    c->started = bench_wall();
    link_send(c, KIND_PING, buffer, PING_BYTES);
    wait_done(c);
    figures[ROUND_TRIP] = 1e6 * bench_median(samples, PINGS);
    for (int size = 0; size < 2; size++) {
        const double start = bench_wall(), cpu = transport_cpu();
        for (int i = 0; i < transport_bulk_count[size]; i++)
            link_send(c, KIND_BULK, buffer, transport_bulk_bytes[size]);
        wait_done(c);
        transport_note_bulk(figures, size, bench_wall() - start,
                            transport_cpu() - cpu);
    }
}

/* ---- TLS with a token, and with certificates ----------------------------- */

static const sti_trust token = {
    .token = {.size = 20, .bytes = "01234567890123456789"}};

static void token_serve(channel *c, const char *path, int tell)
{
    c->trust = &token;
    link_serve(c, path, tell);
}

static void token_dial(channel *c, const char *path, int port)
{
    c->trust = &token;
    link_dial(c, path, port);
}

static sti_trust certificate;

void transport_make_certificate(const char *folder)
{
    static char cert[128], key[128];
    char command[512];
    (void)snprintf(cert, sizeof cert, "%s/cert", folder);
    (void)snprintf(key, sizeof key, "%s/key", folder);
    (void)snprintf(command, sizeof command,
                   "umask 077; openssl req -x509 -newkey ec -pkeyopt "
                   "ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=run "
                   "-keyout %s -out %s 2>/dev/null",
                   key, cert);
    transport_must(system(command) == 0, "openssl req");
    certificate.tls = (sti_tls_files){cert, cert, key};
}

static void tls_serve(channel *c, const char *path, int tell)
{
    c->trust = &certificate;
    link_serve(c, path, tell);
}

static void tls_dial(channel *c, const char *path, int port)
{
    c->trust = &certificate;
    link_dial(c, path, port);
}

/* ---- WebSocket, alone and with a token inside ---------------------------- */

static void web_serve(channel *c, const char *path, int tell)
{
    c->web = true;
    link_serve(c, path, tell);
}

static void web_dial(channel *c, const char *path, int port)
{
    c->web = true;
    link_dial(c, path, port);
}

static void web_token_serve(channel *c, const char *path, int tell)
{
    c->trust = &token;
    web_serve(c, path, tell);
}

static void web_token_dial(channel *c, const char *path, int port)
{
    c->trust = &token;
    web_dial(c, path, port);
}

const method transport_link_web = {.name = "link ws",
                                   .tcp_alone = true,
                                   .serve = web_serve,
                                   .dial = web_dial,
                                   .answer = link_answer,
                                   .ask = link_ask};

const method transport_link_web_token = {.name = "ws token",
                                         .tcp_alone = true,
                                         .serve = web_token_serve,
                                         .dial = web_token_dial,
                                         .answer = link_answer,
                                         .ask = link_ask};

const method transport_link_token = {.name = "link token",
                                     .serve = token_serve,
                                     .dial = token_dial,
                                     .answer = link_answer,
                                     .ask = link_ask};

const method transport_link_tls = {.name = "link tls",
                                   .tcp_alone = true,
                                   .serve = tls_serve,
                                   .dial = tls_dial,
                                   .answer = link_answer,
                                   .ask = link_ask};

const method transport_link = {.name = "link",
                               .serve = link_serve,
                               .dial = link_dial,
                               .answer = link_answer,
                               .ask = link_ask};
