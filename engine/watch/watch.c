/* The server of the watch page. One thread owns the connections and only polls,
 * so a client cannot delay the run or another client.
 *
 * The lock guards the history and the metrics, which the run's threads write. A
 * client of /stream has a position in the history, by event number. The next
 * events are sent once the earlier ones are written; a slow client sees the
 * thinned history and costs no memory. */
#include "engine/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/system.h"
#include "engine/net/socket.h"

static const uint64_t SECOND = 1000000000;
enum { SHARE = 1 << 18, KEEP_ALIVE_SECONDS = 15, HOST_SIZE = 300 };

typedef struct line {
    char *text;
    size_t size;
    uint64_t number;
    uint64_t
        /* its number among the reports; 0: not a report, so it is kept */
        report;
} line;

/* In the order in which a full server ends connections. */
typedef enum state { LEAVING, READING, STREAMING, REPLYING } state;

typedef struct client {
    int fd;
    state state;
    uint64_t serial; /* grows with each accepted connection */
    char host[STI_HOST_MAX + 1];
    uint64_t until; /* deadline of its current state */
    char in[STI_WATCH_REQUEST + 1];
    size_t n_in;
    char *out; /* [n_out], of which `sent` bytes are written */
    size_t n_out, sent;
    uint64_t next; /* number of the next event to send */
} client;

struct sti_watch {
    sti_watch_options options;
    char token[STI_TOKEN_MAX + 1];
    char host[STI_URL_MAX + 1], own_name[HOST_SIZE];
    char url[2 * STI_URL_MAX + STI_TOKEN_MAX + 64];
    bool local;
    int listener;
    sti_bell wake; /* wakes the thread */
    pthread_t thread;
    bool started;
    client *clients[STI_WATCH_CLIENTS]; /* owned by the server's thread */
    uint32_t n_clients;
    uint64_t serial;

    pthread_mutex_t lock; /* guards the fields below */
    line lines[STI_WATCH_LINES];
    size_t n_lines, bytes;
    uint64_t next, reports;
    uint64_t stride; /* one in `stride` reports is kept, and the newest */
    char *metrics;
    size_t n_metrics;
    bool closing;
};

/* ---- history ------------------------------------------------------------- */

static void drop_line_locked(sti_watch *w, size_t k)
{
    w->bytes -= w->lines[k].size;
    free(w->lines[k].text);
}

/* Drops every second remaining report. If too many events are left, drops the
 * oldest half except the first event, which describes the run. */
static void thin_locked(sti_watch *w)
{
    size_t kept = 0;
    w->stride *= 2;
    for (size_t k = 0; k < w->n_lines; k++)
        if (w->lines[k].report % w->stride)
            drop_line_locked(w, k);
        else
            w->lines[kept++] = w->lines[k];
    w->n_lines = kept;
    if (kept <= STI_WATCH_LINES * 3 / 4 && w->bytes <= STI_WATCH_BYTES / 2)
        return;
    const size_t drop = kept / 2;
    for (size_t k = 1; k <= drop; k++)
        drop_line_locked(w, k);
    memmove(w->lines + 1, w->lines + 1 + drop,
            (kept - drop - 1) * sizeof(line));
    w->n_lines = kept - drop;
}

static void wake_thread(sti_watch *w)
{
    sti_bell_ring(&w->wake);
}

void sti_watch_publish(sti_watch *w, const char *text, size_t size,
                       bool thinned)
{
    char *copy = size <= STI_WATCH_BYTES / 4 ? malloc(size + 1) : NULL;
    if (!copy) /* drop the event; the run must not fail */
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    pthread_mutex_lock(&w->lock);
    const line *newest = w->n_lines ? &w->lines[w->n_lines - 1] : NULL;
    if (newest && newest->report % w->stride)
        drop_line_locked(w, --w->n_lines);
    if (w->n_lines == STI_WATCH_LINES || w->bytes + size > STI_WATCH_BYTES)
        thin_locked(w);
    w->lines[w->n_lines++] =
        (line){copy, size, w->next++, thinned ? ++w->reports : 0};
    w->bytes += size;
    pthread_mutex_unlock(&w->lock);
    wake_thread(w);
}

void sti_watch_metrics(sti_watch *w, const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    pthread_mutex_lock(&w->lock);
    char *old = w->metrics;
    w->metrics = copy;
    w->n_metrics = size;
    pthread_mutex_unlock(&w->lock);
    free(old);
}

