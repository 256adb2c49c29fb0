/* Sends and receives the frames of a connection, and checks that a peer sends
 * only the frames that are due.
 *
 * Sending: each connection has a queue. `writing` is set exactly while a thread
 * writes or is about to, so that one thread at a time removes frames from the
 * queue. While `writing` is clear, the queue is empty.
 *
 * Receiving: bytes go to the payload of `frame`, and those after it to `ahead`.
 * A frame's memory is allocated after its header was checked, including the
 * size limit. A frame that breaks a rule ends its connection only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/link_state.h"

enum { PIECES_MAX = 16 /* of one system call */ };

/* ---- the queue --------------------------------------------------------- */

void sti_queue_free(sti_queued *first)
{
    while (first != NULL) {
        sti_queued *next = first->next;
        if (first->sent != NULL)
            first->sent(first->sent_arg);
        free(first);
        first = next;
    }
}

/* Makes a queued frame (sti_queued). The header and a copied payload are one
 * piece; a large payload is sent from the caller's memory. `header` lacks the
 * checksum only, which TLS replaces. */
static strads_err make_queued(bool checked, const sti_outgoing *f,
                              sti_header header, sti_queued **out)
{
    const bool copy = f->sent == NULL || header.size <= STI_SEND_COPY_MAX;
    const size_t capacity = STI_HEADER_BYTES + (copy ? (size_t)header.size : 0);
    sti_queued *q = malloc(sizeof *q + capacity);
    if (q == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory to send %llu bytes",
                           (unsigned long long)header.size);
    *q = (sti_queued){.kind = header.kind, .iov_count = 1};
    q->iov[0] = (struct iovec){q->bytes, capacity};
    unsigned char *to = q->bytes + STI_HEADER_BYTES;
    for (unsigned i = 0; i < f->part_count; i++) {
        const size_t size = (size_t)f->parts[i].size;
        if (size > 0 && copy)
            memcpy(to, f->parts[i].bytes, size);
        else if (size > 0)
            q->iov[q->iov_count++] =
                (struct iovec){(void *)(uintptr_t)f->parts[i].bytes, size};
        to += copy ? size : 0;
    }
    if (!copy) {
        q->sent = f->sent;
        q->sent_arg = f->sent_arg;
    }
    header.checksum = checked ? sti_frame_checksum(f->parts, f->part_count) : 0;
    memcpy(q->bytes, &header, sizeof header);
    *out = q;
    return STRADS_OK;
}

/* The caller holds conn->lock: numbers follow the order in which frames
 * leave. */
static void number_frame(sti_conn *conn, sti_queued *q)
{
    sti_header header;
    memcpy(&header, q->bytes, sizeof header);
    header.number = conn->frames_queued++;
    sti_frame_encode_header(&header, q->bytes);
}

/* Appends a frame. The caller holds conn->lock. If this returns true, the
 * caller unlocks and then calls write_at_once. */
static bool append_frame(sti_conn *conn, sti_queued *q)
{
    const bool start = !conn->writing;
    number_frame(conn, q);
    *conn->last = q;
    conn->last = &q->next;
    conn->writing = true;
    conn->introduced = conn->introduced || (conn->dialled && conn->open);
    return start;
}

/* Removes `count` written bytes from the queue and returns the frames that are
 * complete. The caller holds conn->lock. */
static sti_queued *take_written(sti_conn *conn, size_t count)
{
    sti_queued *done = NULL, **last = &done;
    while (conn->first != NULL) {
        sti_queued *q = conn->first;
        unsigned i = 0;
        for (; i < q->iov_count; i++) {
            size_t n = count < q->iov[i].iov_len ? count : q->iov[i].iov_len;
            q->iov[i].iov_base = (char *)q->iov[i].iov_base + n;
            q->iov[i].iov_len -= n;
            count -= n;
            if (q->iov[i].iov_len > 0)
                break;
        }
        if (i < q->iov_count)
            break;
        conn->first = q->next;
        conn->bye_written |= q->kind == STI_KIND_BYE;
        conn->ack_written |= q->kind == STI_KIND_BYE_ACK;
        q->next = NULL;
        *last = q;
        last = &q->next;
    }
    if (conn->first == NULL)
        conn->last = &conn->first;
    return done;
}

