/* Encodes and decodes headers, and allocates the buffers of frames. Keeps no
 * state between calls. A header's fields are used only after its checksum
 * matches. A payload's size is compared with the caller's limit before memory
 * is allocated for it. */
#include "engine/net/frame.h"

#include <string.h>

#include "engine/base/object.h"

#define XXH_STATIC_LINKING_ONLY /* for XXH3_state_t on the stack */
#include <xxhash.h>
/* xxHash is several times faster with run-time dispatch by processor. Debian's
 * libxxhash.a lacks the dispatching functions. They are weak symbols, so that
 * they are null in a static link. */
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#pragma weak XXH3_64bits_dispatch
#pragma weak XXH3_64bits_update_dispatch

static uint64_t hash_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits_dispatch ? XXH3_64bits_dispatch(bytes, size)
                                : XXH3_64bits(bytes, size);
}

static void hash_more(XXH3_state_t *state, const void *bytes, size_t size)
{
    if (XXH3_64bits_update_dispatch)
        (void)XXH3_64bits_update_dispatch(state, bytes, size);
    else
        (void)XXH3_64bits_update(state, bytes, size);
}
#else
static uint64_t hash_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

static void hash_more(XXH3_state_t *state, const void *bytes, size_t size)
{
    (void)XXH3_64bits_update(state, bytes, size);
}
#endif

static const unsigned char frame_magic[4] = {'S', 'T', 'R', 'D'};

_Static_assert(sizeof(sti_header) == STI_HEADER_BYTES, "no gaps");

static uint32_t header_check(sti_header header)
{
    header.check = 0;
    return (uint32_t)hash_bytes(&header, sizeof header);
}

void sti_frame_encode_header(const sti_header *header,
                             unsigned char bytes[STI_HEADER_BYTES])
{
    sti_header wire = *header;
    memcpy(wire.magic, frame_magic, sizeof frame_magic);
    wire.protocol = STI_PROTOCOL;
    wire.zero = 0;
    wire.check = header_check(wire);
    memcpy(bytes, &wire, sizeof wire);
}

/* Magic and protocol are checked before the checksum, because another protocol
 * may keep the checksum elsewhere. */
static strads_err check_header(const sti_header *wire, uint64_t limit)
{
    const unsigned char *m = wire->magic;
    if (memcmp(m, frame_magic, sizeof frame_magic) != 0)
        return strads_fail(
            STRADS_EIO,
            "found bytes %02x %02x %02x %02x where a frame "
            "begins with \"STRD\": the peer is not a strads node",
            m[0], m[1], m[2], m[3]);
    if (wire->protocol != STI_PROTOCOL)
        return strads_fail(STRADS_EIO,
                           "the peer has protocol %u and this node %u: run the "
                           "same strads on all nodes",
                           (unsigned)wire->protocol, (unsigned)STI_PROTOCOL);
    if (wire->check != header_check(*wire))
        return strads_fail(STRADS_EIO,
                           "the header of a frame does not match its checksum: "
                           "it was damaged on the way");
    if (wire->size > limit)
        return strads_fail(STRADS_EPEER,
                           "the peer announced a payload of %llu bytes where "
                           "at most %llu are allowed",
                           (unsigned long long)wire->size,
                           (unsigned long long)limit);
    return STRADS_OK;
}

strads_err sti_frame_decode_header(const unsigned char bytes[STI_HEADER_BYTES],
                                   uint64_t limit, sti_header *out)
{
    sti_header wire;
    memcpy(&wire, bytes, sizeof wire);
    strads_err err = check_header(&wire, limit);
    if (err == STRADS_OK)
        *out = wire;
    return err;
}

uint64_t sti_frame_size(const sti_part *parts, size_t count)
{
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    return size;
}

uint64_t sti_frame_checksum(const sti_part *parts, size_t count)
{
    if (sti_frame_size(parts, count) == 0)
        return 0;
    if (count == 1)
        return hash_bytes(parts->bytes, (size_t)parts->size);
    XXH3_state_t state;
    (void)XXH3_64bits_reset(&state);
    for (size_t i = 0; i < count; i++)
        hash_more(&state, parts[i].bytes, (size_t)parts[i].size);
    return XXH3_64bits_digest(&state);
}

strads_err sti_frame_alloc(const sti_header *header, sti_frame **out)
{
    const uint64_t align = STI_PAYLOAD_ALIGN;
    const uint64_t head = (sizeof(sti_frame) + align - 1) / align * align;
    sti_frame *frame = NULL;
    size_t capacity = 0;
    if (header->size <= SIZE_MAX / 2)
        frame =
            sti_buffer_pool_take((size_t)(head + (header->size + align - 1) /
                                                     align * align),
                                 &capacity);
    if (frame == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for a frame of %llu bytes",
                           (unsigned long long)header->size);
    frame->header = *header;
    frame->capacity = capacity;
    frame->payload = (unsigned char *)frame + head;
    memset(frame->payload + header->size, 0,
           (size_t)((align - header->size % align) % align));
    *out = frame;
    return STRADS_OK;
}

strads_err sti_frame_verify(const sti_frame *frame)
{
    const sti_part all = {frame->payload, frame->header.size};
    const uint64_t found = sti_frame_checksum(&all, 1);
    if (found != frame->header.checksum)
        return strads_fail(STRADS_EIO,
                           "the payload of a frame (kind %u, %llu bytes) does "
                           "not match its checksum: it was damaged on the way",
                           (unsigned)frame->header.kind,
                           (unsigned long long)frame->header.size);
    return STRADS_OK;
}

void sti_frame_free(sti_frame *frame)
{
    if (frame != NULL)
        sti_buffer_pool_give(frame, frame->capacity);
}
