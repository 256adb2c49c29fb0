/* Reads packs: header, index, sections, chunks. Files are untrusted, and other
 * processes may write to them: bytes are copied out of the file by pread and
 * checked against their hash, then every count, offset, row and value is
 * checked before it is used. So a file that shrinks while it is read is an
 * error, not a signal, as it would be under mmap. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/sized.h"
#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/pack_format.h"

static strads_err refuse_pack(const char *path, const char *why)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: %s: take another copy of the pack, or pack the "
                       "data again",
                       path, why);
}

strads_err sti_pack_refuse_chunk(const strads_pack *p, uint64_t k,
                                 const char *why)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: chunk %llu of %llu (at byte %llu) %s: take another "
                       "copy of the pack, or pack the data again",
                       p->path, (unsigned long long)k,
                       (unsigned long long)p->chunks,
                       (unsigned long long)p->chunk[k].offset, why);
}

static strads_err lack_memory(const char *path)
{
    return strads_fail(STRADS_ENOMEM, "%s: no memory to read the pack", path);
}

bool strads_pack_is(const char *path)
{
    char magic[8] = {0};
    struct stat info;
    if (path == NULL || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, magic, sizeof magic) : 0;
    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)sizeof magic &&
           memcmp(magic, STI_PACK_MAGIC, sizeof magic) == 0;
}

strads_err sti_pack_unchanged(const strads_pack *p)
{
    struct stat now;
    if (fstat(p->fd, &now) == 0 && now.st_size == p->seen.st_size &&
        now.st_mtim.tv_sec == p->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == p->seen.st_mtim.tv_nsec)
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "%s: was written to while it was read: read it again "
                       "when no process writes to it",
                       p->path);
}

strads_err sti_pack_read_bytes(const strads_pack *p, uint64_t offset,
                               uint64_t n, uint8_t *to)
{
    while (n > 0) {
        const ssize_t got = pread(p->fd, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strads_fail(STRADS_EIO, "%s: cannot be read: %s", p->path,
                               strerror(errno));
        if (got == 0)
            return strads_fail(STRADS_EIO,
                               "%s: became shorter while it was read: read it "
                               "again when no process writes to it",
                               p->path);
        to += got;
        offset += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return STRADS_OK;
}

/* True if [offset, offset + bytes) is in the file, behind its header. */
static bool is_inside(const strads_pack *p, uint64_t offset, uint64_t bytes)
{
    return offset >= STI_PACK_HEADER && offset <= p->file_bytes &&
           bytes <= p->file_bytes - offset;
}

/* ---- header and index ---------------------------------------------------- */

typedef struct header_places {
    uint64_t index_at, index_hash;
    uint32_t sections;
} header_places;

static strads_err read_pack_header(strads_pack *p, header_places *at)
{
    uint8_t h[STI_PACK_HEADER];
    const uint64_t size = (uint64_t)p->seen.st_size;
    if (size < sizeof h)
        return refuse_pack(p->path, "is cut short within its header");
    strads_err err = sti_pack_read_bytes(p, 0, sizeof h, h);
    if (err != STRADS_OK)
        return err;
    if (memcmp(h, STI_PACK_MAGIC, 8) != 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is no pack: `strads data pack` makes one",
                           p->path);
    if (sti_get_u32(h + 8) != STI_PACK_VERSION)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: is a pack of version %u, this release reads "
                           "version %d: read it with the release that wrote "
                           "it, or pack the data again",
                           p->path, sti_get_u32(h + 8), STI_PACK_VERSION);
    if (XXH3_64bits(h, 120) != sti_get_u64(h + 120) ||
        sti_get_u32(h + 12) != STI_PACK_HEADER)
        return refuse_pack(p->path, "its header is damaged");
    p->rows = sti_get_u64(h + 16);
    p->cols = sti_get_u64(h + 24);
    p->nnz = sti_get_u64(h + 32);
    p->chunks = sti_get_u64(h + 40);
    p->file_bytes = sti_get_u64(h + 56);
    p->entry_sum = sti_get_u64(h + 72);
    p->values = (strads_pack_values)h[84];
    *at = (header_places){.index_at = sti_get_u64(h + 48),
                          .index_hash = sti_get_u64(h + 64),
                          .sections = sti_get_u32(h + 80)};
    if (size < p->file_bytes)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is cut short: has %llu of %llu bytes; copy it "
                           "again",
                           p->path, (unsigned long long)size,
                           (unsigned long long)p->file_bytes);
    if (size > p->file_bytes)
        return refuse_pack(p->path, "has bytes behind its end");
    if (p->rows > STI_MOST_LINES || p->cols > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT,
                           "%s: %llu rows by %llu columns, at most %llu fit",
                           p->path, (unsigned long long)p->rows,
                           (unsigned long long)p->cols,
                           (unsigned long long)STI_MOST_LINES);
    if (p->rows == 0 || h[84] > STRADS_PACK_F32)
        return refuse_pack(p->path, "its header is damaged");
    return STRADS_OK;
}

