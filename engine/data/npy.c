/* numpy's files: .npy, one array; .npz, a zip archive of several; and IDX,
 * an array in MNIST's format, plain or gzip. File contents are not trusted:
 * every offset and size is checked against the end of the file before it is
 * used. */
#include "engine/data/npy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/data/build.h"
#include "engine/data/memory.h"

static const char npy_magic[] = "\x93NUMPY", zip_magic[] = "PK\x03\x04";

/* The whole file, unpacked. */
typedef struct file {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    uint64_t memory; /* limit for unpacked members */
    sti_text text;
    sti_text_bytes whole;
} file;

/* An array in the file. `owned` is a buffer that was unpacked for it. */
typedef struct array {
    const unsigned char *data;
    uint64_t rows, cols; /* one dimension: cols is 1; none: both are 1 */
    uint64_t depth;      /* the last of three dimensions; otherwise 1 */
    bool by_col;
    bool big;   /* numbers are big-endian */
    bool image; /* bytes are pixels: each is divided by 255 */
    char type;  /* f, i, u, b or S */
    uint32_t width;
    void *owned;
    size_t owned_size;
} array;

static strads_err refuse_array_file(const file *f, const char *what)
{
    return strads_fail(STRADS_EFORMAT, "%s: %s", f->path, what);
}

/* ---- the file ------------------------------------------------------------ */

/* IDX begins with two zero bytes, a type and the number of dimensions.
 * Neither text nor another supported format begins like that. */
static bool begins_idx(const unsigned char head[4])
{
    return head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14 &&
           head[2] != 10 && head[3] >= 1 && head[3] <= 8;
}

static bool is_idx(const char *path)
{
    unsigned char head[4];
    gzFile in = gzopen(path, "rbe"); /* gzopen reads plain files unchanged */
    const bool is = in != NULL && gzread(in, head, 4) == 4 && begins_idx(head);
    if (in != NULL)
        (void)gzclose(in);
    return is;
}

const char *sti_npy_format(const char *path)
{
    char magic[6] = {0};
    struct stat info;
    if (path == NULL || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, magic, sizeof magic) : 0;
    if (fd >= 0)
        (void)close(fd);
    return n == 6 && memcmp(magic, npy_magic, 6) == 0   ? "npy"
           : n >= 4 && memcmp(magic, zip_magic, 4) == 0 ? "npz"
           : n >= 4 && is_idx(path)                     ? "idx"
                                                        : NULL;
}

static strads_err open_file(file *f, const char *path, uint64_t memory)
{
    *f = (file){.path = path, .memory = memory};
    strads_err err = sti_text_open_any(&f->text, path, memory);
    if (err == STRADS_OK)
        err = sti_text_whole(&f->text, memory, &f->whole);
    f->bytes = (const unsigned char *)f->whole.begin;
    f->size = (size_t)(f->whole.end - f->whole.begin);
    return err;
}

static void close_file(file *f)
{
    sti_text_bytes_free(&f->whole);
    sti_text_close(&f->text);
}

static uint64_t little(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < bytes; k++)
        value |= (uint64_t)p[k] << (8 * k);
    return value;
}

static uint64_t read_big_endian(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < bytes; k++)
        value = value << 8 | p[k];
    return value;
}

/* ---- arrays -------------------------------------------------------------- */

/* Returns the text behind 'key': in the header's dictionary. */
static const char *find_header_key(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return "";
    at += strlen(key);
    return at + strspn(at, " ");
}

static bool take_shape(const char *p, array *out)
{
    uint64_t size[3] = {1, 1, 1};
    unsigned n = 0;
    if (*p != '(')
        return false;
    for (p++; *p != ')'; n++) {
        char *end;
        if (n == 3 || *p < '0' || *p > '9')
            return false;
        size[n] = strtoull(p, &end, 10);
        p = end + strspn(end, ", ");
        if (size[n] > STI_MOST_LINES)
            return false;
    }
    out->rows = size[0];
    out->cols = size[1];
    out->depth = size[2];
    return true;
}

