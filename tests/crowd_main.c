/* crowd PORT COUNT TOKEN: COUNT connections of strangers to
 * tcp://127.0.0.1:PORT, some hundred at a time. They are idle or slow, send
 * garbage or a HELLO without TLS, begin TLS with another token, or replay a
 * handshake of a node with the file TOKEN. Prints the number of connections and
 * how many of them were admitted. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/frame.h"
#include "engine/net/tls.h"

enum { OPEN_AT_ONCE = 300, KINDS = 6 };

static unsigned let_in;

/* A node without the token. */
static sti_tls_context *stranger;
/* All that a node with the token sends in a handshake. */
static unsigned char recorded[4096];
static size_t recorded_size;

/* A connection of a stranger. */
typedef struct guest {
    int fd;
    sti_tls *tls; /* NULL: it speaks no TLS, or replays */
} guest;

/* Reads the answer. The guest was admitted if it is a frame other than REJECT,
 * or completes a handshake without the token. */
static void hear(const guest *g)
{
    unsigned char bytes[STI_HEADER_BYTES + 512];
    bool done = false;
    size_t space = sizeof bytes;
    sti_header header;
    void *to = g->tls ? sti_tls_space(g->tls, &space) : bytes;
    const ssize_t n = recv(g->fd, to, space, MSG_DONTWAIT);
    if (g->tls && n > 0) {
        sti_tls_feed(g->tls, (size_t)n);
        (void)sti_tls_handshake(g->tls, &done);
        let_in += done;
    } else if (n >= STI_HEADER_BYTES &&
               sti_frame_decode_header(bytes, 512, &header) == STRADS_OK) {
        let_in += header.kind != STI_KIND_REJECT;
    }
}

static void say(int fd, uint16_t kind, const void *payload, size_t size)
{
    unsigned char bytes[STI_HEADER_BYTES + 64] = {0};
    const sti_part all = {payload, size};
    const sti_header header = {.kind = kind,
                               .size = size,
                               .checksum = sti_frame_checksum(&all, 1)};
    sti_frame_encode_header(&header, bytes);
    memcpy(bytes + STI_HEADER_BYTES, payload, size);
    (void)send(fd, bytes, STI_HEADER_BYTES + size, MSG_NOSIGNAL);
}

static void send_all(int fd, const void *bytes, size_t size)
{
    (void)send(fd, bytes, size, MSG_NOSIGNAL);
}

/* Moves the output of one end to the other and, if `out` is not NULL, appends
 * it there. */
static void move(sti_tls *from, sti_tls *to, unsigned char *out, size_t *filled)
{
    size_t size, space;
    const void *bytes = sti_tls_output(from, &size);
    void *place = sti_tls_space(to, &space);
    if (size > space || (out && *filled + size > sizeof recorded))
        abort();
    memcpy(place, bytes, size);
    sti_tls_feed(to, size);
    if (out) {
        memcpy(out + *filled, bytes, size);
        *filled += size;
    }
    sti_tls_take(from, size);
}

/* Records a handshake of two nodes with the token, and a message. */
static void record_handshake(const char *token)
{
    sti_trust trust = {0};
    sti_tls_context *context = NULL;
    sti_tls *dials = NULL, *accepts = NULL;
    bool done = false;
    struct iovec piece = {recorded, STI_HEADER_BYTES};
    if (sti_token_read(token, &trust.token) ||
        sti_tls_context_new(&trust, &context) ||
        sti_tls_new(context, true, &dials) ||
        sti_tls_new(context, false, &accepts)) {
        (void)fprintf(stderr, "crowd: %s\n", strads_error_text());
        exit(2);
    }
    while (!done) {
        if (sti_tls_handshake(dials, &done))
            abort();
        move(dials, accepts, recorded, &recorded_size);
        bool accepted;
        if (sti_tls_handshake(accepts, &accepted))
            abort();
        move(accepts, dials, NULL, NULL);
    }
    if (sti_tls_write(dials, &piece, 1) < 0)
        abort();
    move(dials, accepts, recorded, &recorded_size);
    sti_tls_free(dials);
    sti_tls_free(accepts);
    sti_tls_context_free(context);
    trust.token.bytes[0] ^= 1;
    if (sti_tls_context_new(&trust, &stranger))
        abort();
}

/* Begins TLS with another token. */
static sti_tls *begin_tls(int fd)
{
    sti_tls *tls = NULL;
    bool done = false;
    size_t size;
    if (sti_tls_new(stranger, true, &tls))
        abort();
    (void)sti_tls_handshake(tls, &done);
    const void *bytes = sti_tls_output(tls, &size);
    send_all(fd, bytes, size);
    sti_tls_take(tls, size);
    return tls;
}

static void act(guest *g, unsigned number)
{
    const int fd = g->fd;
    unsigned char bytes[200];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)rand();
    switch (number % KINDS) {
    case 0: /* idle */
        break;
    case 1: /* slow: the first bytes of a handshake */
        send_all(fd, recorded, number % 300);
        break;
    case 2:
        send_all(fd, bytes, number % sizeof bytes);
        break;
    case 3:
        say(fd, STI_KIND_HELLO, bytes, 64);
        break;
    case 4:
        g->tls = begin_tls(fd);
        if (number % 5 == 0)
            send_all(fd, bytes, sizeof bytes);
        break;
    default:
        send_all(fd, recorded, recorded_size);
    }
}

int main(int argc, char **argv)
{
    static guest open_now[OPEN_AT_ONCE];
    const unsigned count = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
    unsigned came = 0;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (count == 0) {
        (void)fprintf(stderr, "crowd PORT COUNT TOKEN\n");
        return 2;
    }
    record_handshake(argv[3]);
    at.sin_port = htons((uint16_t)atoi(argv[1]));
    for (unsigned k = 0; k < count; k++) {
        guest *g = &open_now[k % OPEN_AT_ONCE];
        if (k >= OPEN_AT_ONCE) {
            hear(g);
            (void)close(g->fd);
            sti_tls_free(g->tls);
        }
        *g = (guest){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (connect(g->fd, (const void *)&at, sizeof at) == 0) {
            came++;
            act(g, k);
        }
    }
    (void)printf("%u came, %u were let in\n", came, let_in);
    return 0;
}