/* Checks that chunk k follows the one before. */
static bool follows(const strads_pack *p, uint64_t k)
{
    const sti_pack_chunk *c = &p->chunk[k];
    const sti_pack_chunk *before = k > 0 ? c - 1 : NULL;
    const uint64_t end = before ? before->first_col + before->cols : 0;
    const bool continues = c->flags == STI_PACK_CONTINUES;
    return (c->flags == 0 || continues) && c->cols > 0 &&
           c->cols <= STI_PACK_COLUMNS_MAX && c->offset % STI_PACK_ALIGN == 0 &&
           is_inside(p, c->offset, c->bytes) &&
           c->bytes >= STI_PACK_CHUNK_HEADER + STI_PACK_SLACK &&
           c->bytes <= STI_PACK_CHUNK_MAX &&
           /* An entry of columns without gaps may take no bit, but then its
            * column is full. */
           c->nnz <= (uint64_t)c->cols * p->rows &&
           c->nnz <= STI_PACK_ENTRIES_MAX &&
           c->first_col == (continues ? end - 1 : end) &&
           (!continues || (end > 0 && c->cols == 1)) &&
           (continues ? c->next_row < p->rows : c->next_row == 0) &&
           c->first_col + c->cols <= p->cols;
}

static strads_err read_chunk_rows(strads_pack *p, const uint8_t *index)
{
    uint64_t nnz = 0;
    p->chunk = calloc(p->chunks + 1, sizeof *p->chunk);
    if (p->chunk == NULL)
        return lack_memory(p->path);
    for (uint64_t k = 0; k < p->chunks; k++, index += STI_PACK_INDEX_ROW) {
        sti_pack_chunk *c = &p->chunk[k];
        *c = (sti_pack_chunk){.offset = sti_get_u64(index),
                              .bytes = sti_get_u64(index + 8),
                              .first_col = sti_get_u64(index + 16),
                              .nnz = sti_get_u64(index + 24),
                              .next_row = sti_get_u64(index + 32),
                              .hash = sti_get_u64(index + 40),
                              .cols = sti_get_u32(index + 48),
                              .flags = sti_get_u32(index + 52)};
        if (!follows(p, k))
            return sti_pack_refuse_chunk(p, k,
                                         "does not follow the chunk before");
        nnz += c->nnz;
        p->max_cols = c->cols > p->max_cols ? c->cols : p->max_cols;
        p->max_nnz = c->nnz > p->max_nnz ? c->nnz : p->max_nnz;
        p->max_bytes = c->bytes > p->max_bytes ? c->bytes : p->max_bytes;
    }
    const sti_pack_chunk *last =
        p->chunks > 0 ? &p->chunk[p->chunks - 1] : NULL;
    if (nnz != p->nnz || p->cols != (last ? last->first_col + last->cols : 0))
        return refuse_pack(p->path, "its index does not fit its header");
    return STRADS_OK;
}

static strads_err read_section_rows(strads_pack *p, const uint8_t *index,
                                    uint32_t sections)
{
    for (uint32_t k = 0; k < sections; k++, index += STI_PACK_SECTION_ROW) {
        const uint32_t kind = sti_get_u32(index);
        const sti_pack_section s = {.offset = sti_get_u64(index + 8),
                                    .bytes = sti_get_u64(index + 16),
                                    .hash = sti_get_u64(index + 24)};
        if (kind == 0 || kind >= STI_PACK_SECTIONS ||
            p->section[kind].offset != 0 || !is_inside(p, s.offset, s.bytes))
            return refuse_pack(p->path, "its list of sections is damaged");
        p->section[kind] = s;
    }
    if (p->section[STI_PACK_ROW_COUNTS].offset == 0)
        return refuse_pack(p->path, "its list of sections is damaged");
    return STRADS_OK;
}