static strads_err take_array(const file *f, const unsigned char *bytes,
                             size_t size, array *out)
{
    char header[4096];
    const size_t fixed = size > 6 && bytes[6] > 1 ? 12 : 10;
    if (size < fixed || memcmp(bytes, npy_magic, 6) != 0)
        return refuse_array_file(
            f, "is cut short, expected the header of a NumPy array");
    const uint64_t length = little(bytes + 8, fixed == 12 ? 4 : 2);
    if (length >= sizeof header || length > size - fixed)
        return refuse_array_file(
            f, "its header of a NumPy array is cut short, or longer "
               "than 4095 bytes");
    memcpy(header, bytes + fixed, length);
    header[length] = '\0';
    const char *type = find_header_key(header, "'descr':");
    const char *order = find_header_key(header, "'fortran_order':");
    if (*type != '\'' || (type[1] != '<' && type[1] != '|') ||
        strchr("fiubS", type[2]) == NULL || type[2] == '\0')
        return refuse_array_file(
            f, "holds elements of another type, expected float or "
               "int of 1 to 8 bytes, little-endian");
    out->type = type[2];
    out->width = (uint32_t)strtoul(type + 3, NULL, 10);
    out->by_col = strncmp(order, "True", 4) == 0;
    const bool wide = out->width == 1 || out->width == 2 || out->width == 4 ||
                      out->width == 8;
    if (out->type == 'S' ? out->width > 64
                         : !wide || (out->type == 'f' && out->width < 4))
        return refuse_array_file(
            f, "holds numbers of a width that is not read, expected "
               "float32, float64, or int of 1 to 8 bytes");
    if (!take_shape(find_header_key(header, "'shape':"), out))
        return refuse_array_file(
            f, "its shape is not one or two dimensions of up to "
               "4294967294 (three of a bsr matrix's blocks)");
    uint64_t all = 0;
    if (__builtin_mul_overflow(out->rows, out->cols, &all) ||
        __builtin_mul_overflow(all, out->depth, &all) ||
        __builtin_mul_overflow(all, (uint64_t)out->width, &all) ||
        all != size - fixed - length)
        return strads_fail(
            STRADS_EFORMAT,
            "%s: holds %llu bytes of elements, expected %llu, as its shape "
            "says",
            f->path, (unsigned long long)(size - fixed - length),
            (unsigned long long)all);
    out->data = bytes + fixed + length;
    return STRADS_OK;
}

