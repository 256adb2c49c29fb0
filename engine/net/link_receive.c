/* The way in: bytes to frames, frames to the owner or to the transport itself.
 * A thread for each connection waits for what comes and takes it: a call back
 * would come on another thread than the one that has copied the bytes.
 * Invariants: at most one receive is under way, and all that is read lands
 * either in the payload of `frame` or behind it in `ahead`; memory is taken
 * only for a header that has been checked, and within the limit of whoever
 * sent it; what breaks a rule ends the connection and nothing else. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/net/link_state.h"

enum {
    HELD_BYTES = 1 << 19, /* as much is received while answers are held back */
    MUCH_BYTES = 1 << 17, /* half a piece of the store's */
    LITTLE_BYTES = 1 << 15, /* what is as soon taken as waited for */
    MUCH_MS = 2
};

/* The connection that this thread reads. */
static _Thread_local const sti_conn *reads;

bool sti_conn_reads(const sti_conn *conn)
{
    return reads == conn;
}

ssize_t sti_conn_receive_into(sti_conn *conn, struct iovec *iov, unsigned count,
                              bool may_wait)
{
    const struct msghdr room = {.msg_iov = iov, .msg_iovlen = count + 1};
    struct msghdr left;
    ssize_t n;
    iov[count] = (struct iovec){conn->ahead + conn->ahead_end,
                                sizeof conn->ahead - conn->ahead_end};
    do {
        left = room;
        n = recvmsg(conn->fd, &left, may_wait ? 0 : MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Into the frame. */
static ssize_t receive_here(sti_conn *conn, bool may_wait)
{
    struct iovec iov[2];
    if (conn->frame != NULL)
        iov[0] =
            (struct iovec){conn->frame->payload + conn->filled,
                           (size_t)(conn->frame->header.size - conn->filled)};
    return sti_conn_receive_into(conn, iov, conn->frame != NULL, may_wait);
}

static bool is_dry(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Is the peer about to write the rest of a frame? On a way as short as within
 * one machine that is soon there. */
static bool more_is_near(const sti_conn *conn)
{
    return conn->frame != NULL &&
           atomic_load_explicit(&conn->near, memory_order_relaxed);
}

/* Of a frame that is of no use before all of it is there: this thread is woken
 * once for much of it, not by each part that the peer's kernel hands on. */
static void await_much(const sti_conn *conn)
{
    const uint64_t rest = conn->frame->header.size - conn->filled;
    if (rest >= LITTLE_BYTES)
        sti_socket_await(conn->fd, rest < MUCH_BYTES ? (int)rest : MUCH_BYTES,
                         MUCH_MS);
}

/* How many bytes have come, as recvmsg says it. */
static ssize_t receive_some(sti_conn *conn, bool may_wait)
{
    struct pollfd ready = {.fd = conn->fd, .events = POLLIN};
    if (may_wait && more_is_near(conn))
        await_much(conn);
    while (conn->berthing.berth != NULL) {
        bool left;
        ssize_t n = sti_conn_receive_at_berth(conn, &left);
        if (!left && (!is_dry(n) || !may_wait))
            return n;
        if (!left)
            (void)poll(&ready, 1, -1);
        else
            sti_conn_lose_rest(conn);
    }
    return receive_here(conn, may_wait);
}

/* Waits for bytes. What is held back leaves first, unless there are some
 * already, or soon: one call of the kernel, and one of the peer's, for several
 * answers. */
static ssize_t receive(sti_conn *conn)
{
    ssize_t n = -1;
    if (conn->holds && conn->held_bytes < HELD_BYTES) {
        n = receive_some(conn, more_is_near(conn));
        if (!is_dry(n)) {
            conn->held_bytes += n > 0 ? (uint64_t)n : 0;
            return n;
        }
    }
    if (conn->holds)
        sti_conn_let_go(conn);
    return receive_some(conn, true);
}

/* ---- what a peer may say, and when ---- */

static uint64_t payload_limit(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool known = conn->dialled || conn->bound;
    pthread_mutex_unlock(&conn->lock);
    return known ? conn->net->options.frame_limit : STI_HELLO_LIMIT;
}

static strads_err breach(const sti_header *header, const char *what)
{
    return strads_fail(STRADS_EPEER, "the peer sent a frame of kind %u %s",
                       (unsigned)header->kind, what);
}

static strads_err check_own_kind(const sti_conn *conn, const sti_header *h)
{
    if (h->size != 0)
        return breach(h, "with a payload, which this kind does not have");
    if (h->kind == STI_KIND_BYE_ACK && !conn->parting)
        return breach(h, "though this node has not said BYE");
    return STRADS_OK;
}

static strads_err check_size(const sti_conn *conn, const sti_header *h)
{
    const sti_net_options *o = &conn->net->options;
    return o->limit_of && h->size > o->limit_of(o->arg, h->kind)
               ? breach(h, "that is larger than this kind may be")
               : STRADS_OK;
}

/* The caller holds conn->lock. */
static strads_err check_rules(const sti_conn *conn, const sti_header *h)
{
    if (!conn->dialled && !conn->introduced && h->kind != STI_KIND_HELLO)
        return breach(h, "before its HELLO");
    if (conn->bye_received && h->kind != STI_KIND_BYE_ACK)
        return breach(h, "after its BYE");
    if (conn->bound && h->kind >= STI_KIND_FIRST_MESSAGE &&
        h->from != conn->node)
        return strads_fail(STRADS_EPEER,
                           "the peer is node %u and sent a frame in the name "
                           "of node %u",
                           conn->node, h->from);
    switch (h->kind) {
    case STI_KIND_HELLO:
        return conn->dialled || conn->introduced
                   ? breach(h, "where no HELLO is expected")
                   : STRADS_OK;
    case STI_KIND_WELCOME:
    case STI_KIND_REJECT:
        return conn->dialled ? STRADS_OK
                             : breach(h, "though it is the one that joins");
    case STI_KIND_PING:
    case STI_KIND_BYE:
    case STI_KIND_BYE_ACK:
        return check_own_kind(conn, h);
    default:
        break;
    }
    if (h->kind > STI_KIND_ANSWER && h->kind < STI_KIND_FIRST_MESSAGE)
        return breach(h, "that this protocol does not know");
    if (!conn->dialled && !conn->bound)
        return breach(h, "before it was welcomed");
    return h->kind <= STI_KIND_ANSWER ? check_own_kind(conn, h) : STRADS_OK;
}

/* ---- delivering ---- */

static void introduce(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->introduced = true;
    pthread_mutex_unlock(&conn->lock);
    pthread_mutex_lock(&conn->net->lock);
    conn->net->strangers--;
    sti_keeper_call(conn->net);
    pthread_mutex_unlock(&conn->net->lock);
}

static strads_err take_bye(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->bye_received = true;
    pthread_mutex_unlock(&conn->lock);
    strads_err err = sti_conn_send_control(conn, STI_KIND_BYE_ACK);
    if (err == STRADS_OK)
        sti_conn_part(conn, UINT64_MAX);
    return err;
}

static void take_bye_ack(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->bye_acked = true;
    pthread_mutex_unlock(&conn->lock);
    sti_conn_part_if_done(conn);
}

static void hand_over(sti_conn *conn, sti_frame *frame)
{
    sti_net *net = conn->net;
    atomic_store(&conn->delivering, true);
    net->options.events.received(net->options.arg, conn->id, frame);
    atomic_store(&conn->heard_ns, atomic_load(&net->clock_ns));
    atomic_store(&conn->delivering, false);
}

static bool is_own(uint16_t kind)
{
    return kind >= STI_KIND_PING && kind < STI_KIND_FIRST_MESSAGE;
}

/* What the transport tells the transport. */
static strads_err take_own(sti_conn *conn, const sti_header *header)
{
    switch (header->kind) {
    case STI_KIND_BYE:
        return take_bye(conn);
    case STI_KIND_BYE_ACK:
        take_bye_ack(conn);
        return STRADS_OK;
    case STI_KIND_OFFER:
        return sti_conn_take_offer(conn, header);
    case STI_KIND_ANSWER:
        return sti_conn_take_answer(conn, header);
    default:
        return STRADS_OK; /* PING says enough by coming */
    }
}

/* A complete frame; takes its reference. */
static strads_err deliver(sti_conn *conn, sti_frame *frame)
{
    const uint16_t kind = frame->header.kind;
    strads_err err = sti_conn_verify(conn, frame);
    atomic_fetch_add_explicit(&conn->net->frames_received, 1,
                              memory_order_relaxed);
    if (err != STRADS_OK || is_own(kind)) {
        const sti_header header = frame->header;
        sti_frame_free(frame);
        return err != STRADS_OK ? err : take_own(conn, &header);
    }
    if (kind == STI_KIND_HELLO)
        introduce(conn);
    hand_over(conn, frame);
    return STRADS_OK;
}

/* ---- bytes to frames ---- */

/* Begins a frame with the header that lies at ahead_begin. */
static strads_err begin_frame(sti_conn *conn)
{
    sti_header header;
    strads_err err = sti_frame_decode_header(conn->ahead + conn->ahead_begin,
                                             payload_limit(conn), &header);
    if (err != STRADS_OK)
        return err;
    pthread_mutex_lock(&conn->lock);
    err = check_rules(conn, &header);
    pthread_mutex_unlock(&conn->lock);
    if (err == STRADS_OK)
        err = check_size(conn, &header);
    if (err == STRADS_OK)
        err = sti_conn_hear_near(conn, &header);
    if (err != STRADS_OK)
        return err;
    conn->ahead_begin += STI_HEADER_BYTES;
    conn->filled = 0;
    err = sti_frame_alloc(&header, &conn->frame);
    return err == STRADS_OK && header.shared ? sti_conn_take_shared(conn) : err;
}

/* Moves what is there into the payload; delivers it when it is complete. */
static strads_err fill_frame(sti_conn *conn)
{
    sti_frame *frame = conn->frame;
    uint64_t want = frame->header.size - conn->filled;
    size_t have = conn->ahead_end - conn->ahead_begin;
    size_t n = want < have ? (size_t)want : have;
    memcpy(frame->payload + conn->filled, conn->ahead + conn->ahead_begin, n);
    conn->filled += n;
    conn->ahead_begin += n;
    if (conn->filled < frame->header.size) {
        if (n > 0)
            sti_conn_look_for_berth(conn);
        return STRADS_OK;
    }
    conn->frame = NULL;
    return deliver(conn, frame);
}

/* `count` fresh bytes, as sti_conn_read has asked for them. */
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

/* ---- the end of the stream ---- */

/* `e`: errno, or 0 when it was closed. */
static void end_of_stream(sti_conn *conn, int e)
{
    char text[STI_TEXT_MAX];
    pthread_mutex_lock(&conn->lock);
    conn->left = conn->bye_received && !conn->dead;
    pthread_mutex_unlock(&conn->lock);
    if (conn->frame != NULL || conn->ahead_end != 0)
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

/* What a receive has brought; true: there may be more. */
static bool take_what_came(sti_conn *conn, ssize_t n)
{
    sti_net *net = conn->net;
    if (n > 0) {
        const size_t count = (size_t)n;
        atomic_fetch_add_explicit(&net->bytes_received, count,
                                  memory_order_relaxed);
        atomic_store(&conn->heard_ns, atomic_load(&net->clock_ns));
        strads_err err = take_bytes(conn, count);
        if (err != STRADS_OK)
            sti_conn_end(conn, err, strads_error_text());
    } else {
        end_of_stream(conn, n < 0 ? errno : 0);
    }
    return n > 0 && !sti_conn_is_dead(conn);
}

static void stop_reading(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->reading = false;
    pthread_mutex_unlock(&conn->lock);
    sti_conn_rest(conn);
}

static void *read_all(void *arg)
{
    sti_conn *conn = arg;
    reads = conn;
    while (take_what_came(conn, receive(conn)))
        continue;
    sti_conn_leave_berth(conn);
    stop_reading(conn);
    return NULL;
}

void sti_conn_start_reading(sti_conn *conn)
{
    conn->has_reader = pthread_create(&conn->reader, NULL, read_all, conn) == 0;
    if (conn->has_reader)
        return;
    sti_conn_end(conn, STRADS_ENOMEM, "no thread to receive what comes");
    stop_reading(conn);
}
