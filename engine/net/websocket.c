/* The accepting end of WebSocket. The receiving thread owns `input` and the
 * frame that arrives; the sending thread owns the frame that leaves. Frames
 * from this end are not masked, so payloads are sent from the caller's memory.
 * A frame's length is fixed when its header is sent: `left` bytes of the
 * caller's must follow it. A pong waits for the next frame boundary, because
 * only the sending thread knows it. Goodbyes are the link's (link_io.c), so a
 * close frame is an end of the stream. */
#include "engine/net/websocket.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <openssl/evp.h>

enum {
    REQUEST_MAX = 8192,
    INPUT_BYTES = 16384,
    PAYLOAD_MAX = 65536, /* of a frame that leaves */
    CONTROL_MAX = 125,   /* payload of a control frame */
    HEAD_MAX = 10,
    PIECES_MAX = 17,
    KEY_BYTES = 24,
    OP_CONTINUATION = 0,
    OP_BINARY = 2,
    OP_CLOSE = 8,
    OP_PING = 9,
    OP_PONG = 10
};

typedef struct websocket {
    sti_stream stream;
    sti_stream *below; /* the socket */
    char path[STI_PATH_MAX + 1];

    /* Used by the receiving thread. */
    bool is_refused; /* what arrives now has no meaning */
    unsigned char input[INPUT_BYTES];
    size_t begin, end;
    bool in_payload;
    unsigned op;
    uint64_t payload_left;
    unsigned char mask[4];
    unsigned mask_at;
    unsigned char control[CONTROL_MAX];
    size_t control_filled;

    pthread_mutex_t lock; /* guards pong and pong_size */
    unsigned char pong[CONTROL_MAX];
    size_t pong_size; /* plus 1; 0: none is due */

    /* Used by the sending thread. */
    unsigned char head[2 + CONTROL_MAX + HEAD_MAX];
    size_t head_begin, head_end;
    size_t left;
} websocket;

/* ---- the request ------------------------------------------------------- */

static bool receive_more(websocket *w)
{
    const struct iovec space = {w->input + w->end, sizeof w->input - w->end};
    const ssize_t n = w->below->calls->receive(w->below, &space, 1);
    if (n > 0)
        w->end += (size_t)n;
    return n > 0;
}

/* Returns the value of a header, without spaces around it; NULL: none. The
 * headers are lines that end in "\r\n". */
static const char *find_header(const char *headers, const char *name,
                               size_t *size)
{
    const size_t length = strlen(name);
    for (const char *line = headers; line; line = strstr(line, "\r\n")) {
        line += line == headers ? 0 : 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1;
        value += strspn(value, " \t");
        *size = strcspn(value, "\r");
        while (*size > 0 && isblank((unsigned char)value[*size - 1]))
            --*size;
        return value;
    }
    return NULL;
}

/* Whether a header, a list with commas, contains a word in any case. */
static bool header_has(const char *headers, const char *name, const char *word)
{
    size_t size;
    const char *value = find_header(headers, name, &size);
    const char *end = value ? value + size : NULL;
    while (value && value < end) {
        const size_t n = strcspn(value, ", \t\r");
        if (n == strlen(word) && strncasecmp(value, word, n) == 0)
            return true;
        value += n + strspn(value + n, ", \t");
    }
    return false;
}

/* The answer to a key (RFC 6455, 4.2.2): the SHA-1 of key and GUID. */
static bool make_accept(const char *key, char accept[32])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char digest[EVP_MAX_MD_SIZE];
    char text[KEY_BYTES + sizeof guid];
    unsigned size = 0;
    (void)snprintf(text, sizeof text, "%.*s%s", KEY_BYTES, key, guid);
    return EVP_Digest(text, strlen(text), digest, &size, EVP_sha1(), NULL) ==
               1 &&
           EVP_EncodeBlock((unsigned char *)accept, digest, (int)size) > 0;
}