static double number_at(const array *a, uint64_t k)
{
    const unsigned char *p = a->data + k * a->width;
    const uint64_t bits =
        a->big ? read_big_endian(p, a->width) : little(p, a->width);
    const unsigned unused = 64 - 8 * a->width;
    if (a->type == 'f' && a->width == 4) {
        const uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    if (a->type == 'f') {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return a->type == 'i' ? (double)((int64_t)(bits << unused) >> unused)
           : a->image     ? (double)bits / 255
                          : (double)bits;
}

static void free_array(array *a)
{
    sti_big_free(a->owned, a->owned_size);
    *a = (array){0};
}

/* ---- IDX ----------------------------------------------------------------- */

static strads_err take_idx(const file *f, array *out)
{
    static const struct {
        char type;
        uint32_t width;
    } kinds[] = {{'u', 1}, {'i', 1}, {0, 0},  {'i', 2},
                 {'i', 4}, {'f', 4}, {'f', 8}};
    const unsigned char *head = f->bytes;
    uint64_t size = 0;
    if (f->size < 4 || !begins_idx(head))
        return refuse_array_file(f, "is no array in IDX format");
    const size_t body = 4 + 4 * (size_t)head[3];
    if (f->size < body)
        return refuse_array_file(
            f, "is cut short, expected the sizes of an IDX array");
    *out = (array){.data = f->bytes + body,
                   .rows = read_big_endian(head + 4, 4),
                   .cols = 1,
                   .depth = 1,
                   .big = true,
                   .type = kinds[head[2] - 8].type,
                   .width = kinds[head[2] - 8].width};
    out->image = out->type == 'u' && head[3] > 1;
    for (unsigned d = 1; d < head[3]; d++)
        if (__builtin_mul_overflow(out->cols,
                                   read_big_endian(head + 4 + (size_t)4 * d, 4),
                                   &out->cols) ||
            out->cols > STI_MOST_LINES)
            return refuse_array_file(
                f, "its rows have more than 4294967294 elements");
    if (out->rows > STI_MOST_LINES ||
        __builtin_mul_overflow(out->rows * out->width, out->cols, &size) ||
        size > f->memory)
        return strads_fail(
            STRADS_ENOMEM,
            "%s: an array of %llu x %llu elements, %llu bytes may be used: "
            "allow more (--memory)",
            f->path, (unsigned long long)out->rows,
            (unsigned long long)out->cols, (unsigned long long)f->memory);
    return size == f->size - body
               ? STRADS_OK
               : strads_fail(
                     STRADS_EFORMAT,
                     "%s: holds %s than %llu bytes of elements, as its sizes "
                     "%llu x %llu say, or is damaged",
                     f->path, f->size - body < size ? "less" : "more",
                     (unsigned long long)size, (unsigned long long)out->rows,
                     (unsigned long long)out->cols);
}

/* ---- zip archives -------------------------------------------------------- */

enum { END = 22, ENTRY = 46, LOCAL = 30, STORED = 0, DEFLATED = 8 };

/* Finds the record that ends the archive; NULL if there is none. */
static const unsigned char *find_end(const file *f)
{
    for (size_t back = END; back <= f->size && back < END + 65536; back++) {
        const unsigned char *p = f->bytes + f->size - back;
        if (memcmp(p, "PK\x05\x06", 4) == 0)
            return p;
    }
    return NULL;
}

static strads_err inflate_member(const file *f, const unsigned char *from,
                                 uint64_t packed, uint64_t size, array *out)
{
    z_stream z = {0};
    if (size > f->memory)
        return strads_fail(
            STRADS_ENOMEM,
            "%s: an array of %llu bytes, %llu may be used: allow "
            "more (--memory)",
            f->path, (unsigned long long)size, (unsigned long long)f->memory);
    if (packed > UINT32_MAX || size > UINT32_MAX)
        return refuse_array_file(
            f, "holds a packed array of more than 4 GB: save it "
               "without compression, as .npy");
    out->owned = sti_big_alloc(size);
    out->owned_size = size;
    if (out->owned == NULL || inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to unpack it",
                           f->path);
    z.next_in = (unsigned char *)(uintptr_t)from;
    z.avail_in = (uInt)packed;
    z.next_out = out->owned;
    z.avail_out = (uInt)size;
    const int end = inflate(&z, Z_FINISH);
    const bool whole = end == Z_STREAM_END && z.total_out == size;
    (void)inflateEnd(&z);
    return whole ? STRADS_OK
                 : refuse_array_file(f, "a packed array is damaged");
}

/* Finds the array `name`.npy in the archive; *there: it exists. */
static strads_err find_array(const file *f, const char *name, array *out,
                             bool *there)
{
    const unsigned char *end = find_end(f);
    *there = false;
    *out = (array){0};
    if (end == NULL)
        return refuse_array_file(f, "is a zip archive that is cut short");
    uint64_t at = little(end + 16, 4), count = little(end + 10, 2);
    const size_t length = strlen(name);
    for (; count > 0; count--) {
        if (at > f->size || f->size - at < ENTRY ||
            memcmp(f->bytes + at, "PK\x01\x02", 4) != 0)
            return refuse_array_file(f, "its list of arrays is damaged");
        const unsigned char *p = f->bytes + at;
        const uint64_t method = little(p + 10, 2), packed = little(p + 20, 4);
        const uint64_t size = little(p + 24, 4), named = little(p + 28, 2);
        const uint64_t local = little(p + 42, 4);
        if (f->size - at - ENTRY < named)
            return refuse_array_file(f, "its list of arrays is damaged");
        at += ENTRY + named + little(p + 30, 2) + little(p + 32, 2);
        if (named != length + 4 || memcmp(p + ENTRY, name, length) != 0 ||
            memcmp(p + ENTRY + length, ".npy", 4) != 0)
            continue;
        if (local > f->size || f->size - local < LOCAL)
            return refuse_array_file(f, "its list of arrays is damaged");
        const unsigned char *q = f->bytes + local;
        const uint64_t skip = LOCAL + little(q + 26, 2) + little(q + 28, 2);
        if (f->size - local < skip || f->size - local - skip < packed ||
            (method != STORED && method != DEFLATED) ||
            (method == STORED && packed != size))
            return refuse_array_file(
                f, "an array in it is cut short, or packed in a way "
                   "that is not read");
        strads_err err = STRADS_OK;
        if (method == DEFLATED)
            err = inflate_member(f, q + skip, packed, size, out);
        if (err == STRADS_OK)
            err = take_array(f, method == DEFLATED ? out->owned : q + skip,
                             size, out);
        *there = err == STRADS_OK;
        if (err != STRADS_OK)
            free_array(out);
        return err;
    }
    return STRADS_OK;
}

/* Reads a file that is a single array. */
static strads_err take_alone(const file *f, array *out)
{
    return f->bytes[0] == (unsigned char)npy_magic[0]
               ? take_array(f, f->bytes, f->size, out)
               : take_idx(f, out);
}

/* ---- samples ------------------------------------------------------------- */

/* Converts all numbers to f64 if they have another type. The caller frees
 * *size bytes. */
static double *to_doubles(const file *f, const array *a, size_t *size)
{
    const uint64_t n = a->rows * a->cols * a->depth;
    double *out =
        n <= f->memory / sizeof *out ? sti_big_alloc(n * sizeof *out) : NULL;
    *size = n * sizeof *out;
    for (uint64_t k = 0; out != NULL && k < n; k++)
        out[k] = number_at(a, k);
    return out;
}

typedef struct samples {
    strads_arrays a;
    void *start, *index, *value;
    size_t start_size, index_size, value_size;
} samples;

static strads_err no_room(const file *f)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s: takes more than the %llu bytes that may be used: "
                       "allow more (--memory)",
                       f->path, (unsigned long long)f->memory);
}