/* ---- replies ------------------------------------------------------------- */

static void set_deadline(client *c, uint64_t seconds)
{
    c->until = sti_monotonic_in(seconds * SECOND);
}

/* Makes a reply from the head and `size` bytes of body. Without memory the
 * client is disconnected. */
static void make_reply(client *c, const char *status, const char *type,
                       const char *more, const char *body, size_t size)
{
    char head[1024];
    const int n = snprintf(
        head, sizeof head,
        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
        "Connection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "X-Frame-Options: DENY\r\n%s\r\n",
        status, type, size, more);
    const bool head_only = strncmp(c->in, "HEAD ", 5) == 0;
    const size_t kept = head_only ? 0 : size;
    c->out = malloc((size_t)n + kept);
    c->state = c->out ? REPLYING : LEAVING;
    set_deadline(c, c->out ? STI_WATCH_REPLY_SECONDS : 0);
    if (!c->out)
        return;
    memcpy(c->out, head, (size_t)n);
    if (kept)
        memcpy(c->out + n, body, kept);
    c->n_out = (size_t)n + kept;
}

static void reply_text(client *c, const char *status, const char *more,
                       const char *format, ...) STRADS_PRINTF(4, 5);
static void reply_text(client *c, const char *status, const char *more,
                       const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    size_t size = n < (int)sizeof text - 1 ? (size_t)n : sizeof text - 2;
    text[size++] = '\n';
    make_reply(c, status, "text/plain; charset=utf-8", more, text, size);
}

static void reply_page(sti_watch *w, client *c)
{
    /* Allows only this page, without external content. */
    make_reply(
        c, "200 OK", "text/html; charset=utf-8",
        "Content-Security-Policy: default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'\r\n",
        w->options.page, w->options.page_size);
}

static void reply_events(sti_watch *w, client *c)
{
    pthread_mutex_lock(&w->lock);
    char *all = malloc(w->bytes + w->n_lines + 1);
    size_t at = 0;
    for (size_t k = 0; all && k < w->n_lines; k++) {
        memcpy(all + at, w->lines[k].text, w->lines[k].size);
        at += w->lines[k].size;
        all[at++] = '\n';
    }
    pthread_mutex_unlock(&w->lock);
    if (all)
        make_reply(c, "200 OK", "application/x-ndjson", "", all, at);
    else
        reply_text(c, "503 Service Unavailable", "", "no memory left");
    free(all);
}

static void reply_run(sti_watch *w, client *c, const char *name)
{
    size_t size = 0;
    char *text = w->options.runs(w->options.arg, name, &size);
    if (text)
        make_reply(c, "200 OK",
                   *name ? "application/x-ndjson" : "application/json", "",
                   text, size);
    else
        reply_text(c, "404 Not Found", "", "there is no such run");
    free(text);
}

static void reply_metrics(sti_watch *w, client *c)
{
    pthread_mutex_lock(&w->lock);
    make_reply(c, "200 OK", "text/plain; version=0.0.4; charset=utf-8", "",
               w->metrics ? w->metrics : "", w->n_metrics);
    pthread_mutex_unlock(&w->lock);
}

static void begin_stream(client *c)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        "Connection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\nretry: 1000\n\n";
    c->out = strdup(head);
    c->n_out = c->out ? sizeof head - 1 : 0;
    c->state = c->out ? STREAMING : LEAVING;
    set_deadline(c, STI_WATCH_REPLY_SECONDS);
}

/* ---- requests ------------------------------------------------------------ */

/* Copies the value of a header, without surrounding blanks. Returns how often
 * it occurs. */
static unsigned find_header(const char *head, const char *name, char *out,
                            size_t size)
{
    unsigned found = 0;
    const size_t length = strlen(name);
    *out = '\0';
    for (const char *at = strstr(head, "\r\n"); at && at[2] != '\r';
         at = strstr(at + 2, "\r\n")) {
        const char *l = at + 2;
        if (strncasecmp(l, name, length) != 0 || l[length] != ':')
            continue;
        l += length + 1;
        l += strspn(l, " \t");
        size_t n = strcspn(l, "\r\n");
        while (n > 0 && (l[n - 1] == ' ' || l[n - 1] == '\t'))
            n--;
        if (n >= size)
            return 2; /* longer than all accepted values */
        memcpy(out, l, n);
        out[n] = '\0';
        found++;
    }
    return found;
}

