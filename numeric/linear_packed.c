/* A partition's piece: the number of columns with entries, their numbers and
 * counts, their values, and their rows; a multiple of 8 bytes. Columns without
 * entries are not listed: with a thousand partitions each has few of the
 * columns, and the coordinator receives the pieces of all. */
#include "linear_packed.h"

#include <stdlib.h>
#include <string.h>

#include "linear_room.h"

/* Entries of one column in one partition; `column` is an index in the block. */
typedef struct part {
    uint32_t column, count;
} part;

size_t linear_packed_bytes(uint64_t parts, uint64_t entries)
{
    return 8 + parts * sizeof(part) + (entries * 12 + 7) / 8 * 8;
}

void linear_packed_free(linear_packed *packed)
{
    free(packed->at);
    free(packed->count);
    free(packed->value);
    free(packed->index);
    *packed = (linear_packed){0};
}

/* ---- writing ------------------------------------------------------------- */

/* The part of the list's column k in the view. */
static data_column view_column(const column_list *list, const column_view *view,
                               uint32_t k)
{
    return column_view_of(view, column_list_at(list, k));
}

static uint64_t write_parts(const column_list *list, const column_view *view,
                            part *parts)
{
    uint64_t n = 0;

    for (uint32_t k = 0; k < list->n; k++) {
        const uint64_t count = view_column(list, view, k).n;
        if (count > 0)
            parts[n++] = (part){.column = k, .count = (uint32_t)count};
    }
    return n;
}

size_t linear_packed_write(const column_list *list, const column_view *view,
                           void *piece)
{
    uint64_t *n_parts = piece;
    part *parts = (part *)(void *)(n_parts + 1);
    const uint32_t first = (uint32_t)view->share->rows.begin;
    uint64_t entries = 0;

    *n_parts = write_parts(list, view, parts);
    double *value = (double *)(void *)(parts + *n_parts);
    for (uint64_t i = 0; i < *n_parts; i++) {
        const data_column x = view_column(list, view, parts[i].column);
        entries += x.n;
        if (x.f64)
            memcpy(value, x.f64, x.n * sizeof(*value));
        for (uint64_t e = 0; e < x.n && !x.f64; e++)
            value[e] = (double)x.f32[e];
        value += x.n;
    }
    uint32_t *row = (uint32_t *)(void *)value;
    for (uint64_t i = 0; i < *n_parts; i++) {
        const data_column x = view_column(list, view, parts[i].column);
        for (uint64_t e = 0; e < x.n; e++)
            *row++ = first + (x.index ? x.index[e] : (uint32_t)e);
    }
    return linear_packed_bytes(*n_parts, entries);
}

/* ---- reading ------------------------------------------------------------- */

typedef struct pieces {
    uint32_t n; /* columns */
    const void *bytes;
    size_t size;
} pieces;

typedef struct piece {
    uint64_t n;
    const part *parts;
    const double *value;
    const uint32_t *row;
    size_t bytes;
} piece;

static strads_err bad_piece(void)
{
    return strads_fail(STRADS_EPEER,
                       "the columns that a worker sent do not fit the data: a "
                       "node runs another version or is broken");
}

/* Reads the piece at byte `at`. */
static strads_err read_piece(const pieces *all, size_t at, piece *p)
{
    const char *bytes = (const char *)all->bytes + at;
    const size_t left = all->size - at;
    uint64_t entries = 0;

    if (left < sizeof(p->n))
        return bad_piece();
    memcpy(&p->n, bytes, sizeof(p->n));
    if (p->n > all->n || linear_packed_bytes(p->n, 0) > left)
        return bad_piece();
    p->parts = (const part *)(const void *)(bytes + sizeof(p->n));
    for (uint64_t i = 0; i < p->n; i++) {
        entries += p->parts[i].count;
        if (p->parts[i].column >= all->n || entries > left)
            return bad_piece();
    }
    p->bytes = linear_packed_bytes(p->n, entries);
    if (p->bytes > left)
        return bad_piece();
    p->value = (const double *)(const void *)(p->parts + p->n);
    p->row = (const uint32_t *)(const void *)(p->value + entries);
    return STRADS_OK;
}

