/* Reads a range of a pack's columns again and again in a fixed memory.
 *
 * The range is a range of chunks. A thread reads them in turn into a few slots,
 * and begins again after the last one, so that the first chunks of the next
 * pass are there when it starts. Loads are numbered 0, 1, 2, ... over all
 * passes: load s is of chunk first + s % chunks and uses slot s % SLOTS. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/data/memory.h"
#include "engine/data/pack_format.h"
#include "engine/data/scan.h"

enum { SLOTS = 3, NARROW_SLACK = 16 };

struct strads_pack_reader {
    const strads_pack *pack;
    int fd; /* past the page cache; -1: the pack's own */
    uint64_t first, chunks;

    sti_pack_space slot[SLOTS];
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members up to sentence */
    pthread_cond_t changed;
    uint64_t loaded, released; /* loads that are complete; slots given back */
    bool ends;
    strads_err err; /* of load `loaded` */
    char sentence[512];

    uint64_t pass_bytes, passed; /* of a pass; of them read */

    /* The current chunk. */
    bool holds;       /* there is one */
    uint64_t current; /* the load that it is of, or the next one */
    sti_pack_parts parts;
    double table[STI_PACK_DICTIONARY];
    float narrow_table[STI_PACK_DICTIONARY];
    float *narrow; /* [max_nnz + NARROW_SLACK] values that are no codes */
    double most;
    uint32_t column;  /* the next one of strads_pack_reader_column, */
    uint64_t gaps_at; /* and where its gaps begin */
};

/* ---- the thread that reads ahead ----------------------------------------- */

static uint64_t round_to_pages(uint64_t bytes)
{
    return (bytes + STI_PACK_ALIGN - 1) / STI_PACK_ALIGN * STI_PACK_ALIGN;
}

/* Reads a chunk past the page cache: whole pages, of which the last may be
 * beyond the end of the file. */
