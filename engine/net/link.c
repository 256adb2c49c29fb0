/* Nets and their connections: lookup, dialling, accepting, heartbeats, closing.
 * Owns the table of links. Invariants: a link's number is serial x
 * STI_LINKS_MAX + slot, and serials only grow. A connection leaves the table
 * and is freed only after both of its threads have ended, `lost` was reported
 * and no call holds it. */
#include "engine/net/link.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/link_state.h"
#include "engine/net/nng_stream.h"
#include "engine/net/websocket.h"

enum {
    TRY_MS = 5000,
    PROBE_MS = 2000,
    PAUSE_FIRST_NS = 5000000,
    PAUSE_MAX_NS = 100000000,
    TICKS_PER_HEARTBEAT = 4,
    REST_BYTES_MIN = 1024, /* least progress of a partial frame in dead_ns */
    REFUSALS_MIN = 3,      /* handshakes, until a refusal is believed */
    GOODBYES_A_HELLO =
        5, /* times hello_ns: limit of a goodbye without progress */
    TICK_MIN_NS = 1000000,
    TICK_MAX_NS = 100000000
};

static const uint64_t second_ns = 1000000000u;

/* If the other end closes a TLS handshake, it has evicted the connection or
 * does not use TLS. Dialling again helps in the first case only, so it ends
 * after this time. */
static const uint64_t TLS_REDIAL_NS = 3000000000u;

/* ---- connections by number --------------------------------------------- */

static sti_conn *acquire_slot(sti_net *net, uint32_t slot)
{
    sti_conn *conn = NULL;
    pthread_mutex_lock(&net->lock);
    if (slot < net->slots_used)
        conn = net->slots[slot];
    if (conn != NULL)
        conn->users++;
    pthread_mutex_unlock(&net->lock);
    return conn;
}

sti_conn *sti_conn_acquire(sti_net *net, sti_link link)
{
    sti_conn *conn = acquire_slot(net, (uint32_t)(link % STI_LINKS_MAX));
    if (conn == NULL || conn->id == link)
        return conn;
    sti_conn_release(conn);
    return NULL;
}

void sti_conn_release(sti_conn *conn)
{
    sti_net *net = conn->net;
    pthread_mutex_lock(&net->lock);
    const bool rings = --conn->users == 0 && conn->finished;
    pthread_mutex_unlock(&net->lock);
    if (rings)
        sti_net_ring(net);
}

/* ---- birth ------------------------------------------------------------- */

/* Gives the connection a slot and a number, unless the net is closing. */
static strads_err enlist_conn(sti_net *net, sti_conn *conn)
{
    uint32_t slot = 0;
    strads_err err = STRADS_OK;
    pthread_mutex_lock(&net->lock);
    while (slot < net->slots_used && net->slots[slot] != NULL)
        slot++;
    if (net->closing)
        err = strads_fail(STRADS_ESTATE, "this node is shutting down");
    else if (slot == STI_LINKS_MAX)
        err = strads_fail(STRADS_ELIMIT, "%s: there are %d links already",
                          conn->where, STI_LINKS_MAX);
    if (err == STRADS_OK) {
        conn->id = ++net->serial * STI_LINKS_MAX + slot;
        net->slots[slot] = conn;
        if (slot == net->slots_used)
            net->slots_used++;
        net->conns++;
        conn->stranger = !conn->dialled;
        net->strangers += conn->stranger;
        conn->users++;
    }
    pthread_mutex_unlock(&net->lock);
    return err;
}

static void conn_free(sti_conn *conn)
{
    if (conn->has_reader)
        (void)pthread_join(conn->reader, NULL);
    sti_tls_free(conn->tls);
    conn->stream->calls->free(conn->stream);
    sti_frame_free(conn->frame);
    (void)pthread_cond_destroy(&conn->moved);
    (void)pthread_mutex_destroy(&conn->lock);
    free(conn);
}

/* Makes a connection of a stream and starts its reader, which performs the
 * handshake. Takes over the stream, also on failure. `url` is NULL for an
 * accepted connection. */