static strads_err take_dense(const file *f, const array *x, samples *s)
{
    if (x->type == 'S')
        return refuse_array_file(f, "holds text, expected numbers");
    if (x->depth != 1)
        return refuse_array_file(f,
                                 "has three dimensions, expected one or two");
    if (x->cols == 0)
        return refuse_array_file(
            f, "is an array without columns, expected at least one");
    s->value = to_doubles(f, x, &s->value_size);
    s->a = (strads_arrays){.rows = x->rows,
                           .cols = x->cols,
                           .by_row = !x->by_col,
                           .value = s->value};
    return s->value != NULL ? STRADS_OK : no_room(f);
}

/* ---- sparse matrices, as scipy.sparse.save_npz writes them --------------- */

/* The form of a sparse matrix: the names of its arrays beside format, shape
 * and data. */
typedef struct form {
    const char *name;
    const char *array[2];
} form;

enum { CSR, CSC, BSR, COO, DIA, FORMS };

static const form forms[FORMS] = {{"csr", {"indptr", "indices"}},
                                  {"csc", {"indptr", "indices"}},
                                  {"bsr", {"indptr", "indices"}},
                                  {"coo", {"row", "col"}},
                                  {"dia", {"offsets", NULL}}};

/* The arrays of a sparse matrix. */
typedef struct sparse {
    array format, shape, data, part[2];
    int form;
    uint64_t rows, cols;
} sparse;

typedef struct triplet {
    uint32_t index;
    uint32_t order; /* position within its line in the file */
    double value;
} triplet;

