/* Owns one end of the streams. A receiver takes as much as fits into a cache,
 * then adds or copies it. Invariant: the unacknowledged pieces are in `piece`,
 * each at its number % KEPT. */
#include "bench/bare_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#include "engine/base/instruction_set.h"

enum { CHUNK = 65536, PIECE = 262144, KEPT = 4 };

struct bare_streams {
    int fd;
    unsigned sent, acknowledged; /* pieces pushed */
    _Alignas(64) char chunk[CHUNK];
    char piece[KEPT][PIECE];
};

/* The near end's request to the far end, over the socket. */
typedef struct order {
    size_t n;
    bare_kind kind;
    bool pull, last;
} order;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bare_streams: %s: %s\n", what, strerror(errno));
    exit(1);
}

void bare_move(int fd, void *bytes, size_t n, bool out)
{
    char *at = bytes;
    while (n) {
        ssize_t k = out ? write(fd, at, n) : read(fd, at, n);
        must(k > 0, "a plain stream");
        at += k;
        n -= (size_t)k;
    }
}

/* As fast as the store's addition: compiled for the processor's registers. */
STI_EACH_INSTRUCTION_SET
static void add(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        to[k] += from[k];
}

/* ---- pieces ------------------------------------------------------------ */

typedef struct head {
    uint64_t sum;
    char rest[56]; /* as long as a frame's head */
} head;

static void move_piece(int fd, head *h, char *bytes, size_t n)
{
    struct iovec iov[2] = {{h, sizeof *h}, {bytes, n}};
    ssize_t k = writev(fd, iov, 2);
    must(k >= (ssize_t)sizeof *h, "a piece");
    bare_move(fd, bytes + ((size_t)k - sizeof *h), n + sizeof *h - (size_t)k,
              true);
}

static void await_acknowledged(bare_streams *s, unsigned left)
{
    char ack;
    for (; s->sent - s->acknowledged > left; s->acknowledged++)
        bare_move(s->fd, &ack, 1, false);
}

/* Keeps a copy of a piece; its memory is free once the piece four before it is
 * acknowledged. */
static char *keep(bare_streams *s, const char *bytes, size_t n)
{
    await_acknowledged(s, KEPT - 1);
    char *piece = s->piece[s->sent++ % KEPT];
    memcpy(piece, bytes, n);
    return piece;
}

static void send_pieces(bare_streams *s, char *bytes, size_t n, bool keeps)
{
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        char *piece = keeps ? keep(s, bytes + at, k) : bytes + at;
        head h = {.sum = XXH3_64bits(piece, k)};
        move_piece(s->fd, &h, piece, k);
    }
}

static void receive_pieces(bare_streams *s, char *to, size_t n, bool adds)
{
    char ack = 1;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        char *piece = adds ? s->piece[0] : to + at;
        head h;
        bare_move(s->fd, &h, sizeof h, false);
        bare_move(s->fd, piece, k, false);
        must(h.sum == XXH3_64bits(piece, k), "a checksum");
        if (!adds)
            continue;
        add((float *)(void *)(to + at), (const float *)(void *)piece,
            k / sizeof(float));
        bare_move(s->fd, &ack, 1, true);
    }
}

/* ---- all kinds --------------------------------------------------------- */

static void send_all(bare_streams *s, bare_kind kind, char *bytes, size_t n,
                     bool keeps)
{
    if (kind == BARE_PIECES)
        send_pieces(s, bytes, n, keeps);
    else
        bare_move(s->fd, bytes, n, true);
}

static void receive(bare_streams *s, bare_kind kind, char *to, size_t n,
                    bool adds)
{
    if (kind == BARE_PIECES) {
        receive_pieces(s, to, n, adds);
        return;
    }
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t k = n - at < CHUNK ? n - at : CHUNK;
        bare_move(s->fd, s->chunk, k, false);
        if (adds)
            add((float *)(void *)(to + at), (const float *)(void *)s->chunk,
                k / sizeof(float));
        else
            memcpy(to + at, s->chunk, k);
    }
}

bare_streams *bare_streams_open(int fd)
{
    bare_streams *s = aligned_alloc(64, sizeof *s);
    must(s != NULL, "memory");
    *s = (bare_streams){.fd = fd};
    return s;
}

void bare_streams_close(bare_streams *s)
{
    close(s->fd);
    free(s);
}

/* ---- the far end ------------------------------------------------------- */

static bool take_order(int fd, order *o)
{
    return recv(fd, o, sizeof *o, MSG_WAITALL) == (ssize_t)sizeof *o;
}

void bare_streams_serve(int fd, size_t most)
{
    char *array = calloc(1, most), done = 1;
    must(array != NULL, "memory");
    bare_streams *s = bare_streams_open(fd);
    for (order o; take_order(fd, &o);) {
        if (o.pull)
            send_all(s, o.kind, array, o.n, false);
        else
            receive(s, o.kind, array, o.n, true);
        if (o.last)
            bare_move(fd, &done, 1, true);
    }
    bare_streams_close(s);
    free(array);
}

/* ---- the near end ------------------------------------------------------ */

void bare_push(bare_streams *s, bare_kind kind, char *bytes, size_t n,
               bool last)
{
    order o = {.n = n, .kind = kind, .last = last};
    char done;
    bare_move(s->fd, &o, sizeof o, true);
    send_all(s, kind, bytes, n, true);
    if (last)
        await_acknowledged(s, 0);
    if (last)
        bare_move(s->fd, &done, 1, false);
}

void bare_pull(bare_streams *s, bare_kind kind, char *bytes, size_t n)
{
    order o = {.n = n, .kind = kind, .pull = true};
    bare_move(s->fd, &o, sizeof o, true);
    receive(s, kind, bytes, n, false);
}