static void count_sent(sti_net *net, const sti_queued *done, size_t bytes)
{
    uint64_t frames = 0;
    for (; done != NULL; done = done->next)
        frames++;
    atomic_fetch_add_explicit(&net->frames_sent, frames, memory_order_relaxed);
    atomic_fetch_add_explicit(&net->bytes_sent, bytes, memory_order_relaxed);
}

/* Sends the output of TLS. Returns false with errno if bytes are left. */
static bool send_output(sti_conn *conn, bool may_wait)
{
    struct iovec piece;
    while (piece.iov_base =
               (void *)(uintptr_t)sti_tls_output(conn->tls, &piece.iov_len),
           piece.iov_len > 0) {
        const ssize_t n =
            conn->stream->calls->send(conn->stream, &piece, 1, may_wait);
        if (n < 0)
            return false;
        sti_tls_take(conn->tls, (size_t)n);
    }
    return true;
}

/* Writes the first pieces of the queue with one call. */
static ssize_t write_some(sti_conn *conn, bool may_wait)
{
    struct iovec iov[PIECES_MAX];
    size_t count = 0;
    pthread_mutex_lock(&conn->lock);
    for (sti_queued *q = conn->first; q != NULL && count < PIECES_MAX;
         q = q->next)
        for (unsigned i = 0; i < q->iov_count && count < PIECES_MAX; i++)
            if (q->iov[i].iov_len > 0)
                iov[count++] = q->iov[i];
    pthread_mutex_unlock(&conn->lock);
    if (conn->tls) {
        const ssize_t n = sti_tls_write(conn->tls, iov, count);
        return n < 0 || send_output(conn, may_wait) ? n : -1;
    }
    return conn->stream->calls->send(conn->stream, iov, count, may_wait);
}

typedef enum progress { MORE, EMPTY, ENDED } progress;

/* Records that `n` bytes were written; n < 0: the connection is broken.
 * `writing` stays set unless the queue is EMPTY. */
static progress note_written(sti_conn *conn, ssize_t n)
{
    const size_t count = n > 0 ? (size_t)n : 0;
    if (n < 0)
        sti_conn_end(conn, STRADS_EIO,
                     "the connection was closed while it was written to");
    else
        atomic_store_explicit(&conn->sent_ns, atomic_load(&conn->net->clock_ns),
                              memory_order_relaxed);
    pthread_mutex_lock(&conn->lock);
    sti_queued *done = take_written(conn, count);
    const progress p = conn->dead ? ENDED : conn->first != NULL ? MORE : EMPTY;
    conn->writing = p != EMPTY;
    pthread_mutex_unlock(&conn->lock);
    count_sent(conn->net, done, count);
    sti_queue_free(done);
    return p;
}

static void part_if_done(sti_conn *conn);

/* Lets the writer continue, and starts it if necessary. False: the thread
 * cannot be started, and `writing` is clear. */
static bool leave_moved(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    if (!conn->has_writer && !conn->dead)
        conn->has_writer = pthread_create(&conn->writer, NULL,
                                          sti_conn_write_stuck, conn) == 0;
    const bool good = conn->has_writer || conn->dead;
    conn->stuck = conn->has_writer;
    conn->writing = conn->has_writer;
    pthread_cond_broadcast(&conn->moved);
    pthread_mutex_unlock(&conn->lock);
    return good;
}

/* Writes as much of the queue as the kernel accepts without blocking. The
 * caller has set `writing` and may hold locks of the owner. Therefore the
 * writer sends the remainder and handles errors. */