static int by_index(const void *a, const void *b)
{
    const triplet *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Calls `take` for each entry, in file order. Returns false if an index lies
 * outside the matrix. */
typedef struct entries entries;

struct entries {
    void (*take)(entries *e, uint64_t line, uint64_t index, double value);
    uint64_t *start; /* [lines + 1] */
    triplet *triplet;
};

static void count_entry(entries *e, uint64_t line, uint64_t index, double value)
{
    (void)index;
    (void)value;
    e->start[line + 1]++;
}

/* Before the call, start[k + 1] is the position of the next entry of line k.
 * After all calls it is the end of line k. */
static void place_entry(entries *e, uint64_t line, uint64_t index, double value)
{
    e->triplet[e->start[line + 1]++] = (triplet){(uint32_t)index, 0, value};
}

static bool each_of_diagonals(const sparse *m, entries *e)
{
    const array *x = &m->data;
    for (uint64_t d = 0; d < x->rows; d++) {
        const double offset = number_at(&m->part[0], d);
        for (uint64_t j = 0; j < x->cols && j < m->cols; j++) {
            const double row = (double)j - offset;
            const double value =
                number_at(x, x->by_col ? j * x->rows + d : d * x->cols + j);
            if (row >= 0 && row < (double)m->rows && value != 0)
                e->take(e, (uint64_t)row, j, value);
        }
    }
    return true;
}

static bool each_of_pairs(const sparse *m, entries *e)
{
    for (uint64_t k = 0; k < m->data.rows; k++) {
        const double row = number_at(&m->part[0], k);
        const double col = number_at(&m->part[1], k);
        if (!(row >= 0 && row < (double)m->rows && col >= 0 &&
              col < (double)m->cols))
            return false;
        e->take(e, (uint64_t)row, (uint64_t)col, number_at(&m->data, k));
    }
    return true;
}

/* csr and csc have blocks of one element, and keep explicit zeros. In bsr,
 * zeros inside the blocks are left out. */
static bool each_of_blocks(const sparse *m, uint64_t lines, uint64_t minors,
                           uint64_t rows, uint64_t cols, entries *e)
{
    const array *starts = &m->part[0], *x = &m->data;
    for (uint64_t k = 0; k < lines / rows; k++) {
        const double begin = number_at(starts, k);
        const double end = number_at(starts, k + 1);
        if (!(begin >= 0 && begin <= end && end <= (double)m->part[1].rows))
            return false;
        for (uint64_t b = (uint64_t)begin; b < (uint64_t)end; b++) {
            const double at = number_at(&m->part[1], b);
            if (!(at >= 0 && at < (double)(minors / cols)))
                return false;
            for (uint64_t i = 0; i < rows * cols; i++) {
                const uint64_t r = i / cols, c = i % cols;
                const double value =
                    number_at(x, x->by_col ? (c * rows + r) * x->rows + b
                                           : b * rows * cols + i);
                if (value != 0 || rows * cols == 1)
                    e->take(e, k * rows + r, (uint64_t)at * cols + c, value);
            }
        }
    }
    return true;
}

static bool each_entry(const sparse *m, entries *e)
{
    switch (m->form) {
    case DIA:
        return each_of_diagonals(m, e);
    case COO:
        return each_of_pairs(m, e);
    case BSR:
        return each_of_blocks(m, m->rows, m->cols, m->data.cols, m->data.depth,
                              e);
    case CSC:
        return each_of_blocks(m, m->cols, m->rows, 1, 1, e);
    default:
        return each_of_blocks(m, m->rows, m->cols, 1, 1, e);
    }
}

/* True if the arrays have the types and sizes that their form requires. */
static bool fits_form(const sparse *m)
{
    const array *first = &m->part[0], *second = &m->part[1], *x = &m->data;
    const uint64_t lines = m->form == CSC ? m->cols : m->rows;
    if (first->type != 'i' || first->cols != 1 || first->depth != 1 ||
        x->type == 'S')
        return false;
    if (m->form == DIA)
        return x->depth == 1 && first->rows == x->rows;
    if (second->type != 'i' || second->cols != 1 || second->depth != 1 ||
        second->rows != x->rows)
        return false;
    if (m->form == COO)
        return x->cols == 1 && x->depth == 1 && first->rows == x->rows;
    if (m->form == BSR)
        return x->cols > 0 && x->depth > 0 && lines % x->cols == 0 &&
               m->cols % x->depth == 0 && first->rows == lines / x->cols + 1;
    return x->cols == 1 && x->depth == 1 && first->rows == lines + 1;
}

/* Sorts each line and adds up entries with the same index, as scipy's
 * sum_duplicates does. */
static void sum_triplets(samples *s, const triplet *from, triplet *line,
                         uint64_t lines)
{
    uint64_t *start = s->start, n = 0;
    uint32_t *index = s->index;
    double *value = s->value;
    for (uint64_t k = 0, begin = 0; k < lines; k++) {
        const uint64_t end = start[k + 1], count = end - begin;
        bool ascends = true;
        for (uint64_t i = 0; i < count; i++) {
            line[i] = from[begin + i];
            line[i].order = (uint32_t)i;
            ascends = ascends && (i == 0 || line[i].index > line[i - 1].index);
        }
        if (!ascends)
            qsort(line, count, sizeof *line, by_index);
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0 && line[i].index == line[i - 1].index) {
                value[n - 1] += line[i].value;
                continue;
            }
            index[n] = line[i].index;
            value[n++] = line[i].value;
        }
        begin = end;
        start[k + 1] = n;
    }
}