static strads_err read_index(strads_pack *p, const header_places *at)
{
    uint64_t chunk_bytes, bytes;
    if (__builtin_mul_overflow(p->chunks, (uint64_t)STI_PACK_INDEX_ROW,
                               &chunk_bytes) ||
        at->sections >= STI_PACK_SECTIONS ||
        __builtin_add_overflow(chunk_bytes,
                               (uint64_t)at->sections * STI_PACK_SECTION_ROW,
                               &bytes) ||
        !is_inside(p, at->index_at, bytes))
        return refuse_pack(p->path, "its header is damaged");
    uint8_t *index = malloc(bytes + 1);
    if (index == NULL)
        return lack_memory(p->path);
    strads_err err = sti_pack_read_bytes(p, at->index_at, bytes, index);
    if (err == STRADS_OK && XXH3_64bits(index, bytes) != at->index_hash)
        err = refuse_pack(p->path, "its index is damaged");
    if (err == STRADS_OK)
        err = read_chunk_rows(p, index);
    if (err == STRADS_OK)
        err = read_section_rows(p, index + chunk_bytes, at->sections);
    free(index);
    return err;
}

/* ---- sections ------------------------------------------------------------ */

static const char *name_section(sti_pack_section_kind kind)
{
    static const char *const names[] = {
        "",        "labels",     "names of labels", "names of columns",
        "weights", "row counts", "means of columns"};
    return names[kind];
}

static strads_err refuse_section(const strads_pack *p,
                                 sti_pack_section_kind kind)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: its section of %s is damaged: take another copy of "
                       "the pack, or pack the data again",
                       p->path, name_section(kind));
}

strads_err sti_pack_section_read(const strads_pack *p,
                                 sti_pack_section_kind kind, uint8_t **out,
                                 uint64_t *bytes)
{
    const sti_pack_section *s = &p->section[kind];
    *out = NULL;
    *bytes = s->bytes;
    if (s->offset == 0)
        return STRADS_OK;
    uint8_t *all = sti_big_alloc(s->bytes);
    if (all == NULL)
        return lack_memory(p->path);
    strads_err err = sti_pack_read_bytes(p, s->offset, s->bytes, all);
    if (err == STRADS_OK && XXH3_64bits(all, s->bytes) != s->hash)
        err = refuse_section(p, kind);
    if (err == STRADS_OK)
        *out = all;
    else
        sti_big_free(all, s->bytes);
    return err;
}

/* Reads a section of n numbers; *out is NULL if the pack lacks it. */
static strads_err read_f64(const strads_pack *p, sti_pack_section_kind kind,
                           uint64_t n, double **out)
{
    uint8_t *all;
    uint64_t bytes;
    bool good = p->section[kind].offset == 0 || p->section[kind].bytes == 8 * n;
    if (!good)
        return refuse_section(p, kind);
    const strads_err err = sti_pack_section_read(p, kind, &all, &bytes);
    if (err != STRADS_OK || all == NULL)
        return err;
    double *value = (double *)(void *)all;
    for (uint64_t k = 0; k < n; k++) {
        value[k] = sti_get_f64(all + 8 * k);
        good = good && isfinite(value[k]) &&
               (kind != STI_PACK_WEIGHTS || value[k] >= 0);
    }
    if (!good) {
        sti_big_free(all, bytes);
        return refuse_section(p, kind);
    }
    *out = value;
    return STRADS_OK;
}

static strads_err read_names(const strads_pack *p, sti_pack_section_kind kind,
                             uint64_t most, strads_names **out)
{
    uint8_t *all;
    uint64_t bytes;
    strads_names *names = NULL;
    strads_err err = sti_pack_section_read(p, kind, &all, &bytes);
    if (err != STRADS_OK || all == NULL)
        return err;
    err = strads_names_new(&names);
    for (uint64_t at = 0; at < bytes && err == STRADS_OK;) {
        const uint8_t *end = memchr(all + at, 0, bytes - at);
        const uint32_t n = strads_names_count(names);
        uint32_t number = 0;
        if (end != NULL && n < most)
            err = strads_names_add(names, (const char *)all + at,
                                   (size_t)(end - all) - at, &number);
        if (err == STRADS_OK && (end == NULL || n >= most || number != n))
            err = refuse_section(p, kind);
        at = end != NULL ? (uint64_t)(end - all) + 1 : bytes;
    }
    sti_big_free(all, bytes);
    if (err == STRADS_OK)
        *out = names;
    else
        strads_names_free(names);
    return err;
}