static void write_at_once(sti_conn *conn)
{
    progress p = MORE;
    while (p == MORE) {
        ssize_t n = write_some(conn, false);
        p = n < 0 ? ENDED : note_written(conn, n);
    }
    if (p == EMPTY)
        part_if_done(conn);
    else if (!leave_moved(conn))
        sti_conn_end(conn, STRADS_ENOMEM, "cannot start a thread to send");
}

/* Waits for bytes to write. False: the connection is dead, and `writing` is
 * clear. */
static bool await_stuck(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    while (!conn->stuck && !(conn->dead && !conn->writing))
        (void)pthread_cond_wait(&conn->moved, &conn->lock);
    const bool stuck = conn->stuck;
    conn->stuck = false;
    pthread_mutex_unlock(&conn->lock);
    return stuck;
}

void *sti_conn_write_stuck(void *arg)
{
    sti_conn *conn = arg;
    while (await_stuck(conn)) {
        progress p = MORE;
        while (p == MORE)
            p = note_written(conn, write_some(conn, true));
        if (p == ENDED)
            return NULL;
        part_if_done(conn);
    }
    return NULL;
}

/* ---- sending ----------------------------------------------------------- */

static strads_err check_outgoing(const sti_net *net, const sti_outgoing *f,
                                 uint64_t size)
{
    const uint16_t kind = f->header.kind;
    if (kind == 0 || (kind > STI_KIND_REJECT && kind < STI_KIND_FIRST_MESSAGE))
        return strads_fail(STRADS_EINVAL,
                           "frames of kind %u are the transport's own",
                           (unsigned)kind);
    if (size > net->options.frame_limit)
        return strads_fail(STRADS_ELIMIT,
                           "a payload of %llu bytes exceeds the limit of %llu",
                           (unsigned long long)size,
                           (unsigned long long)net->options.frame_limit);
    return STRADS_OK;
}

/* `own`: a frame of the transport, which is allowed while parting. */
static strads_err send_on(sti_conn *conn, const sti_outgoing *frame,
                          uint64_t size, bool own)
{
    sti_queued *q = NULL;
    bool start = false;
    sti_header header = frame->header;
    header.size = size;
    strads_err err = make_queued(conn->tls == NULL, frame, header, &q);
    if (err != STRADS_OK)
        return err;
    const bool copied = q->sent == NULL;
    pthread_mutex_lock(&conn->lock);
    if (conn->dead)
        err = strads_fail(STRADS_EPEER, "%s", conn->text);
    else if (conn->parting && !own)
        err = strads_fail(STRADS_EPEER, "%s: the link is being closed",
                          conn->where);
    else
        start = append_frame(conn, q);
    pthread_mutex_unlock(&conn->lock);
    if (err != STRADS_OK) {
        free(q);
        return err;
    }
    if (start)
        write_at_once(conn);
    if (copied && frame->sent != NULL)
        frame->sent(frame->sent_arg);
    return STRADS_OK;
}

strads_err sti_conn_send_control(sti_conn *conn, uint16_t kind,
                                 const void *bytes, uint64_t size)
{
    const sti_outgoing frame = {.header = {.kind = kind,
                                           .from =
                                               atomic_load(&conn->net->node),
                                           .to = STI_NODE_NONE},
                                .parts = {{bytes, size}},
                                .part_count = 1};
    const strads_err err = send_on(conn, &frame, size, true);
    return err == STRADS_EPEER ? STRADS_OK : err; /* the link ends anyway */
}

strads_err sti_net_send(sti_net *net, sti_link link, const sti_outgoing *frame)
{
    if (frame->part_count > STI_PARTS_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a frame of %u parts: at most %d are allowed",
                           frame->part_count, STI_PARTS_MAX);
    const uint64_t size = sti_frame_size(frame->parts, frame->part_count);
    strads_err err = check_outgoing(net, frame, size);
    if (err != STRADS_OK)
        return err;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link is gone");
    err = send_on(conn, frame, size, false);
    sti_conn_release(conn);
    return err;
}

