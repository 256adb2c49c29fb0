/* The pushes of one stream that are not acknowledged, in a ring by number.
 * Invariants: acknowledged <= pushed, both only grow; every push between the
 * two is kept, exactly as it was first sent. */
#include "engine/store/push_stream.h"

#include <stdlib.h>

static sti_buffer **slot(const sti_push_stream *s, uint64_t n)
{
    return &s->ring[n & (s->room - 1)];
}

void sti_stream_free(sti_push_stream *s)
{
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        sti_object_drop(*slot(s, n));
    free(s->ring);
}

bool sti_stream_has_room(const sti_push_stream *s, uint64_t bytes)
{
    uint64_t n = sti_stream_unacknowledged(s);
    if (s->unknown)
        return false;
    return n == 0 || (n < s->max_pushes && s->bytes <= s->max_bytes &&
                      bytes <= s->max_bytes - s->bytes);
}

sti_buffer *sti_stream_at(const sti_push_stream *s, uint64_t n)
{
    return *slot(s, n);
}

static void send(const sti_push_stream *s, uint64_t n, sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_PUSH,
                                   .from = s->from,
                                   .to = s->to,
                                   .round = n,
                                   .object = sti_object_keep(*slot(s, n))});
}

static strads_err grow(sti_push_stream *s)
{
    uint32_t room = s->room ? 2 * s->room : 8;
    sti_push_stream more = *s;
    more.room = room;
    more.ring = malloc(sizeof(sti_buffer *) * room);
    if (!more.ring)
        return strads_fail(STRADS_ENOMEM, "no memory for pushes that wait to "
                                          "be acknowledged");
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        *slot(&more, n) = *slot(s, n);
    free(s->ring);
    *s = more;
    return STRADS_OK;
}

strads_err sti_stream_reserve(sti_push_stream *s)
{
    return sti_stream_unacknowledged(s) < s->room ? STRADS_OK : grow(s);
}

strads_err sti_stream_push(sti_push_stream *s, sti_buffer *push, uint64_t now,
                           sti_effects *out)
{
    strads_err err = sti_stream_reserve(s);
    if (err) {
        sti_object_drop(push);
        return err;
    }
    if (sti_stream_unacknowledged(s) == 0)
        s->moved_at = now;
    *slot(s, ++s->pushed) = push;
    s->bytes += sti_buffer_whole(push);
    send(s, s->pushed, out);
    return STRADS_OK;
}

bool sti_stream_settle(sti_push_stream *s, uint64_t n, uint64_t now)
{
    if (n <= s->acknowledged || n > s->pushed)
        return false;
    while (s->acknowledged < n) {
        sti_buffer *push = *slot(s, ++s->acknowledged);
        s->bytes -= sti_buffer_whole(push);
        sti_object_drop(push);
    }
    s->moved_at = now;
    return true;
}

void sti_stream_stands(sti_push_stream *s, uint64_t n)
{
    s->unknown = false;
    s->pushed = s->acknowledged = n;
}

void sti_stream_resend(sti_push_stream *s, uint64_t now, sti_effects *out)
{
    for (uint64_t n = s->acknowledged + 1; n <= s->pushed; n++)
        send(s, n, out);
    s->moved_at = now;
}
