/* crowd URL COUNT OURS [THEIRS [PID]]: COUNT connections of strangers to the
 * node at URL (tcp, tls+tcp, ipc or ws), some hundred at a time. They are idle
 * or slow, send garbage or a HELLO without TLS, begin TLS as a node of another
 * run, or replay a handshake of a node of this run. At ws:// they also send
 * half a request, a wrong or an endless one, or break its frames.
 *
 * OURS and THEIRS authenticate the nodes of this run and of the other one: a
 * file with a token, or NAME for the files NAME.ca, NAME.pem and NAME.key.
 * Without THEIRS the strangers have OURS with a changed bit, a token.
 *
 * Prints how many came, were let in and were refused by an answer. With PID,
 * the process of the node, also its open descriptors and memory at first and at
 * most, and its CPU time for each stranger. */
#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/frame.h"
#include "engine/net/socket.h"
#include "engine/net/tls.h"

enum {
    OPEN_AT_ONCE = 300,
    KINDS = 6,
    WEB_KINDS = 8,
    DIAL_MS = 20000,
    ANSWER_STEPS = 8, /* guests that come before a handshake continues */
    ANSWER_MS = 5,
    LAST_ANSWER_MS = 2000, /* before that the node closes */
    INPUT_MAX = 8192,
    COST_STEPS = 16 /* guests between two readings of the costs */
};

static sti_url to;
static unsigned came, let_in, refused;

/* A node without the token, or with another authority's certificate. */
static sti_tls_context *stranger;
/* All that a node of the run sends in a handshake. */
static unsigned char recorded[INPUT_MAX];
static size_t recorded_size;

/* A connection of a stranger. */
typedef struct guest {
    int fd;
    sti_tls *tls; /* NULL: it speaks no TLS, or replays */
    size_t fed;   /* bytes that TLS has read */
    bool framed;  /* it sends frames of WebSocket */
    bool is_over; /* the result of its handshake is counted */
    size_t filled;
    unsigned char input[INPUT_MAX];
} guest;

static void give_up(const char *text)
{
    (void)fprintf(stderr, "crowd: %s: %s\n", text, strads_error_text());
    exit(2);
}

/* ---- bytes to and from the node ---------------------------------------- */

static void send_bytes(const guest *g, const void *bytes, size_t size)
{
    (void)send(g->fd, bytes, size, MSG_NOSIGNAL);
}

/* At ws:// in one frame, with a mask of zeros. */
static void send_all(const guest *g, const void *bytes, size_t size)
{
    unsigned char frame[8 + INPUT_MAX] = {130, 128};
    size_t head = 6;
    if (!g->framed) {
        send_bytes(g, bytes, size);
        return;
    }
    if (size < 126) {
        frame[1] |= (unsigned char)size;
    } else {
        frame[1] |= 126;
        frame[2] = (unsigned char)(size >> 8);
        frame[3] = (unsigned char)size;
        head = 8;
    }
    memcpy(frame + head, bytes, size);
    send_bytes(g, frame, head + size);
}

/* False: nothing is there, or the node has closed. */
static bool receive_some(guest *g)
{
    const ssize_t n = recv(g->fd, g->input + g->filled,
                           sizeof g->input - g->filled, MSG_DONTWAIT);
    if (n > 0)
        g->filled += (size_t)n;
    return n > 0;
}