/* Extracts the name of "name:port" or "[::1]:port". */
static void host_name(const char *host, char out[HOST_SIZE])
{
    const char *end = *host == '[' ? strchr(host, ']') : NULL;
    const size_t n = end ? (size_t)(end - host) + 1 : strcspn(host, ":");
    const bool port = host[n] == ':' && strspn(host + n + 1, "0123456789") ==
                                            strlen(host + n + 1);
    (void)snprintf(out, HOST_SIZE, "%.*s", port || host[n] == '\0' ? (int)n : 0,
                   host);
}

/* Whether the host is an address in digits, the listening address, or this
 * machine's own name. An attacker's DNS cannot point such a name here. */
static bool host_is_ours(const sti_watch *w, const char *host)
{
    char name[HOST_SIZE];
    host_name(host, name);
    const bool figures = strspn(name, "0123456789.") == strlen(name);
    if (*name == '\0')
        return false;
    if (strcasecmp(name, "localhost") == 0 || strcasecmp(name, w->host) == 0)
        return true;
    if (w->local)
        return (figures && strncmp(name, "127.", 4) == 0) ||
               strcmp(name, "[::1]") == 0;
    return figures || *name == '[' || strcasecmp(name, w->own_name) == 0;
}

/* Compares in constant time. */
static bool is_token(const sti_watch *w, const char *text)
{
    const size_t n = strlen(w->token), m = strlen(text);
    unsigned differs = n != m;
    for (size_t k = 0; k < n; k++)
        differs |= (unsigned)(w->token[k] ^ text[m ? k % m : 0]);
    return !differs;
}

static void stop_run(sti_watch *w, client *c)
{
    char given[STI_TOKEN_MAX + 16];
    if (!w->options.stop) {
        reply_text(c, "404 Not Found", "", "there is no run to stop");
        return;
    }
    const bool one =
        find_header(c->in, "Authorization", given, sizeof given) == 1;
    if (!one || strncmp(given, "Bearer ", 7) != 0 || !is_token(w, given + 7)) {
        reply_text(c, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n",
                   "stopping a run needs its token");
        return;
    }
    reply_text(c, "202 Accepted", "", "the run ends at its next commit");
    w->options.stop(w->options.arg);
}

static bool is_trusted(sti_watch *w, client *c)
{
    char host[HOST_SIZE], origin[HOST_SIZE + 8], own[HOST_SIZE + 8];
    if (find_header(c->in, "Host", host, sizeof host) != 1) {
        reply_text(c, "400 Bad Request", "", "expected one Host");
        return false;
    }
    if (!host_is_ours(w, host)) {
        reply_text(c, "403 Forbidden", "",
                   "Host is not an address of this run's page; use %s",
                   w->local ? "127.0.0.1 or localhost"
                            : "its address in figures");
        return false;
    }
    const unsigned origins =
        find_header(c->in, "Origin", origin, sizeof origin);
    (void)snprintf(own, sizeof own, "http://%s", host);
    if (origins > 1 || (origins == 1 && strcasecmp(origin, own) != 0)) {
        reply_text(c, "403 Forbidden", "",
                   "the request comes from the page of another site");
        return false;
    }
    return true;
}

/* Answers a complete request, which ends with a 0. */
static void answer_request(sti_watch *w, client *c)
{
    static const struct route {
        const char *path;
        bool post;
        void (*serve)(sti_watch *w, client *c);
    } routes[] = {{"/", false, reply_page},
                  {"/events", false, reply_events},
                  {"/metrics", false, reply_metrics},
                  {"/stream", false, NULL},
                  {"/stop", true, stop_run}};
    char method[8], path[64], version[16];
    if (sscanf(c->in, "%7s %63s %15[^\r\n]", method, path, version) != 3 ||
        strncmp(version, "HTTP/1.", 7) != 0) {
        reply_text(c, "400 Bad Request", "", "expected GET / HTTP/1.1");
        return;
    }
    if (!is_trusted(w, c))
        return;
    path[strcspn(path, "?#")] = '\0';
    const bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (w->options.runs && get && strncmp(path, "/runs", 5) == 0 &&
        (path[5] == '\0' || path[5] == '/')) {
        reply_run(w, c, path + 5 + (path[5] == '/'));
        return;
    }
    for (size_t k = 0; k < sizeof routes / sizeof *routes; k++) {
        const struct route *r = &routes[k];
        if (strcmp(path, r->path) != 0)
            continue;
        if (r->post ? strcmp(method, "POST") != 0 : !get)
            reply_text(c, "405 Method Not Allowed",
                       r->post ? "Allow: POST\r\n" : "Allow: GET, HEAD\r\n",
                       "%s is for %s", path, r->post ? "POST" : "GET");
        else if (r->serve)
            r->serve(w, c);
        else
            begin_stream(c);
        return;
    }
    reply_text(c, "404 Not Found", "",
               "available are /, /stream, /events, /metrics and /stop");
}