static void send_text(websocket *w, const char *text)
{
    struct iovec piece = {(void *)(uintptr_t)text, strlen(text)};
    while (piece.iov_len > 0) {
        const ssize_t n = w->below->calls->send(w->below, &piece, 1, true);
        if (n < 0)
            return; /* receiving reports it */
        piece.iov_base = (char *)piece.iov_base + n;
        piece.iov_len -= (size_t)n;
    }
}

static strads_err refuse_request(websocket *w, const char *status,
                                 const char *why)
{
    char text[256];
    w->is_refused = true;
    (void)snprintf(text, sizeof text,
                   "HTTP/1.1 %s\r\nSec-WebSocket-Version: 13\r\n"
                   "Content-Length: 0\r\nConnection: close\r\n\r\n",
                   status);
    send_text(w, text);
    return strads_fail(STRADS_EPEER, "%s", why);
}

/* `request` ends in an empty line. */
static strads_err answer_request(websocket *w, const char *request)
{
    char accept[32], text[256];
    size_t size = 0;
    const size_t length = strlen(w->path);
    const char *headers = strstr(request, "\r\n") + 2;
    if (strncmp(request, "GET ", 4) != 0)
        return refuse_request(w, "400 Bad Request",
                              "it does not ask for a WebSocket");
    if (strncmp(request + 4, w->path, length) != 0 ||
        strncmp(request + 4 + length, " HTTP/1.", 8) != 0)
        return refuse_request(w, "404 Not Found",
                              "it asks for another path than this node has");
    const char *key = find_header(headers, "Sec-WebSocket-Key", &size);
    if (!header_has(headers, "Upgrade", "websocket") ||
        !header_has(headers, "Connection", "upgrade") ||
        !header_has(headers, "Sec-WebSocket-Version", "13") || !key ||
        size != KEY_BYTES)
        return refuse_request(w, "426 Upgrade Required",
                              "it does not ask for a WebSocket: does a proxy "
                              "drop the headers Upgrade and Connection?");
    if (!make_accept(key, accept))
        return strads_fail(STRADS_EIO, "OpenSSL has no SHA-1");
    (void)snprintf(text, sizeof text,
                   "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                   accept);
    send_text(w, text);
    return STRADS_OK;
}

static strads_err websocket_open(sti_stream *stream)
{
    websocket *w = (websocket *)stream;
    char request[REQUEST_MAX + 1];
    char *end = NULL;
    while (!end) {
        if (w->end >= REQUEST_MAX)
            return refuse_request(w, "431 Request Header Fields Too Large",
                                  "its HTTP request is too long");
        if (!receive_more(w))
            return strads_fail(STRADS_EIO, "the connection was closed before "
                                           "its HTTP request was complete");
        const size_t size = w->end < REQUEST_MAX ? w->end : REQUEST_MAX;
        memcpy(request, w->input, size);
        request[size] = 0;
        end = strstr(request, "\r\n\r\n");
    }
    w->begin = (size_t)(end - request) + 4;
    end[4] = 0;
    return answer_request(w, request);
}

/* ---- receiving --------------------------------------------------------- */

static uint64_t read_big_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t k = 0; k < size; k++)
        value = value << 8 | bytes[k];
    return value;
}

/* Reads a frame's header from the input. 0: it is incomplete. -1: it breaks the
 * protocol. */
static int read_head(websocket *w)
{
    const unsigned char *at = w->input + w->begin;
    const size_t have = w->end - w->begin;
    if (have < 2)
        return 0;
    const unsigned op = at[0] & 15u, length = at[1] & 127u;
    const size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    const bool control = op >= OP_CLOSE;
    /* A client masks; no extension is agreed on; control frames are whole. */
    if (!(at[1] & 128u) || at[0] & 112u || op > OP_PONG ||
        (op > OP_BINARY && !control) || op == 1 ||
        (control && (length > CONTROL_MAX || !(at[0] & 128u))))
        return -1;
    if (have < 2 + extra + sizeof w->mask)
        return 0;
    w->op = op;
    w->payload_left = extra ? read_big_endian(at + 2, extra) : length;
    memcpy(w->mask, at + 2 + extra, sizeof w->mask);
    w->mask_at = 0;
    w->control_filled = 0;
    w->begin += 2 + extra + sizeof w->mask;
    w->in_payload = true;
    return 1;
}

