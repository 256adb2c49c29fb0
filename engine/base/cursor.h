/* engine/base/cursor.h - writing and reading the items of a payload.
 *
 * Every item is little-endian and starts at a multiple of its own size: u8
 * anywhere, u32 at 4, u64, i64 and f64 at 8. The gap is zero. An array or a
 * string is a u64 count and then its elements, starting at a multiple of 8. One
 * NUL follows a string's bytes; the count excludes it. A received frame's
 * payload is aligned, so its arrays are used in place.
 *
 * Both cursors keep their first error ("sticky"): encode or decode everything,
 * then check once. A cursor belongs to one thread; no call blocks. */
#ifndef STI_CURSOR_H
#define STI_CURSOR_H

#include <stdint.h>

#include "strads/error.h"

/* Bytes that are sent as part of one payload, in order. */
typedef struct sti_part {
    const void *bytes;
    uint64_t size;
} sti_part;

/* Appends to a growing, 8-byte aligned buffer. A zero-initialised writer is
 * empty and ready. After an error the buffer stays unchanged and further calls
 * do nothing. */
typedef struct sti_writer {
    unsigned char *bytes;
    uint64_t size;
    uint64_t capacity;
    strads_err err; /* STRADS_OK, or STRADS_ENOMEM with its sentence */
} sti_writer;

void sti_write_u8(sti_writer *w, uint8_t value);
void sti_write_u32(sti_writer *w, uint32_t value);
void sti_write_u64(sti_writer *w, uint64_t value);
void sti_write_f64(sti_writer *w, double value);
void sti_write_bytes(sti_writer *w, const void *bytes, uint64_t count);
void sti_write_string(sti_writer *w, const char *text); /* NULL is "" */
void sti_write_u32s(sti_writer *w, const uint32_t *values, uint64_t count);
void sti_write_u64s(sti_writer *w, const uint64_t *values, uint64_t count);
void sti_write_f64s(sti_writer *w, const double *values, uint64_t count);

/* Reserves space for `count` more bytes, so that later appends do not move the
 * buffer. */
void sti_writer_reserve(sti_writer *w, uint64_t count);

/* Appends an array that the caller fills in place: writes the count and returns
 * space for the elements of `size` bytes each, or NULL after an error. The
 * space is valid until the next call on the writer. */
void *sti_write_array(sti_writer *w, uint64_t count, uint64_t size);

/* Empties the writer and keeps its memory for the next payload. */
void sti_writer_clear(sti_writer *w);

/* Frees the buffer; the writer is then empty and ready. */
void sti_writer_free(sti_writer *w);

/* Reads from `size` bytes at `bytes`, which the caller owns. `bytes` must be
 * 8-byte aligned (a frame's payload is). A read past the end returns 0, or NULL
 * with count 0, and sets the error. */
typedef struct sti_reader {
    const unsigned char *bytes;
    uint64_t size;
    uint64_t at;
    strads_err err; /* STRADS_OK, or STRADS_EPEER with its sentence */
} sti_reader;

void sti_reader_init(sti_reader *r, const void *bytes, uint64_t size);

uint8_t sti_read_u8(sti_reader *r);
uint32_t sti_read_u32(sti_reader *r);
uint64_t sti_read_u64(sti_reader *r);
double sti_read_f64(sti_reader *r);

/* Arrays in place, valid as long as the bytes; *count is the number of
 * elements. NULL means an error; an empty array is not NULL. */
const void *sti_read_bytes(sti_reader *r, uint64_t *count);
const char *sti_read_string(sti_reader *r);
const uint32_t *sti_read_u32s(sti_reader *r, uint64_t *count);
const uint64_t *sti_read_u64s(sti_reader *r, uint64_t *count);
const double *sti_read_f64s(sti_reader *r, uint64_t *count);

/* Returns the first error, or STRADS_EPEER if bytes are left over. `what` names
 * the message in the sentence ("a HELLO"). */
strads_err sti_reader_end(sti_reader *r, const char *what);

#endif
