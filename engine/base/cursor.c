/* Writers own their buffer; readers own nothing. Invariants: a writer has size
 * <= capacity, and all bytes below size are written, gaps as zeros. A reader
 * has at <= size, and every pointer that it returns lies below size. */
#include "engine/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256, ARRAY_ALIGN = 8 };

static uint64_t gap_to_multiple(uint64_t at, uint64_t align)
{
    return (align - at % align) % align;
}

/* ---- writer ---- */

static strads_err writer_fail(sti_writer *w, uint64_t count)
{
    w->err =
        strads_fail(STRADS_ENOMEM,
                    "no memory to add %llu bytes to a message of %llu",
                    (unsigned long long)count, (unsigned long long)w->size);
    return w->err;
}

static strads_err grow_writer(sti_writer *w, uint64_t need)
{
    uint64_t capacity = w->capacity == 0 ? FIRST_CAPACITY : 2 * w->capacity;
    if (capacity < need)
        capacity = need;
    unsigned char *bytes = realloc(w->bytes, (size_t)capacity);
    if (bytes == NULL)
        return writer_fail(w, need - w->size);
    w->bytes = bytes;
    w->capacity = capacity;
    return STRADS_OK;
}

/* Returns space for `count` more bytes at a multiple of `align` and counts them
 * as written; NULL after an error. */
static unsigned char *append_space(sti_writer *w, uint64_t count,
                                   uint64_t align)
{
    uint64_t skip = gap_to_multiple(w->size, align);
    if (w->err != STRADS_OK)
        return NULL;
    if (count > SIZE_MAX / 4 || w->size > SIZE_MAX / 4) {
        (void)writer_fail(w, count);
        return NULL;
    }
    uint64_t end = w->size + skip + count;
    if (end > w->capacity && grow_writer(w, end) != STRADS_OK)
        return NULL;
    memset(w->bytes + w->size, 0, (size_t)skip);
    w->size = end;
    return w->bytes + end - count;
}

static void append_value(sti_writer *w, const void *value, uint64_t size)
{
    unsigned char *to = append_space(w, size, size);
    if (to != NULL)
        memcpy(to, value, (size_t)size);
}

void sti_write_u8(sti_writer *w, uint8_t value)
{
    append_value(w, &value, sizeof value);
}

void sti_write_u32(sti_writer *w, uint32_t value)
{
    append_value(w, &value, sizeof value);
}

void sti_write_u64(sti_writer *w, uint64_t value)
{
    append_value(w, &value, sizeof value);
}

void sti_write_f64(sti_writer *w, double value)
{
    append_value(w, &value, sizeof value);
}

void sti_writer_reserve(sti_writer *w, uint64_t count)
{
    if (!w->err && count < SIZE_MAX / 4 && w->size + count > w->capacity)
        (void)grow_writer(w, w->size + count);
}

void *sti_write_array(sti_writer *w, uint64_t count, uint64_t size)
{
    if (w->err == STRADS_OK && count > SIZE_MAX / 4 / size)
        (void)writer_fail(w, count);
    sti_write_u64(w, count);
    return append_space(w, count * size, ARRAY_ALIGN);
}

static void append_array(sti_writer *w, const void *values, uint64_t count,
                         uint64_t size)
{
    void *to = sti_write_array(w, count, size);
    if (to != NULL && count > 0)
        memcpy(to, values, (size_t)(count * size));
}

void sti_write_bytes(sti_writer *w, const void *bytes, uint64_t count)
{
    append_array(w, bytes, count, 1);
}

void sti_write_string(sti_writer *w, const char *text)
{
    append_array(w, text, text == NULL ? 0 : strlen(text), 1);
    sti_write_u8(w, 0);
}

void sti_write_u32s(sti_writer *w, const uint32_t *values, uint64_t count)
{
    append_array(w, values, count, sizeof *values);
}

void sti_write_u64s(sti_writer *w, const uint64_t *values, uint64_t count)
{
    append_array(w, values, count, sizeof *values);
}

