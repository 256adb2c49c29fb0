/* Frames on their way out: header and payload in one piece where that is small,
 * the payload where it lies where it is large, and the header alone where the
 * payload goes through shared memory. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/object.h"
#include "engine/net/link_state.h"

void sti_queued_forget(sti_queued *q)
{
    if (q != NULL)
        sti_buffer_pool_give(q->own, q->own_room);
    free(q);
}

void sti_queued_free(sti_queued *q)
{
    if (q->sent != NULL)
        q->sent(q->sent_arg);
    sti_queued_forget(q);
}

void sti_queue_free(sti_queued *first)
{
    while (first != NULL) {
        sti_queued *next = first->next;
        sti_queued_free(first);
        first = next;
    }
}

/* Header and payload in one piece, for payloads that are copied. */
static void fill_copied(sti_queued *q, const sti_outgoing *f)
{
    unsigned char *to = q->bytes + STI_HEADER_BYTES;
    for (unsigned i = 0; i < f->part_count; i++) {
        if (f->parts[i].size > 0)
            memcpy(to, f->parts[i].bytes, (size_t)f->parts[i].size);
        to += f->parts[i].size;
    }
    q->iov[0] = (struct iovec){q->bytes, (size_t)(to - q->bytes)};
    q->iov_count = 1;
}

static void fill_borrowed(sti_queued *q, const sti_outgoing *f)
{
    q->iov[q->iov_count++] = (struct iovec){q->bytes, STI_HEADER_BYTES};
    for (unsigned i = 0; i < f->part_count; i++)
        if (f->parts[i].size > 0)
            q->iov[q->iov_count++] =
                (struct iovec){(void *)(uintptr_t)f->parts[i].bytes,
                               (size_t)f->parts[i].size};
    q->sent = f->sent;
    q->sent_arg = f->sent_arg;
    q->lent = f->sent == NULL;
}

strads_err sti_queued_own(sti_queued *q)
{
    size_t left = 0;
    for (unsigned i = 0; i < q->iov_count; i++)
        left += q->iov[i].iov_len;
    unsigned char *to = sti_buffer_pool_take(left, &q->own_room);
    q->own = to;
    for (unsigned i = 0; to != NULL && i < q->iov_count; i++) {
        memcpy(to, q->iov[i].iov_base, q->iov[i].iov_len);
        to += q->iov[i].iov_len;
    }
    q->iov[0] = (struct iovec){q->own, q->own ? left : 0};
    q->iov_count = 1;
    q->lent = false;
    return q->own != NULL
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory to send %llu bytes",
                             (unsigned long long)left);
}

strads_err sti_queued_make(const sti_outgoing *f, sti_header header,
                           sti_queued **out)
{
    const uint64_t size = header.shared ? 0 : header.size;
    const bool copy = size <= STI_SEND_COPY_MAX;
    const size_t room = STI_HEADER_BYTES + (copy ? (size_t)size : 0);
    sti_queued *q = malloc(sizeof *q + room);
    if (q == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory to send %llu bytes",
                           (unsigned long long)size);
    *q = (sti_queued){.size = STI_HEADER_BYTES + size, .kind = header.kind};
    if (!header.shared)
        header.checksum = sti_frame_is_bare(&header)
                              ? 0
                              : sti_frame_checksum(f->parts, f->part_count);
    sti_frame_encode_header(&header, q->bytes);
    if (header.shared)
        fill_copied(q, &(sti_outgoing){0});
    else if (copy)
        fill_copied(q, f);
    else
        fill_borrowed(q, f);
    *out = q;
    return STRADS_OK;
}