static strads_err start_conn(sti_net *net, sti_stream *stream, const char *url,
                             sti_link *out)
{
    sti_ends ends;
    unsigned port = 0;
    sti_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        stream->calls->free(stream);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    conn->net = net;
    conn->stream = stream;
    conn->dialled = url != NULL;
    conn->node = STI_NODE_NONE;
    conn->last = &conn->first;
    conn->part_by = UINT64_MAX;
    conn->born_ns = atomic_load(&net->clock_ns);
    atomic_init(&conn->received_ns, conn->born_ns);
    atomic_init(&conn->sent_ns, conn->born_ns);
    (void)pthread_mutex_init(&conn->lock, NULL);
    (void)pthread_cond_init(&conn->moved, NULL);
    stream->calls->addresses(stream, &ends);
    sti_ends_peer(&ends, conn->host, &port);
    if (url != NULL)
        (void)snprintf(conn->where, sizeof conn->where, "the node at %s", url);
    else
        (void)snprintf(conn->where, sizeof conn->where,
                       conn->host[0] ? "the connection from %s:%u"
                                     : "a connection%s over ipc",
                       conn->host, port);
    strads_err err = STRADS_OK;
    if (net->tls != NULL)
        err = sti_tls_new(net->tls, conn->dialled, &conn->tls);
    if (err == STRADS_OK)
        err = enlist_conn(net, conn);
    if (err != STRADS_OK) {
        conn_free(conn);
        return err;
    }
    *out = conn->id;
    conn->has_reader =
        pthread_create(&conn->reader, NULL, sti_conn_read_all, conn) == 0;
    if (!conn->has_reader) {
        sti_conn_end(conn, STRADS_ENOMEM, "cannot start a thread to receive");
        sti_conn_finish(conn);
    }
    sti_conn_release(conn);
    return STRADS_OK;
}

/* ---- the end of a connection ------------------------------------------- */

static void end_conn(sti_conn *conn, bool stranger, strads_err why,
                     const char *text)
{
    pthread_mutex_lock(&conn->lock);
    const bool first = !conn->dead && !(stranger && conn->introduced);
    if (first) {
        conn->dead = true;
        conn->why = why;
        if (conn->bound)
            (void)snprintf(conn->text, sizeof conn->text, "node %u, %s: %s",
                           conn->node, conn->where, text);
        else
            (void)snprintf(conn->text, sizeof conn->text, "%s: %s", conn->where,
                           text);
    }
    pthread_cond_broadcast(&conn->moved);
    pthread_mutex_unlock(&conn->lock);
    if (first)
        conn->stream->calls->end(conn->stream, false);
}

void sti_conn_end(sti_conn *conn, strads_err why, const char *text)
{
    end_conn(conn, false, why, text);
}

/* Ends a connection because it has not sent HELLO. If a HELLO has arrived since
 * the caller checked, the connection stays: the owner knows it. */
static void end_stranger(sti_conn *conn, const char *text)
{
    end_conn(conn, true, STRADS_EPEER, text);
}

bool sti_conn_is_dead(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool dead = conn->dead;
    pthread_mutex_unlock(&conn->lock);
    return dead;
}

static void report_end(const sti_conn *conn)
{
    const sti_net_options *o = &conn->net->options;
    if (conn->dialled && !conn->open)
        return; /* sti_net_dial reports it */
    if (conn->dialled || conn->introduced) {
        if (o->events.lost != NULL)
            o->events.lost(o->arg, conn->id, conn->why, conn->text);
        return;
    }
    atomic_fetch_add(&conn->net->strangers_dropped, 1);
    if (o->events.stranger != NULL)
        o->events.stranger(o->arg, conn->text);
}

void sti_conn_is_known(sti_conn *conn)
{
    pthread_mutex_lock(&conn->net->lock);
    conn->net->strangers -= conn->stranger;
    conn->stranger = false;
    pthread_mutex_unlock(&conn->net->lock);
}