/* ---- parting ----------------------------------------------------------- */

void sti_conn_part(sti_conn *conn, uint64_t by)
{
    pthread_mutex_lock(&conn->lock);
    bool first = !conn->parting && !conn->dead;
    bool introduced = conn->introduced;
    conn->parting = conn->parting || introduced;
    if (first)
        conn->parted_ns = atomic_load(&conn->net->clock_ns);
    if (!conn->dead && by < conn->part_by)
        conn->part_by = by;
    pthread_mutex_unlock(&conn->lock);
    if (!introduced)
        sti_conn_end(conn, STRADS_ECANCELED,
                     "closed by this node before any frame was sent");
    else if (first &&
             sti_conn_send_control(conn, STI_KIND_BYE, NULL, 0) != STRADS_OK)
        sti_conn_end(conn, STRADS_ENOMEM, strads_error_text());
}

/* Ends the connection after both sides have sent BYE and BYE_ACK. */
static void part_if_done(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool done = conn->bye_received && conn->bye_acked && conn->ack_written;
    pthread_mutex_unlock(&conn->lock);
    if (done)
        sti_conn_end(conn, STRADS_OK, "closed by both sides");
}

/* ---- frames that are due ----------------------------------------------- */

static uint64_t payload_limit(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool known = conn->dialled || conn->bound;
    pthread_mutex_unlock(&conn->lock);
    return known ? conn->net->options.frame_limit : STI_HELLO_LIMIT;
}

static strads_err fail_breach(const sti_header *header, const char *what)
{
    return strads_fail(STRADS_EPEER, "the peer sent a frame of kind %u %s",
                       (unsigned)header->kind, what);
}

static strads_err check_own_kind(const sti_conn *conn, const sti_header *h)
{
    if (h->size != 0)
        return fail_breach(h, "with a payload, which this kind does not have");
    if (h->kind == STI_KIND_BYE_ACK && !conn->parting)
        return fail_breach(h, "although this node has not sent BYE");
    return STRADS_OK;
}

static strads_err check_size(const sti_conn *conn, const sti_header *h)
{
    const sti_net_options *o = &conn->net->options;
    return o->limit_of && h->size > o->limit_of(o->arg, h->kind)
               ? fail_breach(h, "that is larger than its kind allows")
               : STRADS_OK;
}

/* The caller holds conn->lock. */
static strads_err check_rules(const sti_conn *conn, const sti_header *h)
{
    if (!conn->dialled && !conn->introduced && h->kind != STI_KIND_HELLO)
        return fail_breach(h, "before its HELLO");
    if (conn->bye_received && h->kind != STI_KIND_BYE_ACK)
        return fail_breach(h, "after its BYE");
    if (conn->bound && h->kind >= STI_KIND_FIRST_MESSAGE &&
        h->from != conn->node)
        return strads_fail(STRADS_EPEER,
                           "the peer is node %u and sent a frame in the name "
                           "of node %u",
                           conn->node, h->from);
    switch (h->kind) {
    case STI_KIND_HELLO:
        return conn->dialled || conn->introduced
                   ? fail_breach(h, "where no HELLO is expected")
                   : STRADS_OK;
    case STI_KIND_WELCOME:
    case STI_KIND_REJECT:
        return conn->dialled
                   ? STRADS_OK
                   : fail_breach(h, "although it is the joining side");
    case STI_KIND_PING:
    case STI_KIND_BYE:
    case STI_KIND_BYE_ACK:
        return check_own_kind(conn, h);
    default:
        break;
    }
    if (h->kind < STI_KIND_FIRST_MESSAGE)
        return fail_breach(h, "that is unknown in this protocol");
    if (!conn->dialled && !conn->bound)
        return fail_breach(h, "before it was welcomed");
    return STRADS_OK;
}