static bool is_number(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* The status of the answer to a request; 0: incomplete. *size: its bytes. */
static unsigned read_status(const guest *g, size_t *size)
{
    static const char begin[] = "HTTP/1.1 ", end[] = "\r\n\r\n";
    const unsigned char *after = memmem(g->input, g->filled, end, 4);
    if (!after || memcmp(g->input, begin, 9) != 0 || !is_number(g->input[9]))
        return 0;
    *size = (size_t)(after - g->input) + 4;
    return (unsigned)atoi((const char *)g->input + 9);
}

/* Writes what the node has sent to `out`, at ws:// without answer and frames.
 * Returns its size. */
static size_t read_plain(const guest *g, unsigned char out[INPUT_MAX])
{
    size_t at = 0, size = 0;
    if (!to.web) {
        memcpy(out, g->input, g->filled);
        return g->filled;
    }
    if (read_status(g, &at) != 101)
        return 0;
    while (g->filled - at >= 4) {
        const unsigned char *head = g->input + at;
        const size_t extra = head[1] == 126 ? 2 : 0;
        const size_t n = extra ? (size_t)head[2] << 8 | head[3] : head[1];
        at += 2 + extra;
        if (n > g->filled - at)
            break;
        memcpy(out + size, g->input + at, n);
        size += n;
        at += n;
    }
    return size;
}

/* ---- handshakes -------------------------------------------------------- */

/* Moves the output of one end to the other and, if `out` is not NULL, appends
 * it there. */
static void move_output(sti_tls *from, sti_tls *into, unsigned char *out,
                        size_t *filled)
{
    size_t size, space;
    const void *bytes = sti_tls_output(from, &size);
    void *place = sti_tls_space(into, &space);
    if (size > space || (out && *filled + size > sizeof recorded))
        abort();
    memcpy(place, bytes, size);
    sti_tls_feed(into, size);
    if (out) {
        memcpy(out + *filled, bytes, size);
        *filled += size;
    }
    sti_tls_take(from, size);
}

/* Records a handshake of two nodes of the run, and a message. */
static void record_handshake(sti_tls_context *ours)
{
    sti_tls *dials = NULL, *accepts = NULL;
    bool done = false, accepted = false;
    struct iovec piece = {recorded, STI_HEADER_BYTES};
    if (sti_tls_new(ours, true, &dials) || sti_tls_new(ours, false, &accepts))
        give_up("TLS");
    while (!done) {
        if (sti_tls_handshake(dials, &done))
            give_up("a handshake of two nodes");
        move_output(dials, accepts, recorded, &recorded_size);
        if (!accepted && sti_tls_handshake(accepts, &accepted))
            give_up("a handshake of two nodes");
        move_output(accepts, dials, NULL, NULL);
    }
    if (sti_tls_write(dials, &piece, 1) < 0)
        give_up("a message");
    move_output(dials, accepts, recorded, &recorded_size);
    sti_tls_free(dials);
    sti_tls_free(accepts);
}

/* `name` is a file with a token or, with endings, of certificates. */
static sti_tls_context *make_context(const char *name, unsigned changed)
{
    static char file[3][4096];
    static const char *const ending[3] = {"ca", "pem", "key"};
    sti_trust trust = {0};
    sti_tls_context *context = NULL;
    for (size_t k = 0; k < 3; k++)
        (void)snprintf(file[k], sizeof file[k], "%s.%s", name, ending[k]);
    if (access(file[0], R_OK) == 0)
        trust.tls = (sti_tls_files){file[0], file[1], file[2]};
    else if (sti_token_read(name, &trust.token))
        give_up(name);
    trust.token.bytes[0] ^= (unsigned char)changed;
    if (sti_tls_context_new(&trust, &context))
        give_up(name);
    return context;
}

/* Feeds what has arrived, and sends what follows. */
static void continue_tls(guest *g)
{
    unsigned char bytes[INPUT_MAX];
    bool done = false;
    const size_t size = read_plain(g, bytes);
    while (g->fed < size) {
        size_t space;
        void *place = sti_tls_space(g->tls, &space);
        const size_t n = space < size - g->fed ? space : size - g->fed;
        if (n == 0)
            break;
        memcpy(place, bytes + g->fed, n);
        sti_tls_feed(g->tls, n);
        g->fed += n;
    }
    const strads_err err = sti_tls_handshake(g->tls, &done);
    size_t count;
    const void *output = sti_tls_output(g->tls, &count);
    if (count > 0) {
        send_all(g, output, count);
        sti_tls_take(g->tls, count);
    }
    g->is_over = err != STRADS_OK || done;
    let_in += done;
    refused += err == STRADS_EMISMATCH;
}

/* Continues a handshake for which bytes arrive within `ms`. */
static void answer_node(guest *g, int ms)
{
    struct pollfd ready = {g->fd, POLLIN, 0};
    while (g->tls && !g->is_over && poll(&ready, 1, ms) > 0 && receive_some(g))
        continue_tls(g);
}

/* ---- strangers --------------------------------------------------------- */

/* Reads the answer. The guest was admitted if it is a frame other than REJECT,
 * or completes a handshake. */
static void hear(guest *g)
{
    unsigned char bytes[INPUT_MAX];
    sti_header header;
    size_t end;
    if (g->tls) {
        answer_node(g, LAST_ANSWER_MS);
        return;
    }
    (void)receive_some(g);
    const unsigned status = to.web ? read_status(g, &end) : 0;
    if (status > 0 && status != 101) {
        refused++;
    } else if (read_plain(g, bytes) >= STI_HEADER_BYTES &&
               sti_frame_decode_header(bytes, 512, &header) == STRADS_OK) {
        let_in += header.kind != STI_KIND_REJECT;
        refused += header.kind == STI_KIND_REJECT;
    }
}

static void send_hello(const guest *g, const void *payload, size_t size)
{
    unsigned char bytes[STI_HEADER_BYTES + 64] = {0};
    const sti_part all = {payload, size};
    const sti_header header = {.kind = STI_KIND_HELLO,
                               .size = size,
                               .checksum = sti_frame_checksum(&all, 1)};
    sti_frame_encode_header(&header, bytes);
    memcpy(bytes + STI_HEADER_BYTES, payload, size);
    send_all(g, bytes, sizeof bytes);
}

/* Asks for a WebSocket in one of some ways. */
static void send_request(guest *g, unsigned way)
{
    static const unsigned char huge[] = {130, 255, 63, 0, 0, 0, 0,
                                         0,   0,   0,  0, 0, 0, 0};
    static unsigned char endless[INPUT_MAX];
    char text[512];
    const int size =
        snprintf(text, sizeof text,
                 "GET %s%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                 "Upgrade: %s\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                 to.path, way == 1 ? "/of/another" : "",
                 way == 2 ? "h2c" : "websocket");
    if (way == 3) {
        send_bytes(g, text, (size_t)size / 2);
    } else if (way == 4) {
        memset(endless, 'x', sizeof endless);
        send_bytes(g, endless, sizeof endless);
        send_bytes(g, endless, sizeof endless);
    } else {
        send_bytes(g, text, (size_t)size);
    }
    if (way == 5)
        send_bytes(g, huge, sizeof huge);
    g->framed = way != 6;
}

static void act(guest *g, unsigned number)
{
    unsigned char bytes[200];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)rand();
    if (to.web)
        send_request(g, number / KINDS % WEB_KINDS);
    switch (number % KINDS) {
    case 0: /* idle */
        break;
    case 1: /* slow: the first bytes of a handshake */
        send_all(g, recorded, number % 300);
        break;
    case 2:
        send_all(g, bytes, number % sizeof bytes);
        break;
    case 3:
        send_hello(g, bytes, 64);
        break;
    case 4:
        if (sti_tls_new(stranger, true, &g->tls))
            give_up("TLS");
        continue_tls(g);
        if (number % 5 == 0)
            send_all(g, bytes, sizeof bytes);
        break;
    default:
        send_all(g, recorded, recorded_size);
    }
}