void sti_conn_finish(sti_conn *conn)
{
    sti_net *net = conn->net;
    pthread_mutex_lock(&conn->lock);
    while (conn->writing && !conn->stuck && !conn->has_writer)
        (void)pthread_cond_wait(&conn->moved, &conn->lock);
    const bool has_writer = conn->has_writer;
    pthread_mutex_unlock(&conn->lock);
    if (has_writer)
        (void)pthread_join(conn->writer, NULL);
    /* The peer closed the connection after its BYE. If our BYE was written or
     * acknowledged, that is a graceful end, which is certain only after the
     * writer has ended. The lock is needed because senders may read the
     * text. */
    pthread_mutex_lock(&conn->lock);
    if (conn->left && (conn->bye_written || conn->bye_acked)) {
        conn->why = STRADS_OK;
        (void)snprintf(conn->text, sizeof conn->text,
                       "%s: closed by both sides", conn->where);
    }
    pthread_mutex_unlock(&conn->lock);
    sti_queue_free(conn->first);
    conn->first = NULL;
    report_end(conn);
    sti_conn_is_known(conn);
    pthread_mutex_lock(&net->lock);
    if ((conn->dialled || conn->introduced) && conn->part_by != UINT64_MAX &&
        conn->why != STRADS_OK && conn->why != STRADS_ECANCELED &&
        !net->unclean) {
        net->unclean = true;
        (void)snprintf(net->unclean_text, sizeof net->unclean_text, "%s",
                       conn->text);
    }
    conn->finished = true;
    sti_net_ring(net);
    pthread_mutex_unlock(&net->lock);
}

/* ---- calls of the owner ------------------------------------------------ */

strads_err sti_net_bind(sti_net *net, sti_link link, uint32_t node)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link to node %u is gone", node);
    pthread_mutex_lock(&conn->lock);
    conn->bound = true;
    conn->node = node;
    pthread_mutex_unlock(&conn->lock);
    sti_conn_release(conn);
    return STRADS_OK;
}

void sti_net_part(sti_net *net, sti_link link)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return;
    sti_conn_part(conn, UINT64_MAX);
    sti_conn_release(conn);
}

void sti_net_drop(sti_net *net, sti_link link, const char *text)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return;
    sti_conn_end(conn, STRADS_ECANCELED, text);
    sti_conn_release(conn);
}

strads_err sti_net_seen_url(sti_net *net, sti_link link, const char *url,
                            char *out)
{
    sti_url parsed;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link to %s is gone", url);
    if (sti_url_is_wildcard(&parsed) && conn->host[0] != 0)
        (void)snprintf(parsed.host, sizeof parsed.host, "%s", conn->host);
    sti_conn_release(conn);
    sti_url_write(&parsed, out);
    return STRADS_OK;
}

strads_err sti_net_own_host(sti_net *net, sti_link link, char *host)
{
    sti_ends ends;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link is gone");
    conn->stream->calls->addresses(conn->stream, &ends);
    sti_ends_own_host(&ends, host);
    sti_conn_release(conn);
    return STRADS_OK;
}

/* ---- dialling ---------------------------------------------------------- */

/* Whether the error may disappear once the other side has started. */
static bool worth_another_try(int e)
{
    return e == ECONNREFUSED || e == ENOENT || e == ETIMEDOUT ||
           e == ECONNRESET || e == EHOSTUNREACH || e == ENETUNREACH ||
           e == ECONNABORTED || e == EAGAIN || e == EAI_AGAIN || e == EPROTO;
}

/* Connects once. STRADS_EIO with *error (errno, or of getaddrinfo): see
 * sti_nng_dial. */
static strads_err connect_once(const sti_url *to, unsigned ms, int *error,
                               sti_stream **out)
{
    int fd = -1;
    if (to->web)
        return sti_nng_dial(to, ms, error, out);
    *error = sti_socket_dial(to, ms, &fd);
    return *error ? STRADS_EIO : sti_stream_of_socket(fd, out);
}

static const char *advise_caller(const sti_url *to, int e)
{
    if (e == EMFILE)
        return ": raise the limit of open files (ulimit -n)";
    if (!worth_another_try(e))
        return ": check the host's name";
    return to->web ? " until the time limit: does a node listen there, or a "
                     "proxy pass WebSocket on to one, at this path?"
                   : " until the time limit: is a node listening there?";
}

static strads_err connect_url(const sti_net_options *o, const sti_url *to,
                              const char *url, uint64_t timeout_ns,
                              sti_stream **out)
{
    const uint64_t until = sti_monotonic_in(timeout_ns);
    uint64_t pause = PAUSE_FIRST_NS;
    for (;;) {
        int e = 0;
        const uint64_t now = sti_monotonic_now();
        const uint64_t left = until > now ? (until - now) / 1000000 + 1 : 1;
        const strads_err err =
            connect_once(to, (unsigned)(left < TRY_MS ? left : TRY_MS), &e,
                         out);
        if (e == 0)
            return err;
        if (!worth_another_try(e) || sti_monotonic_in(pause) > until)
            return strads_fail(STRADS_EIO, "cannot connect to %s: %s%s", url,
                               sti_socket_text(e), advise_caller(to, e));
        if (o->gives_up && o->gives_up(o->arg))
            return strads_fail(STRADS_ECANCELED,
                               "stopped while connecting to %s: %s", url,
                               sti_socket_text(e));
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
        pause = 2 * pause < PAUSE_MAX_NS ? 2 * pause : PAUSE_MAX_NS;
    }
}

