/* A store's tables as bytes, and what is refused as such. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/store/store_image.h"
#include "strads/policy.h"
#include "toy_shard.h"

enum { LIMIT = 1 << 22 };

static strads_store *new_store(void)
{
    strads_store *store;
    cr_assert_eq(strads_store_open(LIMIT, &store), STRADS_OK);
    return store;
}

static uint32_t drawn(uint64_t k, uint32_t below)
{
    return (uint32_t)(strads_random_bits(21, 1, k, 0) % below);
}

/* A table of each type, dense and sparse, and empty ones; rows of up to 40
 * columns, so that some have a place index and some none. */
static strads_store *some_store(void)
{
    static const strads_scalar types[] = {STRADS_F32, STRADS_F64, STRADS_I32,
                                          STRADS_I64};
    strads_store *store = new_store();
    for (uint32_t t = 0; t < 12; t++) {
        char name[8];
        uint32_t number;
        (void)snprintf(name, sizeof name, "t%u", t);
        const strads_table_spec spec = {.name = name,
                                        .type = types[t % 4],
                                        .rows = t < 8 ? 9 : 0,
                                        .cols = 41,
                                        .sparse = t / 4 % 2 == 1,
                                        .staleness = t};
        cr_assert_eq(strads_store_create(store, &spec, &number), STRADS_OK);
    }
    for (uint64_t k = 0; k < 800; k++) {
        uint32_t col = drawn(2 * k, 41);
        uint32_t table = (uint32_t)(k % 8);
        double cell = types[table % 4] == STRADS_F64 && k == 1
                          ? (double)NAN
                          : drawn(3 * k, 9) / 7.0;
        cr_assert_eq(strads_store_inc_sparse(store, table, drawn(k, 8), 1, &col,
                                             &cell, NULL),
                     STRADS_OK);
    }
    return store;
}

static sti_buffer *image_of(const strads_store *store)
{
    keeping_sink sink = keeping_sink_new();
    cr_assert_eq(sti_store_image_write(store, &sink.sink), STRADS_OK);
    return sink.bytes;
}

static strads_err read_image(const sti_buffer *image, strads_store *store)
{
    size_t used = 0;
    strads_err err =
        sti_store_image_read(image->bytes, image->size, store, &used);
    cr_assert_leq(used, image->size);
    return err;
}

static void assert_same_table(const strads_store *a, const strads_store *b,
                              uint32_t table)
{
    const strads_table_spec *spec = strads_store_spec(a, table);
    const strads_table_spec *other = strads_store_spec(b, table);
    static double cells[2][41];
    cr_assert_str_eq(spec->name, other->name);
    cr_assert(spec->type == other->type && spec->rows == other->rows &&
              spec->cols == other->cols && spec->sparse == other->sparse &&
              spec->staleness == other->staleness);
    cr_assert_eq(strads_store_version(a, table),
                 strads_store_version(b, table));
    for (uint32_t r = 0; r < spec->rows; r++) {
        memset(cells, 0, sizeof cells);
        cr_assert_eq(strads_store_read(a, table, 1, &r, cells[0]), STRADS_OK);
        cr_assert_eq(strads_store_read(b, table, 1, &r, cells[1]), STRADS_OK);
        cr_assert_arr_eq(cells[0], cells[1], sizeof cells[0]);
    }
}

