/* The way out: a queue for each connection, and the one thread that empties it.
 * Invariants: queue_bytes is the sum of what the queue's frames had at first;
 * `writing` is set exactly while a thread writes, or is about to, so that only
 * one at a time moves the queue's head; while it is not, nothing is queued but
 * frames that are lazy, and what the connection's reader holds back. */
#include <errno.h>
#include <sys/socket.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/link_state.h"

/* Appends; the caller holds conn->lock and, when this returns true, calls
 * write_at_once after having given it back. */
static bool append(sti_conn *conn, sti_queued *q, bool lazy)
{
    bool start = !conn->writing && !lazy;
    *conn->last = q;
    conn->last = &q->next;
    conn->queue_bytes += q->size;
    conn->writing = conn->writing || start;
    conn->introduced = conn->introduced || conn->dialled;
    return start;
}

/* Takes `count` written bytes off the queue and returns the frames that are
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
        conn->queue_bytes -= q->size;
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

/* What the head of the queue has left, in one go. */
static ssize_t write_some(sti_conn *conn, bool may_wait)
{
    struct iovec iov[STI_IOV_MAX];
    struct msghdr pieces = {.msg_iov = iov};
    ssize_t n;
    pthread_mutex_lock(&conn->lock);
    for (sti_queued *q = conn->first; q != NULL; q = q->next)
        for (unsigned i = 0;
             i < q->iov_count && pieces.msg_iovlen < STI_IOV_MAX; i++)
            if (q->iov[i].iov_len > 0)
                iov[pieces.msg_iovlen++] = q->iov[i];
    pthread_mutex_unlock(&conn->lock);
    do
        n = sendmsg(conn->fd, &pieces,
                    MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    return n;
}

typedef enum progress { MORE, EMPTY, ENDED } progress;

/* `n` bytes have gone, or none as the connection is broken. Unless the queue is
 * EMPTY the caller still writes. */
static progress note_written(sti_conn *conn, ssize_t n)
{
    const size_t count = n > 0 ? (size_t)n : 0;
    if (n < 0)
        sti_conn_end(conn, STRADS_EIO,
                     "the connection was closed while it was written to");
    else
        atomic_store_explicit(&conn->said_ns, atomic_load(&conn->net->clock_ns),
                              memory_order_relaxed);
    pthread_mutex_lock(&conn->lock);
    sti_queued *done = take_written(conn, count);
    const progress p = conn->dead ? ENDED : conn->first != NULL ? MORE : EMPTY;
    conn->writing = p != EMPTY;
    pthread_cond_broadcast(&conn->room);
    pthread_mutex_unlock(&conn->lock);
    count_sent(conn->net, done, count);
    sti_queue_free(done);
    return p;
}

void sti_conn_stop_writing(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->writing = conn->stuck = false;
    pthread_mutex_unlock(&conn->lock);
    sti_conn_rest(conn);
}

/* What this thread's sender has lent is copied: he returns now. The caller
 * writes, so nobody else looks at it. */
static strads_err own_what_is_lent(sti_conn *conn)
{
    strads_err err = STRADS_OK;
    pthread_mutex_lock(&conn->lock);
    for (sti_queued *q = conn->first; q != NULL && !err; q = q->next)
        if (q->lent)
            err = sti_queued_own(q);
    pthread_mutex_unlock(&conn->lock);
    return err;
}

static void *write_what_is_stuck(void *arg);

/* The writer goes on. Where there is none the connection ends, and the keeper
 * stops the writing. */
static void leave_to_writer(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->stuck = true;
    if (!conn->has_writer)
        conn->has_writer =
            pthread_create(&conn->writer, NULL, write_what_is_stuck, conn) == 0;
    const bool has_writer = conn->has_writer;
    pthread_cond_signal(&conn->unstuck);
    pthread_mutex_unlock(&conn->lock);
    if (!has_writer)
        sti_conn_end(conn, STRADS_ENOMEM, "no thread to send what waits");
}

/* Writes as much of the queue as the kernel takes at once; the caller has set
 * `writing`. It may hold locks of the owner, so what ends the connection is the
 * writer's, too: it may report that. */
static void write_at_once(sti_conn *conn)
{
    progress p = MORE;
    while (p == MORE) {
        ssize_t n = write_some(conn, false);
        p = n < 0 ? ENDED : note_written(conn, n);
    }
    if (p == ENDED && own_what_is_lent(conn) != STRADS_OK)
        sti_conn_end(conn, STRADS_ENOMEM, strads_error_text());
    if (p == ENDED)
        leave_to_writer(conn);
    else
        sti_conn_part_if_done(conn);
}

/* Writes all of the queue. */
static void write_waiting(sti_conn *conn)
{
    progress p = MORE;
    while (p == MORE)
        p = note_written(conn, write_some(conn, true));
    if (p == ENDED)
        sti_conn_stop_writing(conn);
    else
        sti_conn_part_if_done(conn);
}

static void *write_what_is_stuck(void *arg)
{
    sti_conn *conn = arg;
    bool go_on = true;
    while (go_on) {
        pthread_mutex_lock(&conn->lock);
        while (!conn->stuck && !conn->buried)
            (void)pthread_cond_wait(&conn->unstuck, &conn->lock);
        go_on = conn->stuck;
        conn->stuck = false;
        pthread_mutex_unlock(&conn->lock);
        if (go_on)
            write_waiting(conn);
    }
    return NULL;
}

void sti_conn_join_writer(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->buried = true;
    pthread_cond_signal(&conn->unstuck);
    pthread_mutex_unlock(&conn->lock);
    if (conn->has_writer)
        (void)pthread_join(conn->writer, NULL);
}

strads_err sti_conn_send_control(sti_conn *conn, uint16_t kind)
{
    const sti_header header = {.kind = kind};
    return sti_conn_send_header(conn, &header);
}

strads_err sti_conn_send_header(sti_conn *conn, const sti_header *header)
{
    const sti_outgoing frame = {.header = *header};
    sti_header said = *header;
    said.from = atomic_load(&conn->net->node);
    said.to = STI_NODE_NONE;
    sti_conn_say_near(conn, &said);
    sti_queued *q = NULL;
    strads_err err = sti_queued_make(&frame, said, &q);
    if (err != STRADS_OK)
        return err;
    pthread_mutex_lock(&conn->lock);
    bool dead = conn->dead;
    bool start = !dead && append(conn, q, false);
    pthread_mutex_unlock(&conn->lock);
    if (dead)
        sti_queued_free(q);
    if (start)
        write_at_once(conn);
    return STRADS_OK;
}

void sti_conn_let_go(sti_conn *conn)
{
    conn->holds = false;
    pthread_mutex_lock(&conn->lock);
    const bool start = !conn->dead && !conn->writing && conn->first != NULL;
    conn->writing |= start;
    pthread_mutex_unlock(&conn->lock);
    if (start)
        write_at_once(conn);
}

/* ---- sti_net_send ---- */

/* Waits for room and appends; the caller holds conn->lock. */
static strads_err enqueue(sti_conn *conn, sti_queued *q,
                          const sti_outgoing *frame, bool held, bool *start)
{
    const uint64_t wait_ns = frame->wait_ns;
    const uint64_t limit = conn->net->options.queue_limit;
    const uint64_t until = wait_ns > 0 ? sti_monotonic_in(wait_ns) : 0;
    while (!conn->dead && !conn->parting && conn->writing &&
           (conn->queue_bytes >= limit || q->size > limit - conn->queue_bytes))
        if (wait_ns == 0 ||
            !sti_monotonic_wait(&conn->room, &conn->lock, until))
            return strads_fail(STRADS_ELIMIT,
                               "%s: %llu bytes wait to be sent already, %llu "
                               "more do not fit",
                               conn->where,
                               (unsigned long long)conn->queue_bytes,
                               (unsigned long long)q->size);
    if (conn->dead)
        return strads_fail(STRADS_EPEER, "%s", conn->text);
    if (conn->parting)
        return strads_fail(STRADS_EPEER, "%s: the link is being closed",
                           conn->where);
    *start = append(conn, q, frame->lazy || held);
    return STRADS_OK;
}

static strads_err check_outgoing(const sti_net *net, const sti_outgoing *f,
                                 uint64_t size)
{
    const uint16_t kind = f->header.kind;
    if (f->part_count > STI_PARTS_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a frame of %u parts, where %d is the most",
                           f->part_count, STI_PARTS_MAX);
    if (kind == 0 || (kind > STI_KIND_REJECT && kind < STI_KIND_FIRST_MESSAGE))
        return strads_fail(STRADS_EINVAL,
                           "frames of kind %u are the transport's own",
                           (unsigned)kind);
    if (size > net->options.frame_limit)
        return strads_fail(STRADS_ELIMIT,
                           "a payload of %llu bytes where a frame takes %llu",
                           (unsigned long long)size,
                           (unsigned long long)net->options.frame_limit);
    return STRADS_OK;
}

static strads_err send_on(sti_conn *conn, const sti_outgoing *frame,
                          uint64_t size)
{
    sti_queued *q = NULL;
    bool start = false;
    sti_header header = frame->header;
    header.size = size;
    sti_conn_say_near(conn, &header);
    header.shared = sti_conn_share(conn, frame, size, &header.checksum);
    strads_err err = sti_queued_make(frame, header, &q);
    const bool copied = q != NULL && q->sent == NULL;
    const bool held = size <= STI_SEND_COPY_MAX && sti_conn_reads(conn);
    pthread_mutex_lock(&conn->lock);
    if (!err && q->lent && (conn->writing || frame->lazy)) /* it has to wait */
        err = sti_queued_own(q);
    if (!err)
        err = enqueue(conn, q, frame, held, &start);
    if (header.shared)
        sti_conn_shared(conn);
    pthread_mutex_unlock(&conn->lock);
    if (err != STRADS_OK) {
        sti_queued_forget(q);
        return err;
    }
    if (held && !frame->lazy && !conn->holds) {
        conn->holds = true;
        conn->held_bytes = 0;
    }
    if (start)
        write_at_once(conn);
    if (copied && frame->sent != NULL)
        frame->sent(frame->sent_arg);
    return STRADS_OK;
}

strads_err sti_net_send(sti_net *net, sti_link link, const sti_outgoing *frame)
{
    uint64_t size = frame->part_count > STI_PARTS_MAX
                        ? 0
                        : sti_frame_size(frame->parts, frame->part_count);
    strads_err err = check_outgoing(net, frame, size);
    if (err != STRADS_OK)
        return err;
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link is gone");
    err = send_on(conn, frame, size);
    sti_conn_release(conn);
    return err;
}

/* ---- parting ---- */

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
    pthread_cond_broadcast(&conn->room);
    pthread_mutex_unlock(&conn->lock);
    if (!introduced)
        sti_conn_end(conn, STRADS_ECANCELED,
                     "closed here before anything was said");
    else if (first && sti_conn_send_control(conn, STI_KIND_BYE) != STRADS_OK)
        sti_conn_end(conn, STRADS_ENOMEM, strads_error_text());
}

void sti_conn_part_if_done(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool done = conn->bye_received && conn->bye_acked && conn->ack_written;
    pthread_mutex_unlock(&conn->lock);
    if (done)
        sti_conn_end(conn, STRADS_OK, "both sides have said goodbye");
}