/* Other machines can reach an address that is not local: it requires a token,
 * TLS or `insecure`. */
static strads_err check_trust(const sti_net *net, const sti_url *url,
                              const char *text)
{
    const bool has_files = net->trust.tls.cert != NULL;
    if (url->tls && !has_files)
        return strads_fail(STRADS_EINVAL,
                           "%s: tls+tcp:// requires certificates: give "
                           "--tls-ca, --tls-cert and --tls-key",
                           text);
    if (!url->tls && !url->web && has_files)
        return strads_fail(
            STRADS_EINVAL,
            "%s: with --tls-ca, --tls-cert and --tls-key all addresses are "
            "tls+tcp:// (or ws://): write tls+tcp://, or omit these options",
            text);
    if (has_files || net->trust.token.size > 0 || net->trust.insecure ||
        sti_url_is_local(url))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "%s: over a network nodes need a token: give all of "
                       "them the same --token-file FILE (or STRADS_TOKEN), or "
                       "certificates and a tls+tcp:// address; with --insecure "
                       "any process that reaches the port may take part",
                       text);
}

/* Waits until the handshake is complete. */
static strads_err await_open(sti_net *net, sti_link link)
{
    strads_err err = STRADS_OK;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EIO, "the link is gone");
    pthread_mutex_lock(&conn->lock);
    while (!conn->open && !conn->dead)
        (void)pthread_cond_wait(&conn->moved, &conn->lock);
    if (!conn->open)
        err = strads_fail(conn->why, "%s", conn->text);
    pthread_mutex_unlock(&conn->lock);
    sti_conn_release(conn);
    return err;
}

strads_err sti_net_dial(sti_net *net, const char *url, uint64_t timeout_ns,
                        sti_link *out)
{
    sti_url parsed;
    char written[STI_URL_MAX + 1];
    sti_stream *stream = NULL;
    strads_err err = sti_url_parse(url, &parsed);
    if (err == STRADS_OK && parsed.tcp && parsed.port == 0)
        err =
            strads_fail(STRADS_EINVAL,
                        "%s: port 0 can be listened on, not connected to", url);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&parsed, written);
    err = check_trust(net, &parsed, written);
    if (err)
        return err;
    const sti_net_options *o = &net->options;
    const uint64_t until = sti_monotonic_in(timeout_ns);
    const uint64_t redials = parsed.tls && timeout_ns > TLS_REDIAL_NS
                                 ? until - (timeout_ns - TLS_REDIAL_NS)
                                 : until;
    for (unsigned refusals = 0;;) {
        const uint64_t now = sti_monotonic_now();
        err = connect_url(o, &parsed, written, until > now ? until - now : 1,
                          &stream);
        if (err == STRADS_OK)
            err = start_conn(net, stream, written, out);
        if (err)
            return err;
        err = await_open(net, *out);
        /* A bit that was changed on the way looks like another token. */
        const bool retry = err == STRADS_EMISMATCH ? ++refusals < REFUSALS_MIN
                                                   : err == STRADS_EIO;
        if (!retry || sti_monotonic_in(PAUSE_MAX_NS) > redials ||
            (o->gives_up && o->gives_up(o->arg)))
            return err;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MAX_NS}, NULL);
    }
}

strads_err sti_net_probe(const char *url)
{
    sti_url parsed;
    int fd = -1;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    int e = sti_socket_dial(&parsed, PROBE_MS, &fd);
    if (e == 0) {
        (void)close(fd);
        return STRADS_OK;
    }
    /* A proxy that is gone says nothing of the node behind it. */
    const bool ended = !parsed.web && (e == ECONNREFUSED || e == ENOENT);
    return strads_fail(ended ? STRADS_EPEER : STRADS_EIO, "no answer at %s: %s",
                       url, sti_socket_text(e));
}

/* ---- housekeeping: heartbeats and deadlines ---------------------------- */

typedef enum verdict {
    FINE,
    PING,
    SILENT,
    NO_REST,
    NO_HELLO,
    NO_GRANT,
    NO_BYE
} verdict;

