/* Writes packs. Columns gather until a chunk is full; a chunk is encoded in
 * memory and written at the next multiple of 4096. Sections and index follow
 * the last chunk; the header comes last, so that an unfinished file has
 * none. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/atomic_file.h"
#include "engine/base/sized.h"
#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/pack_format.h"

enum { SEEN_SLOTS = 1024, LEB_MAX = 5 };

/* The different values of a chunk, by their bits, up to one more than a
 * dictionary holds. */
typedef struct value_set {
    uint64_t bits[SEEN_SLOTS];
    uint16_t code[SEEN_SLOTS]; /* 1 + place in `value`; 0: empty */
    double value[STI_PACK_DICTIONARY];
    uint32_t n;
    bool full; /* there are more */
} value_set;

struct sti_packer {
    char *path;
    sti_atomic_file file;
    strads_pack_values values;
    uint64_t rows, cols, nnz;
    uint64_t offset;   /* bytes written so far */
    uint64_t next_row; /* the row after the last column's last entry */
    uint32_t *row_nnz; /* [rows] */
    uint64_t entry_sum;
    sti_batch batch; /* entries that entry_sum lacks */

    /* The chunk that gathers. */
    sti_pack_chunk open;
    uint32_t *row; /* [capacity] of all its entries */
    double *value;
    uint64_t capacity;
    uint32_t *count; /* [STI_PACK_COLUMNS_MAX] entries of each column */
    value_set seen;
    bool wide;         /* a value is no f32 */
    uint64_t most_gap; /* the largest gap */

    sti_pack_chunk *chunk; /* [chunks] written ones */
    uint64_t chunks, chunk_capacity;
    uint8_t *bytes; /* the encoded chunk */
    uint64_t bytes_capacity;
    sti_pack_section section[STI_PACK_SECTIONS];
};

static strads_err fail_memory(const char *path)
{
    return strads_fail(STRADS_ENOMEM, "%s: no memory to write the pack", path);
}

/* ---- numbers ------------------------------------------------------------- */

uint16_t sti_half_of(double x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);
    int exponent;
    if (size >= 65520)
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14) /* a multiple of 2^-24; 2^10 of them are the least
                         * normal number, and its code */
        return (uint16_t)(sign | (uint16_t)lrint(ldexp(size, 24)));
    (void)frexp(size, &exponent); /* size = m 2^exponent, m in [.5, 1) */
    /* 11 bits from 2^10 up; the code of the exponent adds up, also if the bits
     * are rounded to 2^11. */
    const long bits = lrint(ldexp(size, 11 - exponent));
    return (uint16_t)(sign | (((exponent + 13) << 10) + bits));
}

double sti_half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, bits = half & 1023;
    const double size = exponent == 31  ? (bits != 0 ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(bits, -24)
                                        : ldexp(1024 + bits, exponent - 25);
    return (half & 0x8000) != 0 ? -size : size;
}

static uint64_t value_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- the set of values --------------------------------------------------- */

static uint32_t find_value_slot(const value_set *s, uint64_t bits)
{
    uint32_t at =
        (uint32_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 54) % SEEN_SLOTS;
    while (s->code[at] != 0 && s->bits[at] != bits)
        at = (at + 1) % SEEN_SLOTS;
    return at;
}

static void add_value(value_set *s, double value)
{
    const uint32_t at = find_value_slot(s, value_bits(value));
    if (s->code[at] != 0 || s->full)
        return;
    s->full = s->n == STI_PACK_DICTIONARY;
    if (s->full)
        return;
    s->bits[at] = value_bits(value);
    s->value[s->n] = value;
    s->code[at] = (uint16_t)++s->n;
}

/* ---- encoding a chunk ---------------------------------------------------- */

static sti_pack_kind kind_of_chunk(const sti_packer *p)
{
    if (!p->seen.full)
        return p->seen.n <= 1 ? STI_PACK_EQUAL : STI_PACK_BYTES;
    if (p->values == STRADS_PACK_F16)
        return STI_PACK_HALF;
    return p->values == STRADS_PACK_F32 || !p->wide ? STI_PACK_SINGLE
                                                    : STI_PACK_DOUBLE;
}