static strads_err build_sparse(const file *f, const sparse *m, samples *s)
{
    const uint64_t lines = m->form == CSC ? m->cols : m->rows;
    strads_err err = STRADS_OK;
    entries e = {.take = count_entry};
    if (lines + 2 > f->memory / sizeof(uint64_t))
        return no_room(f);
    s->start_size = (lines + 2) * sizeof(uint64_t);
    s->start = e.start = sti_big_alloc(s->start_size);
    if (s->start == NULL)
        return no_room(f);
    if (!each_entry(m, &e))
        return refuse_array_file(
            f, "its arrays hold an index outside of its shape");
    uint64_t n = 0, longest = 0;
    for (uint64_t k = 0; k < lines; k++) {
        const uint64_t count = e.start[k + 1];
        longest = count > longest ? count : longest;
        e.start[k + 1] = n;
        n += count;
    }
    const size_t triplets = (n + 1) * sizeof(triplet);
    const size_t line_size = (longest + 1) * sizeof(triplet);
    s->index_size = (n + 1) * sizeof(uint32_t);
    s->value_size = (n + 1) * sizeof(double);
    triplet *line = NULL;
    if (s->start_size + triplets + line_size + s->index_size + s->value_size <=
        f->memory) {
        e.triplet = sti_big_alloc(triplets);
        line = sti_big_alloc(line_size);
        s->index = sti_big_alloc(s->index_size);
        s->value = sti_big_alloc(s->value_size);
    }
    e.take = place_entry;
    if (!e.triplet || !line || !s->index || !s->value || longest > UINT32_MAX)
        err = no_room(f);
    else if (!each_entry(m, &e))
        err = refuse_array_file(f, "was changed while it was read");
    else
        sum_triplets(s, e.triplet, line, lines);
    sti_big_free(e.triplet, triplets);
    sti_big_free(line, line_size);
    s->a = (strads_arrays){.rows = m->rows,
                           .cols = m->cols,
                           .by_row = m->form != CSC,
                           .start = s->start,
                           .starts = STRADS_I64,
                           .index = s->index,
                           .indices = STRADS_I32,
                           .value = s->value};
    return err;
}

/* The form that the array `format` names; FORMS if it is unknown. */
static int form_of(const array *format)
{
    int k = 0;
    while (k < FORMS &&
           !(format->type == 'S' && format->width == 3 && format->rows > 0 &&
             memcmp(format->data, forms[k].name, 3) == 0))
        k++;
    return k;
}

static strads_err take_sparse(const file *f, sparse *m, samples *s)
{
    bool there[3] = {true, true, true};
    m->form = form_of(&m->format);
    if (m->form == FORMS)
        return refuse_array_file(
            f, "is a sparse matrix in another form, expected csr, "
               "csc, bsr, coo or dia (x.tocsr())");
    strads_err err = find_array(f, "data", &m->data, &there[0]);
    for (int k = 0; k < 2 && err == STRADS_OK; k++)
        if (forms[m->form].array[k] != NULL)
            err = find_array(f, forms[m->form].array[k], &m->part[k],
                             &there[k + 1]);
    if (err != STRADS_OK)
        return err;
    if (!there[0] || !there[1] || !there[2])
        return refuse_array_file(
            f, "lacks an array that its form of sparse matrix has");
    if (m->shape.rows * m->shape.cols * m->shape.depth != 2 ||
        m->shape.type != 'i')
        return refuse_array_file(f, "its array shape is not two whole numbers");
    const double rows = number_at(&m->shape, 0), cols = number_at(&m->shape, 1);
    if (!(rows >= 0 && rows <= STI_MOST_LINES && cols >= 0 &&
          cols <= STI_MOST_LINES))
        return refuse_array_file(
            f, "its shape is not two sizes of up to 4294967294");
    m->rows = (uint64_t)rows;
    m->cols = (uint64_t)cols;
    return fits_form(m)
               ? build_sparse(f, m, s)
               : refuse_array_file(
                     f, "its arrays have types or sizes that contradict "
                        "its form or each other");
}