/* Whether a partial frame has received too few bytes in dead_ns. Bytes of it
 * were then lost on the way: later bytes, of PINGs for example, take their
 * place. */
static bool rest_is_missing(sti_conn *conn, uint64_t now)
{
    const uint64_t since = atomic_load(&conn->rest_ns);
    if (since == 0 || now < since || now - since < conn->net->options.dead_ns)
        return false;
    if (atomic_load(&conn->rest_bytes) < REST_BYTES_MIN)
        return true;
    atomic_store(&conn->rest_bytes, 0);
    atomic_store(&conn->rest_ns, now);
    return false;
}

/* Returns the time since the last bytes in either direction, or since parting
 * began if that is later. The caller holds conn->lock. */
static uint64_t measure_stillness(const sti_conn *conn, uint64_t now)
{
    uint64_t heard = atomic_load(&conn->received_ns);
    uint64_t said = atomic_load(&conn->sent_ns);
    uint64_t last = heard > said ? heard : said;
    return now - (last > conn->parted_ns ? last : conn->parted_ns);
}

static verdict judge_conn(sti_conn *conn, uint64_t now)
{
    const sti_net_options *o = &conn->net->options;
    /* `delivering` is read first: if a delivery ends between the two reads, it
     * has renewed received_ns. */
    const bool mute = atomic_load(&conn->delivering);
    const uint64_t silent = now - atomic_load(&conn->received_ns);
    verdict v = FINE;
    pthread_mutex_lock(&conn->lock);
    if (conn->dead)
        v = FINE;
    else if (!conn->dialled && !conn->introduced)
        v = now - conn->born_ns >= o->hello_ns ? NO_HELLO : FINE;
    else if (!conn->open)
        v = now - conn->born_ns >= o->dead_ns ? NO_GRANT : FINE;
    else if (conn->parting && (now >= conn->part_by ||
                               (!mute && measure_stillness(conn, now) >=
                                             GOODBYES_A_HELLO * o->hello_ns)))
        v = NO_BYE;
    else if (!mute && !conn->bye_received && silent >= o->dead_ns)
        v = SILENT;
    else if (!mute && rest_is_missing(conn, now))
        v = NO_REST;
    else if (conn->introduced && !conn->parting && conn->first == NULL &&
             now - atomic_load(&conn->sent_ns) >= o->heartbeat_ns)
        v = PING;
    pthread_mutex_unlock(&conn->lock);
    return v;
}

static void check_conn(sti_conn *conn, uint64_t now)
{
    char text[200];
    switch (judge_conn(conn, now)) {
    case FINE:
        break;
    case PING:
        (void)sti_conn_send_control(conn, STI_KIND_PING, NULL, 0);
        break;
    case SILENT:
        (void)snprintf(text, sizeof text,
                       "nothing was received for %.3g s: the peer is stopped, "
                       "its machine is down, or the network is cut",
                       1e-9 * (double)conn->net->options.dead_ns);
        sti_conn_end(conn, STRADS_EIO, text);
        break;
    case NO_REST:
        (void)snprintf(text, sizeof text,
                       "the rest of a frame did not arrive for %.3g s: the "
                       "network loses bytes",
                       1e-9 * (double)conn->net->options.dead_ns);
        sti_conn_end(conn, STRADS_EIO, text);
        break;
    case NO_HELLO:
        end_stranger(conn, "no complete HELLO arrived in time: it is not a "
                           "strads node, or it hangs");
        break;
    case NO_GRANT:
        sti_conn_end(
            conn, STRADS_EIO,
            "it did not complete the handshake in time: is it a strads node?");
        break;
    case NO_BYE:
        sti_conn_end(conn, STRADS_EPEER,
                     "the goodbye was not answered in time: the last messages "
                     "may be lost");
        break;
    }
}

static uint32_t count_slots(sti_net *net)
{
    pthread_mutex_lock(&net->lock);
    const uint32_t n = net->slots_used;
    pthread_mutex_unlock(&net->lock);
    return n;
}

static void check_conns(sti_net *net, uint64_t now)
{
    const uint32_t slots = count_slots(net);
    for (uint32_t i = 0; i < slots; i++) {
        sti_conn *conn = acquire_slot(net, i);
        if (conn == NULL)
            continue;
        check_conn(conn, now);
        sti_conn_release(conn);
    }
}