/* Checks whether head and body have arrived; the body is ignored. */
static void check_request(sti_watch *w, client *c)
{
    char length[24], chunks[24];
    c->in[c->n_in] = '\0';
    const char *end = strstr(c->in, "\r\n\r\n");
    if (!end) {
        if (c->n_in == STI_WATCH_REQUEST)
            reply_text(c, "431 Request Header Fields Too Large", "",
                       "a request has at most %d bytes", STI_WATCH_REQUEST);
        return;
    }
    const unsigned n =
        find_header(c->in, "Content-Length", length, sizeof length);
    if (n > 1 || strspn(length, "0123456789") != strlen(length) ||
        find_header(c->in, "Transfer-Encoding", chunks, sizeof chunks)) {
        reply_text(c, "400 Bad Request", "", "a body without a length");
        return;
    }
    const size_t head = (size_t)(end - c->in) + 4;
    const unsigned long long body = strtoull(length, NULL, 10);
    if (body > STI_WATCH_REQUEST - head)
        reply_text(c, "413 Content Too Large", "",
                   "a request has at most %d bytes", STI_WATCH_REQUEST);
    else if (c->n_in >= head + body)
        answer_request(w, c);
}

/* ---- connections --------------------------------------------------------- */

static void drop_client(sti_watch *w, uint32_t k)
{
    client *c = w->clients[k];
    (void)close(c->fd);
    free(c->out);
    free(c);
    w->clients[k] = w->clients[--w->n_clients];
}