static void free_sparse(sparse *m)
{
    free_array(&m->format);
    free_array(&m->shape);
    free_array(&m->data);
    free_array(&m->part[0]);
    free_array(&m->part[1]);
}

static strads_err take_archive(const file *f, samples *s)
{
    bool format, shape, there = false;
    array x = {0};
    sparse m = {0};
    strads_err err = find_array(f, "format", &m.format, &format);
    if (err == STRADS_OK)
        err = find_array(f, "shape", &m.shape, &shape);
    if (err == STRADS_OK && format && shape) {
        err = take_sparse(f, &m, s);
    } else if (err == STRADS_OK) {
        err = find_array(f, "X", &x, &there);
        if (err == STRADS_OK && !there)
            err = find_array(f, "arr_0", &x, &there);
        if (err == STRADS_OK)
            err = there ? take_dense(f, &x, s)
                        : refuse_array_file(
                              f, "is a zip archive without a matrix: "
                                 "expected scipy.sparse.save_npz's arrays, "
                                 "or one called X or arr_0; unzip it if a "
                                 "text is in it");
    }
    free_array(&x);
    free_sparse(&m);
    return err;
}

static strads_err make_samples(const file *f, samples *s,
                               const strads_data_options *o, strads_data **out)
{
    sti_label_names names = {0};
    const sti_labels_options how = {.rows = s->a.rows,
                                    .memory = o->memory_limit,
                                    .named = o->named_labels,
                                    .given = o->label_names};
    const size_t size = s->a.rows * sizeof(double);
    double *labels = o->labels_path ? sti_big_alloc(size) : NULL;
    strads_data_options full = *o;
    strads_err err = STRADS_OK;
    if (s->value == NULL || (o->labels_path && labels == NULL))
        err = strads_fail(STRADS_ENOMEM, "%s: no memory for it", f->path);
    if (err == STRADS_OK && labels)
        err = sti_labels_read(o->labels_path, &how, &names, labels);
    full.named_labels = names.names != NULL;
    full.label_names = names.names;
    s->a.label = labels;
    if (err == STRADS_OK) {
        err = sti_data_from_arrays(f->path, &s->a, true, &full, out);
        if (err != STRADS_OK && !strstr(strads_error_text(), f->path))
            err = strads_fail(err == STRADS_EINVAL ? STRADS_EFORMAT : err,
                              "%s: %s", f->path, strads_error_text());
    }
    if (err == STRADS_OK) {
        (*out)->index_base = 1;
        (*out)->own_label_names = names.own;
        names.own = NULL;
    }
    sti_label_names_free(&names);
    sti_big_free(labels, size);
    return err;
}

strads_err sti_npy_read(const char *path, const strads_data_options *options,
                        strads_data **out)
{
    file f;
    samples s = {0};
    array x = {0};
    strads_err err = open_file(&f, path, options->memory_limit);
    if (err == STRADS_OK && f.bytes[0] == 'P')
        err = take_archive(&f, &s);
    else if (err == STRADS_OK) {
        err = take_alone(&f, &x);
        if (err == STRADS_OK)
            err = take_dense(&f, &x, &s);
        free_array(&x);
    }
    if (err == STRADS_OK)
        err = make_samples(&f, &s, options, out);
    sti_big_free(s.start, s.start_size);
    sti_big_free(s.index, s.index_size);
    sti_big_free(s.value, s.value_size);
    close_file(&f);
    return err;
}