/* ---- delivering ---------------------------------------------------------- */

/* Marks the connection as known to the owner. False: it was ended as a stranger
 * before its HELLO was read. The owner does not hear of it; the peer dials
 * again. */
static bool introduce_conn(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->introduced = !conn->dead;
    const bool introduced = conn->introduced;
    pthread_mutex_unlock(&conn->lock);
    if (introduced)
        sti_conn_is_known(conn);
    return introduced;
}

static strads_err take_bye(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->bye_received = true;
    pthread_mutex_unlock(&conn->lock);
    strads_err err = sti_conn_send_control(conn, STI_KIND_BYE_ACK, NULL, 0);
    if (err == STRADS_OK)
        sti_conn_part(conn, UINT64_MAX);
    return err;
}

static void take_bye_ack(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->bye_acked = true;
    pthread_mutex_unlock(&conn->lock);
    part_if_done(conn);
}

static void hand_over(sti_conn *conn, sti_frame *frame)
{
    sti_net *net = conn->net;
    atomic_store(&conn->delivering, true);
    atomic_store(&conn->rest_ns, 0); /* the callback's time does not count */
    net->options.events.received(net->options.arg, conn->id, frame);
    atomic_store(&conn->received_ns, atomic_load(&net->clock_ns));
    atomic_store(&conn->delivering, false);
}

/* ---- the handshake ----------------------------------------------------- */

/* Answers with a REJECT, and fails. The REJECT is in the kernel's buffer before
 * the connection ends. */
static strads_err turn_away(sti_conn *conn, const char *said, const char *text)
{
    sti_writer w = {0};
    const sti_reject answer = {STRADS_EMISMATCH, said};
    sti_reject_encode(&answer, &w);
    (void)sti_conn_send_control(conn, STI_KIND_REJECT, w.bytes, w.size);
    sti_writer_free(&w);
    return strads_fail(STRADS_EPEER, "%s", text);
}

/* Receives encrypted bytes. Returns as `receive` of a stream does. */
static ssize_t receive_encrypted(sti_conn *conn)
{
    struct iovec space;
    space.iov_base = sti_tls_space(conn->tls, &space.iov_len);
    const ssize_t n = conn->stream->calls->receive(conn->stream, &space, 1);
    if (n > 0)
        sti_tls_feed(conn->tls, (size_t)n);
    return n;
}

/* A peer without TLS gets a readable answer. */
static strads_err refuse_plain(sti_conn *conn)
{
    const bool has_files = conn->net->trust.tls.cert != NULL;
    sti_tls_free(conn->tls);
    conn->tls = NULL;
    return turn_away(
        conn,
        has_files
            ? "this run uses tls+tcp:// addresses: write tls+tcp://, and give "
              "this node --tls-ca, --tls-cert and --tls-key"
            : "this run has a token: give this node the same --token-file, or "
              "STRADS_TOKEN",
        has_files ? "it connected by tcp://, without TLS"
                  : "it connected without a token");
}

/* Performs the handshake of TLS. */
static strads_err start_tls(sti_conn *conn)
{
    strads_err err;
    bool done = false;
    for (;;) {
        err = sti_tls_handshake(conn->tls, &done);
        (void)send_output(conn, true); /* on failure, receiving reports it */
        if (err || done)
            break;
        if (receive_encrypted(conn) <= 0)
            return strads_fail(
                STRADS_EIO,
                "the connection was closed in the middle of the TLS handshake"
                "%s",
                !conn->dialled ? ""
                : conn->net->trust.tls.cert
                    ? ": does a run with tls+tcp:// listen there?"
                    : ": does a run with a token and of this version listen "
                      "there?");
    }
    if (err && !conn->dialled && sti_tls_met_plain(conn->tls))
        return refuse_plain(conn);
    return err;
}

