/* Items of a payload are read back as written, in place, and never beyond the
 * end. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/cursor.h"
#include "tests/expect.h"

static const double doubles[3] = {1.5, -0.0, 1e300};
static const uint32_t words[3] = {1, 2, UINT32_MAX};
static const uint64_t longs[2] = {3, UINT64_MAX};

static void write_all(sti_writer *w)
{
    sti_write_u8(w, 200);
    sti_write_u32(w, 70000);
    sti_write_u8(w, 1);
    sti_write_u64(w, UINT64_C(1) << 40);
    sti_write_f64(w, 0.1);
    sti_write_string(w, "sp\xc3\xa4t");
    sti_write_u32s(w, words, 3);
    sti_write_string(w, NULL);
    sti_write_f64s(w, doubles, 3);
    sti_write_bytes(w, "xyz", 3);
    sti_write_u64s(w, longs, 2);
    sti_write_f64s(w, NULL, 0);
}

/* Reads the items of write_all from arbitrary bytes; 1: all are as written. */
static int read_all(sti_reader *r)
{
    uint64_t n[5];
    int right = sti_read_u8(r) == 200;
    right &= sti_read_u32(r) == 70000;
    right &= sti_read_u8(r) == 1;
    right &= sti_read_u64(r) == UINT64_C(1) << 40;
    right &= sti_read_f64(r) == 0.1;
    const char *text = sti_read_string(r);
    const uint32_t *u32s = sti_read_u32s(r, &n[0]);
    const char *empty = sti_read_string(r);
    const double *f64s = sti_read_f64s(r, &n[1]);
    const void *bytes = sti_read_bytes(r, &n[2]);
    const uint64_t *u64s = sti_read_u64s(r, &n[3]);
    const double *none = sti_read_f64s(r, &n[4]);
    right &= text != NULL && strcmp(text, "sp\xc3\xa4t") == 0;
    right &= empty != NULL && *empty == 0;
    right &= n[0] == 3 && memcmp(u32s, words, sizeof words) == 0;
    right &= n[1] == 3 && memcmp(f64s, doubles, sizeof doubles) == 0;
    right &= n[2] == 3 && memcmp(bytes, "xyz", 3) == 0;
    right &= n[3] == 2 && memcmp(u64s, longs, sizeof longs) == 0;
    right &= n[4] == 0 && none != NULL;
    return right;
}

Test(wire_cursor, written_values_read_back)
{
    sti_writer w = {0};
    sti_reader r;
    write_all(&w);
    cr_assert_eq(w.err, STRADS_OK);
    sti_reader_init(&r, w.bytes, w.size);
    cr_expect(read_all(&r));
    cr_expect_eq(sti_reader_end(&r, "a message"), STRADS_OK);
    sti_writer_free(&w);
}

Test(wire_cursor, arrays_lie_aligned_so_that_they_are_used_in_place)
{
    sti_writer w = {0};
    sti_reader r;
    uint64_t n = 0;
    sti_write_u8(&w, 1);
    sti_write_f64s(&w, doubles, 3);
    sti_write_u8(&w, 1);
    sti_write_u32s(&w, words, 3);
    cr_expect_eq((uintptr_t)w.bytes % 8, 0);
    sti_reader_init(&r, w.bytes, w.size);
    (void)sti_read_u8(&r);
    cr_expect_eq((uintptr_t)sti_read_f64s(&r, &n) % 8, 0);
    (void)sti_read_u8(&r);
    cr_expect_eq((uintptr_t)sti_read_u32s(&r, &n) % 8, 0);
    sti_writer_free(&w);
}

Test(wire_cursor, every_truncated_message_is_refused_and_not_overread)
{
    sti_writer w = {0};
    write_all(&w);
    for (uint64_t size = 0; size < w.size; size++) {
        sti_reader r;
        /* Of exact size, so that a sanitizer detects a read beyond the end. */
        unsigned char *bytes = malloc(size > 0 ? (size_t)size : 1);
        cr_assert_not_null(bytes);
        memcpy(bytes, w.bytes, (size_t)size);
        sti_reader_init(&r, bytes, size);
        (void)read_all(&r);
        cr_expect_eq(sti_reader_end(&r, "a message"), STRADS_EPEER);
        free(bytes);
    }
    sti_writer_free(&w);
}