void sti_write_f64s(sti_writer *w, const double *values, uint64_t count)
{
    append_array(w, values, count, sizeof *values);
}

void sti_writer_clear(sti_writer *w)
{
    w->size = 0;
    w->err = STRADS_OK;
}

void sti_writer_free(sti_writer *w)
{
    free(w->bytes);
    *w = (sti_writer){0};
}

/* ---- reader ---- */

void sti_reader_init(sti_reader *r, const void *bytes, uint64_t size)
{
    *r = (sti_reader){.bytes = bytes, .size = size};
}

/* The next `count` elements of `size` bytes, or NULL. No sum here can wrap: all
 * comparisons are against the bytes left. */
static const unsigned char *advance_reader(sti_reader *r, uint64_t count,
                                           uint64_t size, uint64_t align)
{
    uint64_t skip = gap_to_multiple(r->at, align);
    uint64_t left = r->size - r->at;
    if (r->err != STRADS_OK)
        return NULL;
    if (skip > left || count > (left - skip) / size) {
        r->err =
            strads_fail(STRADS_EPEER,
                        "a message of %llu bytes ends too early: %llu "
                        "items of %llu bytes were to follow at byte %llu",
                        (unsigned long long)r->size, (unsigned long long)count,
                        (unsigned long long)size, (unsigned long long)r->at);
        return NULL;
    }
    r->at += skip + count * size;
    return r->bytes + r->at - count * size;
}

static void read_value(sti_reader *r, void *value, uint64_t size)
{
    const unsigned char *from = advance_reader(r, 1, size, size);
    if (from != NULL)
        memcpy(value, from, (size_t)size);
}

uint8_t sti_read_u8(sti_reader *r)
{
    uint8_t value = 0;
    read_value(r, &value, sizeof value);
    return value;
}

uint32_t sti_read_u32(sti_reader *r)
{
    uint32_t value = 0;
    read_value(r, &value, sizeof value);
    return value;
}

uint64_t sti_read_u64(sti_reader *r)
{
    uint64_t value = 0;
    read_value(r, &value, sizeof value);
    return value;
}

double sti_read_f64(sti_reader *r)
{
    double value = 0;
    read_value(r, &value, sizeof value);
    return value;
}

static const void *read_array(sti_reader *r, uint64_t *count, uint64_t size)
{
    uint64_t n = sti_read_u64(r);
    const void *array = advance_reader(r, n, size, ARRAY_ALIGN);
    *count = array == NULL ? 0 : n;
    return array;
}

const void *sti_read_bytes(sti_reader *r, uint64_t *count)
{
    return read_array(r, count, 1);
}

const char *sti_read_string(sti_reader *r)
{
    uint64_t count = 0;
    const char *text = read_array(r, &count, 1);
    if (sti_read_u8(r) != 0 ||
        (text != NULL && memchr(text, 0, (size_t)count) != NULL))
        r->err = strads_fail(STRADS_EPEER,
                             "a string before byte %llu of a message is not "
                             "ended by its only NUL",
                             (unsigned long long)r->at);
    return r->err == STRADS_OK ? text : NULL;
}

const uint32_t *sti_read_u32s(sti_reader *r, uint64_t *count)
{
    return read_array(r, count, sizeof(uint32_t));
}

const uint64_t *sti_read_u64s(sti_reader *r, uint64_t *count)
{
    return read_array(r, count, sizeof(uint64_t));
}

const double *sti_read_f64s(sti_reader *r, uint64_t *count)
{
    return read_array(r, count, sizeof(double));
}

strads_err sti_reader_end(sti_reader *r, const char *what)
{
    if (r->err == STRADS_OK && r->at != r->size)
        r->err =
            strads_fail(STRADS_EPEER,
                        "%s has %llu bytes where %llu were expected", what,
                        (unsigned long long)r->size, (unsigned long long)r->at);
    return r->err;
}