static uint64_t width_of_kind(sti_pack_kind kind)
{
    static const uint64_t width[] = {0, 1, 2, 4, 8};
    return width[kind];
}

static uint64_t align_to(uint64_t at, uint64_t step)
{
    return (at + step - 1) / step * step;
}

static unsigned bits_needed(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

/* The rows between an entry and the one before, or the first possible row. */
static inline uint64_t gap_at(const sti_packer *p, uint64_t first, uint64_t e)
{
    return e == first ? p->row[e] - p->open.next_row
                      : (uint64_t)p->row[e] - p->row[e - 1] - 1;
}

/* Chooses the bits of a code by the size that the gaps then take. With codes of
 * 0 bits all gaps are 0. */
static unsigned choose_bits(const sti_packer *p)
{
    uint64_t count[33] = {0};
    double sum[33] = {0};
    for (uint64_t c = 0, e = 0; c < p->open.cols; c++)
        for (uint64_t first = e; e < first + p->count[c]; e++) {
            const uint64_t gap = gap_at(p, first, e);
            const unsigned bits = bits_needed(gap + 1);
            count[bits]++;
            sum[bits] += (double)gap;
        }
    if (p->most_gap == 0)
        return 0;
    unsigned best = STI_UNPACK_BITS_MAX;
    double best_size = INFINITY;
    for (unsigned b = 1; b <= STI_UNPACK_BITS_MAX; b++) {
        double codes = 0, beyond = 0;
        for (unsigned k = 0; k <= 32; k++) {
            codes += (double)count[k];
            if (k > b)
                beyond += sum[k] / (double)((1 << b) - 1);
        }
        const double size =
            (codes + beyond) * b / 8 + (beyond > 0 ? (double)p->open.cols : 0);
        if (size < best_size) {
            best = b;
            best_size = size;
        }
    }
    return best;
}

static uint8_t *put_leb(uint8_t *at, uint32_t value)
{
    for (; value >= 128; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

/* Codes of one column, packed from the lowest bit up. */
typedef struct bit_writer {
    uint8_t *at;
    uint64_t word;
    unsigned held, bits;
} bit_writer;

static void put_code(bit_writer *w, uint64_t code)
{
    w->word |= code << w->held;
    w->held += w->bits;
    for (; w->held >= 8; w->held -= 8, w->word >>= 8)
        *w->at++ = (uint8_t)w->word;
}

/* Writes the gaps of a column; returns the number of skips before entries. */
static uint32_t put_gaps(const sti_packer *p, bit_writer *w, uint64_t first,
                         uint64_t n)
{
    const uint64_t skip = (UINT64_C(1) << w->bits) - 1;
    uint32_t skips = 0;
    for (uint64_t e = first; e < first + n; e++) {
        uint64_t gap = gap_at(p, first, e);
        if (skip == 0)
            continue;
        for (; gap >= skip; gap -= skip, skips++)
            put_code(w, skip);
        put_code(w, gap);
    }
    if (w->held > 0)
        *w->at++ = (uint8_t)w->word;
    w->word = w->held = 0;
    return skips;
}

static void put_values(const sti_packer *p, sti_pack_kind kind, uint8_t *at)
{
    const uint64_t n = p->open.nnz;
    for (uint32_t k = 0; kind <= STI_PACK_BYTES && k < p->seen.n; k++, at += 8)
        sti_put_f64(at, p->seen.value[k]);
    for (uint64_t e = 0; kind == STI_PACK_BYTES && e < n; e++)
        at[e] =
            (uint8_t)(p->seen.code[find_value_slot(&p->seen,
                                                   value_bits(p->value[e]))] -
                      1);
    for (uint64_t e = 0; kind == STI_PACK_HALF && e < n; e++) {
        const uint16_t half = htole16(sti_half_of(p->value[e]));
        memcpy(at + 2 * e, &half, sizeof half);
    }
    for (uint64_t e = 0; kind == STI_PACK_SINGLE && e < n; e++) {
        const float value = (float)p->value[e];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        sti_put_u32(at + 4 * e, bits);
    }
    for (uint64_t e = 0; kind == STI_PACK_DOUBLE && e < n; e++)
        sti_put_f64(at + 8 * e, p->value[e]);
}

/* The sum of each column's values, and their squares around their own mean. */
static void put_moments(const sti_packer *p, uint8_t *at)
{
    for (uint64_t c = 0, e = 0; c < p->open.cols; c++, at += 16) {
        const uint64_t end = e + p->count[c];
        double sum = 0, squares = 0;
        for (uint64_t k = e; k < end; k++)
            sum += p->value[k];
        const double mean = end > e ? sum / (double)(end - e) : 0;
        for (uint64_t k = e; k < end; k++)
            squares += (p->value[k] - mean) * (p->value[k] - mean);
        sti_put_f64(at, sum);
        sti_put_f64(at + 8, squares);
        e = end;
    }
}

/* Rounds the values as they will read back. */
static strads_err round_values(sti_packer *p, sti_pack_kind kind)
{
    for (uint64_t e = 0; e < p->open.nnz; e++) {
        const double value = p->value[e];
        if (kind == STI_PACK_HALF)
            p->value[e] = sti_half_value(sti_half_of(value));
        else if (kind == STI_PACK_SINGLE)
            p->value[e] = (double)(float)value;
        if (!isfinite(p->value[e]))
            return strads_fail(
                STRADS_ELIMIT,
                "value %g does not fit %s: pack with --values %s", value,
                kind == STI_PACK_HALF ? "f16" : "f32",
                kind == STI_PACK_HALF ? "f32" : "exact");
    }
    return STRADS_OK;
}

static void digest_batch(sti_packer *p)
{
    p->entry_sum += sti_digest_entries(&p->batch);
    p->batch.n = 0;
}

static void digest_chunk(sti_packer *p)
{
    for (uint64_t c = 0, e = 0; c < p->open.cols; c++)
        for (const uint64_t end = e + p->count[c]; e < end; e++) {
            const size_t n = p->batch.n++;
            p->batch.row[n] = p->row[e];
            p->batch.col[n] = (uint32_t)(p->open.first_col + c);
            p->batch.value[n] = p->value[e];
            p->row_nnz[p->row[e]]++;
            if (n + 1 == STI_BATCH)
                digest_batch(p);
        }
    digest_batch(p);
}

/* The most bytes that a chunk can take. */
static uint64_t chunk_bound(const sti_packer *p, sti_pack_kind kind)
{
    const uint64_t cols = p->open.cols, n = p->open.nnz;
    const uint64_t dictionary = STI_PACK_DICTIONARY;
    return STI_PACK_CHUNK_HEADER + (2 * LEB_MAX + 1) * cols +
           /* choose_bits compares with 25 bits and at most 128 skips an entry,
            * so no choice exceeds that. */
           n * 4 + ((p->rows >> STI_UNPACK_BITS_MAX) + 1) * cols * 4 +
           STI_PACK_SLACK + 16 + 8 * dictionary + n * width_of_kind(kind) +
           16 * cols + 64;
}

static bool reserve_bytes(sti_packer *p, uint64_t bytes)
{
    if (bytes <= p->bytes_capacity)
        return true;
    sti_big_free(p->bytes, p->bytes_capacity);
    p->bytes = sti_big_alloc(bytes);
    p->bytes_capacity = p->bytes != NULL ? bytes : 0;
    return p->bytes != NULL;
}

/* The gaps of all columns, and how many skips each has. */
static uint8_t *put_all_gaps(const sti_packer *p, unsigned bits, uint8_t *at,
                             uint32_t *skips, uint64_t *all_skips)
{
    bit_writer w = {.at = at, .bits = bits};
    *all_skips = 0;
    for (uint64_t c = 0, e = 0; c < p->open.cols; e += p->count[c++]) {
        skips[c] = put_gaps(p, &w, e, p->count[c]);
        *all_skips += skips[c];
    }
    return w.at;
}

/* Encodes the open chunk to p->bytes; returns its size, 0: no memory. */
static uint64_t encode_chunk(sti_packer *p, sti_pack_kind kind)
{
    const unsigned bits = choose_bits(p);
    uint32_t *skips = malloc((p->open.cols + 1) * sizeof *skips);
    uint64_t all_skips;
    if (skips == NULL || !reserve_bytes(p, chunk_bound(p, kind))) {
        free(skips);
        return 0;
    }
    uint8_t *const to = p->bytes;
    memset(to, 0, STI_PACK_CHUNK_HEADER);
    /* Gaps first: they count the skips. */
    uint8_t *at =
        put_all_gaps(p, bits, to + STI_PACK_CHUNK_HEADER, skips, &all_skips);
    memset(at, 0, STI_PACK_SLACK);
    const uint64_t counts_at = (uint64_t)(at - to) + STI_PACK_SLACK;
    at = to + counts_at;
    for (uint32_t c = 0; c < p->open.cols; c++)
        at = put_leb(at, p->count[c]);
    for (uint32_t c = 0; all_skips > 0 && c < p->open.cols; c++)
        at = put_leb(at, skips[c]);
    free(skips);
    const uint64_t counts_end = (uint64_t)(at - to);
    const uint64_t values_at = align_to(counts_end, 8);
    memset(at, 0, values_at - counts_end);
    const uint32_t dictionary = kind <= STI_PACK_BYTES ? p->seen.n : 0;
    put_values(p, kind, to + values_at);
    uint64_t end = values_at + 8 * (uint64_t)dictionary +
                   p->open.nnz * width_of_kind(kind);
    uint64_t moments_at = 0;
    if (kind != STI_PACK_EQUAL) {
        moments_at = align_to(end, 8);
        memset(to + end, 0, moments_at - end);
        put_moments(p, to + moments_at);
        end = moments_at + 16 * (uint64_t)p->open.cols;
    }
    sti_put_u32(to, p->open.cols);
    sti_put_u32(to + 4, p->open.flags);
    to[8] = (uint8_t)bits;
    to[9] = (uint8_t)kind;
    to[10] = (uint8_t)(dictionary & 255);
    to[11] = (uint8_t)(dictionary >> 8);
    sti_put_u32(to + 12, (uint32_t)counts_at);
    sti_put_u32(to + 16, (uint32_t)values_at);
    sti_put_u32(to + 20, (uint32_t)moments_at);
    sti_put_u64(to + 24, p->open.first_col);
    sti_put_u64(to + 32, p->open.nnz);
    sti_put_u64(to + 40, all_skips);
    sti_put_u64(to + 48, p->open.next_row);
    return end;
}

/* ---- the file ------------------------------------------------------------ */

static strads_err write_bytes(sti_packer *p, const void *bytes, uint64_t n)
{
    if (n > 0 && fwrite(bytes, 1, n, p->file.stream) != n)
        return strads_fail(STRADS_EIO, "%s: cannot be written: %s", p->path,
                           strerror(errno));
    p->offset += n;
    return STRADS_OK;
}

static strads_err write_zeros_to(sti_packer *p, uint64_t step)
{
    static const uint8_t zeros[STI_PACK_ALIGN];
    return write_bytes(p, zeros, align_to(p->offset, step) - p->offset);
}

static strads_err keep_chunk(sti_packer *p)
{
    if (p->chunks == p->chunk_capacity) {
        const uint64_t capacity = 2 * p->chunk_capacity + 64;
        sti_pack_chunk *more = realloc(p->chunk, capacity * sizeof *p->chunk);
        if (more == NULL)
            return fail_memory(p->path);
        p->chunk = more;
        p->chunk_capacity = capacity;
    }
    p->chunk[p->chunks++] = p->open;
    return STRADS_OK;
}

/* Begins an empty chunk at the next column. */
static void begin_chunk(sti_packer *p)
{
    p->open = (sti_pack_chunk){.first_col = p->cols};
    p->seen = (value_set){.n = 0};
    p->wide = false;
    p->most_gap = 0;
}

static strads_err write_chunk(sti_packer *p)
{
    const sti_pack_kind kind = kind_of_chunk(p);
    if (p->open.cols == 0)
        return STRADS_OK;
    strads_err err = round_values(p, kind);
    if (err != STRADS_OK)
        return err;
    digest_chunk(p);
    p->open.bytes = encode_chunk(p, kind);
    if (p->open.bytes == 0)
        return fail_memory(p->path);
    p->open.hash = XXH3_64bits(p->bytes, p->open.bytes);
    err = write_zeros_to(p, STI_PACK_ALIGN);
    p->open.offset = p->offset;
    if (err == STRADS_OK)
        err = write_bytes(p, p->bytes, p->open.bytes);
    if (err == STRADS_OK)
        err = keep_chunk(p);
    begin_chunk(p);
    return err;
}

strads_err sti_packer_open(const char *path, uint64_t rows,
                           strads_pack_values values, sti_packer **out)
{
    sti_packer *p = calloc(1, sizeof *p);
    if (p == NULL)
        return fail_memory(path);
    *p = (sti_packer){.path = strdup(path), .rows = rows, .values = values};
    p->row_nnz = sti_big_alloc(rows * sizeof *p->row_nnz);
    p->count = calloc(STI_PACK_COLUMNS_MAX, sizeof *p->count);
    strads_err err = p->path != NULL && p->row_nnz != NULL && p->count != NULL
                         ? sti_atomic_file_open(path, &p->file)
                         : fail_memory(path);
    const uint8_t none[STI_PACK_HEADER] = {0};
    if (err == STRADS_OK)
        err = write_bytes(p, none, sizeof none);
    if (err != STRADS_OK) {
        sti_packer_abandon(p);
        return err;
    }
    begin_chunk(p);
    *out = p;
    return STRADS_OK;
}

void sti_packer_abandon(sti_packer *p)
{
    if (p == NULL)
        return;
    sti_atomic_file_abandon(&p->file);
    sti_big_free(p->row_nnz, p->rows * sizeof *p->row_nnz);
    sti_big_free(p->row, p->capacity * sizeof *p->row);
    sti_big_free(p->value, p->capacity * sizeof *p->value);
    sti_big_free(p->bytes, p->bytes_capacity);
    free(p->count);
    free(p->chunk);
    free(p->path);
    free(p);
}

static bool reserve_entries(sti_packer *p, uint64_t n)
{
    uint64_t capacity = p->capacity > 0 ? p->capacity : 65536;
    while (capacity < n)
        capacity *= 2;
    if (capacity == p->capacity)
        return true;
    uint32_t *row =
        sti_big_grow(p->row, p->capacity * sizeof *row, capacity * sizeof *row);
    if (row != NULL)
        p->row = row;
    double *value = row == NULL
                        ? NULL
                        : sti_big_grow(p->value, p->capacity * sizeof *value,
                                       capacity * sizeof *value);
    if (value == NULL) {
        if (row != NULL) /* back to the size that `capacity` frees */
            p->row = sti_big_grow(row, capacity * sizeof *row,
                                  p->capacity * sizeof *row);
        return false;
    }
    p->value = value;
    p->capacity = capacity;
    return true;
}

/* Adds values and gaps of a column to what is known of the open chunk. */
static void observe_column(sti_packer *p, uint64_t n, const uint32_t *row,
                           const double *value)
{
    uint64_t next = p->open.next_row;
    for (uint64_t e = 0; e < n; e++) {
        const uint64_t gap = row[e] - next;
        p->most_gap = gap > p->most_gap ? gap : p->most_gap;
        next = (uint64_t)row[e] + 1;
        if (!p->seen.full)
            add_value(&p->seen, value[e]);
        p->wide = p->wide || (double)(float)value[e] != value[e];
    }
}

/* Observes the columns of the open chunk again, without the one that no longer
 * fitted. */
static void observe_again(sti_packer *p)
{
    p->seen = (value_set){.n = 0};
    p->wide = false;
    p->most_gap = 0;
    for (uint64_t c = 0, e = 0; c < p->open.cols; e += p->count[c++])
        observe_column(p, p->count[c], p->row + e, p->value + e);
}

static uint64_t estimate_bytes(const sti_packer *p, uint64_t nnz, uint64_t cols)
{
    const unsigned bits = bits_needed(p->most_gap + 1);
    const bool skips = bits > STI_UNPACK_BITS_MAX;
    const uint64_t code = skips ? STI_UNPACK_BITS_MAX : bits;
    const uint64_t column =
        22 + (skips ? 4 * (p->rows >> STI_UNPACK_BITS_MAX) : 0);
    return nnz * (width_of_kind(kind_of_chunk(p)) * 8 + code) / 8 +
           cols * column;
}

static strads_err append_column(sti_packer *p, uint64_t n, const uint32_t *row,
                                const double *value)
{
    if (!reserve_entries(p, p->open.nnz + n))
        return fail_memory(p->path);
    if (n > 0) {
        memcpy(p->row + p->open.nnz, row, n * sizeof *row);
        memcpy(p->value + p->open.nnz, value, n * sizeof *value);
    }
    p->count[p->open.cols++] = (uint32_t)n;
    p->open.nnz += n;
    p->nnz += n;
    return STRADS_OK;
}

/* Writes pieces of the last column as chunks of their own. */
static strads_err add_pieces(sti_packer *p, uint64_t n, const uint32_t *row,
                             const double *value, bool continues)
{
    strads_err err = write_chunk(p);
    for (uint64_t at = 0; at < n && err == STRADS_OK;) {
        const uint64_t most = STI_PACK_PIECE;
        const uint64_t piece = n - at < most ? n - at : most;
        p->open.first_col = p->cols - 1;
        if (continues) {
            p->open.flags = STI_PACK_CONTINUES;
            p->open.next_row = p->next_row;
        }
        observe_column(p, piece, row + at, value + at);
        err = append_column(p, piece, row + at, value + at);
        if (err == STRADS_OK)
            err = write_chunk(p);
        at += piece;
        p->next_row = (uint64_t)row[at - 1] + 1;
        continues = true;
    }
    return err;
}

strads_err sti_packer_add(sti_packer *p, uint64_t n, const uint32_t *row,
                          const double *value)
{
    strads_err err = STRADS_OK;
    p->next_row = n > 0 ? (uint64_t)row[n - 1] + 1 : 0;
    if (n > STI_PACK_PIECE) {
        p->cols++;
        return add_pieces(p, n, row, value, false);
    }
    observe_column(p, n, row, value);
    if (p->open.cols == STI_PACK_COLUMNS_MAX ||
        p->open.nnz + n > STI_PACK_ENTRIES_MAX ||
        (p->open.cols > 0 &&
         estimate_bytes(p, p->open.nnz + n, (uint64_t)p->open.cols + 1) >
             STI_PACK_CHUNK_BYTES)) {
        observe_again(p);
        err = write_chunk(p);
        observe_column(p, n, row, value);
    }
    p->cols++;
    return err == STRADS_OK ? append_column(p, n, row, value) : err;
}

strads_err sti_packer_continue(sti_packer *p, uint64_t n, const uint32_t *row,
                               const double *value)
{
    return n > 0 ? add_pieces(p, n, row, value, true) : STRADS_OK;
}

/* ---- sections, index, header --------------------------------------------- */

/* A section that is being written: its numbers pass through a buffer. */
typedef struct section_writer {
    sti_packer *packer;
    sti_pack_section_kind kind;
    XXH3_state_t *hash;
    uint8_t buffer[8192];
    size_t held;
    strads_err err;
} section_writer;

static void flush_section(section_writer *w)
{
    (void)XXH3_64bits_update(w->hash, w->buffer, w->held);
    if (w->err == STRADS_OK)
        w->err = write_bytes(w->packer, w->buffer, w->held);
    w->packer->section[w->kind].bytes += w->held;
    w->held = 0;
}

static uint8_t *reserve_in_section(section_writer *w, size_t n)
{
    if (w->held + n > sizeof w->buffer)
        flush_section(w);
    w->held += n;
    return w->buffer + w->held - n;
}

static void begin_section(section_writer *w, sti_packer *p,
                          sti_pack_section_kind kind)
{
    w->packer = p;
    w->kind = kind;
    w->held = 0;
    w->err = write_zeros_to(p, 64);
    (void)XXH3_64bits_reset(w->hash);
    p->section[kind].offset = p->offset;
}

static strads_err end_section(section_writer *w)
{
    flush_section(w);
    w->packer->section[w->kind].hash = XXH3_64bits_digest(w->hash);
    return w->err;
}

static strads_err write_f64(section_writer *w, sti_packer *p,
                            sti_pack_section_kind kind, const double *value,
                            uint64_t n)
{
    begin_section(w, p, kind);
    for (uint64_t k = 0; k < n; k++)
        sti_put_f64(reserve_in_section(w, 8), value[k]);
    return end_section(w);
}

static strads_err write_row_counts(section_writer *w, sti_packer *p)
{
    begin_section(w, p, STI_PACK_ROW_COUNTS);
    for (uint64_t i = 0; i < p->rows; i++)
        sti_put_u32(reserve_in_section(w, 4), p->row_nnz[i]);
    return end_section(w);
}

static strads_err write_names(section_writer *w, sti_packer *p,
                              sti_pack_section_kind kind,
                              const strads_names *names)
{
    begin_section(w, p, kind);
    for (uint32_t k = 0; k < strads_names_count(names); k++) {
        const char *name = strads_names_at(names, k);
        do
            *reserve_in_section(w, 1) = (uint8_t)*name;
        while (*name++ != '\0');
    }
    return end_section(w);
}

static strads_err write_sections(section_writer *w, sti_packer *p,
                                 const sti_pack_extras *x)
{
    strads_err err = write_row_counts(w, p);
    if (err == STRADS_OK && x->label != NULL)
        err = write_f64(w, p, STI_PACK_LABELS, x->label, p->rows);
    if (err == STRADS_OK && x->weight != NULL)
        err = write_f64(w, p, STI_PACK_WEIGHTS, x->weight, p->rows);
    if (err == STRADS_OK && x->col_means != NULL)
        err = write_f64(w, p, STI_PACK_COLUMN_MEANS, x->col_means, p->cols);
    if (err == STRADS_OK && x->label_names != NULL)
        err = write_names(w, p, STI_PACK_LABEL_NAMES, x->label_names);
    if (err == STRADS_OK && x->col_names != NULL)
        err = write_names(w, p, STI_PACK_COLUMN_NAMES, x->col_names);
    return err;
}

static void put_index_row(uint8_t *at, const sti_pack_chunk *c)
{
    sti_put_u64(at, c->offset);
    sti_put_u64(at + 8, c->bytes);
    sti_put_u64(at + 16, c->first_col);
    sti_put_u64(at + 24, c->nnz);
    sti_put_u64(at + 32, c->next_row);
    sti_put_u64(at + 40, c->hash);
    sti_put_u32(at + 48, c->cols);
    sti_put_u32(at + 52, c->flags);
    sti_put_u64(at + 56, 0);
}

/* Writes the index and sets *hash and *sections. */
static strads_err write_index(sti_packer *p, uint64_t *hash, uint32_t *sections)
{
    *sections = 0;
    for (int k = 1; k < STI_PACK_SECTIONS; k++)
        *sections += p->section[k].offset != 0;
    const uint64_t bytes = p->chunks * STI_PACK_INDEX_ROW +
                           (uint64_t)*sections * STI_PACK_SECTION_ROW;
    uint8_t *index = malloc(bytes + 1);
    if (index == NULL)
        return fail_memory(p->path);
    uint8_t *at = index;
    for (uint64_t k = 0; k < p->chunks; k++, at += STI_PACK_INDEX_ROW)
        put_index_row(at, &p->chunk[k]);
    for (uint32_t k = 1; k < STI_PACK_SECTIONS; k++) {
        const sti_pack_section *s = &p->section[k];
        if (s->offset == 0)
            continue;
        sti_put_u32(at, k);
        sti_put_u32(at + 4, 0);
        sti_put_u64(at + 8, s->offset);
        sti_put_u64(at + 16, s->bytes);
        sti_put_u64(at + 24, s->hash);
        at += STI_PACK_SECTION_ROW;
    }
    *hash = XXH3_64bits(index, bytes);
    const strads_err err = write_bytes(p, index, bytes);
    free(index);
    return err;
}

static strads_err write_header(sti_packer *p, uint64_t index_at,
                               uint64_t index_hash, uint32_t sections)
{
    uint8_t h[STI_PACK_HEADER] = {0};
    memcpy(h, STI_PACK_MAGIC, sizeof STI_PACK_MAGIC); /* its 0 is replaced */
    sti_put_u32(h + 8, STI_PACK_VERSION);
    sti_put_u32(h + 12, STI_PACK_HEADER);
    sti_put_u64(h + 16, p->rows);
    sti_put_u64(h + 24, p->cols);
    sti_put_u64(h + 32, p->nnz);
    sti_put_u64(h + 40, p->chunks);
    sti_put_u64(h + 48, index_at);
    sti_put_u64(h + 56, p->offset);
    sti_put_u64(h + 64, index_hash);
    sti_put_u64(h + 72, p->entry_sum);
    sti_put_u32(h + 80, sections);
    h[84] = (uint8_t)p->values;
    sti_put_u64(h + 120, XXH3_64bits(h, 120));
    if (fseek(p->file.stream, 0, SEEK_SET) != 0 ||
        fwrite(h, 1, sizeof h, p->file.stream) != sizeof h)
        return strads_fail(STRADS_EIO, "%s: cannot be written: %s", p->path,
                           strerror(errno));
    return STRADS_OK;
}

static strads_err finish_file(sti_packer *p, const sti_pack_extras *x)
{
    section_writer w = {.hash = XXH3_createState()};
    uint64_t hash = 0;
    uint32_t sections = 0;
    if (w.hash == NULL)
        return fail_memory(p->path);
    strads_err err = write_chunk(p);
    if (err == STRADS_OK)
        err = write_sections(&w, p, x);
    (void)XXH3_freeState(w.hash);
    if (err == STRADS_OK)
        err = write_zeros_to(p, 64);
    const uint64_t index_at = p->offset;
    if (err == STRADS_OK)
        err = write_index(p, &hash, &sections);
    if (err == STRADS_OK)
        err = write_header(p, index_at, hash, sections);
    return err == STRADS_OK ? sti_atomic_file_commit(&p->file) : err;
}

strads_err sti_packer_close(sti_packer *p, const sti_pack_extras *x,
                            strads_pack_result *result)
{
    const strads_err err = finish_file(p, x);
    const strads_pack_result made = {.size = sizeof made,
                                     .rows = p->rows,
                                     .cols = p->cols,
                                     .nnz = p->nnz,
                                     .chunks = p->chunks,
                                     .file_bytes = p->offset,
                                     .values = p->values,
                                     .labels = x->label != NULL,
                                     .label_names = x->label_names != NULL,
                                     .col_names = x->col_names != NULL,
                                     .weights = x->weight != NULL};
    sti_packer_abandon(p);
    if (err == STRADS_OK && result != NULL)
        sti_sized_return(result, &made);
    return err;
}
