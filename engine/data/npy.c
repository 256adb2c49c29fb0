/* numpy's files: .npy, one array; .npz, a zip archive of several; and IDX, an
 * array as MNIST has it, plain or gzip. Nothing of a file is believed: every
 * offset and size is held against its end first. */
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

/* All of it, unpacked. */
typedef struct file {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    uint64_t memory; /* what members may take */
    sti_text text;
    sti_text_bytes whole;
} file;

/* An array as it lies in the file; `owned` is what was unpacked for it. */
typedef struct array {
    const unsigned char *data;
    uint64_t rows, cols; /* one dimension: cols is 1; none: both are */
    bool by_col;
    bool big;   /* its numbers are big-endian */
    bool image; /* its bytes are pixels: each is divided by 255 */
    char type;  /* f, i, u, b or S */
    uint32_t width;
    void *owned;
    size_t owned_size;
} array;

static strads_err refuse(const file *f, const char *what)
{
    return strads_fail(STRADS_EFORMAT, "%s: %s", f->path, what);
}

/* ---- the file ------------------------------------------------------------- */

/* Two bytes of 0, a type, and how many dimensions there are: no text and no
 * other format begins so. */
static bool begins_idx(const unsigned char head[4])
{
    return head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14 &&
           head[2] != 10 && head[3] >= 1 && head[3] <= 8;
}

static bool is_idx(const char *path)
{
    unsigned char head[4];
    gzFile in = gzopen(path, "rbe"); /* plain files as they are */
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

static uint64_t big(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < bytes; k++)
        value = value << 8 | p[k];
    return value;
}

/* ---- an array --------------------------------------------------------------- */

/* What stands behind 'key': in the header's dictionary. */
static const char *member(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return "";
    at += strlen(key);
    return at + strspn(at, " ");
}

static bool take_shape(const char *p, array *out)
{
    uint64_t size[2] = {1, 1};
    unsigned n = 0;
    if (*p != '(')
        return false;
    for (p++; *p != ')'; n++) {
        char *end;
        if (n == 2 || *p < '0' || *p > '9')
            return false;
        size[n] = strtoull(p, &end, 10);
        p = end + strspn(end, ", ");
        if (size[n] > STI_MOST_LINES)
            return false;
    }
    out->rows = size[0];
    out->cols = size[1];
    return true;
}