static void unmask_bytes(websocket *w, unsigned char *bytes, size_t count)
{
    uint64_t mask;
    unsigned char turned[sizeof mask];
    size_t k = 0;
    for (size_t i = 0; i < sizeof turned; i++)
        turned[i] = w->mask[(w->mask_at + i) & 3];
    memcpy(&mask, turned, sizeof mask);
    for (; count - k >= sizeof mask; k += sizeof mask) {
        uint64_t word;
        memcpy(&word, bytes + k, sizeof word);
        word ^= mask;
        memcpy(bytes + k, &word, sizeof word);
    }
    for (; k < count; k++)
        bytes[k] ^= turned[k & 7];
    w->mask_at = (unsigned)((w->mask_at + count) & 3);
}

/* Moves bytes of the input to the payload's place. */
static size_t take_input(websocket *w, unsigned char *to, size_t space)
{
    const size_t have = w->end - w->begin;
    size_t n = have < space ? have : space;
    if (n > w->payload_left)
        n = (size_t)w->payload_left;
    memcpy(to, w->input + w->begin, n);
    unmask_bytes(w, to, n);
    w->begin += n;
    w->payload_left -= n;
    return n;
}

/* A control frame is complete. False: the stream ends. */
static bool take_control_frame(websocket *w)
{
    if (w->op == OP_PING) {
        pthread_mutex_lock(&w->lock);
        memcpy(w->pong, w->control, w->control_filled);
        w->pong_size = w->control_filled + 1;
        pthread_mutex_unlock(&w->lock);
    }
    return w->op != OP_CLOSE;
}

/* Waits for more input. Bytes of a large payload go to `to` directly. Returns
 * as `receive`: 1 or more bytes arrived. */
static ssize_t refill(websocket *w)
{
    if (w->begin > 0) {
        memmove(w->input, w->input + w->begin, w->end - w->begin);
        w->end -= w->begin;
        w->begin = 0;
    }
    const struct iovec space = {w->input + w->end, sizeof w->input - w->end};
    const ssize_t n = w->below->calls->receive(w->below, &space, 1);
    if (n > 0)
        w->end += (size_t)n;
    return n;
}

/* Receives payload where it belongs. The input is empty. */
static ssize_t receive_payload(websocket *w, const struct iovec *piece)
{
    struct iovec there = *piece;
    if (there.iov_len > w->payload_left)
        there.iov_len = (size_t)w->payload_left;
    const ssize_t n = w->below->calls->receive(w->below, &there, 1);
    if (n > 0) {
        unmask_bytes(w, there.iov_base, (size_t)n);
        w->payload_left -= (uint64_t)n;
    }
    return n;
}

static ssize_t websocket_receive(sti_stream *stream, const struct iovec *pieces,
                                 size_t count)
{
    websocket *w = (websocket *)stream;
    (void)count; /* the first piece is enough: callers call again */
    if (w->is_refused)
        return w->below->calls->receive(w->below, pieces, 1);
    for (;;) {
        const bool control = w->in_payload && w->op >= OP_CLOSE;
        ssize_t n = 0;
        if (!w->in_payload) {
            const int rv = read_head(w);
            if (rv < 0) {
                errno = EBADMSG;
                return -1;
            }
            if (rv == 0 && (n = refill(w)) <= 0)
                return n;
        } else if (w->payload_left == 0) {
            w->in_payload = false;
            if (control && !take_control_frame(w))
                return 0;
        } else if (control) {
            w->control_filled += take_input(w, w->control + w->control_filled,
                                            CONTROL_MAX - w->control_filled);
            if (w->payload_left > 0 && (n = refill(w)) <= 0)
                return n;
        } else if (w->begin < w->end) {
            return (ssize_t)take_input(w, pieces->iov_base, pieces->iov_len);
        } else if (pieces->iov_len >= INPUT_BYTES) {
            return receive_payload(w, pieces);
        } else if ((n = refill(w)) <= 0) {
            return n;
        }
    }
}