/* First step of a connection. */
static strads_err start_handshake(sti_conn *conn)
{
    const sti_stream_calls *calls = conn->stream->calls;
    strads_err err = calls->open ? calls->open(conn->stream) : STRADS_OK;
    if (!err && conn->tls)
        err = start_tls(conn);
    if (err)
        return err;
    conn->is_own = conn->tls || conn->net->trust.insecure;
    pthread_mutex_lock(&conn->lock);
    conn->open = true;
    pthread_cond_broadcast(&conn->moved);
    pthread_mutex_unlock(&conn->lock);
    return STRADS_OK;
}

/* The peer begins TLS, but this node has neither a token nor certificates. The
 * peer recognises the answer by its first byte. */
static strads_err refuse_tls(sti_conn *conn)
{
    return turn_away(conn,
                     "this run has no token and no certificates: omit them, or "
                     "give node 0 the same",
                     "it uses a token or certificates, but this run has none");
}

/* ---- complete frames --------------------------------------------------- */

/* Handles PING, BYE and BYE_ACK. */
static strads_err take_control(sti_conn *conn, uint16_t kind)
{
    if (kind == STI_KIND_BYE)
        return take_bye(conn);
    if (kind == STI_KIND_BYE_ACK)
        take_bye_ack(conn);
    return STRADS_OK; /* a PING only renews received_ns */
}

/* Over the loopback, without TLS, the other process must belong to this
 * user. The kernel knows the user once that process has accepted the
 * connection, that is, when it has sent a frame. */
static strads_err check_owner(sti_conn *conn)
{
    sti_ends ends;
    if (conn->is_own)
        return STRADS_OK;
    conn->stream->calls->addresses(conn->stream, &ends);
    conn->is_own = sti_ends_are_own(&ends);
    if (conn->is_own)
        return STRADS_OK;
    return turn_away(conn,
                     "this run has no token and accepts only processes of its "
                     "own user: give both sides the same --token-file",
                     "it is another user's process, or it has ended: a run of "
                     "several users needs a --token-file");
}

/* Handles a complete frame and takes it over. */
static strads_err deliver_frame(sti_conn *conn, sti_frame *frame)
{
    const uint16_t kind = frame->header.kind;
    strads_err err = conn->tls ? STRADS_OK : sti_frame_verify(frame);
    /* The sender of a REJECT may have closed already: its user is unknown. */
    if (err == STRADS_OK && kind != STI_KIND_REJECT)
        err = check_owner(conn);
    atomic_fetch_add_explicit(&conn->net->frames_received, 1,
                              memory_order_relaxed);
    if (err == STRADS_OK &&
        (kind < STI_KIND_PING || kind >= STI_KIND_FIRST_MESSAGE)) {
        if (kind == STI_KIND_HELLO && !introduce_conn(conn))
            sti_frame_free(frame);
        else
            hand_over(conn, frame);
        return STRADS_OK;
    }
    if (err == STRADS_OK)
        err = take_control(conn, kind);
    sti_frame_free(frame);
    return err;
}

/* ---- bytes to frames --------------------------------------------------- */

/* A gap means that frames were lost on the way. The link then ends before a
 * later frame is counted as the lost one, and the next link resends. */
static strads_err check_number(sti_conn *conn, const sti_header *h)
{
    const uint32_t due = conn->frames_begun++;
    if (h->number == due)
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "frame %u of the link arrived instead of frame %u: the "
                       "network loses or repeats data",
                       (unsigned)h->number, (unsigned)due);
}