static uint64_t tick_ns(const sti_net_options *o)
{
    const uint64_t shortest =
        o->heartbeat_ns < o->hello_ns ? o->heartbeat_ns : o->hello_ns;
    const uint64_t ns = shortest / TICKS_PER_HEARTBEAT;
    return ns < TICK_MIN_NS ? TICK_MIN_NS : ns > TICK_MAX_NS ? TICK_MAX_NS : ns;
}

/* ---- housekeeping: reaping and accepting ------------------------------- */

static sti_conn *unlink_finished(sti_net *net)
{
    sti_conn *found = NULL;
    pthread_mutex_lock(&net->lock);
    for (uint32_t i = 0; i < net->slots_used && found == NULL; i++) {
        sti_conn *conn = net->slots[i];
        if (conn != NULL && conn->finished && conn->users == 0) {
            found = conn;
            net->slots[i] = NULL;
            net->evicted -= conn->evicted;
        }
    }
    while (net->slots_used > 0 && net->slots[net->slots_used - 1] == NULL)
        net->slots_used--;
    pthread_mutex_unlock(&net->lock);
    return found;
}

static void reap_conns(sti_net *net)
{
    for (sti_conn *conn; (conn = unlink_finished(net)) != NULL;) {
        conn_free(conn);
        pthread_mutex_lock(&net->lock);
        net->conns--;
        pthread_cond_broadcast(&net->reaped);
        pthread_mutex_unlock(&net->lock);
    }
}

/* With the lock held: returns the oldest stranger of one address, or (NULL) of
 * all addresses. *n: the number of such strangers. */
static sti_conn *oldest_stranger(sti_net *net, const char *host, uint32_t *n)
{
    sti_conn *oldest = NULL;
    *n = 0;
    for (uint32_t i = 0; i < net->slots_used; i++) {
        sti_conn *conn = net->slots[i];
        if (conn == NULL || !conn->stranger ||
            (host != NULL && strcmp(conn->host, host) != 0))
            continue;
        ++*n;
        if (oldest == NULL || conn->id < oldest->id)
            oldest = conn;
    }
    return oldest;
}

/* Evicts a stranger if another one from `host` would exceed a limit. An honest
 * peer that is evicted dials again. */
static void evict_stranger(sti_net *net, const char *host)
{
    uint32_t here, all;
    pthread_mutex_lock(&net->lock);
    const uint32_t each =
        net->expected > STI_STRANGERS_EACH ? net->expected : STI_STRANGERS_EACH;
    sti_conn *conn = oldest_stranger(net, host, &here);
    if (here < each) {
        conn = oldest_stranger(net, NULL, &all);
        if (all < each + STI_STRANGERS_MAX - STI_STRANGERS_EACH)
            conn = NULL;
    }
    if (conn != NULL) {
        conn->users++;
        conn->stranger = false;
        net->strangers--;
        conn->evicted = true;
        net->evicted++;
    }
    pthread_mutex_unlock(&net->lock);
    if (conn == NULL)
        return;
    end_stranger(conn,
                 "evicted: the oldest of too many connections without a HELLO");
    sti_conn_release(conn);
}

/* False: an error such as too many open files; the caller retries later. */
static bool accept_one(sti_net *net, int listener)
{
    const sti_net_options *o = &net->options;
    sti_link link;
    sti_stream *stream = NULL;
    char host[STI_HOST_MAX + 1], text[STI_TEXT_MAX];
    unsigned port;
    int fd = sti_accept(listener);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
        return true;
    if (fd < 0) {
        (void)snprintf(text, sizeof text,
                       "a connection to %s cannot be accepted: %s%s", net->url,
                       strerror(errno),
                       errno == EMFILE
                           ? ": raise the limit of open files (ulimit -n)"
                           : "");
        if (o->events.troubled != NULL)
            o->events.troubled(o->arg, text);
        return false;
    }
    sti_socket_peer(fd, host, &port);
    evict_stranger(net, host);
    const strads_err err =
        net->listens_at.web
            ? sti_websocket_accept(fd, net->listens_at.path, &stream)
            : sti_stream_of_socket(fd, &stream);
    if (err == STRADS_OK)
        (void)start_conn(net, stream, NULL, &link);
    return true;
}