/* With names, a label is the number of one. */
static bool labels_fit(const strads_pack *p)
{
    const uint32_t n =
        p->label_names != NULL ? strads_names_count(p->label_names) : 0;
    if (n == 0)
        return p->label_names == NULL;
    for (uint64_t i = 0; p->label != NULL && i < p->rows; i++)
        if (p->label[i] < 0 || p->label[i] >= n ||
            p->label[i] != floor(p->label[i]))
            return false;
    return p->label != NULL;
}

static strads_err read_sections(strads_pack *p)
{
    strads_err err = read_f64(p, STI_PACK_LABELS, p->rows, &p->label);
    if (err == STRADS_OK)
        err = read_f64(p, STI_PACK_WEIGHTS, p->rows, &p->weight);
    if (err == STRADS_OK)
        err = read_f64(p, STI_PACK_COLUMN_MEANS, p->cols, &p->col_means);
    if (err == STRADS_OK)
        err = read_names(p, STI_PACK_LABEL_NAMES, STRADS_LABEL_NAMES_MAX,
                         &p->label_names);
    if (err == STRADS_OK)
        err = read_names(p, STI_PACK_COLUMN_NAMES, p->cols, &p->col_names);
    if (err == STRADS_OK && !labels_fit(p))
        err = refuse_section(p, STI_PACK_LABEL_NAMES);
    if (err == STRADS_OK && p->col_names != NULL &&
        strads_names_count(p->col_names) != p->cols)
        err = refuse_section(p, STI_PACK_COLUMN_NAMES);
    return err;
}

/* ---- open and close ------------------------------------------------------ */

static strads_err open_pack_file(strads_pack *p, const char *path)
{
    p->path = strdup(path);
    if (p->path == NULL)
        return lack_memory(path);
    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0 || fstat(p->fd, &p->seen) != 0)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (!S_ISREG(p->seen.st_mode))
        return strads_fail(STRADS_EIO,
                           "%s: is no plain file: a pack is read from a file, "
                           "not through a pipe",
                           path);
    return STRADS_OK;
}

strads_err strads_pack_open(const char *path, strads_pack **out)
{
    header_places at = {0};
    if (path == NULL || out == NULL)
        return strads_fail(STRADS_EINVAL, "no pack was named");
    strads_pack *p = calloc(1, sizeof *p);
    if (p == NULL)
        return lack_memory(path);
    p->fd = -1;
    p->passes = calloc(1, sizeof *p->passes);
    strads_err err = p->passes ? open_pack_file(p, path) : lack_memory(path);
    if (err == STRADS_OK)
        err = read_pack_header(p, &at);
    if (err == STRADS_OK)
        err = read_index(p, &at);
    if (err == STRADS_OK)
        err = read_sections(p);
    if (err == STRADS_OK)
        *out = p;
    else
        strads_pack_free(p);
    return err;
}

void strads_pack_free(strads_pack *p)
{
    if (p == NULL)
        return;
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->label != NULL)
        sti_big_free(p->label, p->rows * sizeof *p->label);
    if (p->weight != NULL)
        sti_big_free(p->weight, p->rows * sizeof *p->weight);
    if (p->col_means != NULL)
        sti_big_free(p->col_means, p->cols * sizeof *p->col_means);
    strads_names_free(p->label_names);
    strads_names_free(p->col_names);
    free(p->passes);
    free(p->chunk);
    free(p->path);
    free(p);
}

/* ---- chunks -------------------------------------------------------------- */