static strads_err no_packed_memory(uint32_t columns, uint64_t entries)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for a working set of %u columns and %llu "
                       "entries",
                       columns, (unsigned long long)entries);
}

static strads_err reserve_packed(linear_packed *packed, uint32_t n,
                                 uint64_t entries)
{
    const uint32_t columns = n + n / 2 + 64;
    const uint64_t capacity = entries + entries / 2 + 64;

    if (n > packed->capacity) {
        if (!linear_widen(&packed->at, columns, sizeof(*packed->at)) ||
            !linear_widen(&packed->count, columns, sizeof(*packed->count)))
            return no_packed_memory(n, entries);
        packed->capacity = columns;
    }
    if (entries > packed->room_entries) {
        if (!linear_widen(&packed->value, capacity + LINEAR_PACKED_SLACK,
                          sizeof(double)) ||
            !linear_widen(&packed->index, capacity + LINEAR_PACKED_SLACK,
                          sizeof(uint32_t)))
            return no_packed_memory(n, entries);
        packed->room_entries = capacity;
    }
    return STRADS_OK;
}

/* Sets the starts of the new columns, from all pieces; no entries are stored
 * yet. */
static strads_err measure_pieces(linear_packed *packed, const pieces *all)
{
    const uint32_t n = all->n;
    uint64_t entries = packed->entries;
    piece p = {0};
    strads_err err = reserve_packed(packed, packed->n + n, entries);

    for (uint32_t k = 0; k < n && !err; k++)
        packed->count[packed->n + k] = 0;
    for (size_t at = 0; at < all->size && !err; at += p.bytes) {
        err = read_piece(all, at, &p);
        for (uint64_t i = 0; i < p.n && !err; i++)
            packed->count[packed->n + p.parts[i].column] += p.parts[i].count;
    }
    for (uint32_t k = 0; k < n && !err; k++) {
        packed->at[packed->n + k] = entries;
        entries += packed->count[packed->n + k];
        packed->count[packed->n + k] = 0; /* and counts the entries again
                                           * while filling */
    }
    if (!err)
        err = reserve_packed(packed, packed->n + n, entries);
    if (err)
        return err;
    linear_room_ready(packed->value, packed->entries, entries,
                      sizeof(*packed->value));
    linear_room_ready(packed->index, packed->entries, entries,
                      sizeof(*packed->index));
    return STRADS_OK;
}

static void fill(linear_packed *packed, const piece *p)
{
    const double *value = p->value;
    const uint32_t *row = p->row;

    for (uint64_t i = 0; i < p->n; i++) {
        const uint32_t k = packed->n + p->parts[i].column;
        const uint32_t count = p->parts[i].count;
        const uint64_t to = packed->at[k] + packed->count[k];
        memcpy(packed->value + to, value, count * sizeof(*value));
        memcpy(packed->index + to, row, count * sizeof(*row));
        value += count;
        row += count;
        packed->count[k] += count;
        packed->entries += count;
    }
}

/* Rows from a peer are checked once, because kernels do not check them. */
static bool has_valid_rows(const linear_packed *packed, uint32_t k)
{
    const uint64_t end = packed->at[k] + packed->count[k];

    for (uint64_t e = packed->at[k]; e < end; e++)
        if (packed->index[e] >= packed->rows ||
            (e > packed->at[k] && packed->index[e] <= packed->index[e - 1]))
            return false;
    return true;
}

strads_err linear_packed_take(linear_packed *packed, uint32_t n,
                              const void *from, size_t bytes)
{
    const pieces all = {.n = n, .bytes = from, .size = bytes};
    piece p = {0};
    strads_err err = measure_pieces(packed, &all);

    for (size_t at = 0; at < all.size && !err; at += p.bytes) {
        err = read_piece(&all, at, &p);
        if (!err)
            fill(packed, &p);
    }
    for (uint32_t k = 0; k < n && !err; k++)
        if (!has_valid_rows(packed, packed->n + k))
            err = bad_piece();
    packed->n += err ? 0 : n;
    return err;
}
