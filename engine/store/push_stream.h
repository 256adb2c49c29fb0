/* engine/store/push_stream.h - the ordered pushes of one client to one shard
 * (C2 to C4 of the store's protocol): numbered, kept until they are
 * acknowledged, bounded, and sent again when they may be lost. */
#ifndef STI_PUSH_STREAM_H
#define STI_PUSH_STREAM_H

#include "engine/base/role.h"

/* What may be unacknowledged: with so many pushes, or bytes, who pushes waits,
 * so that a slow shard slows a run instead of growing it. STI_PUSH_BYTES, eight
 * pieces with their heads, fit the caches of processors, and what travels on a
 * short way: no more of them are under way unless more pushes are asked for. */
enum { STI_PUSHES_MAX = 64 };
#define STI_PUSH_BYTES ((UINT64_C(2) << 20) + (UINT64_C(1) << 16))
#define STI_PUSH_BYTES_MAX (UINT64_C(256) << 20)

/* Zeroed but for the addresses and limits: nothing was pushed. Pushes
 * acknowledged + 1 .. pushed are in the ring, number n at n modulo `room`. */
typedef struct sti_push_stream {
    sti_address from, to;
    uint32_t max_pushes; /* at least 1 */
    uint64_t max_bytes;
    uint64_t pushed, acknowledged; /* numbers; neither ever goes back */
    sti_buffer **ring;             /* [room] */
    uint32_t room;                 /* 0 or a power of two */
    uint64_t bytes;                /* of those unacknowledged */
    bool unknown;      /* a former life of the client may have pushed: until the
                          shard says where it stands there is no room */
    uint64_t moved_at; /* when one was acknowledged, sent as the only one, or
                          all were sent again */
} sti_push_stream;

void sti_stream_free(sti_push_stream *s);

/* Is there room for a push of `bytes`? A push is never too large for an empty
 * window. */
bool sti_stream_has_room(const sti_push_stream *s, uint64_t bytes);

static inline uint64_t sti_stream_unacknowledged(const sti_push_stream *s)
{
    return s->pushed - s->acknowledged;
}

/* Push n of those unacknowledged; borrowed. */
sti_buffer *sti_stream_at(const sti_push_stream *s, uint64_t n);

/* Room to keep one more push: the next sti_stream_push does not fail.
 * STRADS_ENOMEM. */
strads_err sti_stream_reserve(sti_push_stream *s);

/* C2 PUSH: numbers it, keeps it and sends it. Takes over the reference, also
 * when it fails: STRADS_ENOMEM, nothing was sent. */
strads_err sti_stream_push(sti_push_stream *s, sti_buffer *push, uint64_t now,
                           sti_effects *out);

/* C3 SETTLE: pushes up to n are durable. True when that was news; a number that
 * was never pushed, or is below what was acknowledged, changes nothing. */
bool sti_stream_settle(sti_push_stream *s, uint64_t n, uint64_t now);

/* C4, for a stream that is unknown: its former life's pushes up to n are in,
 * and no other will be. */
void sti_stream_stands(sti_push_stream *s, uint64_t n);

/* C4 RESEND: all that is unacknowledged, in order, again. */
void sti_stream_resend(sti_push_stream *s, uint64_t now, sti_effects *out);

#endif
