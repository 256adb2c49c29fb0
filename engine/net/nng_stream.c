/* Streams over nng's WebSocket: nng has the protocol of the dialling end and
 * the TLS of wss://. The accepting end is websocket.c: nng's HTTP server takes
 * any number of connections, so strangers would use up the descriptors.
 *
 * Sending copies to one of two buffers: `leaving`, which nng sends, and
 * `filling`. When the first is sent, they change places, on a thread of nng. */
#include "engine/net/nng_stream.h"

#ifdef STRADS_NNG

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/nng_library.h"

enum {
    BUFFER_BYTES = 65536,
    PIECES_MAX = 4,
    LEFT_MAX = 64 /* dials that go on after their time limit */
};

typedef struct buffer {
    size_t begin, end;
    unsigned char bytes[BUFFER_BYTES];
} buffer;

/* An operation of nng, and whether it is over: its callback notes that. In nng
 * 1.10, nng_aio_wait returns too early from an operation that was cancelled,
 * stopped or freed while nng was about to report its end, and nng then uses
 * what was freed. So none is freed before its callback has come. */
typedef struct operation {
    nng_aio *aio;
    pthread_mutex_t lock; /* guards is_over */
    pthread_cond_t ended;
    bool is_over;
} operation;

typedef struct nng_socket_stream {
    sti_stream stream;
    const sti_nng *nng;
    nng_stream *there;
    operation receiving;
    nng_aio *sending;

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t sent;
    bool is_sending; /* nng has `leaving`, after_sending will come */
    int failure;     /* errno */
    buffer *leaving, *filling;
    buffer buffers[2];
} nng_socket_stream;

static int to_errno(int rv)
{
    switch (rv) {
    case NNG_ETIMEDOUT:
        return ETIMEDOUT;
    case NNG_ECONNREFUSED:
        return ECONNREFUSED;
    case NNG_EUNREACHABLE:
        return EHOSTUNREACH;
    case NNG_ECONNABORTED:
    case NNG_ECONNRESET:
    case NNG_ECONNSHUT:
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return ECONNRESET;
    case NNG_EPROTO:
        return EPROTO;
    case NNG_EPERM:
        return EACCES;
    case NNG_EADDRINVAL:
        return EADDRNOTAVAIL;
    case NNG_ENOFILES:
        return EMFILE;
    default:
        return EIO;
    }
}

/* ---- operations -------------------------------------------------------- */

/* On a thread of nng. */
static void note_end(void *arg)
{
    operation *o = arg;
    pthread_mutex_lock(&o->lock);
    o->is_over = true;
    pthread_cond_signal(&o->ended);
    pthread_mutex_unlock(&o->lock);
}

/* Waits until the operation is over. False: it lasts longer. */
static bool await_end(operation *o, uint64_t until)
{
    pthread_mutex_lock(&o->lock);
    while (!o->is_over && sti_monotonic_wait(&o->ended, &o->lock, until))
        continue;
    const bool is_over = o->is_over;
    pthread_mutex_unlock(&o->lock);
    return is_over;
}

/* close_operation also after an error. False: no memory. */
static bool open_operation(const sti_nng *nng, operation *o)
{
    o->is_over = true;
    (void)pthread_mutex_init(&o->lock, NULL);
    (void)sti_monotonic_cond_init(&o->ended);
    return nng->nng_aio_alloc(&o->aio, note_end, o) == 0;
}

/* Frees an operation that is over. */
static void close_operation(const sti_nng *nng, operation *o)
{
    if (o->aio) {
        nng->nng_aio_wait(o->aio);
        nng->nng_aio_free(o->aio);
    }
    (void)pthread_cond_destroy(&o->ended);
    (void)pthread_mutex_destroy(&o->lock);
}

/* ---- receiving --------------------------------------------------------- */

/* Whether either end has closed the connection. */
static bool is_closed(const nng_socket_stream *s)
{
    bool on;
    return s->nng->nng_stream_get_bool(s->there, NNG_OPT_TCP_NODELAY, &on) ==
           NNG_ECLOSED;
}

/* nng 1.5 never completes a receive that begins after the connection was
 * closed, unless bytes are left: it is cancelled then. */