strads_err sti_pack_space_open(const strads_pack *p, sti_pack_space *s)
{
    *s = (sti_pack_space){.bytes_size = p->max_bytes + STI_PACK_SLACK,
                          .nnz_size = p->max_nnz,
                          .cols_size = p->max_cols};
    s->bytes = sti_big_alloc(s->bytes_size);
    s->row = sti_big_alloc(s->nnz_size * sizeof *s->row);
    s->value = sti_big_alloc(s->nnz_size * sizeof *s->value);
    s->start = sti_big_alloc((s->cols_size + 1) * sizeof *s->start);
    s->skips = sti_big_alloc(s->cols_size * sizeof *s->skips);
    if (s->bytes != NULL && s->row != NULL && s->value != NULL &&
        s->start != NULL && s->skips != NULL)
        return STRADS_OK;
    sti_pack_space_close(s);
    return lack_memory(p->path);
}

void sti_pack_space_close(sti_pack_space *s)
{
    sti_big_free(s->bytes, s->bytes_size);
    sti_big_free(s->row, s->nnz_size * sizeof *s->row);
    sti_big_free(s->value, s->nnz_size * sizeof *s->value);
    sti_big_free(s->start, (s->cols_size + 1) * sizeof *s->start);
    sti_big_free(s->skips, s->cols_size * sizeof *s->skips);
    *s = (sti_pack_space){0};
}

/* Reads a number of LEB128; NULL: it is cut short or has more than 32 bits. */
static const uint8_t *get_leb(const uint8_t *at, const uint8_t *end,
                              uint32_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (at == end)
            return NULL;
        value |= (uint64_t)(*at & 127) << shift;
        if ((*at++ & 128) == 0) {
            *out = (uint32_t)value;
            return value <= UINT32_MAX ? at : NULL;
        }
    }
    return NULL;
}

/* Fills start and skips; false: they contradict the chunk's header. */
static bool take_column_counts(const sti_pack_chunk *c, const uint8_t *at,
                               const uint8_t *end, uint64_t all_skips,
                               sti_pack_space *s)
{
    uint64_t skips = 0;
    s->start[0] = 0;
    for (uint32_t j = 0; j < c->cols && at != NULL; j++) {
        uint32_t n = 0;
        at = get_leb(at, end, &n);
        s->start[j + 1] = s->start[j] + n;
        s->skips[j] = 0;
    }
    for (uint32_t j = 0; j < c->cols && at != NULL && all_skips > 0; j++) {
        at = get_leb(at, end, &s->skips[j]);
        skips += s->skips[j];
    }
    return at != NULL && s->start[c->cols] == c->nnz && skips == all_skips;
}

/* Finds the parts of a chunk; false: they lie outside it. */
static bool find_parts(const sti_pack_chunk *c, const uint8_t *b,
                       sti_pack_parts *out)
{
    static const uint64_t width[] = {0, 1, 2, 4, 8};
    const uint64_t counts_at = sti_get_u32(b + 12);
    const uint64_t values_at = sti_get_u32(b + 16);
    const uint64_t moments_at = sti_get_u32(b + 20);
    *out = (sti_pack_parts){.bits = b[8],
                            .kind = (sti_pack_kind)b[9],
                            .dictionary = b[10] | (uint32_t)b[11] << 8,
                            .gaps = b + STI_PACK_CHUNK_HEADER,
                            .gaps_end = b + counts_at - STI_PACK_SLACK,
                            .values = b + values_at,
                            .moments = moments_at ? b + moments_at : NULL};
    if (out->bits > STI_UNPACK_BITS_MAX || b[9] > STI_PACK_DOUBLE ||
        counts_at < STI_PACK_CHUNK_HEADER + STI_PACK_SLACK ||
        values_at < counts_at || values_at > c->bytes ||
        (moments_at == 0) != (out->kind == STI_PACK_EQUAL))
        return false;
    const uint64_t most = out->kind == STI_PACK_EQUAL   ? 1
                          : out->kind == STI_PACK_BYTES ? STI_PACK_DICTIONARY
                                                        : 0;
    const uint64_t least = most > 0 && c->nnz > 0;
    const uint64_t values_end =
        values_at + 8 * (uint64_t)out->dictionary + c->nnz * width[out->kind];
    return out->dictionary >= least && out->dictionary <= most &&
           values_end <= (moments_at ? moments_at : c->bytes) &&
           (moments_at == 0 || moments_at + 16 * (uint64_t)c->cols <= c->bytes);
}