/* Bytes after a request are ignored. False: the client has disconnected. */
static bool read_some(sti_watch *w, client *c)
{
    char waste[4096];
    const bool reads = c->state == READING;
    const ssize_t n =
        recv(c->fd, reads ? c->in + c->n_in : waste,
             reads ? STI_WATCH_REQUEST - c->n_in : sizeof waste, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    if (n > 0 && reads) {
        c->n_in += (size_t)n;
        check_request(w, c);
    }
    return true;
}

/* Fills in the next events, up to SHARE bytes, for a stream that has written
 * all earlier ones. */
static void fill_stream(sti_watch *w, client *c)
{
    if (c->n_out > c->sent)
        return;
    free(c->out);
    c->out = NULL;
    c->n_out = c->sent = 0;
    pthread_mutex_lock(&w->lock);
    size_t first = w->n_lines;
    while (first > 0 && w->lines[first - 1].number >= c->next)
        first--;
    size_t size = 0, last = first;
    while (last < w->n_lines && (last == first || size < SHARE))
        size += w->lines[last++].size + 8;
    const bool idle = last == first && sti_monotonic_now() >= c->until;
    c->out = last > first || idle ? malloc(size + 4) : NULL;
    for (size_t k = first; c->out && k < last; k++) {
        memcpy(c->out + c->n_out, "data: ", 6);
        memcpy(c->out + c->n_out + 6, w->lines[k].text, w->lines[k].size);
        c->n_out += 6 + w->lines[k].size;
        memcpy(c->out + c->n_out, "\n\n", 2);
        c->n_out += 2;
        c->next = w->lines[k].number + 1;
    }
    pthread_mutex_unlock(&w->lock);
    if (c->out && idle) { /* a keep-alive comment */
        memcpy(c->out, ":\n\n", 3);
        c->n_out = 3;
    }
    if (c->out)
        set_deadline(c, STI_WATCH_REPLY_SECONDS);
}

/* False: the client has disconnected. */
static bool write_some(sti_watch *w, client *c)
{
    while (c->state == REPLYING || c->state == STREAMING) {
        if (c->state == STREAMING)
            fill_stream(w, c);
        if (c->n_out == c->sent)
            break;
        const ssize_t n = send(c->fd, c->out + c->sent, c->n_out - c->sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->sent += (size_t)n;
        set_deadline(c, c->state == STREAMING && c->n_out == c->sent
                            ? KEEP_ALIVE_SECONDS
                            : STI_WATCH_REPLY_SECONDS);
    }
    if (c->state == REPLYING) {
        /* Closing at once could discard the reply, so wait for the client. */
        (void)shutdown(c->fd, SHUT_WR);
        c->state = LEAVING;
        set_deadline(c, 2);
    }
    return true;
}

static void refuse_request(int fd)
{
    static const char full[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    (void)send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static uint32_t count_host(const sti_watch *w, const char *host)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->n_clients; k++)
        n += strcmp(w->clients[k]->host, host) == 0;
    return n;
}

/* Whether the server ends connection `a` before `b`: one of the address that
 * has more of them, then by state, then the older one. */
static bool goes_before(const sti_watch *w, const client *a, const client *b)
{
    const uint32_t n = count_host(w, a->host), m = count_host(w, b->host);
    if (n != m)
        return n > m;
    if (a->state != b->state)
        return a->state < b->state;
    return a->serial < b->serial;
}

/* Ends one connection, of `host` unless that is NULL. A request that has
 * arrived is answered first, so that no number of readers keeps a stop from its
 * effect. */
static void evict_client(sti_watch *w, const char *host)
{
    uint32_t victim = UINT32_MAX;
    for (uint32_t k = 0; k < w->n_clients; k++)
        if ((!host || strcmp(w->clients[k]->host, host) == 0) &&
            (victim == UINT32_MAX ||
             goes_before(w, w->clients[k], w->clients[victim])))
            victim = k;
    client *c = w->clients[victim];
    if (c->state == READING && read_some(w, c)) {
        if (c->state == READING)
            refuse_request(c->fd);
        else
            (void)write_some(w, c);
    }
    drop_client(w, victim);
}

static void accept_client(sti_watch *w)
{
    unsigned port;
    const int fd = sti_accept(w->listener);
    if (fd < 0)
        return;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    client *c = calloc(1, sizeof *c);
    if (!c) {
        refuse_request(fd);
        (void)close(fd);
        return;
    }
    sti_socket_peer(fd, c->host, &port);
    if (count_host(w, c->host) >= STI_WATCH_CLIENTS_EACH)
        evict_client(w, c->host);
    else if (w->n_clients == STI_WATCH_CLIENTS)
        evict_client(w, NULL);
    c->fd = fd;
    c->state = READING;
    c->serial = w->serial++;
    set_deadline(c, STI_WATCH_REQUEST_SECONDS);
    w->clients[w->n_clients++] = c;
}

static bool is_late(const client *c)
{
    const bool idle = c->state == STREAMING && c->n_out == c->sent;
    return !idle && sti_monotonic_now() >= c->until;
}

static bool has_sent_all(const sti_watch *w)
{
    for (uint32_t k = 0; k < w->n_clients; k++)
        if (w->clients[k]->n_out > w->clients[k]->sent)
            return false;
    return true;
}

static void *serve_clients(void *arg)
{
    sti_watch *w = arg;
    uint64_t ends = UINT64_MAX;
    for (;;) {
        struct pollfd poll_on[2 + STI_WATCH_CLIENTS] = {{.fd = w->listener,
                                                         .events = POLLIN},
                                                        {.fd = w->wake.ends[0],
                                                         .events = POLLIN}};
        const uint32_t n = w->n_clients;
        for (uint32_t k = 0; k < n; k++) {
            const client *c = w->clients[k];
            const bool writes = c->n_out > c->sent;
            poll_on[2 + k] =
                (struct pollfd){.fd = c->fd,
                                .events =
                                    (short)(POLLIN | (writes ? POLLOUT : 0))};
        }
        /* With clients, wake once a second to check deadlines; without, sleep
         * until one connects. */
        (void)poll(poll_on, 2 + n, ends != UINT64_MAX ? 10 : n > 0 ? 1000 : -1);
        sti_bell_silence(&w->wake);
        pthread_mutex_lock(&w->lock);
        if (w->closing && ends == UINT64_MAX)
            ends = sti_monotonic_in(SECOND);
        pthread_mutex_unlock(&w->lock);
        for (uint32_t k = n; k-- > 0;) {
            client *c = w->clients[k];
            const bool there =
                !(poll_on[2 + k].revents & (POLLIN | POLLHUP | POLLERR)) ||
                read_some(w, c);
            if (!there || !write_some(w, c) || is_late(c))
                drop_client(w, k);
        }
        if (poll_on[0].revents & POLLIN)
            accept_client(w);
        if (ends != UINT64_MAX &&
            (has_sent_all(w) || sti_monotonic_now() >= ends))
            break;
    }
    while (w->n_clients > 0) {
        (void)shutdown(w->clients[w->n_clients - 1]->fd, SHUT_WR);
        drop_client(w, w->n_clients - 1);
    }
    return NULL;
}

/* ---- opening and closing
 * ----------------------------------------------------- */

/* The page has a token of its own: it travels without TLS, and the run's token
 * would let its reader join the run. */
static strads_err draw_token(sti_watch *w)
{
    unsigned char drawn[16];
    if (!sti_random_bytes(drawn, sizeof drawn))
        return strads_fail(STRADS_EIO,
                           "--http: no random bytes for a token: "
                           "%s",
                           strerror(errno));
    for (size_t k = 0; k < sizeof drawn; k++)
        (void)snprintf(w->token + 2 * k, 3, "%02x", drawn[k]);
    return STRADS_OK;
}

static strads_err listen_at(sti_watch *w)
{
    const char *address = w->options.address;
    char text[STI_URL_MAX + 1];
    sti_url url;
    (void)snprintf(text, sizeof text, "tcp://%s", address);
    if (strlen(address) + 6 > STI_URL_MAX || strchr(address, '/') ||
        sti_url_parse(text, &url))
        return strads_fail(STRADS_EINVAL,
                           "--http: \"%.80s\" is not an address for a page; "
                           "expected HOST:PORT, for example 127.0.0.1:8265",
                           address);
    w->local = sti_url_is_local(&url);
    if (!w->local && !w->options.stop)
        return strads_fail(STRADS_EINVAL,
                           "--http %s: other machines reach this address; use "
                           "127.0.0.1, and ssh -L from elsewhere",
                           address);
    if (!w->local && !w->options.run_has_token)
        return strads_fail(STRADS_EINVAL,
                           "--http %s: other machines reach this address; give "
                           "the run a token (--token-file or STRADS_TOKEN), or "
                           "use 127.0.0.1",
                           address);
    const int error = sti_socket_listen(&url, &w->listener);
    if (error)
        return strads_fail(STRADS_EIO, "--http %s: cannot listen there: %s",
                           address, sti_socket_text(error));
    (void)fcntl(w->listener, F_SETFL, O_NONBLOCK);
    const bool any = sti_url_is_wildcard(&url);
    (void)gethostname(w->own_name, sizeof w->own_name - 1);
    (void)snprintf(w->host, sizeof w->host, "%s", any ? "" : url.host);
    (void)snprintf(w->url, sizeof w->url, "http://%s:%u/%s%s",
                   any ? w->own_name : url.host, url.port,
                   w->options.stop ? "#" : "", w->options.stop ? w->token : "");
    return STRADS_OK;
}

strads_err sti_watch_open(const sti_watch_options *options, sti_watch **out)
{
    sti_watch *w = calloc(1, sizeof *w);
    if (!w)
        return strads_fail(STRADS_ENOMEM, "no memory for a page to watch");
    w->options = *options;
    w->listener = -1;
    w->stride = 1;
    pthread_mutex_init(&w->lock, NULL);
    strads_err err =
        !sti_bell_open(&w->wake)
            ? strads_fail(STRADS_EIO, "no file descriptor for --http")
            : draw_token(w);
    if (!err)
        err = listen_at(w);
    if (!err && pthread_create(&w->thread, NULL, serve_clients, w) != 0)
        err = strads_fail(STRADS_EIO, "cannot start the thread of --http");
    w->started = !err;
    if (err)
        sti_watch_close(w);
    else
        *out = w;
    return err;
}

const char *sti_watch_url(const sti_watch *w)
{
    return w->url;
}

void sti_watch_close(sti_watch *w)
{
    if (!w)
        return;
    if (w->started) {
        pthread_mutex_lock(&w->lock);
        w->closing = true;
        pthread_mutex_unlock(&w->lock);
        wake_thread(w);
        pthread_join(w->thread, NULL);
    }
    if (w->listener >= 0)
        (void)close(w->listener);
    sti_bell_close(&w->wake);
    for (size_t k = 0; k < w->n_lines; k++)
        free(w->lines[k].text);
    free(w->metrics);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
