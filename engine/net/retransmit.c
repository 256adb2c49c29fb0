/* Owns the frames from number `seen` + 1 to `put`, in this order. The transport
 * holds references to those that it sends. */
#include "engine/net/retransmit.h"

#include <stdlib.h>

#include "engine/base/monotonic_clock.h"

void sti_retransmit_init(sti_retransmit *box, sti_net *net)
{
    *box = (sti_retransmit){.net = net};
    box->last = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    (void)sti_monotonic_cond_init(&box->moved);
}

static void let_go(sti_retained *retained)
{
    if (atomic_fetch_sub(&retained->holders, 1) != 1)
        return;
    sti_writer_free(&retained->payload);
    sti_object_drop(retained->object);
    free(retained);
}

/* With the lock held: frees the first `n` frames. */
static void free_frames(sti_retransmit *box, uint64_t n)
{
    for (; n; n--) {
        sti_retained *retained = box->first;
        box->first = retained->next;
        box->bytes -= retained->size;
        let_go(retained);
    }
    if (!box->first)
        box->last = &box->first;
    pthread_cond_broadcast(&box->moved);
}

void sti_retransmit_destroy(sti_retransmit *box)
{
    free_frames(box, box->put - box->seen);
    pthread_cond_destroy(&box->moved);
    pthread_mutex_destroy(&box->lock);
}

/* ---- sending ----------------------------------------------------------- */

static void was_written(void *arg)
{
    sti_retained *retained = arg;
    if (retained->written)
        retained->written(retained);
    let_go(retained);
}

/* With the lock held. A lost link is not an error: the next link sends the
 * frame again. */
static strads_err send_retained(sti_retransmit *box, sti_retained *retained)
{
    const sti_outgoing frame = {
        .header = retained->header,
        .parts = {{retained->payload.bytes, retained->payload.size},
                  retained->rest},
        .part_count = 2,
        .sent = was_written,
        .sent_arg = retained,
    };
    if (!box->link)
        return STRADS_OK;
    atomic_fetch_add(&retained->holders, 1);
    strads_err err = sti_net_send(box->net, box->link, &frame);
    if (err)
        let_go(retained);
    return err == STRADS_EPEER ? STRADS_OK : err;
}

/* With the lock held; releases it while waiting. */
static strads_err wait_for_capacity(sti_retransmit *box, uint64_t size,
                                    uint64_t wait_ns)
{
    const uint64_t limit = STI_RETRANSMIT_BYTES_MAX;
    const uint64_t until = sti_monotonic_in(wait_ns);
    bool late = !wait_ns;
    while (!box->closed && box->first && box->bytes + size > limit) {
        if (late)
            return strads_fail(STRADS_ELIMIT,
                               "%llu bytes for a node are not acknowledged "
                               "yet: %llu more do not fit into its queue",
                               (unsigned long long)box->bytes,
                               (unsigned long long)size);
        late = !sti_monotonic_wait(&box->moved, &box->lock, until);
    }
    return box->closed ? strads_fail(STRADS_EPEER, "the node is lost")
                       : STRADS_OK;
}

strads_err sti_retransmit_put(sti_retransmit *box, sti_retained *retained,
                              uint64_t wait_ns)
{
    const uint64_t size =
        STI_HEADER_BYTES + retained->payload.size + retained->rest.size;
    retained->size = size;
    atomic_init(&retained->holders, 1);
    retained->next = NULL;
    pthread_mutex_lock(&box->lock);
    strads_err err = wait_for_capacity(box, size, wait_ns);
    if (err) {
        pthread_mutex_unlock(&box->lock);
        let_go(retained);
        return err;
    }
    *box->last = retained;
    box->last = &retained->next;
    box->bytes += size;
    box->put++;
    box->put_bytes += size;
    err = send_retained(box, retained);
    pthread_mutex_unlock(&box->lock);
    return err;
}

uint64_t sti_retransmit_put_bytes(sti_retransmit *box)
{
    pthread_mutex_lock(&box->lock);
    uint64_t bytes = box->put_bytes;
    pthread_mutex_unlock(&box->lock);
    return bytes;
}

uint64_t sti_retransmit_bytes(sti_retransmit *box)
{
    pthread_mutex_lock(&box->lock);
    uint64_t bytes = box->bytes;
    pthread_mutex_unlock(&box->lock);
    return bytes;
}

/* ---- acknowledgements -------------------------------------------------- */

/* With the lock held. */
static bool settle_seen(sti_retransmit *box, uint64_t seen)
{
    if (seen < box->seen || seen > box->put)
        return false;
    free_frames(box, seen - box->seen);
    box->seen = seen;
    return true;
}

bool sti_retransmit_seen(sti_retransmit *box, uint64_t seen)
{
    pthread_mutex_lock(&box->lock);
    bool can_be = settle_seen(box, seen);
    pthread_mutex_unlock(&box->lock);
    return can_be;
}

bool sti_retransmit_go_on(sti_retransmit *box, sti_link link, uint64_t seen,
                          const sti_outgoing *first)
{
    pthread_mutex_lock(&box->lock);
    bool newer = link > box->link; /* numbers of links only grow */
    bool can_be = !newer || settle_seen(box, seen);
    if (newer && can_be) {
        box->link = link;
        strads_err err =
            first ? sti_net_send(box->net, link, first) : STRADS_OK;
        for (sti_retained *p = box->first; p && !err; p = p->next)
            err = send_retained(box, p);
        can_be = !err || err == STRADS_EPEER;
    }
    pthread_mutex_unlock(&box->lock);
    return can_be;
}

void sti_retransmit_close(sti_retransmit *box)
{
    pthread_mutex_lock(&box->lock);
    free_frames(box, box->put - box->seen);
    box->seen = box->put;
    box->closed = true;
    pthread_mutex_unlock(&box->lock);
}

void sti_retransmit_drain(sti_retransmit *box, uint64_t wait_ns)
{
    const uint64_t until = sti_monotonic_in(wait_ns);
    bool late = false;
    pthread_mutex_lock(&box->lock);
    while (box->first && !late)
        late = !sti_monotonic_wait(&box->moved, &box->lock, until);
    pthread_mutex_unlock(&box->lock);
}