strads_err sti_pack_load(const strads_pack *p, uint64_t k, sti_pack_space *s,
                         sti_pack_parts *parts)
{
    const sti_pack_chunk *c = &p->chunk[k];
    const strads_err err =
        sti_pack_read_bytes(p, c->offset, c->bytes, s->bytes);
    return err == STRADS_OK ? sti_pack_check(p, k, s, parts) : err;
}

strads_err sti_pack_check(const strads_pack *p, uint64_t k, sti_pack_space *s,
                          sti_pack_parts *parts)
{
    const sti_pack_chunk *c = &p->chunk[k];
    const uint8_t *b = s->bytes;
    memset(s->bytes + c->bytes, 0, STI_PACK_SLACK);
    if (XXH3_64bits(b, c->bytes) != c->hash) {
        const strads_err err = sti_pack_unchanged(p);
        return err != STRADS_OK ? err
                                : sti_pack_refuse_chunk(p, k, "is damaged");
    }
    const uint64_t counts_at = sti_get_u32(b + 12);
    if (sti_get_u32(b) != c->cols || sti_get_u32(b + 4) != c->flags ||
        sti_get_u64(b + 24) != c->first_col || sti_get_u64(b + 32) != c->nnz ||
        sti_get_u64(b + 48) != c->next_row || !find_parts(c, b, parts) ||
        !take_column_counts(c, b + counts_at, parts->values,
                            sti_get_u64(b + 40), s))
        return sti_pack_refuse_chunk(p, k, "contradicts itself");
    return STRADS_OK;
}

uint64_t sti_unpack_codes(const uint8_t *codes, uint64_t n, uint64_t skips,
                          unsigned bits, sti_unpack_range range, uint32_t *row)
{
    if (skips == 0)
        return sti_unpack_best()(codes, n, bits, range, row);
    const uint32_t skip = (UINT32_C(1) << bits) - 1;
    uint64_t next = range.next, found = 0;
    for (uint64_t k = 0, bit = 0; k < n + skips; k++, bit += bits) {
        const uint32_t window = sti_get_u32(codes + (bit >> 3));
        const uint32_t code = (window >> (bit & 7)) & skip;
        next += code;
        if (code == skip)
            continue;
        if (found == n)
            return STI_UNPACK_BAD;
        row[found++] = (uint32_t)next++;
    }
    return found == n && next <= range.rows ? next : STI_UNPACK_BAD;
}

static bool decode_rows(const strads_pack *p, const sti_pack_chunk *c,
                        sti_pack_space *s, const sti_pack_parts *parts)
{
    const uint8_t *at = parts->gaps;
    const sti_unpack_range range = {c->next_row, p->rows};
    for (uint32_t j = 0; j < c->cols; j++) {
        const uint64_t n = s->start[j + 1] - s->start[j];
        const uint64_t bytes = ((n + s->skips[j]) * parts->bits + 7) / 8;
        if (bytes > (uint64_t)(parts->gaps_end - at) ||
            (parts->bits == 0 && s->skips[j] > 0))
            return false;
        uint32_t *const row = s->row + s->start[j];
        if (sti_unpack_codes(at, n, s->skips[j], parts->bits, range, row) ==
            STI_UNPACK_BAD)
            return false;
        at += bytes;
    }
    return true;
}

static bool decode_values(const sti_pack_chunk *c, sti_pack_space *s,
                          const sti_pack_parts *parts)
{
    double *const value = s->value;
    const uint64_t n = c->nnz;
    const uint8_t *at = parts->values;
    double table[STI_PACK_DICTIONARY] = {0};
    bool good = true;
    for (uint32_t k = 0; k < parts->dictionary; k++, at += 8) {
        table[k] = sti_get_f64(at);
        good = good && isfinite(table[k]);
    }
    for (uint64_t e = 0; parts->kind == STI_PACK_EQUAL && e < n; e++)
        value[e] = table[0];
    uint8_t most = 0;
    for (uint64_t e = 0; parts->kind == STI_PACK_BYTES && e < n; e++) {
        most = at[e] > most ? at[e] : most;
        value[e] = table[at[e]];
    }
    good = good &&
           (n == 0 || parts->kind > STI_PACK_BYTES || most < parts->dictionary);
    for (uint64_t e = 0; parts->kind == STI_PACK_HALF && e < n; e++) {
        uint16_t half;
        memcpy(&half, at + 2 * e, sizeof half);
        value[e] = sti_half_value(le16toh(half));
    }
    for (uint64_t e = 0; parts->kind == STI_PACK_SINGLE && e < n; e++) {
        const uint32_t bits = sti_get_u32(at + 4 * e);
        float narrow;
        memcpy(&narrow, &bits, sizeof narrow);
        value[e] = (double)narrow;
    }
    for (uint64_t e = 0; parts->kind == STI_PACK_DOUBLE && e < n; e++)
        value[e] = sti_get_f64(at + 8 * e);
    /* x - x is 0 unless x is infinite or NaN. */
    double sum = 0;
    for (uint64_t e = 0; parts->kind > STI_PACK_BYTES && e < n; e++)
        sum += value[e] - value[e];
    return good && sum == 0;
}

