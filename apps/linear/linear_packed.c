/* A partition's piece: how many entries each column has there, their values,
 * and their rows; a multiple of 8 bytes. */
#include "linear_packed.h"

#include <stdlib.h>
#include <string.h>

#include "linear_room.h"

void linear_packed_free(linear_packed *packed)
{
    free(packed->at);
    free(packed->count);
    free(packed->value);
    free(packed->index);
    *packed = (linear_packed){0};
}

/* ---- a worker ---------------------------------------------------------- */

static size_t counts_bytes(uint32_t n)
{
    return ((size_t)n + 1) / 2 * 8;
}

static size_t piece_bytes(uint32_t n, uint64_t entries)
{
    return counts_bytes(n) + (entries * 12 + 7) / 8 * 8;
}

size_t linear_packed_bytes(const strads_task *task)
{
    const uint64_t entries = task->block.id & ((UINT64_C(1) << 40) - 1);

    return piece_bytes(task->block.n, entries);
}

strads_err linear_packed_write(strads_task *task, const strads_share *share)
{
    const uint32_t n = task->block.n;
    char *bytes = (char *)task->partial;
    uint32_t *count = (uint32_t *)(void *)bytes;
    double *value = (double *)(void *)(bytes + counts_bytes(n));
    const uint32_t first = (uint32_t)share->rows.begin;
    uint64_t entries = 0;

    for (uint32_t k = 0; k < n; k++) {
        const linear_column x =
            linear_column_of(share, strads_block_param(&task->block, k));
        count[k] = (uint32_t)x.n;
        entries += x.n;
        if (x.f64)
            memcpy(value, x.f64, x.n * sizeof(*value));
        for (uint64_t e = 0; e < x.n && !x.f64; e++)
            value[e] = (double)x.f32[e];
        value += x.n;
    }
    uint32_t *row = (uint32_t *)(void *)value;
    for (uint32_t k = 0; k < n; k++) {
        const linear_column x =
            linear_column_of(share, strads_block_param(&task->block, k));
        for (uint64_t e = 0; e < x.n; e++)
            *row++ = first + (x.index ? x.index[e] : (uint32_t)e);
    }
    task->partial_bytes = piece_bytes(n, entries);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

typedef struct piece {
    const uint32_t *count;
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

/* The piece that begins at byte `at`. */
static strads_err read_piece(const strads_commit *commit, size_t at, piece *p)
{
    const uint32_t n = commit->block.n;
    const char *bytes = (const char *)commit->partial + at;
    const size_t left = commit->partial_bytes - at;
    uint64_t entries = 0;

    if (left < counts_bytes(n))
        return bad_piece();
    p->count = (const uint32_t *)(const void *)bytes;
    for (uint32_t k = 0; k < n; k++)
        entries += p->count[k];
    p->value = (const double *)(const void *)(bytes + counts_bytes(n));
    p->row = (const uint32_t *)(const void *)(p->value + entries);
    p->bytes = piece_bytes(n, entries);
    return p->bytes > left ? bad_piece() : STRADS_OK;
}

/* Makes the array that *array points to one of n elements. */
static bool widen(void *array, uint64_t n, size_t size)
{
    void *at;

    memcpy(&at, array, sizeof(at));
    at = realloc(at, n * size);
    if (at)
        memcpy(array, &at, sizeof(at));
    return at != NULL;
}

static strads_err no_memory(uint32_t columns, uint64_t entries)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for a working set of %u columns and %llu "
                       "entries",
                       columns, (unsigned long long)entries);
}

static strads_err reserve(linear_packed *packed, uint32_t n, uint64_t entries)
{
    const uint32_t columns = n + n / 2 + 64;
    const uint64_t room = entries + entries / 2 + 64;

    if (n > packed->room) {
        if (!widen(&packed->at, columns, sizeof(*packed->at)) ||
            !widen(&packed->count, columns, sizeof(*packed->count)))
            return no_memory(n, entries);
        packed->room = columns;
    }
    if (entries > packed->room_entries) {
        if (!widen(&packed->value, room + LINEAR_PACKED_SLACK,
                   sizeof(double)) ||
            !widen(&packed->index, room + LINEAR_PACKED_SLACK,
                   sizeof(uint32_t)))
            return no_memory(n, entries);
        packed->room_entries = room;
    }
    return STRADS_OK;
}

/* Where the new columns begin, from all pieces; nothing is there yet. */
static strads_err measure(linear_packed *packed, const strads_commit *commit)
{
    const uint32_t n = commit->block.n;
    uint64_t entries = packed->entries;
    piece p = {0};
    strads_err err = reserve(packed, packed->n + n, entries);

    for (uint32_t k = 0; k < n && !err; k++)
        packed->count[packed->n + k] = 0;
    for (size_t at = 0; at < commit->partial_bytes && !err; at += p.bytes) {
        err = read_piece(commit, at, &p);
        for (uint32_t k = 0; k < n && !err; k++)
            packed->count[packed->n + k] += p.count[k];
    }
    for (uint32_t k = 0; k < n && !err; k++) {
        packed->at[packed->n + k] = entries;
        entries += packed->count[packed->n + k];
        packed->count[packed->n + k] = 0; /* and fill counts again */
    }
    if (!err)
        err = reserve(packed, packed->n + n, entries);
    if (err)
        return err;
    linear_room_ready(packed->value, packed->entries, entries,
                      sizeof(*packed->value));
    linear_room_ready(packed->index, packed->entries, entries,
                      sizeof(*packed->index));
    return STRADS_OK;
}

static void fill(linear_packed *packed, const piece *p, uint32_t n)
{
    const double *value = p->value;
    const uint32_t *row = p->row;

    for (uint32_t k = packed->n; k < packed->n + n; k++) {
        const uint32_t count = p->count[k - packed->n];
        const uint64_t to = packed->at[k] + packed->count[k];
        memcpy(packed->value + to, value, count * sizeof(*value));
        memcpy(packed->index + to, row, count * sizeof(*row));
        value += count;
        row += count;
        packed->count[k] += count;
        packed->entries += count;
    }
}

/* Rows that a peer sent are looked at once: kernels take them as they are. */
static bool has_valid_rows(const linear_packed *packed, uint32_t k)
{
    const uint64_t end = packed->at[k] + packed->count[k];

    for (uint64_t e = packed->at[k]; e < end; e++)
        if (packed->index[e] >= packed->rows ||
            (e > packed->at[k] && packed->index[e] <= packed->index[e - 1]))
            return false;
    return true;
}

strads_err linear_packed_take(linear_packed *packed,
                              const strads_commit *commit)
{
    const uint32_t n = commit->block.n;
    piece p = {0};
    strads_err err = measure(packed, commit);

    for (size_t at = 0; at < commit->partial_bytes && !err; at += p.bytes) {
        err = read_piece(commit, at, &p);
        if (!err)
            fill(packed, &p, n);
    }
    for (uint32_t k = 0; k < n && !err; k++)
        if (!has_valid_rows(packed, packed->n + k))
            err = bad_piece();
    packed->n += err ? 0 : n;
    return err;
}
