/* Owns the parcels between `seen` and `put`, in the order of their numbers; of
 * these the transport borrows the ones that it is sending. */
#include "engine/net/outbox.h"

#include <stdlib.h>

#include "engine/base/monotonic_clock.h"

void sti_outbox_init(sti_outbox *box, sti_net *net)
{
    *box = (sti_outbox){.net = net};
    box->last = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    (void)sti_monotonic_cond_init(&box->moved);
}

static void let_go(sti_parcel *parcel)
{
    if (atomic_fetch_sub(&parcel->holders, 1) != 1)
        return;
    sti_writer_free(&parcel->payload);
    sti_writer_free(&parcel->instead);
    sti_object_drop(parcel->object);
    free(parcel);
}

/* With the lock held: the first `n` of those that are kept. */
static void forget(sti_outbox *box, uint64_t n)
{
    for (; n; n--) {
        sti_parcel *parcel = box->first;
        box->first = parcel->next;
        box->bytes -= parcel->size;
        let_go(parcel);
    }
    if (!box->first)
        box->last = &box->first;
    pthread_cond_broadcast(&box->moved);
}

void sti_outbox_destroy(sti_outbox *box)
{
    forget(box, box->put - box->seen);
    pthread_cond_destroy(&box->moved);
    pthread_mutex_destroy(&box->lock);
}

/* ---- sending ----------------------------------------------------------- */

static void was_written(void *arg)
{
    sti_parcel *parcel = arg;
    if (parcel->written)
        parcel->written(parcel);
    let_go(parcel);
}

/* With the lock held. A link that is lost is no error: the next one comes. */
static strads_err send(sti_outbox *box, sti_parcel *parcel)
{
    const bool lent = parcel->instead.size > 0;
    const sti_outgoing frame = {
        .header = parcel->header,
        .parts = {{parcel->payload.bytes, parcel->payload.size}, parcel->rest},
        .part_count = 2,
        .sent = lent ? NULL : was_written,
        .sent_arg = parcel,
        .lazy = parcel->followed && parcel->size <= STI_SEND_COPY_MAX,
    };
    if (!box->link)
        return STRADS_OK;
    if (!lent)
        atomic_fetch_add(&parcel->holders, 1);
    strads_err err = sti_net_send(box->net, box->link, &frame);
    if (err && !lent)
        let_go(parcel);
    else if (!err && lent && parcel->written)
        parcel->written(parcel);
    return err == STRADS_EPEER ? STRADS_OK : err;
}

/* With the lock held: nothing refers to what was lent any more. */
static void give_back(sti_parcel *parcel)
{
    if (!parcel->instead.size)
        return;
    sti_writer_free(&parcel->payload);
    sti_object_drop(parcel->object);
    parcel->payload = parcel->instead;
    parcel->header.kind = parcel->instead_kind;
    parcel->instead = (sti_writer){0};
    parcel->rest = (sti_part){0};
    parcel->object = NULL;
}

/* With the lock held, which is let go meanwhile. */
static strads_err wait_for_room(sti_outbox *box, uint64_t size,
                                uint64_t wait_ns)
{
    const uint64_t limit = STI_OUTBOX_BYTES_MAX;
    const uint64_t until = sti_monotonic_in(wait_ns);
    bool late = !wait_ns;
    while (!box->closed && box->first && box->bytes + size > limit) {
        if (late)
            return strads_fail(STRADS_ELIMIT,
                               "%llu bytes wait to be received by a node "
                               "already, %llu more do not fit",
                               (unsigned long long)box->bytes,
                               (unsigned long long)size);
        late = !sti_monotonic_wait(&box->moved, &box->lock, until);
    }
    return box->closed ? strads_fail(STRADS_EPEER, "the node is gone")
                       : STRADS_OK;
}

strads_err sti_outbox_put(sti_outbox *box, sti_parcel *parcel, uint64_t wait_ns)
{
    const uint64_t size =
        STI_HEADER_BYTES + parcel->payload.size + parcel->rest.size;
    parcel->size = size;
    atomic_init(&parcel->holders, 1);
    parcel->next = NULL;
    pthread_mutex_lock(&box->lock);
    strads_err err = wait_for_room(box, size, wait_ns);
    if (err) {
        pthread_mutex_unlock(&box->lock);
        let_go(parcel);
        return err;
    }
    *box->last = parcel;
    box->last = &parcel->next;
    box->bytes += size;
    box->put++;
    err = send(box, parcel);
    give_back(parcel);
    pthread_mutex_unlock(&box->lock);
    return err;
}

uint64_t sti_outbox_bytes(sti_outbox *box)
{
    pthread_mutex_lock(&box->lock);
    uint64_t bytes = box->bytes;
    pthread_mutex_unlock(&box->lock);
    return bytes;
}

/* ---- what the receiver has --------------------------------------------- */

/* With the lock held. */
static bool settle(sti_outbox *box, uint64_t seen)
{
    if (seen < box->seen || seen > box->put)
        return false;
    forget(box, seen - box->seen);
    box->seen = seen;
    return true;
}

bool sti_outbox_seen(sti_outbox *box, uint64_t seen)
{
    pthread_mutex_lock(&box->lock);
    bool can_be = settle(box, seen);
    pthread_mutex_unlock(&box->lock);
    return can_be;
}

bool sti_outbox_go_on(sti_outbox *box, sti_link link, uint64_t seen,
                      const sti_outgoing *first)
{
    pthread_mutex_lock(&box->lock);
    bool newer = link > box->link; /* numbers of links only grow */
    bool can_be = !newer || settle(box, seen);
    if (newer && can_be) {
        box->link = link;
        strads_err err =
            first ? sti_net_send(box->net, link, first) : STRADS_OK;
        for (sti_parcel *p = box->first; p && !err; p = p->next)
            err = send(box, p);
        can_be = !err || err == STRADS_EPEER;
    }
    pthread_mutex_unlock(&box->lock);
    return can_be;
}

void sti_outbox_restart(sti_outbox *box)
{
    pthread_mutex_lock(&box->lock);
    forget(box, box->put - box->seen);
    box->put = box->seen = 0;
    pthread_mutex_unlock(&box->lock);
}

void sti_outbox_close(sti_outbox *box)
{
    pthread_mutex_lock(&box->lock);
    forget(box, box->put - box->seen);
    box->seen = box->put;
    box->closed = true;
    pthread_mutex_unlock(&box->lock);
}

void sti_outbox_drain(sti_outbox *box, uint64_t wait_ns)
{
    const uint64_t until = sti_monotonic_in(wait_ns);
    bool late = false;
    pthread_mutex_lock(&box->lock);
    while (box->first && !late)
        late = !sti_monotonic_wait(&box->moved, &box->lock, until);
    pthread_mutex_unlock(&box->lock);
}