strads_err sti_pack_decode(const strads_pack *p, uint64_t k, sti_pack_space *s,
                           const sti_pack_parts *parts)
{
    const sti_pack_chunk *c = &p->chunk[k];
    return decode_rows(p, c, s, parts) && decode_values(c, s, parts)
               ? STRADS_OK
               : sti_pack_refuse_chunk(p, k, "has rows or values out of range");
}

/* ---- the public functions of columns ------------------------------------- */

void strads_pack_describe(const strads_pack *p, strads_pack_result *out)
{
    const strads_pack_result found = {.size = sizeof found,
                                      .rows = p->rows,
                                      .cols = p->cols,
                                      .nnz = p->nnz,
                                      .chunks = p->chunks,
                                      .file_bytes = p->file_bytes,
                                      .values = p->values,
                                      .labels = p->label != NULL,
                                      .label_names = p->label_names != NULL,
                                      .col_names = p->col_names != NULL,
                                      .weights = p->weight != NULL};
    sti_sized_return(out, &found);
}

const double *strads_pack_labels(const strads_pack *p)
{
    return p->label;
}

const double *strads_pack_weights(const strads_pack *p)
{
    return p->weight;
}

const strads_names *strads_pack_label_names(const strads_pack *p)
{
    return p->label_names;
}

const strads_names *strads_pack_col_names(const strads_pack *p)
{
    return p->col_names;
}

/* Columns of one chunk that a caller asked for: [from, to) within the chunk,
 * which are the columns from `out` on of the answer. */
typedef struct column_window {
    uint64_t k; /* the chunk */
    uint32_t from, to;
    uint64_t out;
} column_window;

typedef strads_err take_window(const strads_pack *pack, sti_pack_space *space,
                               const sti_pack_parts *parts,
                               const column_window *window, void *arg);

