/* engine/net/frame.h - the unit that travels between nodes: a header of 64
 * bytes and a payload. This file turns headers into bytes and back, refuses
 * what is not ours, and owns the buffer of a received frame. The layout is
 * docs/wire-format.md; nothing here knows a socket or a thread. */
#ifndef STI_FRAME_H
#define STI_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/cursor.h"
#include "strads/error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays in frames are used in place: strads needs a little-endian host"
#endif

enum {
    STI_PROTOCOL = 16,      /* raised whenever old and new nodes cannot talk */
    STI_HEADER_BYTES = 64,  /* fixed for ever, in every protocol */
    STI_PAYLOAD_ALIGN = 64, /* of a received payload in memory */
    STI_HELLO_LIMIT = 1 << 16, /* payload bytes of a HELLO .. */
    STI_REJECT_LIMIT = 4096    /* .. and of a REJECT */
};

#define STI_NODE_NONE UINT32_MAX /* no node id yet, or any node */

/* What a frame is about. The transport keeps the kinds below
 * STI_KIND_FIRST_MESSAGE; roles' messages are numbered from there. Numbers are
 * part of the protocol. */
enum {
    STI_KIND_HELLO = 1,   /* first frame of whoever dials: sti_hello */
    STI_KIND_WELCOME = 2, /* the answer: sti_welcome */
    STI_KIND_REJECT = 3,  /* or this one: sti_reject */
    STI_KIND_PING = 4,    /* "I live": sent when idle, never handed on */
    STI_KIND_BYE = 5,     /* the sender's last frame but one */
    STI_KIND_BYE_ACK = 6, /* "I have read everything up to your BYE" */
    /* Before HELLO where there is a token, see secret.h. */
    STI_KIND_KNOCK = 7,     /* who dials: its nonce */
    STI_KIND_CHALLENGE = 8, /* who accepts: its nonce */
    STI_KIND_PROOF = 9,     /* who dials: that it has the token */
    STI_KIND_GRANT = 10,    /* who accepts: the same; all behind it is tagged */
    STI_KIND_FIRST_MESSAGE = 16
};

/* A header, as it lies on the wire. The sender fills in kind, phase, from, to,
 * index, round and tag; the transport sets `number` and reads number, kind, from
 * and size only. */
typedef struct sti_header {
    unsigned char magic[4];
    uint16_t protocol;
    uint16_t kind;
    uint32_t number; /* of the frame on its connection: 0, 1, .. modulo 2^32 */
    uint16_t phase;  /* free for the kind */
    uint16_t zero;
    uint32_t from;     /* node; STI_NODE_NONE before one was given */
    uint32_t to;       /* node */
    uint32_t index;    /* of the receiver inside its node */
    uint32_t check;    /* low half of XXH3-64 of the header with check = 0 */
    uint64_t round;    /* round, step or sequence number */
    uint64_t tag;      /* free for the kind: a ticket, a block, a partition */
    uint64_t size;     /* payload bytes */
    uint64_t checksum; /* XXH3-64 of the payload; 0 for an empty one */
} sti_header;

/* Writes the 64 bytes of a header, with magic, protocol and the checksum of
 * the header itself. Any thread; does not block; cannot fail. */
void sti_frame_encode_header(const sti_header *header,
                             unsigned char bytes[STI_HEADER_BYTES]);

/* Reads the 64 bytes of a header; `limit` is the largest payload allowed.
 * STRADS_EIO: no magic, another protocol, or a wrong header checksum: it was
 * damaged on its way, or is not ours. STRADS_EPEER: a payload over the limit.
 * *out is then untouched, and nothing has been allocated on a peer's word. Any thread; does not block. */
strads_err sti_frame_decode_header(const unsigned char bytes[STI_HEADER_BYTES],
                                   uint64_t limit, sti_header *out);

/* The checksum and the size of the payload made of `count` parts. */
uint64_t sti_frame_checksum(const sti_part *parts, size_t count);
uint64_t sti_frame_size(const sti_part *parts, size_t count);

/* A received (or built) frame, which one thread at a time owns. `payload`
 * has header.size bytes and is 64-byte aligned, so that arrays in it are used
 * in place; the bytes up to the next multiple of 64 may be read, too. */
typedef struct sti_frame {
    sti_header header;
    unsigned char *payload;
    size_t capacity; /* of all of it in memory */
} sti_frame;

/* A frame with room for header->size payload bytes, not initialised.
 * STRADS_ENOMEM. Any thread. */
strads_err sti_frame_alloc(const sti_header *header, sti_frame **out);

/* STRADS_EIO unless the payload has the checksum that the header tells. */
strads_err sti_frame_verify(const sti_frame *frame);

/* NULL is fine. Any thread. */
void sti_frame_free(sti_frame *frame);

#endif