/* Begins a frame with the header at ahead_begin. */
static strads_err begin_frame(sti_conn *conn)
{
    const unsigned char *at = conn->ahead + conn->ahead_begin;
    sti_header header;
    if (!conn->tls && !conn->dialled && conn->frames_begun == 0 &&
        sti_tls_begins(at))
        return refuse_tls(conn);
    strads_err err = sti_frame_decode_header(at, payload_limit(conn), &header);
    if (err == STRADS_OK)
        err = check_number(conn, &header);
    if (err != STRADS_OK)
        return err;
    pthread_mutex_lock(&conn->lock);
    err = check_rules(conn, &header);
    pthread_mutex_unlock(&conn->lock);
    if (err == STRADS_OK)
        err = check_size(conn, &header);
    if (err != STRADS_OK)
        return err;
    conn->ahead_begin += STI_HEADER_BYTES;
    conn->filled = 0;
    return sti_frame_alloc(&header, &conn->frame);
}

/* Moves bytes from `ahead` to the payload; delivers a complete frame. */
static strads_err fill_frame(sti_conn *conn)
{
    sti_frame *frame = conn->frame;
    uint64_t want = frame->header.size - conn->filled;
    size_t have = conn->ahead_end - conn->ahead_begin;
    size_t n = want < have ? (size_t)want : have;
    memcpy(frame->payload + conn->filled, conn->ahead + conn->ahead_begin, n);
    conn->filled += n;
    conn->ahead_begin += n;
    if (conn->filled < frame->header.size)
        return STRADS_OK;
    conn->frame = NULL;
    return deliver_frame(conn, frame);
}

/* Handles `count` bytes that receive_bytes() has read. */
static strads_err take_bytes(sti_conn *conn, size_t count)
{
    strads_err err = STRADS_OK;
    if (conn->frame != NULL) {
        uint64_t want = conn->frame->header.size - conn->filled;
        size_t n = want < count ? (size_t)want : count;
        conn->filled += n;
        count -= n;
        conn->ahead_end += count;
        err = fill_frame(conn);
    } else {
        conn->ahead_end += count;
    }
    while (err == STRADS_OK && !sti_conn_is_dead(conn) && conn->frame == NULL &&
           conn->ahead_end - conn->ahead_begin >= STI_HEADER_BYTES) {
        err = begin_frame(conn);
        if (err == STRADS_OK)
            err = fill_frame(conn);
    }
    size_t left = conn->ahead_end - conn->ahead_begin;
    memmove(conn->ahead, conn->ahead + conn->ahead_begin, left);
    conn->ahead_begin = 0;
    conn->ahead_end = left;
    return err;
}

/* Updates the progress of a partial record: rest_ns and rest_bytes. */
static void measure_record(sti_conn *conn, size_t count)
{
    const bool waits = conn->frame != NULL || conn->ahead_end != 0 ||
                       sti_tls_is_inside_record(conn->tls);
    if (waits && atomic_load(&conn->rest_ns) != 0) {
        atomic_fetch_add(&conn->rest_bytes, count);
        return;
    }
    atomic_store(&conn->rest_bytes, 0);
    atomic_store(&conn->rest_ns,
                 waits ? atomic_load(&conn->net->clock_ns) + 1 : 0);
}

/* Receives and decrypts. Returns as sti_tls_read does, and blocks. */
static ssize_t receive_decrypted(sti_conn *conn, void *bytes, size_t size)
{
    for (size_t fresh = 0;;) {
        ssize_t n = sti_tls_read(conn->tls, bytes, size);
        if (n >= 0 || errno != EAGAIN)
            return n;
        if (fresh > 0)
            measure_record(conn, fresh);
        n = receive_encrypted(conn);
        if (n <= 0)
            return n;
        fresh = (size_t)n;
        atomic_store(&conn->received_ns, atomic_load(&conn->net->clock_ns));
    }
}

/* Reads into the payload of the current frame, then into `ahead`. Returns as
 * `receive` of a stream does. */
static ssize_t receive_bytes(sti_conn *conn)
{
    struct iovec iov[2];
    size_t count = 0;
    if (conn->frame != NULL && conn->filled < conn->frame->header.size)
        iov[count++] =
            (struct iovec){conn->frame->payload + conn->filled,
                           (size_t)(conn->frame->header.size - conn->filled)};
    iov[count++] = (struct iovec){conn->ahead + conn->ahead_end,
                                  sizeof conn->ahead - conn->ahead_end};
    if (conn->tls)
        return receive_decrypted(conn, iov[0].iov_base, iov[0].iov_len);
    return conn->stream->calls->receive(conn->stream, iov, count);
}