/* Closes the listener; later connections are refused by the kernel. */
static void stop_listening(sti_net *net)
{
    if (net->listener >= 0) {
        (void)close(net->listener);
        if (!net->listens_at.tcp)
            (void)unlink(net->listens_at.host);
    }
    net->listener = -1;
}

/* Waits for the bell, a connection to accept, or `until`. True: a
 * connection. */
static bool wait_for_work(sti_net *net, int listener, uint64_t until)
{
    const uint64_t now = sti_monotonic_now();
    const uint64_t ms = until > now ? (until - now) / 1000000 + 1 : 0;
    struct pollfd at[2] = {{.fd = net->bell.ends[0], .events = POLLIN},
                           {.fd = listener, .events = POLLIN}};
    (void)poll(at, 2, (int)ms); /* ignores a descriptor of -1 */
    if (at[0].revents)
        sti_bell_silence(&net->bell);
    return listener >= 0 && at[1].revents;
}

static void *run_housekeeper(void *arg)
{
    sti_net *net = arg;
    const uint64_t period = tick_ns(&net->options);
    uint64_t last = sti_monotonic_now(), next = last + period;
    bool accepts = true, stops = false;
    while (!stops) {
        pthread_mutex_lock(&net->lock);
        if (net->closing)
            stop_listening(net);
        const bool listens = accepts && net->evicted < STI_EVICTED_MAX;
        const int listener = listens ? net->listener : -1;
        stops = net->stops;
        pthread_mutex_unlock(&net->lock);
        if (!stops && wait_for_work(net, listener, next))
            accepts = accept_one(net, listener);
        reap_conns(net);
        const uint64_t now = sti_monotonic_now();
        if (now < next)
            continue;
        const uint64_t passed =
            now - last < 2 * period ? now - last : 2 * period;
        last = now;
        next = now + period;
        accepts = true;
        check_conns(net, atomic_fetch_add(&net->clock_ns, passed) + passed);
    }
    return NULL;
}

void sti_net_ring(sti_net *net)
{
    sti_bell_ring(&net->bell);
}

/* ---- the net ----------------------------------------------------------- */

static void fill_defaults(sti_net_options *o)
{
    if (o->frame_limit == 0)
        o->frame_limit = UINT64_C(1) << 30;
    if (o->heartbeat_ns == 0)
        o->heartbeat_ns = second_ns;
    if (o->dead_ns == 0)
        o->dead_ns = 5 * o->heartbeat_ns;
    if (o->hello_ns == 0)
        o->hello_ns = second_ns;
}

static strads_err check_options(const sti_net_options *o)
{
    const uint64_t day_ns = 86400 * second_ns;
    if (o->events.received == NULL)
        return strads_fail(STRADS_EINVAL,
                           "a net needs a callback for received frames");
    if (o->heartbeat_ns > day_ns || o->dead_ns < 2 * o->heartbeat_ns)
        return strads_fail(STRADS_EINVAL,
                           "a peer cannot be dead after %.3g s if heartbeats "
                           "are %.3g s apart: at least two must fit",
                           1e-9 * (double)o->dead_ns,
                           1e-9 * (double)o->heartbeat_ns);
    if (o->frame_limit > SIZE_MAX / 4)
        return strads_fail(STRADS_EINVAL, "a frame limit of %llu bytes",
                           (unsigned long long)o->frame_limit);
    return STRADS_OK;
}

static void net_free(sti_net *net)
{
    pthread_mutex_lock(&net->lock);
    net->stops = true;
    pthread_mutex_unlock(&net->lock);
    if (net->has_housekeeper) {
        sti_net_ring(net);
        (void)pthread_join(net->housekeeper, NULL);
    }
    stop_listening(net);
    sti_bell_close(&net->bell);
    (void)pthread_cond_destroy(&net->reaped);
    (void)pthread_mutex_destroy(&net->lock);
    sti_tls_context_free(net->tls);
    free(net->slots);
    free(net);
}