Test(wire_cursor, no_flipped_bit_makes_a_reader_leave_the_message)
{
    sti_writer w = {0};
    write_all(&w);
    unsigned char *bytes = malloc((size_t)w.size);
    cr_assert_not_null(bytes);
    memcpy(bytes, w.bytes, (size_t)w.size);
    for (uint64_t bit = 0; bit < 8 * w.size; bit++) {
        sti_reader r;
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        sti_reader_init(&r, bytes, w.size);
        (void)read_all(&r);
        cr_expect_leq(r.at, w.size);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(bytes);
    sti_writer_free(&w);
}

Test(wire_cursor, a_count_that_would_wrap_is_refused)
{
    static const uint64_t counts[] = {UINT64_MAX, UINT64_MAX / 8 + 1,
                                      UINT64_C(1) << 61, 3};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t message[3] = {counts[i], 0, 0}, n = 1;
        sti_reader r;
        sti_reader_init(&r, message, sizeof message);
        cr_expect_null(sti_read_f64s(&r, &n));
        cr_expect_eq(n, 0);
        cr_expect_eq(r.err, STRADS_EPEER);
    }
}

Test(wire_cursor, the_first_error_of_a_reader_stays)
{
    uint64_t message[2] = {7, 9}, n = 0;
    sti_reader r;
    sti_reader_init(&r, message, sizeof message);
    cr_expect_null(sti_read_u64s(&r, &n));
    cr_expect_eq(sti_read_u64(&r), 0);
    cr_expect_eq(sti_read_u8(&r), 0);
    cr_expect_eq(sti_reader_end(&r, "a message"), STRADS_EPEER);
}

Test(wire_cursor, bytes_left_over_are_an_error)
{
    uint64_t message[2] = {7, 9};
    sti_reader r;
    sti_reader_init(&r, message, sizeof message);
    (void)sti_read_u64(&r);
    expect_error(sti_reader_end(&r, "a probe"), STRADS_EPEER, "a probe");
}

Test(wire_cursor, a_string_with_a_nul_inside_or_without_one_behind_is_refused)
{
    uint64_t message[2] = {3, 0};
    sti_reader r;
    memcpy(&message[1], "a\0b", 4);
    sti_reader_init(&r, message, sizeof message);
    cr_expect_null(sti_read_string(&r));
    cr_expect_eq(r.err, STRADS_EPEER);
    memcpy(&message[1], "abcd", 4);
    sti_reader_init(&r, message, sizeof message);
    cr_expect_null(sti_read_string(&r));
    cr_expect_eq(r.err, STRADS_EPEER);
}

Test(wire_cursor, an_array_is_filled_in_place)
{
    sti_writer w = {0};
    sti_reader r;
    uint64_t n = 0;
    double *to = sti_write_array(&w, 1000, sizeof *to);
    cr_assert_not_null(to);
    for (int i = 0; i < 1000; i++)
        to[i] = i;
    sti_reader_init(&r, w.bytes, w.size);
    const double *from = sti_read_f64s(&r, &n);
    cr_assert_eq(n, 1000);
    cr_expect_eq(from[999], 999);
    sti_writer_free(&w);
}

Test(wire_cursor, a_cleared_writer_restarts_with_its_memory)
{
    sti_writer w = {0};
    sti_write_u64(&w, 1);
    const unsigned char *bytes = w.bytes;
    sti_writer_clear(&w);
    sti_write_u64(&w, 2);
    cr_expect_eq(w.bytes, bytes);
    cr_expect_eq(w.size, 8);
    sti_writer_free(&w);
    cr_expect_null(w.bytes);
}

Test(wire_cursor, an_array_beyond_all_memory_is_refused)
{
    sti_writer w = {0};
    cr_expect_null(sti_write_array(&w, UINT64_MAX / 2, 8));
    cr_expect_eq(w.err, STRADS_ENOMEM);
    sti_write_u8(&w, 1);
    cr_expect_eq(w.err, STRADS_ENOMEM);
    sti_writer_free(&w);
}
