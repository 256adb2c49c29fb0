/* The rest of a large frame, received where somebody waits for it. Only the
 * connection's reader comes here; who waits may leave at any time, and what has
 * come is of no use then, nor what is still to come.
 * Invariants: memory that is not the frame's is touched under the berth's lock
 * alone, as long as it is the connection's turn there; nobody waits with it. */
#include <errno.h>
#include <string.h>

#include "engine/net/link_state.h"

/* Smaller frames are as soon copied. */
enum { BERTH_BYTES = 1 << 16 };

void sti_conn_copy_to_berth(sti_conn *conn, uint64_t skip,
                            const unsigned char *from, uint64_t size)
{
    const sti_berthing *b = &conn->berthing;
    struct iovec iov[STI_BERTH_MAX];
    pthread_mutex_lock(&b->berth->lock);
    const unsigned count = sti_berth_rest(b->berth, b->turn, skip, iov);
    for (unsigned k = 0; k < count && size > 0; k++) {
        const size_t n = size < iov[k].iov_len ? (size_t)size : iov[k].iov_len;
        memcpy(iov[k].iov_base, from, n);
        from += n;
        size -= n;
    }
    pthread_mutex_unlock(&b->berth->lock);
}

void sti_conn_look_for_berth(sti_conn *conn)
{
    const sti_net_options *o = &conn->net->options;
    sti_frame *frame = conn->frame;
    if (o->events.berth == NULL || frame->header.size < BERTH_BYTES)
        return;
    conn->berthing = o->events.berth(o->arg, conn->id, frame, conn->filled);
    if (conn->berthing.berth == NULL)
        return;
    frame->here = conn->berthing.from;
    sti_conn_copy_to_berth(conn, 0, frame->payload + frame->here,
                           conn->filled - frame->here);
}

void sti_conn_leave_berth(sti_conn *conn)
{
    if (conn->berthing.berth != NULL)
        sti_berth_leave(conn->berthing.berth, conn->berthing.turn);
    conn->berthing = (sti_berthing){0};
}

void sti_conn_lose_rest(sti_conn *conn)
{
    conn->frame->lost = true;
    sti_conn_leave_berth(conn);
}

strads_err sti_conn_verify(sti_conn *conn, sti_frame *frame)
{
    const sti_berthing *b = &conn->berthing;
    struct iovec iov[STI_BERTH_MAX];
    sti_part parts[1 + STI_BERTH_MAX] = {{frame->payload, frame->here}};
    strads_err err = STRADS_OK;
    if (frame->lost || b->berth == NULL)
        return frame->lost ? STRADS_OK : sti_frame_verify(frame);
    pthread_mutex_lock(&b->berth->lock);
    const unsigned count = sti_berth_rest(b->berth, b->turn, 0, iov);
    for (unsigned k = 0; k < count; k++)
        parts[1 + k] = (sti_part){iov[k].iov_base, iov[k].iov_len};
    if (count > 0)
        err = sti_frame_verify_parts(frame, parts, 1 + count);
    pthread_mutex_unlock(&b->berth->lock);
    frame->lost = count == 0;
    sti_conn_leave_berth(conn);
    return err;
}

ssize_t sti_conn_receive_at_berth(sti_conn *conn, bool *left)
{
    const sti_berthing *b = &conn->berthing;
    struct iovec iov[STI_BERTH_MAX + 1];
    pthread_mutex_lock(&b->berth->lock);
    const unsigned count =
        sti_berth_rest(b->berth, b->turn, conn->filled - b->from, iov);
    const ssize_t n =
        count ? sti_conn_receive_into(conn, iov, count, false) : -1;
    const int e = errno;
    pthread_mutex_unlock(&b->berth->lock);
    *left = count == 0;
    errno = e;
    return n;
}
