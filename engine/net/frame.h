/* engine/net/frame.h - frames, the unit that travels between nodes: a header of
 * 64 bytes and a payload. Encodes, decodes and checks headers, and owns the
 * buffers of received frames. Uses no sockets and no threads. Layout:
 * docs/wire-format.md. */
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
    STI_PROTOCOL = 17,         /* raised with each incompatible change */
    STI_HEADER_BYTES = 64,     /* the same in every protocol */
    STI_PAYLOAD_ALIGN = 64,    /* of a received payload in memory */
    STI_HELLO_LIMIT = 1 << 16, /* payload bytes of a HELLO */
    STI_REJECT_LIMIT = 4096    /* payload bytes of a REJECT */
};

#define STI_NODE_NONE UINT32_MAX /* no node id yet, or any node */

/* Kinds of frames. Kinds below STI_KIND_FIRST_MESSAGE belong to the transport;
 * messages of roles are numbered from there. The numbers are part of the
 * protocol. */
enum {
    STI_KIND_HELLO = 1,   /* first frame of the dialling side: sti_hello */
    STI_KIND_WELCOME = 2, /* accepts a HELLO: sti_welcome */
    STI_KIND_REJECT = 3,  /* refuses a HELLO: sti_reject */
    STI_KIND_PING = 4,    /* heartbeat of an idle link; not delivered */
    STI_KIND_BYE = 5,     /* only a BYE_ACK may follow from this side */
    STI_KIND_BYE_ACK = 6, /* every frame up to the peer's BYE was read */
    STI_KIND_FIRST_MESSAGE = 16
};

/* A header in its wire layout. The sender fills in kind, phase, from, to,
 * index, round and tag. The transport sets `number`, and reads only number,
 * kind, from and size. */
typedef struct sti_header {
    unsigned char magic[4];
    uint16_t protocol;
    uint16_t kind;
    uint32_t number; /* of the frame on its connection: 0, 1, .. modulo 2^32 */
    uint16_t phase;  /* meaning depends on the kind */
    uint16_t zero;
    uint32_t from;     /* node; STI_NODE_NONE before it has a number */
    uint32_t to;       /* node */
    uint32_t index;    /* of the receiver inside its node */
    uint32_t check;    /* low half of XXH3-64 of the header with check = 0 */
    uint64_t round;    /* round, step or sequence number */
    uint64_t tag;      /* depends on the kind: a ticket, a block, a partition */
    uint64_t size;     /* payload bytes */
    uint64_t checksum; /* XXH3-64 of the payload; 0: empty, or inside TLS */
} sti_header;

/* Writes the 64 bytes of a header and fills in magic, protocol and the header's
 * checksum. Any thread; does not block. */
void sti_frame_encode_header(const sti_header *header,
                             unsigned char bytes[STI_HEADER_BYTES]);

/* Reads the 64 bytes of a header; `limit` is the largest payload allowed.
 * STRADS_EIO: no magic, another protocol, or a wrong header checksum (damaged
 * on the way, or not from a strads node). STRADS_EPEER: a payload over the
 * limit. Writes *out only on success and allocates nothing. Any thread; does
 * not block. */
strads_err sti_frame_decode_header(const unsigned char bytes[STI_HEADER_BYTES],
                                   uint64_t limit, sti_header *out);

/* Return the checksum and the size of a payload of `count` parts. */
uint64_t sti_frame_checksum(const sti_part *parts, size_t count);
uint64_t sti_frame_size(const sti_part *parts, size_t count);

/* A received or built frame, owned by one thread at a time. `payload` has
 * header.size bytes and is 64-byte aligned, so that arrays in it can be used in
 * place. The bytes up to the next multiple of 64 are readable. */
typedef struct sti_frame {
    sti_header header;
    unsigned char *payload;
    size_t capacity; /* bytes of the whole buffer */
} sti_frame;

/* Allocates a frame with header->size uninitialised payload bytes.
 * STRADS_ENOMEM. Any thread. */
strads_err sti_frame_alloc(const sti_header *header, sti_frame **out);

/* STRADS_EIO if the payload does not match the header's checksum. */
strads_err sti_frame_verify(const sti_frame *frame);

/* Frees a frame. NULL is allowed. Any thread. */
void sti_frame_free(sti_frame *frame);

#endif