static strads_err take_array(const file *f, const unsigned char *bytes,
                             size_t size, array *out)
{
    char header[4096];
    const size_t fixed = size > 6 && bytes[6] > 1 ? 12 : 10;
    if (size < fixed || memcmp(bytes, npy_magic, 6) != 0)
        return refuse(f, "is cut short, expected the header of a NumPy array");
    const uint64_t length = little(bytes + 8, fixed == 12 ? 4 : 2);
    if (length >= sizeof header || length > size - fixed)
        return refuse(f, "its header of a NumPy array is cut short, or longer "
                         "than 4095 bytes");
    memcpy(header, bytes + fixed, length);
    header[length] = '\0';
    const char *type = member(header, "'descr':");
    const char *order = member(header, "'fortran_order':");
    if (*type != '\'' || (type[1] != '<' && type[1] != '|') ||
        strchr("fiubS", type[2]) == NULL || type[2] == '\0')
        return refuse(f, "holds elements of another type, expected float or "
                         "int of 1 to 8 bytes, little-endian");
    out->type = type[2];
    out->width = (uint32_t)strtoul(type + 3, NULL, 10);
    out->by_col = strncmp(order, "True", 4) == 0;
    const bool wide = out->width == 1 || out->width == 2 || out->width == 4 ||
                      out->width == 8;
    if (out->type == 'S' ? out->width > 64
                         : !wide || (out->type == 'f' && out->width < 4))
        return refuse(f, "holds numbers of a width that is not read, expected "
                         "float32, float64, or int of 1 to 8 bytes");
    if (!take_shape(member(header, "'shape':"), out))
        return refuse(f, "its shape is not one or two dimensions of up to "
                         "4294967294");
    uint64_t all = 0;
    if (__builtin_mul_overflow(out->rows, out->cols, &all) ||
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
    const uint64_t bits = a->big ? big(p, a->width) : little(p, a->width);
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

/* ---- IDX ---------------------------------------------------------------------- */

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
        return refuse(f, "is no array in IDX format");
    const size_t body = 4 + 4 * (size_t)head[3];
    if (f->size < body)
        return refuse(f, "is cut short, expected the sizes of an IDX array");
    *out = (array){.data = f->bytes + body,
                   .rows = big(head + 4, 4),
                   .cols = 1,
                   .big = true,
                   .type = kinds[head[2] - 8].type,
                   .width = kinds[head[2] - 8].width};
    out->image = out->type == 'u' && head[3] > 1;
    for (unsigned d = 1; d < head[3]; d++)
        if (__builtin_mul_overflow(out->cols, big(head + 4 + (size_t)4 * d, 4),
                                   &out->cols) ||
            out->cols > STI_MOST_LINES)
            return refuse(f, "its rows have more than 4294967294 elements");
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

/* ---- a zip archive ------------------------------------------------------------ */

enum { END = 22, ENTRY = 46, LOCAL = 30, STORED = 0, DEFLATED = 8 };

/* The record that ends the archive; NULL: there is none. */
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
        return refuse(f, "holds a packed array of more than 4 GB: save it "
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
    return whole ? STRADS_OK : refuse(f, "a packed array is damaged");
}

/* The array `name`.npy of the archive; *there: whether there is one. */
static strads_err find_array(const file *f, const char *name, array *out,
                             bool *there)
{
    const unsigned char *end = find_end(f);
    *there = false;
    *out = (array){0};
    if (end == NULL)
        return refuse(f, "is a zip archive that is cut short");
    uint64_t at = little(end + 16, 4), count = little(end + 10, 2);
    const size_t length = strlen(name);
    for (; count > 0; count--) {
        if (at > f->size || f->size - at < ENTRY ||
            memcmp(f->bytes + at, "PK\x01\x02", 4) != 0)
            return refuse(f, "its list of arrays is damaged");
        const unsigned char *p = f->bytes + at;
        const uint64_t method = little(p + 10, 2), packed = little(p + 20, 4);
        const uint64_t size = little(p + 24, 4), named = little(p + 28, 2);
        const uint64_t local = little(p + 42, 4);
        if (f->size - at - ENTRY < named)
            return refuse(f, "its list of arrays is damaged");
        at += ENTRY + named + little(p + 30, 2) + little(p + 32, 2);
        if (named != length + 4 || memcmp(p + ENTRY, name, length) != 0 ||
            memcmp(p + ENTRY + length, ".npy", 4) != 0)
            continue;
        if (local > f->size || f->size - local < LOCAL)
            return refuse(f, "its list of arrays is damaged");
        const unsigned char *q = f->bytes + local;
        const uint64_t skip = LOCAL + little(q + 26, 2) + little(q + 28, 2);
        if (f->size - local < skip || f->size - local - skip < packed ||
            (method != STORED && method != DEFLATED) ||
            (method == STORED && packed != size))
            return refuse(f, "an array in it is cut short, or packed in a way "
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

/* A file that is one array. */
static strads_err take_alone(const file *f, array *out)
{
    return f->bytes[0] == (unsigned char)npy_magic[0]
               ? take_array(f, f->bytes, f->size, out)
               : take_idx(f, out);
}

/* ---- samples ---------------------------------------------------------------------- */

/* All numbers as f64, for what was not saved so; *size for who frees it. */
static double *to_doubles(const file *f, const array *a, size_t *size)
{
    const uint64_t n = a->rows * a->cols;
    double *out =
        n <= f->memory / sizeof *out ? sti_big_alloc(n * sizeof *out) : NULL;
    *size = n * sizeof *out;
    for (uint64_t k = 0; out != NULL && k < n; k++)
        out[k] = number_at(a, k);
    return out;
}

static uint64_t *to_wholes(const file *f, const array *a, size_t *size)
{
    const uint64_t n = a->rows * a->cols;
    uint64_t *out =
        n <= f->memory / sizeof *out ? sti_big_alloc(n * sizeof *out) : NULL;
    *size = n * sizeof *out;
    for (uint64_t k = 0; out != NULL && k < n; k++)
        out[k] = little(a->data + k * a->width, a->width);
    return out;
}

typedef struct samples {
    strads_arrays a;
    void *start, *index, *value;
    size_t start_size, index_size, value_size;
} samples;

static strads_err take_dense(const file *f, const array *x, samples *s)
{
    s->value = x->type == 'S' ? NULL : to_doubles(f, x, &s->value_size);
    s->a = (strads_arrays){.rows = x->rows,
                           .cols = x->cols,
                           .by_row = !x->by_col,
                           .value = s->value};
    return x->type != 'S' ? STRADS_OK
                          : refuse(f, "holds text, expected numbers");
}

/* Arrays as scipy.sparse.save_npz names them. */
static strads_err take_sparse(const file *f, const array part[5], samples *s)
{
    enum { FORMAT, SHAPE, STARTS, INDEX, VALUES };
    const array *format = &part[FORMAT], *shape = &part[SHAPE];
    const bool csr = format->width == 3 && memcmp(format->data, "csr", 3) == 0;
    const bool csc = format->width == 3 && memcmp(format->data, "csc", 3) == 0;
    if (format->type != 'S' || (!csr && !csc))
        return refuse(f, "is a sparse matrix in another form, expected csr or "
                         "csc (x.tocsr())");
    if (shape->rows * shape->cols != 2 || shape->type != 'i' ||
        part[STARTS].type != 'i' || part[INDEX].type != 'i' ||
        part[VALUES].type == 'S')
        return refuse(f, "its arrays shape, indptr, indices and data have "
                         "types that no sparse matrix has");
    const double rows = number_at(shape, 0), cols = number_at(shape, 1);
    const double lines = csr ? rows : cols;
    if (!(rows >= 0 && rows <= STI_MOST_LINES && cols >= 0 &&
          cols <= STI_MOST_LINES) ||
        (double)part[STARTS].rows != lines + 1 || part[STARTS].cols != 1 ||
        part[INDEX].rows != part[VALUES].rows || part[INDEX].cols != 1 ||
        part[VALUES].cols != 1)
        return refuse(f, "its arrays shape, indptr, indices and data "
                         "contradict each other");
    s->start = to_wholes(f, &part[STARTS], &s->start_size);
    s->index = to_wholes(f, &part[INDEX], &s->index_size);
    s->value = to_doubles(f, &part[VALUES], &s->value_size);
    const uint64_t *start = s->start;
    if (start != NULL && start[part[STARTS].rows - 1] != part[INDEX].rows)
        return refuse(f, "its indptr does not end at the number of indices");
    s->a = (strads_arrays){.rows = (uint64_t)rows,
                           .cols = (uint64_t)cols,
                           .by_row = csr,
                           .start = s->start,
                           .starts = STRADS_I64,
                           .index = s->index,
                           .indices = STRADS_I64,
                           .value = s->value};
    return s->start != NULL && s->index != NULL
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "%s: no memory for it", f->path);
}

static strads_err take_archive(const file *f, samples *s)
{
    static const char *const names[] = {"format", "shape", "indptr", "indices",
                                        "data"};
    array part[5] = {{0}};
    bool there = true;
    strads_err err = STRADS_OK;
    for (int k = 0; k < 5 && err == STRADS_OK && there; k++)
        err = find_array(f, names[k], &part[k], &there);
    if (err == STRADS_OK && there) {
        err = take_sparse(f, part, s);
    } else if (err == STRADS_OK && part[0].data != NULL) {
        err = refuse(f, "is a sparse matrix in another form, expected csr or "
                        "csc (x.tocsr())");
    } else if (err == STRADS_OK) {
        for (int k = 0; k < 5; k++)
            free_array(&part[k]);
        err = find_array(f, "X", &part[0], &there);
        if (err == STRADS_OK && !there)
            err = find_array(f, "arr_0", &part[0], &there);
        if (err == STRADS_OK)
            err = there ? take_dense(f, &part[0], s)
                        : refuse(f, "is a zip archive without a matrix: "
                                    "expected scipy.sparse.save_npz's arrays, "
                                    "or one called X or arr_0");
    }
    for (int k = 0; k < 5; k++)
        free_array(&part[k]);
    return err;
}

static strads_err give(const file *f, samples *s, const strads_data_options *o,
                       strads_data **out)
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
        err = give(&f, &s, options, out);
    sti_big_free(s.start, s.start_size);
    sti_big_free(s.index, s.index_size);
    sti_big_free(s.value, s.value_size);
    close_file(&f);
    return err;
}
