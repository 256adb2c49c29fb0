/* Large payloads between two processes of one machine, through memory that both
 * have. The header goes over the socket as ever, and tells where its payload
 * lies; so frames keep their order, who receives is woken as ever, and whoever
 * cannot share memory notices nothing but the speed of sockets.
 *
 * Who has a large payload for the first time, on a link that is near, offers a
 * ring of its own: OFFER. The peer opens it, or cannot (another user, another
 * container), and says so: ANSWER. Each direction has its own.
 *
 * Invariants: payloads lie in a ring in the order of their frames, as one
 * thread at a time puts, until its frame is queued. What the peer says of
 * places is checked; what lies there is copied out before it is decoded. */
#include <string.h>

#include "engine/net/link_state.h"

enum {
    SHARED_ABOVE = 1 << 14, /* smaller payloads are as soon written */
    FIRST_BYTES = 1 << 14,  /* enough to see where the rest is wanted */
    RINGS_MAX = 64          /* of a net's links, its own and its peers' */
};

/* ---- how many ---------------------------------------------------------- */

/* A place for one more; what is in it is counted until its link's burial. */
static bool reserve(sti_net *net)
{
    const bool room = atomic_fetch_add(&net->rings, 1) < RINGS_MAX;
    if (!room)
        atomic_fetch_sub(&net->rings, 1);
    return room;
}

static sti_shared_ring *reserved(sti_net *net, sti_shared_ring *ring)
{
    if (ring == NULL)
        atomic_fetch_sub(&net->rings, 1);
    return ring;
}

static void free_one(sti_net *net, sti_shared_ring *ring)
{
    if (ring != NULL)
        atomic_fetch_sub(&net->rings, 1);
    sti_shared_ring_free(ring);
}

void sti_conn_free_rings(sti_conn *conn)
{
    free_one(conn->net, conn->ring_out);
    free_one(conn->net, conn->ring_in);
}

/* ---- the way out ------------------------------------------------------- */

/* With conn->lock held: is a ring to be offered? Once, whatever comes of it. */
static bool offers(sti_conn *conn)
{
    const bool first = conn->sharing == STI_SHARE_NOT_YET;
    if (first)
        conn->sharing = STI_SHARE_NOT;
    return first && reserve(conn->net);
}

static void offer(sti_conn *conn)
{
    sti_shared_ring_offer what;
    sti_shared_ring *ring = reserved(conn->net, sti_shared_ring_make(&what));
    if (ring == NULL)
        return;
    pthread_mutex_lock(&conn->lock);
    conn->ring_out = ring;
    conn->ring_mark = what.mark;
    pthread_mutex_unlock(&conn->lock);
    const sti_header header = {.kind = STI_KIND_OFFER,
                               .index = what.process,
                               .round = what.descriptor,
                               .tag = what.mark};
    (void)sti_conn_send_header(conn, &header); /* or the link has ended */
}

/* Takes the ring until the frame is queued; offers one where there is none. */
static bool take_ring(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    const bool first = offers(conn);
    const bool may =
        conn->sharing == STI_SHARE_FREE && !conn->writing && !conn->dead;
    if (may)
        conn->sharing = STI_SHARE_BUSY;
    pthread_mutex_unlock(&conn->lock);
    if (first)
        offer(conn);
    return may;
}

static void give_ring(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    sti_conn_shared(conn);
    pthread_mutex_unlock(&conn->lock);
}

bool sti_conn_share(sti_conn *conn, const sti_outgoing *frame, uint64_t size,
                    uint64_t *place)
{
    if (size < SHARED_ABOVE || frame->header.kind < STI_KIND_FIRST_MESSAGE ||
        conn->net->options.sockets_alone ||
        !atomic_load_explicit(&conn->near, memory_order_relaxed) ||
        !take_ring(conn))
        return false;
    const bool put = sti_shared_ring_put(conn->ring_out, frame->parts,
                                         frame->part_count, size, place);
    if (put)
        atomic_fetch_add_explicit(&conn->net->bytes_sent, size,
                                  memory_order_relaxed);
    else
        give_ring(conn);
    return put;
}

void sti_conn_shared(sti_conn *conn)
{
    if (conn->sharing == STI_SHARE_BUSY)
        conn->sharing = STI_SHARE_FREE;
}

strads_err sti_conn_take_answer(sti_conn *conn, const sti_header *header)
{
    pthread_mutex_lock(&conn->lock);
    const bool due = conn->ring_mark != 0 &&
                     (header->tag == conn->ring_mark || header->tag == 0);
    if (due) {
        conn->sharing = header->tag ? STI_SHARE_FREE : STI_SHARE_NOT;
        conn->ring_mark = 0;
        sti_shared_ring_close_door(conn->ring_out);
    }
    pthread_mutex_unlock(&conn->lock);
    return due ? STRADS_OK
               : strads_fail(STRADS_EPEER, "the peer answers an offer of "
                                           "shared memory that nobody made");
}

/* ---- the way in -------------------------------------------------------- */

strads_err sti_conn_take_offer(sti_conn *conn, const sti_header *header)
{
    if (conn->offered || !header->near || header->round > UINT32_MAX)
        return strads_fail(STRADS_EPEER,
                           "the peer offers memory where that is not agreed "
                           "on, or for a second time");
    const sti_shared_ring_offer what = {.process = header->index,
                                        .descriptor = (uint32_t)header->round,
                                        .mark = header->tag};
    conn->offered = true;
    if (!conn->net->options.sockets_alone && reserve(conn->net))
        conn->ring_in = reserved(conn->net, sti_shared_ring_open(&what));
    const sti_header answer = {.kind = STI_KIND_ANSWER,
                               .tag = conn->ring_in ? what.mark : 0};
    return sti_conn_send_header(conn, &answer);
}

/* Behind the first bytes of a frame, which are there. */
static void take_rest(sti_conn *conn, const unsigned char *from)
{
    sti_frame *frame = conn->frame;
    const uint64_t rest = frame->header.size - conn->filled;
    const sti_berthing *b = &conn->berthing;
    if (b->berth != NULL)
        sti_conn_copy_to_berth(conn, conn->filled - b->from, from, rest);
    else
        memcpy(frame->payload + conn->filled, from, (size_t)rest);
    conn->filled = frame->header.size;
}

strads_err sti_conn_take_shared(sti_conn *conn)
{
    sti_frame *frame = conn->frame;
    const uint64_t size = frame->header.size, place = frame->header.checksum;
    const unsigned char *from =
        conn->ring_in && sti_frame_is_bare(&frame->header)
            ? sti_shared_ring_look(conn->ring_in, place, size)
            : NULL;
    if (from == NULL)
        return strads_fail(STRADS_EPEER,
                           "the peer tells of a payload of %llu bytes in "
                           "shared memory that cannot be there",
                           (unsigned long long)size);
    conn->filled = size < FIRST_BYTES ? size : FIRST_BYTES;
    memcpy(frame->payload, from, (size_t)conn->filled);
    sti_conn_look_for_berth(conn);
    take_rest(conn, from + conn->filled);
    sti_shared_ring_take(conn->ring_in, place, size);
    frame->header.checksum = 0;
    atomic_fetch_add_explicit(&conn->net->bytes_received, size,
                              memory_order_relaxed);
    return STRADS_OK;
}