/* The first chunk with a column from `col` on. */
static uint64_t find_chunk(const strads_pack *p, uint64_t col)
{
    uint64_t low = 0, high = p->chunks;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->chunk[middle].first_col + p->chunk[middle].cols <= col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Passes the chunks with columns [begin, end) to `take`, in order. */
static strads_err each_window(const strads_pack *p, uint64_t begin,
                              uint64_t end, take_window *take, void *arg)
{
    sti_pack_space space;
    if (begin > end || end > p->cols)
        return strads_fail(STRADS_EINVAL,
                           "%s: columns %llu to %llu were requested, there are "
                           "%llu",
                           p->path, (unsigned long long)begin,
                           (unsigned long long)end,
                           (unsigned long long)p->cols);
    strads_err err = sti_pack_space_open(p, &space);
    if (err != STRADS_OK)
        return err;
    for (uint64_t k = find_chunk(p, begin); k < p->chunks && err == STRADS_OK;
         k++) {
        const sti_pack_chunk *c = &p->chunk[k];
        const uint64_t first = begin > c->first_col ? begin : c->first_col;
        const uint64_t all = c->first_col + c->cols;
        const uint64_t last = end < all ? end : all;
        sti_pack_parts parts;
        if (c->first_col >= end || first >= last)
            break;
        const column_window window = {.k = k,
                                      .from = (uint32_t)(first - c->first_col),
                                      .to = (uint32_t)(last - c->first_col),
                                      .out = first - begin};
        err = sti_pack_load(p, k, &space, &parts);
        if (err == STRADS_OK)
            err = take(p, &space, &parts, &window, arg);
    }
    if (err == STRADS_OK)
        err = sti_pack_unchanged(p);
    sti_pack_space_close(&space);
    return err;
}

static strads_err count_window(const strads_pack *p, sti_pack_space *s,
                               const sti_pack_parts *parts,
                               const column_window *w, void *arg)
{
    uint64_t *const count = (uint64_t *)arg + 1;
    (void)p;
    (void)parts;
    for (uint32_t j = w->from; j < w->to; j++)
        count[w->out + j - w->from] += s->start[j + 1] - s->start[j];
    return STRADS_OK;
}

strads_err strads_pack_count(const strads_pack *p, uint64_t begin, uint64_t end,
                             uint64_t *start)
{
    if (begin <= end && end <= p->cols)
        memset(start, 0, (end - begin + 1) * sizeof *start);
    const strads_err err = each_window(p, begin, end, count_window, start);
    for (uint64_t j = 0; err == STRADS_OK && j < end - begin; j++)
        start[j + 1] += start[j];
    return err;
}

typedef struct entries_out {
    uint32_t *row;
    double *value;
} entries_out;

static strads_err copy_window(const strads_pack *p, sti_pack_space *s,
                              const sti_pack_parts *parts,
                              const column_window *w, void *arg)
{
    entries_out *out = arg;
    const strads_err err = sti_pack_decode(p, w->k, s, parts);
    const uint64_t first = s->start[w->from], n = s->start[w->to] - first;
    if (err != STRADS_OK)
        return err;
    memcpy(out->row, s->row + first, n * sizeof *s->row);
    memcpy(out->value, s->value + first, n * sizeof *s->value);
    out->row += n;
    out->value += n;
    return STRADS_OK;
}

strads_err strads_pack_columns(const strads_pack *p, uint64_t begin,
                               uint64_t end, uint32_t *row, double *value)
{
    return each_window(p, begin, end, copy_window,
                       &(entries_out){.row = row, .value = value});
}

/* Sums of columns; `count` has the entries that they were taken over. */
typedef struct moments_out {
    double *sum, *centred;
    uint64_t *count;
} moments_out;

/* Merges the sums of a piece with those of earlier pieces of its column:
 * squares around the common mean (Chan, Golub and LeVeque 1983). */
static void merge_moments(const moments_out *out, uint64_t j, uint64_t n,
                          double sum, double squares)
{
    const double a = (double)out->count[j], b = (double)n;
    if (n == 0)
        return;
    if (a > 0) {
        const double apart = sum / b - out->sum[j] / a;
        squares += out->centred[j] + apart * apart * (a * b / (a + b));
        sum += out->sum[j];
    }
    out->sum[j] = sum;
    out->centred[j] = squares;
    out->count[j] += n;
}

static strads_err moments_window(const strads_pack *p, sti_pack_space *s,
                                 const sti_pack_parts *parts,
                                 const column_window *w, void *arg)
{
    const double equal = parts->kind == STI_PACK_EQUAL && parts->dictionary > 0
                             ? sti_get_f64(parts->values)
                             : 0;
    (void)p;
    for (uint32_t j = w->from; j < w->to; j++) {
        const uint64_t n = s->start[j + 1] - s->start[j];
        const uint8_t *at =
            parts->moments ? parts->moments + 16 * (size_t)j : NULL;
        merge_moments(arg, w->out + j - w->from, n,
                      at ? sti_get_f64(at) : equal * (double)n,
                      at ? sti_get_f64(at + 8) : 0);
    }
    return STRADS_OK;
}

strads_err strads_pack_moments(const strads_pack *p, uint64_t begin,
                               uint64_t end, double *sum, double *centred)
{
    const uint64_t n = begin <= end && end <= p->cols ? end - begin : 0;
    moments_out out = {sum, centred, calloc(n + 1, sizeof *out.count)};
    if (out.count == NULL)
        return lack_memory(p->path);
    for (uint64_t j = 0; j < n; j++)
        sum[j] = centred[j] = 0;
    const strads_err err = each_window(p, begin, end, moments_window, &out);
    /* The rows without an entry are as many zeros. */
    for (uint64_t j = 0; err == STRADS_OK && j < n; j++) {
        const double c = (double)out.count[j];
        const double mean = c > 0 ? sum[j] / c : 0;
        centred[j] += c * (1 - c / (double)p->rows) * mean * mean;
    }
    free(out.count);
    return err;
}