static ssize_t nng_stream_receive(sti_stream *stream,
                                  const struct iovec *pieces, size_t count)
{
    nng_socket_stream *s = (nng_socket_stream *)stream;
    nng_iov iov[PIECES_MAX];
    unsigned n = 0;
    for (; n < count && n < PIECES_MAX; n++)
        iov[n] = (nng_iov){pieces[n].iov_base, pieces[n].iov_len};
    nng_aio *aio = s->receiving.aio;
    s->receiving.is_over = false;
    (void)s->nng->nng_aio_set_iov(aio, n, iov);
    s->nng->nng_stream_recv(s->there, aio);
    if (is_closed(s))
        s->nng->nng_aio_cancel(aio);
    (void)await_end(&s->receiving, UINT64_MAX);
    const int rv = s->nng->nng_aio_result(aio);
    if (rv == 0)
        return (ssize_t)s->nng->nng_aio_count(aio);
    errno = to_errno(rv);
    return errno == ECONNRESET ? 0 : -1;
}

/* ---- sending ----------------------------------------------------------- */

/* `is_sending` is set, so that `leaving` is the caller's. Without the lock: nng
 * may call after_sending at once. */
static void start_sending(nng_socket_stream *s)
{
    buffer *b = s->leaving;
    const nng_iov iov = {b->bytes + b->begin, b->end - b->begin};
    (void)s->nng->nng_aio_set_iov(s->sending, 1, &iov);
    s->nng->nng_stream_send(s->there, s->sending);
}

/* nng has sent bytes. */
static void after_sending(void *arg)
{
    nng_socket_stream *s = arg;
    const int rv = s->nng->nng_aio_result(s->sending);
    pthread_mutex_lock(&s->lock);
    buffer *b = s->leaving;
    if (rv != 0) {
        s->failure = to_errno(rv);
    } else if ((b->begin += s->nng->nng_aio_count(s->sending)) == b->end) {
        b->begin = b->end = 0;
        s->leaving = s->filling;
        s->filling = b;
    }
    const bool more = !s->failure && s->leaving->end > 0;
    s->is_sending = more;
    pthread_cond_broadcast(&s->sent);
    pthread_mutex_unlock(&s->lock);
    if (more)
        start_sending(s);
}

static size_t append_pieces(buffer *b, const struct iovec *pieces, size_t count)
{
    size_t total = 0;
    for (size_t k = 0; k < count && b->end < BUFFER_BYTES; k++) {
        const size_t space = BUFFER_BYTES - b->end;
        const size_t n = pieces[k].iov_len < space ? pieces[k].iov_len : space;
        memcpy(b->bytes + b->end, pieces[k].iov_base, n);
        b->end += n;
        total += n;
    }
    return total;
}

static ssize_t nng_stream_send_some(sti_stream *stream,
                                    const struct iovec *pieces, size_t count,
                                    bool may_wait)
{
    nng_socket_stream *s = (nng_socket_stream *)stream;
    ssize_t n = -1;
    pthread_mutex_lock(&s->lock);
    while (may_wait && !s->failure && s->is_sending &&
           s->filling->end == BUFFER_BYTES)
        (void)pthread_cond_wait(&s->sent, &s->lock);
    const bool starts = !s->failure && !s->is_sending;
    const bool fits = starts || s->filling->end < BUFFER_BYTES;
    const int e = s->failure ? s->failure : fits ? 0 : EAGAIN;
    if (!e)
        n = (ssize_t)append_pieces(starts ? s->leaving : s->filling, pieces,
                                   count);
    s->is_sending = s->is_sending || starts;
    pthread_mutex_unlock(&s->lock);
    if (starts)
        start_sending(s);
    errno = e;
    return n;
}

/* ---- the stream -------------------------------------------------------- */

/* nng has no end of one direction only: the peer learns of both. */
static void nng_stream_end(sti_stream *stream, bool sending_only)
{
    nng_socket_stream *s = (nng_socket_stream *)stream;
    if (!sending_only)
        s->nng->nng_stream_close(s->there);
}

static void convert_address(const nng_sockaddr *from,
                            struct sockaddr_storage *out)
{
    void *to = out;
    struct sockaddr_in *in = to;
    struct sockaddr_in6 *in6 = to;
    *out = (struct sockaddr_storage){0};
    if (from->s_family == NNG_AF_INET) {
        in->sin_family = AF_INET;
        in->sin_port = from->s_in.sa_port;
        in->sin_addr.s_addr = from->s_in.sa_addr;
    } else if (from->s_family == NNG_AF_INET6) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = from->s_in6.sa_port;
        memcpy(&in6->sin6_addr, from->s_in6.sa_addr, sizeof in6->sin6_addr);
    }
}

