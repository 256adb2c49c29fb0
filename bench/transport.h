/* bench/transport.h - the ends of a connection for bench_transport, by
 * transport. Any failure ends the program with a sentence. */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/net/link.h"

enum { PING_BYTES = 64, PINGS = 2000, WARM_UP = 200 };

extern const size_t transport_bulk_bytes[2];
extern const int transport_bulk_count[2];

typedef struct channel {
    int fd;                 /* raw */
    const sti_trust *trust; /* link */
    bool web;               /* .. over WebSocket */
    sti_net *net;
    sti_link link;
    int received[2]; /* bulk frames of each size */
    double started;  /* when the latest ping left */
    double *samples; /* [PINGS] */
    double connects; /* ms */
    int pings;       /* number returned */
    bool done;       /* guarded by lock: what `wait_done` waits for */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} channel;

/* The results of one case. */
typedef enum figure {
    ROUND_TRIP,   /* us */
    RATES,        /* GB/s, of both bulk sizes */
    CPU = 3,      /* seconds of both processes for a GB of the first size */
    CONNECTS = 4, /* ms until a connection can be used */
    FIGURES = 5
} figure;

/* Opens and measures one transport. `path` is NULL for tcp; the server writes
 * its port, the client uses it. `answer` returns each ping and receives the
 * bulk; `dial` measures connecting and `ask` the remainder. */
typedef struct method {
    const char *name;
    bool tcp_alone; /* tcp only */
    void (*serve)(channel *c, const char *path, int tell);
    void (*dial)(channel *c, const char *path, int port);
    void (*answer)(channel *c, char *buffer);
    void (*ask)(channel *c, char *buffer, double *figures);
} method;

/* Plain sockets with blocking calls. */
extern const method transport_raw;
/* The engine's links; their callbacks answer and ask. */
extern const method transport_link;
/* With a token, and over TLS with a certificate that is first made in a
 * folder. */
extern const method transport_link_token, transport_link_tls;
/* Over WebSocket, and with a token inside. */
extern const method transport_link_web, transport_link_web_token;
void transport_make_certificate(const char *folder);

/* The processor time of this process and the server's. */
double transport_cpu(void);
extern pid_t transport_server;

/* Sets the figures of a bulk size from the seconds that it took. */
void transport_note_bulk(double *figures, int size, double wall, double cpu);

void transport_must(bool ok, const char *what);
void transport_tell_port(int tell, int port);

#endif