/* ---- the node's process ------------------------------------------------ */

typedef struct cost {
    unsigned long descriptors, kib;
    double seconds;
} cost;

static unsigned long count_descriptors(const char *pid)
{
    char path[64];
    unsigned long count = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        (void)closedir(folder);
    return count;
}

/* Raises `most` to what the process has now. False: it has ended. */
static bool read_cost(const char *pid, cost *most)
{
    char path[64], line[1024] = "";
    unsigned long user = 0, system = 0, kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const char *fields =
        fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    if (!fields || sscanf(fields,
                          ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu "
                          "%lu",
                          &user, &system) != 2)
        return false;
    most->seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    const unsigned long now = count_descriptors(pid);
    most->descriptors = now > most->descriptors ? now : most->descriptors;
    (void)snprintf(path, sizeof path, "/proc/%s/status", pid);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lu", &kib) == 1)
            most->kib = kib;
    if (file)
        (void)fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    static guest open_now[OPEN_AT_ONCE];
    const unsigned count = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;
    const char *pid = argc == 6 ? argv[5] : NULL;
    cost first = {0}, most;
    if (count == 0 || argc > 6 || sti_url_parse(argv[1], &to)) {
        (void)fprintf(stderr, "crowd URL COUNT OURS [THEIRS [PID]]\n");
        return 2;
    }
    sti_tls_context *ours = make_context(argv[3], 0);
    stranger = argc > 4 ? make_context(argv[4], 0) : make_context(argv[3], 1);
    record_handshake(ours);
    if (pid && !read_cost(pid, &first))
        give_up(pid);
    most = first;
    for (unsigned k = 0; k < count + OPEN_AT_ONCE; k++) {
        guest *g = &open_now[k % OPEN_AT_ONCE];
        if (k >= OPEN_AT_ONCE && g->fd >= 0) {
            hear(g);
            (void)close(g->fd);
            sti_tls_free(g->tls);
        }
        *g = (guest){.fd = -1};
        if (k < count && sti_socket_dial(&to, DIAL_MS, &g->fd) == 0) {
            came++;
            act(g, k);
        }
        if (k >= ANSWER_STEPS)
            answer_node(&open_now[(k - ANSWER_STEPS) % OPEN_AT_ONCE],
                        ANSWER_MS);
        if (pid && k % COST_STEPS == 0)
            (void)read_cost(pid, &most);
    }
    (void)printf("%u came, %u were let in, %u were refused", came, let_in,
                 refused);
    if (pid)
        (void)printf("; %lu to %lu descriptors, %lu to %lu KiB, %.2f ms each",
                     first.descriptors, most.descriptors, first.kib, most.kib,
                     1e3 * (most.seconds - first.seconds) / count);
    (void)printf("\n");
    sti_tls_context_free(ours);
    sti_tls_context_free(stranger);
    return 0;
}