static void nng_stream_addresses(const sti_stream *stream, sti_ends *out)
{
    const nng_socket_stream *s = (const nng_socket_stream *)stream;
    nng_sockaddr peer = {0}, own = {0};
    (void)s->nng->nng_stream_get_addr(s->there, NNG_OPT_REMADDR, &peer);
    (void)s->nng->nng_stream_get_addr(s->there, NNG_OPT_LOCADDR, &own);
    convert_address(&peer, &out->peer);
    convert_address(&own, &out->own);
}

static void nng_stream_release(sti_stream *stream)
{
    nng_socket_stream *s = (nng_socket_stream *)stream;
    if (s->there)
        s->nng->nng_stream_close(s->there);
    close_operation(s->nng, &s->receiving);
    pthread_mutex_lock(&s->lock);
    while (s->is_sending)
        (void)pthread_cond_wait(&s->sent, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (s->sending) {
        s->nng->nng_aio_wait(s->sending);
        s->nng->nng_aio_free(s->sending);
    }
    if (s->there)
        s->nng->nng_stream_free(s->there);
    (void)pthread_cond_destroy(&s->sent);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

static const sti_stream_calls nng_calls = {
    .receive = nng_stream_receive,
    .send = nng_stream_send_some,
    .end = nng_stream_end,
    .addresses = nng_stream_addresses,
    .free = nng_stream_release,
};

/* Takes over the connection, also on failure. */
static strads_err wrap_stream(const sti_nng *nng, nng_stream *there,
                              sti_stream **out)
{
    nng_socket_stream *s = calloc(1, sizeof *s);
    if (!s) {
        nng->nng_stream_free(there);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    s->stream.calls = &nng_calls;
    s->nng = nng;
    s->there = there;
    s->leaving = &s->buffers[0];
    s->filling = &s->buffers[1];
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->sent, NULL);
    if (!open_operation(nng, &s->receiving) ||
        nng->nng_aio_alloc(&s->sending, after_sending, s) != 0) {
        nng_stream_release(&s->stream);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    *out = &s->stream;
    return STRADS_OK;
}

/* ---- dialling ---------------------------------------------------------- */

/* Returns the file of the system's authorities; NULL: none. */
static const char *find_authorities(void)
{
    static const char *const usual[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem"};                 /* Alpine */
    const char *file = getenv("SSL_CERT_FILE");
    if (file)
        return file;
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        if (access(usual[k], R_OK) == 0)
            return usual[k];
    return NULL;
}

/* Lets the dialler check the proxy's certificate. */
static strads_err use_authorities(const sti_nng *nng, nng_stream_dialer *dialer,
                                  const sti_url *url)
{
    const char *file = find_authorities();
    nng_tls_config *config = NULL;
    if (!file)
        return strads_fail(STRADS_EINVAL,
                           "wss:// needs the system's authorities: install "
                           "them (Debian: ca-certificates), or name a file by "
                           "SSL_CERT_FILE");
    int rv = nng->nng_tls_config_alloc(&config, NNG_TLS_MODE_CLIENT);
    if (rv == 0)
        rv = nng->nng_tls_config_server_name(config, url->host);
    if (rv == 0)
        rv = nng->nng_tls_config_auth_mode(config, NNG_TLS_AUTH_MODE_REQUIRED);
    strads_err err = STRADS_OK;
    if (rv == 0 && (rv = nng->nng_tls_config_ca_file(config, file)) != 0)
        err = strads_fail(STRADS_EINVAL,
                          "%s: not a file of authorities for wss://: %s", file,
                          nng->nng_strerror(rv));
    if (rv == 0)
        rv = nng->nng_stream_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, config);
    if (rv != 0 && !err)
        err = strads_fail(STRADS_EINVAL, "wss:// is not possible: nng: %s",
                          nng->nng_strerror(rv));
    if (config)
        nng->nng_tls_config_free(config);
    return err;
}

/* A dial of nng. Its time limit is not one of nng: to cancel a dial that runs,
 * or to close its dialler, uses freed memory (nng 1.5) or ends the process (nng
 * 1.10) if the dial goes on at the same moment. So a dial that lasts too long
 * is left to end by itself, when the other end or the kernel gives up, and a
 * later dial frees it. */
typedef struct dial {
    const sti_nng *nng;
    nng_stream_dialer *dialer;
    operation dialling;
    struct dial *next;
} dial;

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;
static dial *left; /* dials that were left */

/* Returns a result of nng. The dial is over. */
static int free_dial(dial *d, nng_stream **out)
{
    const sti_nng *nng = d->nng;
    const int rv = nng->nng_aio_result(d->dialling.aio);
    if (rv == 0)
        *out = nng->nng_aio_get_output(d->dialling.aio, 0);
    close_operation(nng, &d->dialling);
    nng->nng_stream_dialer_free(d->dialer);
    free(d);
    return rv;
}

/* Takes over the dialler. NULL: no memory. */
static dial *start_dial(const sti_nng *nng, nng_stream_dialer *dialer)
{
    dial *d = calloc(1, sizeof *d);
    if (!d || !open_operation(nng, &d->dialling)) {
        if (d)
            close_operation(nng, &d->dialling);
        free(d);
        nng->nng_stream_dialer_free(dialer);
        return NULL;
    }
    d->nng = nng;
    d->dialer = dialer;
    d->dialling.is_over = false;
    nng->nng_stream_dialer_dial(dialer, d->dialling.aio);
    return d;
}

/* Frees the dials that were left and are over; returns how many are not. */
static unsigned free_left_dials(void)
{
    unsigned count = 0;
    pthread_mutex_lock(&left_lock);
    for (dial **at = &left; *at;) {
        dial *d = *at;
        const sti_nng *nng = d->nng;
        nng_stream *there = NULL;
        if (await_end(&d->dialling, 0)) {
            *at = d->next;
            if (free_dial(d, &there) == 0)
                nng->nng_stream_free(there);
        } else {
            count++;
            at = &d->next;
        }
    }
    pthread_mutex_unlock(&left_lock);
    return count;
}

static void leave_dial(dial *d)
{
    pthread_mutex_lock(&left_lock);
    d->next = left;
    left = d;
    pthread_mutex_unlock(&left_lock);
}

/* Dials and frees the dialler. Returns a result of nng. */
static int run_dialler(const sti_nng *nng, nng_stream_dialer *dialer,
                       unsigned ms, nng_stream **out)
{
    dial *d = start_dial(nng, dialer);
    if (!d)
        return NNG_ENOMEM;
    if (await_end(&d->dialling, sti_monotonic_in((uint64_t)ms * 1000000)))
        return free_dial(d, out);
    leave_dial(d);
    return NNG_ETIMEDOUT;
}

strads_err sti_nng_dial(const sti_url *url, unsigned ms, int *error,
                        sti_stream **out)
{
    const sti_nng *nng;
    char text[STI_URL_MAX + 1];
    nng_stream_dialer *dialer = NULL;
    nng_stream *there = NULL;
    *error = 0;
    strads_err err = sti_nng_load(&nng);
    if (err)
        return err;
    if (free_left_dials() >= LEFT_MAX) {
        *error = ETIMEDOUT;
        return STRADS_EIO;
    }
    sti_url_write(url, text);
    int rv = nng->nng_stream_dialer_alloc(&dialer, text);
    if (rv != 0)
        return strads_fail(STRADS_EINVAL, "%s: nng: %s", text,
                           nng->nng_strerror(rv));
    (void)nng->nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
    if (url->outer_tls)
        err = use_authorities(nng, dialer, url);
    if (err) {
        nng->nng_stream_dialer_free(dialer);
        return err;
    }
    rv = run_dialler(nng, dialer, ms, &there);
    if (rv == 0)
        return wrap_stream(nng, there, out);
    if (rv == NNG_EPEERAUTH || rv == NNG_ECRYPTO)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: the certificate there is not for this host, or "
                           "not by an authority of this system (SSL_CERT_FILE "
                           "names another file of authorities)",
                           text);
    *error = to_errno(rv);
    return STRADS_EIO;
}

#else

strads_err sti_nng_dial(const sti_url *url, unsigned ms, int *error,
                        sti_stream **out)
{
    char text[STI_URL_MAX + 1];
    (void)ms, (void)out;
    *error = 0;
    sti_url_write(url, text);
    return strads_fail(STRADS_EINVAL,
                       "%s: this build has no nng to dial ws:// and wss:// "
                       "with: build strads with its headers (Debian: "
                       "libnng-dev) and -DSTRADS_NNG=ON",
                       text);
}

#endif