strads_err sti_net_listen(sti_net *net, const char *url)
{
    char text[STI_URL_MAX + 1];
    sti_url at;
    int fd = -1;
    strads_err err = sti_url_parse(url, &at);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&at, text);
    err = at.outer_tls
              ? strads_fail(STRADS_EINVAL,
                            "%s: wss:// is for dialling a proxy, which has the "
                            "certificate: listen on ws://",
                            text)
              : check_trust(net, &at, text);
    if (err != STRADS_OK)
        return err;
    int e = sti_socket_listen(&at, &fd);
    if (e)
        return strads_fail(
            STRADS_EIO, "cannot listen on %s: %s%s", text, sti_socket_text(e),
            e == EADDRINUSE ? ": another process has it; choose another port, "
                              "or port 0 for a free one"
            : e == ENOTSOCK
                ? ": a file that is not a socket is there; choose another path"
                : "");
    pthread_mutex_lock(&net->lock);
    net->listens_at = at;
    net->listener = fd;
    sti_url_write(&at, net->url);
    pthread_mutex_unlock(&net->lock);
    sti_net_ring(net);
    return STRADS_OK;
}

strads_err sti_net_open(const sti_net_options *options, sti_net **out)
{
    const char *url = options->listen_url;
    sti_net_options o = *options;
    fill_defaults(&o);
    strads_err err = check_options(&o);
    if (err != STRADS_OK)
        return err;
    sti_net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for a net");
    net->options = o;
    if (o.trust != NULL)
        net->trust = *o.trust;
    net->listener = -1;
    atomic_init(&net->node, o.node);
    (void)pthread_mutex_init(&net->lock, NULL);
    (void)pthread_cond_init(&net->reaped, NULL);
    net->slots = calloc(STI_LINKS_MAX, sizeof *net->slots);
    if (!sti_bell_open(&net->bell) || net->slots == NULL)
        err = strads_fail(STRADS_ENOMEM, "no memory for a net");
    if (err == STRADS_OK)
        err = sti_tls_context_new(&net->trust, &net->tls);
    if (err == STRADS_OK) {
        int rv = pthread_create(&net->housekeeper, NULL, run_housekeeper, net);
        net->has_housekeeper = rv == 0;
        if (rv != 0)
            err = strads_fail(STRADS_ENOMEM, "no thread for the network: %s",
                              strerror(rv));
    }
    if (err == STRADS_OK && (url == NULL || url[0] != 0))
        err = sti_net_listen(net, url == NULL ? "tcp://127.0.0.1:0" : url);
    if (err != STRADS_OK)
        net_free(net);
    else
        *out = net;
    return err;
}

bool sti_net_has_certificates(const sti_net *net)
{
    return net->trust.tls.cert != NULL;
}

const char *sti_net_url(const sti_net *net)
{
    return net->url;
}

void sti_net_expect(sti_net *net, uint32_t peers)
{
    pthread_mutex_lock(&net->lock);
    if (peers > net->expected)
        net->expected = peers;
    pthread_mutex_unlock(&net->lock);
}

void sti_net_set_node(sti_net *net, uint32_t node)
{
    atomic_store(&net->node, node);
}

void sti_net_count(const sti_net *net, sti_net_counts *out)
{
    *out = (sti_net_counts){
        .frames_sent = atomic_load(&net->frames_sent),
        .bytes_sent = atomic_load(&net->bytes_sent),
        .frames_received = atomic_load(&net->frames_received),
        .bytes_received = atomic_load(&net->bytes_received),
        .strangers = atomic_load(&net->strangers_dropped),
    };
}

/* The wait needs no limit: the housekeeping thread ends connections that exceed
 * their deadline. */
static void part_with_all(sti_net *net, uint64_t timeout_ns)
{
    const uint64_t now = atomic_load(&net->clock_ns);
    const uint64_t by =
        timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    const uint32_t slots = count_slots(net);
    for (uint32_t i = 0; i < slots; i++) {
        sti_conn *conn = acquire_slot(net, i);
        if (conn == NULL)
            continue;
        sti_conn_part(conn, by);
        sti_conn_release(conn);
    }
    pthread_mutex_lock(&net->lock);
    while (net->conns > 0)
        (void)pthread_cond_wait(&net->reaped, &net->lock);
    pthread_mutex_unlock(&net->lock);
}

strads_err sti_net_close(sti_net *net, uint64_t timeout_ns)
{
    strads_err err = STRADS_OK;
    if (net == NULL)
        return STRADS_OK;
    pthread_mutex_lock(&net->lock);
    net->closing = true; /* from now on no connection is added */
    pthread_mutex_unlock(&net->lock);
    sti_net_ring(net);
    part_with_all(net, timeout_ns);
    if (net->unclean)
        err = strads_fail(STRADS_EPEER, "while shutting down: %s",
                          net->unclean_text);
    net_free(net);
    return err;
}