Test(store_image, a_store_that_is_read_from_one_is_the_same_bit_for_bit)
{
    strads_store *store = some_store(), *other = new_store();
    sti_buffer *image = image_of(store);
    size_t used = 0;
    cr_assert_eq(image->size % 8, 0);
    cr_assert_eq(sti_buffer_resize(image, image->size + 40), STRADS_OK);
    cr_assert_eq(sti_store_image_read(image->bytes, image->size, other, &used),
                 STRADS_OK, "%s", strads_error_text());
    cr_assert_eq(used, image->size - 40, "what follows an image is not its");
    cr_assert_eq(strads_store_bytes(store), strads_store_bytes(other));
    for (uint32_t t = 0; t < 12; t++)
        assert_same_table(store, other, t);
    cr_assert_null(strads_store_spec(other, 12));
    sti_buffer *again = image_of(other);
    cr_assert_eq(again->size, used);
    cr_assert_arr_eq(again->bytes, image->bytes, used);
    const uint32_t col = 40; /* rows that were read take columns as before */
    const double cell = 1;
    for (uint32_t t = 0; t < 8; t++) {
        for (int s = 0; s < 2; s++)
            cr_assert_eq(strads_store_inc_sparse(s ? store : other, t, 8, 1,
                                                 &col, &cell, NULL),
                         STRADS_OK);
        assert_same_table(store, other, t);
    }
    sti_object_drop(again);
    sti_object_drop(image);
    strads_store_free(store);
    strads_store_free(other);
}

Test(store_image, one_cut_short_anywhere_is_refused)
{
    strads_store *store = some_store();
    sti_buffer *image = image_of(store);
    for (size_t size = image->size; image->size-- > 0;) {
        strads_store *other = new_store();
        cr_assert_eq(read_image(image, other), STRADS_EFORMAT, "%zu of %zu",
                     image->size, size);
        strads_store_free(other);
        if (image->size == 0)
            break;
    }
    sti_object_drop(image);
    strads_store_free(store);
}

/* Without a checksum around it: a value more or less is a value. */
Test(store_image, a_broken_byte_never_leads_out_of_it_or_past_the_limit)
{
    strads_store *store = some_store();
    sti_buffer *image = image_of(store);
    uint32_t refused = 0;
    for (size_t at = 0; at < image->size; at++)
        for (unsigned flip = 1; flip < 256; flip = flip * 16 + 15) {
            strads_store *other = new_store();
            image->bytes[at] ^= (unsigned char)flip;
            refused += read_image(image, other) != STRADS_OK;
            image->bytes[at] ^= (unsigned char)flip;
            cr_assert_leq(strads_store_bytes(other), LIMIT);
            strads_store_free(other);
        }
    cr_assert_gt(refused, 500);
    sti_object_drop(image);
    strads_store_free(store);
}

Test(store_image, a_store_without_room_says_so_before_it_takes_memory)
{
    strads_store *store = some_store(), *small;
    sti_buffer *image = image_of(store);
    cr_assert_eq(strads_store_open(1000, &small), STRADS_OK);
    cr_assert_eq(read_image(image, small), STRADS_ENOMEM);
    cr_assert_leq(strads_store_bytes(small), 1000);
    strads_store_free(small);
    sti_object_drop(image);
    strads_store_free(store);
}

Test(store_image, only_an_empty_store_is_filled_and_only_by_this_version)
{
    strads_store *store = some_store();
    sti_buffer *image = image_of(store);
    cr_assert_eq(read_image(image, store), STRADS_ESTATE);
    strads_store *other = new_store();
    image->bytes[8]++;
    cr_assert_eq(read_image(image, other), STRADS_EMISMATCH);
    image->bytes[8]--;
    cr_assert_eq(read_image(image, other), STRADS_OK);
    strads_store_free(other);
    sti_object_drop(image);
    strads_store_free(store);
}

static strads_err refuse_the_third(sti_sink *sink, const void *bytes,
                                   size_t size)
{
    keeping_sink *s = (keeping_sink *)sink;
    (void)bytes;
    (void)size;
    return ++s->bytes->size == 3 ? strads_fail(STRADS_EIO, "full") : STRADS_OK;
}

Test(store_image, what_the_sink_says_ends_the_writing)
{
    strads_store *store = some_store();
    keeping_sink sink = keeping_sink_new();
    sink.sink.put = refuse_the_third;
    cr_assert_eq(sti_store_image_write(store, &sink.sink), STRADS_EIO);
    cr_assert_eq(sink.bytes->size, 3);
    sti_object_drop(sink.bytes);
    strads_store_free(store);
}