/* `e`: errno, or 0 if the peer closed the connection. */
static void end_of_stream(sti_conn *conn, int e)
{
    char text[STI_TEXT_MAX];
    pthread_mutex_lock(&conn->lock);
    conn->left = conn->bye_received && !conn->dead;
    pthread_mutex_unlock(&conn->lock);
    if (e == EBADMSG)
        sti_conn_end(conn, STRADS_EIO,
                     "the bytes of the connection were damaged or changed on "
                     "the way");
    else if (conn->frame != NULL || conn->ahead_end != 0 ||
             (conn->tls && sti_tls_is_inside_record(conn->tls)))
        sti_conn_end(conn, STRADS_EIO,
                     "the connection was closed in the middle of a frame: the "
                     "peer has crashed, was killed, or is not a strads node");
    else if (e == 0 || e == ECONNRESET || e == EPIPE)
        sti_conn_end(conn, STRADS_EIO,
                     "the connection was closed without a goodbye: the peer "
                     "has crashed, was killed, or gave up");
    else {
        (void)snprintf(text, sizeof text, "reading failed: %s",
                       sti_socket_text(e));
        sti_conn_end(conn, STRADS_EIO, text);
    }
}

/* Updates rest_ns and rest_bytes, the progress of a partial frame; `before` is
 * the partial frame before these bytes. */
static void measure_rest(sti_conn *conn, size_t count, const sti_frame *before)
{
    const bool waits = conn->frame != NULL || conn->ahead_end != 0;
    const bool same = conn->frame != NULL && conn->frame == before;
    if (waits && same && atomic_load(&conn->rest_ns) != 0) {
        atomic_fetch_add(&conn->rest_bytes, count);
        return;
    }
    atomic_store(&conn->rest_bytes, 0);
    atomic_store(&conn->rest_ns,
                 waits ? atomic_load(&conn->net->clock_ns) + 1 : 0);
}

/* Handles the result of a receive. True: the connection continues. */
static bool handle_received(sti_conn *conn, ssize_t n)
{
    sti_net *net = conn->net;
    if (n > 0) {
        const size_t count = (size_t)n;
        atomic_fetch_add_explicit(&net->bytes_received, count,
                                  memory_order_relaxed);
        atomic_store(&conn->received_ns, atomic_load(&net->clock_ns));
        const sti_frame *before = conn->frame;
        strads_err err = take_bytes(conn, count);
        measure_rest(conn, count, before);
        if (err != STRADS_OK)
            sti_conn_end(conn, err, strads_error_text());
    } else {
        end_of_stream(conn, n < 0 ? errno : 0);
    }
    return n > 0 && !sti_conn_is_dead(conn);
}

/* Waits until the peer closes: if this end closed with unread bytes, the kernel
 * would reset the connection and the peer would lose the REJECT. A stranger
 * that does not close is ended after hello_ns. */
static void wait_closed(sti_conn *conn)
{
    const sti_stream_calls *calls = conn->stream->calls;
    const struct iovec rest = {conn->ahead, sizeof conn->ahead};
    calls->end(conn->stream, true);
    while (!conn->dialled && calls->receive(conn->stream, &rest, 1) > 0)
        continue;
}

void *sti_conn_read_all(void *arg)
{
    sti_conn *conn = arg;
    const strads_err err = start_handshake(conn);
    if (err != STRADS_OK) {
        wait_closed(conn);
        sti_conn_end(conn, err, strads_error_text());
    } else
        while (handle_received(conn, receive_bytes(conn)))
            continue;
    sti_conn_finish(conn);
    return NULL;
}