/* ---- sending ----------------------------------------------------------- */

/* Begins a frame of `size` bytes, after a pong that is due. */
static void make_head(websocket *w, size_t size)
{
    unsigned char *at = w->head;
    pthread_mutex_lock(&w->lock);
    if (w->pong_size > 0) {
        *at++ = 128 | OP_PONG;
        *at++ = (unsigned char)(w->pong_size - 1);
        memcpy(at, w->pong, w->pong_size - 1);
        at += w->pong_size - 1;
        w->pong_size = 0;
    }
    pthread_mutex_unlock(&w->lock);
    *at++ = 128 | OP_BINARY;
    const size_t extra = size < 126 ? 0 : size < 65536 ? 2 : 8;
    *at++ = (unsigned char)(extra == 0 ? size : extra == 2 ? 126 : 127);
    for (size_t k = extra; k-- > 0;)
        *at++ = (unsigned char)((uint64_t)size >> 8 * k);
    w->head_begin = 0;
    w->head_end = (size_t)(at - w->head);
    w->left = size;
}

/* Fills `out` with the rest of the header and of the frame's payload. */
static size_t gather_pieces(const websocket *w, const struct iovec *pieces,
                            size_t count, struct iovec out[PIECES_MAX])
{
    size_t n = 0, left = w->left;
    if (w->head_begin < w->head_end)
        out[n++] = (struct iovec){(void *)(uintptr_t)(w->head + w->head_begin),
                                  w->head_end - w->head_begin};
    for (size_t k = 0; k < count && left > 0 && n < PIECES_MAX; k++) {
        out[n] = pieces[k];
        if (out[n].iov_len > left)
            out[n].iov_len = left;
        left -= out[n++].iov_len;
    }
    return n;
}

static ssize_t websocket_send(sti_stream *stream, const struct iovec *pieces,
                              size_t count, bool may_wait)
{
    websocket *w = (websocket *)stream;
    struct iovec out[PIECES_MAX];
    if (w->left == 0) {
        size_t size = 0;
        for (size_t k = 0; k < count && k < PIECES_MAX - 1; k++)
            size += pieces[k].iov_len;
        make_head(w, size < PAYLOAD_MAX ? size : PAYLOAD_MAX);
    }
    for (;;) {
        const size_t head = w->head_end - w->head_begin;
        const ssize_t n =
            w->below->calls->send(w->below, out,
                                  gather_pieces(w, pieces, count, out),
                                  may_wait);
        if (n < 0)
            return n;
        const size_t of_head = (size_t)n < head ? (size_t)n : head;
        w->head_begin += of_head;
        w->left -= (size_t)n - of_head;
        if ((size_t)n > of_head)
            return n - (ssize_t)of_head;
    }
}

/* ---- the stream -------------------------------------------------------- */

static void websocket_end(sti_stream *stream, bool sending_only)
{
    sti_stream *below = ((websocket *)stream)->below;
    below->calls->end(below, sending_only);
}

static void websocket_addresses(const sti_stream *stream, sti_ends *out)
{
    const sti_stream *below = ((const websocket *)stream)->below;
    below->calls->addresses(below, out);
}

static void websocket_free(sti_stream *stream)
{
    websocket *w = (websocket *)stream;
    w->below->calls->free(w->below);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

static const sti_stream_calls websocket_calls = {
    .open = websocket_open,
    .receive = websocket_receive,
    .send = websocket_send,
    .end = websocket_end,
    .addresses = websocket_addresses,
    .free = websocket_free,
};

strads_err sti_websocket_accept(int fd, const char *path, sti_stream **out)
{
    sti_stream *below;
    strads_err err = sti_stream_of_socket(fd, &below);
    if (err)
        return err;
    websocket *w = calloc(1, sizeof *w);
    if (!w) {
        below->calls->free(below);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    w->stream.calls = &websocket_calls;
    w->below = below;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)snprintf(w->path, sizeof w->path, "%s", path);
    *out = &w->stream;
    return STRADS_OK;
}