static strads_err read_direct(const strads_pack_reader *r,
                              const sti_pack_chunk *c, uint8_t *to)
{
    const uint64_t wanted = round_to_pages(c->bytes);
    for (uint64_t done = 0; done < c->bytes;) {
        const ssize_t got =
            pread(r->fd, to + done, wanted - done, (off_t)(c->offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EINVAL) /* a file system with other rules, or
                                         * a slot too small to be aligned */
            return sti_pack_read_bytes(r->pack, c->offset, c->bytes, to);
        if (got < 0)
            return strads_fail(STRADS_EIO, "%s: cannot be read: %s",
                               r->pack->path, strerror(errno));
        if (got == 0)
            return strads_fail(STRADS_EIO,
                               "%s: became shorter while it was read: read it "
                               "again when no process writes to it",
                               r->pack->path);
        done += (uint64_t)got;
    }
    return STRADS_OK;
}

static strads_err load_slot(const strads_pack_reader *r, uint64_t load)
{
    const sti_pack_chunk *c = &r->pack->chunk[r->first + load % r->chunks];
    uint8_t *to = r->slot[load % SLOTS].bytes;
    return r->fd >= 0 ? read_direct(r, c, to)
                      : sti_pack_read_bytes(r->pack, c->offset, c->bytes, to);
}

static void *read_ahead(void *context)
{
    strads_pack_reader *r = context;
    (void)pthread_mutex_lock(&r->lock);
    while (!r->ends && r->err == STRADS_OK) {
        if (r->loaded == r->released + SLOTS) {
            (void)pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        const uint64_t load = r->loaded;
        (void)pthread_mutex_unlock(&r->lock);
        const strads_err err = load_slot(r, load);
        (void)pthread_mutex_lock(&r->lock);
        r->err = err;
        if (err == STRADS_OK)
            r->loaded++;
        else
            (void)snprintf(r->sentence, sizeof r->sentence, "%s",
                           strads_error_text());
        (void)pthread_cond_broadcast(&r->changed);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- opening ------------------------------------------------------------- */

void strads_pack_cut(const strads_pack *p, uint32_t parts, uint64_t *bounds)
{
    uint64_t before = 0, k = 0;
    bounds[0] = 0;
    for (uint32_t part = 1; part < parts; part++) {
        const double goal = (double)p->nnz * part / parts;
        for (; k < p->chunks &&
               ((double)before + (double)p->chunk[k].nnz / 2 < goal ||
                (p->chunk[k].flags & STI_PACK_CONTINUES) != 0);
             k++)
            before += p->chunk[k].nnz;
        bounds[part] = k < p->chunks ? p->chunk[k].first_col : p->cols;
    }
    bounds[parts] = p->cols;
}

/* The first chunk that begins at this column. */
static uint64_t find_first_chunk(const strads_pack *p, uint64_t column)
{
    uint64_t low = 0, high = p->chunks;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->chunk[middle].first_col < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool starts_at(const strads_pack *p, uint64_t chunk, uint64_t column)
{
    return chunk < p->chunks
               ? p->chunk[chunk].first_col == column &&
                     (p->chunk[chunk].flags & STI_PACK_CONTINUES) == 0
               : column == p->cols;
}

static uint64_t slot_bytes(const strads_pack *p)
{
    return round_to_pages(p->max_bytes) + STI_PACK_SLACK;
}

uint64_t strads_pack_reader_bytes(const strads_pack *p)
{
    const uint64_t columns =
        p->max_cols * (sizeof(uint64_t) + sizeof(uint32_t));
    return sizeof(strads_pack_reader) + SLOTS * (slot_bytes(p) + columns) +
           (p->max_nnz + NARROW_SLACK) * sizeof(float);
}

static bool open_slots(strads_pack_reader *r)
{
    const strads_pack *p = r->pack;
    bool good = true;
    for (int k = 0; k < SLOTS; k++) {
        sti_pack_space *s = &r->slot[k];
        *s = (sti_pack_space){.bytes_size = slot_bytes(p),
                              .cols_size = p->max_cols};
        s->bytes = sti_big_alloc(s->bytes_size);
        s->start = sti_big_alloc((s->cols_size + 1) * sizeof *s->start);
        s->skips = sti_big_alloc(s->cols_size * sizeof *s->skips);
        good = good && s->bytes && s->start && s->skips;
    }
    r->narrow = sti_big_alloc((p->max_nnz + NARROW_SLACK) * sizeof *r->narrow);
    return good && r->narrow;
}

static void free_reader(strads_pack_reader *r)
{
    for (int k = 0; k < SLOTS; k++)
        sti_pack_space_close(&r->slot[k]);
    sti_big_free(r->narrow,
                 (r->pack->max_nnz + NARROW_SLACK) * sizeof *r->narrow);
    if (r->fd >= 0)
        (void)close(r->fd);
    free(r);
}

/* The pack's file, past the page cache; -1: the system or the file system
 * cannot do that, or another file has the name now. */
static int open_direct(const strads_pack *p)
{
#ifdef O_DIRECT
    struct stat now;
    const int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (fd >= 0 && fstat(fd, &now) == 0 && now.st_ino == p->seen.st_ino &&
        now.st_dev == p->seen.st_dev)
        return fd;
    if (fd >= 0)
        (void)close(fd);
#else
    (void)p;
#endif
    return -1;
}

strads_err strads_pack_reader_open(const strads_pack *p, uint64_t begin,
                                   uint64_t end, bool direct,
                                   strads_pack_reader **out)
{
    const uint64_t first = find_first_chunk(p, begin);
    const uint64_t last = find_first_chunk(p, end);
    if (begin > end || !starts_at(p, first, begin) || !starts_at(p, last, end))
        return strads_fail(STRADS_EINVAL,
                           "%s: columns %llu to %llu do not begin and end with "
                           "chunks: use the bounds of strads_pack_cut",
                           p->path, (unsigned long long)begin,
                           (unsigned long long)end);
    strads_pack_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to read it", p->path);
    r->pack = p;
    r->fd = direct ? open_direct(p) : -1;
    r->first = first;
    r->chunks = last - first;
    for (uint64_t k = first; k < last; k++)
        r->pass_bytes += p->chunk[k].bytes;
    r->passed = r->pass_bytes;
    if (!open_slots(r)) {
        free_reader(r);
        return strads_fail(STRADS_ENOMEM, "%s: no memory to read it", p->path);
    }
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->changed, NULL);
    if (r->chunks > 0 && pthread_create(&r->thread, NULL, read_ahead, r) != 0) {
        free_reader(r);
        return strads_fail(STRADS_ENOMEM, "%s: no thread to read it", p->path);
    }
    (void)atomic_fetch_add(&p->passes->total, r->pass_bytes);
    (void)atomic_fetch_add(&p->passes->done, r->pass_bytes);
    *out = r;
    return STRADS_OK;
}

void strads_pack_progress(const strads_pack *p, uint64_t *done, uint64_t *total)
{
    *done = atomic_load(&p->passes->done);
    *total = atomic_load(&p->passes->total);
}

void strads_pack_reader_close(strads_pack_reader *r)
{
    if (r == NULL)
        return;
    (void)pthread_mutex_lock(&r->lock);
    r->ends = true;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    if (r->chunks > 0)
        (void)pthread_join(r->thread, NULL);
    (void)atomic_fetch_sub(&r->pack->passes->total, r->pass_bytes);
    (void)atomic_fetch_sub(&r->pack->passes->done, r->passed);
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->lock);
    free_reader(r);
}

/* ---- the current chunk --------------------------------------------------- */

/* Counts bytes of the present pass; a pass begins at 0. */
static void count_bytes(strads_pack_reader *r, uint64_t passed)
{
    (void)atomic_fetch_add(&r->pack->passes->done, passed - r->passed);
    r->passed = passed;
}

static uint64_t chunk_number(const strads_pack_reader *r)
{
    return r->first + r->current % r->chunks;
}

static const sti_pack_space *current_space(const strads_pack_reader *r)
{
    return &r->slot[r->current % SLOTS];
}

/* The value of an entry that is stored as a number of its own. */
static double stored_value(const sti_pack_parts *parts, uint64_t e)
{
    if (parts->kind == STI_PACK_DOUBLE)
        return sti_get_f64(parts->values + 8 * e);
    if (parts->kind == STI_PACK_HALF) {
        uint16_t half;
        memcpy(&half, parts->values + 2 * e, sizeof half);
        return sti_half_value(le16toh(half));
    }
    const uint32_t bits = sti_get_u32(parts->values + 4 * e);
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

/* Reads the table of values, or all values. False: one is not finite, or has a
 * code without a value. */
static bool read_values(strads_pack_reader *r)
{
    const sti_pack_parts *parts = &r->parts;
    const uint64_t n = r->pack->chunk[chunk_number(r)].nnz;
    r->most = 0;
    for (uint32_t k = 0; k < STI_PACK_DICTIONARY; k++) {
        r->table[k] = k < parts->dictionary
                          ? sti_get_f64(parts->values + 8 * (size_t)k)
                          : 0;
        r->narrow_table[k] = (float)r->table[k];
        if (k < parts->dictionary)
            r->most = fmax(r->most, fabs(r->table[k]));
    }
    bool good = isfinite(r->most);
    if (parts->kind <= STI_PACK_BYTES) {
        for (uint32_t k = 0; k < parts->dictionary; k++)
            good = good && isfinite(r->table[k]);
        uint8_t most = 0;
        const uint8_t *code = parts->values + 8 * (size_t)parts->dictionary;
        for (uint64_t e = 0; parts->kind == STI_PACK_BYTES && e < n; e++)
            most = code[e] > most ? code[e] : most;
        return good && (n == 0 || most < parts->dictionary);
    }
    double sum = 0;
    for (uint64_t e = 0; e < n; e++) {
        const double x = stored_value(parts, e);
        r->narrow[e] = (float)x;
        r->most = fmax(r->most, fabs(x));
        sum += x - x; /* 0 unless x is infinite or NaN */
    }
    return sum == 0;
}

/* False: the gaps of all columns do not lie within their part. */
static bool gaps_fit(const strads_pack_reader *r)
{
    const sti_pack_space *s = current_space(r);
    const sti_pack_chunk *c = &r->pack->chunk[chunk_number(r)];
    uint64_t bytes = 0, skips = 0;
    for (uint32_t j = 0; j < c->cols; j++) {
        const uint64_t codes = s->start[j + 1] - s->start[j] + s->skips[j];
        bytes += (codes * r->parts.bits + 7) / 8;
        skips += s->skips[j];
    }
    return bytes <= (uint64_t)(r->parts.gaps_end - r->parts.gaps) &&
           (r->parts.bits > 0 || skips == 0);
}

strads_err strads_pack_reader_next(strads_pack_reader *r,
                                   strads_pack_chunk *out)
{
    *out = (strads_pack_chunk){0};
    (void)pthread_mutex_lock(&r->lock);
    const bool held = r->holds;
    if (held)
        count_bytes(r, r->passed + r->pack->chunk[chunk_number(r)].bytes);
    else if (r->chunks > 0 && r->current % r->chunks == 0)
        count_bytes(r, 0);
    if (held) {
        r->holds = false;
        r->released = ++r->current;
        (void)pthread_cond_broadcast(&r->changed);
    }
    if (r->chunks == 0 || (held && r->current % r->chunks == 0)) {
        (void)pthread_mutex_unlock(&r->lock);
        return STRADS_OK;
    }
    while (r->loaded == r->current && r->err == STRADS_OK)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    const bool failed = r->loaded == r->current;
    (void)pthread_mutex_unlock(&r->lock);
    if (failed)
        return strads_fail(r->err, "%s", r->sentence);

    const uint64_t k = chunk_number(r);
    sti_pack_space *s = &r->slot[r->current % SLOTS];
    const strads_err err = sti_pack_check(r->pack, k, s, &r->parts);
    if (err != STRADS_OK)
        return err;
    if (!gaps_fit(r))
        return sti_pack_refuse_chunk(r->pack, k, "has rows out of range");
    if (!read_values(r))
        return sti_pack_refuse_chunk(r->pack, k, "has values out of range");
    const sti_pack_chunk *c = &r->pack->chunk[k];
    r->holds = true;
    r->column = 0;
    r->gaps_at = 0;
    *out =
        (strads_pack_chunk){.first = c->first_col,
                            .cols = c->cols,
                            .continues = (c->flags & STI_PACK_CONTINUES) != 0,
                            .start = s->start,
                            .most = r->most};
    return STRADS_OK;
}

strads_err strads_pack_reader_dots(strads_pack_reader *r, const float *v,
                                   float *dot)
{
    const uint64_t k = chunk_number(r);
    const sti_pack_space *s = current_space(r);
    const sti_pack_parts *parts = &r->parts;
    if (r->pack->rows > INT32_MAX)
        return strads_fail(STRADS_ELIMIT,
                           "%s: has %llu rows; products are for at most "
                           "2,147,483,647",
                           r->pack->path, (unsigned long long)r->pack->rows);
    const sti_scan_chunk chunk = {.cols = r->pack->chunk[k].cols,
                                  .bits = parts->bits,
                                  .next_row = r->pack->chunk[k].next_row,
                                  .rows = (uint32_t)r->pack->rows,
                                  .gaps = parts->gaps,
                                  .start = s->start,
                                  .skips = s->skips,
                                  .values = parts->kind == STI_PACK_EQUAL
                                                ? STI_SCAN_EQUAL
                                            : parts->kind == STI_PACK_BYTES
                                                ? STI_SCAN_BYTES
                                                : STI_SCAN_FLOATS,
                                  .bytes = parts->values +
                                           8 * (size_t)parts->dictionary,
                                  .table = r->narrow_table,
                                  .narrow = r->narrow};
    return sti_scan_best()(&chunk, v, dot)
               ? STRADS_OK
               : sti_pack_refuse_chunk(r->pack, k, "has rows out of range");
}

strads_err strads_pack_reader_column(strads_pack_reader *r, uint32_t k,
                                     uint32_t *row, double *value)
{
    const sti_pack_space *s = current_space(r);
    const sti_pack_parts *parts = &r->parts;
    const uint64_t chunk = chunk_number(r);
    if (k < r->column) {
        r->column = 0;
        r->gaps_at = 0;
    }
    for (; r->column < k; r->column++) {
        const uint32_t j = r->column;
        const uint64_t codes = s->start[j + 1] - s->start[j] + s->skips[j];
        r->gaps_at += (codes * parts->bits + 7) / 8;
    }
    const uint64_t first = s->start[k], n = s->start[k + 1] - first;
    const sti_unpack_range range = {r->pack->chunk[chunk].next_row,
                                    r->pack->rows};
    /* The caller's arrays have room for a column of all rows. */
    if (n > r->pack->rows ||
        sti_unpack_codes(parts->gaps + r->gaps_at, n, s->skips[k], parts->bits,
                         range, row) == STI_UNPACK_BAD)
        return sti_pack_refuse_chunk(r->pack, chunk, "has rows out of range");
    const uint8_t *code = parts->values + 8 * (size_t)parts->dictionary;
    for (uint64_t e = 0; e < n; e++)
        value[e] = parts->kind == STI_PACK_EQUAL ? r->table[0]
                   : parts->kind == STI_PACK_BYTES
                       ? r->table[code[first + e]]
                       : stored_value(parts, first + e);
    return STRADS_OK;
}
