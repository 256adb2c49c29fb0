/* Headers and frames are decoded as encoded; damaged ones are rejected. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/frame.h"
#include "tests/expect.h"

enum { LIMIT = 1 << 20 };

static sti_header some_header(uint64_t size)
{
    return (sti_header){.kind = STI_KIND_FIRST_MESSAGE + 3,
                        .from = 7,
                        .to = 65537,
                        .number = 7,
                        .phase = 5,
                        .index = 0x01020304,
                        .round = UINT64_C(0x1122334455667788),
                        .tag = UINT64_C(0xfedcba9876543210),
                        .size = size,
                        .checksum = UINT64_C(0x0f1e2d3c4b5a6978)};
}

Test(wire_frame, a_header_comes_back_as_it_was_written)
{
    const sti_header in = some_header(1000);
    sti_header out = {0};
    unsigned char bytes[STI_HEADER_BYTES];
    sti_frame_encode_header(&in, bytes);
    cr_assert_eq(sti_frame_decode_header(bytes, LIMIT, &out), STRADS_OK);
    cr_expect_eq(out.kind, in.kind);
    cr_expect_eq(out.from, in.from);
    cr_expect_eq(out.to, in.to);
    cr_expect_eq(out.number, in.number);
    cr_expect_eq(out.phase, in.phase);
    cr_expect_eq(out.index, in.index);
    cr_expect_eq(out.round, in.round);
    cr_expect_eq(out.tag, in.tag);
    cr_expect_eq(out.size, in.size);
    cr_expect_eq(out.checksum, in.checksum);
}

/* Written by hand from docs/wire-format.md, independent of the code. */
Test(wire_frame, a_header_has_the_documented_layout)
{
    static const unsigned char wanted[STI_HEADER_BYTES] = {
        'S',  'T',  'R',  'D',  0x11, 0x00, 0x13, 0x00, 0x07, 0x00, 0x00,
        0x00, 0x05, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x01, 0x00, 0x04, 0x03, 0x02, 0x01, 0,    0,    0,    0,    0x88,
        0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x10, 0x32, 0x54, 0x76,
        0x98, 0xba, 0xdc, 0xfe, 0xe8, 0x03, 0,    0,    0,    0,    0,
        0,    0x78, 0x69, 0x5a, 0x4b, 0x3c, 0x2d, 0x1e, 0x0f};
    const sti_header in = some_header(1000);
    unsigned char bytes[STI_HEADER_BYTES];
    sti_frame_encode_header(&in, bytes);
    memset(bytes + 28, 0, 4); /* the header's own checksum */
    cr_expect_arr_eq(bytes, wanted, STI_HEADER_BYTES);
}

Test(wire_frame, every_flipped_bit_of_a_header_is_refused)
{
    const sti_header in = some_header(1000);
    unsigned char bytes[STI_HEADER_BYTES];
    sti_frame_encode_header(&in, bytes);
    for (unsigned bit = 0; bit < 8 * STI_HEADER_BYTES; bit++) {
        sti_header out = {.kind = 9};
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_expect_eq(sti_frame_decode_header(bytes, UINT64_MAX, &out),
                     STRADS_EIO, "bit %u was accepted", bit);
        cr_expect_eq(out.kind, 9, "a refused header was written");
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

Test(wire_frame, random_bytes_are_refused)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        unsigned char bytes[STI_HEADER_BYTES];
        sti_header out;
        for (size_t k = 0; k < sizeof bytes; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes[k] = (unsigned char)(state >> 32);
        }
        if (i % 2 == 0)
            memcpy(bytes, "STRD\1\0", 6);
        cr_assert_eq(sti_frame_decode_header(bytes, UINT64_MAX, &out),
                     STRADS_EIO);
    }
}

Test(wire_frame, a_payload_over_the_limit_is_refused_by_its_header)
{
    unsigned char bytes[STI_HEADER_BYTES];
    sti_header in = some_header(LIMIT), out;
    sti_frame_encode_header(&in, bytes);
    cr_expect_eq(sti_frame_decode_header(bytes, LIMIT, &out), STRADS_OK);
    in.size = LIMIT + 1;
    sti_frame_encode_header(&in, bytes);
    expect_error(sti_frame_decode_header(bytes, LIMIT, &out), STRADS_EPEER,
                 "1048577 bytes");
}

Test(wire_frame, another_protocol_and_another_program_are_named)
{
    unsigned char bytes[STI_HEADER_BYTES];
    const sti_header in = some_header(0);
    sti_header out;
    sti_frame_encode_header(&in, bytes);
    bytes[4] = 77;
    expect_error(sti_frame_decode_header(bytes, LIMIT, &out), STRADS_EIO,
                 "protocol 77");
    memcpy(bytes, "GET / HTTP", 10);
    expect_error(sti_frame_decode_header(bytes, LIMIT, &out), STRADS_EIO,
                 "47 45 54 20");
}

Test(wire_frame, a_checksum_does_not_depend_on_how_the_payload_is_cut)
{
    static unsigned char payload[5000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (unsigned char)(i * 31 + i / 256);
    const sti_part whole = {payload, sizeof payload};
    const uint64_t wanted = sti_frame_checksum(&whole, 1);
    for (size_t cut = 0; cut <= sizeof payload; cut += 617) {
        const sti_part parts[3] = {{payload, cut},
                                   {payload + cut, 0},
                                   {payload + cut, sizeof payload - cut}};
        cr_expect_eq(sti_frame_size(parts, 3), sizeof payload);
        cr_expect_eq(sti_frame_checksum(parts, 3), wanted);
    }
    cr_expect_eq(sti_frame_checksum(NULL, 0), 0);
}

Test(wire_frame, a_payload_is_aligned_and_every_flipped_bit_of_it_is_noticed)
{
    sti_frame *frame = NULL;
    sti_header header = some_header(203);
    cr_assert_eq(sti_frame_alloc(&header, &frame), STRADS_OK);
    cr_expect_eq((uintptr_t)frame->payload % STI_PAYLOAD_ALIGN, 0);
    memset(frame->payload, 0x5a, 203);
    const sti_part all = {frame->payload, 203};
    frame->header.checksum = sti_frame_checksum(&all, 1);
    cr_expect_eq(sti_frame_verify(frame), STRADS_OK);
    for (unsigned bit = 0; bit < 8 * 203; bit++) {
        frame->payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_expect_eq(sti_frame_verify(frame), STRADS_EIO);
        frame->payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t i = 203; i < 256; i++)
        cr_expect_eq(frame->payload[i], 0);
    sti_frame_free(frame);
}

Test(wire_frame, a_frame_beyond_all_memory_is_refused)
{
    sti_frame *frame = NULL;
    const sti_header header = some_header(UINT64_MAX - 10);
    cr_expect_eq(sti_frame_alloc(&header, &frame), STRADS_ENOMEM);
    cr_expect_null(frame);
}
